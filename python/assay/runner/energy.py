"""Energy, and energy times delay, as metrics of a trial if the machine counts energy."""

from collections.abc import Mapping

MOST_DELAYS = 3
"""Energy is multiplied by the delay up to this many times: ED, ED^2 and ED^3."""


def metrics(reported: Mapping[str, float], joules: float | None) -> dict[str, float]:
    """Return a trial's energy metrics, in addition to those that it reports.

    The metrics of a command are for one run, from its start to its end. A trial that reports energy per
    operation measured it over the measured interval; its delay is 1 / throughput of all threads. The larger N
    is, the more weight ED^N gives to delay (Bonnichsen 2016, section 2.1).

    Args:
        reported: metrics of the trial.
        joules: energy of the packages and their memory while a command's process ran; None: not counted.
    """
    if joules is not None and "wall_ms" in reported:
        energy, delay = joules / reported.get("runs", 1), reported["wall_ms"] / 1000
        found, ending = {"energy_j": energy}, ""
    elif "energy_uj_per_operation" in reported and reported.get("throughput", 0) > 0:
        energy, delay = reported["energy_uj_per_operation"], 1e9 / reported["throughput"]
        found, ending = {}, "_per_operation"
    else:
        return {}
    for times in range(1, MOST_DELAYS + 1):
        found[f"energy_delay{times if times > 1 else ''}{ending}"] = energy * delay**times
    return found
