"""A run of ours as a user starts it: a spec, `python -m trainer run`, and its events.jsonl."""

import json
import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from benchmarks.measuring.places import trainer_python
from benchmarks.ppo.models import OFFLINE, Models
from benchmarks.ppo.runs import Finished, Run, counted, from_events, measured
from benchmarks.ppo.settings import Settings

SYSTEM = "proximal"
NEVER = 1_000_000


def run(settings: Settings, models: Models, folder: Path, processes: int = 1, keep: bool = False) -> Run:
    """One run in `folder`, which is made anew; `keep`: with the checkpoint that it ends with."""
    wanted = spec(settings, models)
    if processes > 1:
        wanted |= {"resources": {"processes": processes}}
    done = train(wanted, folder, settings.size.device)
    iterations = from_events(folder / "run" / "events.jsonl", settings.size.batch)
    if not keep:
        shutil.rmtree(folder / "run" / "checkpoints")
    return Run(
        SYSTEM,
        iterations[: settings.iterations],
        counted(iterations, settings.iterations, last_too=not settings.learn),
        done.peak_rss_mib,
        done.cpu_seconds,
        done.wall_seconds,
        done.foreign_cores,
        done.peak_device_mib,
        _versions(folder / "run" / "events.jsonl"),
    )


def train(wanted: Mapping[str, Any], folder: Path, device: str = "cpu") -> Finished:
    """Write a spec to `folder`, which is made anew, and run it there: its run folder is `folder`/run."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    (folder / "spec.json").write_text(json.dumps(wanted, indent=1))
    verb = "launch" if wanted.get("resources", {}).get("processes", 1) > 1 else "run"
    command = [trainer_python(), "-m", "trainer", verb, str(folder / "spec.json"), "--run-dir", str(folder / "run")]
    return measured(command, folder / "log.txt", OFFLINE, device)


def ask(program: str, *arguments: str) -> str:
    """The output of a short program in the trainer's Python."""
    done = subprocess.run([trainer_python(), "-c", program, *arguments], capture_output=True, text=True, check=True)
    return done.stdout


def spec(settings: Settings, models: Models) -> dict[str, Any]:
    """PPO alone, by the peer's rules: one learning rate, no warm-up, no clipping of gradients, Adam's usual epsilon."""
    size = settings.size
    found: dict[str, Any] = {
        "name": f"benchmark {size.name}",
        "model": {"path": str(models.policy), "dtype": size.dtype},
        "data": {"prompts": str(models.prompts), "eval_fraction": 0.01, "max_prompt_tokens": 64},
        "stages": ["ppo"],
        "rewards": [{"type": "model", "path": str(models.reward)}],
        "ppo": _ppo(settings),
        # Neither system evaluates, saves or shows anything on the way.
        "evaluation": {"prompts": 1, "batch_size": 1, "keep_best": False},
        "health": {"enabled": False},
        "runtime": {"device": size.device, "threads": settings.threads},
        "seed": settings.seed,
    }
    return found | _on_one_backbone(models) if size.lora else found


def _ppo(settings: Settings) -> dict[str, Any]:
    size, rate = settings.size, settings.learning_rate
    return {
        "steps": settings.own_iterations,
        "batch_size": size.batch,
        "epochs": size.epochs,
        "minibatches": size.minibatches,
        "learning_rate": rate,
        "lr_schedule": settings.schedule,
        "warmup_ratio": 0.0,
        "adam_eps": 1e-8,
        "max_grad_norm": 1e9,
        "max_new_tokens": size.response,
        "critic": {"learning_rate": rate},
        "kl": {"coef": settings.kl_coef},
        "shaping": {"missing_eos_penalty": settings.missing_eos_penalty},
        "rollout": {"logprobs": "sampler"},  # as the peer, which takes them from the logits of generation
        "self_test": False,
        "save_every": NEVER,
        "eval_every": NEVER,
        "log_samples": 0,
    }


def _on_one_backbone(models: Models) -> dict[str, Any]:
    """Adapters on one frozen backbone for all four models; the run makes its reward model's adapter itself, in a few steps."""
    return {
        "model": {
            "path": str(models.policy),
            "dtype": "bfloat16",
            "lora": {"rank": 16, "merge": False},  # the results are the adapters: whole ones would be 27 GB a stage
        },
        "data": {
            "prompts": str(models.prompts),
            "preferences": str(models.preferences),
            "eval_fraction": 0.01,
            "max_prompt_tokens": 64,
        },
        "stages": ["reward_model", "ppo"],
        "reward_model": {"batch_size": 32, "normalize": "none", "save_every": NEVER},
        "rewards": [],
    }


def _versions(events: Path) -> dict[str, str]:
    with events.open(encoding="utf-8") as lines:
        started = next(event for event in map(json.loads, lines) if event["type"] == "run_started")
    return {**started["versions"], "threads": str(started["threads"])}
