"""An experiment is checked against what subjects offer, engines there are, and memory."""

import re
from pathlib import Path

import pytest

from assay.errors import AssayError
from assay.experiment import (
    EngineOffer,
    Experiment,
    SubjectOffer,
    check_engines,
    check_latest,
    check_memory,
    check_metrics,
    check_subjects,
    parse,
)

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


def read(more: str) -> Experiment:
    return parse(TEXT + more, FILE)


@pytest.mark.parametrize(
    ("more", "two", "message"),
    [
        (
            RANGE,
            SubjectOffer(),
            ":14: trial.mix: two has no range; it has insert, erase and find; leave the condition out: "
            '[design] exclude = [{ subject = "two" }]',
        ),
        (
            f'[[role]]\nname = "a"\nthreads = 1\n{RANGE}',
            SubjectOffer(),
            ":14: role: two has no range; it has insert, erase and find; leave",
        ),
        (
            f"{FIND}key_type = {{ bytes = 16 }}",
            SubjectOffer(),
            ":15: trial.key_type: two holds keys of uint64, not bytes; leave the condition out",
        ),
        (
            f'{FIND}value_type = "uint32"',
            WITH_STRINGS,
            ":15: trial.value_type: two holds values of uint64, not uint32; leave the condition out",
        ),
        (
            f'{FIND}[[role]]\nname = "a"\nthreads = 2\n',
            SubjectOffer(max_threads=1),
            ":15: role: two cannot run with 2 threads, its limit is 1; leave the condition out",
        ),
        (
            f'{FIND}keys = "sparse"',
            SubjectOffer(structure="queue"),
            ":15: trial.keys: two is a queue, whose keys grow with every one popped, and sparse ones too"
            " fast; leave the condition out",
        ),
    ],
)
def test_what_a_subject_does_not_offer_is_a_mistake(more: str, two: SubjectOffer, message: str) -> None:
    everything = SubjectOffer(
        types=frozenset((key, value) for key in ("uint64", "bytes") for value in ("uint64", "uint32")),
        operations=WITH_RANGE.operations,
    )
    with pytest.raises(AssayError, match=re.escape(f"x.toml{message}")):
        check_subjects(read(more), {"one": everything, "two": two})


def test_what_subjects_offer_may_be_asked_of_them() -> None:
    check_subjects(read(RANGE), {"one": WITH_RANGE, "two": WITH_RANGE})
    check_subjects(read(f"{FIND}key_type = {{ bytes = 8 }}"), {"one": WITH_STRINGS, "two": WITH_STRINGS})
    check_subjects(
        read(FIND.replace("90 }", "90, range = 0 }")), {"one": SubjectOffer(), "two": SubjectOffer()}
    )


def test_a_mistake_that_no_rule_can_leave_out_has_another_remedy() -> None:
    text = TEXT.replace('subject = ["one", "two"]', "key_range = [50, 100]").replace("key_range = 100\n", "")
    text = text.replace('"subject"', '"key_range"').replace('"one"', "50")
    with pytest.raises(
        AssayError, match=r":14: trial\.mix: one has no range; .*; ask that of another subject$"
    ):
        check_subjects(parse(f'{text}subject = "one"\n{RANGE}', FILE), {"one": SubjectOffer()})


MAP, MULTIMAP, QUEUE = SubjectOffer(), SubjectOffer(structure="multimap"), SubjectOffer(structure="queue")
WORKLOADS = """
[factors.workload]
a = { mix = { insert = 20, erase = 20, find = 60 } }
b = { mix = { insert = 50, erase = 50, find = 0 } }
"""
OWN = f'{FIND}[subjects.two]\nprogram = "/bin/true"\n'


@pytest.mark.parametrize(
    ("one", "two", "said"),
    [
        (MAP, MULTIMAP, "two is a multimap, and one, with which it is compared, a map: their inserts and"),
        (QUEUE, MAP, "two is a map, and one, with which it is compared, a queue: their inserts and"),
    ],
)
def test_subjects_of_different_structure_are_not_compared(
    one: SubjectOffer, two: SubjectOffer, said: str
) -> None:
    with pytest.raises(AssayError) as caught:
        check_subjects(read(FIND), {"one": one, "two": two})
    assert str(caught.value).startswith(f"x.toml:4: factors.subject: {said}")
    assert 'leave it out: [design] exclude = [{ subject = "two" }], or give each' in str(caught.value)


def test_subjects_of_one_structure_or_of_ones_own_are_compared() -> None:
    for offer in (MULTIMAP, QUEUE):
        check_subjects(read(FIND), {"one": offer, "two": offer})
        check_subjects(read(OWN), {"one": offer})


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
    check_subjects(parse(text.replace("blocks = 12", f"blocks = 12\n{exclude}"), FILE), known)
    without = exclude.replace(', "four"', "")
    with pytest.raises(AssayError, match="four is a queue, and one, with which it is compared, a multimap"):
        check_subjects(parse(text.replace("blocks = 12", f"blocks = 12\n{without}"), FILE), known)


