import itertools

from hypothesis import given
from hypothesis import strategies as st

from trainer.health import Monitor
from trainer.ppo.state import RunHistory
from trainer.selection import evaluation_figures, is_better, merit, summary_figures
from trainer.spec import HealthSpec, PPOSpec

# from the worst to the best
ORDER = [
    {"win_rate": 0.8, "score": 9.0, "kl": 0.0},
    {"win_rate": 1.0, "kl": 0.0},
    {"win_rate": 1.0, "score": 1.0},
    {"win_rate": 1.0, "score": 1.0, "kl": 5.0},
    {"win_rate": 1.0, "score": 1.0, "kl": 4.0},
    {"win_rate": 1.0, "score": 2.0, "kl": 9.0},
    {"win_rate": 1.0, "judge": -1.0, "score": 0.0, "kl": 9.0},
    {"win_rate": 1.0, "judge": 0.5, "score": -3.0, "kl": 9.0},
]


def test_is_better_compares_win_rate_judge_score_then_kl() -> None:
    for (i, one), (j, other) in itertools.product(enumerate(ORDER), repeat=2):
        assert is_better(one, other) == (i > j)


def test_merit_without_win_rate_is_none() -> None:
    assert merit({"score": 3.0}) is None
    assert not is_better({"score": 3.0}, {}) and is_better({"win_rate": 0.0}, {})


def test_figures_of_metrics_and_of_a_summary_select_alike() -> None:
    metrics = {"eval/win_rate": 0.9, "eval/score": 1.5, "eval/judge": 0.3, "eval/kl": 4.0, "objective/kl": 9.0}
    summary = {"win_rate": 0.9, "score_after": 1.5, "score_before": 0.1, "judge_after": 0.3, "kl": 4.0, "best_kl": 1.0}
    assert merit(evaluation_figures(metrics)) == merit(summary_figures(summary)) == (0.9, 0.3, 1.5, -4.0)


def test_history_of_tied_win_rates_keeps_the_highest_score() -> None:
    """22 evaluations that win on all of 16 prompts: the score still rises until step 60, then falls."""
    history = RunHistory(Monitor(HealthSpec(), PPOSpec()))
    for step in range(0, 220, 10):
        history.add(step, {"eval/win_rate": 1.0, "eval/score": -abs(step - 60.0), "eval/kl": 1.0})
    assert history.best_step == 60 and history.best["score"] == 0.0


figures = st.fixed_dictionaries(
    {"win_rate": st.sampled_from([0.5, 1.0])},
    optional={
        "judge": st.sampled_from([0.0, 1.0]),
        "score": st.sampled_from([0.0, 1.0]),
        "kl": st.sampled_from([1.0, 2.0]),
    },
)


@given(st.lists(figures, min_size=1, max_size=8))
def test_history_best_is_the_first_maximum_of_merit(evaluations: list[dict[str, float]]) -> None:
    history = RunHistory(Monitor(HealthSpec(), PPOSpec()))
    for step, found in enumerate(evaluations):
        history.add(step, {f"eval/{name}": value for name, value in found.items()})
    merits = [merit(found) for found in evaluations]
    assert history.best_step == merits.index(max(m for m in merits if m is not None))
