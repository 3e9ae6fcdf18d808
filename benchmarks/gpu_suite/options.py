"""Every option that changes how a run uses a GPU, each as what it changes in one small spec."""

import tomllib
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from benchmarks.measuring.places import ROOT

Changes = dict[str, dict[str, Any]]


@dataclass(frozen=True)
class Option:
    """`changes` are merged into the sections of the spec."""

    name: str
    changes: Changes = field(default_factory=dict)
    needs: tuple[str, ...] = ()
    """Packages that must be importable."""
    devices: int = 0
    """GPUs that it takes, where one is not enough."""
    rehearsed: bool = True
    """Whether a CPU can run it, in a second or two."""


def _rollout(**changes: Any) -> Changes:
    return {"ppo": {"rollout": changes}}


_LORA = {"rank": 4, "merge": False}
OPTIONS = (
    Option("float32, eager steps", _rollout(decode="eager")),
    Option("float32, captured steps", _rollout(decode="auto")),
    Option("float32 in TF32", {"model": {"tf32": True}}, rehearsed=False),
    Option("type by the device", {"model": {"dtype": "auto"}}),
    Option("bfloat16", {"model": {"dtype": "bfloat16"}}),
    Option("bfloat16, captured steps", {"model": {"dtype": "bfloat16"}} | _rollout(decode="auto", rows_at_once=8)),
    Option("bfloat16 trained weights", {"model": {"dtype": "bfloat16", "trained_weights": "bfloat16"}}),
    Option("asynchronous", _rollout(asynchronous=True)),
    Option("asynchronous, bfloat16", {"model": {"dtype": "bfloat16"}} | _rollout(asynchronous=True), rehearsed=False),
    Option("vllm", {"model": {"dtype": "bfloat16"}} | _rollout(engine="vllm"), needs=("vllm",)),
    Option("log-probabilities of the sampler", _rollout(logprobs="sampler"), rehearsed=False),
    Option("8-bit Adam", {"ppo": {"optimizer": "adamw_8bit"}}),
    Option("offloaded optimizer", {"ppo": {"offload_optimizer": True}}, rehearsed=False),
    Option("offloaded frozen models", {"runtime": {"offload_frozen": True}}, rehearsed=False),
    Option("gradient checkpointing", {"model": {"gradient_checkpointing": True}}, rehearsed=False),
    Option("micro-batches", {"ppo": {"micro_batch_size": 2}}, rehearsed=False),
    Option("padded rows", {"runtime": {"packing": False}}, rehearsed=False),
    Option("LoRA on one backbone", {"model": {"dtype": "bfloat16", "lora": _LORA}}),
    Option(
        "LoRA on a backbone in 4 bits",
        {"model": {"dtype": "bfloat16", "lora": {"rank": 4}, "quantization": "4bit"}},
        needs=("bitsandbytes",),
    ),
    Option(
        "two processes",
        {"resources": {"processes": 2}, "ppo": {"rollout": {"decode": "eager"}}},
        devices=2,
        rehearsed=False,
    ),
    Option(
        "FSDP",
        {"resources": {"processes": 2}, "runtime": {"sharding": "fsdp"}, "ppo": {"rollout": {"decode": "eager"}}},
        devices=2,
        rehearsed=False,
    ),
)


def start_spec(device: str, rehearsal: bool) -> dict[str, Any]:
    """The run whose policy and reward model the options begin with: examples/tiny.toml, on a GPU with a larger model."""
    spec = _tiny(device)
    spec["stages"] = ["sft", "reward_model"]
    if rehearsal:
        spec["sft"]["epochs"] = spec["reward_model"]["epochs"] = 1
    else:
        spec["model"]["config"] |= {"hidden_size": 256, "intermediate_size": 704, "num_hidden_layers": 4}
        spec["sft"]["learning_rate"] = spec["reward_model"]["learning_rate"] = 1e-3
    return spec


def option_spec(option: Option, start: Path, device: str, rehearsal: bool) -> dict[str, Any]:
    """PPO alone from the checkpoints in `start`; under adapters the reward model too, which then is one."""
    spec = _tiny(device)
    spec["model"] = {"path": str(start / "sft"), "dtype": "float32"}
    lora = "lora" in option.changes.get("model", {})
    spec["stages"] = ["reward_model", "ppo"] if lora else ["ppo"]
    if not lora:
        spec["rewards"] = [{"type": "model", "path": str(start / "reward_model")}]
    spec["data"].pop("sft")
    spec["reward_model"]["epochs"] = 1
    size = (
        {"steps": 2, "batch_size": 8, "max_new_tokens": 8}
        if rehearsal
        else {"steps": 4, "batch_size": 32, "max_new_tokens": 64}
    )
    spec["ppo"] |= size | {"eval_every": 1000, "save_every": 1000, "log_samples": 0}
    spec["evaluation"] = {"prompts": 4}
    for section, values in option.changes.items():
        spec[section] = _merged(spec.get(section, {}), values)
    return spec


def _merged(before: dict[str, Any], changes: dict[str, Any]) -> dict[str, Any]:
    nested = {key: _merged(before[key], value) for key, value in changes.items() if isinstance(before.get(key), dict)}
    return before | changes | nested


def _tiny(device: str) -> dict[str, Any]:
    spec = tomllib.loads((ROOT / "examples" / "tiny.toml").read_text(encoding="utf-8"))
    spec["data"] |= {name: str(ROOT / "examples" / spec["data"][name]) for name in ("sft", "preferences")}
    spec["runtime"] = {"device": device, "threads": 1}
    return spec
