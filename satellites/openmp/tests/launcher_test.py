"""What assay-omp says before a program starts, and what it starts."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from assay import programs
from assay_openmp.testing import GREETING, compiled


def run(*arguments: object, **environment: str) -> subprocess.CompletedProcess[str]:
    command = [str(programs.find("assay-omp")), *map(str, arguments)]
    return subprocess.run(
        command, capture_output=True, text=True, check=False, env=os.environ | environment, timeout=60
    )


def library(folder: Path, name: str, source: str) -> None:
    """Compile a shared library, found by programs in its folder."""
    compiled(folder, name, source, "-shared", "-fPIC", f"-Wl,-soname,{name}")


def refused(*arguments: object) -> str:
    """Return the one line with which assay-omp refuses to run something."""
    done = run(*arguments)
    assert done.returncode == 2
    assert done.stdout == ""
    assert done.stderr.startswith("error: ")
    assert len(done.stderr.splitlines()) == 1
    return done.stderr


@pytest.fixture(scope="module")
def greeting(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return compiled(tmp_path_factory.mktemp("greeting"), "greeting", GREETING, "-fopenmp")


def test_a_program_of_gcc_runs_with_the_runtime_and_all_its_arguments(greeting: Path) -> None:
    for options in ([], ["--"], ["--statistics"], ["--statistics", "--"]):
        done = run(*options, greeting, "--statistics", "--", "last")
        assert (done.returncode, done.stdout[:7]) == (0, "2 last ")
        assert "/lib/openmp/libassay-gomp.so" in done.stdout


def test_statistics_say_how_often_constructs_were_used_and_what_threads_waited(tmp_path: Path) -> None:
    source = """
    int main() {
    #pragma omp parallel num_threads(3)
      {
    #pragma omp barrier
    #pragma omp single
    #pragma omp taskgroup
    #pragma omp task
        ;
      }
    }"""
    program = compiled(tmp_path, "counted", source, "-fopenmp")
    assert run(program).stderr == ""
    rows = [line.split() for line in run("--statistics", program).stderr.splitlines()]
    used = {row[0]: row[1] for row in rows if len(row) == 4}
    assert (used["parallel"], used["barrier"], used["task"], used["taskgroup"]) == ("1", "3", "1", "1")


def test_what_is_preloaded_stays(greeting: Path, tmp_path: Path) -> None:
    library(tmp_path, "nothing.so", "")
    done = run(greeting, LD_PRELOAD=str(tmp_path / "nothing.so"))
    assert done.stdout.endswith(f"/libassay-gomp.so:{tmp_path}/nothing.so\n")


def test_a_program_is_looked_for_in_path(greeting: Path) -> None:
    assert run("greeting", PATH=f"{greeting.parent}:/usr/bin").returncode == 0
    assert "is in no directory of PATH" in refused("greeting")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ([], "no program is named"),
        (["--statistic", "/bin/true"], "--statistic: no such option; there are --statistics and --check"),
        (["/nowhere/program"], "/nowhere/program: No such file"),
        (["/tmp"], "/tmp: is not a program for x86-64"),
        (["/bin/true"], "/bin/true: is linked to no OpenMP runtime; compile it with gcc -fopenmp"),
    ],
)
def test_what_is_no_program_with_openmp_is_refused(words: list[str], said: str) -> None:
    assert said in refused(*words)


def test_a_script_and_a_file_that_is_not_executable_or_static_are_refused(
    greeting: Path, tmp_path: Path
) -> None:
    script = tmp_path / "script"
    script.write_text("#!/bin/sh\n")
    script.chmod(0o755)
    assert "of a script, name the program that runs it" in refused(script)
    plain = tmp_path / "plain"
    shutil.copy(greeting, plain)
    plain.chmod(0o644)
    assert "is not executable" in refused(plain)
    static = compiled(tmp_path, "static", GREETING, "-fopenmp", "-static")
    assert "is linked statically" in refused(static)


def test_entries_that_are_missing_are_named_also_those_of_libraries(tmp_path: Path) -> None:
    source = "void omp_not_there(void); int main() { omp_not_there(); }"
    library(tmp_path, "libgomp.so.1", "void omp_not_there(void) {} void GOMP_barrier(void) {}")
    program = compiled(tmp_path, "missing", source, tmp_path / "libgomp.so.1", f"-Wl,-rpath,{tmp_path}")
    said = refused(program)
    assert "missing: calls omp_not_there, which libassay-gomp.so does not have" in said

    library(tmp_path, "libuser.so", "void omp_not_there(void); void used(void) { omp_not_there(); }")
    program = compiled(
        tmp_path, "user", "void used(void); void GOMP_barrier(void); int main() { used(); GOMP_barrier(); }",
        tmp_path / "libuser.so", tmp_path / "libgomp.so.1", f"-Wl,-rpath,{tmp_path}",
    )  # fmt: skip
    assert "user: calls omp_not_there" in refused(program)


def test_names_that_the_program_has_itself_are_not_missing(tmp_path: Path) -> None:
    library(tmp_path, "libown.so", "void omp_own(void) {}")
    source = "void omp_own(void); int main() { omp_own();\n#pragma omp parallel\n; }"
    program = compiled(tmp_path, "own", source, "-fopenmp", tmp_path / "libown.so", f"-Wl,-rpath,{tmp_path}")
    assert run(program).returncode == 0


def test_offloading_is_refused_as_such(tmp_path: Path) -> None:
    source = "int main(int n, char** v) {\n#pragma omp target map(tofrom : n)\n  ++n;\n return n - 2; }"
    assert "offloads to devices (GOMP_target_ext)" in refused(
        compiled(tmp_path, "target", source, "-fopenmp")
    )


def test_a_program_of_clang_runs_with_its_runtime_and_ours_in_front(tmp_path: Path) -> None:
    program = compiled(tmp_path, "of_clang", GREETING, "-fopenmp", compiler="clang-22")
    done = run("--statistics", program, "last")
    assert (done.returncode, done.stdout[:7]) == (0, "2 last ")
    assert "/lib/openmp/libassay-kmpc.so" in done.stdout
    assert ["parallel", "1", "0", "0.000"] in [line.split() for line in done.stderr.splitlines()]


def test_what_would_be_loaded_can_be_asked(greeting: Path, tmp_path: Path) -> None:
    own, library = run("--check", greeting).stdout.splitlines()
    assert own == "libgomp.so.1"
    assert library.endswith("/lib/openmp/libassay-gomp.so")
    program = compiled(tmp_path, "of_clang", GREETING, "-fopenmp", compiler="clang-22")
    own, library = run("--check", "--", program).stdout.splitlines()
    assert own == "libomp.so.5"
    assert library.endswith("/lib/openmp/libassay-kmpc.so")
    assert "no OpenMP runtime" in refused("--check", "/bin/true")


def test_parts_of_gcc_under_libomp_and_two_runtimes_are_refused(tmp_path: Path) -> None:
    library(tmp_path, "libomp.so.5", "void __kmpc_barrier(void) {} void GOMP_barrier(void) {}")
    link = [tmp_path / "libomp.so.5", f"-Wl,-rpath,{tmp_path}"]
    call = "void __kmpc_barrier(void), GOMP_barrier(void); int main() { __kmpc_barrier();"
    said = refused(compiled(tmp_path, "parts", call + " GOMP_barrier(); }", *link))
    assert "parts that gcc compiled, which call GOMP_barrier of libomp.so.5" in said
    both = compiled(tmp_path, "both", call + "\n#pragma omp parallel\n; }", "-fopenmp", *link)
    said = refused(both)
    assert "is linked to two OpenMP runtimes, libgomp.so.1" in said
    assert "libomp.so.5" in said


def test_a_damaged_program_is_refused(greeting: Path, tmp_path: Path) -> None:
    whole = greeting.read_bytes()
    short = tmp_path / "short"
    short.write_bytes(whole[: len(whole) // 2])
    short.chmod(0o755)
    assert "is damaged" in refused(short)
