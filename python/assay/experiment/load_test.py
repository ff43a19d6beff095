import os
import re
import tomllib
from pathlib import Path

import pytest

from assay.errors import AssayError
from assay.experiment import ComparisonDesign, Experiment, Level, load, parse
from assay.experiment.metrics import better
from assay.experiment.mistakes import validated
from assay.experiment.perturb import UNMOVED, Perturb
from assay.experiment.settings import Settings
from assay.experiment.types import Chart, Design, Extraction, Program, Validation

FILE = Path("experiments/x.toml")
PERTURBED_BY_DEFAULT = UNMOVED.altered(
    key_range=0.01, environment=4096, stack=4096, heap=16384, thread_order=True
)
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


def refused(text: str, mistake: str, file: Path = FILE) -> None:
    """Expect a mistake at `LINE KEY`; after a colon stands a word of its reason where others may be there."""
    place, _, reason = mistake.partition(": ")
    with pytest.raises(AssayError) as caught:
        parse(text, file)
    message = str(caught.value)
    line, key = place.split(" ", 1)
    assert message.startswith(f"{file}:{line}: {key}: ")
    assert reason in message.removeprefix(f"{file}:{line}: {key}: ")


def test_an_experiment_says_what_its_file_says() -> None:
    experiment = read()
    assert experiment.name == "x"
    assert experiment.question == "Which is faster?"
    assert experiment.factors == {
        "subject": ("one", "two"),
        "threads": (1, 2),
        "mix": ("searches", "updates"),
    }
    assert experiment.design.blocks == 12
    assert experiment.design.seed is None
    assert experiment.perturb == PERTURBED_BY_DEFAULT
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
        ("energy_j", "lower"),
        ("energy_delay2", "lower"),
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


def test_metrics_beside_the_compared_one_have_their_better_by_name_or_as_stated() -> None:
    named = read("percent = 3", 'percent = 3\nalso = ["prefill_ms", "size"]').comparison.also
    assert named == {"prefill_ms": "lower", "size": "higher"}
    stated = read("percent = 3", 'percent = 3\nalso = { size = "lower" }').comparison.also
    assert stated == {"size": "lower"}


def test_a_metric_whose_unit_is_time_or_memory_is_better_lower() -> None:
    rules = 'a = { line = "a", unit = "s" }\nb = { line = "b", unit = "MB/s" }'
    text = changed("percent = 3", 'percent = 3\nalso = ["a", "b", "work_per_s"]')
    program = '[subjects.{0}]\nprogram = "{0}"\n[subjects.{0}.extract]\n'
    experiment = parse(f"{text}{program.format('one')}{rules}\n{program.format('two')}{rules}\n", FILE)
    assert experiment.comparison.also == {"a": "lower", "b": "higher", "work_per_s": "higher"}
    assert [experiment.unit(metric) for metric in "abc"] == ["s", "MB/s", ""]


def test_workloads_and_the_correction_are_read() -> None:
    comparison = read("percent = 3", 'percent = 3\nacross = ["mix"]\ncorrection = "none"').comparison
    assert (comparison.across, comparison.correction) == ({"mix": {}}, "none")
    assert (read().comparison.across, read().comparison.correction) == ({}, "family")
    weighted = read("percent = 3", "percent = 3\nacross = { mix = { searches = 9, updates = 1.5 } }")
    assert weighted.comparison.across == {"mix": {"searches": 9, "updates": 1.5}}
    assert weighted.weight({"threads": 1, "mix": "updates"}) == 1.5


def test_a_gate_below_the_usual_smallest_effect_is_that_too() -> None:
    comparison = read("smallest_effect_percent = 3", "gate_percent = 2").comparison
    assert (comparison.gate_percent, comparison.smallest_effect_percent) == (2, 2)
    comparison = read("smallest_effect_percent = 3", "gate_percent = 5").comparison
    assert (comparison.gate_percent, comparison.smallest_effect_percent) == (5, 3)
    text = changed("percent = 3", "percent = 1\ngate_percent = 2")
    gated = parse(text.replace("blocks = 12", 'until = "gate"'), FILE)
    assert (gated.comparison.gate_percent, gated.comparison.smallest_effect_percent) == (2, 1)
    assert gated.design.altered(exclude=()) == Design(blocks=60, until="gate")


