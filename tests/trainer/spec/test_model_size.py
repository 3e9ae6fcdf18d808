"""The size of a model by arithmetic, against the models that transformers builds on the meta device."""

from typing import Any

import pytest
import torch
from transformers import AutoConfig, AutoModelForCausalLM

from trainer.spec.architectures import ARCHITECTURES, faults
from trainer.spec.model_size import absurd, size_of

VOCABULARY = 5000
SIZES: dict[str, Any] = {"hidden_size": 512, "num_hidden_layers": 3, "num_attention_heads": 8}
OWN: dict[str, dict[str, Any]] = {
    "mpt": {"d_model": 512, "n_layers": 3, "n_heads": 8},
    "gpt_neo": {"hidden_size": 512, "num_layers": 3, "num_heads": 8, "attention_types": [[["global", "local"], 1], [["global"], 1]]},
    "qwen3_moe": SIZES | {"num_experts": 4, "num_experts_per_tok": 2, "mlp_only_layers": [0]},
    "qwen2_moe": SIZES | {"num_experts": 4, "num_experts_per_tok": 2, "decoder_sparse_step": 2},
    "helium": SIZES | {"num_attention_heads": 4},
    "ministral": SIZES | {"head_dim": 64},
    "nemotron": SIZES | {"num_key_value_heads": 8},
    "smollm3": SIZES | {"no_rope_layer_interval": 2},
}  # fmt: skip


def built(config: dict[str, Any]) -> int:
    sizes = {name: value for name, value in config.items() if name != "model_type"} | {"vocab_size": VOCABULARY}
    sizes |= {"pad_token_id": 0, "bos_token_id": 0, "eos_token_id": 0}
    with torch.device("meta"):
        model = AutoModelForCausalLM.from_config(AutoConfig.for_model(config["model_type"], **sizes))
    return sum(int(parameter.numel()) for parameter in model.parameters())


@pytest.mark.parametrize("kind", sorted(ARCHITECTURES))
def test_parameters_equal_those_of_the_built_model(kind: str) -> None:
    config = {"model_type": kind} | OWN.get(kind, SIZES)
    counted = size_of(config, VOCABULARY)
    extra = 3 * 2048**2 // 4 if kind == "gpt_neo" else 0  # its masks, which are buffers
    assert counted.parameters - extra == pytest.approx(built(config), rel=0.01)
    assert counted.layers == 3


@pytest.mark.parametrize(
    "config",
    [
        {"model_type": "llama", "num_key_value_heads": 2, "head_dim": 128, "intermediate_size": 1000} | SIZES,
        {"model_type": "llama", "tie_word_embeddings": True} | SIZES,
        {"model_type": "falcon", "new_decoder_architecture": True, "num_kv_heads": 4} | SIZES,
        {"model_type": "falcon", "multi_query": False} | SIZES,
        {"model_type": "opt", "word_embed_proj_dim": 256, "ffn_dim": 900} | SIZES,
        {"model_type": "gpt2", "n_embd": 512, "n_layer": 3, "n_head": 8, "n_inner": 700, "n_positions": 4096},
        {"model_type": "mixtral", "num_local_experts": 3, "num_experts_per_tok": 1} | SIZES,
    ],
)
def test_parameters_follow_the_given_sizes(config: dict[str, Any]) -> None:
    assert size_of(config, VOCABULARY).parameters == pytest.approx(built(config), rel=0.01)


def test_parameters_of_a_known_model() -> None:
    """Llama 2 7B has 6,738,415,616 parameters, of which 266,240 are norms."""
    assert size_of({"model_type": "llama"}, 32_000).parameters == 6_738_415_616 - 266_240


@pytest.mark.parametrize(
    "config",
    [
        {"num_hidden_layers": 10**12},
        {"num_hidden_layers": 20_000},
        {"hidden_size": 10**30},
        {"hidden_size": 2**30},
        {"num_attention_heads": 10**9, "head_dim": 10**6},
        {"num_attention_heads": 0},
        {"hidden_size": -8},
        {"rope_parameters": {"original_max_position_embeddings": -(10**20)}},
    ],
)
def test_absurd_numbers_are_refused_without_computing(config: dict[str, Any]) -> None:
    assert list(absurd({"model_type": "llama"} | config))


def test_absurd_accepts_every_default_model() -> None:
    assert not [kind for kind in ARCHITECTURES if list(absurd({"model_type": kind}))]


def test_repeated_layer_types_count_as_layers() -> None:
    config = {"model_type": "gpt_neo", "attention_types": [[["global", "local"], 10**9]]}
    assert "1,000,000,000" in next(absurd(config))


def test_layers_differ_in_few_ways() -> None:
    """The values of `no_rope_layers` are switches, which any numbers would turn on: each number would be a kind of layer."""
    smollm = {"model_type": "smollm3", "layer_types": ["full_attention", "sliding_attention"] * 3}
    assert not list(faults(smollm | {"no_rope_layers": [0, 1, 1] * 2}))
    assert list(faults(smollm | {"no_rope_layers": list(range(6))})) == [
        "`no_rope_layers` has 6 different items; layers differ by 2 at most"
    ]
