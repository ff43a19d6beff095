"""What temporary files hold comes back as it was, whatever its order."""

from assay_foreign.on_disk import Tally, grouped, told_apart
from assay_foreign.types import Benchmark


def test_values_are_grouped_in_the_order_in_which_their_keys_first_came() -> None:
    entries = [(("b", 1), 3), (("a", None), 1), (("b", 1), 2), (("c", 1), 5), (("a", None), 4)]
    assert list(grouped(iter(entries), int)) == [[3, 2], [1, 4], [5]]
    assert list(grouped(iter([]), int)) == []
    interrupted = [("a", 1), ("a", 2), ("b", 3), ("a", 4), ("b", 5), ("b", 6)]
    assert list(grouped(iter(interrupted), int)) == [[1, 2, 4], [3, 5, 6]]


def test_texts_are_counted() -> None:
    tally = Tally(iter(["a", "b", "a"]))
    assert (tally["a"], tally["b"], tally["c"], "b" in tally, "c" in tally) == (2, 1, 0, True, False)


def test_namesakes_get_the_next_number_that_is_free() -> None:
    names = ["a", "a #2", "b", "a", "a", "b", "a #2"]
    apart = told_apart(Benchmark(name, {}, 1, ()) for name in names)
    assert [benchmark.name for benchmark in apart] == ["a", "a #2", "b", "a #3", "a #4", "b #2", "a #2 #2"]
    assert (len(apart), apart[3].name, apart == tuple(apart)) == (7, "a #3", True)
    other = told_apart(Benchmark("a", {"n": n}, 1, ()) for n in (1, 2))
    assert [benchmark.name for benchmark in other] == ["a", "a"]


def test_more_benchmarks_than_one_part_holds_come_back_in_order_each_time() -> None:
    names = [f"{number:_>100}" for number in range(2000)]
    apart = told_apart(Benchmark(name, {}, 1, ()) for name in [*names, names[0], names[-1]])
    for _ in range(2):
        found = [benchmark.name for benchmark in apart]
        assert found == [*names, f"{names[0]} #2", f"{names[-1]} #2"]
