"""An experiment is checked against what subjects offer, engines there are, and memory."""

import re
from collections.abc import Collection, Mapping
from dataclasses import replace
from pathlib import Path

import pytest

from assay.errors import AssayError
from assay.experiment import EngineOffer, Experiment, Machine, SubjectOffer, check, parse

FILE = Path("x.toml")
TEXT = """\
name = "x"
question = "Which is faster?"
[factors]
subject = ["one", "two"]
[design]
blocks = 12
[comparison]
metric = "throughput"
factor = "subject"
baseline = "one"
smallest_effect_percent = 3
[trial]
key_range = 100
"""  # further settings begin on line 14
FIND = "mix = { insert = 5, erase = 5, find = 90 }\n"
RANGE = "mix = { insert = 0, erase = 0, find = 50, range = 50 }\n"
WITH_RANGE = SubjectOffer(operations=frozenset({"insert", "erase", "find", "range"}))
WITH_STRINGS = SubjectOffer(types=frozenset({("uint64", "uint64"), ("bytes", "uint64")}))


BOTH = dict.fromkeys(("one", "two"), SubjectOffer())
ENGINES = {
    "xoshiro256pp": EngineOffer(256, available=True),
    "rdrand": EngineOffer(0, available=True),
    "other": EngineOffer(64, available=False),
    "c_rand": EngineOffer(992, available=True, shared=True),
}


def read(more: str) -> Experiment:
    return parse(TEXT + more, FILE)


def check_with(
    experiment: Experiment,
    subjects: Mapping[str, SubjectOffer] | None = None,
    *,
    engines: Mapping[str, EngineOffer] = ENGINES,
    processors: Collection[int] = (0, 1),
    memory_limit_mb: int = 1000,
) -> None:
    """Check an experiment against a made-up machine, by default with the subjects that it does not define."""
    if subjects is None:
        subjects = {name: BOTH[name] for name in BOTH.keys() - experiment.programs.keys()}
    check(experiment, Machine(subjects, engines, frozenset(processors), memory_limit_mb))


@pytest.mark.parametrize(
    ("more", "two", "message"),
    [
        (
            RANGE,
            SubjectOffer(),
            ":14: trial.mix: two",
        ),
        (
            FIND.replace("90 }", "80, lower_bound = 10 }"),
            SubjectOffer(operations=frozenset({"insert", "erase", "find", "size", "update"})),
            ":14: trial.mix: one has no lower_bound",
        ),
        (
            f'[[trial.roles]]\nname = "a"\nthreads = 1\n{RANGE}',
            SubjectOffer(),
            ":14: trial.roles: two",
        ),
        (
            f"{FIND}key_type = {{ bytes = 16 }}",
            SubjectOffer(),
            ":15: trial.key_type: two",
        ),
        (
            f'{FIND}value_type = "uint32"',
            WITH_STRINGS,
            ":15: trial.value_type: two",
        ),
        (
            f'{FIND}[[trial.roles]]\nname = "a"\nthreads = 2\n',
            SubjectOffer(max_threads=1),
            ":15: trial.roles: two",
        ),
        (
            f'{FIND}keys = "sparse"',
            SubjectOffer(structure="queue"),
            ":15: trial.keys: two",
        ),
        (
            f"{FIND}value_type = {{ uint64 = {{ from = 0, to = 9 }} }}",
            SubjectOffer(structure="multimap"),
            ":15: trial.value_type: two is a multimap",
        ),
    ],
)
def test_what_a_subject_does_not_offer_is_a_mistake(more: str, two: SubjectOffer, message: str) -> None:
    everything = SubjectOffer(
        types=frozenset((key, value) for key in ("uint64", "bytes") for value in ("uint64", "uint32")),
        operations=WITH_RANGE.operations,
    )
    with pytest.raises(AssayError, match=re.escape(f"x.toml{message}")):
        check_with(read(more), {"one": everything, "two": two})


