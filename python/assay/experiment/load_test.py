import re
from pathlib import Path

import pytest

from assay.errors import AssayError
from assay.experiment import Experiment, check_processors, check_subjects, load, parse
from assay.experiment.schema import (
    ComparisonTable,
    DesignTable,
    Document,
    PerturbTable,
    Settings,
    SubjectTable,
)
from assay.experiment.types import Program

FILE = Path("experiments/x.toml")
TEXT = """\
name = "x"
question = "Which is faster?"
[factors]
subject = ["one", "two"]
threads = [1, 2]
[factors.mix]
searches = { insert = 5, erase = 5, find = 90 }
updates = { insert = 50, erase = 50, find = 0 }
[trial]
key_range = 20_000
duration_ms = 250
[design]
blocks = 12
exclude = [{ subject = "two", threads = 2, mix = ["updates"] }]
[comparison]
metric = "throughput"
factor = "subject"
baseline = "one"
smallest_effect_percent = 3
"""


def changed(old: str, new: str) -> str:
    assert old in TEXT
    return TEXT.replace(old, new, 1)


def read(old: str = "", new: str = "") -> Experiment:
    return parse(changed(old, new), FILE)


def test_an_experiment_says_what_its_file_says() -> None:
    experiment = read()
    assert experiment.name == "x"
    assert experiment.question == "Which is faster?"
    assert experiment.factors == {
        "subject": ("one", "two"),
        "threads": (1, 2),
        "mix": ("searches", "updates"),
    }
    assert experiment.design.blocks.most == 12
    assert experiment.design.seed is None
    assert experiment.design.key_range_percent == 2
    assert experiment.comparison.better == "higher"
    assert experiment.source == TEXT


def test_conditions_are_the_full_factorial_less_what_is_excluded() -> None:
    conditions = read().conditions()
    assert len(conditions) == 7
    assert {"subject": "two", "threads": 2, "mix": "updates"} not in conditions
    assert len({tuple(condition.values()) for condition in conditions}) == 7


def test_settings_are_the_fixed_ones_overridden_by_the_levels() -> None:
    settings = read().settings({"subject": "one", "threads": 2, "mix": "updates"})
    assert settings == {
        "subject": "one",
        "threads": 2,
        "mix": {"insert": 50, "erase": 50, "find": 0},
        "key_range": 20_000,
        "duration_ms": 250,
        "interval_ms": 10,
        "pinning": "cores_first",
        "keys": "dense",
    }


def test_a_factor_of_another_name_has_levels_that_change_settings_or_nothing() -> None:
    experiment = read("[trial]", "[factors.variant]\na = {}\nb = { key_range = 100 }\n[trial]")
    assert experiment.factors["variant"] == ("a", "b")
    settings = [experiment.settings({"variant": level})["key_range"] for level in ("a", "b")]
    assert settings == [20_000, 100]


def test_the_label_of_a_list_of_processors_is_its_numbers() -> None:
    experiment = read("threads = [1, 2]", 'threads = [1, 2]\npinning = ["none", [0, 1]]')
    assert experiment.factors["pinning"] == ("none", "0,1")
    assert experiment.settings({"pinning": "0,1"})["pinning"] == [0, 1]


