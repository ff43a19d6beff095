"""The commands `assay layout ...`."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from assay import files
from assay.cli.options import JsonOption, print_json, print_table, real, whole, whole_option
from assay.cli.usage import Command
from assay.errors import AssayError
from assay.words import counted, printable

if TYPE_CHECKING:
    from assay.analysis.types import Interval
    from assay_layout.linking import Places
    from assay_layout.program import Image
    from assay_layout.simulator import Cache, Simulation

app = typer.Typer(
    no_args_is_help=True,
    help="Where the linker puts procedures, and what that costs.",
    epilog="Example: `assay layout profile ./my_program input.txt`, then `assay layout measure ./my_program`",
)


def _cache(text: str) -> "Cache":
    """Return a cache that a user typed as BYTES,WAYS,LINE."""
    from assay_layout.simulator import Cache

    words = text.split(",")
    if len(words) != 3:
        raise ValueError(f"{text} is not BYTES,WAYS,LINE; write 32768,8,64, for instance")
    size, ways, line = (whole()(word) for word in words)
    for number in (size, ways, line):
        if number & (number - 1):
            raise ValueError(f"{number} is not a power of two, as all three numbers of a cache must be")
    if ways * line > size:
        raise ValueError(f"{ways} lines of {line} bytes are more than the cache's {size} bytes")
    return Cache(size, ways, line)


ProgramArgument = Annotated[Path, typer.Argument(metavar="PROGRAM", hidden=True)]
TraceOption = Annotated[
    Path | None,
    typer.Option(
        "--trace", metavar="FILE", help="What it executed, as `profile` wrote it. Default: PROGRAM.trace."
    ),
]
CacheOption = Annotated[
    Any,
    typer.Option(
        "--cache",
        parser=_cache,
        metavar="BYTES,WAYS,LINE",
        help="The cache of instructions. Default: 8192,1,32, where layouts matter; usual today: 32768,8,64.",
    ),
]
LayoutsOption = Annotated[int, whole_option("Draw this many layouts.", 6, 100_000)]
SeedOption = Annotated[int, whole_option("Draw all from this seed.", 0)]


@app.command("profile", cls=Command, context_settings={"allow_interspersed_args": False})
def profile(
    program: Annotated[list[str], typer.Argument(metavar="PROGRAM", hidden=True)],
    *,
    output: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Write the trace to it. Default: PROGRAM.trace.")
    ] = None,
    input_file: Annotated[
        Path | None, typer.Option("--input", metavar="FILE", help="What it reads on standard input.")
    ] = None,
) -> None:
    """Run a program once, and record which code it executes.

    The other commands need that. The program is run, with its arguments, by qemu-user, 10 to 50 times as
    slowly; what it prints is printed. It needs a symbol table, and is otherwise as you built it. Code of
    libraries is left out, unless it is linked statically.

    Write -- before PROGRAM if its arguments begin with a dash.

    Example: `assay layout profile ./my_program input.txt`
    """
    from assay_layout.program import read_image
    from assay_layout.recording import record
    from assay_layout.simulator import Cache, simulate

    path = Path(program[0])
    trace = output or _default_trace(path)
    image = read_image(path)
    status = record(image, program[1:], trace, input_file)
    answer = simulate(trace, "linked", Cache(), seed=0)
    ended = f"; the program ended with {status}" if status else ""
    typer.echo(f"{trace}: {_what_ran(answer, image)}{ended}")


@app.command("measure", cls=Command)
def measure(
    program: ProgramArgument,
    *,
    trace: TraceOption = None,
    cache: CacheOption = None,
    layouts: LayoutsOption = 200,
    expand: Annotated[
        bool,
        typer.Option(
            "--expand",
            help="Expand the layout as it was linked, from half to one and a half, in place of random ones.",
        ),
    ] = False,
    seed: SeedOption = 1,
    as_json: JsonOption = False,
) -> None:
    """Say how much the layout of a program moves its results.

    It simulates the cache of instructions under many random layouts: each procedure at an independent
    random address. It says how far they spread, where the program as it was linked stands among them, and
    how wrong one measurement or one comparison may be that has seen one layout only.

    With --expand, all code is made smaller or larger in steps, as by a compiler that emits less or more of
    it. The errors are then distances from a fitted line (Blackwell 1998, table 2).

    Example: `assay layout measure ./my_program`
    """
    import numpy as np

    from assay.analysis.intervals import median_interval
    from assay_layout.simulator import simulate
    from assay_layout.statistics import errors, fitted_line, geometric_spread

    image, trace, cache = _given(program, trace, cache)
    scheme = {"scheme": "linked", "expands": 1} if expand else {"scheme": "random"}
    drawn = simulate(trace, cache=cache, seed=seed, layouts=layouts, **scheme)
    linked = simulate(trace, "linked", cache, seed=seed)
    _check_build(image, drawn, trace)
    rates, middle = drawn.miss_rates, float(np.median(drawn.miss_rates))
    interval = median_interval(rates)
    assert interval is not None  # there are at least 6
    below, above = geometric_spread(rates)
    worse = float(np.mean(rates < linked.miss_rates[0]))
    line = fitted_line(drawn.factors, drawn.cycles) if expand else None
    wrong = errors(drawn.cycles, line.residuals if line else None, line.at_one if line else None)
    if as_json:
        print_json(
            {
                "program": str(program), "trace": str(trace), "seed": seed, "layouts": layouts,
                "instructions": drawn.instructions, "outside": drawn.outside,
                "cache": {"bytes": cache.size, "ways": cache.ways, "line_bytes": cache.line},
                "misses_per_1000": {"median": middle, "low": interval.low, "high": interval.high,
                                    "linked": float(linked.miss_rates[0]), "values": rates.tolist()},
                "cycles_per_instruction": line.at_one if line else float(np.median(drawn.cycles)),
                "measurement_error_percent": 100 * wrong.measurement,
                "comparison_error_percent": 100 * wrong.comparison,
            }
        )  # fmt: skip
        return
    typer.echo(_what_ran(drawn, image))
    which = (
        f"{layouts} factors of expansion from 0.5 to 1.5"
        if expand
        else f"{counted(layouts, 'random layout')}, seed {seed}"
    )
    typer.echo(f"simulated: a cache of {cache}; {which}")
    typer.echo("")
    if line:
        typer.echo(f"misses in 1,000 instructions: {rates.min():.3g} to {rates.max():.3g}")
        typer.echo(
            f"cycles for an instruction, estimated: {line.at_one:.3g} on the fitted line at a factor of 1"
        )
        spike = float(drawn.factors[np.argmax(line.residuals)])
        typer.echo(f"  farthest above it at {spike:.6g}: see assay layout explain --expansion {spike:.6g}")
    else:
        typer.echo(
            f"misses in 1,000 instructions: {middle:.3g} in the median"
            f" ({interval.low:.3g} to {interval.high:.3g})"
        )
        typer.echo(f"  10% of the layouts have less than {middle / below:.3g} (/{below:.2f}),")
        typer.echo(f"  10% more than {middle * above:.3g} (x{above:.2f})")
        typer.echo(f"  as it was linked: {linked.miss_rates[0]:.3g}, more than {worse:.0%} of the layouts")
        typer.echo(f"cycles for an instruction, estimated: {np.median(drawn.cycles):.3g} in the median")
    typer.echo("")
    typer.echo(
        f"In nine of ten cases, a result from one layout is within {wrong.measurement_within:.1%} of"
        f" {'the line' if line else 'the median'},\nand a comparison of two programs, each in one layout, is"
        f" within {wrong.comparison_within:.1%} of what it should be."
    )


@app.command("optimise", cls=Command)
def optimise(
    program: ProgramArgument,
    *,
    trace: TraceOption = None,
    confirm: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Count misses in this trace, of another input; --trace only says what to optimise for.",
        ),
    ] = None,
    cache: CacheOption = None,
    layouts: LayoutsOption = 100,
    noise: Annotated[
        Any,
        typer.Option(
            parser=real(0, 10),
            metavar="R",
            help="Multiply weights by e^(R Z), Z standard normal; 0: ties alone are drawn.",
        ),
    ] = 0.1,
    seed: SeedOption = 1,
    output: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Write the best order to it, and the script to FILE.ld. Default: PROGRAM.order.",
        ),
    ] = None,
    callgrind: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Order by the calls that callgrind counted, without a trace: no misses are counted.",
        ),
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Compare orders of a program's procedures, and write the best one.

    Several optimisers order the procedures by what was recorded. Choices between equals are drawn at
    random, so that each has a distribution, which is compared with that of random layouts. The best order of
    all is written: as a list of symbols, for `ld.lld --symbol-ordering-file`, and as a linker script, for
    GNU ld or lld. If the link was recorded, in PROGRAM.link.tar, lld's own optimisers are compared as well,
    and the program is linked in the best order as PROGRAM.optimised.

    Example: `assay layout optimise ./my_program --confirm other_input.trace`
    """
    import numpy as np

    from assay.analysis.intervals import median_interval
    from assay.analysis.sensitivity import spread_ratio
    from assay_layout.optimising import Search, search
    from assay_layout.program import symbol
    from assay_layout.statistics import ratio

    written = output or Path(f"{program.name}.order")
    if str(written) == "-":
        raise AssayError("--output: two files are written, NAME and NAME.ld; name one in place of -")
    for file in (written, _script(written)):
        files.check_writable(file, "--output")
    if callgrind:
        if trace or confirm or cache or as_json:
            raise AssayError(
                "--callgrind: goes without --trace, --confirm, --cache and --json: it counts no misses"
            )
        _order_by_calls(program, callgrind, noise, seed, written)
        return
    image, trace, cache = _given(program, trace, cache)
    if confirm and confirm.is_file() and confirm.samefile(trace):
        raise AssayError("--confirm: is the trace of the profile; record another input, and name its trace")
    by = Search(program, trace, confirm or trace, cache, layouts, noise, seed)
    _check_build(image, by.linked, by.judged_by)
    linked = float(by.linked.miss_rates[0])
    linked_as = Path(f"{program.name}.optimised")
    found = search(by, linked_as)
    drawn_by = f"{found.best}, noise {noise:g}, seed {seed}, layout {found.number}"
    said = _write_orders(written, image, found.places, drawn_by, gaps=found.gaps)
    if as_json:
        print_json(
            {
                "program": str(program), "trace": str(trace), "judged_by": str(by.judged_by), "seed": seed,
                "layouts": layouts,
                "misses_per_1000": {
                    "linked": linked,
                    **{name: answer.miss_rates.tolist() for name, answer in found.answers.items()},
                },
                "best": {"scheme": found.best, "made_for": found.made_for, "judged": found.judged,
                         "really_linked": found.really, "order": [symbol(name) for name, _ in found.places]},
            }
        )  # fmt: skip
        return
    random = found.answers["random"]
    typer.echo(_what_ran(random, image))
    typer.echo(f"simulated: a cache of {cache}; {counted(layouts, 'layout')} of each, seed {seed}")
    typer.echo("misses in 1,000 instructions, and cycles for one:\n")
    misses = {name: answer.misses[:, 0] + 1 for name, answer in found.answers.items()}
    rows = [
        (
            name,
            *(f"{number(answer.miss_rates):.3g}" for number in (np.median, np.min, np.max)),
            f"{np.median(answer.cycles):.3f}",
            _range(ratio(misses[name], misses["random"])),
            "" if name == "random" else _range(spread_ratio(np.log(misses[name]), np.log(misses["random"]))),
        )
        for name, answer in found.answers.items()
    ]
    print_table(
        ("order", "median", "least", "most", "cycles", "times random, 95%", "spread, times random's"),
        [*rows, ("as linked", f"{linked:.3g}", "", "", "", "", "")],
    )
    typer.echo("")
    other = f" with the input of the profile, {found.judged:.3g} with the other one" if confirm else ""
    typer.echo(f"best order: one of {found.drawn} by {found.best}, {found.made_for:.3g}{other}")
    middle = median_interval(random.miss_rates)
    assert middle is not None  # there are at least 6
    typer.echo(
        f"  {found.judged / np.median(random.miss_rates):.2f} times the median of random layouts"
        f" ({found.judged / middle.high:.2f} to {found.judged / middle.low:.2f}),"
        f" {found.judged / linked:.2f} times as linked"
    )
    if not confirm:
        typer.echo("  It was chosen by the same input; use --confirm to test it with another one.")
    typer.echo(said)
    if found.really is not None:
        typer.echo(f"linked: {linked_as}, {found.really:.3g}")
        if abs(found.really - found.judged) > _NEARLY * found.judged:
            typer.echo(
                "  That is not what was simulated: only functions in sections of their own move"
                " (-ffunction-sections),\n  and none is nearer to the next one than its alignment allows."
            )
    if min(found.judged, found.really or found.judged) >= linked:
        typer.echo("The program as it was linked is no worse.")


