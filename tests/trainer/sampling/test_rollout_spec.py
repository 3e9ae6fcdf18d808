"""The spec's `ppo.rollout`: what could change nothing is refused."""

import pytest
from pydantic import ValidationError

from trainer.spec import RolloutSpec


@pytest.mark.parametrize(
    ("rollout", "said"),
    [
        ({"gpu_memory_utilization": 0.5}, "gpu_memory_utilization"),
        ({"engine": "vllm", "logprobs": "sampler"}, "logprobs"),
        ({"engine": "vllm", "asynchronous": True}, "asynchronous"),
        ({"engine": "continuous_batching"}, 'was removed; use "built_in", or "vllm" on a GPU'),
        ({"logprobs": "sampler", "importance_cap": 2.0}, "importance_cap"),
        ({"logprobs": "sampler", "asynchronous": True}, "one step before"),
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
