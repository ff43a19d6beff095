"""What layouts do to a real program: Lua of Debian's sources, in a simulated cache that counts every miss.

`benchmarks/lua_layouts.py [LAYOUTS]`, 20 without one: two minutes. It needs Debian's `apt-get`, gcc, lld and
valgrind, and a network for 370 kB of source; it changes nothing outside a temporary folder. The interpreter's
own seed is fixed, so that two runs of one layout agree to the last miss.
"""

import re
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

from assay.layout.link import RECORD, lld, recorded_link

SOURCE = "deb-src [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] http://deb.debian.org/debian"
COMPILED = ("-O2", "-ffunction-sections", "-fdata-sections", "-DLUA_USE_LINUX", "-Dluai_makeseed(L)=0")
CACHE = ("--cache-sim=yes", "--I1=8192,1,32", "--D1=8192,1,32", "--LL=1048576,16,64")
MISSES = re.compile(rb"^summary: \d+ (\d+) \d+ \d+ (\d+) \d+ \d+ (\d+)", re.MULTILINE)
PROGRAM = """
-- A little of what programs do: closures, tables, strings, sorting, matching, coroutines.
local words, total = {}, 0
for i = 1, 400 do words[i] = string.format("%d:%s", i * 7919 % 401, string.rep("ab", i % 5)) end
for round = 1, 6 do
  table.sort(words, function(a, b) return (a < b) == (round % 2 == 0) and a ~= b end)
  local counts = setmetatable({}, { __index = function() return 0 end })
  for _, word in ipairs(words) do
    for digit in word:gmatch("%d") do counts[digit] = counts[digit] + 1 end
    total = total + #word:gsub("ab", "c"):upper()
  end
  local next_product = coroutine.wrap(function()
    for key, count in pairs(counts) do coroutine.yield(tonumber(key) * count) end
  end)
  for product in next_product do total = total + product % 7 end
end
print(total)
"""


def main() -> None:
    """Build Lua, and print the misses of each layout and how they spread."""
    layouts = int(sys.argv[1]) if sys.argv[1:] else 20
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        program = build(source(folder))
        (folder / "program.lua").write_text(PROGRAM)
        link = recorded_link(Path(f"{program}{RECORD}"), folder / "inputs", print, None)
        counts = []
        print("misses of the first level, simulated: 8 KiB each for instructions and data, one way")
        for layout in range(1, layouts + 1):
            link(layout, program)
            first, again = (misses(program, folder) for _ in range(2))
            if first != again:
                sys.exit(f"error: layout {layout} missed {first} and then {again} times")
            counts.append(first)
            print(f"  layout {layout:3}: {first[0]:10,} of instructions {first[1]:10,} of data, twice")
    for what, values in zip(("instructions", "data"), zip(*counts, strict=True), strict=True):
        mean = statistics.fmean(values)
        print(
            f"{what}: standard deviation {statistics.stdev(values) / mean:.1%} of the mean, from"
            f" {min(values) / mean - 1:+.1%} to {max(values) / mean - 1:+.1%} (goal: several percent)"
        )


def source(folder: Path) -> Path:
    """Return the folder of Lua's sources."""
    fetch(folder, "lua5.4")
    (sources,) = folder.glob("lua5.4/lua-*/src")
    return sources


def fetch(folder: Path, *packages: str) -> None:
    """Unpack Debian's sources of packages to folders of their names; apt fetches them by its own list."""
    with tempfile.TemporaryDirectory(dir=folder) as name:
        apt = Path(name)
        (apt / "lists" / "partial").mkdir(parents=True)
        (apt / "sources.list").write_text(f"{SOURCE} bookworm main\n")
        places = {
            "Etc::SourceList": apt / "sources.list",
            "Etc::SourceParts": "/dev/null",
            "State::Lists": apt / "lists",
            "Cache": apt / "cache",
        }
        options = [f"--option=Dir::{place}={path}" for place, path in places.items()]
        command = ("apt-get", "-qq", *options, "--option=APT::Sandbox::User=root")
        for words in (("update",), ("source", "--download-only", "--tar-only", *packages)):
            subprocess.run([*command, *words], cwd=apt, check=True)  # noqa: S603
        for package in packages:
            (archive,) = apt.glob(f"{package}_*.orig.tar.*")
            unpacked = apt / package
            unpacked.mkdir()
            subprocess.run(["tar", "-xf", archive, "-C", unpacked], check=True)  # noqa: S603, S607
            unpacked.rename(folder / package)


def build(sources: Path) -> Path:
    """Return the interpreter, with its link recorded beside it."""
    linker = lld()
    if linker is None:
        sys.exit("error: lld is not installed")
    program = sources / "lua"
    files = [file.name for file in sources.glob("*.c") if file.name != "luac.c"]
    record = f"-Wl,-E,--reproduce={program}{RECORD}"
    linked = (f"-B{Path(linker).resolve().parent}", "-fuse-ld=lld", record, "-lm", "-ldl")
    subprocess.run(["gcc", *COMPILED, *files, "-o", program, *linked], cwd=sources, check=True)  # noqa: S603, S607
    return program


def misses(program: Path, folder: Path) -> tuple[int, int]:
    """Return how often the program misses the caches: of instructions, and of data."""
    simulated = ("setarch", "-R", "valgrind", "-q", "--tool=cachegrind", *CACHE)
    command = (*simulated, "--cachegrind-out-file=/dev/stdout", str(program), str(folder / "program.lua"))
    done = subprocess.run(command, env={}, check=True, capture_output=True)  # noqa: S603
    found = MISSES.search(done.stdout)
    if found is None:
        sys.exit("error: cachegrind printed no summary")
    instructions, reads, writes = map(int, found.groups())
    return instructions, reads + writes


if __name__ == "__main__":
    main()