THREADS = ("[design]", "threads = [1, 2]\n[design]")


@pytest.mark.parametrize(
    ("subjects", "message"),
    [
        (
            {"one": SubjectOffer(), "too": SubjectOffer()},
            ':4: factors.subject: .*"two"',
        ),
        (
            {"one": SubjectOffer(), "two": SubjectOffer(max_threads=1)},
            ":5: factors.threads: two .* 2 threads",
        ),
    ],
)
def test_subjects_must_exist_and_stay_within_their_threads(
    subjects: Mapping[str, SubjectOffer], message: str
) -> None:
    with pytest.raises(AssayError, match=f"{FILE}{message}"):
        check_with(parse(TEXT.replace(*THREADS) + FIND, FILE), subjects)


@pytest.mark.parametrize(
    ("table", "words"),
    [
        ("tow", "tow"),
        ("mine", "mine, which no condition uses"),
    ],
)
def test_a_subject_that_no_condition_uses_may_be_meant(table: str, words: str) -> None:
    experiment = read(f'{FIND}[subjects.{table}]\nprogram = "/bin/true"\n')
    with pytest.raises(AssayError, match=rf'factors\.subject: .*"two"; .* {words}\?$'):
        check_with(experiment, {"one": SubjectOffer()})


def test_the_remedy_for_too_many_threads_is_one() -> None:
    text, subjects = TEXT.replace(*THREADS) + FIND, BOTH | {"two": SubjectOffer(max_threads=1)}
    with pytest.raises(AssayError) as caught:
        check_with(parse(text, FILE), subjects)
    rule = str(caught.value).rpartition("[design] ")[2]
    check_with(parse(text.replace("blocks = 12", f"blocks = 12\n{rule}"), FILE), subjects)


def test_a_subject_of_ours_knows_no_parameters() -> None:
    why = ":15: trial.parameters: one"
    with pytest.raises(AssayError, match=re.escape(f"{FILE}{why}")):
        check_with(read(f"{FIND}parameters = {{ a = 1 }}"))


def test_processors_must_be_there() -> None:
    text = TEXT.replace("[design]", 'pinning = ["none", [1, 0],\n[9]]\n[design]')
    experiment = parse(f"{text}{FIND}threads = 2".replace("[9]", "[9, 0]"), FILE)
    check_with(experiment, processors={0, 1, 9})
    with pytest.raises(AssayError, match=r":6: factors\.pinning: .* 9 "):
        check_with(experiment, processors={8, 0, 1, 2, 3})


def test_a_program_may_not_take_the_name_of_a_subject() -> None:
    with pytest.raises(AssayError, match=r":15: subjects\.two: "):
        check_with(read(OWN), BOTH)


def test_what_subjects_offer_may_be_asked_of_them() -> None:
    check_with(read(RANGE), {"one": WITH_RANGE, "two": WITH_RANGE})
    check_with(read(f"{FIND}key_type = {{ bytes = 8 }}"), {"one": WITH_STRINGS, "two": WITH_STRINGS})
    check_with(read(FIND.replace("90 }", "90, range = 0 }")), {"one": SubjectOffer(), "two": SubjectOffer()})


def test_a_mistake_that_no_rule_can_leave_out_has_another_remedy() -> None:
    text = TEXT.replace('subject = ["one", "two"]', "key_range = [50, 100]").replace("key_range = 100\n", "")
    text = text.replace('"subject"', '"key_range"').replace('"one"', "50")
    with pytest.raises(AssayError, match=r":14: trial\.mix: one .*range; .*another subject"):
        check_with(parse(f'{text}subject = "one"\n{RANGE}', FILE), {"one": SubjectOffer()})


MAP, MULTIMAP, QUEUE = SubjectOffer(), SubjectOffer(structure="multimap"), SubjectOffer(structure="queue")
WORKLOADS = """
[factors.workload]
a = { mix = { insert = 20, erase = 20, find = 60 } }
b = { mix = { insert = 50, erase = 50, find = 0 } }
"""
OWN = f'{FIND}[subjects.two]\nprogram = "/bin/true"\n'