_NEARLY = 0.1
"""By how much misses may differ from simulated ones, as a share, before a message says so."""


def _range(interval: "Interval | None") -> str:
    return f"{interval.low:.3g} to {interval.high:.3g}" if interval else ""


def _write_orders(written: Path, image: "Image", places: "Places", drawn_by: str, *, gaps: bool) -> str:
    """Write a layout, for either linker, and return what was written, in words."""
    from assay_layout.linking import linker_script, symbol_order

    script = _script(written)
    said = f"{printable(image.path.name)}, build {image.build_id}; {drawn_by}"
    if any(".__part." in name for name, _ in places):
        script.unlink(missing_ok=True)
        also = "; a linker script cannot tell basic blocks apart"
    else:
        files.write(script, f"/* {said} */\n{linker_script(places, image, gaps=gaps)}")
        also = f",\n  and {script}, for -Wl,-T,{script} by GNU ld or lld"
    without = f" It was made with gaps, which {script.name} has." if gaps else ""
    files.write(written, f"# {said}.{without}\n{symbol_order(places, image)}")
    if gaps:
        return f"written: {script}, for -Wl,-T,{script} by GNU ld or lld; {written} is without its gaps"
    return f"written: {written}, for ld.lld --symbol-ordering-file={written}{also}"


def _script(order: Path) -> Path:
    """Return the linker script beside a file with an order."""
    return Path(f"{order}.ld")


