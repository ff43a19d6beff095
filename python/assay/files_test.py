import resource
from pathlib import Path

import pytest

from assay import files
from assay.errors import AssayError


def test_a_file_that_cannot_be_written_whole_stays_as_it_was(tmp_path: Path) -> None:
    file = files.write(tmp_path / "new" / "page.html", "before")
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1000, hard))
    try:
        with pytest.raises(AssayError, match=r"page\.html: File too large.*--store"):
            files.write(file, 2000 * "x", option="--store")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert file.read_text() == "before"
    assert list(file.parent.iterdir()) == [file]


def test_half_a_surrogate_pair_becomes_a_question_mark(tmp_path: Path) -> None:
    assert files.write(tmp_path / "page.html", "a\ud800").read_bytes() == b"a?"


@pytest.mark.parametrize("file", ["folder", "file/below"])
def test_what_cannot_be_written_is_refused_before(file: str, tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / "file").write_text("kept")
    with pytest.raises(AssayError, match=r"cannot write .*--junit"):
        files.check_writable(tmp_path / file, "--junit")
    files.check_writable(tmp_path / "file", "--junit")
    assert (tmp_path / "file").read_text() == "kept"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["file", "folder"]