@pytest.mark.parametrize(
    ("first", "second", "structure"),
    [
        (MAP, MULTIMAP, "multimap"),
        (QUEUE, MAP, "queue"),
    ],
)
def test_subjects_of_different_structure_are_not_compared(
    first: SubjectOffer, second: SubjectOffer, structure: str
) -> None:
    with pytest.raises(AssayError) as caught:
        check_with(read(FIND), {"one": first, "two": second})
    assert str(caught.value).startswith("x.toml:4: factors.subject: two ")
    assert structure in str(caught.value)
    assert '[design] exclude = [{ subject = "two" }]' in str(caught.value)


def test_subjects_of_one_structure_or_of_ones_own_are_compared() -> None:
    for offer in (MULTIMAP, QUEUE):
        check_with(read(FIND), {"one": offer, "two": offer})
        check_with(read(OWN), {"one": offer})


def test_each_structure_may_have_a_workload_with_a_baseline_of_its_own() -> None:
    text = TEXT.replace('["one", "two"]', '["one", "two", "three", "four"]')
    text = text.replace('baseline = "one"', 'baseline = ["one", "three"]').replace(
        "[design]", f"{WORKLOADS}[design]"
    )
    known = {"one": MULTIMAP, "two": MULTIMAP, "three": QUEUE, "four": QUEUE}
    exclude = """exclude = [
  { workload = "a", subject = ["three", "four"] },
  { workload = "b", subject = ["one", "two"] },
]"""
    check_with(parse(text.replace("blocks = 12", f"blocks = 12\n{exclude}"), FILE), known)
    without = exclude.replace(', "four"', "")
    with pytest.raises(AssayError, match=r"four .*queue.* one"):
        check_with(parse(text.replace("blocks = 12", f"blocks = 12\n{without}"), FILE), known)


@pytest.mark.parametrize(
    ("engine", "words"),
    [
        ('"xoshiro256"', "xoshiro256pp"),
        ('{ name = "nothing", array = 5 }', "nothing"),
        ('"other"', "processor"),
        ('{ name = "rdrand", reseed_every = 5 }', "rdrand"),
        ('{ name = "c_rand", reseed_every = 5 }', "all threads"),
    ],
)
def test_an_engine_that_cannot_be_used_is_a_mistake(engine: str, words: str) -> None:
    with pytest.raises(AssayError, match=rf"^x\.toml:15: trial\.engine(\.reseed_every)?: .*{words}"):
        check_with(read(f"{FIND}engine = {engine}"), engines=ENGINES)


@pytest.mark.parametrize("source", ["rdseed", "rdrand"])
def test_new_seeds_that_the_processor_does_not_give_are_a_mistake(source: str) -> None:
    asked = read(f'{FIND}engine = {{ name = "xoshiro256pp", reseed_every = 5, reseed_from = "{source}" }}')
    machine = Machine(BOTH, ENGINES, frozenset({0}), 1000, entropy=frozenset({"rdseed", "rdrand", "kernel"}))
    check(asked, machine)
    message = re.escape(f'x.toml:15: trial.engine.reseed_from: this processor has no {source}; use "kernel"')
    with pytest.raises(AssayError, match=message):
        check(asked, replace(machine, entropy=frozenset({"kernel"})))


def test_an_engine_that_there_is_may_be_used() -> None:
    check_with(read(FIND))
    check_with(read(f'{FIND}engine = "rdrand"'), engines=ENGINES)


def test_a_program_of_ones_own_may_have_engines_of_its_own() -> None:
    programs = "".join(f'[subjects.{name}]\nprogram = "{name}"\n' for name in ("one", "two"))
    check_with(read(f'{FIND}engine = "mine"\n{programs}'), engines=ENGINES)


