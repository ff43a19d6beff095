"""`assay layout` on small programs, as a user types it."""

import json
import os
import re
import subprocess
import sys
import tarfile
from io import BytesIO
from pathlib import Path

import pytest
from typer.testing import CliRunner

from assay import programs
from assay.cli.commands import app
from assay.errors import AssayError
from assay.layout.link import lld
from assay_layout.linking import linker_script
from assay_layout.program import read_image

# Two functions that begin in the same set of each cache of up to 8 KiB, called by turns.
CONFLICT = """
#include <stdio.h>
__attribute__((noinline, aligned(8192))) int one(int x) { return x * 3 + 1; }
__attribute__((noinline, aligned(8192))) int other(int x) { return x ^ 5; }
static __attribute__((noinline)) int twice(int x) { return 2 * x; }
int main(int count, char** words) {
  int sum = 0;
  for (int i = 0; i < 20000; ++i) sum = other(one(sum)) + (i % 100 ? 0 : twice(i));
  printf("%d\\n", sum);
  return count > 1 ? words[1][0] - '0' : 0;
}
"""


def built(folder: Path, *options: str, source: str = CONFLICT, name: str = "program") -> Path:
    """Compile a program."""
    (folder / f"{name}.c").write_text(source)
    command = ["gcc", "-O1", "-ffunction-sections", "-Wl,--build-id", f"{name}.c", "-o", name, *options]
    subprocess.run(command, cwd=folder, check=True, capture_output=True)
    return folder / name


def by_lld() -> list[str]:
    """Return the options with which gcc links by the newest lld."""
    linker = lld()
    assert linker is not None
    return [f"-B{Path(linker).resolve().parent}", "-fuse-ld=lld"]


def recorded() -> list[str]:
    """Return the options with which gcc links by lld and records the link."""
    return [*by_lld(), "-Wl,--reproduce=program.link.tar"]


def run(*words: object) -> str:
    """Run `assay layout`, and return what it printed."""
    done = CliRunner().invoke(app, ["layout", *map(str, words)], catch_exceptions=False)
    assert done.exit_code == 0, done.output
    return done.output


def refused(*words: object) -> str:
    """Return the message with which `assay layout` ends."""
    done = CliRunner().invoke(app, ["layout", *map(str, words)])
    assert isinstance(done.exception, AssayError), done.output
    return str(done.exception)


