"""The page of an inspected function: static files that open from disk without a network."""

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from assay.files import write
from assay.report.gather import Report
from assay.report.headline import headline
from assay.report.render import render, write_scripts
from assay.report.trust import trust
from assay_rig.costs import Cost
from assay_rig.fuzz import Fuzzed
from assay_rig.profile import Profile


@dataclass(frozen=True)
class Inspection:
    """The results for a function and its reference version.

    Attributes:
        name: the function's name.
        fuzzed: the result of the search for different answers.
        report: the report of both versions' trials; None if they were not timed.
        costs: the costs of a call.
        profiles: name of a version -> its profile.
    """

    name: str
    fuzzed: Fuzzed
    report: Report | None = None
    costs: Sequence[Cost] = ()
    profiles: Mapping[str, Profile] = field(default_factory=dict)

    @property
    def missing(self) -> list[str]:
        """Why something is not known, in words."""
        return list(dict.fromkeys(why for profile in self.profiles.values() for why in profile.missing))


def write_inspection(inspection: Inspection, trials: Path | None, directory: Path) -> Path:
    """Write the page into a folder, and return it; `trials` is the page of the trials."""
    write_scripts(directory, "style.css", "tables.js")
    page = render(
        "inspection.html",
        Path(__file__).parent / "templates",
        root="",
        of=inspection,
        answer=headline(inspection.report) if inspection.report else "",
        trust=trust(inspection.report).summary if inspection.report else "",
        comparison=inspection.report.analysis.comparisons[0] if inspection.report else None,
        trials=os.path.relpath(trials, directory) if trials else "",
    )
    return write(directory / "index.html", page)