@pytest.mark.parametrize(
    ("metric", "better"),
    [
        ("throughput", "higher"),
        ("generation_ns", "lower"),
        ("prefill_ms", "lower"),
        ("peak_resident_bytes", "lower"),
        ("cycles_per_operation", "lower"),
        ("page_faults", "lower"),
        ("context_switches", "lower"),
        ("migrations", "lower"),
        ("size", "higher"),
    ],
)
def test_the_metrics_name_says_whether_lower_is_better(metric: str, better: str) -> None:
    assert read('"throughput"', f'"{metric}"').comparison.better == better
    stated = read('"throughput"', f'"{metric}"\nbetter = "higher"')
    assert stated.comparison.better == "higher"


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        # Not TOML, or not of the right shape.
        ("threads = [1, 2]", "threads = [1, 2", ":6: not TOML: "),
        ("smallest_effect_percent = 3\n", "smallest_effect_percent =", ":19: not TOML: Invalid value"),
        ('name = "x"', 'nam = "x"', ":1: nam: unknown key; did you mean name?"),
        ("duration_ms", "duration", ":11: trial.duration: unknown key in [trial]; did you mean duration_ms?"),
        ("blocks = 12", "bloks = 12", ":13: design.bloks: unknown key in [design]; did you mean blocks?"),
        (
            "{ insert = 5,",
            "{ inserts = 5,",
            ":7: factors.mix.searches.inserts: unknown key in [factors.mix.searches]; did",
        ),
        (
            "blocks = 12",
            'blocks = "12"',
            ':13: design.blocks: "12" is not a whole number; write digits only, without quotes',
        ),
        ("blocks = 12", "blocks = true", ":13: design.blocks: true is not a whole number"),
        ("blocks = 12", "", ":12: design.blocks: is missing; add it"),
        ('question = "Which is faster?"', 'question = ""', ":2: question: is empty; write something"),
        (
            'name = "x"',
            'name = "X y"',
            ':1: name: "X y" is no name; use small letters, digits, _ and -, with a letter first',
        ),
        ("key_range = 20_000", "key_range = 2.5e4", ":10: trial.key_range: 25000.0 is not a whole number"),
        ("key_range = 20_000", 'keys = "thick"', ":10: trial.keys: \"thick\" is not one of 'dense' or"),
        ("key_range = 20_000", 'pinning = "tight"', ":10: trial.pinning: use one of none, compact,"),
        (
            "blocks = 12",
            "blocks = 12\nblocks = 3",
            ":14: not TOML: a key is given twice; remove one of them: blo",
        ),
        ("blocks = 12", f"blocks = {'9' * 5000}", ":13: not TOML: a number has too many digits"),
        (
            "percent = 3",
            "percent = 3\nperturb = 3",
            ":20: comparison.perturb: unknown key in [comparison]; there",
        ),
        ("question = ", "question = 3 # ", ":2: question: 3 is not a string; write it in quotes"),
        ("key_range = 20_000", "pinning = [65536]", ":10: trial.pinning: use one of none, compact,"),
        ("[design]", "[design.x]\n[design]", ":12: design.x: unknown key"),
        # Settings that make no trial.
        ("threads = [1, 2]", "threads = [1, 0]", ":5: factors.threads: 0 is too small; use 1 or more"),
        ("threads = [1, 2]", "threads = [\n1,\n-2]", ":7: factors.threads: -2 is too small; use 1 or more"),
        ("key_range = 20_000", "key_range = 0", ":10: trial.key_range: 0 is too small; use 2 or more"),
        ("key_range = 20_000", "key_range = 1", ":10: trial.key_range: 1 is too small; use 2 or more"),
        ("duration_ms = 250", "duration_ms = 0", ":11: trial.duration_ms: 0 is too small; use 1 or more"),
        ("duration_ms = 250", "timeout_s = 0", ":11: trial.timeout_s: 0 is too small; use more than 0"),
        ("duration_ms = 250", "timeout_s = nan", ":11: trial.timeout_s: NaN is not a finite number"),
        ("find = 90", "find = 91", ":7: factors.mix.searches: insert, erase and find add to 101"),
        ("insert = 5, ", "", ":7: factors.mix.searches.insert: is missing"),
        ("key_range = 20_000", "", ":9: trial: key_range is missing; fix it in [trial] or vary it"),
        # Factors.
        ("threads = [1, 2]", "threads = []", ":5: factors.threads: has no levels; give at least one"),
        ("threads = [1, 2]", "threads = {}", ":5: factors.threads: has no levels; give at least one"),
        ("threads = [1, 2]", "threads = 1", ":5: factors.threads: 1 is neither a list of levels nor"),
        ("threads = [1, 2]", "threads = [1, 2, 1]", ":5: factors.threads: the level 1 is given twice"),
        ("threads = [1, 2]", "thread = [1, 2]", ":5: factors.thread: is no setting of a trial (did you mean"),
        ("threads = [1, 2]", "variant = { a = 1 }", ":5: factors.variant.a: 1 is not a table"),
        ("threads = [1, 2]", '"threads\\n" = [1, 2]', ':5: factors."threads\\n": is no name'),
        ("threads = [1, 2]", 'Threads = "x"', ":5: factors.Threads: is no name"),
        ("threads = [1, 2]", "variant = { '' = {} }", ':5: factors.variant."": "" is no name for a level'),
        (
            "[factors.mix]",
            "[factors.v]\na = { thread = 1 }\n[factors.mix]",
            ":7: factors.v.a.thread: unknown",
        ),
        (
            "[factors.mix]",
            "[factors.v]\na = { threads = 1 }\n[factors.mix]",
            ":7: factors.v.a.threads: threads",
        ),
        ("key_range = 20_000", "key_range = 9\nthreads = 1", ":11: trial.threads: is both fixed here and a"),
        # Comparison.
        (
            'baseline = "one"',
            'baseline = "ona"',
            ':18: comparison.baseline: "ona" is no level of subject; did',
        ),
        ('factor = "subject"', 'factor = "sbject"', ':17: comparison.factor: "sbject" is no factor; did you'),
        ('subject = ["one", "two"]', 'subject = ["one"]', ":4: factors.subject: a comparison needs at least"),
        ("percent = 3", "percent = 0", ":19: comparison.smallest_effect_percent: 0 is too small; use more"),
        ("percent = 3", "percent = -1", ":19: comparison.smallest_effect_percent: -1 is too small; use more"),
        (
            "percent = 3",
            "percent = 101",
            ":19: comparison.smallest_effect_percent: 101 is too large; use 100",
        ),
        # Design and perturbation.
        ("blocks = 12", "blocks = 0", ":13: design.blocks: 0 is too small; use 1 or more"),
        ("blocks = 12", "seed = -1\nblocks = 1", ":13: design.seed: -1 is too small; use 0 or more"),
        (
            "[design]",
            "[perturb]\nkey_range = 51\n[design]",
            ":13: perturb.key_range: 51 is too large; use 50 or less",
        ),
        ("[design]", "[perturb]\nkey_range = -1\n[design]", ":13: perturb.key_range: -1 is too small; use 0"),
        (
            'subject = "two", ',
            "sub = 1, ",
            ':14: design.exclude.sub: "sub" is no factor; did you mean subject?',
        ),
        (
            '"two", threads',
            '"twi", threads',
            ':14: design.exclude.subject: "twi" is no level of subject; did',
        ),
        (
            "threads = 2,",
            "threads = true,",
            ":14: design.exclude.threads: true is no level of threads; there",
        ),
        ("exclude = [{", "exclude = [{}, {", ":14: design.exclude: an empty rule would leave every"),
        (
            '"two", threads = 2, mix = ["updates"]',
            '["one", "two"]',
            ":14: design.exclude: leaves no condition",
        ),
        (
            '"two", threads = 2, mix = ["updates"]',
            '"two"',
            ':14: design.exclude: leaves nothing to compare with the baseline "one"',
        ),
        (
            "threads = 2,",
            "threads = [],",
            ":14: design.exclude.threads: an empty list matches nothing; name",
        ),
        ("blocks = 12", "blocks = 50_000", ":3: factors: make 8 conditions, times 50,000 blocks; the most"),
        ('"two", threads', '"one", threads', ':14: design.exclude: leaves nothing of the baseline "one" to'),
    ],
)
def test_a_mistake_is_named_with_file_line_key_and_remedy(old: str, new: str, message: str) -> None:
    with pytest.raises(AssayError, match=re.escape(f"{FILE}{message}")):
        read(old, new)


