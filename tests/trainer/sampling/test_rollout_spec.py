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
        ({"engine": "vllm", "staleness": 2}, "asynchronous"),
        ({"logprobs": "sampler", "staleness": 2}, "or of more"),
        ({"asynchronous": False, "staleness": 2}, "Leave out one of the two"),
        ({"asynchronous": True, "staleness": 0}, "Leave out one of the two"),
        ({"staleness": -1}, "greater than or equal to 0"),
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


@pytest.mark.parametrize(
    ("rollout", "bound"),
    [({}, 0), ({"staleness": 0}, 0), ({"asynchronous": True}, 1), ({"staleness": 1}, 1), ({"staleness": 4}, 4)],
)
def test_staleness_turns_asynchronous_sampling_on(rollout: dict[str, object], bound: int) -> None:
    spec = RolloutSpec.model_validate(rollout)
    assert (spec.staleness_bound, spec.asynchronous) == (bound, bound > 0)
    assert RolloutSpec.model_validate(spec.model_dump()) == spec
    assert spec.cap == (2.0 if bound else None)  # corrected unless the spec names that it is not


def test_older_responses_are_uncorrected_only_if_named() -> None:
    stale: dict[str, object] = {"staleness": 4}
    named = ({"importance_cap": False}, {"correction": {"kind": "none"}})
    assert all(RolloutSpec.model_validate(stale | one).is_uncorrected for one in named)
    corrected = ({}, BYPASS, {"correction": {"kind": "mask"}})
    assert not any(RolloutSpec.model_validate(stale | one).is_uncorrected for one in corrected)
    assert not RolloutSpec().is_uncorrected


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
        ({"rollout": {"staleness": 3}, "steps": 3}, "must be less than the number of steps"),
        *(
            (
                {
                    "rollout": rollout, "policy_loss": {"kind": "least_squares"},
                    "advantage": {"baseline": "optimal_value", "estimator": "sequence", "normalize": "none"},
                    "kl": {"coef": 0.0},
                },
                "no weight of a token corrects",
            )
            for rollout in ({"staleness": 2}, {"asynchronous": True})
        ),
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
