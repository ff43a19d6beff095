"""Real worktrees and builds, and every way in which they can end."""

import fcntl
import os
import re
import shlex
import signal
import subprocess
import sys
import termios
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import pytest

from assay.errors import AssayError
from assay.runner.process import Interrupted, StopSignals
from assay.versions import BuildFailedError, OtherFilesError, Repository, Worktrees
from assay.versions.testing import ExampleRepository


@pytest.fixture(autouse=True)
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Have temporary folders made in one that is to be empty again at the end."""
    folder = tmp_path / "temporary"
    folder.mkdir()
    monkeypatch.setenv("TMPDIR", str(folder))
    yield folder
    assert list(folder.iterdir()) == []


@pytest.fixture
def project(tmp_path: Path) -> Iterator[ExampleRepository]:
    """Return a project of which nothing is changed, unless a test commits to it."""
    project = ExampleRepository(tmp_path / "project")
    project.commit("Second", speed="2\n")
    yield project
    assert not (project.root / ".git" / "worktrees").exists()


def changed_by_build(made: Worktrees) -> dict[str, tuple[str, ...]]:
    return {label: revision.changed_by_build for label, revision in made.built.items()}


def worktrees(
    project: ExampleRepository,
    said: list[str],
    build: str | None,
    *names: str,
    stop: StopSignals | None = None,
) -> Worktrees:
    """Return worktrees of revisions, whose names are their labels, too; of the working tree: "here"."""
    repository = Repository.find(project.root)
    revisions = {
        name: repository.working_tree() if name == "here" else repository.revision(name) for name in names
    }
    return Worktrees(repository, revisions, build=build, say=said.append, show_output=said.append, stop=stop)


def test_each_revision_is_built_in_a_folder_of_its_own(project: ExampleRepository) -> None:
    (project.root / "speed").write_text("3\n")
    (project.root / "new").touch()
    before = project.everything()
    said: list[str] = []
    build = "cp speed built; git describe --always; test ! -e new || echo $ASSAY_TEMPORARY > new"
    with worktrees(project, said, build, "HEAD~1", "main", "here") as made:
        folders = made.folders
        built = {label: (folder / "built").read_text() for label, folder in folders.items()}
        assert built == {"HEAD~1": "1\n", "main": "2\n", "here": "3\n"}
        assert len({len(str(folder)) for folder in folders.values()}) == 1
        assert changed_by_build(made) == {"HEAD~1": (), "main": (), "here": ("new",)}
        with worktrees(project, said, None, "main") as later:
            assert len(str(later.folders["main"])) == len(str(folders["main"]))
    assert project.everything() == before
    assert said[1] == f"building main, main ({project.git('rev-parse', 'HEAD')[:10]}): {build}"


def test_a_revision_that_does_not_build_is_named_with_the_end_of_its_output(
    project: ExampleRepository,
) -> None:
    before = project.everything()
    said: list[str] = []
    made = worktrees(project, said, "grep 1 speed || { echo no 1; exit 3; }", "HEAD~1", "main")
    with pytest.raises(
        BuildFailedError, match=r"revision main \(\w{10}\) does not build: .* with 3"
    ) as failed:
        made.__enter__()
    assert (failed.value.label, failed.value.revision.name) == ("main", "main")
    assert said[-1] == "no 1"
    assert project.everything() == before


def test_an_exception_within_leaves_nothing_either(project: ExampleRepository) -> None:
    before = project.everything()
    # Folders that nobody may write in, and a link that leads out of the worktree.
    build = f"mkdir -p mod/cache; touch mod/cache/x; ln -s {project.root} link; chmod -R a-w mod; sleep 600 &"
    with pytest.raises(ZeroDivisionError), worktrees(project, [], build, "main"):
        raise ZeroDivisionError
    assert project.everything() == before
    assert os.access(project.root, os.W_OK)


def test_hooks_of_the_user_do_not_run(project: ExampleRepository) -> None:
    hook = project.root / ".git" / "hooks" / "post-checkout"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text("#!/bin/sh\ntouch hooked\n")
    hook.chmod(0o755)
    with worktrees(project, [], None, "main") as made:
        assert not (made.folders["main"] / "hooked").exists()


def test_a_surrounding_hook_does_not_lead_builds_astray(
    project: ExampleRepository, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GIT_DIR", str(tmp_path / "elsewhere"))
    monkeypatch.setenv("GIT_INDEX_FILE", str(tmp_path / "index"))
    with worktrees(project, [], "git rev-parse HEAD > commit", "HEAD~1") as made:
        assert (made.folders["HEAD~1"] / "commit").read_text().strip() == project.first


def test_only_what_the_build_changes_is_told(project: ExampleRepository) -> None:
    # As committed, the text has other ends of lines than git would give it.
    project.commit("Ends of lines", windows="1\r\n", gone="", staged="")
    (project.root / ".git" / "info" / "attributes").write_text("windows text\n")
    build = "echo 3 > speed; rm gone; echo 3 > staged; git add staged; touch new"
    with worktrees(project, [], build, "main") as made:
        assert changed_by_build(made) == {"main": ("gone", "speed", "staged")}


def ends_of_lines(project: ExampleRepository) -> None:
    project.commit("A script", **{"run.sh": "#!/bin/sh\n"})
    project.git("config", "core.autocrlf", "true")


def ends_of_lines_of_a_new_file(project: ExampleRepository) -> None:
    project.git("config", "core.autocrlf", "true")
    (project.root / "run.sh").write_text("#!/bin/sh\n")


def ends_of_lines_by_attribute(project: ExampleRepository) -> None:
    project.commit("A script", **{"run.sh": "#!/bin/sh\n"})
    (project.root / ".git" / "info" / "attributes").write_text("run.sh text eol=crlf\n")


def ends_of_lines_of_the_user(project: ExampleRepository) -> None:
    project.git("config", "core.autocrlf", "input")
    project.commit("A script", **{"run.sh": "#!/bin/sh\r\n"})


def identity(project: ExampleRepository) -> None:
    project.commit("A script", **{"run.sh": "# $Id$\n"})
    (project.root / ".git" / "info" / "attributes").write_text("run.sh ident\n")


def encoding(project: ExampleRepository) -> None:
    project.commit("A script", **{"run.sh": "echo\n"})
    (project.root / ".git" / "info" / "attributes").write_text("run.sh working-tree-encoding=UTF-16LE\n")


def smudged(project: ExampleRepository) -> None:
    project.commit("A script", **{"run.sh": "echo\n"})
    project.git("config", "filter.upper.smudge", "tr a-z A-Z")
    (project.root / ".git" / "info" / "attributes").write_text("run.sh filter=upper\n")


def assumed_unchanged(project: ExampleRepository) -> None:
    project.commit("A script", **{"run.sh": "echo\n"})
    project.git("update-index", "--assume-unchanged", "run.sh")
    (project.root / "run.sh").write_text("true\n")


def not_executable(project: ExampleRepository) -> None:
    project.git("config", "core.fileMode", "false")
    project.commit("A script", **{"run.sh": "echo\n"})
    (project.root / "run.sh").chmod(0o755)


def large_file(project: ExampleRepository) -> None:
    project.commit("Data", **{"run.sh": "version https://git-lfs.github.com/spec/v1\noid sha256:1\nsize 9\n"})


def annexed(project: ExampleRepository) -> None:
    project.commit("Data", **{"run.sh": "/annex/objects/SHA256E-s9--1\n"})


def annexed_and_locked(project: ExampleRepository) -> None:
    (project.root / "run.sh").symlink_to(".git/annex/objects/1")
    project.commit("Data")


@pytest.mark.parametrize(
    ("prepare", "said"),
    [
        (ends_of_lines, "ends lines with CR LF in a new checkout, and with LF in yours (core.autocrlf=true);"
         " keep yours: git config core.autocrlf input"),
        (ends_of_lines_of_a_new_file, "CR LF in a new checkout, and with LF in yours (core.autocrlf=true)"),
        (ends_of_lines_by_attribute, "eol=crlf in .gitattributes); write yours anew:"
         " rm run.sh && git checkout -- run.sh"),
        (ends_of_lines_of_the_user, "and with CR LF in yours (core.autocrlf=input)"),
        (identity, "has other bytes in a new checkout than in yours (ident=set in .gitattributes)"),
        (encoding, "(working-tree-encoding=UTF-16LE in .gitattributes)"),
        (smudged, "(filter=upper in .gitattributes)"),
        (assumed_unchanged, "git ignores; let it see them: git update-index --no-assume-unchanged run.sh"),
        (not_executable, "is executable only in your checkout (core.fileMode)"),
        (large_file, "is a pointer of git-lfs and not the file itself; get it: git lfs pull"),
        (annexed, "is a pointer of git-annex"),
        (annexed_and_locked, "is a pointer of git-annex and not the file itself; get it: git annex get"),
    ],
    ids=lambda value: getattr(value, "__name__", ""),
)  # fmt: skip
def test_files_that_are_not_as_the_user_has_them_are_named_before_anything_is_built(
    project: ExampleRepository, prepare: Callable[[ExampleRepository], None], said: str
) -> None:
    prepare(project)
    name = "main" if project.git("ls-files", "run.sh") else "here"
    with pytest.raises(OtherFilesError) as caught:
        worktrees(project, [], "touch built", name).__enter__()
    message = str(caught.value)
    assert re.match(r"what .+ would measure is not what you have: run.sh ", message)
    assert said in message
    assert "\n" not in message


def test_what_git_makes_the_same_everywhere_is_what_the_user_has(project: ExampleRepository) -> None:
    project.commit("Rules", **{".gitattributes": "run.sh eol=crlf ident\n", "more.sh": "true\n"})
    project.commit("A script", **{"run.sh": "# $Id$\n"})
    project.git("rm", "--quiet", "--cached", "run.sh")
    project.git("reset", "--quiet", "--hard")  # writes it as git would
    (project.root / "more.sh").write_text("false\n")
    (project.root / "speed").unlink()
    with worktrees(project, [], None, "HEAD~1", "main", "here") as made:
        assert (made.folders["main"] / "run.sh").read_bytes().endswith(b" $\r\n")


def test_files_of_submodules_are_what_the_user_has(project: ExampleRepository, tmp_path: Path) -> None:
    part = ExampleRepository(tmp_path / "library")
    project.add_submodule("part", part)
    (project.root / ".git" / "modules" / "part" / "info" / "attributes").write_text("speed eol=crlf\n")
    (project.root / "part" / "speed").unlink()
    project.git("-C", "part", "checkout", "--", "speed")
    with pytest.raises(OtherFilesError, match="speed ends lines with LF in a new checkout, and with CR LF"):
        worktrees(project, [], None, "main").__enter__()


def test_a_submodule_that_keeps_its_own_repository_is_there(
    project: ExampleRepository, tmp_path: Path
) -> None:
    ExampleRepository(project.root / "part")
    (project.root / ".gitmodules").write_text('[submodule "part"]\n\tpath = part\n\turl = ./part\n')
    project.git("add", "part", ".gitmodules")
    project.commit("With a part")
    with worktrees(project, [], None, "main") as made:
        assert (made.folders["main"] / "part" / "speed").read_text() == "1\n"


def test_submodules_are_there_offline_and_those_of_submodules(
    project: ExampleRepository, tmp_path: Path
) -> None:
    inner, outer = ExampleRepository(tmp_path / "inner"), ExampleRepository(tmp_path / "outer")
    outer.add_submodule("inside", inner)
    project.add_submodule("a part", outer)
    for part in (inner, outer):
        part.root.rename(part.root.with_suffix(".gone"))
    before = project.everything()
    said: list[str] = []
    with worktrees(project, said, "test ! -e 'a part' || echo 2 > 'a part/speed'", "main", "HEAD~1") as made:
        assert (made.folders["main"] / "a part" / "inside" / "speed").read_text() == "1\n"
        assert not (made.folders["HEAD~1"] / "a part").exists()
        assert changed_by_build(made) == {"main": ("a part",), "HEAD~1": ()}
    assert project.everything() == before
    assert len(said) == 2


def test_a_submodule_that_the_clone_lacks_is_told(project: ExampleRepository, tmp_path: Path) -> None:
    project.add_submodule("part", ExampleRepository(tmp_path / "library"))
    project.git("clone", "--quiet", str(project.root), str(tmp_path / "clone"))
    clone = ExampleRepository.__new__(ExampleRepository)
    clone.root = tmp_path / "clone"
    said: list[str] = []
    with worktrees(clone, said, None, "main") as made:
        assert list((made.folders["main"] / "part").iterdir()) == []
    [told] = said
    assert told.endswith(
        "part is not in your clone and stays empty; if it is needed: git submodule update --init part"
    )


def test_a_commit_that_a_submodule_lacks_is_told(project: ExampleRepository, tmp_path: Path) -> None:
    project.add_submodule("part", ExampleRepository(tmp_path / "library"))
    project.git("update-index", "--cacheinfo", f"160000,{'1' * 40},part")
    project.git("commit", "--quiet", "--message", "With a part that nobody has")
    with pytest.raises(
        AssayError, match=r"needs commit 1{40} of the submodule part.*git -C part fetch origin 1{40}$"
    ):
        worktrees(project, [], None, "main").__enter__()


def test_a_temporary_folder_that_cannot_be_made_is_told(
    project: ExampleRepository, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = worktrees(project, [], None, "main")
    monkeypatch.setattr("tempfile.tempdir", "/nowhere")
    monkeypatch.setattr("sys.executable", "/bin/false")  # Python itself goes on to /tmp where TMPDIR is bad
    with pytest.raises(AssayError, match=r"no temporary folder can be made in /nowhere; .*TMPDIR"):
        made.__enter__()


def test_a_signal_during_a_build_leaves_nothing(project: ExampleRepository) -> None:
    before = project.everything()
    with StopSignals() as stop:
        build = f"kill -INT {os.getpid()}; sleep 600 | setsid sleep 600"
        made = worktrees(project, [], build, "main", stop=stop)
        with pytest.raises(Interrupted):
            made.__enter__()
    assert project.everything() == before


def test_trials_that_still_run_in_a_worktree_are_ended_and_a_user_who_looks_is_not(
    project: ExampleRepository,
) -> None:
    def start(program: Path | str, folder: Path, terminal: int | None = None) -> subprocess.Popen[bytes]:
        return subprocess.Popen(
            [program, "600"],
            cwd=folder,
            env={"PATH": os.defpath},
            start_new_session=True,
            preexec_fn=None if terminal is None else partial(fcntl.ioctl, terminal, termios.TIOCSCTTY, 0),  # noqa: PLW1509
        )

    ours, users = os.openpty()
    with worktrees(project, [], 'cp "$(command -v sleep)" program', "main") as made:
        folder = made.folders["main"]
        ended = [start(folder / "program", Path("/")), start("sleep", folder)]
        looks = start("sleep", folder, users)
    assert [process.wait() for process in ended] == [-signal.SIGKILL, -signal.SIGKILL]
    assert looks.poll() is None
    looks.kill()
    looks.wait()
    os.close(ours)
    os.close(users)


BUILDS = """
import sys
from pathlib import Path
from assay.versions import Repository, Worktrees
repository = Repository.find(Path(sys.argv[1]))
revisions = {"main": repository.revision("main")}
with Worktrees(repository, revisions, build=sys.argv[2], say=print, show_output=print):
    pass
