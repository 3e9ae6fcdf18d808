"""Each rule on histories written by hand: fires at its step, and is silent on a healthy run."""

import json
from typing import Any

import pytest

from trainer.health import HealthFinding, Monitor, gravest
from trainer.health.changes import CHANGES, Change, suggested_values
from trainer.health.rules import RULES
from trainer.spec import HealthSpec, JobSpec, PPOSpec
from trainer.spec.facts import fields_of

HEALTHY = {
    "objective/kl": 4.0, "objective/scores": 0.5, "policy/entropy_avg": 2.0, "policy/clipfrac_avg": 0.1,
    "policy/approxkl_avg": 0.02, "lr": 1e-6,
    "val/explained_var": 0.4, "val/response_length": 20.0, "val/eos_rate": 0.9, "loss/value_avg": 0.3,
    "health/skipped_steps": 0.0, "objective/raw_scores": 0.5, "objective/raw_scores_std": 0.2, "objective/kl_penalty_std": 0.1,
    "sampling/ratio/outside": 0.0, "sampling/ratio/beyond_rounding": 0.0, "reward/model/disagreement": 0.3,
}  # fmt: skip


def monitor(ppo: dict[str, Any] | None = None, **rules: Any) -> Monitor:
    return Monitor(HealthSpec.model_validate(rules), PPOSpec.model_validate(ppo or {}))


def watch(found: Monitor, history: list[dict[str, float]], first_step: int = 1) -> list[tuple[str, int]]:
    """(rule, step) of everything that fires when `history` follows on healthy values."""
    fired = []
    for step, values in enumerate(history, first_step):
        fired += [(finding.rule, finding.step) for finding in found.look(step, HEALTHY | values)]
    return fired


def test_a_healthy_run_sets_nothing_off() -> None:
    evaluations = [{"eval/win_rate": 0.5 + 0.002 * step, "eval/score": 0.01 * step} for step in range(100)]
    assert watch(monitor(), evaluations) == []


@pytest.mark.parametrize(
    ("rule", "bad", "patience"),
    [
        ("kl_blow_up", {"objective/kl": 50.1}, 1),
        ("negative_kl", {"objective/kl": -1.1}, 5),
        ("entropy_collapse", {"policy/entropy_avg": 0.19}, 3),
        ("approxkl_high", {"policy/approxkl_avg": 0.11}, 3),
        ("clipfrac_high", {"policy/clipfrac_avg": 0.31}, 3),
        ("clipfrac_zero", {"policy/clipfrac_avg": 0.0, "objective/kl": 0.05}, 30),
        ("negative_explained_variance", {"val/explained_var": -0.01}, 20),
        ("length_explosion", {"val/response_length": 41.0, "objective/scores": 0.6}, 3),
        ("length_collapse", {"val/response_length": 4.9, "objective/scores": 0.6}, 3),
        ("ensemble_disagreement", {"reward/model/disagreement": 0.61}, 5),
        ("truncation", {"val/eos_rate": 0.29}, 10),
        ("value_loss_spike", {"loss/value_avg": 6.1}, 1),
        ("kl_outweighs_reward", {"objective/kl_penalty_std": 0.11}, 10),
        ("sampler_gap", {"sampling/ratio/outside": 0.051}, 3),
        ("sampler_differs", {"sampling/ratio/beyond_rounding": 0.11}, 3),
        ("not_finite", {"health/skipped_steps": 1.0}, 1),
    ],
)
def test_a_rule_fires_when_its_patience_is_over_and_only_once(rule: str, bad: dict[str, float], patience: int) -> None:
    """Six healthy steps; almost long enough bad, with one healthy step after; then bad for long."""
    history = [{}] * 6 + [bad] * (patience - 1) + [{}] + [bad] * (patience + 3)
    assert watch(monitor(), history) == [(rule, 6 + patience + patience)]


def test_refill_short_fires_with_a_refill_and_doubles_its_rounds() -> None:
    short = [{"refill/shortfall": 0.1}] * 9 + [{"refill/shortfall": 0.11}] * 5
    advantage = {"estimator": "sequence", "baseline": "group_mean"}
    ppo: dict[str, Any] = {"samples_per_prompt": 4, "advantage": advantage, "rollout": {"refill": {"max_rounds": 8}}}
    assert watch(monitor(ppo), short) == [("refill_short", 14)]
    assert watch(monitor(), short) == []
    (change,) = suggested_values(_spec(**ppo), CHANGES["refill_short"])
    assert (change.field, change.value) == ("ppo.rollout.refill.max_rounds", 16)