@pytest.mark.parametrize(
    ("written", "design"),
    [
        ("", Design(blocks=60, until="verdict", at_least=8)),
        ("at_least = 20", Design(blocks=60, until="verdict", at_least=20)),
        ("blocks = 20", Design(blocks=20)),
        ("blocks = 1", Design(blocks=1)),
        ('until = "verdict"', Design(blocks=60, until="verdict", at_least=8)),
        ('blocks = 6\nuntil = "verdict"\nat_least = 6', Design(blocks=6, until="verdict", at_least=6)),
        ("blocks = 100\nuntil_width_percent = 2", Design(blocks=100, until_width_percent=2, at_least=8)),
        ("blocks = 7\nminutes = 10", Design(blocks=7, minutes=10)),
        # A block takes 7 x (250 + 40) ms at least.
        ("minutes = 7", Design(blocks=207, minutes=7)),
        ('until = "verdict"\nminutes = 1', Design(blocks=60, minutes=1, until="verdict")),
        ("minutes = 0.001", Design(blocks=1, minutes=0.001)),
        ("minutes = 1_000_000", Design(blocks=200_000 // 7, minutes=1_000_000)),
    ],
)
def test_blocks_are_a_number_a_budget_of_time_or_as_many_as_it_takes(written: str, design: Design) -> None:
    assert read("blocks = 12", written).design.altered(exclude=()) == design


SMALLEST = """\
[factors]
subject = ["one", "two"]
[trial]
key_range = 100
mix = { find = 100 }
"""


def test_what_a_small_file_leaves_out_has_defaults() -> None:
    experiment = parse(SMALLEST, FILE)
    assert experiment.name == "x"
    assert experiment.question == "How does throughput differ by subject, compared with one?"
    assert experiment.comparison == ComparisonDesign(
        metric="throughput", factor="subject", baseline="one", smallest_effect_percent=3, better="higher"
    )
    assert experiment.design == Design(blocks=60, until="verdict", at_least=8)
    assert experiment.fixed["mix"] == {"insert": 0, "erase": 0, "find": 100}


def test_commands_are_compared_by_their_time_and_not_with_others_unless_a_metric_is_named() -> None:
    command = """
[factors]
subject = ["one", "two"]
[trial]
key_range = 100
mix = { find = 100 }
[subjects.one]
program = "sh"
protocol = false
"""
    refused(command, "1 comparison.metric: missing")
    both = parse(f'{command}[subjects.two]\nprogram = "sh"\nprotocol = false\n', FILE)
    assert (both.comparison.metric, both.comparison.better) == ("wall_ms", "lower")


def test_a_file_whose_name_cannot_be_the_experiments_needs_one_in_it() -> None:
    refused(SMALLEST, "1 name: missing", Path("My file.toml"))


@pytest.mark.parametrize(
    ("keys", "levels"),
    [
        (("20000", "2"), (20000, 2)),
        (('"0.5"', "1"), (0.5, 1)),
        (("-1", "0"), (-1, 0)),
        (("1", "many"), ("1", "many")),
        (("1", "1_000"), ("1", "1_000")),
        (("1", "007"), ("1", "007")),
    ],
)
def test_names_of_levels_that_are_all_numbers_are_numbers(
    keys: tuple[str, str], levels: tuple[Level, ...]
) -> None:
    table = "".join(f"{key} = {{ key_range = {number + 2} }}\n" for number, key in enumerate(keys))
    experiment = parse(f"{SMALLEST}[factors.size]\n{table}[comparison]\nfactor = 'size'\n", FILE)
    assert [repr(level) for level in experiment.factors["size"]] == [repr(level) for level in levels]
    assert experiment.comparison.baseline == levels[0]


@pytest.mark.parametrize("written", ["2", '"2"', "[2]", '["2"]'])
@pytest.mark.parametrize("factor", ["threads", "size"])
def test_a_level_is_matched_as_it_is_written(factor: str, written: str) -> None:
    levels = {"threads": "threads = [1, 2]", "size": "size = { 1 = {}, 2 = { batch = 1 } }"}[factor]
    text = SMALLEST.replace("[trial]", f"{levels}\n[trial]")
    text += f"[design]\nexclude = [{{ {factor} = {written} }}]\n[comparison]\nfactor = 'subject'\n"
    assert {condition[factor] for condition in parse(text, FILE).conditions()} == {1}


def test_only_conditions_that_a_rule_includes_are_run_less_those_excluded() -> None:
    included = "include = [{ threads = 1 }, { mix = 'searches', threads = [1, 2] }]\nexclude = [{"
    assert [tuple(condition.values()) for condition in read("exclude = [{", included).conditions()] == [
        (subject, *rest)
        for subject in ("one", "two")
        for rest in ((1, "searches"), (1, "updates"), (2, "searches"))
    ]


def test_each_of_many_levels_may_have_a_rule() -> None:
    """1,000 rules, 2,000 conditions: if each condition looked at each rule, this would take 15 s."""
    levels = range(1, 1_001)
    rules = ", ".join(f'{{ duration_ms = {level}, subject = "two" }}' for level in levels if level != 7)
    text = SMALLEST.replace("[trial]", f"duration_ms = {[*levels]}\n[trial]")
    text += f"[design]\nblocks = 2\nexclude = [{rules}]\n[comparison]\nfactor = 'subject'\n"
    experiment = parse(text, FILE)
    assert len(experiment.conditions()) == 1_001
    assert {"subject": "two", "duration_ms": 7} in experiment.conditions()


def test_groups_are_repeated_twice_unless_the_design_says_otherwise() -> None:
    assert read().design.repeat == 2
    assert read("blocks = 12", "blocks = 12\nrepeat = 0").design.repeat == 0


def test_a_baseline_may_have_stand_ins_for_where_it_is_not() -> None:
    text = changed('["one", "two"]', '["one", "two", "three"]')
    text = text.replace(
        '{ subject = "two", threads = 2, mix = ["updates"] }', '{ subject = "one", mix = "updates" }'
    )
    experiment = parse(text.replace('baseline = "one"', 'baseline = ["one", "two"]'), FILE)
    assert experiment.comparison.against() == "one or two"
    assert experiment.baseline_by_context() == {
        (threads, mix): "one" if mix == "searches" else "two"
        for threads in (1, 2)
        for mix in ("searches", "updates")
    }


def test_identical_code_is_compared_by_a_factor_that_changes_nothing() -> None:
    experiment = parse(TEXT, FILE, identical=True)
    assert experiment.identical
    assert experiment.source == TEXT
    assert experiment.factors["copy"] == ("a", "b")
    assert (experiment.comparison.factor, experiment.comparison.baseline) == ("copy", "a")
    assert len(experiment.conditions()) == 14
    for condition in experiment.conditions():
        other = "a" if condition["copy"] == "b" else "b"
        assert experiment.settings(condition) == experiment.settings(condition | {"copy": other})
        assert experiment.context(condition) == experiment.context(condition | {"copy": other})
    assert experiment.question == "Do two copies of the same code differ? Those of: Which is faster?"


def test_identical_code_needs_no_second_level_to_be_compared_with() -> None:
    text = changed('subject = ["one", "two"]', 'subject = ["one"]').replace('subject = "two", ', "")
    assert len(parse(text, FILE, identical=True).conditions()) == 6


def test_identical_code_of_several_factors_needs_no_factor_to_be_named() -> None:
    text = (
        "[trial]\nkey_range = 1000\nmix = { find = 100 }\n[factors]\nthreads = [1, 2]\nsubject = ['a', 'b']\n"
    )
    experiment = parse(text, FILE, identical=True)
    assert experiment.comparison.factor == "copy"
    assert len(experiment.conditions()) == 8


def test_a_mistake_has_the_files_own_line_where_the_caller_says_identical() -> None:
    with pytest.raises(AssayError, match=r"x\.toml:10: trial\.key_range: "):
        parse(changed("20_000", "0"), FILE, identical=True)


def test_parameters_are_those_of_the_trial_overridden_one_by_one() -> None:
    text = changed("duration_ms = 250", "parameters = { a = 1, b = 'x' }")
    text = text.replace(
        "[trial]", "[factors.v]\nplain = {}\nother = { parameters = { b = 'y', c = 0.5 } }\n[trial]"
    )
    experiment = parse(text, FILE)
    parameters = [experiment.settings({"v": level})["parameters"] for level in ("plain", "other")]
    assert parameters == [{"a": 1, "b": "x"}, {"a": 1, "b": "y", "c": 0.5}]


def test_validations_are_read() -> None:
    rules = (
        'is = "present"',
        'is = "positive"\nseverity = "note"',
        "equals = 3",
        "between = [1, 2.5]",
        'increases_with = "threads"',
        'decreases_with = "threads"\nseverity = "warning"',
    )
    text = TEXT + "".join(f'[[validate]]\nmetric = "size"\n{rule}\n' for rule in rules)
    assert [rule.given() for rule in parse(text, FILE).validations] == [
        {"metric": "size", "is": "present", "severity": "error"},
        {"metric": "size", "is": "positive", "severity": "note"},
        {"metric": "size", "equals": 3, "severity": "error"},
        {"metric": "size", "between": (1, 2.5), "severity": "error"},
        {"metric": "size", "increases_with": "threads", "severity": "error"},
        {"metric": "size", "decreases_with": "threads", "severity": "warning"},
    ]


def test_rules_about_texts_are_read() -> None:
    rules = ('equals = "success"', 'matches = "^ok"', 'is = "present"')
    text = TEXT + "".join(f'[[validate]]\ntext = "validate_result"\n{rule}\n' for rule in rules)
    assert [rule.given() for rule in parse(text, FILE).validations] == [
        {"text": "validate_result", "equals": "success", "severity": "error"},
        {"text": "validate_result", "matches": "^ok", "severity": "error"},
        {"text": "validate_result", "is": "present", "severity": "error"},
    ]


def test_charts_are_read() -> None:
    text = f"""{TEXT}
[[chart]]
kind = "lines"
x = "threads"
y = "throughput"
color = "subject"
facet = "mix"
filter = {{ mix = "updates", threads = [1, 2] }}
[[chart]]
kind = "lines"
title = "Mine"
x = "prefill_ms"
y = "throughput"
[[chart]]
kind = "cumulative"
x = "throughput"
facet = ["threads", "mix"]
"""
    charts = parse(text, FILE).charts
    assert [chart.heading for chart in charts] == [
        "throughput over threads",
        "Mine",
        "cumulative distribution of throughput",
    ]
    assert charts == (
        Chart(
            kind="lines",
            x="threads",
            y="throughput",
            color="subject",
            facet=("mix",),
            filter={"mix": ("updates",), "threads": (1, 2)},
        ),
        Chart(kind="lines", title="Mine", x="prefill_ms", y="throughput"),
        Chart(kind="cumulative", x="throughput", facet=("threads", "mix")),
    )


COMMAND = """\
name = "x"
question = "Is it quick?"
[factors]
threads = [1, 2]
[trial]
subject = "mine"
[design]
blocks = 8
[comparison]
metric = "wall_ms"
factor = "threads"
baseline = 1
smallest_effect_percent = 3
[subjects.mine]
program = "sh"
arguments = ["-c", "echo {threads} {seed}"]
build = "make"
"""


def test_a_command_needs_no_settings_of_a_map_and_has_none_by_default() -> None:
    experiment = parse(f"{COMMAND}protocol = false", FILE)
    assert experiment.settings({"threads": 2}) == {"subject": "mine", "threads": 2, "pinning": "none"}
    assert experiment.comparison.better == "lower"
    mine = experiment.programs["mine"]
    assert mine.path.is_absolute()
    assert mine.path.name == "sh"
    assert (mine.arguments, mine.build) == (("-c", "echo {threads} {seed}"), "make")
    assert mine.extraction == ()
    assert parse(f'{COMMAND}extract = "lines"', FILE).programs["mine"].extract == "lines"


def test_a_program_that_speaks_the_protocol_needs_them() -> None:
    refused(COMMAND, "5 trial: key_range")


def test_extraction_rules_are_patterns_or_lines_with_units() -> None:
    text = f"""{COMMAND}
[subjects.mine.extract]
a = 'a: (\\d+)'
b = {{ pattern = "b (.*)", unit = "ms" }}
c = {{ line = "C c" }}
d = {{ json = "/runs/0/a~1b", unit = "1/s" }}
"""
    assert parse(text, FILE).programs["mine"].extraction == (
        Extraction(metric="a", pattern=r"a: (\d+)"),
        Extraction(metric="b", pattern="b (.*)", unit="ms"),
        Extraction(metric="c", line="C c"),
        Extraction(metric="d", pointer="/runs/0/a~1b", unit="1/s"),
    )


def test_a_program_with_rules_need_not_say_that_it_does_not_speak_the_protocol() -> None:
    rules = '[subjects.mine.extract]\na = "(.*)"'
    assert parse(COMMAND + rules, FILE) == parse(f"{COMMAND}protocol = false\n{rules}", FILE).model_copy(
        update={"source": COMMAND + rules}
    )


SEVERAL = """\
[subjects.{0}]
program = "env"
arguments = ["{{subject}}"]
build = "make"
names = {1}
protocol = false
"""


def test_one_table_describes_a_program_of_several_subjects() -> None:
    text = COMMAND.replace('subject = "mine"', "").replace("threads", "subject", 1).replace("[1, 2]", "{}")
    text = text[: text.index("[subjects.mine]")].replace("{}", '["gzip", "xz"]').replace("= 1", '= "gzip"')
    text = text.replace('factor = "threads"', 'factor = "subject"') + SEVERAL.format(
        "tools", '["gzip", "xz"]'
    )
    experiment = parse(text, FILE)
    assert experiment.programs.keys() == experiment.subjects() == {"gzip", "xz"}
    assert experiment.programs["gzip"] == experiment.programs["xz"]
    refused(text.replace('["gzip", "xz"]', '["gzip", "tools"]', 1), "4 factors.subject: gzip and xz")


@pytest.mark.parametrize(
    ("metric", "also", "mistake"),
    [
        ("score", "[]", "10 comparison.metric: score"),
        ("wall_ms", '["user_ms", "score"]', "14 comparison.also: score"),
        ("wall_ms", '["ratio"]', "14 comparison.also: ratio"),
    ],
)
def test_of_a_metric_of_a_commands_own_nobody_guesses_which_values_are_better(
    metric: str, also: str, mistake: str
) -> None:
    text = COMMAND.replace('"wall_ms"', f'"{metric}"').replace("percent = 3", f"percent = 3\nalso = {also}")
    refused(f"{text}extract = {{ score = '(.*)', ratio = {{ line = 'a', unit = '%' }} }}", mistake)


def test_of_a_metric_of_a_commands_own_the_experiment_says_which_values_are_better() -> None:
    rules = "extract = { score = '(.*)', rate = { line = 'a', unit = 'MB/s' } }"
    text = COMMAND.replace('"wall_ms"', '"score"\nbetter = "lower"\nalso = ["rate", "runs_per_second"]')
    comparison = parse(text + rules, FILE).comparison
    assert comparison.better == "lower"
    assert comparison.also == {"rate": "higher", "runs_per_second": "higher"}


@pytest.mark.parametrize(
    ("metric", "unit", "way"),
    [
        ("m", "ns", "lower"),
        ("throughput", "ns per operation", "lower"),
        ("m", "us/op", "lower"),
        ("m", "ms/s", "lower"),
        ("m", "MiB", "lower"),
        ("m", "bytes per element", "lower"),
        ("m", "MB/s", "higher"),
        ("m", "operations per second", "higher"),
        ("m", "%", None),
        ("m", "", None),
        ("m", "sheep", None),
        ("latency_p99_ns", "", "lower"),
        ("peak_resident_bytes", "", "lower"),
        ("insert_throughput", "", "higher"),
        ("work_per_s", "", "higher"),
        ("requests_per_second", "", "higher"),
        ("seconds_per_operation", "", "lower"),
        ("columns", "", None),
    ],
)
def test_a_unit_or_a_name_says_which_values_are_better(metric: str, unit: str, way: str | None) -> None:
    assert better(metric, unit) == way


def test_the_budget_of_time_for_a_command_is_of_trials_that_take_no_time() -> None:
    text = f"{COMMAND}protocol = false".replace("blocks = 8", "minutes = 1")
    assert parse(text, FILE).design.blocks == 3000


def test_a_command_is_found_on_the_path_and_else_named(tmp_path: Path) -> None:
    file = tmp_path / "x.toml"
    text = f"{COMMAND}protocol = false".replace('build = "make"', "")
    file.write_text(text)
    assert load(file).programs["mine"].path.parent != tmp_path
    file.write_text(text.replace('"sh"', '"no_such_command"'))
    mistake = r"x\.toml:15: subjects\.mine\.program: .*no_such_command.*PATH"
    (tmp_path / "no_such_command").touch(0o755)
    with pytest.raises(AssayError, match=mistake):
        load(file)
    file.write_text(file.read_text() + '\nbuild = "true"')
    with pytest.raises(AssayError, match=mistake):
        load(file)
    file.write_text(text.replace('"sh"', '"./sh"'))
    with pytest.raises(AssayError, match=r":15: subjects\.mine\.program: "):
        load(file)


def test_a_program_that_is_yet_to_be_built_is_not_looked_for(tmp_path: Path) -> None:
    file = tmp_path / "x.toml"
    file.write_text(f"{COMMAND}protocol = false".replace('"sh"', '"./mine"'))
    assert load(file).programs["mine"].path == tmp_path / "mine"


MISTAKES = {
    # Not TOML, or not of the right shape.
    "threads = [1, 2]": [
        ("threads = [1, 2", "6 not TOML"),
        ("threads = [1, 0]", "5 factors.threads: too small"),
        ("threads = [\n1,\n-2]", "7 factors.threads: too small"),
        ("threads = []", "5 factors.threads: no levels"),
        ("threads = {}", "5 factors.threads: no levels"),
        ("threads = 1", "5 factors.threads: neither a list"),
        ("threads = [1, 2, 1]", "5 factors.threads: twice"),
        ("thread = [1, 2]", "5 factors.thread: mean threads"),
        ("variant = { a = 1 }", "5 factors.variant.a"),
        ("variant = { '' = {} }", '5 factors.variant.""'),
        ('"threads\\n" = [1, 2]', '5 factors."threads\\n"'),
        ('Threads = "x"', "5 factors.Threads"),
    ],
    'name = "x"': [('nam = "x"', "1 nam: mean name?"), ('name = "X y"', "1 name")],
    'question = "Which is faster?"': [
        ('question = ""', "2 question: empty"),
        ("question = 3", "2 question: 3"),
    ],
    "[factors]": [("identical = true\n[factors]", "3 identical")],
    "smallest_effect_percent = 3\n": [("smallest_effect_percent =", "19 not TOML")],
    # Settings that make no trial.
    "key_range = 20_000": [
        ("", "9 trial: key_range"),
        ("key_range = 2.5e4", "10 trial.key_range: whole"),
        ("key_range = 1", "10 trial.key_range: use 2"),
        ('keys = "thick"', "10 trial.keys"),
        ('pinning = "tight"', "10 trial.pinning"),
        ("pinning = [65536]", "10 trial.pinning"),
        ("key_range = 9\nthreads = 1", "11 trial.threads"),
    ],
    "duration_ms = 250": [
        ("duration = 250", "11 trial.duration: mean duration_ms?"),
        ("duration_ms = 0", "11 trial.duration_ms"),
        ("timeout_s = 0", "11 trial.timeout_s: small"),
        ("timeout_s = nan", "11 trial.timeout_s: finite"),
        ("warm_up_ms = -1", "11 trial.warm_up_ms"),
        ("parameters = { a = true }", "11 trial.parameters.a"),
        ("parameters = { a = inf }", "11 trial.parameters.a"),
        (f"parameters = {{ a = {2**53 + 1} }}", "11 trial.parameters.a"),
        ("parameters = { A = 1 }", "11 trial.parameters.A"),
        ("parameters = { seed = 1 }", "11 trial.parameters.seed"),
        ("parameters = { mix = 1 }", "11 trial.parameters.mix"),
    ],
    "{ insert = 5,": [
        ("{ insert = 6,", "7 factors.mix.searches: 101"),
        ("{", "7 factors.mix.searches: 95"),
    ],
    "[factors.mix]": [
        ("[factors.v]\na = { thread = 1 }\n[factors.mix]", "7 factors.v.a.thread"),
        ("[factors.v]\na = { threads = 1 }\n[factors.mix]", "7 factors.v.a.threads"),
        (
            "[factors.v]\na.parameters.p = 1\n[factors.w]\na.parameters.p = 1\n[factors.mix]",
            "9 factors.w.a.parameters.p: v too",
        ),
    ],
    # Comparison.
    'factor = "subject"': [
        ('factor = "sbject"', "17 comparison.factor: mean subject?"),
        ("", "15 comparison.factor: missing"),
    ],
    'baseline = "one"': [
        ('baseline = "ona"', "18 comparison.baseline: mean one?"),
        ("gate_percent = 5", "18 comparison.gate_percent: needs a baseline"),
        ("baseline = []", "18 comparison.baseline: empty"),
        ('baseline = ["one", "one"]', "18 comparison.baseline: twice"),
        ('baseline = ["one", "two"]\nacross = ["mix"]', "19 comparison.across: one baseline"),
    ],
    'subject = ["one", "two"]': [('subject = ["one"]', "4 factors.subject: two levels")],
    "percent = 3": [
        ("percent = 0", "19 comparison.smallest_effect_percent: small"),
        ("percent = 101", "19 comparison.smallest_effect_percent: large"),
        ("percent = 3\nperturb = 3", "20 comparison.perturb"),
        ('percent = 3\nalso = ["size", "size"]', "20 comparison.also: size"),
        ('percent = 3\nalso = ["throughput"]', "20 comparison.also: throughput"),
        ('percent = 3\nalso = ["Size"]', '20 comparison.also: "Size"'),
        ('percent = 3\nalso = { size = "low" }', "20 comparison.also.size"),
        ('percent = 3\nacross = ["mx"]', "20 comparison.across: mean mix?"),
        ('percent = 3\nacross = ["subject"]', "20 comparison.across: subject"),
        ('percent = 3\nacross = ["mix", "mix"]', "20 comparison.across: twice"),
        ("percent = 3\nacross = { mix = { searches = 1 } }", "20 comparison.across.mix: updates"),
        (
            "percent = 3\nacross = { mix = { searches = 1, update = 0.5, updates = 1 } }",
            "20 comparison.across.mix.update",
        ),
        ("percent = 3\nacross = { mix = { searches = 1, updates = 0 } }", "20 comparison.across.mix.updates"),
        ('percent = 3\ncorrection = "bonferroni"', "20 comparison.correction"),
        ("percent = 3\nsmallest_effect = 1", "20 comparison.smallest_effect: percent"),
        ("percent = 3\npathological = 0", "20 comparison.pathological: more than 0"),
        ("percent = 3\ngate_percent = 0", "20 comparison.gate_percent: small"),
        ("percent = 3\ngate_percent = 2", "20 comparison.gate_percent: larger gate or a smaller effect"),
        ("percent = 3\npathological = 1", "20 comparison.pathological: less than 1"),
    ],
    # Design and perturbation.
    "[design]": [
        ("[design.x]\n[design]", "12 design.x"),
        ("[perturb]\nkey_range = 51\n[design]", "13 perturb.key_range: above 0 and at most 1, not 51"),
        ("[perturb]\nkey_range = 0\n[design]", "13 perturb.key_range: write false"),
        ("[perturb]\nduration_ms = 0\n[design]", "13 perturb.duration_ms: leave it out"),
        ("[perturb]\nkeyrange = 0.1\n[design]", "13 perturb.keyrange: key_range?"),
        ("[perturb]\nthreads = 0.1\n[design]", "13 perturb.threads: make it a factor"),
        ("[perturb]\nbatch = 0.1\n[design]", "13 perturb.batch: no condition has it"),
        ("[perturb]\narrivals.rate = 0.1\n[design]", "13 perturb.arrivals.rate: no condition has it"),
        ("[perturb]\narrivals.rte = 0.1\n[design]", "13 perturb.arrivals.rte: rate?"),
        ("[perturb]\nparameters.x = 0.1\n[design]", "13 perturb.parameters.x: no condition has it"),
        (
            "[perturb]\nparameters.x = { a = 1, b = 1 }\n[factors.n]\nlow.parameters.x = 1\n[design]",
            "13 perturb.parameters.x: the factor n sets it",
        ),
        (
            "[perturb]\nparameters.x = { a = 1, b = 1 }\n[trial.parameters]\nx = 1\n[design]",
            "13 perturb.parameters.x.a: is not a number",
        ),
        (
            "[perturb]\nkeys = { dense = 1, sparse = 1 }\n[factors.keys]\none = 'dense'\n[design]",
            "13 perturb.keys",
        ),
        ("[perturb]\nallocator = { glibc = 1 }\n[design]", "13 perturb.allocator: two at least"),
        ("[perturb]\nallocator = { glibc = 1, tcmalloc = 1 }\n[design]", "13 perturb.allocator.tcmalloc"),
        ("[perturb]\nstack = 17\n[design]", "13 perturb.stack: multiple of 16"),
        ("[perturb]\nheap = 0\n[design]", "13 perturb.heap: or false"),
        ("[perturb]\naddress_space = 'fast'\n[design]", "13 perturb.address_space"),
        ("[perturb]\nlayout = 1\n[design]", "13 perturb.layout"),
        ("[perturb]\nuniform.batch = 0\n[design]", "13 perturb.uniform: numbers above 0"),
        ("[perturb]\nuniform.batch = 3\n[design]", "13 perturb.uniform.batch: no condition has it"),
        ("[perturb]\nuniform.threads = 3\n[design]", "13 perturb.uniform.threads: leave it out"),
        (
            "[perturb]\nkey_range = 0.1\nuniform.key_range = 3\n[design]",
            "14 perturb.uniform.key_range: leave one of the two out",
        ),
        ("[perturb]\nmultiple_of.mix = 3\n[design]", "13 perturb.multiple_of.mix: not moved"),
        (
            "[perturb]\nmultiple_of.key_range = 1e9\n[design]",
            "13 perturb.multiple_of.key_range: smaller step",
        ),
        ("[perturb]\nlayouts = true\n[design]", "13 perturb.layouts: mean layout?"),
    ],
    "blocks = 12": [
        ("blocks = true", "13 design.blocks: true"),
        ("blocks = {}", "13 design.blocks: not a table"),
        (
            "blocks = { minutes = 1, at_most = 5 }",
            '13 design.blocks: write minutes = 1 beside it; remove "at_most"',
        ),
        ("blocks = 0", "13 design.blocks: 0"),
        ("blocks = 12\nblocks = 3", "14 not TOML: twice"),
        (f"blocks = {'9' * 5000}", "13 not TOML: digits"),
        ("bloks = 12", "13 design.bloks: mean blocks?"),
        ("minute = 1", "13 design.minute"),
        ("minutes = 0", "13 design.minutes"),
        ('until_width_percent = 1\nuntil = "verdict"', "12 design: one of until"),
        ("minutes = 1\nat_least = 9", "12 design: at_least"),
        ('until = "verdict"\nblocks = 5', "14 design.blocks: by default 8; give more blocks"),
        ("blocks = 12\nat_least = 9", "12 design: at_least"),
        ('blocks = 8\nuntil = "verdict"\nat_least = 9', "12 design: blocks 8"),
        ("until_width_percent = 2\nat_least = 61", "12 design: blocks 60"),
        ("at_least = 5\nuntil_width_percent = 2", "13 design.at_least"),
        ('until = "bored"', "13 design.until"),
        ('until = "gate"', "13 design.until: give one, such as gate_percent"),
        ("blocks = 12\nrepeat = 6", "14 design.repeat"),
        ("seed = -1\nblocks = 1", "13 design.seed"),
        ("blocks = 50_000", "3 factors: 50,000"),
    ],
    'exclude = [{ subject = "two", threads = 2, mix = ["updates"] }]': [
        ("exclude = [{ sub = 1 }]", "14 design.exclude.sub: mean subject?"),
        ('exclude = [{ subject = "twi" }]', "14 design.exclude.subject: mean two?"),
        ("exclude = [{ threads = true }]", "14 design.exclude.threads: true"),
        ('exclude = [{ threads = "2.0" }]', '14 design.exclude.threads: "2.0"'),
        ("exclude = [{ threads = [] }]", "14 design.exclude.threads: empty"),
        ("exclude = [{}]", "14 design.exclude: empty"),
        ('exclude = [{ subject = ["one", "two"] }]', "14 design.exclude: no condition"),
        ('exclude = [{ subject = "two" }]', '14 design.exclude: compare with the baseline "one"'),
        (
            'exclude = [{ subject = "one", threads = 2 }]',
            '14 design.exclude: leaves out the baseline, subject = "one"',
        ),
        ("include = [{ subject = 'three' }]", "14 design.include.subject"),
        ("include = [{}]", "14 design.include: empty"),
        ("include = [{ subject = 'one' }]", "14 design.include: compare with"),
        ("include = [{ threads = 1 }]\nexclude = [{ subject = 'two' }]", "15 design.exclude: compare with"),
        ("include = [{ subject = 'one' }]\nexclude = [{ threads = 2 }]", "14 design.include: compare with"),
    ],
}


@pytest.mark.parametrize(
    ("old", "new", "mistake"), [(old, *case) for old, cases in MISTAKES.items() for case in cases]
)
def test_a_mistake_is_named_with_file_line_key_and_remedy(old: str, new: str, mistake: str) -> None:
    refused(changed(old, new), mistake)


def test_a_single_factor_without_its_baseline_has_no_place_to_name(tmp_path: Path) -> None:
    text = '[factors]\nsubject = ["one", "two", "three"]\n[trial]\nkey_range = 9\nmix = { find = 100 }\n'
    with pytest.raises(AssayError, match=r'design\.include: .*baseline, subject = "one"'):
        parse(f'{text}[design]\ninclude = [{{ subject = ["two", "three"] }}]\n', tmp_path / "x.toml")


PROGRAM = '[subjects.two]\nprogram = "two"\n'
RULES = f"{PROGRAM}[subjects.two.extract]\n"
OTHER = RULES.replace("two", "one")
IN_MS = 'm = { line = "m", unit = "ms" }'
SIZE = '[[validate]]\nmetric = "size"\n'
LINES = '[[chart]]\nkind = "lines"\n'
CUMULATIVE = '[[chart]]\nkind = "cumulative"\nx = "size"\n'


@pytest.mark.parametrize(
    ("text", "mistake"),
    [
        # Programs of one's own.
        (f'{PROGRAM}extract = "line"', "22 subjects.two.extract: line"),
        (f"{PROGRAM}extract = 1", "22 subjects.two.extract: 1"),
        (f"{PROGRAM}extract = {{}}", "22 subjects.two.extract: empty"),
        (f'{PROGRAM}extract = "lines"\nprotocol = true', "23 subjects.two.protocol"),
        (f'{PROGRAM}arguments = "-n"', "22 subjects.two.arguments: list"),
        (f'{PROGRAM}arguments = ["\\u0000"]', "22 subjects.two.arguments: NUL"),
        (f'{PROGRAM}arguments = ["-n",\n"{{thread}}"]', "23 subjects.two.arguments: mean threads?"),
        (f'{PROGRAM}arguments = ["{{timeout_s}}"]', "22 subjects.two.arguments: no value"),
        (f"{PROGRAM}arguments = ['{{ print $1 }}']", "22 subjects.two.arguments: placeholder"),
        (f'{PROGRAM}arguments = ["{{threads"]', "22 subjects.two.arguments: closed"),
        (f'{PROGRAM}arguments = ["{{linked}}"]', "22 subjects.two.arguments: give this program one"),
        (
            f'{PROGRAM}link = "ld -o {{output}} {{layout}}"\narguments = ["{{linked}}"]',
            "23 subjects.two.arguments: layout = true",
        ),
        (f'{PROGRAM}link = "ld -o a {{layout}}"', "22 subjects.two.link: {output}"),
        (f'{PROGRAM}link = "ld -o {{output}}"', "22 subjects.two.link: {layout}"),
        (f'{PROGRAM}link = "ld {{output}} {{layout}} {{seed}}"', '22 subjects.two.link: "{seed}" is neither'),
        (f"{PROGRAM}link = 'ld {{output}} {{layout}} ${{'", "22 subjects.two.link: closed"),
        (f"{PROGRAM}link = 1", "22 subjects.two.link"),
        (f'{RULES}m = "("', "23 subjects.two.extract.m: expression"),
        (f'{RULES}m = "a{{99999999999}}"', "23 subjects.two.extract.m: expression"),
        (f'{RULES}m = "time"', "23 subjects.two.extract.m: 0 groups"),
        (f'{RULES}m = {{ pattern = "(a)(b)" }}', "23 subjects.two.extract.m.pattern: 2 groups"),
        (f'{RULES}m = {{ unit = "s" }}', "23 subjects.two.extract.m: one of"),
        (f'{RULES}m = {{ pattern = "(a)", line = "a" }}', "23 subjects.two.extract.m: one of"),
        (f'{RULES}m = {{ json = "/a", line = "a" }}', "23 subjects.two.extract.m: one of"),
        (f'{RULES}m = {{ json = "$.a" }}', "23 subjects.two.extract.m.json"),
        (f'{RULES}"M m" = "(a)"', '23 subjects.two.extract."M m"'),
        (f'{RULES}wall_ms = "(a)"', "23 subjects.two.extract.wall_ms"),
        (f"{PROGRAM}names = []", "22 subjects.two.names: few"),
        (f'{PROGRAM}names = [\n"a", "a"]', "23 subjects.two.names: already"),
        (f'[subjects.a]\nprogram = "a"\nnames = ["two"]\n{PROGRAM}', "23 subjects.two"),
        # Units in which the compared values would differ.
        (f'{OTHER}m = {{ line = "m", unit = "s" }}\n{RULES}{IN_MS}', '27 subjects.two.extract.m: "s" in'),
        (f'{OTHER}m = "(a)"\n{RULES}{IN_MS}', "27 subjects.two.extract.m: no unit in"),
        (f'{RULES}throughput = {{ line = "m", unit = "1/s" }}', "23 subjects.two.extract.throughput: one"),
        (
            f'[subjects.one]\nprogram = "one"\nextract = "lines"\n{RULES}'
            'throughput = { pattern = "(m)", unit = "1/s" }',
            "26 subjects.two.extract.throughput: one",
        ),
        # A program that is not measured.
        (
            '[subjects.other]\nprogram = "other"\narguments = ["{thread}"]',
            "22 subjects.other.arguments: threads?",
        ),
        ('[subjects.other]\nprogram = "other"\narguments = ["{"]', "22 subjects.other.arguments: closed"),
        # Validations.
        (SIZE, "20 validate: one of"),
        (f'{SIZE}is = "present"\nequals = 1', "20 validate: one of"),
        (f'{SIZE}is = "big"', "22 validate.is"),
        (f'{SIZE}is_ = "big"', "22 validate.is_"),
        (f"{SIZE}equals = nan", "22 validate.equals"),
        (f"{SIZE}between = [2, 1]", "20 validate: lowest"),
        (f'{SIZE}equals = "3"', "20 validate: equals is a number"),
        (f'{SIZE}matches = "3"', "20 validate: one of"),
        ('[[validate]]\nis = "present"', "20 validate: metric"),
        (f'{SIZE}text = "size"\nis = "present"', "20 validate: metric"),
        ('[[validate]]\ntext = "size"\nequals = 3', "20 validate: equals is a number"),
        ('[[validate]]\ntext = "size"\nbetween = [1, 2]', "20 validate: one of"),
        ('[[validate]]\ntext = "size"\nis = "positive"', "20 validate: positive"),
        ('[[validate]]\ntext = "size"\nmatches = "("', "22 validate.matches: regular"),
        (f'[[validate]]\ntext = "size"\nmatches = "a{{{10**20}}}"', "22 validate.matches: regular"),
        (f"{SIZE}between = [2]", "22 validate.between: few"),
        (f"{SIZE}between = [1, 2, 3]", "22 validate.between: many"),
        (f'{SIZE}increases_with = "thread"', "22 validate.increases_with"),
        (f'{SIZE}is = "present"\n{SIZE}is = "present"\nseverity = "bad"', "26 validate.severity"),
        # Charts.
        ('[[chart]]\nkind = "pie"\nx = "size"', "21 chart.kind"),
        (f'{LINES}x = "threads"', "20 chart: y"),
        (f'{LINES}x = "Threads"\ny = "size"', "22 chart.x: mean threads?"),
        ('[[chart]]\nkind = "box"\nx = "thread"\ny = "size"', "22 chart.x: mean threads?"),
        ('[[chart]]\nkind = "bars"\nx = "mix"\ny = "threads"', "23 chart.y: metric"),
        (f'{CUMULATIVE}y = "size"', "23 chart.y: no y"),
        (f'{CUMULATIVE}color = "sbject"', "23 chart.color: mean subject?"),
        (f'{CUMULATIVE}facet = "size"', "23 chart.facet: size"),
        (f'{CUMULATIVE}facet = ["mix", "size"]', "23 chart.facet: size"),
        (f'{CUMULATIVE}facet = ["mix", "mix"]', "23 chart.facet: mix is named twice"),
        (f'{CUMULATIVE}facet = ["mix", "threads", "subject"]', "23 chart.facet"),
        (f"{CUMULATIVE}filter = {{ thread = 1 }}", "23 chart.filter.thread"),
        (f"{CUMULATIVE}filter = {{ threads = 3 }}", "23 chart.filter.threads"),
    ],
)
def test_a_mistake_in_what_follows_is_named_too(text: str, mistake: str) -> None:
    refused(TEXT + text, mistake)


def test_a_metric_that_is_not_compared_or_a_program_that_is_not_measured_may_have_any_unit() -> None:
    rule = '{ line = "m", unit = "1/s" }'
    parse(f"{TEXT}{PROGRAM}extract = {{ rate = {rule} }}", FILE)
    parse(f"{TEXT}{PROGRAM.replace('two', 'three')}extract = {{ throughput = {rule} }}", FILE)


def test_a_program_that_is_not_measured_may_name_every_setting_and_parameter() -> None:
    text = changed("duration_ms = 250", "parameters = { a = 1 }").replace(
        "[factors.mix]", "[factors.f]\nf = { parameters = { b = 1 } }\n[factors.mix]"
    )
    parse(f'{text}{PROGRAM.replace("two", "three")}arguments = ["{{timeout_s}} {{seed}} {{a}} {{b}}"]', FILE)


def test_mistakes_of_one_kind_are_all_named() -> None:
    with pytest.raises(AssayError) as caught:
        read("key_range = 20_000\nduration_ms = 250", "key_range = 0\nduration_ms = 0")
    message = str(caught.value)
    assert re.findall(r"^\S+:(\d+: \S+): ", message, re.MULTILINE) == [
        "10: trial.key_range",
        "11: trial.duration_ms",
    ]


@pytest.mark.parametrize(
    "deep",
    [
        f"a = {'[' * 3000}{']' * 3000}",
        f"a = {'{ a = ' * 1500}1{' }' * 1500}",
        f"{'.'.join('a' * 100_000)} = 1",  # by tomllib alone it would take gigabytes
    ],
)
def test_a_text_that_is_nested_too_deeply_is_refused(deep: str) -> None:
    with pytest.raises(AssayError, match=r"x\.toml:.*(nested too deeply|unknown key)"):
        read("key_range = 20_000", deep)


def test_factors_without_end_are_refused_with_their_number() -> None:
    factors = "".join(f"[factors.f{number}]\na = {{}}\nb = {{}}\n" for number in range(40))
    with pytest.raises(AssayError, match=r"8,796,093,022,208 combinations"):
        read("[trial]", f"{factors}[trial]")


def with_program(folder: Path, mode: int | None) -> Path:
    file = folder / "x.toml"
    file.write_text(TEXT + '[subjects.two]\nprogram = "./two"\n')
    if mode is not None:
        (folder / "two").touch(mode)
    return file


def test_a_program_is_found_beside_the_experiments_file(tmp_path: Path) -> None:
    experiment = load(with_program(tmp_path, 0o755))
    assert experiment.programs == {"two": Program(table="two", program=str(tmp_path / "two"))}


@pytest.mark.parametrize(("mode", "why"), [(None, "no program"), (0o644, "executable")])
def test_a_program_that_cannot_be_started_is_a_mistake(tmp_path: Path, mode: int | None, why: str) -> None:
    with pytest.raises(AssayError, match=rf"x\.toml:21: subjects\.two\.program: .*{why}"):
        load(with_program(tmp_path, mode))


@pytest.mark.parametrize(
    ("program", "why"),
    [
        ("x" * 300, r"\.\.\. \(File name too long\)"),
        (".", "file"),
        ("\\u0000", "NUL"),
    ],
)
def test_a_program_that_can_be_none_is_a_mistake(tmp_path: Path, program: str, why: str) -> None:
    file = with_program(tmp_path, None)
    file.write_text(file.read_text().replace("./two", program))
    with pytest.raises(AssayError, match=rf"x\.toml:21: subjects\.two\.program: .*{why}"):
        load(file)


def test_a_file_that_is_missing_or_no_text_is_named(tmp_path: Path) -> None:
    with pytest.raises(AssayError, match=r"none\.toml: .*No such file"):
        load(tmp_path / "none.toml")
    for data, why in (
        (b"\xff\xfe", "UTF-8"),
        (b"n\0a\0", "NUL"),
        (b"#" * (2**20 + 1), "1 MiB"),
    ):
        (tmp_path / "bad.toml").write_bytes(data)
        with pytest.raises(AssayError, match=rf"bad\.toml: .*{why}"):
            load(tmp_path / "bad.toml")
    os.mkfifo(tmp_path / "pipe")
    for none in (Path("/dev/zero"), tmp_path, tmp_path / "pipe"):
        with pytest.raises(AssayError, match=f"{none}: .*regular file"):
            load(none)


def test_a_byte_order_mark_is_not_part_of_the_text(tmp_path: Path) -> None:
    (tmp_path / "x.toml").write_text(TEXT, encoding="utf-8-sig")
    assert load(tmp_path / "x.toml").source == TEXT


REFERENCE = Path(__file__).parents[3] / "docs" / "reference" / "experiment.md"


def test_the_complete_files_of_the_reference_are_experiments() -> None:
    files = re.findall(r"^```toml\n(name = .*?)^```", REFERENCE.read_text(), re.DOTALL | re.MULTILINE)
    assert [len(parse(text, REFERENCE).conditions()) for text in files] == [10, 2]


def test_every_other_example_of_the_reference_may_stand_in_a_file() -> None:
    parts = re.findall(r"^```toml\n(?!name = )(.*?)^```", REFERENCE.read_text(), re.DOTALL | re.MULTILINE)
    assert len(parts) > 5
    for part in parts:
        validated(Experiment, tomllib.loads(TEXT) | tomllib.loads(part))


def test_the_reference_explains_every_key() -> None:
    text = REFERENCE.read_text()
    for table in (
        *(Settings, Design, Perturb, ComparisonDesign),
        *(Program, Extraction, Validation, Chart),
    ):
        for key in table.known_keys():
            assert f"\n| `{key}` |" in text, key
    for key in Experiment.known_keys():
        assert f"\n| `{key}` |" in text or f"## `[{key}" in text or f"## `[[{key}" in text, key


def test_an_empty_file_lacks_factors() -> None:
    refused("", "1 factors: is missing")


def test_a_mix_without_operations_is_told_as_such() -> None:
    refused(
        changed("updates = { insert = 50, erase = 50, find = 0 }", "updates = {}"),
        "8 factors.mix.updates: no operation",
    )


def test_what_a_subject_that_nobody_describes_lacks_is_told_with_near_names() -> None:
    text = (
        changed("key_range = 20_000\n", "")
        + '[subjects.q]\nprogram = "x"\nnames = ["ones"]\nprotocol = false\n'
    )
    refused(text, "9 trial: did you mean ones?")


def test_the_better_of_a_rule_belongs_in_the_comparison() -> None:
    rule = '[subjects.one]\nprogram = "x"\nextract = {{ score = {{ {} }} }}\n'
    refused(
        TEXT + rule.format('line = "A", better = "lower"'),
        "22 subjects.one.extract.score.better: [comparison]",
    )
    refused(TEXT + rule.format('unit = "ms"'), "22 subjects.one.extract.score: nowhere")
    refused(TEXT + rule.format('line = "A", json = "/a"'), "22 subjects.one.extract.score: several")
