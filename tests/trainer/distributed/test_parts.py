"""Every part of PPO, in as few runs as they fit into: two processes come to what one comes to."""

import json
import math
from pathlib import Path
from typing import Any

import pytest
from safetensors.torch import load_file

from tests import tolerance
from tests.trainer.distributed.tools import STAGES, start, statuses, write_spec
from tests.trainer.running import ROOT, metrics_of
from trainer.cli import load_spec
from trainer.run.process import run_in_process

LENGTH = {"type": "length", "target": 12, "unit": "characters"}
ADAPTERS = {
    # four roles on one backbone, a head on the policy's trunk, a reference that moves, a reward model that is refitted
    "model": {"lora": {"rank": 2, "alpha": 4.0}, "gradient_checkpointing": True},
    "stages": ["reward_model", "ppo"],
    "reward_model": {"batch_size": 25, "epochs": 1, "learning_rate": 1e-4},
    "ppo": {
        "batch_size": 3, "minibatches": 3, "critic": {"kind": "value_head"}, "micro_batch_size": 1,
        "reference": {"update": "ema", "decay": 0.5}, "rollout": {"staleness": 2},
        "online": {"rounds": 2, "prompts": 3, "label_by": LENGTH}, "ptx": {"batch_size": 1, "max_tokens": 12},
        "policy_loss": {"kind": "kl_penalty", "old_kl_target": 1e-4},
    },
}  # fmt: skip
GROUPS = {
    # no critic; scores so large for some responses that their steps are left out, and a step back
    "stages": ["dpo", "ppo"],
    "dpo": {"batch_size": 25, "micro_batch_tokens": 90, "learning_rate": 1e-4},
    "ppo": {
        "samples_per_prompt": 3, "minibatches": 3, "micro_batch_tokens": 30, "rollout": {"logprobs": "sampler"},
        "advantage": {"estimator": "reward_to_go", "baseline": "leave_one_out", "normalize": "none"},
        "kl": {"placement": "loss", "estimator": "k3"}, "policy_loss": {"aggregation": "sequence_mean"},
    },
    "rewards": [LENGTH, {"type": "regex", "pattern": "q", "weight": 1e38}],
    "health": {"not_finite": {"action": "warn"}, "kl_blow_up": {"limit": -1000.0, "action": "roll_back", "patience": 2}},
}  # fmt: skip
OPTIMAL_VALUE = {
    "stages": ["ppo"],
    "ppo": {
        "advantage": {"estimator": "sequence", "baseline": "optimal_value", "normalize": "none"}, "kl": {"coef": 0.0},
        "lr_schedule": "kl_adaptive", "policy_loss": {"kind": "least_squares"}, "optimal_value": {"samples": 3}, "steps": 2, "optimizer": "adamw_8bit",
        "minibatches": 1,  # π_old from the update's own pass
    },
    "rewards": [LENGTH],
}  # fmt: skip
CRITIC_APART = {
    # fewer and larger minibatches of the critic, which the processes divide
    "stages": ["ppo"],
    "ppo": {
        "minibatches": 3, "micro_batch_size": 2, "advantage": {"critic_lambda": 1.0, "length_adaptive": 0.4},
        "critic": {
            "epochs": 2, "minibatches": 1, "schedule": "cosine", "warmup_ratio": 0.5, "warmup_steps": 1,
            "heads": {"mask_advantages": 0.2},
        },
    },
    "rewards": [LENGTH],
}  # fmt: skip
CRITIC_PRETRAINED = {
    # attention that keeps its values, two passes, and pretraining that ends by a figure that the processes agree on
    "stages": ["ppo"],
    "ppo": {
        "minibatches": 3, "micro_batch_size": 2, "steps": 2,
        "critic": {
            "train": "all_but_attention", "epochs": 2, "pretraining": {"iterations": 3, "patience": 2},
            "normalization": {},
        },
    },
    "rewards": [LENGTH],
}  # fmt: skip
LAST_LAYERS = {
    # layers below the first one that learns have no gradient at all
    "stages": ["ppo"],
    "ppo": {"critic": {
        "train": "last_layers", "last_layers": 1, "pretraining": {"iterations": 1},
        "classification": {"low": -2, "high": 2, "bins": 9},
    }, "steps": 2, "positive_examples": {"above": -0.5}},
    "rewards": [LENGTH],
}  # fmt: skip
REFILL = {
    # rounds of one or two prompts, so that a process samples and scores nothing in some; prompts by measured difficulty
    "stages": ["ppo"],
    "ppo": {
        "samples_per_prompt": 2, "minibatches": 3, "rollout": {"refill": {"max_rounds": 3}}, "curriculum": {},
        "advantage": {"estimator": "sequence", "baseline": "group_mean", "normalize": "none"},
        "kl": {"placement": "loss", "estimator": "k3"},
    },
    "rewards": [{"type": "regex", "pattern": "e"}],
}  # fmt: skip
ENSEMBLE = {
    # a critic that begins as the mean of the members, and a refit that moves the level of each
    "stages": ["reward_model", "ppo"],
    "reward_model": {"batch_size": 25, "epochs": 1, "learning_rate": 1e-4, "members": 3},
    "ppo": {
        "minibatches": 3, "online": {"rounds": 2, "prompts": 5, "label_by": LENGTH},
        "critic": {"learning_rate": 1e-4},
    },
    "rewards": [{"type": "model", "penalty": 0.5}],
}  # fmt: skip
SHARDED_ENSEMBLE = ENSEMBLE | {"ppo": {"minibatches": 3, "critic": {"learning_rate": 1e-4}}}
THUMBS = {
    # 25 rows of a batch on two processes, of which z₀ takes all; a last batch that is smaller
    "stages": ["reward_model", "kto"],
    "reward_model": {"loss": "pointwise", "batch_size": 25, "epochs": 1, "learning_rate": 1e-4, "micro_batch_size": 4},
    "kto": {"batch_size": 25, "micro_batch_tokens": 90, "learning_rate": 1e-4, "save_every": 3},
}  # fmt: skip

