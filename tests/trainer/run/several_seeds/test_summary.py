import pytest

from trainer.events.seed_summary import SeedOutcome, best_outcome, collapse, summarise, t_interval, t_quantile


@pytest.mark.parametrize(
    ("freedom", "tabled"), [(1, 12.706205), (2, 4.302653), (4, 2.776445), (9, 2.262157), (30, 2.042272), (63, 1.998341)]
)
def test_quantiles_as_in_the_tables(freedom: int, tabled: float) -> None:
    assert t_quantile(freedom) == pytest.approx(tabled, abs=2e-6)


def test_an_interval_by_hand() -> None:
    # mean .6, s = .1, n = 4: .6 ± 3.182446 · .1 / 2 (the deviations −.1, 0, 0, .1 give s² = .02/3)
    low, high = t_interval([0.5, 0.6, 0.6, 0.7])
    half = 3.182446 * (0.02 / 3) ** 0.5 / 2
    assert (low, high) == pytest.approx((0.6 - half, 0.6 + half), abs=1e-6)


def test_summarise_means_figures_and_uses_interval_over_seeds() -> None:
    runs = [
        {"win_rate": 0.6, "win_rate_low": 0.5, "win_rate_high": 0.7, "kl": 4.0},
        {"win_rate": 0.8, "win_rate_low": 0.7},
    ]
    summary = summarise(runs)
    assert set(summary) == {"win_rate", "win_rate_low", "win_rate_high", "kl"}
    assert (summary["win_rate"], summary["kl"]) == (pytest.approx(0.7), 4.0)


def test_an_interval_of_rates_stays_among_the_rates() -> None:
    names = ("win_rate", "best_win_rate", "rm_win_rate", "eos_rate_after", "reward_model_accuracy", "eval/accuracy")
    summary = summarise([dict.fromkeys((*names, "score_after"), value) for value in (0.6, 0.8)])
    assert all((summary[f"{name}_low"], summary[f"{name}_high"]) == (0.0, 1.0) for name in names)
    # s = .1·√2, n = 2: half = 12.706205 · .1
    found = summary["score_after_low"], summary["score_after_high"]
    assert found == pytest.approx((-0.5706205, 1.9706205), abs=1e-6)
    narrow = summarise([{"win_rate": value} for value in (0.5, 0.6, 0.6, 0.7)])
    assert (narrow["win_rate_low"], narrow["win_rate_high"]) == t_interval([0.5, 0.6, 0.6, 0.7])


def test_summarise_best_steps_are_left_out() -> None:
    summary = summarise([{"best_step": 6.0, "kl": 1.0}, {"best_step": 3.0, "kl": 1.0}, {"best_step": 3.0, "kl": 1.0}])
    assert summary == {"kl": 1.0, "kl_low": 1.0, "kl_high": 1.0}


def test_the_best_seed_wins_most_and_did_not_fail() -> None:
    def seed(number: int, failed: bool = False, **summary: float) -> SeedOutcome:
        return SeedOutcome(number, 1.0, summary, failed, None)

    assert best_outcome([seed(0, win_rate=0.6), seed(1, win_rate=0.7), seed(2, failed=True)]) == seed(1, win_rate=0.7)
    equal = [seed(0, win_rate=1.0, score_after=1.0, kl=3.0), seed(1, win_rate=1.0, score_after=1.5, kl=9.0)]
    assert best_outcome([*equal, seed(2, win_rate=1.0, score_after=1.5, kl=9.0), seed(3, score_after=9.0)]) == equal[1]
    assert best_outcome([seed(0, failed=True), seed(1), seed(2)]) == seed(1)
    assert best_outcome([seed(0, failed=True)]) is None


@pytest.mark.parametrize(
    ("summary", "said"),
    [
        ({"win_rate": 0.40, "win_rate_high": 0.49}, "win rate 0.40, at most 0.49"),
        ({"eos_rate_before": 0.9, "eos_rate_after": 0.44}, "44% do, before it was 90%"),
        ({"entropy_kept": 0.05}, "5% of its first entropy"),
    ],
)
def test_collapse_names_the_figure_that_shows_it(summary: dict[str, float], said: str) -> None:
    assert said in (collapse(summary, 0.1) or "")


def test_collapse_is_none_for_weak_but_intact_figures() -> None:
    unlucky = {
        "win_rate": 0.45,
        "win_rate_high": 0.54,
        "eos_rate_before": 0.9,
        "eos_rate_after": 0.45,
        "entropy_kept": 0.1,
    }
    assert collapse(unlucky, 0.1) is None
    assert (
        collapse({"eos_rate_before": 0.4, "eos_rate_after": 0.0}, 0.1) is None
    )  # its answers never ended by themselves
    assert collapse({}, 0.1) is None and collapse({"win_rate": 1.0}, 0.1, "It diverged.") == "It diverged."
