"""Judges random number engines before an experiment draws from them.

judged = examine(chosen(["fnv1a"]), numbers=10_000_000, seed=1, reseed_every=None)
print_judged(judged, "10 million numbers", Console())
page = assay_lab.engines.page.write_judged(judged, "10 million numbers", Path("results/engines"))

`assay-engines` draws and counts, exactly as trials draw; here the counts become p-values, verdicts and
pictures.
"""

from assay_lab.engines.examine import chosen, examine
from assay_lab.engines.given import SEED, judge_numbers, of_file, of_program, seeds_of_program
from assay_lab.engines.program import known
from assay_lab.engines.terminal import print_engines, print_judged
from assay_lab.engines.types import EngineExamination

__all__ = [
    "SEED",
    "EngineExamination",
    "chosen",
    "examine",
    "judge_numbers",
    "known",
    "of_file",
    "of_program",
    "print_engines",
    "print_judged",
    "seeds_of_program",
]