def test_mistakes_of_one_kind_are_all_named() -> None:
    with pytest.raises(AssayError) as caught:
        read("key_range = 20_000\nduration_ms = 250", "key_range = 0\nduration_ms = 0")
    assert str(caught.value).splitlines() == [
        f"{FILE}:10: trial.key_range: 0 is too small; use 2 or more",
        f"{FILE}:11: trial.duration_ms: 0 is too small; use 1 or more",
    ]


@pytest.mark.parametrize(
    ("known", "message"),
    [
        ({"one": None, "too": None}, ':4: factors.subject: there is no subject "two"; did you mean too?'),
        (
            {"one": None, "two": 1},
            ":5: factors.threads: two cannot run with 2 threads, its limit is 1; leave the condition out: "
            '[design] exclude = [{ subject = "two", threads = 2 }]',
        ),
    ],
)
def test_subjects_must_exist_and_stay_within_their_threads(
    known: dict[str, int | None], message: str
) -> None:
    with pytest.raises(AssayError, match=re.escape(f"{FILE}{message}")):
        check_subjects(read(), known)


def test_an_excluded_condition_may_have_too_many_threads() -> None:
    check_subjects(read(', mix = ["updates"]', ""), {"one": None, "two": 1})


def test_the_remedy_for_too_many_threads_is_one() -> None:
    known = {"one": None, "two": 1}
    with pytest.raises(AssayError) as caught:
        check_subjects(read(), known)
    rule = str(caught.value).rpartition("[design] ")[2]
    check_subjects(read('exclude = [{ subject = "two", threads = 2, mix = ["updates"] }]', rule), known)


@pytest.mark.parametrize(
    "deep",
    [
        f"a = {'[' * 3000}{']' * 3000}",
        f"a = {'{ a = ' * 1500}1{' }' * 1500}",
        f"{'.'.join('a' * 5000)} = 1",
    ],
)
def test_a_text_that_is_nested_too_deeply_is_refused(deep: str) -> None:
    with pytest.raises(AssayError, match=r"x\.toml:.*(nested too deeply|unknown key)"):
        read("key_range = 20_000", deep)