@pytest.mark.parametrize(
    "harmless",
    [
        {"objective/kl": 50.0},
        {"objective/kl": -1.0},
        {"policy/entropy_avg": 0.2},
        {"policy/approxkl_avg": 0.1},
        {"policy/clipfrac_avg": 0.3},
        {"policy/clipfrac_avg": 1e-6},
        {"policy/clipfrac_avg": 0.0, "objective/kl": 0.1},  # from .1 nats on, the policy has moved
        {"val/explained_var": 0.0},
        {"val/response_length": 40.0, "objective/scores": 0.6},
        {"val/response_length": 60.0, "objective/scores": 0.4},  # longer, but not because it pays
        {"val/response_length": 60.0, "objective/scores": 0.5},  # the score is the first one
        {"val/response_length": 5.0, "objective/scores": 0.6},
        {"val/response_length": 4.0, "objective/scores": 0.5},
        {"val/eos_rate": 0.3},
        {"loss/value_avg": 6.0},
    ],
)
def test_rule_value_at_its_limit_is_no_finding(harmless: dict[str, float]) -> None:
    assert watch(monitor(), [{}] * 6 + [harmless] * 40) == []


def test_truncation_at_its_limit_ignores_rounding() -> None:
    """1 − .7 is .30000000000000004 in floating point."""
    assert watch(monitor(truncation={"limit": 0.3}), [{"val/eos_rate": 0.7}] * 40) == []


def test_value_compared_with_zero_is_no_finding() -> None:
    assert watch(monitor(), [{"policy/entropy_avg": 0.0}] * 9) == []
    assert watch(monitor(), [{"loss/value_avg": 0.0}] * 6 + [{"loss/value_avg": 1.0}]) == []


def test_over_optimisation_fires_on_two_falling_win_rates() -> None:
    """At both evaluations the score must be above that of the best win rate."""
    evaluations = [(0.5, 0.0), (0.8, 1.0), (0.7, 0.9), (0.7, 1.2), (0.65, 1.4), (0.6, 1.5)]
    history: list[dict[str, float]] = []
    for win_rate, score in evaluations:
        history += [{"eval/win_rate": win_rate, "eval/score": score}, {}, {}]  # evaluated at every third step
    assert watch(monitor(), history) == [("over_optimisation", 13)]  # score below 1.0 at the third does not count


def evaluated(*figures: tuple[float, float]) -> list[dict[str, float]]:
    return [{"eval/win_rate": win_rate, "eval/score": score} for win_rate, score in figures]


def test_over_optimisation_limit_ignores_rounding() -> None:
    """.9 − .8 is .09999999999999998 in floating point. A score that is equal has not risen."""
    assert watch(monitor(), evaluated((0.9, 1), (0.8, 2), (0.8, 2))) == [("over_optimisation", 3)]
    assert watch(monitor(), evaluated((0.9, 1), (0.7, 1), (0.7, 1))) == []


def test_over_optimisation_compares_win_rates_with_win_rates() -> None:
    """The second evaluation has a judge's mean alone. It neither counts as a fall nor replaces the best."""
    history = evaluated((0.8, 0), (0.8, 0), (0.6, 2), (0.6, 3))
    history[1] = {"eval/judge": 0.1, "eval/score": 1.0}
    assert watch(monitor(), history) == [("over_optimisation", 4)]


def test_over_optimisation_names_the_best_of_tied_evaluations() -> None:
    watched = monitor()
    tied = [one | {"eval/kl": kl} for one, kl in zip(evaluated(*[(0.8, 1.0)] * 3), (4.0, 3.0, 5.0), strict=True)]
    watch(watched, tied + evaluated((0.6, 2)))
    (finding,) = watched.look(5, HEALTHY | evaluated((0.6, 2))[0])
    assert [(point.metric, point.step) for point in finding.evidence[:2]] == [("eval/win_rate", 2), ("eval/score", 2)]


def test_over_optimisation_without_win_rate_uses_the_judge() -> None:
    history = [{"eval/judge": judge, "eval/score": score} for judge, score in [(0.9, 1), (0.85, 2), (0.7, 3), (0.6, 4)]]
    assert watch(monitor(), history) == [("over_optimisation", 4)]


