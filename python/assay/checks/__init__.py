"""Checks of maps by the rig: where its program is, how it is built, and what came of each check.

project = find_project("my_map", None)
program = build_rig(project, "address", say, show, stop)
checks = offered(program)["my_map"]
for outcome in run_checks(program, "my_map", checks, seed=7, seconds=18, stop=stop):
    print(outcome.check, outcome.result, outcome.found)
"""

from assay.checks.project import Project, build_functions, build_rig, find_project
from assay.checks.rig import RANDOMISED, Outcome, offered, readable, run_checks

__all__ = [
    "RANDOMISED",
    "Outcome",
    "Project",
    "build_functions",
    "build_rig",
    "find_project",
    "offered",
    "readable",
    "run_checks",
]
