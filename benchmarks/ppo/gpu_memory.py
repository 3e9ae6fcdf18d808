"""How much GPU memory PPO takes, by the preflight: `python -m benchmarks.ppo.gpu_memory` prints the table of docs/explanation/memory.md.

No model is loaded. Prompts and responses have 512 tokens. There are 64 responses in 4 minibatches, and 4 sequences per
forward pass. The run trains its reward model, with gradient checkpointing. All types are bfloat16 unless stated otherwise.
"""

from typing import Any

import torch
from transformers import LlamaConfig, PretrainedConfig, Qwen2Config

from trainer.preflight.memory.fake_models import Blueprint
from trainer.preflight.memory.passes import Passes
from trainer.preflight.memory.phases import Phases
from trainer.preflight.memory.processes import RUNTIME
from trainer.preflight.workload import Sizes
from trainer.spec import JobSpec
from trainer.stages.tokenize import TokenizedData
from trainer.text.codec import TokenizedPrompt

LENGTH = 512
CARDS = (24, 80, 141)
"""Gigabytes."""
SHAPES: dict[str, PretrainedConfig] = {
    "0.5B (Qwen2.5)": Qwen2Config(
        vocab_size=151_936, hidden_size=896, intermediate_size=4864, num_hidden_layers=24, num_attention_heads=14,
        num_key_value_heads=2, tie_word_embeddings=True,
    ),
    "1.5B (Qwen2.5)": Qwen2Config(
        vocab_size=151_936, hidden_size=1536, intermediate_size=8960, num_hidden_layers=28, num_attention_heads=12,
        num_key_value_heads=2, tie_word_embeddings=True,
    ),
    "7B (Llama)": LlamaConfig(vocab_size=32_000),
}  # fmt: skip
_SMALL = {"model": {"trained_weights": "bfloat16"}}
WAYS: dict[str, dict[str, dict[str, Any]]] = {
    "full, float32 weights": {},
    "full, bfloat16 weights": _SMALL,
    "… and 8-bit moments, frozen models away": _SMALL
    | {"ppo": {"optimizer": "adamw_8bit"}, "runtime": {"offload_frozen": True}},
    "… or all of the optimizer in RAM": _SMALL
    | {"ppo": {"offload_optimizer": True, "rollout": {"rows_at_once": 32}}, "runtime": {"offload_frozen": True}},
    "LoRA, one backbone": {"model": {"lora": {"rank": 16}}},
    "LoRA, 4 bits, 16 rows sampled at once": {
        "model": {"lora": {"rank": 16}, "quantization": "4bit"},
        "ppo": {"rollout": {"rows_at_once": 16}},
    },
}


def spec_of(changes: dict[str, dict[str, Any]]) -> JobSpec:
    ppo = {"batch_size": 64, "minibatches": 4, "max_new_tokens": LENGTH, "micro_batch_size": 4}
    raw: dict[str, Any] = {
        "model": {"path": "unused", "dtype": "bfloat16", "gradient_checkpointing": True} | changes.get("model", {}),
        "data": {"preferences": "unused"},
        "stages": ["reward_model", "ppo"],
        "ppo": ppo | changes.get("ppo", {}),
        "runtime": {"device": "cuda"} | changes.get("runtime", {}),
    }
    return JobSpec.model_validate(raw)


def estimate(config: PretrainedConfig, spec: JobSpec) -> dict[str, int]:
    """Bytes expected in each phase of PPO, and `host`: of an offloaded optimizer in RAM."""
    prompts = [TokenizedPrompt("p", [0] * LENGTH)] * 8
    sizes = Sizes(TokenizedData(prompts=prompts, held_out_prompts=prompts), eos_id=0)
    phases = Phases(spec, Passes(Blueprint(config, spec.model, "cuda")), sizes)
    return {phase.phase: phase.expected for phase in phases.of("ppo")} | {"host": phases.host()}


def main() -> None:
    torch.set_num_threads(1)
    print(f"| shape | way | rollout | score | update | RAM | fits on ({', '.join(map(str, CARDS))} GB) |")
    print("|---|---|---|---|---|---|---|")
    for shape, config in SHAPES.items():
        for way, changes in WAYS.items():
            found = estimate(config, spec_of(changes))
            peak = max(found[phase] for phase in ("ppo_rollout", "ppo_score", "ppo_update")) + RUNTIME["cuda"]
            sizes = (found[name] / 1e9 for name in ("ppo_rollout", "ppo_score", "ppo_update", "host"))
            fits = next((str(card) for card in CARDS if peak <= card * 1e9), "none")
            print(f"| {shape} | {way} | " + " | ".join(f"{size:.1f}" for size in sizes) + f" | {fits} |", flush=True)


if __name__ == "__main__":
    main()