@pytest.fixture
def program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A program, recorded in the present folder."""
    monkeypatch.chdir(tmp_path)
    path = built(tmp_path)
    run("profile", path)
    return path


@pytest.mark.parametrize("options", [["-pie"], ["-no-pie"], ["-static"], ["-static-pie"]], ids=" ".join)
def test_all_that_is_executed_in_procedures_is_recorded(
    options: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    path = built(tmp_path, *options)
    said = run("profile", path)
    answer = json.loads(run("measure", path, "--layouts", "6", "--json"))
    # Each turn of the loop: 3 instructions of `one` or so, 2 of `other`, some of main.
    assert 200_000 < answer["instructions"] < 800_000
    assert ("outside of its procedures" in said) == ("-static" not in " ".join(options))


def test_procedures_that_conflict_are_named_first(program: Path) -> None:
    found = json.loads(run("explain", program, "--json"))
    first, second = found["conflicts"][:2]
    assert {first["missed"], first["taken_by"]} == {"one", "other"} == {second["missed"], second["taken_by"]}
    assert first["times"] + second["times"] > 39_000
    picture = (program.parent / "program.sets.svg").read_text()
    assert "other" in picture
    assert re.search(r"one +other +[12]\d,\d{3}", run("explain", program))


def test_a_larger_cache_has_no_such_conflict(program: Path) -> None:
    found = json.loads(run("explain", program, "--cache", "32768,8,64", "--json"))
    assert all(each["times"] < 100 for each in found["conflicts"])


def test_layouts_move_the_misses_of_this_program_and_the_linked_one_is_among_the_worst(program: Path) -> None:
    answer = json.loads(run("measure", program, "--layouts", "100", "--json"))
    misses = answer["misses_per_1000"]
    assert misses["linked"] > 50 * misses["median"]
    assert answer["comparison_error_percent"] >= answer["measurement_error_percent"] > 0
    assert "more than 9" in run("measure", program, "--layouts", "100")
    expanded = run("measure", program, "--expand", "--layouts", "512")
    assert "fitted line" in expanded
    spike = re.search(r"--expansion (\S+)", expanded)
    assert spike is not None
    found = json.loads(run("explain", program, "--expansion", spike[1], "--json"))
    assert {found["conflicts"][0]["missed"], found["conflicts"][0]["taken_by"]} == {"one", "other"}


def test_the_same_seed_draws_the_same_layouts(program: Path) -> None:
    drawn = [
        json.loads(run("measure", program, "--layouts", "9", "--seed", seed, "--json")) for seed in (3, 3, 4)
    ]
    values = [each["misses_per_1000"]["values"] for each in drawn]
    assert values[0] == values[1] != values[2]


def test_the_best_order_is_written_and_linked_where_the_link_was_recorded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    path = built(tmp_path, *recorded())
    run("profile", path)
    run("profile", "--output", "other.trace", path, "0")
    answer = json.loads(run("optimise", path, "--confirm", "other.trace", "--layouts", "10", "--json"))
    first, *order = (tmp_path / "program.order").read_text().splitlines()
    assert first.startswith(
        f"# program, build {read_image(path).build_id}; {answer['best']['scheme']}, noise 0.1, seed 1"
    )
    assert set(order) >= {"one", "other", "main", "twice"}
    assert answer["best"]["judged"] < answer["misses_per_1000"]["linked"] / 10
    optimised = tmp_path / "program.optimised"
    names = [each.name for each in read_image(optimised).procedures]
    moved = [name for name in order if name in {"one", "other", "main", "twice"}]
    assert [name for name in names if name in moved] == moved
    ran = subprocess.run([optimised], capture_output=True, check=True)
    assert ran.stdout == subprocess.run([path], capture_output=True, check=True).stdout
    assert {"lld, hfsort", "lld, cdsort"} <= answer["misses_per_1000"].keys()


@pytest.mark.parametrize("linker", ["GNU ld", "lld"])
@pytest.mark.parametrize("options", [["-pie"], ["-no-pie"], ["-static"]], ids=" ".join)
def test_a_script_puts_procedures_at_their_places_by_either_linker(
    linker: str, options: list[str], tmp_path: Path
) -> None:
    # `nowhere` is in no section, so that its place stays free.
    places = [("other", 0x1000), ("nowhere", 0x1040), ("one", 0x1350), ("main", 0x2000), (".plt", 0x3000)]
    source = CONFLICT.replace(", aligned(8192)", "")
    text = linker_script(places, read_image(built(tmp_path, source=source)), gaps=True)
    (tmp_path / "order.ld").write_text(text)
    options = [*options, "-Wl,-T,order.ld", *(by_lld() if linker == "lld" else [])]
    path = built(tmp_path, *options, source=source)
    found = {each.name: each.address for each in read_image(path).procedures}
    assert found["one"] - found["other"] == 0x350
    assert found["main"] - found["other"] == 0x1000
    assert subprocess.run([path], check=True, capture_output=True).stdout


@pytest.mark.parametrize("linker", ["GNU ld", "lld"])
def test_functions_of_one_name_have_places_of_their_own(linker: str, tmp_path: Path) -> None:
    for number in (1, 2, 3):
        (tmp_path / f"part{number}.c").write_text(
            f"static __attribute__((noinline)) int work(int x) {{ return x * {number + 2} + x % 5; }}\n"
            f"int part{number}(int x) {{ return work(x) + 1; }}\n"
        )
    (tmp_path / "part.c").write_text(
        "int part1(int), part2(int), part3(int);\n"
        "int main(int count, char** words) { return part1(count) + part2(count) + part3(count) != 18; }\n"
    )
    compiled = ["gcc", "-O1", "-ffunction-sections", "-c", *(f"part{each}.c" for each in ("", 1, 2, 3))]
    subprocess.run(compiled, cwd=tmp_path, check=True)
    subprocess.run(["ar", "rc", "parts.a", "part2.o", "part3.o"], cwd=tmp_path, check=True)
    options = by_lld() if linker == "lld" else []
    command = ["gcc", "part.o", "part1.o", "parts.a", *options, "-o", "program"]
    subprocess.run(command, cwd=tmp_path, check=True)
    image = read_image(tmp_path / "program")
    of = {Path(each.source).stem: each.name for each in image.procedures if each.name.startswith("work")}
    places = [(of["part3"], 0x1000), (of["part1"], 0x1200), (of["part2"], 0x1440), ("main", 0x2000)]
    (tmp_path / "order.ld").write_text(linker_script(places, image, gaps=True))
    subprocess.run([*command, "-Wl,-T,order.ld"], cwd=tmp_path, check=True)
    found = {
        Path(each.source).stem or each.name: each.address
        for each in read_image(tmp_path / "program").procedures
        if each.name == "main" or each.name.startswith("work")
    }
    assert [found[name] - found["part3"] for name in ("part1", "part2", "main")] == [0x200, 0x440, 0x1000]
    subprocess.run([tmp_path / "program"], check=True)


@pytest.mark.parametrize("linker", ["GNU ld", "lld"])
def test_a_function_that_all_files_know_is_told_from_one_of_its_name(linker: str, tmp_path: Path) -> None:
    (tmp_path / "part.c").write_text(
        "static __attribute__((noinline)) int work(int x) { return x * 3 + x % 5; }\n"
        "int part(int x) { return work(x) + 1; }\n"
    )
    (tmp_path / "main.c").write_text(
        "__attribute__((noinline)) int work(int x) { return x * 7; }\n"
        "int part(int);\n"
        "int main(int count, char** words) { return part(count) + work(count) != 12; }\n"
    )
    subprocess.run(["gcc", "-O1", "-ffunction-sections", "-c", "part.c", "main.c"], cwd=tmp_path, check=True)
    command = ["gcc", "main.o", "part.o", *(by_lld() if linker == "lld" else []), "-o", "program"]
    subprocess.run(command, cwd=tmp_path, check=True)
    image = read_image(tmp_path / "program")
    of = {each.source: each.name for each in image.procedures if each.name.startswith("work")}
    places = [(of[""], 0x1000), ("main", 0x1200), (of["part.c"], 0x1440)]
    (tmp_path / "order.ld").write_text(linker_script(places, image, gaps=True))
    subprocess.run([*command, "-Wl,-T,order.ld"], cwd=tmp_path, check=True)
    found = {
        each.source or each.name[:4]: each.address for each in read_image(tmp_path / "program").procedures
    }
    assert [found[name] - found["work"] for name in ("main", "part.c")] == [0x200, 0x440]
    subprocess.run([tmp_path / "program"], check=True)


def test_names_that_mean_something_to_a_linker_are_no_error(tmp_path: Path) -> None:
    path = built(
        tmp_path,
        "-fopenmp",
        source="""
    int main(void) {
      int sum = 0;
      #pragma omp task shared(sum)
      sum = 1;
      #pragma omp taskwait
      return sum != 1;
    }""",
        name="my program",
    )
    image = read_image(path)
    (tmp_path / "order.ld").write_text(
        linker_script([("a b*(c)", 0x1000), ("main", 0x1100)], image, gaps=True)
    )
    for options in ([], by_lld()):
        again = [
            "gcc",
            "-fopenmp",
            "my program.c",
            "-ffunction-sections",
            "-Wl,-T,order.ld",
            *options,
            "-o",
            "again",
        ]
        subprocess.run(again, cwd=tmp_path, check=True)
        subprocess.run([tmp_path / "again"], check=True)


def test_a_procedure_that_falls_through_into_the_next_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    source = """
    asm(".text; .globl short_one; .type short_one, @function; .size short_one, 4;"
        "short_one: .rept 4000; nop; .endr; mov %edi, %eax; ret");
    int short_one(int);
    int main(int count, char** words) {
      int sum = 0;
      for (int i = 0; i < 1000; ++i) sum += short_one(i);
      return sum != 499500;
    }"""
    path = built(tmp_path, source=source)
    run("profile", path)
    run("optimise", path, "--layouts", "6")


def test_a_trace_confirms_only_if_it_is_another_one_of_this_build(program: Path) -> None:
    assert "--confirm: is the trace of the profile" in refused(
        "optimise", program, "--confirm", "program.trace"
    )
    built(program.parent, source=CONFLICT.replace("* 3", "* 7"), name="other")
    run("profile", "./other")
    assert "another build of the program" in refused("optimise", program, "--confirm", "other.trace")


def test_an_order_is_written_whole_or_not_at_all(program: Path) -> None:
    (program.parent / "folder.order.ld").mkdir()
    assert "folder.order.ld" in refused("optimise", program, "--output", "folder.order")
    assert not (program.parent / "folder.order").exists()
    assert "name one in place of -" in refused("optimise", program, "--output", "-")


def test_what_the_compiler_split_off_as_cold_comes_last(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    source = """
    #include <stdio.h>
    __attribute__((cold, noinline)) void complain(int at) { printf("%d\\n", at); }
    __attribute__((noinline)) int work(int at) {
      if (at < 0) { complain(at); complain(at * at); complain(at ^ 3); }
      return at % 7;
    }
    int main(int count, char** words) {
      int sum = 0;
      for (int i = count; i < 1000; ++i) sum += work(i);
      return sum == 0;
    }"""
    path = built(tmp_path, "-O2", *by_lld(), "-Wl,--reproduce=program.link.tar", source=source)
    run("profile", path)
    run("optimise", path, "--layouts", "6")
    order = [each.name for each in read_image(tmp_path / "program.optimised").procedures]
    assert max(order.index("work"), order.index("main")) < order.index("work.cold")
    script = (tmp_path / "program.order.ld").read_text()
    assert script.index("*(.text.work ") < script.index("*(.text.unlikely.work ")
    path = built(tmp_path, "-O2", "-Wl,-T,program.order.ld", source=source)
    order = [each.name for each in read_image(path).procedures]
    assert max(order.index("work"), order.index("main")) < order.index("work.cold")


@pytest.mark.parametrize("by", ["gnu", "lld"])
def test_code_that_a_linker_script_puts_elsewhere_is_moved(
    by: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    script = subprocess.run(["ld", "--verbose"], check=True, capture_output=True, text=True).stdout
    script = script.split("=" * 50)[1].replace(
        "  .text  ", "  .mycode : { *(.text.o* .text.main) }\n  .text  "
    )
    (tmp_path / "script").write_text(script)
    path = built(tmp_path, "-Wl,-T,script", *(recorded() if by == "lld" else []))
    assert b".mycode" in subprocess.check_output(["readelf", "-SW", path])
    run("profile", path)
    misses = json.loads(run("measure", path, "--layouts", "200", "--json"))["misses_per_1000"]
    assert misses["linked"] > 50 * misses["median"]
    assert max(misses["values"]) > 50 * misses["median"]  # in some, the two conflict again
    run("explain", path)
    run("optimise", path, "--layouts", "6")
    assert (tmp_path / "program.optimised").exists() == (by == "lld")
    if by == "lld":
        assert subprocess.check_output(["./program.optimised"]) == subprocess.check_output([path])


@pytest.mark.parametrize("options", [["-pie"], ["-no-pie"], ["-static"], ["-static-pie"]], ids=" ".join)
def test_functions_that_are_chosen_when_the_program_starts(
    options: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    source = """
    #include <stdio.h>
    #include <string.h>
    static __attribute__((noinline)) int taken(int x) { return x * 3 + 1; }
    static int (*choose(void))(int) { return taken; }
    int chosen(int) __attribute__((ifunc("choose")));
    int main(int count, char** words) {
      static char from[4000], to[4000];
      for (int i = 0; i < 20000; ++i) from[i % 4000] += chosen(i);
      memcpy(to, from, 3000 + count);
      printf("%d\\n", to[7]);
    }"""
    path = built(tmp_path, *options, *recorded(), source=source)
    run("profile", path)
    run("measure", path, "--layouts", "6")
    assert "taken" in run("explain", path)
    run("optimise", path, "--layouts", "6")
    order = (tmp_path / "program.order").read_text().split()
    assert {"taken", "choose"} <= {*order}
    assert any(name.startswith("__memcpy_") for name in order) == ("-static" in " ".join(options))
    assert subprocess.check_output(["./program.optimised"]) == subprocess.check_output([path])


def spoil(record: Path, what: str) -> None:
    """Put a record in a state in which it is of no use."""
    whole = record.read_bytes()
    if what == "truncated":
        record.write_bytes(whole[: len(whole) // 2])
    elif what == "empty":
        record.write_bytes(b"")
    elif what == "lacks an object":
        with tarfile.open(fileobj=BytesIO(whole)) as old, tarfile.open(record, "w") as new:
            for member in old.getmembers():
                if not member.name.endswith("/crtn.o"):
                    new.addfile(member, old.extractfile(member))
    elif what == "another build":
        built(record.parent, *recorded(), source=CONFLICT.replace("x * 3", "x / 3"), name="another")
    else:
        os.utime(record, (0, 0))


@pytest.mark.parametrize(
    ("what", "said"),
    [
        ("truncated", "is damaged; build the program again"),
        ("empty", "is damaged; build the program again"),
        ("lacks an object", "lld cannot link what it holds; build the program again"),
        ("another build", "is of another build of program; record the link when you build it"),
        ("older", "is of another build of program; record the link when you build it"),
    ],
)
def test_a_record_that_is_not_of_the_program_is_refused(
    what: str, said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    path = built(tmp_path, *recorded())
    run("profile", path)
    spoil(tmp_path / "program.link.tar", what)
    assert f"program.link.tar: {said}" in refused("optimise", path, "--layouts", "6")
    assert not list(tmp_path.glob("program.o*"))


def test_a_record_is_of_no_use_without_lld(program: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program.with_name("program.link.tar").touch()
    monkeypatch.setenv("PATH", str(program.parent))
    assert "lld is not installed" in refused("optimise", program, "--layouts", "6")


def test_what_a_child_executes_is_left_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    source = """
    #include <sys/wait.h>
    #include <unistd.h>
    __attribute__((noinline)) int work(int x) { return x * 5 + 1; }
    int main(int count, char** words) {
      if (count > 1 && fork() != 0) return wait(0) < 0;
      for (int i = 0; i < 100000; ++i) count = work(count);
      return count == 12345;
    }"""
    path = built(tmp_path, source=source)
    run("profile", path)
    alone = json.loads(run("measure", path, "--layouts", "6", "--json"))["instructions"]
    run("profile", path, "fork")
    assert json.loads(run("measure", path, "--layouts", "6", "--json"))["instructions"] < alone / 10


def test_names_of_two_procedures_differ(tmp_path: Path) -> None:
    (tmp_path / "more.c").write_text(
        "static __attribute__((noinline)) int twice(int x) { return x; }\nint f(int x) { return twice(x); }"
    )
    names = [each.name for each in read_image(built(tmp_path, "more.c")).procedures]
    assert {"twice", "twice#2"} <= {*names}
    assert len(names) == len({*names})


def test_basic_blocks_that_have_sections_are_counted_and_ordered_each(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    clang = Path(by_lld()[0].removeprefix("-B"), "clang")
    (tmp_path / "program.c").write_text(CONFLICT)
    options = ["-O1", "-fbasic-block-sections=all", "-fuse-ld=lld", "-Wl,--reproduce=program.link.tar"]
    subprocess.run([clang, *options, "program.c", "-o", "program"], check=True)
    run("profile", "program")
    assert json.loads(run("measure", "program", "--layouts", "6", "--json"))["instructions"] > 200_000
    run("optimise", "program", "--layouts", "6")
    order = [name for name in (tmp_path / "program.order").read_text().split() if name.startswith("main")]
    assert len(order) > 3
    names = [each.name for each in read_image(tmp_path / "program.optimised").procedures]
    assert [name for name in names if name in order] == order
    printed = {subprocess.check_output([each]) for each in ("./program", "./program.optimised")}
    assert len(printed) == 1


def test_a_program_that_ends_with_another_status_is_recorded_all_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert "ended with 3" in run("profile", built(tmp_path), "3")


ENDS_EARLY = {
    "killed": ("abort();", "ended by SIGABRT"),
    "became another": ('execl("/bin/true", "true", (char*)0);', "became another program"),
    "left at once": ("_exit(0);", "became another program"),
    "closed all": ("for (int i = 3; i < 1024; ++i) close(i); return 0;", "ended before its end"),
}


@pytest.mark.parametrize("how", ENDS_EARLY)
def test_a_trace_that_is_not_whole_is_not_kept(
    how: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    does, said = ENDS_EARLY[how]
    source = f"#include <stdlib.h>\n#include <unistd.h>\nint main(void) {{ {does} }}"
    path = built(tmp_path, source=source)
    if how == "left at once":  # QEMU ends in order then, too
        run("profile", path)
        return
    assert said in refused("profile", path)
    assert not list(tmp_path.glob("*.trace*"))


def test_a_child_that_stays_does_not_keep_the_recorder_waiting(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    source = """
    #include <unistd.h>
    int main(void) {
      if (fork() == 0) { setsid(); for (int i = 0; i < 3; ++i) close(i); pause(); }
      return 0;
    }"""
    run("profile", built(tmp_path, source=source))


def test_signals_do_not_disturb_the_recording(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    source = """
    #include <signal.h>
    #include <sys/time.h>
    static volatile int ticks;
    static void tick(int number) { ticks += number != 0; }
    int main(void) {
      const struct itimerval each = {{0, 500}, {0, 500}};
      signal(SIGALRM, tick);
      setitimer(ITIMER_REAL, &each, 0);
      while (ticks < 200) continue;
      return 0;
    }"""
    run("profile", built(tmp_path, source=source))


def test_procedures_of_one_name_keep_theirs_in_another_order(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "more.c").write_text(
        "static __attribute__((noinline)) int twice(int x) { return x * x * x + x / 3 + x % 7; }\n"
        "int more(int x) { return twice(x); }"
    )
    sizes = []
    for order in ("more\nmain\ntwice\n", "main\nmore\n"):
        (tmp_path / "order").write_text(order)
        path = built(
            tmp_path, "more.c", *by_lld(), "-Wl,--symbol-ordering-file=order,--no-warn-symbol-ordering"
        )
        sizes.append({each.name: each.size for each in read_image(path).procedures})
    assert sizes[0]["twice"] != sizes[0]["twice#2"]
    assert [each["twice"] for each in sizes] == [sizes[0]["twice"]] * 2


def test_a_program_that_changes_its_code_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    source = """
    #include <stdint.h>
    #include <sys/mman.h>
    __attribute__((noipa, aligned(4096))) int one(void) { return 1; }
    int main(void) {
      int sum = one();
      unsigned char* code = (unsigned char*)((uintptr_t)one & ~4095UL);
      mprotect(code, 4096, PROT_READ | PROT_WRITE | PROT_EXEC);
      for (int i = 0; i < 16; ++i) if (((unsigned char*)one)[i] == 1) { ((unsigned char*)one)[i] = 2; break; }
      return sum + one() != 3;
    }"""
    assert "changes its code while it runs" in refused("profile", built(tmp_path, source=source))


def test_bad_input_ends_in_a_message_that_says_what_to_do(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    path = built(tmp_path)
    assert "assay layout profile" in refused("measure", path)
    stripped = tmp_path / "stripped"
    subprocess.run(["strip", "-o", stripped, path], check=True)
    assert "it was stripped" in refused("profile", stripped)
    script = tmp_path / "script"
    script.write_text("#!/bin/sh\n")
    assert "is a script" in refused("profile", script)
    assert "cannot be read" in refused("profile", tmp_path / "nothing")
    (tmp_path / "text").write_text("hello")
    assert "not an ELF file" in refused("profile", tmp_path / "text")
    assert "cannot write" in refused("profile", "--output", path / "x.trace", path)
    assert "cannot be read" in refused("profile", "--input", tmp_path / "nothing", path)
    whole = path.read_bytes()
    for length in (40, 100, len(whole) // 2, len(whole) - 300):
        (tmp_path / "damaged").write_bytes(whole[:length])
        assert "damaged" in refused("profile", tmp_path / "damaged")
    run("profile", path)
    whole = (tmp_path / "program.trace").read_bytes()
    (tmp_path / "program.trace").write_bytes(whole[: len(whole) // 2])
    assert "is truncated; record it again" in refused("measure", path)
    (tmp_path / "program.trace").write_bytes(whole)
    built(tmp_path, source=CONFLICT.replace("* 3", "* 7"))
    assert "is of another build" in refused("measure", path)


def test_the_simulator_counts_what_cachegrind_counts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    path = built(tmp_path, "-static")
    run("profile", path)
    answer = json.loads(run("explain", path, "--json"))
    command = ["valgrind", "-q", "--tool=cachegrind", "--cache-sim=yes", "--I1=8192,1,32", "--D1=8192,1,32",
               "--LL=1048576,16,64", "--cachegrind-out-file=/dev/stdout", str(path)]  # fmt: skip
    counted = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    found = re.search(r"^summary: \d+ (\d+)", counted, re.M)
    assert found is not None
    assert answer["misses"] == pytest.approx(int(found[1]), rel=0.01)


def test_a_profile_of_callgrind_is_enough_for_an_order(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    path = built(tmp_path)
    command = ["valgrind", "-q", "--tool=callgrind", "--callgrind-out-file=calls", str(path)]
    subprocess.run(command, check=True, capture_output=True)
    run("optimise", path, "--callgrind", "calls", "--noise", "0")
    order = (tmp_path / "program.order").read_text().splitlines()
    places = [order.index(name) for name in ("one", "other", "main")]
    assert max(places) - min(places) == 2
    (tmp_path / "text").write_text("hello\n")
    assert "is not a profile of callgrind" in refused("optimise", path, "--callgrind", "text")


@pytest.mark.parametrize("name", ["expansion", "ten-runs", "history", "sampling", "best-of", "table-2"])
def test_each_experiment_runs_with_a_trace_of_this_program(name: str, program: Path) -> None:
    text = (Path(__file__).parents[1] / "experiments" / f"{name}.toml").read_text()
    text = re.sub(r"\.\./\.\./\.\./build/layout/[\w.]+\.trace", str(program.with_name("program.trace")), text)
    text = re.sub(r"\.\./\.\./\.\./build/layout/\w+", str(program), text)
    text = text.replace("../../../.venv/bin/assay", str(Path(sys.executable).with_name("assay")))
    text = text.replace("../../../build/release/bin/assay-layouts", str(programs.find("assay-layouts")))
    text = text.replace('build = "../tools/programs"\n', "").replace("layouts = 64", "layouts = 7")
    file = program.with_name(f"{name}.toml")
    file.write_text(text)
    only = {
        "expansion": ["--only", "program=lua,compress", "--only", "expansion=0.5,1"],
        "history": ["--only", "noise=0,1"],
        "best-of": ["--only", "k=1,8"],
    }.get(name, [])
    done = CliRunner().invoke(app, ["run", str(file), "--blocks", "1", "--anyway", "--no-page", *only])
    assert done.exit_code == 0, done.output  # every trial was valid