STEPS = {
    # as the thumbs; then PPO is rewarded at the ends of the steps by the model that the processes trained together
    "stages": ["reward_model", "ppo"],
    "reward_model": {"loss": "stepwise", "step_delimiter": " ", "batch_size": 25, "learning_rate": 1e-4, "micro_batch_size": 4},
    "rewards": [{"type": "model", "step_delimiter": " "}],
}  # fmt: skip
SHARDED_STEPS = STEPS | {"ppo": {"minibatches": 3, "critic": {"learning_rate": 1e-4}}}


SMALL = STAGES["ppo"] | {"steps": 3, "epochs": 1, "max_new_tokens": 6, "log_samples": 0, "critic": {}}


@pytest.fixture(scope="module")
def policy(tmp_path_factory: pytest.TempPathFactory) -> str:
    """After SFT; beside it, texts to go on learning from."""
    folder = tmp_path_factory.mktemp("sft")
    run_in_process(load_spec(write_spec(folder, stages=["sft"])), folder)
    words = ["a", "river", "runs", "down", "to", "the", "sea", "and", "nobody", "asks", "it", "why"]
    texts = [{"text": " ".join(words[: 2 + n])} for n in range(9)]
    (folder / "texts.jsonl").write_text("\n".join(map(json.dumps, texts)))
    steps = [
        {"prompt": f"walk {n} :", "steps": words[: 2 + n % 5], "labels": [(n + at) % 3 > 0 for at in range(2 + n % 5)]}
        for n in range(120)
    ]
    (folder / "steps.jsonl").write_text("\n".join(map(json.dumps, steps)))
    return str(folder / "checkpoints" / "sft")


