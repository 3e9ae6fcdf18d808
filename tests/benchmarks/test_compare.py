"""Ratios and spreads from given numbers."""

from dataclasses import replace

import pytest

from benchmarks.ppo.compare import Spread, end_of_curve, ratios, seconds, summary, table
from benchmarks.ppo.runs import Iteration, Run


def run(*times: float, tokens: float = 100.0, rewards: tuple[float, ...] = (), memory: float = 50.0) -> Run:
    """A run with iterations of those seconds, the first not counted."""
    rewards = rewards or (0.0,) * len(times)
    found = [Iteration(t, t / 10, t / 10, t * 0.8, tokens, r, 0.0) for t, r in zip(times, rewards, strict=True)]
    return Run("one", found, found[1:], memory, 1.0, 1.0, 0.0)


def test_seconds_is_the_median_iteration_without_the_first() -> None:
    assert seconds(run(99.0, 1.0, 5.0, 2.0)) == 2.0


def test_ratios_are_taken_pair_by_pair() -> None:
    ours, peers = [run(9, 1), run(9, 2)], [run(9, 2), run(9, 3)]
    assert ratios(ours, peers, seconds, more_is_better=False) == [2.0, 1.5]
    assert ratios(ours, peers, seconds, more_is_better=True) == [0.5, 2 / 3]


def test_the_speedup_is_the_pairs_median_with_its_spread() -> None:
    ours = [run(9, 1, memory=40.0), run(9, 1, memory=40.0), run(9, 1, memory=40.0)]
    found = summary(ours, [run(9, 2), run(9, 4), run(9, 3)])
    assert (found["speedup"], found["speedup_low"], found["speedup_high"]) == (3.0, 2.0, 4.0)
    assert found["memory_ratio"] == pytest.approx(0.8)


def test_shorter_responses_do_not_count_as_speed_in_tokens() -> None:
    found = summary([run(9, 1, tokens=50.0)], [run(9, 2)])
    assert found["speedup"] == 2.0
    assert found["speedup_tokens"] == 1.0


def test_a_curve_ends_with_the_mean_of_its_last_five() -> None:
    assert end_of_curve(run(*[1.0] * 7, rewards=(9, 9, 1, 2, 3, 4, 5))) == 3.0


def test_a_spread_has_its_middle_and_its_ends() -> None:
    assert Spread.of([3.0, 1.0, 2.0]) == Spread(2.0, 1.0, 3.0)


def test_compare_table_marks_disturbed_runs() -> None:
    calm, busy = run(9, 1), replace(run(9, 2), foreign_cores=0.9)
    assert "1 runs were disturbed" in table(summary([calm], [busy]))
    assert "disturbed" not in table(summary([calm], [run(9, 2)]))
