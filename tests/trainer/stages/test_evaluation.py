from trainer.stages.evaluation import Completion, compare, means, points


def completion(
    score: float | None, judge: float | None = None, kl: float = 0.0, tokens: int = 4, finished: bool = True
) -> Completion:
    return Completion("p", "r", score=score, kl=kl, tokens=tokens, finished=finished, judge=judge)


def test_a_tie_is_half_a_win() -> None:
    assert points([1, 1, 1, 1], [2, 2, 1, 0]) == [1, 1, 0.5, 0]


def test_means_of_both_sides() -> None:
    before = [completion(0, judge=5), completion(0, judge=5)]
    after = [completion(1, judge=4, kl=2, tokens=6), completion(1, judge=6, kl=4, tokens=8, finished=False)]
    assert compare(before, after) == {
        "kl": 3, "score_before": 0, "score_after": 1, "judge_before": 5, "judge_after": 5, "length_before": 4,
        "length_after": 7, "eos_rate_before": 1, "eos_rate_after": 0.5, "rm_win_rate": 1,
    }  # fmt: skip


def test_compare_without_rewards_or_judge_omits_their_figures() -> None:
    summary = compare([completion(None)], [completion(None)])
    assert set(summary) == {"kl", "length_before", "length_after", "eos_rate_before", "eos_rate_after"}
    assert set(means([completion(1)])) == {"kl", "response_length", "eos_rate", "score"}
