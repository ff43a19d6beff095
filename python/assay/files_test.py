import os
import resource
import socket
import stat
import subprocess
import sys
import threading
from pathlib import Path
from typing import IO

import pytest

from assay import files
from assay.errors import AssayError

WRITER = (
    "import sys; from pathlib import Path; from assay import files; files.write(Path(sys.argv[1]), 'x\\n')"
)


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


@pytest.mark.parametrize("file", ["folder", "file/below", "to-folder", "round"])
def test_what_cannot_be_written_is_refused_before(file: str, tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / "file").write_text("kept")
    (tmp_path / "to-folder").symlink_to("folder")
    (tmp_path / "round").symlink_to("round")
    there = sorted(tmp_path.iterdir())
    for attempt in (
        lambda: files.check_writable(tmp_path / file, "--junit"),
        lambda: files.write(tmp_path / file, "x", "--junit"),
    ):
        with pytest.raises(AssayError, match=r"cannot write .*--junit"):
            attempt()
    files.check_writable(tmp_path / "file", "--junit")
    assert (tmp_path / "file").read_text() == "kept"
    assert sorted(tmp_path.iterdir()) == there


def test_links_are_followed_and_modes_kept(tmp_path: Path) -> None:
    target = tmp_path / "kept" / "target"
    (tmp_path / "outer").symlink_to("inner")
    (tmp_path / "inner").symlink_to("kept/target")
    files.check_writable(tmp_path / "outer", "--junit")
    assert not target.exists()
    files.write(tmp_path / "outer", "new")  # a link to nothing yet
    assert target.read_text() == "new"
    target.chmod(0o640)
    files.write(tmp_path / "outer", "newer")
    assert (target.read_text(), stat.S_IMODE(target.stat().st_mode)) == ("newer", 0o640)
    assert (tmp_path / "outer").is_symlink()
    assert (tmp_path / "inner").is_symlink()
    assert list(target.parent.iterdir()) == [target]


def test_only_its_own_part_is_replaced(tmp_path: Path) -> None:
    (tmp_path / "page.part").write_text("the user's")
    (tmp_path / f"page.{os.getpid()}.part").symlink_to("page.part")
    files.write(tmp_path / "page", "new")
    assert sorted(file.name for file in tmp_path.iterdir()) == ["page", "page.part"]
    assert (tmp_path / "page.part").read_text() == "the user's"


def test_devices_are_written_to(tmp_path: Path) -> None:
    for name in ("null", "full"):
        (tmp_path / name).symlink_to(f"/dev/{name}")
        files.check_writable(tmp_path / name, "--junit")
    files.write(tmp_path / "null", "x")
    with pytest.raises(AssayError, match=r"cannot write .*full: No space left on device"):
        files.write(tmp_path / "full", "x")
    assert all((tmp_path / name).is_char_device() for name in ("null", "full"))


def test_a_pipe_is_written_to_and_not_opened_before(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    read: list[str] = []
    reader = threading.Thread(target=lambda: read.append(pipe.read_text()), daemon=True)
    reader.start()
    files.check_writable(pipe, "--junit")
    files.write(pipe, "x")
    reader.join()
    assert read == ["x"]
    assert pipe.is_fifo()


def test_a_pipe_whose_reader_has_left_is_an_error(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    reader = threading.Thread(target=lambda: pipe.open("rb").close(), daemon=True)
    reader.start()
    with pytest.raises(AssayError, match="pipe: Broken pipe"):
        files.write(pipe, 2**20 * "x")  # more than it holds
    reader.join()


def test_a_socket_is_written_to_and_a_closed_one_refuses(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)  # the path of a socket is short
    with socket.socket(socket.AF_UNIX) as server:
        server.bind("socket")
        server.listen()
        files.check_writable(Path("socket"), "--junit")
        files.write(Path("socket"), "x")
        with server.accept()[0] as connection:
            assert connection.recv(10) == b"x"
            assert connection.recv(10) == b""
    with pytest.raises(AssayError, match="socket: Connection refused"):
        files.write(Path("socket"), "x")
    assert Path("socket").is_socket()


def write_x(name: str, folder: Path, output: IO[bytes] | socket.socket) -> None:
    words = [sys.executable, "-c", WRITER, name]
    subprocess.run(words, stdout=output.fileno(), cwd=folder, check=True)


@pytest.mark.parametrize("name", ["-", "/dev/stdout", "/dev/fd/1", "/proc/self/fd/1", "link"])
def test_standard_output_goes_on_where_it_is(name: str, tmp_path: Path) -> None:
    """Also where it is a file, which stays the one that the shell opened, or a socket."""
    (tmp_path / "link").symlink_to("/dev/stdout")
    file = tmp_path / "out"
    with file.open("wb") as out:
        out.write(b"before\n")
        out.flush()
        write_x(name, tmp_path, out)
        out.write(b"after\n")
    assert file.read_text() == "before\nx\nafter\n"
    ours, theirs = socket.socketpair()
    with ours:
        with theirs:
            write_x(name, tmp_path, theirs)
        assert ours.recv(10) == b"x\n"
