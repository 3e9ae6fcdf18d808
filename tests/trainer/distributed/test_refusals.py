"""Settings that sharded models do not support are refused by field name, before anything is loaded."""

from typing import Any

import pytest
from pydantic import ValidationError

from tests.trainer.running import tiny_spec
from trainer.spec import JobSpec

BFLOAT16 = {"dtype": "bfloat16", "trained_weights": "bfloat16"}
ONLINE = {"rounds": 2, "label_by": {"type": "length", "target": 5}}
PATH = {"path": "somewhere", "lora": {}}


def sharded(**changes: Any) -> JobSpec:
    spec = tiny_spec(runtime={"sharding": "fsdp"} | changes.pop("runtime", {}))
    for section, values in changes.items():
        base = {} if "path" in values else spec.get(section, {})
        spec[section] = base | values
    return JobSpec.model_validate(spec)


@pytest.mark.parametrize(
    ("changes", "named"),
    [
        ({"model": PATH}, "`model.lora`"),
        ({"model": BFLOAT16}, '`model.trained_weights` = "bfloat16"'),
        ({"model": {"dtype": "float16"}}, '`model.dtype` = "float16"'),
        ({"runtime": {"offload_frozen": True}}, "`runtime.offload_frozen`"),
        ({"sft": {"optimizer": "adamw_8bit"}}, '`sft.optimizer` = "adamw_8bit"'),
        ({"reward_model": {"offload_optimizer": True}}, "`reward_model.offload_optimizer`"),
        ({"ppo": {"critic": {"kind": "value_head"}}}, '`ppo.critic.kind` = "value_head"'),
        ({"ppo": {"rollout": {"asynchronous": True}}}, "`ppo.rollout.asynchronous`"),
        ({"ppo": {"rollout": {"engine": "vllm"}}}, "`ppo.rollout.engine`"),
        ({"ppo": {"rollout": {"decode": "cuda_graphs"}}}, '`ppo.rollout.decode` = "cuda_graphs"'),
        ({"ppo": {"online": ONLINE}}, "`ppo.online`"),
    ],
)
def test_fsdp_unsupported_options_are_refused_by_name(changes: dict[str, Any], named: str) -> None:
    with pytest.raises(ValidationError, match="does not go with") as refusal:
        sharded(**changes)
    assert named in str(refusal.value)


def test_a_stage_that_does_not_run_refuses_nothing() -> None:
    assert sharded(dpo={"optimizer": "adamw_8bit"}).dpo.optimizer == "adamw_8bit"
