"""Versions of the user's own project: what git knows, worktrees in which they are built, bisection."""

from assay.versions.bisection import Bisection, Suspects
from assay.versions.contents import OtherFilesError
from assay.versions.repository import Repository
from assay.versions.worktrees import BuildFailedError, Worktrees

__all__ = [
    "Bisection",
    "BuildFailedError",
    "OtherFilesError",
    "Repository",
    "Suspects",
    "Worktrees",
]