PITFALL = "[pitfall]\ndeliberate = true\n"
OPEN = 'latency = "all"\narrivals = { rate = 1000 }\n'


@pytest.mark.parametrize(
    ("flaws", "more", "words"),
    [
        ('["debug_build"]', "", "debug_build is of std_map_mutex alone, not of"),
        ('["latency_from_start"]', "", "give arrivals and latency"),
        ('["latency_from_start"]', 'latency = "all"\n', "give arrivals and latency"),
        ('["no_prefill"]', "", "one holds nothing, so that no_prefill changes nothing"),
    ],
)
def test_a_flaw_that_could_change_nothing_is_a_mistake(flaws: str, more: str, words: str) -> None:
    asked = read(f"{FIND}flaws = {flaws}\n{more}{PITFALL}")
    nothing = SubjectOffer(holds_nothing=True)
    with pytest.raises(AssayError, match=rf"^x\.toml:15: trial\.flaws: .*{words}"):
        check_with(asked, {"one": nothing, "two": nothing})


def test_a_flaw_that_changes_something_may_be_named() -> None:
    check_with(read(f'{FIND}flaws = ["no_prefill"]\n{PITFALL}'))
    check_with(read(f'{FIND}{OPEN}flaws = ["latency_from_start"]\n{PITFALL}'))


LATEST = 'distribution = { kind = "latest", exponent = 0.9 }\n'
READ = "mix = { insert = 0, erase = 0, find = 100 }\n"


def roles(first: str, second: str) -> str:
    begin = "[[trial.roles]]\nthreads = 1\nname ="
    return f'{FIND}{begin} "a"\n{first}{begin} "b"\n{second}'


@pytest.mark.parametrize(
    ("more", "message"),
    [
        (roles(LATEST, READ + LATEST), 'x.toml:19: trial.roles: "b" draws the latest keys'),
        (roles(LATEST + READ, READ), 'x.toml:15: trial.roles: "a" draws the latest keys'),
        (roles(LATEST, ""), 'x.toml:19: trial.roles: "b" inserts or erases'),
        (LATEST + roles("", READ), 'x.toml:19: trial.roles: "b" draws the latest keys'),
    ],
)
def test_roles_that_would_not_know_of_each_others_latest_keys_are_a_mistake(more: str, message: str) -> None:
    with pytest.raises(AssayError, match=re.escape(message)):
        check_with(read(more))


def test_one_role_may_draw_the_latest_keys() -> None:
    check_with(read(FIND + LATEST))
    check_with(read(READ + LATEST))
    check_with(read(roles(LATEST, READ)))
    programs = "".join(f'[subjects.{name}]\nprogram = "{name}"\n' for name in ("one", "two"))
    check_with(read(roles(LATEST, "") + programs))


def test_arrays_fit_into_the_memory_of_a_trial() -> None:
    array = f'{FIND}threads = 4\nengine = {{ name = "xoshiro256pp", array = 10_000_000 }}\n'
    check_with(read(array), memory_limit_mb=306)
    with pytest.raises(AssayError, match=r":16: trial\.engine\.array: .* 305 MiB"):
        check_with(read(array), memory_limit_mb=305)
    check_with(read(f"{array}memory_limit_mb = 306"), memory_limit_mb=1)


@pytest.mark.parametrize(
    ("metric", "more", "words"),
    [
        ("latency_p99_ns", FIND, "latency"),
        ("latency_range_p99_ns", f"{FIND}latency = 64\n", "range"),
        ("range_throughput", FIND, "range"),
        ("role_a_throughput", FIND, "roles"),
        ("role_c_throughput", roles("", ""), '"c"'),
        ("role_a_latency_p50_ns", roles("", ""), "latency"),
        ("role_a_oldest_waiting_ns", roles("", ""), 'closed loop of "a"'),
        ("backlog", FIND, "arrivals"),
    ],
)
def test_a_compared_metric_that_no_trial_can_have_is_a_mistake(metric: str, more: str, words: str) -> None:
    experiment = parse((TEXT + more).replace('"throughput"', f'"{metric}"'), FILE)
    with pytest.raises(AssayError, match=rf'^x\.toml:8: comparison\.metric: .*"{metric}": .*{words}'):
        check_with(experiment)


