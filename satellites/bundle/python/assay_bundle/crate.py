"""A bundle described for machines: RO-Crate 1.2 with the profile Workflow Run Crate 0.5."""

import json
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from rocrate.model.contextentity import ContextEntity  # type: ignore[import-untyped]
from rocrate.model.entity import Entity  # type: ignore[import-untyped]
from rocrate.rocrate import ROCrate  # type: ignore[import-untyped]

from assay import __version__
from assay.experiment import Experiment
from assay.store.types import CampaignSummary
from assay_bundle.tree import Entry, Tree

METADATA = "ro-crate-metadata.json"
_PROFILES = {
    "https://w3id.org/ro/wfrun/process/0.5": ("Process Run Crate", "0.5"),
    "https://w3id.org/ro/wfrun/workflow/0.5": ("Workflow Run Crate", "0.5"),
    "https://w3id.org/workflowhub/workflow-ro-crate/1.0": ("Workflow RO-Crate", "1.0"),
}
_FILES: Mapping[str, tuple[str, str]] = {
    "README.md": ("What this is, and how to run it again", "text/markdown"),
    "SHA256SUMS": ("The digests of all files", "text/plain"),
    "bundle.json": ("What a program must know before it unpacks the bundle", "application/json"),
    "experiment.json": ("The experiment in full, all defaults filled in", "application/json"),
    "host.json": ("What is known of the machine", "application/json"),
    "plan.json": ("Every planned trial with all random draws", "application/json"),
    "replay": ("The script that runs the campaign again", "text/x-shellscript"),
    "store.sqlite": ("Every trial with its raw record", "application/vnd.sqlite3"),
}
_FOLDERS = {
    "licences/": "Licences of what is carried",
    "programs/": "What trials run",
    "project/": "Files of the experiment's project",
    "python/": "Python with Assay and the packages that it needs",
    "site/": "The report, for a browser",
    "sources/": "Sources at their commits, with the lock files",
}


def described(
    tree: Tree, summary: CampaignSummary, experiment: Experiment, hosts: Sequence[str], ended: datetime
) -> Entry:
    """Return the metadata of a bundle with these files.

    Args:
        tree: all files but this one and the digests.
        summary: the campaign.
        experiment: its experiment.
        hosts: the names of those that ran it, where known.
        ended: when its last trial began.
    """
    crate = ROCrate(version="1.2")
    crate.name = f"Assay's campaign of {experiment.name}"
    crate.description = experiment.question
    crate.datePublished = ended
    licence = _add(
        crate,
        "#licences",
        "CreativeWork",
        name="Several licences",
        description="What is carried has the licences in licences/; the experiment has that of its author",
    )
    crate.license = licence
    profiles = [
        _add(crate, uri, ["CreativeWork", "Profile"], name=name, version=version)
        for uri, (name, version) in _PROFILES.items()
    ]
    crate.root_dataset["conformsTo"] = profiles
    assay = _add(
        crate,
        "#assay",
        "SoftwareApplication",
        name="Assay",
        version=__version__,
        softwareVersion=__version__,
        url={"@id": "python/"},
        description="A laboratory for honest performance experiments on concurrent software",
    )
    language = _add(
        crate,
        "#experiment-file",
        "ComputerLanguage",
        name="TOML, as experiments of Assay are written",
        version="1.0",
        url={"@id": "https://toml.io"},
    )
    workflow = crate.add_file(
        dest_path="experiment.toml",
        properties={
            "@type": ["File", "SoftwareSourceCode", "ComputationalWorkflow"],
            "name": experiment.name,
            "description": experiment.question,
            "encodingFormat": "application/toml",
        },
    )
    workflow["license"] = licence
    workflow["programmingLanguage"] = language
    crate.root_dataset["mainEntity"] = workflow
    files = {
        path: crate.add_file(dest_path=path, properties={"name": name, "encodingFormat": kind})
        for path, (name, kind) in _FILES.items()
        if path in tree or path == "SHA256SUMS"
    }
    files["README.md"]["about"] = crate.root_dataset
    folders = {
        path: crate.add_directory(dest_path=path, properties={"name": name, "description": name})
        for path, name in _FOLDERS.items()
        if any(file.startswith(path) for file in tree)
    }
    led_by = str(summary.host.get("name", "unknown"))
    about = f"{summary.host.get('processors')} processors, Linux {summary.host.get('kernel')}"
    places = [
        _add(
            crate,
            f"#host-{number}" if number else "#host",
            "Thing",
            name=name,
            description=about if name == led_by else "host.json has what is known of it",
        )
        for number, name in enumerate(hosts or [led_by])
    ]
    agent = _add(crate, "#whoever-ran-it", "Person", name="Whoever ran the campaign")
    action = _add(
        crate,
        "#campaign",
        "CreateAction",
        name=f"The campaign of {summary.ended} trials",
        startTime=summary.started_at.isoformat(),
        endTime=ended.isoformat(),
        actionStatus={"@id": "http://schema.org/CompletedActionStatus"},
        instrument=workflow,
        agent=agent,
        object=[files["plan.json"], folders["programs/"]],
        result=[files["store.sqlite"], folders["site/"]],
        location=places,
    )
    _add(
        crate,
        "#assay-run",
        "OrganizeAction",
        name="Assay's run of the campaign",
        instrument=assay,
        agent=agent,
        object=action,
        result=action,
    )
    crate.root_dataset["mentions"] = [action]
    content = crate.metadata.generate()
    content["@graph"].sort(key=lambda entity: (entity["@id"] != METADATA, entity["@id"]))
    return Entry((json.dumps(content, indent=2, sort_keys=True, ensure_ascii=False) + "\n").encode())


def _add(crate: ROCrate, uri: str, kind: str | list[str], /, **properties: Any) -> Entity:
    entity = crate.add(ContextEntity(crate, uri, properties={"@type": kind}))
    for name, value in properties.items():
        entity[name] = value
    return entity