def test_a_spike_is_one_against_the_last_twenty_steps() -> None:
    early = [{"loss/value_avg": 100.0}] * 11  # of the last twenty, eleven are 100: the median is 100
    history = early + [{"loss/value_avg": 1.0}] * 9
    assert watch(monitor(), [*history, {"loss/value_avg": 21.0}]) == []
    assert watch(monitor(), [*history, {}, {}, {"loss/value_avg": 21.0}]) == [("value_loss_spike", 23)]
    assert watch(monitor(), [{}] * 4 + [{"loss/value_avg": 21.0}]) == []  # too early to call
    balanced = [{"loss/value_avg": 3.0}] * 11 + [{"loss/value_avg": 1.0}] * 10  # the median of the last twenty is 2
    assert watch(monitor(), [*balanced, {"loss/value_avg": 41.0}]) == [("value_loss_spike", 22)]


def spreads(penalty: float, score: float, spread: float) -> dict[str, float]:
    names = ("objective/kl_penalty_std", "objective/raw_scores", "objective/raw_scores_std")
    return dict(zip(names, (penalty, score, spread), strict=True))


@pytest.mark.parametrize(
    ("first", "later", "fires"),
    [
        # β = .1 on scores of 0 or 1, of which .02 are 1: spread √(.02·.98) = .14; the penalties differ by .1 nats · β …
        (spreads(0.0, 0.02, 0.14), spreads(0.08, 0.05, 0.14), True),
        (spreads(0.0, 0.02, 0.14), spreads(0.06, 0.05, 0.14), False),  # … less than half of it: the reward leads
        (spreads(0.0, 0.02, 0.14), spreads(0.08, 0.17, 0.14), False),  # risen by .15, more than the spread: it learns
        (spreads(0.0, 0.25, 0.25), spreads(0.25, 0.5, 0.25), False),  # risen by the spread itself
        (spreads(0.0, 0.9, 0.3), spreads(0.14, 1.0, 0.0), False),  # learnt, and all alike: measured by the first spread
        (spreads(0.0, 0.0, 0.0), spreads(0.2, 0.01, 0.1), True),  # no score at all at first: by the present spread
        (spreads(0.0, 0.0, 0.0), spreads(0.2, 0.0, 0.0), False),  # never a score: not the penalty's fault
    ],
)
def test_kl_outweighs_reward_fires_where_gains_cancel(
    first: dict[str, float], later: dict[str, float], fires: bool
) -> None:
    expected = [("kl_outweighs_reward", 11)] if fires else []
    assert watch(monitor(), [first] + [later] * 20) == expected


def test_kl_outweighs_reward_suggests_a_number() -> None:
    """The best policy under the penalty is ½(σ/β)² nats away: at β = σ/10, 50 nats."""
    watched = monitor(kl_outweighs_reward={"patience": 1})
    watched.look(1, HEALTHY | spreads(0.0, 0.024, 0.0651))
    (finding,) = watched.look(2, HEALTHY | spreads(0.115, 0.0146, 0.06))
    assert "is 0.115, 1.8 times the spread of the scores (0.0651)" in finding.cause
    assert finding.suggestion.startswith("Lower `ppo.kl.coef` to 0.007 or less")
    assert finding.changes == (Change("ppo.kl.coef", to=0.007),)


def test_kl_outweighs_reward_suggests_coef_in_normalised_units() -> None:
    """Raw scores with a spread of .02, divided by their deviation so far, .02: a tenth of the spread is a β of .1."""
    watched, scale = monitor(kl_outweighs_reward={"patience": 1}), {"objective/score_scale": 0.02}
    watched.look(1, HEALTHY | spreads(0.0, 0.3, 0.02) | scale)
    (finding,) = watched.look(2, HEALTHY | spreads(0.03, 0.3, 0.02) | scale)
    assert finding.suggestion.startswith("Lower `ppo.kl.coef` to 0.1 or less")


def test_a_kl_in_the_loss_has_no_penalty_to_compare() -> None:
    values = {name: value for name, value in HEALTHY.items() if name != "objective/kl_penalty_std"}
    watched = monitor()
    assert [watched.look(step, values) for step in range(1, 20)] == [[]] * 19


