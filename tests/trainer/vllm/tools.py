"""Models that vLLM's attention on a CPU takes, and runs of them."""

import json
from pathlib import Path
from typing import Any

import torch
from transformers import LlamaConfig, LlamaForCausalLM

from tests.trainer.running import tiny_spec
from trainer.models import Model
from trainer.sampling.vllm import VLLM
from trainer.spec import ModelSpec, PPOSpec
from trainer.text.stops import Stops

HEADS = {"hidden_size": 64, "num_attention_heads": 2, "num_key_value_heads": 1}
"""Heads of 32 numbers, the smallest that vLLM samples on a CPU."""
VOCABULARY = 97


def llama(seed: int = 0, tied: bool = False, dtype: torch.dtype = torch.float32) -> Model:
    torch.manual_seed(seed)
    config = LlamaConfig(
        vocab_size=VOCABULARY, intermediate_size=96, num_hidden_layers=2, max_position_embeddings=64, initializer_range=0.2,
        tie_word_embeddings=tied, pad_token_id=0, bos_token_id=None, eos_token_id=1, **HEADS,
    )  # fmt: skip
    return LlamaForCausalLM(config).eval().to(dtype)


def engine_for(policy: Model, folder: Path, model: ModelSpec | None = None) -> VLLM:
    spec = PPOSpec.model_validate({"batch_size": 8, "minibatches": 1, "rollout": {"engine": "vllm"}})
    return VLLM(policy, spec, model or ModelSpec(path="x"), stops=Stops((1,)), context=40, folder=folder, processes=1)


def write_spec(folder: Path, **changes: Any) -> Path:
    """The tiny run with wider heads, ten steps of PPO with vLLM, and a reward for responses of eight tokens."""
    ppo = {
        "steps": 10, "batch_size": 8, "epochs": 1, "minibatches": 2, "learning_rate": 1e-3, "max_new_tokens": 12,
        "save_every": 3, "eval_every": 5, "log_samples": 2, "rollout": {"engine": "vllm"},
    }  # fmt: skip
    sections: dict[str, Any] = {
        "stages": ["sft", "reward_model", "ppo", "evaluation"],
        "sft": {"epochs": 1, "save_every": 100},
        "reward_model": {"epochs": 1, "save_every": 100},
        "evaluation": {"prompts": 8},
    }
    spec = tiny_spec(**sections)
    spec["model"]["config"] |= HEADS
    spec["ppo"] = ppo
    for section, values in changes.items():
        spec[section] = spec.get(section, {}) | values if isinstance(values, dict) else values
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "spec.json"
    path.write_text(json.dumps(spec))
    return path
