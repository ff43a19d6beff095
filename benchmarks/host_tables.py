"""Tables of docs/statistics.md about campaigns that ran on several hosts."""

import math
from collections.abc import Callable
from functools import partial

import numpy as np

from assay.analysis import Look, looks
from assay.analysis.hosts import unlike_others
from assay.analysis.pairs import Sample
from assay.analysis.population import population
from assay.analysis.verdicts import Question, decide
from assay.experiment.types import Design
from promises import Promise, Rate, Row, Table, rng_of
from simulation import NOISES, Array, log_ratios

BETWEEN = 0.02
"""The standard deviation of what hosts do to a comparison, on the logarithmic scale."""

EFFECT = 0.05
BLOCKS = 12
HOSTS = (4, 6, 10, 40)
LOOKS = (8, 12, 18, 27)
FAMILY = 8

Draw = Callable[[np.random.Generator, int], Array]
BETWEEN_HOSTS: dict[str, tuple[Draw, Promise]] = {
    "none": (lambda _, size: np.zeros(size), "at most 5%"),
    "normal": (lambda rng, size: rng.standard_normal(size), "at most 5%"),
    "t (3)": (lambda rng, size: rng.standard_t(3, size) / math.sqrt(3), "at most 5%"),
    "skewed": (lambda rng, size: rng.exponential(size=size) - 1, ""),
    "two kinds": (lambda rng, size: rng.choice([-1.0, 1.0], size), ""),
    "1 in 10": (lambda rng, size: np.where(rng.random(size) < 0.1, 3.0, -1 / 3), ""),
}
"""Distribution of what hosts do, with a mean of 0 -> how it is drawn, and what is promised."""


def tables(campaigns: int) -> list[Table]:
    """Return the tables; `campaigns` is how many a cell rests on, fewer where they take long."""
    half, few = campaigns // 2, campaigns // 16
    return [
        Table(
            "A population of hosts",
            f"{half} campaigns a row, each of one comparison of identical code. Every host adds an effect "
            f"of its own to all log ratios, with mean 0 and a standard deviation of {100 * BETWEEN:g}%. "
            "*Blocks*: of each host; *2 to 24*: each has another number. *False alarms*: the hosts together "
            "are called different. *Pooled*: the same by flips of the signs of all blocks, as if hosts were "
            "not random. *Coverage*: of the mean over all hosts. *Found*: a mean effect of "
            f"{100 * EFFECT:g}%. *Looks*: a false alarm at any of {len(LOOKS)} looks. *Any of {FAMILY}*: a "
            "false alarm in a family of this size. Where hosts are neither normal nor symmetric with one "
            "peak, nothing is promised.",
            (
                "hosts differ",
                "noise",
                "hosts",
                "blocks",
                "false alarms %",
                "pooled %",
                "coverage %",
                "found %",
                "looks %",
                f"any of {FAMILY} %",
            ),
            tuple(
                partial(of_population, between, noise, hosts, unequal, half)
                for between, noise, unequal in (
                    ("none", "normal", False),
                    ("normal", "normal", False),
                    ("normal", "normal", True),
                    ("normal", "heavy-tailed", True),
                    ("normal", "bimodal", True),
                    ("t (3)", "log-normal", True),
                    ("skewed", "normal", True),
                    ("two kinds", "normal", True),
                    ("1 in 10", "normal", True),
                )
                for hosts in HOSTS
            ),
        ),
        Table(
            "Hosts that are not like the others",
            f"{few} campaigns a row of {BLOCKS} blocks a host. *Alike*: all hosts are, and any is named. "
            f"*One differs*: it adds {100 * EFFECT:g}% to the log ratios of one of two comparisons, or its "
            "noise is three times as large. *Found*: it is named. *Wrong*: any other host is.",
            (
                "noise",
                "hosts",
                "alike: any %",
                "one differs: found %",
                "wrong %",
                "noisy: found %",
                "wrong %",
            ),
            tuple(
                partial(unlike, noise, hosts, few)
                for noise in ("normal", "log-normal", "bimodal", "heavy-tailed")
                for hosts in HOSTS[:3]
            ),
        ),
    ]