def test_clipfrac_zero_is_silent_where_no_ratio_can_be_clipped() -> None:
    history = [{"policy/clipfrac_avg": 0.0, "objective/kl": 0.002}] * 40
    assert watch(monitor({"epochs": 1, "minibatches": 1}), history) == []
    assert watch(monitor({"policy_loss": {"kind": "unclipped"}}), history) == []
    assert watch(monitor({"critic": {"warmup_steps": 5}}), history) == [("clipfrac_zero", 35)]
    assert watch(monitor({"epochs": 1, "minibatches": 2}), history) == [("clipfrac_zero", 30)]


def test_clipfrac_zero_is_silent_once_the_policy_has_moved() -> None:
    """A small batch without a clip at a KL of 1.7 nats, and the end of a schedule, where the steps become small."""
    unclipped = {"policy/clipfrac_avg": 0.0, "policy/approxkl_avg": 2e-4}
    assert watch(monitor(), [unclipped | {"objective/kl": 1.7}] * 60) == []
    assert watch(monitor(), [{}] * 60 + [unclipped | {"policy/approxkl_avg": 1e-7}] * 60) == []
    followed = unclipped | {"objective/kl": 0.01, "objective/kl_initial": 2.0}
    assert watch(monitor(), [followed] * 60) == []  # the reference moves along
    assert watch(monitor(), [followed | {"objective/kl_initial": -0.5}] * 60) == []
    assert watch(monitor(), [followed | {"objective/kl_initial": -0.02}] * 60) == [("clipfrac_zero", 30)]


def test_rules_count_from_the_end_of_value_pretraining() -> None:
    """A critic is no finding while it is pretrained. Warm-ups are counted from the first iteration of PPO."""
    bad, still = {"val/explained_var": -1.0}, {"policy/approxkl_avg": 0.0, "objective/kl": 0.0, "lr": 1e-6}
    watched = monitor({"warmup_ratio": 0.1, "steps": 100})
    found = []
    for step in range(1, 101):
        done = max(0, step - 40)
        found += [(one.rule, step) for one in watched.look(step, HEALTHY | bad | still, done)]
    # 20 looks from the first iteration, which is step 41; the policy's, after 10 iterations of warm-up
    assert found == [("negative_explained_variance", 60), ("policy_still", 70)]


def test_a_missing_or_undefined_number_is_no_look() -> None:
    bad, undefined = {"val/explained_var": -1.0}, {"val/explained_var": float("nan")}
    assert watch(monitor(), [bad] * 19 + [undefined] * 5 + [bad]) == [("negative_explained_variance", 25)]


def test_part_of_a_rule_in_the_spec_keeps_the_rest() -> None:
    changed = monitor(kl_blow_up={"action": "stop"}, truncation={"patience": 2})
    (finding,) = changed.look(1, HEALTHY | {"objective/kl": 51.0, "val/eos_rate": 0.0})
    assert (finding.rule, finding.action, finding.limit) == ("kl_blow_up", "stop", 50.0)
    assert [found.rule for found in changed.look(2, HEALTHY | {"val/eos_rate": 0.0})] == ["truncation"]


def test_off_is_off() -> None:
    bad = [{"objective/kl": 1000.0}] * 3
    assert watch(monitor(kl_blow_up={"action": "off"}), bad) == []
    assert watch(monitor(enabled=False), bad) == []


def test_a_finding_names_cause_evidence_and_knob() -> None:
    watched = monitor()
    watch(watched, [{}, {"policy/entropy_avg": 0.1}, {"policy/entropy_avg": 0.1}])
    (finding,) = watched.look(4, HEALTHY | {"policy/entropy_avg": 0.05})
    points = [(point.metric, point.step, point.value) for point in finding.evidence]
    assert points == [("policy/entropy_avg", step, value) for step, value in [(1, 2.0), (2, 0.1), (3, 0.1), (4, 0.05)]]
    assert "is 0.05, 0.025 of its first value 2" in finding.cause
    assert "`ppo.policy_loss.entropy_coef`" in finding.suggestion
    assert finding.changes == CHANGES["entropy_collapse"]


def test_evidence_of_a_long_streak_is_its_last_ten_steps() -> None:
    watched = monitor()
    watch(watched, [{"val/explained_var": -1.0}] * 19)
    (finding,) = watched.look(20, HEALTHY | {"val/explained_var": -1.0})
    assert [point.step for point in finding.evidence] == list(range(11, 21))


