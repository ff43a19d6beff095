"""What assay-rtm refuses and says at the end; rtm_test.cpp has what it emulates."""

import json
import os
import shutil
import signal
import subprocess
from pathlib import Path

import pytest

from assay import programs
from assay_lab.testing import compiled


def run(*arguments: object) -> subprocess.CompletedProcess[str]:
    """Run assay-rtm."""
    command = [str(programs.find("assay-rtm")), *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_what_no_library_can_be_loaded_into_is_refused(tmp_path: Path) -> None:
    script = tmp_path / "script"
    script.write_text("#!/bin/sh\n")
    script.chmod(0o755)
    setuid = tmp_path / "setuid"
    shutil.copy("/bin/true", setuid)
    setuid.chmod(0o4755)
    static = compiled(tmp_path, "int main() {}", "-static")
    for given, words in (
        (tmp_path / "nothing", "No such file"),
        ("no-such-program", "is in no directory of PATH"),
        (script, "is not a program for x86-64"),
        (setuid, "is setuid or setgid"),
        (static, "is linked statically"),
    ):
        done = run(given)
        assert done.returncode == 2
        assert done.stderr.startswith("error: ")
        assert words in done.stderr
        assert len(done.stderr.splitlines()) == 1


@pytest.mark.skipif(os.geteuid() != 0, reason="who is not root cannot give a file capabilities")
def test_a_program_with_capabilities_is_refused(tmp_path: Path) -> None:
    capable = tmp_path / "capable"
    shutil.copy("/bin/true", capable)
    try:
        os.setxattr(capable, "security.capability", bytes([1, 0, 0, 2, *[0] * 16]))  # struct vfs_cap_data
    except OSError as error:
        pytest.skip(f"this file system has no capabilities: {error}")
    done = run(capable)
    assert done.returncode == 2
    assert "capable: has capabilities, and no library can be loaded into it; run a copy\n" in done.stderr


def test_a_program_for_another_processor_is_refused(tmp_path: Path) -> None:
    other = tmp_path / "other"
    content = bytearray(Path("/bin/true").read_bytes())
    content[18] = 183  # e_machine: AArch64
    other.write_bytes(content)
    other.chmod(0o755)
    assert "is not a program for x86-64" in run(other).stderr


def test_where_a_transaction_executed_avx_is_said_with_a_way_out(tmp_path: Path) -> None:
    source = """
        #include <immintrin.h>
        int main() {
          unsigned status = ~0u;
          asm volatile("xbegin 1f\\n1:" : "+a"(status) : : "memory");
          if (status != ~0u) return 1;
          asm volatile("vaddps %%ymm0, %%ymm0, %%ymm0\\n\\txend" : : : "xmm0", "memory");
        }
    """
    done = run(compiled(tmp_path, source, "-mavx"))
    assert done.returncode == 1
    assert "executed what is not emulated, such as AVX, at " in done.stderr
    assert done.stderr.endswith("; build that code with -mno-avx\n")


@pytest.mark.parametrize(
    "option",
    [("--abort-percent", value) for value in ("101", "-1", "nan")] + [("--sets", "0"), ("--ways", "x")],
)
def test_settings_out_of_bounds_are_refused(option: tuple[str, str]) -> None:
    done = run(*option, "/bin/true")
    assert done.returncode == 2
    assert option[0] in done.stderr


@pytest.mark.parametrize("folder", ["with space", "with:colon"])
def test_a_folder_that_nothing_is_preloaded_from_is_refused(tmp_path: Path, folder: str) -> None:
    (tmp_path / folder).mkdir()
    for part in ("assay-rtm", "libassay_rtm.so", "libassay_rtm_engine.so"):
        shutil.copy(programs.find("assay-rtm").parent / part, tmp_path / folder)
    done = subprocess.run(
        [tmp_path / folder / "assay-rtm", "/bin/true"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 2
    assert "nothing is preloaded from a path with a space or colon; build elsewhere" in done.stderr


def test_a_program_whose_first_thread_has_ended_runs_its_transactions(tmp_path: Path) -> None:
    source = """
        #include <fstream>
        #include <string>
        #include <cstdlib>
        #include <pthread.h>
        #include <unistd.h>
        static void* work(void*) {
          for (std::string state; state != "Z";) {
            std::ifstream about("/proc/self/stat");
            std::string skipped;
            about >> skipped >> skipped >> state;
          }
          volatile int word = 0;
          for (int i = 0; i < 3; ++i) {
            unsigned status = ~0u;
            asm volatile("xbegin 1f\\n1:" : "+a"(status) : : "memory");
            if (status != ~0u) continue;
            ++word;
            asm volatile("xend" : : : "memory");
          }
          std::exit(word);
        }
        int main() {
          pthread_t other;
          pthread_create(&other, nullptr, work, nullptr);
          pthread_exit(nullptr);
        }
    """
    assert run(compiled(tmp_path, source, "-pthread")).returncode == 3


def test_what_keeps_it_from_going_on_is_said(tmp_path: Path) -> None:
    source = """
        #include <fcntl.h>
        int main() {
          while (open("/dev/null", O_RDONLY) >= 0) {}
          unsigned status = ~0u;
          asm volatile("xbegin 1f\\n1:" : "+a"(status) : : "memory");
          if (status == ~0u) asm volatile("xend" : : : "memory");
        }
    """
    done = run(compiled(tmp_path, source))
    assert done.returncode == -signal.SIGABRT
    assert "no descriptor left (ulimit -n)?" in done.stderr


def test_the_program_ends_as_without_it() -> None:
    assert run("/bin/sh", "-c", "exit 7").returncode == 7


def test_a_transaction_that_writes_more_than_the_cache_keeps_does_not_commit(tmp_path: Path) -> None:
    source = """
        alignas(64) volatile char lines[8 * 64];
        int main() {
          unsigned status = ~0u;
          asm volatile("xbegin 1f\\n1:" : "+a"(status) : : "memory");
          if (status != ~0u) return status & 8 ? 8 : 1;
          for (int i = 0; i < 8; ++i) lines[i * 64] = 1;
          asm volatile("xend" : : : "memory");
        }
    """
    program = compiled(tmp_path, source)
    small, large = (run("--json", "--sets", "1", "--ways", ways, program) for ways in (4, 16))
    assert (small.returncode, large.returncode) == (8, 0)
    assert json.loads(small.stderr) == json.loads(large.stderr) | {
        "committed": 0,
        "capacity": 1,
        "most_written_lines": json.loads(small.stderr)["most_written_lines"],
        "most_read_lines": json.loads(small.stderr)["most_read_lines"],
    }


def test_a_share_of_transactions_aborts_whatever_they_do(tmp_path: Path) -> None:
    source = """
        int main() {
          int committed = 0;
          for (int i = 0; i < 200; ++i) {
            unsigned status = ~0u;
            asm volatile("xbegin 1f\\n1:" : "+a"(status) : : "memory");
            if (status != ~0u) continue;
            ++committed;
            asm volatile("xend" : : : "memory");
          }
          return committed;
        }
    """
    program = compiled(tmp_path, source)
    assert run("--abort-percent", 100, program).returncode == 0
    assert run("--abort-percent", 0, program).returncode == 200
    some = run("--json", "--abort-percent", 50, "--seed", 5, program)
    assert some.returncode == json.loads(some.stderr)["committed"]
    assert 60 < some.returncode < 140
    assert run("--abort-percent", 50, "--seed", 5, program).returncode == some.returncode
    assert run("--abort-percent", 50, "--seed", 6, program).returncode != some.returncode


def test_a_foreign_program_that_asks_cpuid_finds_transactions(tmp_path: Path) -> None:
    source = """
        #include <tbb/spin_mutex.h>
        #include <cstdio>
        #include <thread>
        alignas(64) long counter;
        int main() {
          static tbb::speculative_spin_mutex mutex;
          const auto work = [] {
            for (int n = 0; n < 200; ++n) {
              tbb::speculative_spin_mutex::scoped_lock held(mutex);
              ++counter;
            }
          };
          work();  // alone: what two threads come to is up to the scheduler
          std::thread other(work);
          work();
          other.join();
          std::printf("%ld", counter);
        }
    """
    program = compiled(tmp_path, source, "-O2", "-mrtm", "-ltbb")
    done = run("--json", program)
    assert done.stdout == "600"
    came_of = json.loads(done.stderr)
    if not came_of["most_read_lines"]:  # no transaction was begun
        pytest.skip("this kernel or processor does not let CPUID be caught")
    assert came_of["committed"] >= 200


def test_a_record_is_written_to_where_its_name_leads(tmp_path: Path) -> None:
    """And a record that cannot be written is an error, whatever the program did."""
    program = programs.find("advised_sound")
    (tmp_path / "folder").mkdir()
    for name, target in (("full", "/dev/full"), ("null", "/dev/null"), ("link", "file")):
        (tmp_path / name).symlink_to(target)
    for name in ("null", "link"):
        done = run("--record", tmp_path / name, program)
        assert (done.returncode, done.stderr) == (0, "")
    assert (tmp_path / "null").is_char_device()
    record = json.loads((tmp_path / "file").read_text())
    assert record["sites"]
    done = run("--record", "-", program)
    assert json.loads(done.stdout).keys() == record.keys()
    done = run("--record", tmp_path / "full", program)
    why = f"cannot write {tmp_path}/full: No space left on device"
    assert (done.returncode, done.stderr) == (1, f"assay-rtm: the record is lost: {why}\n")
    assert (tmp_path / "full").is_char_device()
    for name, why in (("folder", "Is a directory"), ("nowhere/file", "No such file or directory")):
        done = run("--record", tmp_path / name, program)
        assert (done.returncode, done.stderr) == (2, f"error: cannot write {tmp_path}/{name}: {why}\n")
    assert sorted(file.name for file in tmp_path.iterdir()) == ["file", "folder", "full", "link", "null"]
