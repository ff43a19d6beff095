"""`assay bundle` and `assay replay` as a user types them: the whole way, once."""

import json
import os
import platform
import shutil
import signal
import subprocess
import sys
import time
import zipfile
from collections.abc import Iterator
from dataclasses import fields, replace
from datetime import datetime
from functools import partial
from hashlib import sha256
from pathlib import Path

import pytest

from assay.campaign import Reporter
from assay.campaign.scheduler import Scheduler
from assay.plan.make_plan import make_plan
from assay.plan.types import PlannedTrial
from assay.runner.process import StopSignals
from assay.runner.types import Outcome
from assay.store import Store, claims
from assay.store import hosts as store_hosts
from assay_bundle import archive
from assay_bundle import contents as gathering
from assay_bundle.alone import plan_of
from assay_bundle.contents import contents
from assay_bundle.inside import Result, lines, replay_here
from assay_bundle.tree import Tree
from assay_bundle.verdicts import Difference, OfHost, Replayed
from conftest import Assay, assay_in

VALIDATOR = Path(__file__).parents[3] / ".venv" / "roc-validator" / "bin" / "python"
pytestmark = pytest.mark.timeout(900)  # a bundle has 280 MB, which takes minutes on a busy machine
EXPERIMENTS = Path(__file__).parents[1] / "experiments"
STEADY, EXPERIMENT = ((EXPERIMENTS / name).read_text() for name in ("steady.sh", "steady.toml"))


