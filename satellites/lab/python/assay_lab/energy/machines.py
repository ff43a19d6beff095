"""Machines as a file describes them, for the question which of them runs a program best."""

import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

from pydantic import Field

from assay.errors import AssayError
from assay.experiment.mistakes import MistakeError, located, validated
from assay.experiment.tables import Table

_LARGEST_FILE = 2**20  # bytes
Positive = Annotated[float, Field(gt=0)]
NotNegative = Annotated[float, Field(ge=0)]


class MachineModel(Table):
    """A machine; `[machines.NAME]` in a file."""

    frequencies_ghz: Annotated[list[Positive], Field(min_length=1, max_length=100)]
    """The frequencies that its processor can be set to."""
    memory_ns: Positive
    """One read from memory that depends on the one before it."""
    cores: Annotated[int, Field(ge=1, le=4096)]
    idle_watts: NotNegative
    """Power of the machine without work."""
    core_watts: Positive | Annotated[list[Positive], Field(min_length=1)]
    """Power that a computing core adds at each frequency; a single number is for the highest frequency, and
    falls with the cube of the frequency."""
    stalled_share: Annotated[float, Field(ge=0, le=1)] = 1.0
    """The share of `core_watts` that a core uses while it waits for memory."""
    domains: Annotated[int, Field(ge=1, le=64)] = 1
    """Number of groups of cores; each group has its own frequency."""
    bandwidth_gb_s: Positive | None = None
    """Bandwidth of the memory, shared by all programs; by default without limit."""
    cycles: Positive = 1.0
    """Cycles for the work of one cycle on the measuring machine."""

    def core_watts_at(self, gigahertz: float) -> float:
        """Return the power that a computing core adds at one of the frequencies."""
        if isinstance(self.core_watts, list):
            return self.core_watts[self.frequencies_ghz.index(gigahertz)]
        return self.core_watts * (gigahertz / max(self.frequencies_ghz)) ** 3

    @property
    def cores_of_domain(self) -> int:
        """Return how many cores share a frequency."""
        return self.cores // self.domains


def load_machines(path: Path) -> dict[str, MachineModel]:
    """Return the machines of a file, by name.

    Raises:
        AssayError: it cannot be read, or holds a mistake: file, line and key are named.
    """
    try:
        with path.open("rb") as file:
            text = file.read(_LARGEST_FILE).decode("utf-8-sig")
    except OSError as error:
        raise AssayError(f"--machines: {path}: cannot be read: {error.strerror}; name a TOML file") from error
    except UnicodeDecodeError as error:
        raise AssayError(f"--machines: {path}: is not UTF-8 text; save it as UTF-8") from error
    try:
        table = tomllib.loads(text)
    except ValueError as error:
        raise AssayError(f"{path}: not TOML: {error}") from error
    with located(path, text):
        return _machines(table)


def _machines(table: Mapping[str, Any]) -> dict[str, MachineModel]:
    described = table.get("machines")
    for key in table:
        if key != "machines":
            raise MistakeError((key,), "unknown key; there is only [machines.NAME]")
    if not isinstance(described, dict) or not described:
        raise MistakeError((), "it describes no machine; write a table [machines.NAME] for each")
    machines = {name: validated(MachineModel, given, ("machines", name)) for name, given in described.items()}
    for name, machine in machines.items():
        at = ("machines", name)
        many = machine.frequencies_ghz
        if sorted(set(many)) != many:
            raise MistakeError((*at, "frequencies_ghz"), "are not in ascending order; write each once")
        if isinstance(machine.core_watts, list) and len(machine.core_watts) != len(many):
            raise MistakeError(
                (*at, "core_watts"),
                f"has {len(machine.core_watts)} values and frequencies_ghz {len(many)}; write one for each",
            )
        if machine.cores % machine.domains:
            raise MistakeError(
                (*at, "domains"), f"{machine.domains} do not share {machine.cores} cores evenly"
            )
    return machines
