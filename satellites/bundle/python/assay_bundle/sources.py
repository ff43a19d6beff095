"""The sources of a campaign, at the commits that it recorded: with their lock files, by `git archive`."""

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from assay import programs
from assay.errors import AssayError
from assay.experiment import Experiment
from assay.store.types import CampaignSummary
from assay.versions import Repository
from assay.versions.git import git
from assay.words import counted
from assay_bundle.tree import Entry, Tree


def sources(
    summary: CampaignSummary,
    experiment: Experiment,
    records: Sequence[Mapping[str, Any]],
    folder: Path,
) -> tuple[Tree, list[str]]:
    """Return archives of the experiment's project and of Assay, and what is lacking.

    Args:
        summary: the campaign, which knows the commit of the experiment's folder.
        experiment: as it was.
        records: of its trials, which know the commit of Assay's programs.
        folder: where archives are written.
    """
    tree: Tree = {}
    lacking: list[str] = []
    commit = summary.host.get("commit")
    if commit is None:
        lacking.append("sources of the experiment's project, as it was not in git")
    else:
        if not (written := _archive(experiment.folder, commit["hash"], folder)):
            lacking.append(
                f"sources of the experiment's project: this checkout lacks commit {commit['hash']}"
            )
        tree |= written
        if changed := commit["changed"]:
            lacking.append(
                f"{counted(changed, 'change')} that had not been committed: {', '.join(sorted(changed))}"
            )
    built = {_commit_of_assay(record) for record in records} - {""}
    for known in sorted(built - {path.split("/")[1].removesuffix(".tar") for path in tree}):
        if not (written := _archive(Path(programs.__file__).parent, known, folder)):
            lacking.append(f"sources of Assay's programs: no checkout here has commit {known}")
        tree |= written
    return tree, lacking


def _commit_of_assay(record: Mapping[str, Any]) -> str:
    """Return the commit at which the program of a trial was built; empty if it does not say."""
    library = ((record["result"] or {}).get("environment") or {}).get("library") or {}
    commit = str(library.get("commit", "")) if isinstance(library, Mapping) else ""
    return commit if re.fullmatch("[0-9a-f]{40,64}", commit) else ""


def _archive(folder: Path, commit: str, at: Path) -> Tree:
    """Return the archive of a commit; nothing where no repository with it is here."""
    file = at / f"{commit}.tar"
    try:
        root = Repository.find(folder).root
        settings = ("-c", "tar.umask=0022")
        git(root, *settings, "archive", f"--prefix={commit[:10]}/", f"--output={file}", commit)
    except AssayError:
        return {}
    return {f"sources/{commit}.tar": Entry(file)}
