"""The energy counters of this machine (RAPL, through Linux's powercap interface)."""

from assay.host.system import System

_ZONES = "/sys/class/powercap/intel-rapl:[0-9]*"


def joules_so_far(system: System) -> dict[str, tuple[float, float]]:
    """Return zone -> its joules so far, and the value at which its counter wraps; empty without permission.

    Zones are packages and their memory, as in `native/assay/host/energy.h`: not the whole platform (psys),
    which contains them, nor cores, which packages contain.
    """
    names = system.read_all(f"{_ZONES}/name")
    counters = system.read_all(f"{_ZONES}/energy_uj")
    ranges = system.read_all(f"{_ZONES}/max_energy_range_uj")
    found: dict[str, tuple[float, float]] = {}
    for place, name in names.items():
        zone = place.removesuffix("/name")
        above = zone if zone.count(":") == 1 else zone.rpartition(":")[0]  # parts of packages have two
        if not names.get(f"{above}/name", "").startswith("package") or (zone != above and name != "dram"):
            continue
        now, most = counters.get(f"{zone}/energy_uj"), ranges.get(f"{zone}/max_energy_range_uj")
        if now is None or most is None:
            return {}
        found[zone] = (int(now) / 1e6, int(most) / 1e6)
    return found


def joules_between(
    before: dict[str, tuple[float, float]], after: dict[str, tuple[float, float]]
) -> float | None:
    """Return the energy used, joules; None without counters, or if one was not read both times."""
    if not before or before.keys() != after.keys():
        return None
    return sum(
        after[zone][0] - before[zone][0] + (after[zone][1] if after[zone][0] < before[zone][0] else 0)
        for zone in before
    )