ENGINES = {
    "xoshiro256pp": EngineOffer(256, available=True),
    "rdrand": EngineOffer(0, available=True),
    "other": EngineOffer(64, available=False),
    "c_rand": EngineOffer(992, available=True, shared=True),
}


@pytest.mark.parametrize(
    ("engine", "message"),
    [
        ('"xoshiro256"', 'there is no engine "xoshiro256"; did you mean xoshiro256pp?'),
        ('{ name = "nothing", array = 5 }', 'there is no engine "nothing"; there are xoshiro256pp, rdrand'),
        ('"other"', "this processor has no other; use another engine"),
        (
            '{ name = "rdrand", reseed_every = 5 }',
            "rdrand draws every number from the hardware and has no st",
        ),
        ('{ name = "c_rand", reseed_every = 5 }', "all threads draw from the one state of c_rand"),
    ],
)
def test_an_engine_that_cannot_be_used_is_a_mistake(engine: str, message: str) -> None:
    with pytest.raises(
        AssayError, match=rf"^x\.toml:15: trial\.engine(\.reseed_every)?: {re.escape(message)}"
    ):
        check_engines(read(f"{FIND}engine = {engine}"), ENGINES)


def test_an_engine_that_there_is_may_be_used() -> None:
    check_engines(read(FIND), {})
    check_engines(read(f'{FIND}engine = "rdrand"'), ENGINES)


def test_a_program_of_ones_own_may_have_engines_of_its_own() -> None:
    programs = "".join(f'[subjects.{name}]\nprogram = "{name}"\n' for name in ("one", "two"))
    check_engines(read(f'{FIND}engine = "mine"\n{programs}'), ENGINES)


LATEST = 'distribution = { kind = "latest", exponent = 0.9 }\n'
READ = "mix = { insert = 0, erase = 0, find = 100 }\n"


def roles(first: str, second: str) -> str:
    return f'{FIND}[[role]]\nname = "a"\nthreads = 1\n{first}[[role]]\nname = "b"\nthreads = 1\n{second}'


@pytest.mark.parametrize(
    ("more", "message"),
    [
        (roles(LATEST, READ + LATEST), 'x.toml:19: role: "b" draws the latest keys, as "a" does'),
        (roles(LATEST + READ, READ), 'x.toml:15: role: "a" draws the latest keys and inserts none; give'),
        (roles(LATEST, ""), 'x.toml:19: role: "b" inserts or erases, of which "a"'),
        (LATEST + roles("", READ), 'x.toml:19: role: "b" draws the latest keys, as "a" does'),
    ],
)
def test_roles_that_would_not_know_of_each_others_latest_keys_are_a_mistake(more: str, message: str) -> None:
    with pytest.raises(AssayError, match=re.escape(message)):
        check_latest(read(more))


def test_one_role_may_draw_the_latest_keys() -> None:
    check_latest(read(FIND + LATEST))
    check_latest(read(READ + LATEST))
    check_latest(read(roles(LATEST, READ)))
    programs = "".join(f'[subjects.{name}]\nprogram = "{name}"\n' for name in ("one", "two"))
    check_latest(read(roles(LATEST, "") + programs))


def test_arrays_fit_into_the_memory_of_a_trial() -> None:
    array = f'{FIND}threads = 4\nengine = {{ name = "pcg64", array = 10_000_000 }}\n'
    check_memory(read(array), 306)
    with pytest.raises(
        AssayError,
        match=r":16: trial\.engine\.array: the arrays of 4 threads take 305 MiB, and a trial may use",
    ):
        check_memory(read(array), 305)
    check_memory(read(f"{array}memory_limit_mb = 306"), 1)


@pytest.mark.parametrize(
    ("metric", "more", "why"),
    [
        ("latency_p99_ns", FIND, "latency is not recorded; give"),
        ("latency_range_p99_ns", f"{FIND}latency = 64\n", "no mix holds range; give it a share"),
        ("range_throughput", FIND, "no mix holds range; give it a share"),
        ("role_a_throughput", FIND, "metrics of roles are those of two or more"),
        ("role_c_throughput", roles("", ""), 'there is no role "c"; '),
        ("role_a_latency_p50_ns", roles("", ""), "latency is not recorded"),
        ("role_a_oldest_waiting_ns", roles("", ""), 'nothing waits in the closed loop of "a"; give it'),
        ("backlog", FIND, "operations begin as fast as they end; give"),
    ],
)
def test_a_compared_metric_that_no_trial_can_have_is_a_mistake(metric: str, more: str, why: str) -> None:
    experiment = parse((TEXT + more).replace('"throughput"', f'"{metric}"'), FILE)
    message = f'x.toml:8: comparison.metric: no trial has "{metric}": {why}'
    with pytest.raises(AssayError, match=re.escape(message)):
        check_metrics(experiment)


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
    check_metrics(parse((TEXT + more).replace('"throughput"', f'"{metric}"'), FILE))
