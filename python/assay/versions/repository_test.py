"""What git is asked about real repositories, and what a user is told."""

from datetime import UTC
from pathlib import Path

import pytest

from assay.errors import AssayError
from assay.versions import Repository
from assay.versions.testing import ExampleRepository


@pytest.fixture
def project(tmp_path: Path) -> ExampleRepository:
    return ExampleRepository(tmp_path / "project")


@pytest.fixture
def shallow(project: ExampleRepository, tmp_path: Path) -> Repository:
    """Return a clone of the last two of three commits."""
    project.commit("Second")
    project.commit("Third")
    project.git("clone", "--quiet", "--depth=2", f"file://{project.root}", str(tmp_path / "shallow"))
    return Repository.find(tmp_path / "shallow")


def test_a_revision_is_found_by_any_name_from_any_folder(project: ExampleRepository) -> None:
    second = project.commit("Second: ünï", speed="2\n")
    project.git("tag", "--annotate", "--message", "two", "v2")
    within = project.root / "within"
    within.mkdir()
    repository = Repository.find(within)
    assert repository.root == project.root
    names = {"main": second, "v2": second, "HEAD~1": project.first, project.first[:8]: project.first}
    for name, commit in names.items():
        revision = repository.revision(name)
        assert (revision.name, revision.commit, revision.short) == (name, commit, commit[:10])
    revision = repository.revision("v2")
    assert (revision.subject, revision.changed) == ("Second: ünï", ())
    assert revision.tree == project.git("rev-parse", "HEAD^{tree}")
    assert str(revision) == f"v2 ({second[:10]})"
    assert repository.author(second) == ("Ada", revision.committed_at)


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("mian", "did you mean main?"),
        ("--all", "there is only main"),
        ("", "there is only main"),
        ("main:speed", "there is only main"),
        ("HEAD..HEAD", "there is only main"),
        ("HEAD~7", "HEAD has 0 ancestors"),
        ("1" * 40, "get it: git fetch"),
    ],
)
def test_an_unknown_revision_is_told_with_what_may_be_meant(
    project: ExampleRepository, name: str, hint: str
) -> None:
    with pytest.raises(AssayError) as caught:
        Repository.find(project.root).revision(name)
    assert str(caught.value) == f'there is no revision "{name}" in {project.root}; {hint}'


@pytest.mark.parametrize(
    ("date", "year"),
    [
        ("253402300800 +0000", 9999),
        ("253402300799 -1200", 9999),
        ("99999999999999 +0000", 9999),
        ("1 +9999", 1970),
        ("0 +0000", 1970),
    ],
)
def test_a_commit_of_any_year_and_time_zone_has_a_moment(
    project: ExampleRepository, date: str, year: int
) -> None:
    lines = [f"tree {project.git('rev-parse', 'HEAD^{tree}')}"]
    lines += [f"{who} Ada <ada@localhost> {date}" for who in ("author", "committer")]
    (project.root / "commit").write_text("\n".join([*lines, "", "First", ""]))
    commit = project.git("hash-object", "-t", "commit", "-w", "--literally", "commit")
    repository = Repository.find(project.root)
    moment = repository.revision(commit).committed_at
    assert moment.year == moment.astimezone(UTC).year == year
    assert repository.author(commit)[1] == moment


@pytest.mark.parametrize("name", ["HEAD~2", "1" * 40, "v1"])
def test_a_shallow_clone_says_how_to_get_older_commits(shallow: Repository, name: str) -> None:
    with pytest.raises(AssayError, match=r"clone is shallow, and may lack it: git fetch --unshallow$"):
        shallow.revision(name)


def test_a_folder_outside_of_any_repository_is_told(tmp_path: Path) -> None:
    with pytest.raises(AssayError, match=r"is not in a git repository.*git init"):
        Repository.find(tmp_path)
    assert Repository.commit_of(tmp_path) is None


def test_a_repository_without_files_is_told(project: ExampleRepository) -> None:
    with pytest.raises(AssayError, match=r"is in a git repository without files; go to a checkout"):
        Repository.find(project.root / ".git")


