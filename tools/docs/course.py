"""The pictures of the course (`make pictures`): each lesson is run here, and its valid trials are drawn.

`tools/docs/course.py [NUMBER...]` takes some lessons only. A lesson whose effect does not show keeps the
picture that it had.
"""

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import altair as alt
import pandas as pd

import assay
from assay.cli.lesson import LESSONS_STORE
from assay.lessons import LESSONS, find
from assay.report.metrics import measured
from assay.store import Store

PICTURES = Path(__file__).parents[2] / "docs" / "pictures" / "course"


def picture(store: Path, to: Path) -> None:
    """Draw the valid trials of a store, a row for each condition: nothing is averaged away."""
    charts = []
    with Store.open(store, create=False) as opened, assay.open(store) as data:
        campaigns = opened.campaigns()
        for campaign in campaigns:
            experiment = opened.experiment(campaign.id)
            metric = experiment.comparison.metric
            rows = [
                {"condition": words(trial.to_dict(), experiment.changes), "value": trial[metric]}
                for _, trial in data.trials(campaign.id).dropna(subset=[metric]).iterrows()
            ]
            # The flawed version is the first level of its factor.
            order = [words(condition, experiment.changes) for condition in experiment.conditions()]
            charts.append(
                alt.Chart(
                    pd.DataFrame(rows),
                    width=520,
                    title=alt.Title(campaign.experiment if len(campaigns) > 1 else "", anchor="start"),
                )
                .mark_tick(thickness=2, opacity=0.6)
                .encode(
                    x=alt.X("value:Q", title=measured(experiment, metric)).scale(zero=True).axis(format="~s"),
                    y=alt.Y("condition:N", title=None, sort=order).axis(labelLimit=400),
                    color=alt.Color("condition:N", legend=None, sort=order),
                )
            )
    shown = alt.vconcat(*charts) if len(charts) == 1 else alt.vconcat(*charts).resolve_scale(x="shared")
    shown.configure_view(stroke=None).save(to, format="svg")


def words(levels: Mapping[Any, Any], factors: Iterable[str]) -> str:
    """Return the levels of a trial or a condition."""
    return ", ".join(str(levels[factor]) for factor in factors)


def main() -> None:
    """Run lessons, each in an empty folder, and draw what they measured."""
    environment = {**os.environ, "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"}
    asked = sys.argv[1:]
    missed = []
    PICTURES.mkdir(parents=True, exist_ok=True)
    for lesson in [find(LESSONS, number) for number in asked] if asked else LESSONS:
        with tempfile.TemporaryDirectory() as folder:
            began = time.monotonic()
            done = subprocess.run(
                ["assay", "lesson", str(lesson.number), "--quiet"], cwd=folder, env=environment, check=False
            )
            print(f"lesson {lesson.number}: {time.monotonic() - began:.0f} s\n", flush=True)
            if done.returncode == 0:
                picture(Path(folder) / LESSONS_STORE, PICTURES / f"{lesson.stem}.svg")
            else:
                missed.append(lesson.number)
    if missed:
        sys.exit(f"error: not drawn, as they did not show here: lessons {', '.join(map(str, missed))}")


if __name__ == "__main__":
    main()
