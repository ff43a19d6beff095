"""The settings that say what threads do: their long forms, roles, and mistakes in them."""

import re
from pathlib import Path
from typing import Any

import pytest

from assay.errors import AssayError
from assay.experiment import Experiment, load, parse
from assay.experiment.empirical import digest

FILE = Path("experiments/x.toml")
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
key_range = 20_000
"""  # further settings begin on line 14
MIX = "mix = { insert = 5, erase = 5, find = 90 }\n"
UPDATES = "mix = { insert = 50, erase = 50, find = 0 }"


def settings(more: str, text: str = TEXT + MIX, **levels: Any) -> dict[str, Any]:
    return parse(text + more, FILE).settings({"subject": "one"} | levels)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ('engine = "pcg64"', {"name": "pcg64"}),
        ('engine = { name = "wyrand", array = 10 }', {"name": "wyrand", "array": 10}),
        ('engine = { name = "wyrand", reseed_every = 1 }', {"name": "wyrand", "reseed_every": 1}),
        ('draws = "two"', "two"),
        ('bounding = "modulo"', "modulo"),
        ('distribution = "sequential"', {"kind": "sequential"}),
        ('distribution = { kind = "uniform" }', {"kind": "uniform"}),
        ('distribution = { kind = "zipf", exponent = 0.0 }', {"kind": "zipf", "exponent": 0}),
        (
            'distribution = { kind = "zipf", exponent = 1.5, order = "ordered" }',
            {"kind": "zipf", "exponent": 1.5, "order": "ordered"},
        ),
        (
            'distribution = { kind = "normal", mean_percent = -10, deviation_percent = 5 }',
            {"kind": "normal", "mean_percent": -10, "deviation_percent": 5},
        ),
        (
            'distribution = { kind = "empirical", file = "weights" }',
            {"kind": "empirical", "file": str(FILE.parent.absolute() / "weights")},
        ),
        ('prefill = "none"', {"method": "none"}),
        ("prefill = 0", {"size": 0}),
        ("prefill = 20_000", {"size": 20_000}),
        (
            'prefill = { percent = 50, method = "sorted", threads = 1 }',
            {"percent": 50, "method": "sorted", "threads": 1},
        ),
        ('key_type = "uint32"', "uint32"),
        ("key_type = { bytes = 8 }", {"bytes": 8}),
        ("key_type = { prefix = 24, bytes = 32 }", {"bytes": 32, "prefix": 24}),
        ("value_type = { bytes = { from = 0, to = 4096 } }", {"bytes": {"from": 0, "to": 4096}}),
        (
            'key_type = { bytes = { from = 8, to = 9, distribution = { kind = "zipf", exponent = 1 } } }',
            {"bytes": {"from": 8, "to": 9, "distribution": {"kind": "zipf", "exponent": 1}}},
        ),
        (
            'value_type = { uint32 = { from = 0, to = 4294967295, distribution = "uniform" } }',
            {"uint32": {"from": 0, "to": 4294967295, "distribution": {"kind": "uniform"}}},
        ),
        ('range = { length = "all", fold = "sum" }', {"length": "all", "fold": "sum"}),
        ('range = { fold = "count" }', {"length": 100, "fold": "count"}),
        ("range = { length = { from = 1, to = 10 } }", {"length": {"from": 1, "to": 10}}),
        ("arrivals = { rate = 1_000 }", {"rate": 1000, "spacing": "poisson"}),
        ('arrivals = { rate = 0.5, spacing = "even" }', {"rate": 0.5, "spacing": "even"}),
        ('latency = "all"', "all"),
        ("latency = 64", 64),
        ("batch = 512", 512),
        ("probes = false", False),
        ('allocator = "jemalloc"', "jemalloc"),
        ('transactions = "none"', "none"),
        ('memory_policy = "interleave"', "interleave"),
    ],
)
def test_a_setting_has_the_long_form_of_the_protocol(text: str, value: Any) -> None:
    assert settings(text)[text.partition(" =")[0]] == value


def test_what_is_not_given_is_not_there() -> None:
    assert settings("").keys() == {
        *("subject", "threads", "key_range", "mix", "pinning", "keys", "duration_ms", "interval_ms")
    }


def test_a_mix_may_name_further_operations() -> None:
    mix = "mix = { insert = 5, erase = 5, find = 10, range = 20, size = 20, snapshot = 20, iterate = 20 }"
    assert settings(mix, TEXT)["mix"]["snapshot"] == 20
    of_its_own = settings("mix = { insert = 5, erase = 5, find = 80, lower_bound = 10 }", TEXT)["mix"]
    assert of_its_own == {"insert": 5, "erase": 5, "find": 80, "lower_bound": 10}
    with pytest.raises(AssayError, match="unknown key"):
        settings("mix = { insert = 50, erase = 50, Find = 0 }", TEXT)
    with pytest.raises(AssayError, match="scan"):
        settings("mix = { insert = 50, erase = 50, scan = 101 }", TEXT)


@pytest.mark.parametrize(
    ("factor", "levels"),
    [
        ('engine = ["xoshiro256pp", "pcg64"]', ("xoshiro256pp", "pcg64")),
        ('latency = ["none", 64, "all"]', ("none", 64, "all")),
        ("batch = [1, 8, 64, 512]", (1, 8, 64, 512)),
        ('allocator = ["glibc", "jemalloc"]', ("glibc", "jemalloc")),
        ('transactions = ["none", "rtm"]', ("none", "rtm")),
        ('key_type = ["uint64", "uint32"]', ("uint64", "uint32")),
        ('distribution = ["uniform", "sequential"]', ("uniform", "sequential")),
        ('distribution.hot = { kind = "zipf", exponent = 2 }', ("hot",)),
        ("probes = [true, false]", ("true", "false")),
        ('prefill = [100, "none", 20_000]', (100, "none", 20_000)),
        ("prefill.one = { threads = 1 }", ("one",)),
    ],
)
def test_settings_may_be_factors(factor: str, levels: tuple[Any, ...]) -> None:
    name = re.split("[ .]", factor)[0]
    assert parse(f"{TEXT}{MIX}[factors.loop]\na = {{}}\n", FILE)  # so that what follows is no trial's
    text = (TEXT + MIX).replace("[design]", f"{factor}\n[design]")
    experiment = parse(text, FILE)
    assert experiment.factors[name] == levels
    assert all(name in experiment.settings({"subject": "one", name: level}) for level in levels)


def test_a_level_that_is_true_or_false_is_named_as_toml_writes_it() -> None:
    text = (TEXT + MIX).replace(
        "[design]", "probes = [true, false]\n[design]\nexclude = [{ probes = false }]"
    )
    assert [settings["probes"] for settings in parse(text, FILE).conditions()] == ["true", "true"]


def test_a_level_replaces_a_table_as_a_whole() -> None:
    text = TEXT.replace("[design]", "f.a = { range = { length = 5 } }\n[design]")
    assert settings('range = { length = 1, fold = "sum" }', text + MIX, f="a")["range"] == {"length": 5}


# Roles.


def role(name: str, more: str = "") -> str:
    return f'[[trial.roles]]\nname = "{name}"\n{more}\n'


def threads_of(roles: str, before: str = "") -> tuple[int, list[int]]:
    read = settings(before + roles)
    return read["threads"], [role["threads"] for role in read["roles"]]


def test_a_role_that_leaves_its_threads_out_has_what_the_others_leave() -> None:
    roles = role("a", "threads = 1") + role("b") + role("c", "threads = 2")
    assert threads_of(roles, "threads = 8\n") == (8, [1, 5, 2])


def test_the_threads_follow_from_roles_that_all_name_theirs() -> None:
    roles = role("a", "threads = 1") + role("b", "threads = 2")
    assert threads_of(roles) == (3, [1, 2])
    assert threads_of(roles, "threads = 3\n") == (3, [1, 2])


def test_roles_may_be_a_setting_of_the_trial_or_of_a_level() -> None:
    role = 'roles = [{ name = "a", threads = 2 }]'
    assert threads_of(role) == (2, [2])
    text = TEXT.replace("[design]", f"f.a = {{ {role} }}\nf.b = {{}}\n[design]") + MIX
    assert settings("", text, f="a")["roles"] == [{"name": "a", "threads": 2}]
    without = settings("", text, f="b")
    assert "roles" not in without
    assert without["threads"] == 1


def test_no_mix_is_needed_where_every_role_has_one() -> None:
    roles = role("a", f"threads = 1\n{UPDATES}") + role("b", f"threads = 1\n{UPDATES}")
    assert "mix" not in settings(roles, TEXT)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (role("a", "threads = 0"), ":17: trial.roles.threads:"),
        (role("a") + role("a"), ":15: trial.roles:"),
        (role("a") + role("b"), ":15: trial.roles:"),
        (role("a"), ":15: trial.roles:"),
        ("threads = 2\n" + role("a", "threads = 2") + role("b"), ":19: trial.roles:"),
        ("threads = 4\n" + role("a", "threads = 2"), ":16: trial.roles:"),
        (role("a", "threads = 4096") + role("b", "threads = 1"), ":15: trial.roles:"),
        (role("A", "threads = 1"), ":16: trial.roles.name:"),
        (role("a", "thread = 1"), ":17: trial.roles.thread:"),
        ('[[role]]\nname = "a"', ":15: role:"),
        ("roles = []", ":15: trial.roles:"),
        (role("a", "threads = 1\narrivals = { rate = 0 }"), ":18: trial.roles.arrivals.rate:"),
        (role("a", 'threads = 1\ndistribution = "zipf"'), ":18: trial.roles.distribution:"),
    ],
)
def test_a_mistake_in_roles_is_named(text: str, message: str) -> None:
    refused(TEXT + MIX + text, message)


def test_a_mistake_in_roles_of_a_level_is_named() -> None:
    roles = 'f.a = { roles = [{ name = "a" }] }\n'
    refused(
        TEXT.replace("[design]", f"{roles}[design]") + MIX,
        ":5: factors.f.a.roles:",
        "role a",
        "threads",
    )


def test_roles_are_fixed_or_a_factor() -> None:
    levels = 'roles.a = [{ name = "a", threads = 1 }]\n'
    refused(
        TEXT.replace("[design]", f"{levels}[design]") + MIX + role("b", "threads = 1"),
        ":16: trial.roles:",
        "factor",
    )
    refused(
        (TEXT + MIX).replace("[design]", 'roles = [[{ name = "a", threads = 1 }]]\n[design]'),
        ":5: factors.roles:",
        "[factors.roles]",
    )


def test_a_mix_is_missing_where_a_role_has_none() -> None:
    roles = role("a", f"threads = 1\n{UPDATES}") + role("b", "threads = 1")
    refused(TEXT + roles, ":12: trial:", "mix")


# Mistakes in other settings.


def refused(text: str, place: str, *words: str) -> None:
    with pytest.raises(AssayError, match=re.escape(f"{FILE}{place}")) as raised:
        parse(text, FILE)
    assert all(word in str(raised.value) for word in words)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('distribution = "zipff"', "distribution:"),
        ("distribution = 1", "distribution:"),
        ('distribution = "hot_set"', "distribution:"),
        ("distribution = {}", "distribution.kind:"),
        ('distribution = { kind = "zipf" }', "distribution.exponent:"),
        ('distribution = { kind = "zipf", exponent = -0.5 }', "distribution.exponent:"),
        ('distribution = { kind = "zipf", exponent = nan }', "distribution.exponent:"),
        ('distribution = { kind = "latest", exponent = inf }', "distribution.exponent:"),
        ('distribution = { kind = "zipf", exponent = 1, p = 1 }', "distribution.p:"),
        ('distribution = { kind = "latest", exponent = 1, order = "ordered" }', "distribution.order:"),
        (
            'distribution = { kind = "hot_set", operations_percent = 90, keys_percent = 0 }',
            "distribution.keys_percent:",
        ),
        (
            'distribution = { kind = "hot_set", operations_percent = 100.1, keys_percent = 10 }',
            "distribution.operations_percent:",
        ),
        ('distribution = { kind = "binomial", p = 1.1 }', "distribution.p:"),
        ('distribution = { kind = "exponential", mean_percent = 0 }', "distribution.mean_percent:"),
        (
            'distribution = { kind = "normal", mean_percent = 1, deviation_percent = 0 }',
            "distribution.deviation_percent:",
        ),
        ('distribution = { kind = "normal", mean_percent = -31, deviation_percent = 1 }', "distribution:"),
        ('distribution = { kind = "empirical", file = "" }', "distribution.file:"),
        ('engine = "PCG 64"', "engine:"),
        ('engine = { name = "pcg64", reseed_every = 0 }', "engine.reseed_every:"),
        ('engine = { name = "pcg64", array = 0 }', "engine.array:"),
        ("engine = { array = 5 }", "engine.name:"),
        ('draws = "three"', "draws:"),
        ("arrivals = { rate = 0 }", "arrivals.rate:"),
        ("arrivals = { rate = nan }", "arrivals.rate:"),
        ("arrivals = 5", "arrivals:"),
        ("latency = 1", "latency:"),
        ("batch = 513", "batch:"),
        ('allocator = "tcmalloc"', "allocator:"),
        ('transactions = "htm"', "transactions:"),
        ('memory_policy = "far"', "memory_policy:"),
        ("probes = 1", "probes:"),
        ('key_type = "string"', "key_type:"),
        ("key_type = { bytes = 7 }", "key_type.bytes:"),
        (
            "key_type = { bytes = 32, prefix = 25 }",
            "key_type: prefix is 25, and the shortest keys have 32 bytes",
        ),
        (
            "key_type = { bytes = { from = 9, to = 90 }, prefix = 2 }",
            "key_type: prefix is 2, and the shortest keys have 9 bytes",
        ),
        ("value_type = { bytes = 32, prefix = 24 }", "value_type.prefix:"),
        ("value_type = { bytes = 4097 }", "value_type.bytes:"),
        ("value_type = { bytes = { from = 9, to = 8 } }", "value_type.bytes:"),
        ("value_type = { uint32 = { from = 0, to = 4294967296 } }", "value_type.uint32.to:"),
        ("value_type = { uint64 = 5 }", "value_type.uint64:"),
        ("value_type = {}", "value_type: give one of bytes, uint64 and uint32"),
        ("value_type = { bytes = 1, uint64 = { from = 0, to = 1 } }", "value_type: give one of"),
        (
            'value_type = { uint64 = { from = 0, to = 1, distribution = "sequential" } }',
            "value_type.uint64.distribution: sequential follows the operations",
        ),
        ("prefill = 20_001", "prefill: 20,001 keys are more than the key_range of 20,000"),
        ("prefill = -1", "prefill: -1 is too small"),
        ("prefill = true", "prefill:"),
        ('prefill = "full"', 'prefill: "full" is not a prefill'),
        ("prefill = { size = 1, percent = 1 }", "prefill: has both size and percent"),
        ("prefill = { percent = 101 }", "prefill.percent:"),
        ("prefill = { threads = 2 }", "prefill: 2 threads cannot fill it, as there are 1"),
        ('prefill = { method = "none", size = 5 }', "prefill: fills nothing"),
        ("range = { length = 0 }", "range.length:"),
        ('range = { fold = "max" }', "range.fold:"),
    ],
)
def test_a_mistake_in_a_setting_is_named(text: str, message: str) -> None:
    refused(f"{TEXT}{MIX}{text}", f":15: trial.{message}")


def test_the_latest_keys_say_themselves_what_is_held() -> None:
    latest = 'distribution = { kind = "latest", exponent = 1 }\n'
    assert settings(f"{latest}prefill = {{ threads = 1 }}")["prefill"] == {"threads": 1}
    refused(f"{TEXT}{MIX}{latest}prefill = 5", ":16: trial.prefill: the latest keys")


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ('phase = "load"', {"kind": "load"}),
        (
            'phase = { kind = "grow", size = 5, order = "sorted" }\nprefill = 9',
            {"kind": "grow", "size": 5, "order": "sorted"},
        ),
        ('phase = { kind = "load", percent = 0.5 }\nprefill = "none"', {"kind": "load", "percent": 0.5}),
        ('phase = "drain"', {"kind": "drain"}),
    ],
)
def test_a_phase_takes_the_place_of_a_mix(text: str, value: Any) -> None:
    assert settings(text, TEXT)["phase"] == value


def test_phases_may_be_levels() -> None:
    text = TEXT.replace("[design]", 'phase = ["load", "grow", "drain"]\n[design]')
    assert settings("", text, phase="drain")["phase"] == {"kind": "drain"}
    mixed = "work.load = { phase = 'load' }\nwork.use = { mix = { find = 100 } }\n[design]"
    assert settings("", TEXT.replace("[design]", mixed), work="load")["phase"] == {"kind": "load"}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (f'{MIX}phase = "load"', "14: trial.mix: a phase (load) has no mix"),
        ('phase = "load"\nwarm_up_ms = 5', "15: trial.warm_up_ms: a phase (load) has no warm_up_ms"),
        ('phase = "load"\narrivals = { rate = 5 }', "15: trial.arrivals:"),
        ('phase = "load"\nprefill = 5', "15: trial.prefill: a load begins empty"),
        ('phase = "drain"\nprefill = 0', "14: trial.phase: nothing is held that could be drained"),
        ('phase = { kind = "drain", size = 5 }', "14: trial.phase: drains all that is held"),
        ('phase = { kind = "load", size = 20_001 }', "14: trial.phase: 20,001 keys are more"),
        ('phase = { kind = "load", size = 0 }', "14: trial.phase.size:"),
        ('phase = "shrink"', '14: trial.phase: "shrink" is not a phase'),
        ("phase = {}", "14: trial.phase.kind:"),
    ],
)
def test_what_does_not_fit_a_phase_is_named(text: str, message: str) -> None:
    refused(TEXT + text, f":{message}")


@pytest.mark.parametrize("keys", ["dense", "sparse"])
def test_a_key_range_fits_into_the_keys(keys: str) -> None:
    more = f'{MIX}key_type = "uint32"\nkeys = "{keys}"'
    parse(TEXT.replace("20_000", "2_147_483_647") + more, FILE)
    refused(
        TEXT.replace("20_000", "2_147_483_648") + more,
        ":13: trial.key_range: 2147483648",
        "2147483647",
    )


# Weights from a file.


def weighted(folder: Path, weights: str | None) -> Experiment:
    if weights is not None:
        (folder / "weights").write_text(weights)
    (folder / "x.toml").write_text(f'{TEXT}{MIX}distribution = {{ kind = "empirical", file = "weights" }}')
    return load(folder / "x.toml")


def test_weights_are_found_beside_the_experiment_and_have_a_digest(tmp_path: Path) -> None:
    experiment = weighted(tmp_path, "# mine\n1\n\n 2.5e3\n0\n")
    assert experiment.digests == {str(tmp_path / "weights"): digest(b"# mine\n1\n\n 2.5e3\n0\n")}


def test_the_digest_is_fnv_1a() -> None:
    known = {b"": "0xcbf29ce484222325", b"a": "0xaf63dc4c8601ec8c", b"foobar": "0x85944171f73967e8"}
    assert {data: digest(data) for data in known} == known


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        (None, r"x\.toml:15: trial\.distribution\.file: .*/weights"),
        ("", "weights:"),
        ("# none\n\n", "weights:"),
        ("1\n-0.5\n", "weights:2: .*-0.5 .* 0 or more"),
        ("1\n\nmuch\n", "weights:3: 'much'"),
        ("nan", "weights:1: 'nan'"),
        ("1 2", "weights:1: '1 2'"),
        ("0\n0\n", "weights:"),
    ],
)
def test_weights_that_are_none_are_named(tmp_path: Path, weights: str | None, message: str) -> None:
    with pytest.raises(AssayError, match=message):
        weighted(tmp_path, weights)


def test_the_files_of_roles_and_levels_are_read_too(tmp_path: Path) -> None:
    distribution = 'distribution = { kind = "empirical", file = "weights" }'
    for text in (
        TEXT + MIX + role("a", f"threads = 1\n{distribution}"),
        TEXT.replace("[design]", f"f.a = {{ {distribution} }}\n[design]") + MIX,
    ):
        (tmp_path / "x.toml").write_text(text)
        with pytest.raises(AssayError, match=r"(trial\.roles|factors\.f\.a)\.distribution\.file: "):
            load(tmp_path / "x.toml")


@pytest.mark.parametrize(
    ("more", "line"),
    [
        ("range = { length = 20_001 }", 15),
        ("range = { length = { from = 1, to = 20_001 } }", 15),
        ('[[trial.roles]]\nname = "a"\nthreads = 1\nrange = { length = 20_001 }', 15),
    ],
)
def test_a_range_is_no_longer_than_there_are_keys(more: str, line: int) -> None:
    with pytest.raises(AssayError, match=rf'^{FILE}:{line}: .*20,001 .*20,000.* length = "all"'):
        settings(more)


@pytest.mark.parametrize("length", ["20_000", '"all"', "{ from = 1, to = 20_000 }"])
def test_a_range_may_span_every_key(length: str) -> None:
    assert settings(f"range = {{ length = {length} }}")