def test_a_machine_without_git_is_told(project: ExampleRepository, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    with pytest.raises(AssayError, match=r"git is not on the PATH; install it"):
        Repository.find(project.root)
    assert Repository.commit_of(project.root) is None


def test_a_repository_without_a_commit_is_told(tmp_path: Path, project: ExampleRepository) -> None:
    empty = tmp_path / "empty"
    project.git("init", "--quiet", str(empty))
    with pytest.raises(AssayError, match=r"has no commit yet; make one"):
        Repository.find(empty).working_tree()
    assert Repository.commit_of(empty) is None


def test_a_hook_that_calls_assay_leads_to_no_other_repository(
    project: ExampleRepository, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GIT_DIR", str(tmp_path / "elsewhere"))
    monkeypatch.setenv("GIT_WORK_TREE", str(tmp_path))
    monkeypatch.setenv("GIT_INDEX_FILE", str(tmp_path / "index"))
    (project.root / "new").touch()
    assert Repository.find(project.root).working_tree().changed == ("new",)


def test_the_language_of_the_user_does_not_matter(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LC_ALL", "de_DE.UTF-8")
    monkeypatch.setenv("LANGUAGE", "de")
    with pytest.raises(AssayError, match="is not in a git repository"):
        Repository.find(tmp_path)


def test_a_clean_working_tree_is_its_commit(project: ExampleRepository) -> None:
    (project.root / "speed").touch()  # another time, the same text
    before = project.everything()
    repository = Repository.find(project.root)
    assert repository.working_tree() == repository.revision("HEAD") == Repository.commit_of(project.root)
    assert project.everything() == before


def test_a_dirty_working_tree_is_a_commit_of_what_is_not_ignored_and_stays_as_it_is(
    project: ExampleRepository,
) -> None:
    project.commit("Second", gone="1\n", staged="1\n", **{".gitignore": "ignored\n"})
    (project.root / "speed").write_text("stashed\n")
    project.git("stash")
    for name in ("speed", "staged", "new é", "ignored"):
        (project.root / name).write_text("changed\n")
    (project.root / "gone").unlink()
    project.git("add", "staged")
    (project.root / "staged").write_text("changed again\n")
    before = project.everything()
    revision = Repository.find(project.root).working_tree()
    known = Repository.commit_of(project.root)
    assert project.everything() == before

    assert set(revision.changed) == {"speed", "staged", "new é", "gone"}
    files = project.git("ls-tree", "-z", "--name-only", revision.commit).split("\0")
    assert files == [".gitignore", "new é", "speed", "staged", ""]
    assert project.git("show", f"{revision.commit}:staged") == "changed again"
    assert project.git("rev-parse", f"{revision.commit}^") == project.git("rev-parse", "HEAD")
    assert known is not None
    assert known.commit == project.git("rev-parse", "HEAD")
    assert set(known.changed) == {"speed", "staged", "gone"}


def test_what_a_sparse_checkout_leaves_out_is_not_taken_for_deleted(project: ExampleRepository) -> None:
    (project.root / "part").mkdir()
    (project.root / "part" / "file").touch()
    project.commit("With a part")
    project.git("sparse-checkout", "set", "--cone", "nothing")
    assert not (project.root / "part").exists()
    (project.root / "speed").write_text("2\n")
    assert Repository.find(project.root).working_tree().changed == ("speed",)


def test_changes_within_a_submodule_are_refused(project: ExampleRepository, tmp_path: Path) -> None:
    project.add_submodule("part", ExampleRepository(tmp_path / "library"))
    (project.root / "part" / "untracked").touch()
    repository = Repository.find(project.root)
    assert repository.working_tree() == repository.revision("HEAD")
    (project.root / "part" / "speed").write_text("2\n")
    with pytest.raises(
        AssayError, match=r"1 submodule of .* with changes that are not committed: part; commit"
    ):
        repository.working_tree()


def test_commits_between_two_are_in_order(project: ExampleRepository) -> None:
    commits = [project.commit(f"{number}") for number in range(3)]
    repository = Repository.find(project.root)
    good, bad = repository.revision(project.first), repository.revision("main")
    assert repository.between(good, bad) == commits
    (project.root / "new").touch()
    dirty = repository.working_tree()
    assert repository.between(good, dirty) == [*commits, dirty.commit]


def test_ends_that_cannot_be_searched_between_are_told(project: ExampleRepository) -> None:
    project.commit("Second")
    project.git("branch", "other", project.git("commit-tree", "-m", "other", "HEAD^{tree}"))
    repository = Repository.find(project.root)
    revisions = {name: repository.revision(name) for name in ("HEAD~1", "main", "other", "HEAD")}
    for good, bad, why in (
        ("main", "HEAD", "are the same commit; name an older one as good and a newer one as bad"),
        ("main", "HEAD~1", "it is the other way round: exchange them"),
        ("other", "main", "a search needs the commits from one to the other"),
    ):
        with pytest.raises(AssayError, match=f"^{good} .* {bad} .*{why}$"):
            repository.between(revisions[good], revisions[bad])


def test_ends_in_a_shallow_clone_may_seem_unrelated(shallow: Repository, project: ExampleRepository) -> None:
    other = ExampleRepository(project.root.with_name("shallow other"))
    project.git("tag", "old", project.first)
    clone = ["-C", str(shallow.root), "fetch", "--quiet", "--depth=1", "origin", "tag", "old"]
    other.git(*clone)
    with pytest.raises(AssayError, match=r"old .* is not an ancestor of .*: git fetch --unshallow$"):
        shallow.between(shallow.revision("old"), shallow.revision("HEAD"))