@pytest.mark.parametrize(
    ("metric", "more"),
    [
        ("latency_find_p99_9_ns", f"latency = 64\n{FIND}"),
        ("insert_throughput", FIND),
        ("role_b_latency_mean_ns", f"latency = 64\n{roles('', '')}"),
        ("role_a_oldest_waiting_ns", f"arrivals = {{ rate = 5 }}\n{roles('', '')}"),
        ("backlog", f"{FIND}arrivals = {{ rate = 5 }}\n"),
        ("probe_restarts", FIND),
    ],
)
def test_a_metric_that_some_trial_may_have_can_be_compared(metric: str, more: str) -> None:
    check_with(parse((TEXT + more).replace('"throughput"', f'"{metric}"'), FILE))


def test_an_unknown_operation_is_a_mistake_even_without_a_share() -> None:
    with pytest.raises(AssayError, match=r":14: trial\.mix: one has no fnd \(did you mean find\?\)"):
        check_with(read("mix = { find = 100, fnd = 0 }"))


def test_values_that_may_be_drawn_are_checked_as_settings_are() -> None:
    with pytest.raises(AssayError, match=r"x\.toml:\d+: perturb\.engine\.nosuch: there is no engine"):
        check_with(read(FIND + "[perturb]\nengine = { xoshiro256pp = 1, nosuch = 1 }\n"))
    check_with(read(FIND + "[perturb]\nengine = { xoshiro256pp = 1, rdrand = 1 }\n"))


@pytest.mark.parametrize("kind", ["fixed", "random"])
def test_processes_are_placed_as_the_system_can(kind: str) -> None:
    machine = Machine(
        *(BOTH, ENGINES, frozenset({0, 1}), 1000),
        random_addresses=kind != "random",
        fixed_addresses=kind != "fixed",
    )
    asked = read(FIND + f'[perturb]\naddress_space = "{kind}"\n')
    with pytest.raises(AssayError, match=r"perturb\.address_space: "):
        check(asked, machine)
    check(asked, Machine(BOTH, ENGINES, frozenset({0, 1}), 1000))


@pytest.mark.parametrize(
    ("wanted", "here", "because", "why"),
    [
        ("none", "none", "it has no RTM", ""),
        ("rtm", "rtm", "", ""),
        ("rtm", "none", "it has no RTM", "no transactions called rtm here: it has no RTM; "),
    ],
)
def test_transactions_that_are_not_here_are_a_mistake_that_says_why(
    wanted: str, here: str, because: str, why: str
) -> None:
    asked = read(f'{FIND}transactions = "{wanted}"\n')
    machine = Machine(BOTH, ENGINES, frozenset({0}), 1000, transactions=here, no_transactions=because)
    if not why:
        check(asked, machine)
        return
    with pytest.raises(AssayError, match=rf"^x\.toml:15: trial\.transactions: there are {why}"):
        check(asked, machine)


def test_a_flaw_of_a_subject_that_the_flawed_program_lacks_is_a_mistake() -> None:
    asked = read(f'{FIND}flaws = ["never_inserts"]\n{PITFALL}')
    machine = Machine(BOTH, ENGINES, frozenset({0}), 1000)
    check(asked, machine)  # nobody knows
    check(asked, replace(machine, flawed_subjects=frozenset(BOTH)))
    with pytest.raises(AssayError, match=r"^x\.toml:15: trial\.flaws: assay-pitfalls does not have two"):
        check(asked, replace(machine, flawed_subjects=frozenset({"one"})))
