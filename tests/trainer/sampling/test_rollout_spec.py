"""The spec's `ppo.rollout`: what could change nothing is refused."""

import pytest
from pydantic import ValidationError

from trainer.spec import PPOSpec, RolloutSpec


@pytest.mark.parametrize(
    ("rollout", "said"),
    [
        ({"gpu_memory_utilization": 0.5}, "gpu_memory_utilization"),
        ({"engine": "vllm", "logprobs": "sampler"}, "logprobs"),
        ({"engine": "vllm", "asynchronous": True}, "asynchronous"),
        ({"engine": "continuous_batching"}, 'was removed; use "built_in", or "vllm" on a GPU'),
        ({"logprobs": "sampler", "importance_cap": 2.0}, "importance_cap"),
        ({"logprobs": "sampler", "asynchronous": True}, "one step before"),
        ({"logprobs": "sampler", "correction": {"kind": "mask"}}, "`correction` has no effect"),
        ({"logprobs": "sampler", "correction": {"denominator": "sampler"}}, "`correction` has no effect"),
        ({"importance_cap": 2.0, "correction": {"kind": "mask"}}, "`importance_cap` has no effect"),
        ({"importance_cap": 2.0, "correction": {"kind": "none"}}, "`importance_cap` has no effect"),
        ({"importance_cap": 2.0, "correction": {"denominator": "sampler"}}, "holds the weight already"),
        ({"importance_cap": None, "correction": {"kind": "truncated"}}, "needs a cap"),
        ({"correction": {"kind": "truncated", "epsilon_low": 0.2}}, "`epsilon_low` has no effect"),
        ({"correction": {"kind": "sequence_truncated", "denominator": "sampler"}}, "corrects twice"),
    ],
)
def test_rollout_fields_that_could_change_nothing_are_refused(rollout: dict[str, object], said: str) -> None:
    with pytest.raises(ValidationError, match=said):
        RolloutSpec.model_validate(rollout)


def test_rollout_spec_cap_is_2_for_other_samplers_unless_set() -> None:
    told: dict[str, object] = {"asynchronous": True}
    assert RolloutSpec().cap is None and RolloutSpec(asynchronous=True).cap == RolloutSpec(engine="vllm").cap == 2.0
    assert RolloutSpec.model_validate(told | {"importance_cap": False}).cap is None
    assert RolloutSpec.model_validate({"importance_cap": 1.5}).cap == 1.5


BYPASS = {"correction": {"denominator": "sampler"}}


@pytest.mark.parametrize(
    ("ppo", "said"),
    [
        ({"rollout": BYPASS, "policy_loss": {"kind": "reinforce"}}, "would stay uncorrected"),
        ({"rollout": BYPASS, "policy_loss": {"kind": "kl_penalty"}}, "would stay uncorrected"),
        ({"rollout": {"correction": {"kind": "mask", "denominator": "sampler"}}}, "the first pass has moved"),
        (
            {"rollout": BYPASS, "kl": {"placement": "loss", "estimator": "k3", "unbiased_gradient": False}},
            "without a weight",
        ),
        (
            {
                "rollout": {"correction": {"kind": "mask"}}, "policy_loss": {"kind": "least_squares"},
                "advantage": {"baseline": "optimal_value", "estimator": "sequence", "normalize": "none"},
                "kl": {"coef": 0.0},
            },
            "`correction` has no effect",
        ),
    ],
)  # fmt: skip
def test_corrections_with_a_wrong_gradient_are_refused(ppo: dict[str, object], said: str) -> None:
    with pytest.raises(ValidationError, match=said):
        PPOSpec.model_validate(ppo)


def test_masks_with_a_bypass_are_accepted_for_one_epoch() -> None:
    rollout = {"asynchronous": True, "correction": {"kind": "mask", "denominator": "sampler"}}
    spec = PPOSpec.model_validate({"epochs": 1, "rollout": rollout})
    assert (spec.rollout.correction_kind, spec.rollout.cap) == ("mask", None)
    bypass = RolloutSpec.model_validate({"asynchronous": True} | BYPASS)
    assert (bypass.correction_kind, bypass.cap) == ("none", None)
