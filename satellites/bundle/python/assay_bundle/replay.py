"""Replays a bundle on this machine, in a file system that is the bundle."""

import shutil
import subprocess
from pathlib import Path

from assay.errors import AssayError
from assay.runner.process import StopSignals
from assay.runner.temporary import Temporary
from assay_bundle.inside import NOW
from assay_bundle.texts import replay_script
from assay_bundle.unpack import unpack

_PROBE = ("unshare", "--map-root-user", "--mount", "--pid", "--net", "--fork", "true")


def replay_bundle(bundle: Path, store: Path, options: list[str]) -> int:
    """Check a bundle, run its campaign again with what is in it, and return the exit code.

    What it prints is the answer. Signals reach its Assay, which ends at once and in order.

    Args:
        bundle: the file.
        store: where the results of the replay are written, if it is not stopped.
        options: of what replays it.

    Raises:
        AssayError: the bundle cannot be replayed here.
    """
    if store.exists():
        raise AssayError(f"{store} is there already; move it away, or name another place with --output")
    _check_namespaces()
    with Temporary("assay-replay-") as temporary, StopSignals() as stop:
        folder = temporary.folder / "bundle"
        folder.mkdir()
        unpack(bundle, folder)
        stop.check()
        done = subprocess.run(  # noqa: S603
            ["/bin/sh", "-c", replay_script(), str(folder / "replay"), *options],
            env={**temporary.variables, "ASSAY_CHECKED": "1", "PATH": "/usr/bin:/bin:/usr/sbin:/sbin"},
            check=False,
        )
        stop.check()
        kept = folder / str(NOW).lstrip("/")
        if kept.is_file() and done.returncode in {0, 1, 3}:
            _keep(kept, store)
    return done.returncode if done.returncode >= 0 else 128 - done.returncode


def _check_namespaces() -> None:
    """Refuse a machine on which a user cannot have a file system of his own."""
    try:
        done = subprocess.run(_PROBE, capture_output=True, text=True, check=False)  # noqa: S603
        why = done.stderr.strip()
    except OSError as error:
        why = f"{error.filename}: {error.strerror}"
    else:
        if done.returncode == 0:
            return
    raise AssayError(
        f"a bundle runs in a file system of its own, which this machine refuses ({why}); allow namespaces of"
        " users (sysctl user.max_user_namespaces, kernel.unprivileged_userns_clone)"
    )


def _keep(kept: Path, store: Path) -> None:
    part = store.with_name(f"{store.name}.part")
    try:
        store.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(kept, part)
        part.replace(store)
    except OSError as error:
        raise AssayError(
            f"cannot write {store}: {error.strerror}; name another place with --output"
        ) from error
    finally:
        part.unlink(missing_ok=True)
