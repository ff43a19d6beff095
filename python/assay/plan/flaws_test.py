"""Where trials that mislead on purpose run."""

from pathlib import Path

from assay.experiment import Experiment, parse
from assay.experiment.flaws import flaws_of
from assay.plan.make_plan import make_plan

HARNESSES = '[factors.harness]\nhonest = {}\nflawed = { flaws = ["never_inserts", "one_seed"] }\n'


def misleading(text: str = HARNESSES) -> Experiment:
    """Return an experiment of one thread that misleads on purpose."""
    trial = '[trial]\nsubject = "bt_map"\nkey_range = 100\nmix = { insert = 50, erase = 50 }\n'
    return parse(f"[pitfall]\ndeliberate = true\n{trial}{text}", Path("pitfall.toml"))


def test_trials_with_flaws_run_in_a_program_of_their_own_and_others_as_before() -> None:
    plan = make_plan(misleading(), 1, lambda _: "/bin/assay-trial", 1000)
    for trial in plan.trials:
        flawed = trial.levels["harness"] == "flawed"
        assert trial.program == ("/bin/assay-pitfalls" if flawed else "/bin/assay-trial")
        assert ("flaws" in trial.request) == flawed
        assert flaws_of(trial.request) == (("never_inserts", "one_seed") if flawed else ())


def test_no_flaws_make_an_honest_trial() -> None:
    honest = misleading('[factors.flaws]\nhonest = []\nflawed = ["one_seed"]\n')
    trials = make_plan(honest, 1, lambda _: "/bin/assay-trial", 1000).trials
    assert {trial.program for trial in trials if trial.levels["flaws"] == "honest"} == {"/bin/assay-trial"}
