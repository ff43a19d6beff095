"""The texts of a bundle that people read and run first."""

from collections.abc import Sequence

from assay.experiment import Experiment
from assay.store.types import CampaignSummary
from assay.words import printable

ENVIRONMENT = {
    "ASSAY_PROGRAMS": "/programs",
    "HOME": "/tmp",  # noqa: S108 - of the bundle's own file system
    "LANG": "C.UTF-8",
    "PATH": "/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin:/programs",
    "PYTHONHOME": "/python",
    "PYTHONPATH": "/python/packages",
}
"""What a replay runs with, and nothing else."""

COMMAND = ("/python/bin/python3", "-m", "assay_bundle.inside")
"""What replays a bundle whose files are the root of the file system."""

_SCRIPT = """\
#!/bin/sh
# Replays this bundle in a file system of its own, without root and without a network.
# It needs a Linux of the same architecture with unshare, mount and chroot (util-linux, coreutils).
set -eu
here=$(cd "$(dirname "$0")" && pwd)
cd "$here"
if test -z "${ASSAY_CHECKED-}"; then
  sha256sum --check --quiet SHA256SUMS || { echo "error: this bundle was changed, as above" >&2; exit 2; }
fi
for folder in bin lib lib32 lib64 programs project python/bin sbin usr; do
  if test -d "$folder"; then chmod -R u+rwx "$folder"; fi
done
mkdir -p proc sys dev tmp replayed
user=--map-root-user
# Root that is in another root folder already, as in a bare Debian, gets no namespace of users and needs none.
if test "$(id -u)" = 0 && ! unshare $user true 2>/dev/null; then user=; fi
if ! unshare $user --mount --pid --net --fork true; then
  echo "error: a bundle runs in a file system of its own, which this machine refuses to its users: allow" \
    "namespaces of users (sysctl user.max_user_namespaces, kernel.unprivileged_userns_clone)" >&2
  exit 2
fi
exec unshare $user --mount --pid --net --fork --kill-child sh -c '
  set -eu
  mount --rbind /sys sys
  mount --rbind /dev dev
  mount -t tmpfs tmpfs tmp
  mount -t proc proc proc 2>/dev/null || mount --rbind /proc proc
  if test -x sbin/ldconfig; then mkdir -p etc && chroot . /sbin/ldconfig; fi
  exec env -i @ENVIRONMENT@ chroot . @COMMAND@ "$@"
' sh "$@"
"""


def replay_script() -> str:
    """Return the script that replays an unpacked bundle."""
    variables = " ".join(f"{name}={value}" for name, value in ENVIRONMENT.items())
    return _SCRIPT.replace("@ENVIRONMENT@", variables).replace("@COMMAND@", " ".join(COMMAND))


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
