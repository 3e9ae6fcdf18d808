import pytest

from trainer.completions import Completion
from trainer.evaluation import compare, win_rate
from trainer.statistics import wilson_interval


def completion(score: float, judge: float | None = None, kl: float = 0.0, tokens: int = 4) -> Completion:
    return Completion("p", "r", score=score, kl=kl, tokens=tokens, finished=True, judge=judge)


def test_a_tie_is_half_a_win() -> None:
    assert win_rate([1, 1, 1, 1], [2, 2, 1, 0]) == 0.625


def test_wilson_by_hand() -> None:
    # p = .9, n = 128, z² = 3.84145: centre (.9 + .0150057) / 1.0300113, half √(.09/128 + .0000586) · 1.959964 / 1.0300113
    assert wilson_interval(0.9, 128) == pytest.approx((0.83586, 0.94083), abs=1e-4)
    low, high = wilson_interval(1.0, 20)
    assert (low, high) == (pytest.approx(0.83887, abs=1e-4), pytest.approx(1.0))


def test_the_judge_decides_where_there_is_one() -> None:
    before = [completion(0, judge=5), completion(0, judge=5)]
    after = [completion(1, judge=4, kl=2, tokens=6), completion(1, judge=6, kl=4, tokens=8)]
    summary = compare(before, after)
    assert (summary["rm_win_rate"], summary["win_rate"]) == (1.0, 0.5)
    assert (summary["judge_before"], summary["judge_after"]) == (5, 5)
    assert (summary["kl"], summary["length_after"], summary["score_after"]) == (3, 7, 1)


def test_without_a_judge_the_reward_model_decides() -> None:
    summary = compare([completion(0)], [completion(1)])
    assert summary["win_rate"] == 1.0 and "judge_after" not in summary