"""

TELLS_AND_WAITS = "(exec > {ready}; pwd; exec sleep 600) & (exec > {ready}; exec setsid sleep 600) & wait"
"""Children of a shell, one in a session of its own: as of make's, nothing ends them when the shell dies."""


@pytest.mark.parametrize("signum", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT])
@pytest.mark.parametrize("during", ["build", "checkout"])
def test_no_signal_leaves_anything(
    project: ExampleRepository, temporary: Path, tmp_path: Path, signum: signal.Signals, during: str
) -> None:
    ready = tmp_path / "ready"
    os.mkfifo(ready)
    waits = TELLS_AND_WAITS.format(ready=shlex.quote(str(ready)))
    if during == "checkout":
        (project.root / ".git" / "info" / "attributes").write_text("speed filter=slow\n")
        project.git("config", "filter.slow.smudge", waits)
    before = project.everything()
    assay = subprocess.Popen(
        [sys.executable, "-c", BUILDS, str(project.root), waits],
        start_new_session=True,
        stderr=subprocess.DEVNULL,
    )
    with ready.open() as pipe:
        assert Path(pipe.readline().strip()).is_relative_to(temporary)
        os.killpg(assay.pid, signum)
        assay.wait()
        assert pipe.read() == ""  # nobody is left who could write
    while list(temporary.iterdir()) or (project.root / ".git" / "worktrees").exists():
        os.sched_yield()
    assert project.everything() == before


def test_what_a_killed_janitor_left_is_removed_by_the_next_and_nothing_of_the_user(
    project: ExampleRepository, tmp_path: Path
) -> None:
    users = tmp_path / "assay-versions-mine"
    project.git("worktree", "add", "--quiet", "--detach", str(users))
    users.rename(tmp_path / "moved")  # as on a disk that is not mounted
    before = project.everything()
    others = worktrees(project, [], None, "main")
    left = worktrees(project, [], "sleep 600 &", "main")
    with others:
        left.__enter__()
        left.temporary._janitor.kill()
        left.temporary._janitor.wait()
        assert left.folders["main"].exists()
        with worktrees(project, [], None, "main"):
            assert not left.folders["main"].exists()
            assert others.folders["main"].exists()
        left.temporary._janitor.communicate()
    assert project.everything() == before
    (tmp_path / "moved").rename(users)
    project.git("worktree", "remove", str(users))