def test_factors_without_end_are_refused_with_their_number() -> None:
    factors = "".join(f"[factors.f{number}]\na = {{}}\nb = {{}}\n" for number in range(40))
    with pytest.raises(AssayError, match=r"make 8,796,093,022,208 conditions, times 12 blocks"):
        read("[trial]", f"{factors}[trial]")


def test_processors_must_be_there() -> None:
    text = changed("threads = [1, 2]", 'pinning = ["none", [1, 0],\n[9]]')
    asked = parse(text.replace("threads = 2, ", ""), FILE)
    check_processors(asked, {0, 1, 9})
    why = ":6: factors.pinning: there is no processor 9 to run on; there are 0-3, 8"
    with pytest.raises(AssayError, match=re.escape(why)):
        check_processors(asked, {8, 0, 1, 2, 3})


def with_program(folder: Path, mode: int | None) -> Path:
    file = folder / "x.toml"
    file.write_text(TEXT + '[subjects.two]\nprogram = "./two"\n')
    if mode is not None:
        (folder / "two").touch(mode)
    return file


def test_a_program_is_found_beside_the_experiments_file(tmp_path: Path) -> None:
    experiment = load(with_program(tmp_path, 0o755))
    assert experiment.programs == {"two": Program(tmp_path / "two")}
    check_subjects(experiment, {"one": None})


@pytest.mark.parametrize(
    ("mode", "why"), [(None, "there is no program .*; build it first"), (0o644, "is not executable")]
)
def test_a_program_that_cannot_be_started_is_a_mistake(tmp_path: Path, mode: int | None, why: str) -> None:
    with pytest.raises(AssayError, match=rf"x\.toml:21: subjects\.two\.program: .*{why}"):
        load(with_program(tmp_path, mode))


@pytest.mark.parametrize(
    ("program", "why"),
    [
        ("x" * 300, r"there is no program .*\.\.\. \(File name too long\)"),
        (".", "is no file; name"),
        ("\\u0000", "holds a NUL"),
    ],
)
def test_a_program_that_can_be_none_is_a_mistake(tmp_path: Path, program: str, why: str) -> None:
    file = with_program(tmp_path, None)
    file.write_text(file.read_text().replace("./two", program))
    with pytest.raises(AssayError, match=rf"x\.toml:21: subjects\.two\.program: .*{why}"):
        load(file)


def test_a_program_may_not_take_the_name_of_a_subject(tmp_path: Path) -> None:
    experiment = load(with_program(tmp_path, 0o755))
    with pytest.raises(AssayError, match=r":20: subjects\.two: assay-trial has a subject of this name"):
        check_subjects(experiment, {"one": None, "two": None})


def test_a_file_that_is_missing_or_no_text_is_named(tmp_path: Path) -> None:
    with pytest.raises(AssayError, match=r"none\.toml: cannot be read: No such file"):
        load(tmp_path / "none.toml")
    for data, why in (
        (b"\xff\xfe", "is not UTF-8 text; save it as UTF-8"),
        (b"n\0a\0", "holds NUL bytes, so it is no text"),
        (b"#" * (2**20 + 1), "is larger than 1 MiB"),
    ):
        (tmp_path / "bad.toml").write_bytes(data)
        with pytest.raises(AssayError, match=rf"bad\.toml: {why}"):
            load(tmp_path / "bad.toml")
    with pytest.raises(AssayError, match="/dev/zero: is larger than 1 MiB"):
        load(Path("/dev/zero"))


def test_a_byte_order_mark_is_not_part_of_the_text(tmp_path: Path) -> None:
    (tmp_path / "x.toml").write_text(TEXT, encoding="utf-8-sig")
    assert load(tmp_path / "x.toml").source == TEXT


REFERENCE = Path(__file__).parents[3] / "docs" / "reference" / "experiment.md"


def test_the_example_of_the_reference_is_an_experiment() -> None:
    example = REFERENCE.read_text().split("```toml\n")[1].split("```")[0]
    assert len(parse(example, REFERENCE).conditions()) == 10


def test_the_reference_explains_every_key() -> None:
    text = REFERENCE.read_text()
    for table in (Settings, DesignTable, PerturbTable, ComparisonTable, SubjectTable):
        for key in table.model_fields:
            assert f"\n| `{key}` |" in text
    for key in Document.model_fields:
        assert f"\n| `{key}` |" in text or f"## `[{key}" in text
