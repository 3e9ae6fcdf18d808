"""A model with few layers of each kind gives the figures of the whole model."""

from pathlib import Path
from typing import Any

import pytest
import torch
from transformers import AutoConfig

from tests.trainer.preflight.checked_jobs import CONFIG, checked
from trainer.preflight.check import CheckOptions
from trainer.preflight.memory import layers
from trainer.preflight.memory.fake_models import Blueprint
from trainer.preflight.memory.passes import Passes
from trainer.preflight.memory.shapes import Shape
from trainer.spec import CriticSpec, ModelSpec
from trainer.spec.architectures import ARCHITECTURES

DEPTH = 13
SIZES = {
    "hidden_size": 32, "num_hidden_layers": DEPTH, "num_attention_heads": 4, "vocab_size": 100, "pad_token_id": 0,
    "bos_token_id": None, "eos_token_id": 1, "max_position_embeddings": 64, "num_key_value_heads": 2,
    "intermediate_size": 48, "head_dim": 8,
}  # fmt: skip
MPT = {"d_model": 32, "n_layers": DEPTH, "n_heads": 4, "vocab_size": 100, "max_seq_len": 64}
EXPERTS = {"num_experts": 4, "moe_intermediate_size": 16, "decoder_sparse_step": 3, "mlp_only_layers": [2]}
OWN: dict[str, dict[str, Any]] = {
    "gpt_neo": {"attention_types": [[["global", "local"], 6], [["global"], 1]]},
    "qwen2": {"use_sliding_window": True, "max_window_layers": 5, "sliding_window": 8},
    "qwen2_moe": EXPERTS,
    "qwen3_moe": EXPERTS,
    "mixtral": {"num_local_experts": 4},
    "gemma3_text": {"sliding_window": 8},
}
SLIDING, FULL = "'sliding_attention'", "'full_attention'"


def config_of(kind: str, **changes: Any) -> Any:
    sizes = MPT if kind == "mpt" else {name: size for name, size in SIZES.items() if name in known(kind)}
    return AutoConfig.for_model(kind, **sizes | OWN.get(kind, {}) | changes)


def known(kind: str) -> set[str]:
    config = AutoConfig.for_model(kind)
    absent = {"num_key_value_heads", "intermediate_size", "head_dim"} - ARCHITECTURES[kind]
    return {*config.to_dict(), *config.attribute_map, *SIZES} - absent


def blueprint(kind: str, depth: int = DEPTH, **changes: Any) -> Blueprint:
    config = config_of(kind) if depth == DEPTH else config_of(kind, num_hidden_layers=depth)
    return Blueprint(config, ModelSpec.model_validate({"path": "unused", **changes}), "cpu")


def test_kinds_of_layers_by_hand() -> None:
    """Gemma 3 has full attention in each sixth layer. With a step of 3, the layers 2, 5, 8 and 11 have experts; 2 is excepted."""
    assert layers.layer_kinds(config_of("gemma3_text")) == (
        *[(False, SLIDING)] * 5, (False, FULL), *[(False, SLIDING)] * 5, (False, FULL), (False, SLIDING)
    )  # fmt: skip
    assert [kind[0] for kind in layers.layer_kinds(config_of("qwen3_moe"))] == [n in (5, 8, 11) for n in range(DEPTH)]
    assert layers.layer_kinds(config_of("llama")) == ((False,),) * DEPTH
    assert layers.layer_counts(config_of("gemma3_text")) == [11, 2]
    assert layers.layer_counts(config_of("gpt_neo")) == [7, 6]


def test_chosen_layers_keep_their_kind() -> None:
    """Also where the position of a layer decides its kind."""
    moe = layers.with_layers(config_of("qwen3_moe"), [5, 0, 8, 2])
    assert [kind[0] for kind in layers.layer_kinds(moe)] == [True, False, True, False]
    gemma = layers.with_layers(config_of("gemma3_text"), [5, 0, 0])
    assert gemma.layer_types == ["full_attention", "sliding_attention", "sliding_attention"]
    assert config_of("gemma3_text").num_hidden_layers == DEPTH


