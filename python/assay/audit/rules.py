"""Every rule. `guide/ID.md` explains each: what it sees, why it matters, what to do."""

from assay.audit import design, flaws, host, results, trials, validations, workload
from assay.audit.types import Evidence, Rule

DESIGN_RULES: tuple[Rule[Evidence], ...] = (
    flaws.flawed_on_purpose,
    design.too_few_blocks,
    design.family_too_large,
    design.short_trials,
    design.oversubscribed,
    design.unpinned,
    workload.mix_without_finds,
    workload.ranges_among_updates,
    workload.rejected_engine,
    workload.not_replayable,
    workload.reclamation_differs,
)
"""Those that can tell from the experiment alone, before it runs."""

RULES: tuple[Rule[Evidence], ...] = (
    trials.invalid_trials,
    validations.validate,
    trials.missing_metric,
    host.unoptimised_build,
    *DESIGN_RULES,
    results.verdicts_differ_by_mode,
    results.subject_against,
    host.busy_host,
    host.host_changed,
    host.environment_changed,
    host.host_settings,
    host.different_builds,
    host.missing_calibration,
    results.several_clusters,
    trials.no_steady_state,
    trials.warm_up,
    trials.throughput_drift,
    trials.changing_throughput,
    host.campaign_drift,
    trials.preempted,
    trials.migrated,
    trials.paged,
    trials.multiplexed,
    host.frequency_scaling,
    host.fixed_layout,
    host.one_layout,
    results.memory_use,
    flaws.nominal_time,
    flaws.shared_seeds,
    flaws.idle_processors,
    flaws.empty_at_start,
    flaws.prefill_by_one_thread,
    flaws.mix_not_performed,
    flaws.updates_always_succeed,
    workload.array_repeats,
    workload.overloaded,
    workload.mean_of_latencies,
    workload.starved,
    workload.updates_without_effect,
    trials.unfair,
    trials.generation,
)
"""Among findings of the same severity, the order in which they are shown."""