@pytest.fixture(scope="module")
def project(steady_programs: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Return a project in git with a campaign that has a verdict."""
    folder = tmp_path_factory.mktemp("project")
    (folder / "steady.sh").write_text(STEADY)
    (folder / "steady.sh").chmod(0o755)
    (folder / "steady.toml").write_text(EXPERIMENT)
    (folder / "requirements.lock").write_text("x==1\n")
    author = ["-c", "user.name=a", "-c", "user.email=a@b"]
    for words in (["init", "--quiet"], ["add", "--all"], [*author, "commit", "--quiet", "-m", "All"]):
        subprocess.run(["git", *words], cwd=folder, check=True)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("ASSAY_PROGRAMS", str(steady_programs))
        assay_in(folder)("run", "steady.toml", "--no-page", "--quiet")
        yield folder


@pytest.fixture(scope="module")
def bundle(project: Path) -> Path:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(archive, "PACKED", 1)  # which takes a third of the time
        assay_in(project)("bundle", "1")
    return project / "steady-1.zip"


@pytest.fixture
def without_python(monkeypatch: pytest.MonkeyPatch) -> None:
    """Gather bundles without their Python, which takes longer than all else."""
    monkeypatch.setattr(gathering, "packages", lambda: ({}, []))
    for name in ("interpreter", "libraries"):
        monkeypatch.setattr(gathering, name, lambda *_: {})


def gathered(project: Path, folder: Path) -> dict[str, str]:
    """Return path -> digest of what a bundle of the project's campaign has."""
    folder.mkdir()
    with Store.open(project / "results" / "assay.sqlite", create=False) as store:
        tree, _ = contents(store, 1, folder)
        return digests(tree)


def digests(tree: Tree) -> dict[str, str]:
    return {path: sha256(entry.read()).hexdigest() for path, entry in tree.items()}


def test_a_bundle_is_replayed_and_its_verdict_confirmed(project: Path, bundle: Path) -> None:
    assay = assay_in(project)
    printed = json.loads(assay("replay", bundle, "--quiet", "--json").stdout)
    [verdict] = printed["verdicts"]
    assert (verdict["holds"], verdict["then"], verdict["now"]) == ("confirmed", "faster", "faster")
    assert printed["trials"] == {"valid": 16}
    with Store.open(project / "steady-1-replay.sqlite", create=False) as store:
        assert store.campaign().host["kernel"] == platform.release()
        assert {trial.levels["subject"] for trial in store.trials(1)} == {"slow", "quick"}
    again = assay("replay", bundle, expect=2).stderr
    assert "is there already" in again


def test_a_bundle_has_what_its_readme_says(project: Path, bundle: Path) -> None:
    with zipfile.ZipFile(bundle) as packed:
        names = packed.namelist()
        texts = {name: packed.read(name) for name in names if not name.startswith(("python/", "lib"))}
    commit = subprocess.run(
        ["git", "rev-parse", "HEAD"], cwd=project, check=True, capture_output=True, text=True
    ).stdout.strip()
    assert {
        *("README.md", "experiment.toml", "experiment.json", "plan.json", "store.sqlite", "host.json"),
        *("site/index.html", "site/campaign-1/index.html", "programs/assay-calibrate", "project/steady.sh"),
        *("python/packages/assay/__init__.py", "python/bin/python3", "bin/sh", "ro-crate-metadata.json"),
        f"sources/{commit}.tar",
    } <= {*names}
    assert any(name.startswith("licences/") for name in names)
    assert b"requirements.lock" in texts[f"sources/{commit}.tar"]
    assert len(json.loads(texts["plan.json"])["trials"]) == 16
    assert texts["experiment.toml"].decode() == EXPERIMENT
    for name, content in texts.items():
        assert str(project).encode() not in content, name


@pytest.mark.usefixtures("without_python")
def test_the_same_campaign_gives_the_same_files_from_another_folder(project: Path, tmp_path: Path) -> None:
    shutil.copytree(project, other := tmp_path / "other" / "deeper")
    assert gathered(project, tmp_path / "one") == gathered(other, tmp_path / "two")


@pytest.mark.usefixtures("without_python")
def test_a_replay_that_says_the_opposite_contradicts(project: Path, tmp_path: Path) -> None:
    shutil.copytree(project, other := tmp_path / "other")
    gathered(project, tmp_path / "files")
    script = project / "steady.sh"
    store = other / "results" / "assay.sqlite"
    try:
        script.write_text(STEADY.replace("2e6", "5e5"))
        with StopSignals() as stop:
            result = replay_here(store, tmp_path / "now.sqlite", stop, Reporter(quiet=True))
    finally:
        script.write_text(STEADY)
    assert not isinstance(result, int)
    assert [verdict.holds for verdict in result.verdicts] == ["contradicted"]
    assert result.exit_code == 1
    assert "contradicted quick against slow" in "\n".join(lines(result))


@pytest.fixture
def hosts(project: Path, tmp_path: Path) -> Path:
    """Return a copy of the project whose campaign ran on two hosts, which contradict each other.

    One of them was lost while it ran a group.
    """
    shutil.copytree(project, copy := tmp_path / "hosts")
    with Store.open(copy / "results" / "assay.sqlite", create=False) as before:
        experiment, summary = before.experiment(1), before.campaign(1)
        [*planned] = plan_of(before, summary)
        record = next(before.records_of(trial.id for trial in before.trials(1)))
    known = {field.name: record[field.name] for field in fields(Outcome)}
    outcome = Outcome(**known | {"started_at": datetime.fromisoformat(record["started_at"])})
    other = {"kernel": "5.0", "library libc.so.6": "0" * 12, "quota": "50%"}
    plan = make_plan(experiment, summary.seed, lambda _: planned[0].program, 100, hosts=2)

    def ran(trial: PlannedTrial, number: int) -> Outcome:
        rate = 2e6 if (trial.levels["subject"] == "quick") == (number == 0) else 1e6
        result = {**outcome.result, "metrics": {"throughput": rate}} if outcome.result else None
        settings = {**outcome.host, **(other if number else {"kernel": platform.release()})}
        return replace(outcome, result=result, ran_on=f"lab{number}", host=settings)

    store_file = copy / "results" / "assay.sqlite"
    store_file.unlink()
    with Store.open(store_file) as store:
        store.begin_campaign(experiment=experiment, plan=plan, host=summary.host)
        claims.offer(store, 1, blocks=100)
        for number in (0, 1):
            store_hosts.join(store, 1, f"lab{number}", f"lab{number}", f"worker {number}")
        lost = claims.take(store, 1, "worker 0", -1)
        assert lost is not None
        claims.record(store, lost, lost.trials[0].ordinal, ran(lost.trials[0], 0))
        assert claims.expire(store, 1) == [lost.group]
        scheduler = Scheduler(store, 1, experiment, clock=time.monotonic, say=lambda _: None)
        scheduler.again(lost.trials, "lost", partial(claims.replace, store, 1, lost.group))
        for number in (0, 1):
            while claim := claims.take(store, 1, f"worker {number}", 600, number):
                for trial in claim.trials:
                    claims.record(store, claim, trial.ordinal, ran(trial, number))
    return copy


@pytest.mark.usefixtures("without_python")
def test_the_verdicts_of_each_host_and_of_all_are_beside_those_of_the_replay(
    hosts: Path, tmp_path: Path
) -> None:
    original = hosts / "results" / "assay.sqlite"
    with StopSignals() as stop:
        result = replay_here(original, tmp_path / "now.sqlite", stop, Reporter(quiet=True))
    assert not isinstance(result, int)
    assert result.trials == {"valid": 16}
    said = "\n".join(lines(result))
    for part in (
        "then on 2 hosts, lab0 and lab1; this machine runs the plan of one of them",
        "undecided    quick against slow",
        "on lab0 faster 2.00 2.00 to 2.00: confirmed",
        "on lab1 slower 0.50 0.50 to 0.50: contradicted",
        f"setting kernel: {platform.release()}, then 5.0 on lab1",
        "setting quota: none, then 50% on lab1",
    ):
        assert part in said, said
    assert {of.name for of in result.differences} == {"setting kernel", "setting quota"}


def test_of_many_hosts_a_replay_says_how_many_it_confirms_and_that_it_is_one_more_itself() -> None:
    names = [f"lab{number}" for number in range(10)]
    alone = [OfHost(name, "contradicted" if name > "lab1" else "confirmed", "faster", "2") for name in names]
    verdict = Replayed("a against b", "contradicted", "faster", "slower", "2", "0.5", hosts=alone)
    others = [Difference("setting governor", "powersave", "performance", names[:6])]
    said = lines(Result("x", names, True, others, [verdict], {"valid": 4}))
    assert "then on 10 hosts, lab0, lab1, lab2, lab3 and 6 others; this machine runs" in said[1]
    assert "    by host: 2 confirmed, 8 contradicted" in said
    assert "all hosts like those then, which one host alone does not refute" in "\n".join(said)
    assert "powersave on lab0, lab1, lab2, lab3 and 2 others" in said[-1]


@pytest.mark.usefixtures("without_python")
def test_a_bundle_has_a_campaign_on_several_hosts_as_it_was(hosts: Path, tmp_path: Path) -> None:
    files = gathered(hosts, tmp_path / "files")
    shutil.copytree(hosts, other := tmp_path / "other" / "deeper")
    assert gathered(other, tmp_path / "again") == files
    with (
        Store.open(tmp_path / "files" / "store.sqlite", create=False) as alone,
        Store.open(hosts / "results" / "assay.sqlite", create=False) as store,
    ):
        assert alone.campaign(1).finished
        assert alone.hosts_that_ran(1) == ["lab0", "lab1"]
        assert [host.name for host in store_hosts.hosts_of(alone, 1)] == ["lab0", "lab1"]
        before, after = ([trial.levels for trial in of.trials(1)] for of in (store, alone))
        assert before == after
        (tmp_path / "third").mkdir()
        tree, lacking = contents(store, 1, tmp_path / "third")
    assert [line for line in lacking if line.startswith("libc.so.6 of lab1, which had another version")]
    text = tree["README.md"].read().decode()
    for part in (
        "Measured on 2 hosts (lab0 and lab1)\n",
        "runs the plan of one of them",
        "- quick against slow, throughput: undecided 1.00 0.",
        "(faster on lab0; slower on lab1)\n",
        "- Time: a minute of yours, and a few seconds of",
    ):
        assert part in text, text


@pytest.mark.usefixtures("without_python")
def test_what_was_not_measured_is_not_bundled(project: Path, assay: Assay) -> None:
    script, store = project / "steady.sh", project / "results" / "assay.sqlite"
    try:
        script.write_text(STEADY + "# changed\n")
        assert "has changed since" in assay("bundle", "1", "--store", store, expect=2).stderr
        script.unlink()
        assert "is gone" in assay("bundle", "1", "--store", store, expect=2).stderr
    finally:
        script.write_text(STEADY)
        script.chmod(0o755)
    assert "no campaign 7" in assay("bundle", "7", "--store", store, expect=2).stderr


def test_an_interrupted_bundle_leaves_nothing(project: Path, tmp_path: Path) -> None:
    store = project / "results" / "assay.sqlite"
    words = [sys.executable, "-m", "assay", "bundle", "1", "--store", str(store)]
    process = subprocess.Popen(words, cwd=tmp_path, stderr=subprocess.PIPE, text=True)
    while not (parts := [*tmp_path.glob("*.part")]) and process.poll() is None:
        time.sleep(0.01)
    assert parts
    process.send_signal(signal.SIGINT)
    assert "no bundle was written" in process.communicate()[1]
    assert process.returncode == 130
    assert [*tmp_path.iterdir()] == []


def test_a_stopped_replay_leaves_nothing(bundle: Path, tmp_path: Path) -> None:
    store = tmp_path / "store.sqlite"
    words = [sys.executable, "-m", "assay", "replay", str(bundle), "--output", str(store)]
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    process = subprocess.Popen(
        words, stderr=subprocess.PIPE, text=True, env={**os.environ, "TMPDIR": str(temporary)}
    )
    assert process.stderr is not None
    while "of 16 trials" not in (line := process.stderr.readline()):
        assert line, "it ended before a trial did"
    process.send_signal(signal.SIGTERM)
    assert "nothing was written" in process.communicate()[1]
    assert process.returncode == 143
    assert [*tmp_path.iterdir()] == [temporary]
    assert [*temporary.iterdir()] == []


@pytest.mark.skipif(not VALIDATOR.exists(), reason="make develop installs roc-validator")
def test_the_crate_is_valid(bundle: Path, tmp_path: Path) -> None:
    (tmp_path / "python").mkdir()
    with zipfile.ZipFile(bundle) as packed:
        packed.extractall(tmp_path, [name for name in packed.namelist() if not name.startswith("python/")])
    script = Path(__file__).with_name("validate_crate.py")
    done = subprocess.run([VALIDATOR, script, tmp_path], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