def spec_of(folder: Path, policy: str, changes: dict[str, Any]) -> Path:
    ppo = SMALL | changes.get("ppo", {})
    path = write_spec(folder, **(changes | {"ppo": ppo, "model": {"path": policy} | changes.get("model", {})}))
    spec = json.loads(path.read_text())
    if "critic" not in changes.get("ppo", {}):
        del spec["ppo"]["critic"]
    if "kto" in changes["stages"]:
        spec["data"]["thumbs"] = str(ROOT / "examples" / "tiny" / "thumbs.jsonl")
    if changes.get("reward_model", {}).get("loss") == "stepwise":
        spec["data"]["steps"] = str(Path(policy).parents[1] / "steps.jsonl")
    if "ptx" in changes.get("ppo", {}):
        spec["data"]["pretraining"] = str(Path(policy).parents[1] / "texts.jsonl")
    path.write_text(json.dumps(spec))
    return path


CASES = [
    pytest.param(ADAPTERS, id="adapters"),
    pytest.param(ENSEMBLE, id="ensemble", marks=pytest.mark.slow),
    pytest.param(THUMBS, id="thumbs", marks=pytest.mark.slow),
    pytest.param(STEPS, id="steps", marks=pytest.mark.slow),
    pytest.param(GROUPS, id="groups", marks=pytest.mark.slow),
    pytest.param(REFILL, id="refill", marks=pytest.mark.slow),
    pytest.param(OPTIMAL_VALUE, id="v*", marks=pytest.mark.slow),
    pytest.param(CRITIC_APART, id="critic apart", marks=pytest.mark.slow),
    pytest.param(CRITIC_PRETRAINED, id="critic pretrained", marks=pytest.mark.slow),
]


@pytest.mark.parametrize("changes", CASES)
def test_two_processes_match_the_result_of_one(policy: str, tmp_path: Path, changes: dict[str, Any]) -> None:
    spec, two, one = spec_of(tmp_path, policy, changes), tmp_path / "two", tmp_path / "one"
    assert statuses(start(spec, two)) == [0, 0]
    run_in_process(load_spec(spec), one)
    ours, theirs = metrics_of(two), metrics_of(one)
    for values in (*ours.values(), *theirs.values()):
        values.pop(
            "eval/sqrt_kl", None
        )  # of a KL near 0 the root has none but wrong digits; the KL itself is looked at
    assert ours.keys() == theirs.keys()
    for step, values in theirs.items():
        assert ours[step] == pytest.approx(values, rel=1e-5, abs=tolerance.summed(8 * math.log(512))), step
    eight_bit = changes.get("ppo", {}).get("optimizer") == "adamw_8bit"
    allowed = tolerance.weights(rate=1e-4, steps=2, eight_bit=eight_bit)
    assert_same_weights(two / "checkpoints", one / "checkpoints", allowed)


@pytest.mark.slow
@pytest.mark.parametrize(
    "changes",
    [SHARDED_ENSEMBLE, THUMBS, SHARDED_STEPS, CRITIC_APART, CRITIC_PRETRAINED, LAST_LAYERS, REFILL],
    ids=["ensemble", "thumbs", "steps", "critic apart", "critic pretrained", "last layers", "refill"],
)
def test_fsdp_models_train_as_whole_ones(policy: str, tmp_path: Path, changes: dict[str, Any]) -> None:
    sharded = spec_of(tmp_path / "sharded", policy, changes | {"runtime": {"sharding": "fsdp", "threads": 1}})
    two, one = tmp_path / "two", tmp_path / "one"
    assert statuses(start(sharded, two)) == [0, 0]
    run_in_process(load_spec(spec_of(tmp_path / "whole", policy, changes)), one)
    ours, theirs = metrics_of(two), metrics_of(one)
    assert ours.keys() == theirs.keys()
    for step, values in theirs.items():
        assert ours[step] == pytest.approx(values, rel=1e-5, abs=tolerance.summed(24 * math.log(512))), step


def assert_same_weights(ours: Path, theirs: Path, allowed: float) -> None:
    """Compare every model and adapter that was saved."""
    models = {path.relative_to(theirs) for path in theirs.glob("**/*model.safetensors")}
    assert models == {path.relative_to(ours) for path in ours.glob("**/*model.safetensors")} != set()
    for model in models:
        whole = load_file(theirs / model)
        for name, weight in load_file(ours / model).items():
            furthest = float((weight - whole[name]).abs().max())
            assert furthest <= allowed, (model, name, furthest)
