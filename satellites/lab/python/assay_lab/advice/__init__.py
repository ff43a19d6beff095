"""Says which guidelines for transactional memory a program's transactions break.

judged = judge(observe(["./program", "--option"], settings))
print_judged(judged, Console())

`assay-rtm --record` runs the program and writes what all transactions touched; here the addresses become
functions and lines, and the numbers advice.
"""

from assay_lab.advice.judge import judge
from assay_lab.advice.observe import observe, recording
from assay_lab.advice.terminal import print_campaign, print_judged
from assay_lab.advice.types import (
    GUIDELINES,
    CampaignAdvice,
    EmulationSettings,
    ProgramAdvice,
    SettingAdvice,
    says_something,
)

__all__ = [
    "GUIDELINES",
    "CampaignAdvice",
    "EmulationSettings",
    "ProgramAdvice",
    "SettingAdvice",
    "judge",
    "observe",
    "print_campaign",
    "print_judged",
    "recording",
    "says_something",
]