def _order_by_calls(program: Path, callgrind: Path, noise: float, seed: int, written: Path) -> None:
    """Write the order of Pettis and Hansen by the calls of a profile."""
    from assay_layout.callgrind import read_calls
    from assay_layout.program import read_image
    from assay_layout.simulator import Cache, simulate

    image = read_image(program)
    calls = read_calls(callgrind)
    known = {each.name for each in image.procedures}
    if not any(caller in known and callee in known for caller, callee, _ in calls):
        raise AssayError(
            f"{printable(str(callgrind))}: no call is between procedures of {printable(program.name)};"
            " names of C++ need callgrind --demangle=no"
        )
    procedures = image.as_json()["procedures"]
    answer = simulate(
        None,
        "pettis_hansen",
        Cache(),
        seed=seed,
        procedures=procedures,
        weights=calls,
        noise=noise,
        addresses=1,
    )
    drawn_by = f"Pettis-Hansen by calls, noise {noise:g}, seed {seed}"
    typer.echo(_write_orders(written, image, answer.details["addresses"], drawn_by, gaps=False))


@app.command("explain", cls=Command)
def explain(
    program: ProgramArgument,
    *,
    trace: TraceOption = None,
    cache: CacheOption = None,
    expansion: Annotated[
        Any,
        typer.Option(
            parser=real(0.25, 4), metavar="F", help="Put each instruction F times as far from the first one."
        ),
    ] = 1.0,
    pairs: Annotated[int, whole_option("Name this many pairs. Default: 10.", 1, 1000)] = 10,
    picture: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Draw sets against procedures. Default: PROGRAM.sets.svg."),
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Say which procedures drive each other out of the cache.

    Procedures are where they were linked; with --expansion, at multiples of that distance.

    It draws a picture of the cache's sets against procedures, too.

    Example: `assay layout explain ./my_program`
    """
    from assay_layout.picture import draw
    from assay_layout.simulator import simulate

    image, trace, cache = _given(program, trace, cache)
    answer = simulate(trace, "linked", cache, seed=0, explained=pairs, expansion=expansion)
    _check_build(image, answer, trace)
    misses = answer.misses[0, 0]
    conflicts: Sequence[Mapping[str, Any]] = answer.details["conflicts"]
    drawn = picture or Path(f"{program.name}.sets.svg")
    if as_json:
        draw(answer.details["sets"], cache, drawn)
        print_json({"program": str(program), "misses": misses, "conflicts": conflicts, "picture": str(drawn)})
        return
    typer.echo(_what_ran(answer, image))
    typer.echo(
        f"simulated: a cache of {cache}; {misses:,.0f} misses, {answer.miss_rates[0]:.3g} in 1,000"
        f" instructions\n"
    )
    print_table(
        ("missed", "its place was taken by", "times", "of all misses"),
        [
            (each["missed"], each["taken_by"], f"{each['times']:,}", f"{each['times'] / misses:.1%}")
            for each in conflicts
        ],
    )
    draw(answer.details["sets"], cache, drawn)
    typer.echo(f"\nwritten: {drawn}")


def _default_trace(program: Path) -> Path:
    """Return where `profile` writes what a program executed."""
    return Path(f"{program.name}.trace")


def _given(program: Path, trace: Path | None, cache: "Cache | None") -> "tuple[Image, Path, Cache]":
    """Return the program, its trace and the cache, from what a user gave.

    Raises:
        AssayError: a file is missing or wrong.
    """
    from assay_layout.program import read_image
    from assay_layout.simulator import Cache

    image = read_image(program)
    found = trace or _default_trace(program)
    if not found.is_file():
        raise AssayError(
            f"there is no {printable(str(found))}, which says what the program executes;"
            f" assay layout profile {printable(str(program))} ARGUMENTS writes it"
        )
    return image, found, cache or Cache()


def _check_build(image: "Image", answer: "Simulation", trace: Path) -> None:
    """Refuse a trace of another build of the program."""
    if answer.build_id != image.build_id:
        raise AssayError(
            f"{printable(str(trace))} is of another build of {printable(image.path.name)};"
            " run assay layout profile again"
        )


def _what_ran(answer: "Simulation", image: "Image") -> str:
    """Return how much a trace holds, in words."""
    outside = answer.outside / (answer.instructions + answer.outside)
    left_out = f", without the {outside:.0%} outside of its procedures" if outside >= 0.005 else ""
    millions = f"{answer.instructions / 1e6:,.1f} million instructions"
    return f"{millions} of {len(image.procedures):,} procedures{left_out}"