def _spec(**ppo: Any) -> JobSpec:
    return JobSpec.model_validate({"model": "m", "data": {"preferences": "p.jsonl"}, "ppo": ppo})


def test_suggested_changes_have_the_numbers_of_the_spec() -> None:
    found = suggested_values(_spec(learning_rate=3e-6), CHANGES["kl_blow_up"])
    assert [(one.field, one.value, one.factor) for one in found] == [
        ("ppo.kl.coef", 0.1, 2), ("ppo.learning_rate", 1.5e-6, 0.5)
    ]  # fmt: skip
    assert suggested_values(_spec(max_new_tokens=48), CHANGES["truncation"])[0].value == 96


def test_rate_that_follows_the_kl_is_changed_by_its_target() -> None:
    found = suggested_values(_spec(), CHANGES["clipfrac_high"])
    assert [(one.field, one.value) for one in found] == [
        ("ppo.adaptive_rate.target", 0.015), ("ppo.guards.target_kl", 0.1)
    ]  # fmt: skip
    (finding,) = monitor().look(1, HEALTHY | {"objective/kl": 51.0})
    assert finding.suggestion.endswith("or lower `ppo.adaptive_rate.target`.")
    (finding,) = monitor({"learning_rate": 1e-5}).look(1, HEALTHY | {"objective/kl": 51.0})
    assert finding.suggestion.endswith("or lower `ppo.learning_rate`.")


@pytest.mark.parametrize(
    ("ppo", "rule"),
    [
        ({"critic": {"kind": "value_head"}}, "value_loss_spike"),  # it has no learning rate of its own
        ({"advantage": {"estimator": "sequence", "normalize": "none"}}, "value_loss_spike"),  # there is no critic
        ({"kl": {"coef": 0}}, "over_optimisation"),  # twice nothing
        ({"learning_rate": 0.6}, "clipfrac_zero"),  # more than a rate may be
    ],
)
def test_changes_without_effect_are_not_suggested(ppo: dict[str, Any], rule: str) -> None:
    assert suggested_values(_spec(**ppo), CHANGES[rule]) == []


def test_every_rule_of_the_spec_is_watched_and_names_real_fields() -> None:
    assert set(RULES) == set(CHANGES) == set(HealthSpec.model_fields) - {"enabled"}
    known = {".".join(path) for path, _ in fields_of(JobSpec)}
    for rule in RULES.values():
        fields = [part for part in rule.suggestion.split("`") if part.startswith(("ppo.", "model.", "evaluation."))]
        assert fields
        for path in (*fields, *(change.field for changes in CHANGES.values() for change in changes)):
            assert path in known


def kls(*values: float) -> list[dict[str, float]]:
    return [{"objective/teacher_kl": value} for value in values]


def test_policy_that_leaves_its_teacher_is_found() -> None:
    """From 0.4 the limit is 0.6 nats; a policy that begins as its teacher may be 0.05 nats away."""
    taught = {"teacher": {"path": "t"}}
    assert watch(monitor(taught), kls(0.4, *[0.59] * 9)) == []
    assert watch(monitor(taught), kls(0.4, *[0.61] * 9)) == [("teacher_kl_rises", 6)]
    assert watch(monitor(taught), kls(0.0, *[0.049] * 9)) == []
    assert watch(monitor(taught), kls(-0.01, *[0.05] * 9)) == [("teacher_kl_rises", 6)]
    assert watch(monitor(), kls(0.4, *[9.0] * 9)) == []


def test_leaving_the_teacher_suggests_a_slower_rate() -> None:
    ppo = {"teacher": {"path": "t"}, "learning_rate": 1e-3}
    suggested = [(one.field, one.value) for one in suggested_values(_spec(**ppo), CHANGES["teacher_kl_rises"])]
    assert suggested == [("ppo.learning_rate", 5e-4), ("ppo.teacher.coef", 2.0)]
    alone = ppo | {"advantage": {"estimator": "sequence", "normalize": "none"}, "kl": {"coef": 0.0}}
    spec = JobSpec.model_validate({"model": "m", "data": {"prompts": "p"}, "stages": ["ppo"], "ppo": alone})
    assert [one.field for one in suggested_values(spec, CHANGES["teacher_kl_rises"])] == ["ppo.learning_rate"]


