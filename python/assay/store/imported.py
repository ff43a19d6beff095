"""Where a campaign came from that another tool measured."""

import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import PurePath
from typing import Any, Self

from assay.foreign import ForeignRun

KEY = "foreign"
"""Of what is known of a campaign's host: what marks the campaign as another tool's."""
_HOST_NAMES = ("host_name", "hostname")


@dataclass(frozen=True)
class Imported:
    """Where a campaign came from that another tool measured.

    Attributes:
        file: as it was named.
        sha256: digest of what the file held, by which it is known again.
    """

    tool: str
    version: str
    file: str
    sha256: str

    @classmethod
    def of(cls, host: Mapping[str, Any]) -> Self | None:
        """Return where a campaign with this host came from; None of one that Assay ran."""
        return cls(**host[KEY]) if KEY in host else None

    def host_of(self, run: ForeignRun) -> dict[str, Any]:
        """Return what the store holds as the host of the campaign."""
        name = next((str(run.host[key]) for key in _HOST_NAMES if key in run.host), "")
        return {"name": name, KEY: asdict(self)}

    def name_of(self, run: ForeignRun) -> str:
        """Return what stands for the experiment; no experiment of ours may have a colon in its name."""
        stem = PurePath(self.file).name.split(".")[0]
        return f"{re.sub('[^a-z0-9]+', '-', run.tool.lower()).strip('-')}:{stem}"
