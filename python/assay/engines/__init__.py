"""Judges random number engines before an experiment draws from them.

for judged in examine(chosen(["fnv1a"]), numbers=10_000_000, seed=1, reseed_every=None):
    print(judged.title, judged.judgement.word, judged.judgement.why)

`assay-engines` draws and counts, exactly as trials draw; here the counts become p-values, verdicts and
pictures.
"""

from assay.engines.examine import chosen, examine
from assay.engines.program import FEWEST, MOST, known
from assay.engines.types import Engine, Judged, Judgement, Speed

__all__ = [
    "FEWEST",
    "MOST",
    "Engine",
    "Judged",
    "Judgement",
    "Speed",
    "chosen",
    "examine",
    "known",
]
