import json
import math

import pytest

from assay_lab.energy.model import Work, from_two_runs, memory_boundness, predicted, relative_time
from conftest import ROOT

EXAMPLES = ROOT / "satellites/lab/native/assay/energy" / "model_examples.json"


def test_it_gives_what_the_examples_say_as_the_native_model_does() -> None:
    for example in json.loads(EXAMPLES.read_text()):
        m = memory_boundness(tuple(example["one"]), tuple(example["other"]))
        assert m == pytest.approx(math.inf if example["m"] is None else example["m"], abs=1e-9)
        if "at" in example:
            assert relative_time(m, example["at"]) == pytest.approx(example["times"])


@pytest.mark.parametrize(("gigacycles", "outside_s"), [(2.0, 0.0), (2.0, 0.7), (0.5, 5.0)])
def test_two_runs_give_the_work_that_made_them(gigacycles: float, outside_s: float) -> None:
    work = Work(gigacycles, outside_s)
    found = from_two_runs((2.0, work.seconds(2.0)), (3.4, work.seconds(3.4)))
    assert found.gigacycles == pytest.approx(gigacycles)
    assert found.outside_s == pytest.approx(outside_s, abs=1e-12)


def test_where_the_higher_frequency_gains_nothing_all_time_is_outside() -> None:
    assert from_two_runs((1.0, 2.0), (2.0, 2.2)) == Work(0.0, 2.1)


def test_power_by_the_cube_of_the_frequency_makes_ed2_the_same_at_all() -> None:
    costs = [each.cost(2) for each in predicted(Work(4.0, 0.0), (1.0, 2.0, 4.0), lambda f: f**3)]
    assert costs == pytest.approx([costs[0]] * 3)
