"""`assay aa`: whether identical code is called different."""

import typer

from assay.cli.options import DEFAULT_STORE, ExperimentArgument, JsonOption, StoreOption


def aa(
    experiment: ExperimentArgument,
    store: StoreOption = DEFAULT_STORE,
    as_json: JsonOption = False,
) -> None:
    """Compare identical code under two names.

    Every condition of the experiment in the file EXPERIMENT is compared with a copy of itself. This
    runs a campaign as `assay run` does, and then says in how many comparisons identical code was called
    different. The exit code is 1 if that is more than the promised 5% allows, if no comparison had enough
    pairs to tell, or if a trial was not valid.

    Example: `assay aa experiments/quickstart.toml`
    """
    from assay.analysis.aa import false_alarms
    from assay.cli.run import run_and_report
    from assay.experiment import load

    loaded = load(experiment, identical=True)
    loaded.check_honest("assay aa")
    report = run_and_report(loaded, store, as_json)
    alarms = false_alarms(report.analysis)
    if not alarms.compatible:
        raise typer.Exit(1)  # the report says why