@pytest.mark.parametrize("kind", sorted(ARCHITECTURES))
def test_weights_of_every_architecture_are_exact(kind: str) -> None:
    found = blueprint(kind)
    whole = dict(found._plain("policy", torch.float32).named_parameters())
    assert found.shortened.layers < DEPTH
    assert found.parameters("policy") == sum(weight.numel() for weight in whole.values())


@pytest.mark.parametrize(
    ("kind", "changes"),
    [
        ("gemma3_text", {"dtype": "bfloat16"}),
        ("qwen3_moe", {"dtype": "bfloat16"}),
        ("gpt2", {"lora": {"rank": 2, "target_modules": "all-linear"}}),
    ],
)
def test_trained_and_frozen_bytes_are_exact(kind: str, changes: dict[str, Any]) -> None:
    found = blueprint(kind, **changes)
    trained, frozen = found.trained("policy"), found.frozen("policy")
    assert found.trained_bytes("policy") == sum(p.nbytes for p in trained.parameters() if p.requires_grad)
    assert found.trained_parameters("policy") == sum(p.numel() for p in trained.parameters() if p.requires_grad)
    assert found.frozen_bytes("policy") == sum(p.nbytes for p in frozen.parameters())


@pytest.mark.parametrize("kind", ["gpt2", "gemma3_text"])
def test_figures_of_a_critic_with_frozen_layers_are_exact(kind: str) -> None:
    """Gemma 3 has two kinds of layers, and both are among the last three. The first micro-batch's peak is bounded within 5 %."""
    whole = blueprint(kind)
    critic = whole.for_critic(CriticSpec(train="last_layers", last_layers=3))
    assert critic.shortened.layers == {"gpt2": 2, "gemma3_text": 4}[kind]
    model, shape = critic.trained("scalar"), Shape((5, 3), (4, 6))
    assert critic.trained_bytes("scalar") == sum(p.nbytes for p in model.parameters() if p.requires_grad)
    assert critic.own_bytes("scalar") == sum(p.nbytes for p in model.parameters())
    counted, found = Passes(critic), Passes(critic).training("values", shape)
    counted._shallow = []
    real = counted.training("values", shape)
    assert (found.later, found.gradients) == (real.later, real.gradients)
    assert found.first == pytest.approx(real.first, rel=0.05)
    assert found.later < Passes(whole).training("values", shape).later - found.gradients


@pytest.mark.parametrize(("kind", "recompute"), [("gpt2", False), ("gemma3_text", True), ("qwen2", False)])
def test_passes_are_those_of_the_whole_model(kind: str, recompute: bool) -> None:
    """To the byte, but for the first micro-batch's peak, which the shallow models bound within 2 %."""
    found = blueprint(kind, gradient_checkpointing=recompute)
    by_few, by_all = Passes(found), Passes(found)
    by_all._shallow = []
    shape = Shape((9, 12), (14, 9))
    few, whole = (passes.training("logprobs", shape) for passes in (by_few, by_all))
    assert (few.later, few.gradients) == (whole.later, whole.gradients)
    assert few.first == pytest.approx(whole.first, rel=0.02)
    assert by_few.forward("scores", False, shape) == by_all.forward("scores", False, shape)
    assert by_few.sampling((9, 12), 11) == by_all.sampling((9, 12), 11)
    assert by_few.uncounted is None and by_all.uncounted is None


@pytest.mark.usefixtures("counted")
def test_estimate_of_a_deep_model_builds_four_layers_at_most(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With suggestions too. 2,000 layers of 2·(16·16)·2 + 3·16·24 + 2·16 numbers, and 2·300·16 + 16 outside of them."""
    built = []
    plain = Blueprint._plain

    def count(self: Blueprint, *args: Any) -> Any:
        built.append(self.layers)
        return plain(self, *args)

    monkeypatch.setattr(Blueprint, "_plain", count)
    sizes = CONFIG | {"num_hidden_layers": 2000, "max_position_embeddings": 128}
    report = checked(tmp_path, CheckOptions(device_memory=500 * 2**20), model={"config": sizes}, stages=["sft"])
    assert report.model is not None and report.memory is not None
    assert report.model.layers == 2000
    assert report.model.parameters == 2000 * (4 * 16 * 16 + 3 * 16 * 24 + 2 * 16) + 2 * 300 * 16 + 16
    assert report.memory.suggestions and max(built) == 4
