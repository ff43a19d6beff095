"""The conditions of a campaign as times, which is all that other tools' formats hold."""

from collections.abc import Mapping

from assay.errors import AssayError
from assay.report.metrics import measured
from assay.store import Store
from assay.store.types import CampaignSummary, StoredTrial, representative
from assay.words import condition_name
from assay_foreign.document import LARGEST
from assay_foreign.report import common_unit
from assay_foreign.types import Fact
from assay_foreign.write import Exported, google_benchmark_json, hyperfine_json


def for_google_benchmark(store: Store, campaign: CampaignSummary) -> tuple[str, str]:
    """Return the JSON of a campaign for Google Benchmark's scripts, and in words what its times are."""
    conditions, host, what = _times(store, campaign, "google-benchmark")
    return google_benchmark_json(campaign.experiment, conditions, host, campaign.started_at), what


def for_hyperfine(store: Store, campaign: CampaignSummary) -> tuple[str, str]:
    """Return the JSON of a campaign for hyperfine's scripts, and in words what its times are."""
    conditions, _, what = _times(store, campaign, "hyperfine")
    return hyperfine_json(conditions), what


def _times(store: Store, campaign: CampaignSummary, tool: str) -> tuple[list[Exported], dict[str, Fact], str]:
    """Return the conditions of a campaign as times, facts about its host, and in words what the times are.

    Raises:
        AssayError: another tool measured it, it misleads on purpose, its main metric is not a time or a rate,
            or no trial is valid.
    """
    experiment = store.experiment(campaign.id)
    if experiment.mark:
        raise AssayError(
            f"campaign {campaign.id} is {experiment.mark}, which the JSON of {tool} has no place to say;"
            " export it as csv"
        )
    metric = experiment.comparison.metric
    common = common_unit(experiment, metric)
    if common is None or common[0] == "bytes":
        raise AssayError(
            f"campaign {campaign.id} compares {measured(experiment, metric)}, which is neither a time nor"
            f" op/s: the JSON of {tool} holds times alone; export it as csv"
        )
    unit, factor = common
    valid = [
        trial for trial in store.trials(campaign.id) if trial.status == "valid" and trial.metrics.get(metric)
    ]
    conditions = [
        _exported(metric, levels, representative(trials), unit, factor)
        for levels in experiment.conditions()
        if (trials := [trial for trial in valid if trial.levels == levels])
    ]
    if not conditions:
        raise AssayError(
            f"campaign {campaign.id} has no valid trial with {metric}: see why with `assay store list trials"
            f" --campaign {campaign.id}`"
        )
    host = {name: value for name, value in campaign.host.items() if isinstance(value, str | int | float)}
    what = metric if unit == "ns" else f"time an operation, from {metric}"
    lacking = [levels for levels in experiment.conditions() if all(trial.levels != levels for trial in valid)]
    note = f"; {len(lacking)} without a valid trial left out" if lacking else ""
    return conditions, host, f"{what}, a repetition for each valid trial{note}"


def _exported(
    metric: str, levels: Mapping[str, object], trials: list[StoredTrial], unit: str, factor: float
) -> Exported:
    times = [
        1e9 / trial.metrics[metric] if unit == "op/s" else factor * trial.metrics[metric] for trial in trials
    ]
    processor = [of for trial in trials if (of := _processor_ns(trial, metric)) is not None]
    if not all(0 <= time <= LARGEST for time in (*times, *processor)):
        raise AssayError(
            f"{metric} of a trial of {condition_name(levels)} is not a time from 0 to {LARGEST:g} ns, and no"
            " tool reads others; export it as csv"
        )
    return Exported(
        {name: level for name, level in levels.items() if isinstance(level, str | int | float)},
        times,
        processor if len(processor) == len(times) else (),
    )


def _processor_ns(trial: StoredTrial, metric: str) -> float | None:
    """Return the processor time that goes with a time or a rate; None where none was measured."""
    if metric == "throughput":
        return trial.metrics.get("processor_ns_per_operation")
    user, system = trial.metrics.get("user_ms"), trial.metrics.get("system_ms")
    return None if metric != "wall_ms" or user is None or system is None else 1e6 * (user + system)
