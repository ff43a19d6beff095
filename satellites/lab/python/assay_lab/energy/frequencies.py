"""Frequencies of this machine: which can be set, and holding one.

A frequency is held by cpufreq's limits, least and most alike, which every driver has. They are put back
through the journal of host settings, whatever ends the process (`host/journal.py`), and whatever stands there
then: a driver may have rounded them, or the kernel capped a hot processor. Such a run does not count.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from assay.errors import AssayError
from assay.host.journal import open_journal
from assay.host.settings import Setting
from assay.host.system import System
from assay.host.tune import outcome_in_words, restore, tune

_POLICY = "/sys/devices/system/cpu/cpufreq/policy*"
_STEP_KHZ = 200_000
"""The step between frequencies for drivers that accept any, such as intel_pstate."""


class _Held(Setting):
    """A frequency that all processors are held at."""

    name = "frequency"
    by_default = False
    # The lower limit first: the upper one may then be lowered to it.
    places = (f"{_POLICY}/scaling_min_freq", f"{_POLICY}/scaling_max_freq")

    def __init__(self, khz: int) -> None:
        self._khz = str(khz)

    def judge(self, values: object) -> None:
        return None

    def target_values(self, values: "dict[str, str]") -> dict[str, str]:  # type: ignore[override]
        return {place: self._khz for place, value in values.items() if value != self._khz}


def offered(system: System) -> tuple[float, ...]:
    """Return the frequencies that can be set, in GHz and ascending; none where the machine has no cpufreq.

    They are those that all processors have in common, within the limits that are found, as of the governor.
    """
    common: set[int] | None = None
    lowest = system.read_all(f"{_POLICY}/scaling_min_freq")
    low = max(map(int, lowest.values()), default=0)
    high = min(map(int, system.read_all(f"{_POLICY}/scaling_max_freq").values()), default=0)
    for place in lowest:
        policy = place.removesuffix("/scaling_min_freq")
        listed = system.read(f"{policy}/scaling_available_frequencies")
        if listed:
            those = set(map(int, listed.split()))
            common = those if common is None else common & those
        else:
            ends = [system.read(f"{policy}/cpuinfo_{end}_freq") for end in ("min", "max")]
            if None in ends:
                return ()
            low, high = max(low, int(ends[0] or 0)), min(high, int(ends[1] or 0))
    if common is None and low < high:  # no driver has a list: they take any
        common = {*range(low, high, _STEP_KHZ), high}
    return tuple(khz / 1e6 for khz in sorted(common or ()) if low <= khz <= high)


@contextmanager
def held(system: System, folder: Path, gigahertz: float) -> Iterator[None]:
    """Hold all processors at a frequency while entered.

    Raises:
        AssayError: the host is tuned already, or refuses; or a limit was another one when entered or left.
    """
    setting = _Held(round(gigahertz * 1e6))
    with open_journal(folder, system) as journal:
        if journal.pending:
            raise AssayError(
                f"the host has been tuned since {journal.since} ({journal.path}): `assay host restore` first"
            )
        try:
            for applied in tune(system, journal, [setting]):
                if applied.reason:
                    raise AssayError(
                        f"{applied.change.place}: {gigahertz:g} GHz is refused: {applied.reason}"
                    )
            _check(system, setting)
            yield
            _check(system, setting)
        finally:
            left = [
                outcome
                for outcome in restore(system, journal, lambda place, now, was: "overwrite")
                if not outcome.settled
            ]
            if left:
                raise AssayError(f"{outcome_in_words(left[0])}; `assay host restore` asks what to do")


def _check(system: System, setting: _Held) -> None:
    """Raise an error where a limit is another one: the model would take the time for that at this one."""
    found = setting.read(system)
    for place, khz in setting.target_values(found).items():
        raise AssayError(
            f"{place} was set to {khz} kHz and is {found[place]}: the driver does not take it, or heat or"
            " another program changed it; let it cool and end what sets frequencies, or first lower"
            " scaling_max_freq to what it takes"
        )