def test_teacher_alone_may_lead_far_from_the_reference() -> None:
    far = [{"objective/kl": 99.0}]
    assert watch(monitor({"teacher": {"path": "t"}}), far) == [("kl_blow_up", 1)]
    assert watch(monitor({"teacher": {"path": "t"}, "kl": {"coef": 0.0}}), far) == []


def test_monitor_restored_from_state_keeps_its_history() -> None:
    history = [{"eval/win_rate": 0.8, "eval/score": 0.5}] + [{"loss/value_avg": 0.1 * step} for step in range(9)]
    history += [{"policy/entropy_avg": 0.1, "val/explained_var": -1.0, "objective/kl": 60.0}] * 2
    relapse = [{"policy/entropy_avg": 0.1, "objective/kl": 60.0, "eval/win_rate": 0.6, "eval/score": 0.6}] * 20
    kept, saved = monitor(), monitor()
    watch(kept, history)
    watch(saved, history)
    restored = monitor()
    restored.restore(json.loads(json.dumps(saved.state())))
    expected = watch(kept, relapse, 13)
    assert expected == [("entropy_collapse", 13), ("over_optimisation", 14)]  # the KL has been reported before
    assert watch(restored, relapse, 13) == expected


def test_rearmed_after_a_roll_back_a_rule_may_fire_again() -> None:
    watched, bad = monitor(), {"objective/kl": 60.0}
    assert watch(watched, [bad, bad]) == [("kl_blow_up", 1)]
    watched.rearm()
    assert watch(watched, [bad], 3) == [("kl_blow_up", 3)]


def test_the_gravest_action_is_done() -> None:
    def finding(action: Any) -> HealthFinding:
        return HealthFinding(action, 1, action, 0.0, "", [], "", ())

    def chosen(*actions: str) -> str | None:
        found = gravest([finding(action) for action in actions])
        return found and found.rule

    assert chosen() is None
    assert chosen("warn", "pause") == "pause"
    assert chosen("roll_back", "pause", "warn") == "roll_back"
    assert chosen("pause", "stop", "roll_back") == "stop"


def test_how_many_steps_may_be_skipped() -> None:
    assert not monitor().tolerates(1)
    assert not monitor(not_finite={"action": "off"}).tolerates(1)
    assert monitor(not_finite={"limit": 2}).tolerates(2) and not monitor(not_finite={"limit": 2}).tolerates(3)
    for action in ("warn", "pause", "roll_back"):
        assert monitor(not_finite={"action": action}).tolerates(100)


def test_skips_count_when_they_happen_not_for_ever_after() -> None:
    allowing = monitor(not_finite={"action": "warn", "limit": 1})
    history = [{"health/skipped_steps": float(total)} for total in (1, 1, 2, 2, 5)]
    assert watch(allowing, history) == [("not_finite", 3), ("not_finite", 5)]


def test_skips_before_a_resume_are_not_reported_again() -> None:
    allowing, resumed = (monitor(not_finite={"action": "warn", "limit": 1}) for _ in range(2))
    assert watch(allowing, [{"health/skipped_steps": 2.0}] * 2) == [("not_finite", 1)]
    resumed.restore(json.loads(json.dumps(allowing.state())))
    assert watch(resumed, [{"health/skipped_steps": 2.0}], 3) == []


def test_disagreement_is_compared_with_its_own_first_value() -> None:
    """Two ensembles: the second one has doubled, and the first one has not."""
    first = {"reward/model/disagreement": 3.0, "reward/other/disagreement": 0.1}
    rule = {"ensemble_disagreement": {"patience": 1}}
    assert watch(monitor(**rule), [first, first | {"reward/model/disagreement": 6.0}]) == []
    found = monitor(**rule)
    assert found.look(1, HEALTHY | first) == []
    (finding,) = found.look(2, HEALTHY | first | {"reward/other/disagreement": 0.25})
    assert "`reward/other/disagreement` is 0.25, 2.5 times its first value 0.1" in finding.cause
    assert [point.value for point in finding.evidence] == [0.1, 0.25]


def test_refit_sets_a_new_first_disagreement() -> None:
    refitted = {"reward/model/disagreement": 0.9, "online/round": 1.0}
    later = {"reward/model/disagreement": 0.9}
    rule = {"ensemble_disagreement": {"patience": 1}}
    assert watch(monitor(**rule), [{}, refitted, later]) == []
    assert watch(monitor(**rule), [{}, later]) == [("ensemble_disagreement", 2)]
