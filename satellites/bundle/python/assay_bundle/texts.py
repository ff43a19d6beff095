"""The texts of a bundle that people read and run first."""

from collections.abc import Sequence
from pathlib import PurePosixPath

from assay.campaign.scheduler import took_s
from assay.report import Report
from assay.report.citation import measured_on
from assay.words import counted, duration, printable
from assay_bundle.tree import Tree
from assay_bundle.verdicts import claims

_CLAIMS = 20  # more are in the report

_SEVERAL = """\
Each of the hosts had a plan of its own. Your machine runs the plan of one of them, and is compared with each
of them and with all together.
"""

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


def readme(
    report: Report,
    *,
    hosts: Sequence[str],
    threads: int,
    size: int,
    architecture: str,
    lacking: Sequence[str],
) -> str:
    """Return the README of a bundle.

    Args:
        report: of the campaign.
        hosts: the names of those that ran it.
        threads: the most that a trial has.
        size: of all files, bytes.
        architecture: of the programs.
        lacking: what the bundle does not carry, in words.
    """
    summary = report.campaign
    missing = "".join(f"- {printable(line)}\n" for line in lacking)
    found = claims(report)
    listed = "".join(f"- {printable(claim)}\n" for claim in found[:_CLAIMS])
    if len(found) > _CLAIMS:
        listed += f"- and {len(found) - _CLAIMS} more, in `site/index.html`\n"
    several = "" if len(hosts) < 2 else _SEVERAL
    by_host = [[trial for trial in report.trials if trial.ran_on == host] for host in hosts]
    time = duration(max(map(took_s, by_host or [report.trials])))
    return f"""\
# {report.experiment.name}: a campaign that you can replay

> {printable(report.experiment.question)}

Measured on {printable(measured_on(summary, hosts))}
from {summary.started_at:%Y-%m-%d %H:%M} UTC on. To run it again on your machine:

    unzip BUNDLE.zip -d bundle
    sh bundle/replay

It runs the programs that are in here, with the seeds and orders of then, and says what differs on your
machine and whether each verdict holds there: confirmed, contradicted or undecided. It needs Linux of the same
architecture, no root and no network. With Assay, `assay replay BUNDLE.zip` does both steps and checks the
file first. The programs are those of whoever made this file, and run as you: replay what you trust.
{several}
## For evaluators of artifacts

- Install: nothing. Linux has `sh`, `unshare` and `sha256sum`; `python3 -m zipfile -e` is as good as `unzip`.
- Hardware: {architecture}, {counted(threads, "processor")} or more, {size / 1e6:.0f} MB of disk. On another
  kind of machine verdicts may be others; the replay says what differs.
- Time: a minute of yours, and {time} of a machine that does nothing else meanwhile.
- To look at first: `site/index.html`, the report, and `sha256sum --check --quiet SHA256SUMS`.
- Claims: these verdicts. `sh bundle/replay` tests all of them, and prints each beside that of your machine.
  It exits with 0 if all are confirmed, 1 if one is contradicted, 3 if one is undecided.

{listed}
## Files

| file | what it is |
|---|---|
| `experiment.toml`, `experiment.json` | the question, as it was written and in full |
| `plan.json` | every trial with all that was drawn at random |
| `store.sqlite` | every result: `assay report --store store.sqlite` |
| `site/index.html` | the report, for a browser |
| `host.json` | what is known of each machine |
| `programs/`, `project/` | what was measured |
| `sources/` | the sources at their commits, with the lock files |
| `python/`, `lib*/`, `bin/`, `usr/` | Assay, Python and the shared libraries that they need |
| `licences/` | of all of that |
| `SHA256SUMS` | the digests of all files: `sha256sum --check SHA256SUMS` |
| `ro-crate-metadata.json` | the same for machines: RO-Crate 1.2, Workflow Run Crate |

## Not in here

- the kernel, its settings and the machine
{missing}"""
