"""Replays a bundle on this machine, in a file system that is the bundle."""

import os
import select
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

from assay.errors import AssayError
from assay.files import whole_file
from assay.runner.process import StopSignals
from assay.runner.temporary import Temporary
from assay_bundle.inside import CONFIRMED, CONTRADICTED, MISTAKE, NOW, UNDECIDED
from assay_bundle.unpack import unpack


def replay_bundle(bundle: Path, store: Path, options: list[str]) -> int:
    """Check a bundle, run its campaign again with what is in it, and return the exit code.

    What it prints is the answer. A signal ends it at once, and then nothing is written.

    Args:
        bundle: the file.
        store: where the results of the replay are written, if it is not stopped.
        options: of what replays it.

    Raises:
        AssayError: the bundle cannot be replayed here.
        Interrupted: a signal came.
    """
    if store.exists():
        raise AssayError(f"{store} is there already; move it away, or name another place with --output")
    with Temporary("assay-replay-") as temporary, StopSignals() as stop:
        folder = temporary.folder / "bundle"
        folder.mkdir()
        unpack(bundle, folder, stop.check)
        code = _run(folder, options, temporary.variables, stop)
        kept = folder / str(NOW).lstrip("/")
        if code not in {CONFIRMED, CONTRADICTED, UNDECIDED}:
            return code
        if not kept.is_file():
            return MISTAKE  # of the script, which has said why
        with whole_file(store) as part:
            shutil.copyfile(kept, part)
    return code


def _run(folder: Path, options: Sequence[str], variables: Mapping[str, str], stop: StopSignals) -> int:
    """Run the script of an unpacked bundle, and return the exit code; `stop` ends all that it started."""
    process = subprocess.Popen(  # noqa: S603
        ["/bin/sh", str(folder / "replay"), *options],
        env={**variables, "ASSAY_CHECKED": "1", "PATH": "/usr/bin:/bin:/usr/sbin:/sbin"},
        start_new_session=True,  # Ctrl-C is for us
    )
    ended = os.pidfd_open(process.pid)
    try:
        select.select([ended, stop.wakes], [], [])
    finally:
        os.close(ended)
        if process.poll() is None:
            process.kill()
        code = process.wait()
    stop.check()
    return code if code >= 0 else 128 - code
