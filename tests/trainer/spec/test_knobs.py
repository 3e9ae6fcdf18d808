"""Which knobs a stage has, and which values."""

from typing import Any

import pytest

from trainer.spec import DPOSpec, JobSpec, PPOSpec, SFTSpec
from trainer.spec.knobs import (
    Knob,
    KnobSetting,
    changed,
    field_of,
    range_of,
    requested_range,
    section_of,
    still_set,
    tuned,
    value_of,
    why_not,
)

ADAPTIVE = PPOSpec.model_validate({"kl": {"controller": "adaptive"}})


def test_fields_are_those_of_the_stage() -> None:
    assert field_of("ppo", "kl_coef") == "ppo.kl.coef"
    assert field_of("sft", "learning_rate") == "sft.learning_rate"
    assert field_of("ppo", "critic_learning_rate") == "ppo.critic.learning_rate"


def test_changed_section_differs_in_one_value() -> None:
    before = PPOSpec(steps=7)
    after = changed(before, "critic_learning_rate", 2e-4)
    assert (value_of(before, "critic_learning_rate"), value_of(after, "critic_learning_rate")) == (1e-5, 2e-4)
    assert after.model_dump() == before.model_dump() | {"critic": before.critic.model_dump() | {"learning_rate": 2e-4}}


@pytest.mark.parametrize(
    ("section", "knob", "value", "allowed"),
    [
        (PPOSpec(), "kl_coef", -0.1, "`kl_coef` must be at least 0; it is -0.1."),
        (ADAPTIVE, "kl_coef", 0.0, "`kl_coef` must be above 0; it is 0."),
        (ADAPTIVE, "kl_target", 0.0, "`kl_target` must be above 0; it is 0."),
        (PPOSpec(), "learning_rate", 1.0, "`learning_rate` must be above 0 and below 1; it is 1."),
        (SFTSpec(), "learning_rate", 0.0, "`learning_rate` must be above 0 and below 1; it is 0."),
    ],
)
def test_value_out_of_range_names_the_range(section: PPOSpec, knob: Knob, value: float, allowed: str) -> None:
    with pytest.raises(ValueError) as error:
        changed(section, knob, value)
    assert str(error.value) == allowed


def test_requested_range_has_a_maximum_above_the_spec() -> None:
    large = PPOSpec.model_validate({"kl": {"coef": 250.0}})
    assert requested_range(PPOSpec(), "kl_coef").maximum == 100 and requested_range(large, "kl_coef").maximum == 250
    assert requested_range(ADAPTIVE, "kl_target").maximum == 10_000
    assert requested_range(PPOSpec(), "learning_rate") == range_of(PPOSpec(), "learning_rate")
    with pytest.raises(ValueError, match="at least 0 and at most 100; it is 101"):
        changed(PPOSpec(), "kl_coef", 101.0, requested_range(PPOSpec(), "kl_coef"))
    assert changed(PPOSpec(), "kl_coef", 101.0).kl.coef == 101.0  # a resumed run repeats it


def test_a_fixed_coefficient_may_be_zero() -> None:
    assert changed(PPOSpec(), "kl_coef", 0.0).kl.coef == 0 and 0.0 in range_of(PPOSpec(), "kl_coef")


@pytest.mark.parametrize(
    ("stage", "section", "name", "reason"),
    [
        ("evaluation", None, "learning_rate", "trains nothing"),
        ("sft", SFTSpec(), "kl_coef", "only ppo has it"),
        ("dpo", DPOSpec(), "critic_learning_rate", "only ppo has it"),
        ("ppo", PPOSpec(), "kl_target", 'only "adaptive" has one'),
        ("ppo", {"kl": {"controller": "linear"}}, "kl_coef", "computes the coefficient"),
        ("ppo", {"advantage": {"estimator": "reward_to_go"}}, "critic_learning_rate", "has no critic"),
        ("ppo", {"critic": {"kind": "value_head"}}, "critic_learning_rate", "change `learning_rate`"),
    ],
)
def test_a_knob_that_a_stage_lacks_has_a_reason(stage: Any, section: Any, name: Any, reason: str) -> None:
    given = PPOSpec.model_validate(section) if isinstance(section, dict) else section
    assert reason in str(why_not(stage, given, name))


def test_least_squares_has_no_kl_coefficient() -> None:
    advantage = {"estimator": "sequence", "baseline": "optimal_value", "normalize": "none"}
    given = {"kl": {"coef": 0}, "policy_loss": {"kind": "least_squares"}, "advantage": advantage}
    assert "ppo.policy_loss.beta" in str(why_not("ppo", PPOSpec.model_validate(given), "kl_coef"))


def test_every_training_stage_has_a_rate_and_actions() -> None:
    for name in ("learning_rate", "evaluate", "checkpoint"):
        assert why_not("sft", SFTSpec(), name) is None and why_not("ppo", ADAPTIVE, name) is None
    assert why_not("ppo", ADAPTIVE, "kl_target") is None


def test_the_evaluation_has_no_section() -> None:
    spec = JobSpec.model_validate({"model": "gpt2", "data": {"preferences": "ds_x"}})
    assert section_of(spec, "evaluation") is None and section_of(spec, "ppo") is spec.ppo


def test_a_setting_ends_when_the_spec_is_changed() -> None:
    settings = {"kl_coef": KnobSetting(value=0.2, replaced=0.05, step=3)}
    assert tuned(PPOSpec(), still_set(PPOSpec(), settings)).kl.coef == 0.2
    other = PPOSpec.model_validate({"kl": {"coef": 0.1}})
    assert tuned(other, still_set(other, settings)).kl.coef == 0.1
