"""The pictures of the course (`make pictures`): each lesson is run here, and its valid trials are drawn."""

import os
import subprocess
import sys
import tempfile
from pathlib import Path

import altair as alt
import pandas as pd

import assay
from assay.store import Store

COURSE = Path(__file__).parents[2] / "docs" / "course"
_STORE = Path("results/assay.sqlite")


def picture(store: Path, to: Path) -> None:
    """Draw the valid trials of a store, a row for each condition: nothing is averaged away."""
    with Store.open(store, create=False) as opened, assay.open(store) as data:
        rows = []
        for campaign in opened.campaigns():
            experiment = opened.experiment(campaign.id)
            metric = experiment.comparison.metric
            trials = data.trials(campaign.id).dropna(subset=[metric])
            for _, trial in trials.iterrows():
                levels = ", ".join(str(trial[factor]) for factor in experiment.changes)
                rows.append(
                    {
                        "campaign": campaign.experiment,
                        "metric": metric,
                        "condition": levels,
                        "value": trial[metric],
                    }
                )
    frame = pd.DataFrame(rows)
    charts = [
        alt.Chart(part, title=alt.Title(str(name), anchor="start"), width=480)
        .mark_tick(thickness=2, opacity=0.6)
        .encode(
            x=alt.X("value:Q", title=str(metric), scale=alt.Scale(zero=True)),
            y=alt.Y("condition:N", title=None, sort=None, axis=alt.Axis(labelLimit=400)),
            color=alt.Color("condition:N", legend=None),
        )
        for (name, metric), part in frame.groupby(["campaign", "metric"], sort=False)
    ]
    alt.vconcat(*charts).configure_view(stroke=None).save(to, format="svg")


def main() -> None:
    """Run every lesson that has a page, each in an empty folder, and draw it."""
    environment = {**os.environ, "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"}
    for page in sorted(COURSE.glob("[0-9][0-9]-*.md")):
        with tempfile.TemporaryDirectory() as folder:
            number = str(int(page.name[:2]))
            subprocess.run(["assay", "lesson", number], cwd=folder, env=environment, check=True)
            if not (store := Path(folder) / _STORE).exists():
                print(f"lesson {number} left no trials: no picture of it")
                continue
            (COURSE / "pictures").mkdir(exist_ok=True)
            picture(store, COURSE / "pictures" / f"{page.stem}.svg")


if __name__ == "__main__":
    main()
