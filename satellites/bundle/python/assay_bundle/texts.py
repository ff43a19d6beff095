"""The texts of a bundle that people read and run first."""

from collections.abc import Sequence
from pathlib import PurePosixPath

from assay.experiment import Experiment
from assay.store.types import CampaignSummary
from assay.words import printable
from assay_bundle.tree import Tree

_SCRIPT = """\
#!/bin/sh
# Replays this bundle in a file system of its own, without root and without a network.
# It needs a Linux of the same architecture with unshare (util-linux) and sha256sum (coreutils).
set -eu
here=$(cd "$(dirname "$0")" && pwd)
cd "$here"
if test -z "${ASSAY_CHECKED-}"; then
  sha256sum --check --quiet SHA256SUMS || { echo "error: this bundle was changed, as above" >&2; exit 2; }
fi
for folder in bin lib lib32 lib64 programs project python/bin sbin usr; do
  if test -d "$folder"; then chmod -R u+rwx "$folder" 2>/dev/null || true; fi # if another user unpacked it
done
mkdir -p proc sys dev tmp replayed
user=--map-root-user
# Root of such a namespace in another root folder, as in a bare Debian, gets no second one and needs none.
if test "$(id -u)" = 0 && ! unshare $user true 2>/dev/null && ! grep -q 4294967295 /proc/self/uid_map; then
  user="--propagation unchanged"
fi
if ! unshare $user --mount --pid --net --fork true; then
  echo "error: a bundle runs in a file system of its own, which this machine refuses to its users: allow" \
    "namespaces of users (sysctl user.max_user_namespaces, kernel.unprivileged_userns_clone)" >&2
  exit 2
fi
exec env PYTHONHOME="$here/python" unshare $user --mount --pid --net --fork --kill-child "$here/@LOADER@" \\
  --library-path "$here/@LIBRARIES@" "$here/python/bin/python3" -B \\
  python/packages/assay_bundle/enter.py "$here" "$@"
"""


def replay_script(tree: Tree) -> str:
    """Return the script that replays an unpacked bundle with these files."""
    loader = next(path for path in sorted(tree) if PurePosixPath(path).name.startswith("ld-"))
    libraries = next(PurePosixPath(path).parent for path in sorted(tree) if path.endswith("/libc.so.6"))
    return _SCRIPT.replace("@LOADER@", loader).replace("@LIBRARIES@", str(libraries))


def readme(summary: CampaignSummary, experiment: Experiment, lacking: Sequence[str]) -> str:
    """Return the README of a bundle."""
    host = summary.host
    missing = "".join(f"- {printable(line)}\n" for line in lacking)
    return f"""\
# {experiment.name}: a campaign that you can replay

> {printable(experiment.question)}

Measured on {printable(str(host.get("name", "a host")))} from {summary.started_at:%Y-%m-%d %H:%M} UTC on, with
{host.get("processors", "?")} processors and Linux {host.get("kernel", "?")}. To run it again on your machine:

    unzip BUNDLE.zip -d bundle
    sh bundle/replay

It runs the programs that are in here, with the seeds and orders of then, and says what differs on your
machine and whether each verdict holds there: confirmed, contradicted or undecided. It needs Linux of the same
architecture, no root and no network. With Assay, `assay replay BUNDLE.zip` does both steps and checks the
file first. The programs are those of whoever made this file, and run as you: replay what you trust.

| file | what it is |
|---|---|
| `experiment.toml`, `experiment.json` | the question, as it was written and in full |
| `plan.json` | every trial with all that was drawn at random |
| `store.sqlite` | every result: `assay report --store store.sqlite` |
| `site/index.html` | the report, for a browser |
| `host.json` | what is known of the machine |
| `programs/`, `project/` | what was measured |
| `sources/` | the sources at their commits, with the lock files |
| `python/`, `lib*/`, `bin/`, `usr/` | Assay, Python and the shared libraries that they need |
| `licences/` | of all of that |
| `SHA256SUMS` | the digests of all files: `sha256sum --check SHA256SUMS` |
| `ro-crate-metadata.json` | the same for machines: RO-Crate 1.2, Workflow Run Crate |

## Not in here

- the kernel, its settings and the machine
{missing}"""
