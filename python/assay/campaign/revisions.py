"""Revisions that are built in worktrees, as an experiment that compares them measures them."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace

from assay.campaign.reporter import Reporter
from assay.experiment import Experiment
from assay.experiment.types import MeasuredRevision, Revisions
from assay.runner.process import StopSignals
from assay.versions import Repository, Revision, Worktrees


def measured_revisions(
    worktrees: Worktrees, revisions: Mapping[str, Revision]
) -> dict[str, MeasuredRevision]:
    """Return level of `revision` -> the revision that is built in its worktree."""
    return {
        level: MeasuredRevision(
            commit=revision.commit,
            name=revision.name,
            subject=revision.subject,
            committed_at=revision.committed_at,
            tree=revision.tree,
            changed=revision.changed,
            folder=worktrees.folders[level],
            changed_by_build=worktrees.changed_by_build.get(level, ()),
        )
        for level, revision in revisions.items()
    }


@contextmanager
def rebuilt(experiment: Experiment, stop: StopSignals, reporter: Reporter) -> Iterator[Experiment]:
    """Build the revisions of a campaign that is resumed, in new worktrees; they exist within.

    An experiment that compares no revisions stays as it is.

    Raises:
        AssayError: a revision is gone, or does not build any more.
        Interrupted: `stop` was signalled.
    """
    compared = experiment.revisions
    if compared is None:
        yield experiment
        return
    repository = Repository.find(compared.root)
    revisions = {
        level: replace(repository.revision(known.commit), name=known.name, changed=known.changed)
        for level, known in compared.levels.items()
    }
    with Worktrees(
        repository,
        revisions,
        build=experiment.ab.build,
        say=reporter.show,
        show_output=reporter.say,
        stop=stop,
    ) as worktrees:
        levels = measured_revisions(worktrees, revisions)
        again = Revisions(root=compared.root, levels=levels)
        yield experiment.model_copy(update={"revisions": again})