def of_population(between: str, noise: str, hosts: int, unequal: bool, campaigns: int) -> Row:
    """Identical code on hosts that differ."""
    rng = rng_of("hosts", between, noise, hosts, unequal)
    draw, promise = BETWEEN_HOSTS[between]
    most = max(LOOKS)
    shape = campaigns * hosts
    data = log_ratios(NOISES[noise], rng, shape, most)[:, 0].reshape(campaigns, hosts, most)
    of_host = BETWEEN * draw(rng, shape).reshape(campaigns, hosts)
    data += of_host[..., None]
    blocks = rng.integers(2, 25, (campaigns, hosts)) if unequal else np.full((campaigns, hosts), BLOCKS)
    names = [[str(host)] for host in range(hosts)]

    def sample(campaign: int, limit: int) -> Sample:
        counts = np.minimum(blocks[campaign] if limit == most or not unequal else limit, limit)
        counts = np.broadcast_to(counts, hosts).tolist()
        parts = [data[campaign, host, :count] for host, count in enumerate(counts)]
        where = [name for host, count in enumerate(counts) for name in names[host] * count]
        return Sample("logs", np.concatenate(parts), hosts=where)

    def alarm(samples: list[Sample], look: Look, *, together: bool = True) -> bool:
        question = Question(0, "family", look, population=together)
        decided = decide(samples, ["higher"] * len(samples), question)
        return any(estimate.verdict != "undecided" for estimate in decided)

    [once] = looks(Design(blocks=BLOCKS))
    levels = looks(Design(blocks=max(LOOKS), until="verdict", at_least=min(LOOKS)))
    low, high, alarms, pooled, early = [], [], [], [], []
    for campaign in range(campaigns):
        of_campaign = sample(campaign, most)
        interval = population(of_campaign, 0.05).interval
        assert interval is not None
        low.append(math.log(interval.low))
        high.append(math.log(interval.high))
        alarms.append(alarm([of_campaign], once))
        pooled.append(alarm([of_campaign], once, together=False) if campaign < campaigns // 8 else None)
        early.append(any(alarm([sample(campaign, look.blocks)], look) for look in levels))
    families = [
        alarm([sample(campaign, most) for campaign in range(first, first + FAMILY)], once)
        for first in range(0, campaigns - FAMILY + 1, FAMILY)
    ]
    coverage: Promise = "at least 95%" if promise else ""
    return (
        between,
        noise,
        hosts,
        "2 to 24" if unequal else BLOCKS,
        Rate.of(alarms, promise),
        Rate.of([one for one in pooled if one is not None]),
        Rate.of([a <= 0 <= b for a, b in zip(low, high, strict=True)], coverage),
        Rate.of([one + math.log1p(EFFECT) > 0 for one in low]),
        Rate.of(early, promise),
        Rate.of(families, promise),
    )


def unlike(noise: str, hosts: int, campaigns: int) -> Row:
    """Hosts that are alike, and one that is not."""
    rng = rng_of("unlike", noise, hosts)
    data = log_ratios(NOISES[noise], rng, campaigns * hosts, BLOCKS, contexts=2)
    data = data.transpose(0, 2, 1).reshape(campaigns, hosts, BLOCKS, 2)

    def named(of_hosts: Array) -> set[str]:
        blocks = {str(host): rows for host, rows in enumerate(of_hosts)}
        return {found.host for found in unlike_others(blocks, 0.05)}

    faster, noisy = data.copy(), data.copy()
    faster[:, 0, :, 0] += math.log1p(EFFECT)
    noisy[:, 0] *= 3
    alike, of_faster, of_noisy = ([named(campaign) for campaign in of] for of in (data, faster, noisy))
    return (
        noise,
        hosts,
        Rate.of([bool(found) for found in alike], "at most 5%"),
        Rate.of(["0" in found for found in of_faster]),
        Rate.of([bool(found - {"0"}) for found in of_faster]),
        Rate.of(["0" in found for found in of_noisy]),
        Rate.of([bool(found - {"0"}) for found in of_noisy]),
    )
