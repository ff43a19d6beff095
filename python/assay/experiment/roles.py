"""How the threads of a trial are divided among its roles."""

from collections.abc import Mapping
from typing import Any


class RolesMistakeError(ValueError):
    """Roles that cannot have the threads that they need.

    Attributes:
        role: number of the role at fault; None where it is all of them.
    """

    def __init__(self, role: int | None, why: str) -> None:
        super().__init__(why)
        self.role = role


def with_threads(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Return the settings of a trial with the number of its threads, and of those of each role.

    A role that leaves `threads` out has those that the others leave of the setting `threads`. Where each
    names its own, the setting follows from them. Without roles and the setting there is one thread.

    Raises:
        RolesMistakeError: they do not fit together.
    """
    if "roles" not in settings:
        return {"threads": 1, **settings}
    total = settings.get("threads")
    roles = [dict(role) for role in settings["roles"]]
    taken = sum(role.get("threads", 0) for role in roles)
    rest = next((number for number, role in enumerate(roles) if "threads" not in role), None)
    if rest is None:
        if total not in (None, taken):
            raise RolesMistakeError(
                None,
                f"the roles have {taken} threads and the setting threads is {total}; remove that setting, or "
                "threads of the role that is to have what the others leave",
            )
        return {**settings, "threads": taken, "roles": roles}
    if total is None:
        raise RolesMistakeError(
            rest,
            f"the role {roles[rest]['name']} has no threads; give it some, or set threads, of which it then "
            "has what the other roles leave",
        )
    if total <= taken:
        raise RolesMistakeError(
            rest,
            f"the role {roles[rest]['name']} has no threads: the others have {taken} of {total}; raise "
            "threads, or give the others fewer",
        )
    roles[rest]["threads"] = total - taken
    return {**settings, "roles": roles}
