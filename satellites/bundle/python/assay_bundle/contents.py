"""Gathers the files of a campaign's bundle."""

import json
import platform
from dataclasses import asdict
from hashlib import sha256
from pathlib import Path
from typing import Any

from assay import __version__
from assay.errors import AssayError
from assay.experiment import Experiment
from assay.report import gather
from assay.report.site import write_site
from assay.store import Store
from assay.store.types import CampaignSummary
from assay_bundle import FORMAT
from assay_bundle.alone import plan_of, write_alone
from assay_bundle.crate import METADATA, described
from assay_bundle.interpreter import interpreter, libraries, packages
from assay_bundle.libraries import other_libraries
from assay_bundle.licences import licences
from assay_bundle.moved import Moved
from assay_bundle.programs_of import programs_of
from assay_bundle.sources import sources
from assay_bundle.texts import readme, replay_script
from assay_bundle.tree import SUMS, Entry, Tree, added


def contents(store: Store, number: int, folder: Path) -> tuple[Tree, list[str]]:
    """Return every file of a campaign's bundle, and what it lacks.

    Args:
        store: its store.
        number: of the campaign.
        folder: an empty one, for files that are made.

    Raises:
        AssayError: the campaign cannot be replayed elsewhere.
    """
    summary = store.campaign(number)
    experiment = store.experiment(summary.id)
    _check_replayable(summary, experiment)
    trials = plan_of(store, summary)
    records = list(store.records_of(trial.id for trial in store.trials(summary.id)))
    digests: dict[str, set[str]] = {}
    for record in records:
        digests.setdefault(record["program"], set()).add(record["program_sha256"])
    ours = [Path(trial.program).parent for trial in trials if Path(trial.program).name == "assay-trial"]
    moved = Moved(experiment, *ours[:1])

    tree, lacking = programs_of(experiment, trials, digests, moved)
    found, distributions = packages()
    added(tree, interpreter())
    added(tree, found)
    added(tree, libraries(tree))
    added(tree, licences(tree, distributions))
    written, without = sources(summary, experiment, records, folder)
    added(tree, written)
    lacking += without
    hosts = store.hosts_that_ran(summary.id)
    settings = store.environments(summary.id)
    records_of_hosts = _records_of_hosts(store, summary)
    lacking += other_libraries(tree, {name: settings[own[0]] for name, own in records_of_hosts.items()})
    file = folder / "store.sqlite"
    write_alone(store, summary, moved, file)
    with Store.open(file, create=False) as alone:
        write_site(alone, folder / "site")
        report = gather(alone, 1)
        inside = alone.experiment(1)
        plan = [asdict(trial) for trial in plan_of(alone, alone.campaign(1))]
        known = {
            "campaign": alone.campaign(1).host,
            "hosts": records_of_hosts,
            "records": alone.environments(1),
        }
    added(tree, _site(folder / "site", folder))
    threads = max(trial.request.get("threads", 1) for trial in trials)
    size = sum(entry.size for entry in tree.values())
    made: dict[str, Any] = {
        "bundle.json": _json(_facts(summary, lacking)),
        "experiment.json": inside.model_dump_json(indent=2),
        "experiment.toml": experiment.source,
        "host.json": _json(known),
        "plan.json": _json({"seed": summary.seed, "trials": plan}),
        "README.md": readme(
            report,
            hosts=hosts,
            threads=threads,
            size=size,
            architecture=platform.machine(),
            lacking=lacking,
        ),
        "replay": replay_script(tree),
        str(inside.path).lstrip("/"): experiment.source,
    }
    tree |= {path: Entry(text.encode(), executable=path == "replay") for path, text in made.items()}
    tree["store.sqlite"] = Entry(file)
    last = max(trial.started_at for trial in store.trials(summary.id))
    tree[METADATA] = described(tree, summary, experiment, hosts, last)
    tree[SUMS] = _sums(tree)
    return tree, lacking


def _facts(summary: CampaignSummary, lacking: list[str]) -> dict[str, Any]:
    """Return what a program must know of a bundle before it unpacks it."""
    return {
        "format": FORMAT,
        "assay": __version__,
        "system": "linux",
        "architecture": platform.machine(),
        "experiment": summary.experiment,
        "started_at": summary.started_at.isoformat(),
        "not_carried": lacking,
    }


def _records_of_hosts(store: Store, summary: CampaignSummary) -> dict[str, list[str]]:
    """Return name of a host that ran trials -> the digests of its settings, in the order of its trials."""
    found: dict[str, dict[str, None]] = {}
    for trial in store.trials(summary.id):
        if trial.ran_on is not None and trial.host is not None:
            found.setdefault(trial.ran_on, {})[trial.host] = None
    return {name: [*digests] for name, digests in found.items()}


def _sums(tree: Tree) -> Entry:
    """Return the digests of all files, as `sha256sum --check` reads them."""
    lines = (f"{sha256(tree[path].read()).hexdigest()}  {path}\n" for path in sorted(tree))
    return Entry("".join(lines).encode())


def _check_replayable(summary: CampaignSummary, experiment: Experiment) -> None:
    """Refuse a campaign whose trials need what no bundle carries."""
    why = ""
    if not summary.finished:
        why = f"is not finished; first run assay resume --campaign {summary.id}"
    elif not summary.ended:
        why = "has no trial"
    elif experiment.revisions is not None:
        why = "compares revisions, whose programs were removed when it ended; run the experiment by itself"
    elif experiment.moved.layout:
        why = "links its programs anew for each block, which needs a linker; run it without layout = true"
    elif experiment.simulates_everywhere:
        why = "simulates events with valgrind, which a bundle does not carry; run it without [simulate]"
    if why:
        raise AssayError(f"campaign {summary.id} cannot be bundled: it {why}")


def _site(site: Path, folder: Path) -> Tree:
    """Return the pages of a site without the folder in which they were written."""
    tree: Tree = {}
    for path in site.rglob("*"):
        if path.is_file():
            content = path.read_bytes().replace(f"{folder}/".encode(), b"/")
            if path.name == "summary.json":
                content = json.dumps({**json.loads(content), "made_from": "", "beside": ""}).encode()
            tree[f"site/{path.relative_to(site)}"] = Entry(content)
    return tree


def _json(value: Any) -> str:
    return json.dumps(value, indent=2, ensure_ascii=False, default=str) + "\n"
