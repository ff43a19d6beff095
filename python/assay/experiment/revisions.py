"""Turns an experiment into one that compares revisions of the project that it stands in.

Each condition is measured in every revision: a factor `revision` is added and compared, and what was compared
becomes a context. A level's programs are those of a worktree, in which the revision was built.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from assay.errors import AssayError
from assay.experiment.types import REVISION, Experiment, Level, MeasuredRevision, Revisions, about
from assay.words import counted

COPY = "copy"
"""The factor by which `identical` compares every condition with itself."""


def of_revisions(experiment: Experiment, root: Path, levels: Mapping[str, MeasuredRevision]) -> Experiment:
    """Return the experiment that compares revisions under every condition of another one.

    Args:
        experiment: read with `identical`, so that it compares every condition with a copy of itself: the
            copies become the revisions.
        root: of the checkout that its file is in.
        levels: level -> revision; the first is the baseline.

    Raises:
        AssayError: it has a factor of this name, or none of its files is in the checkout.
    """
    if REVISION in experiment.changes:
        raise AssayError(
            f"{experiment.path}: factors.{REVISION}: revisions are a factor of this name; give this one"
            " another"
        )
    if not experiment.folder.is_relative_to(root):
        raise AssayError(
            f"{experiment.path}: is not in {root}, whose revisions are compared; move it there, or run assay"
            " in the repository that it is about"
        )
    baseline, *others = levels.values()
    changes: dict[str, Any] = {name: of for name, of in experiment.changes.items() if name != COPY}
    changes[REVISION] = {level: {} for level in levels}
    return experiment.altered(
        name=name_of(experiment.name),
        question=f"Is {words_of(others[0])} slower than {words_of(baseline)}?",
        comparison=about(REVISION, next(iter(levels))),
        changes=changes,
        charts=(),  # they may be about what is not compared any more
        reported=(),
        identical=False,
        revisions=Revisions(root=root, levels=dict(levels)),
    )


def only(experiment: Experiment, context: Mapping[str, Level]) -> Experiment:
    """Return an experiment of one of its contexts; of none where it has no such context."""
    groups = (group[0] for group in experiment.groups().values())
    contexts = [{factor: of[factor] for factor in of if factor != REVISION} for of in groups]
    return without(experiment, [other for other in contexts if other != context])


def without(experiment: Experiment, contexts: Sequence[Mapping[str, Level]]) -> Experiment:
    """Return an experiment that leaves some contexts out, and the programs that no condition uses then."""
    if not contexts:
        return experiment
    rules = tuple({factor: (level,) for factor, level in context.items()} for context in contexts)
    left = experiment.altered(design={"exclude": (*experiment.design.exclude, *rules)})
    measured = left.subjects()
    return left.altered(programs={name: of for name, of in left.programs.items() if name in measured})


def name_of(experiment: str) -> str:
    """Return what the experiment is called that compares revisions by one of this name."""
    return f"{experiment.removeprefix('race-')[:61].rstrip('-_')}-ab"


def words_of(revision: MeasuredRevision) -> str:
    """Return what people call a revision: `main (1a2b3c4d5e)`."""
    changes = f" with {counted(revision.changed, 'uncommitted change')}" if revision.changed else ""
    return f"{revision}{changes}"
