"""The models that the memory estimate counts in each phase."""

from pathlib import Path
from typing import Any

import torch
from transformers import LlamaForSequenceClassification

from tests.trainer.preflight.test_phases import LLAMA, spec_of
from tests.trainer.stage_tools import new_codec
from trainer.preflight.memory.fake_models import Blueprint
from trainer.preflight.memory.residents import NO_SCORERS, NamedScorers, resident
from trainer.preflight.report import Phase
from trainer.preflight.scorers import named_scorers

LENGTH = {"type": "length", "target": 3}
LORA = {"path": "unused", "lora": {"rank": 2}}
OWN = {"type": "model"}


def weights(phase: Phase, scorers: NamedScorers = NO_SCORERS, **changes: Any) -> int:
    spec = spec_of(**changes)
    return resident(spec, phase, Blueprint(LLAMA, spec.model, "cpu"), scorers).weights


def parameters(head: Any) -> int:
    return 4 * Blueprint(LLAMA, spec_of().model, "cpu").parameters(head)


def test_own_reward_model_is_counted_if_only_the_judge_uses_it() -> None:
    stages = ["sft", "reward_model", "ppo", "evaluation"]
    without = {"stages": stages, "rewards": [LENGTH], "ppo": {"critic": {"initial": "policy"}}}
    for phase in ("ppo_score", "evaluation"):
        more = weights(phase, **without, evaluation={"judge": OWN}) - weights(phase, **without)
        assert more == parameters("scalar"), phase


def test_evaluation_without_ppo_counts_policies_and_judge() -> None:
    changes = {"stages": ["sft", "reward_model", "evaluation"], "evaluation": {"judge": OWN}, "rewards": [LENGTH]}
    assert weights("evaluation", **changes) == 2 * parameters("policy") + parameters("scalar")


def test_reference_of_dpo_is_counted_if_its_loss_has_one() -> None:
    for loss, policies in (("sigmoid", 2), ("ipo", 2), ("orpo", 1)):
        assert weights("dpo", dpo={"loss": loss}) == policies * parameters("policy"), loss


def test_named_scorers_are_counted_only_in_stages_that_score() -> None:
    scorers = NamedScorers(weights=1000)
    for phase, more in (("sft", 0), ("dpo", 0), ("ppo_rollout", 1000), ("evaluation", 1000)):
        assert weights(phase, scorers) - weights(phase) == more, phase  # type: ignore[arg-type]


def test_a_critic_on_another_reward_model_has_its_own_backbone() -> None:
    changes = {"stages": ["ppo"], "model": LORA, "rewards": [OWN | {"path": "scorer"}]}
    shared, apart = (weights("ppo_update", NamedScorers(critic_start=start), **changes) for start in (None, "scorer"))
    backbone = Blueprint(LLAMA, spec_of(**changes).model, "cpu").frozen_bytes("policy")
    assert apart - shared == backbone


def test_frozen_critic_has_moments_of_its_learning_weights_only() -> None:
    """A layer by hand: queries and output 48·48, keys and values 24·48, feed-forward 3·48·128, two norms of 48."""
    attention, layer, head = 2 * 48 * 48 + 2 * 24 * 48, 2 * 48 * 48 + 2 * 24 * 48 + 3 * 48 * 128 + 2 * 48, 48
    whole = parameters("scalar") // 4
    frozen: list[tuple[dict[str, Any], int]] = [
        ({}, whole),
        ({"train": "all_but_attention"}, whole - 3 * attention),
        ({"train": "last_layers", "last_layers": 2}, 2 * layer + head),
        ({"train": "last_layers", "last_layers": 0}, head),
    ]
    for critic, learning in frozen:
        spec = spec_of(stages=["ppo"], rewards=[LENGTH], ppo={"critic": critic})
        found = resident(spec, "ppo_update", Blueprint(LLAMA, spec.model, "cpu"))
        assert found.optimizer == 8 * (parameters("policy") // 4 + learning), critic
        assert found.weights == 2 * parameters("policy") + parameters("scalar")  # policy, reference, critic


def test_critic_with_adapters_has_a_backbone_of_its_own() -> None:
    critic = {"train": "adapters", "adapters": {"rank": 2, "target_modules": ["q_proj"]}}
    adapters = 3 * 2 * (48 + 48) + 48
    spec = spec_of(stages=["ppo"], rewards=[LENGTH], ppo={"critic": critic})
    found = resident(spec, "ppo_update", Blueprint(LLAMA, spec.model, "cpu"))
    assert found.optimizer == 8 * (parameters("policy") // 4 + adapters)
    assert found.weights == 3 * parameters("policy") + 4 * adapters


def test_evaluation_against_a_model_counts_its_backbone() -> None:
    changes = {"stages": ["ppo", "evaluation"], "model": LORA, "rewards": [LENGTH]}
    changes["ppo"] = {"advantage": {"estimator": "sequence"}}
    blueprint = Blueprint(LLAMA, spec_of(**changes).model, "cpu")
    more = weights("evaluation", **changes, evaluation={"against": "other"}) - weights("ppo_update", **changes)
    assert more == blueprint.frozen_bytes("policy") + blueprint.trained_bytes("policy")


def test_the_model_of_label_by_is_weighed(tmp_path: Path) -> None:
    torch.manual_seed(0)
    codec = new_codec()
    scorer = LlamaForSequenceClassification(LLAMA)
    scorer.save_pretrained(tmp_path)
    codec.tokenizer.save_pretrained(tmp_path)
    online = {"rounds": 2, "label_by": OWN | {"path": str(tmp_path)}}
    spec = spec_of(rewards=[OWN], ppo={"online": online}, model={"path": "unused", "dtype": "float32"})
    assert named_scorers(spec, codec) == NamedScorers(4 * sum(p.numel() for p in scorer.parameters()), None)
    spec = spec_of(rewards=[OWN | {"path": str(tmp_path)}], model={"path": "unused", "dtype": "float32"})
    assert named_scorers(spec, codec).critic_start == str(tmp_path)


def test_ensemble_has_weights_and_moments_of_its_further_heads() -> None:
    """Two more heads of 48 weights, each with 4 bytes in the model and 8 in the moments."""
    for lora in (False, True):
        model = {"model": LORA} if lora else {}
        one, three = (spec_of(reward_model={"members": members}, **model) for members in (1, 3))
        found = [resident(spec, "reward_model", Blueprint(LLAMA, spec.model, "cpu")) for spec in (one, three)]
        assert found[1].weights - found[0].weights == 2 * 48 * 4, lora
        assert found[1].optimizer - found[0].optimizer == 2 * 48 * 8, lora
