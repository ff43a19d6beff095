"""One function beside a reference version of it: the same answers? What does each cost, and where?

fuzzed = search(fuzzer, "my_function", seconds=5, seed=7, folder=Path("build/fuzz"), stop=stop)
if fuzzed.result == "same":
    profile = profiled(program, "my_function", folder=Path("my_function"), stop=stop)
"""

from assay.inspection.costs import Cost, costs
from assay.inspection.fuzz import Fuzzed, search
from assay.inspection.profile import Line, Profile, profiled

__all__ = ["Cost", "Fuzzed", "Line", "Profile", "costs", "profiled", "search"]
