"""How the threads of a trial are divided among its roles."""

from collections.abc import Mapping
from typing import Any

from assay.experiment.mistakes import MistakeError


def with_threads(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Return the settings of a trial with the number of its threads, and of those of each role.

    A role that leaves `threads` out has those that the others leave of the setting `threads`. Where each
    names its own, the setting follows from them. Without roles and the setting there is one thread.

    Raises:
        MistakeError: they do not fit together; its key is the number of a role, or empty if all are at fault.
    """
    if "roles" not in settings:
        return {"threads": 1, **settings}
    total = settings.get("threads")
    roles = [dict(role) for role in settings["roles"]]
    taken = sum(role.get("threads", 0) for role in roles)
    rest = next((number for number, role in enumerate(roles) if "threads" not in role), None)
    if rest is None:
        if total not in (None, taken):
            raise MistakeError(
                (),
                f"the roles have {taken} threads and the setting threads is {total}; remove that setting, or "
                "threads of the role that is to have what the others leave",
            )
        return {**settings, "threads": taken, "roles": roles}
    if total is None:
        raise MistakeError(
            (rest,),
            f"the role {roles[rest]['name']} has no threads; give it threads, or set the trial's to more "
            "than the other roles have",
        )
    if total <= taken:
        raise MistakeError(
            (rest,),
            f"the role {roles[rest]['name']} has no threads: the others have {taken} of {total}; raise "
            "threads, or give the others fewer",
        )
    roles[rest]["threads"] = total - taken
    return {**settings, "roles": roles}


def mixes_of(settings: Mapping[str, Any]) -> list[Mapping[str, float]]:
    """Return the mix of each role, or the one that all threads have; that of a phase is one operation."""
    if "phase" in settings:
        return [{"erase" if settings["phase"]["kind"] == "drain" else "insert": 100}]
    mix = settings.get("mix", {})
    return [role.get("mix", mix) for role in settings.get("roles", ({},))]
