"""The folders that both systems start from: one tokenizer, a policy with random or briefly fine-tuned weights, and its critic."""

import json
from pathlib import Path
from typing import Literal

from benchmarks.ppo import ours
from benchmarks.ppo.models import Models
from examples.strings.model import new_policy
from examples.strings.tasks import ALPHABET, PROMPTS, Task

Start = Literal["random", "sft"]


def ready(task: Task, start: Start, seed: int, cache: Path) -> Models:
    """Policy, critic and prompts of one run, made if they are not there yet."""
    folder = cache / "starts" / f"{task.name}-{start}-{seed}"
    if not (folder / "done").exists():
        folder.mkdir(parents=True, exist_ok=True)
        _write_prompts(task, folder)
        new_policy(folder / "policy", seed)
        if start == "sft":
            _fine_tune(task, folder, seed)
        _new_critic(folder)
        (folder / "done").touch()
    return Models(
        folder / "policy", folder / "critic", folder / "prompts.jsonl", folder / "sft.jsonl", len(ALPHABET) + 2, 0.0
    )


def _write_prompts(task: Task, folder: Path) -> None:
    """All prompts, with their answers; and demonstrations for SFT, of other prompts where there are enough."""
    prompts = task.prompts()
    rows = [json.dumps({"prompt": prompt, "answer": task.answer(prompt)}) for prompt in prompts]
    (folder / "prompts.jsonl").write_text("\n".join(rows) + "\n")
    shown = [json.dumps({"prompt": prompt, "completion": task.answer(prompt)}) for prompt in task.prompts(seed=1)]
    (folder / "sft.jsonl").write_text("\n".join(shown[: PROMPTS // 2]) + "\n")


def _fine_tune(task: Task, folder: Path, seed: int) -> None:
    """So briefly that much is left to learn: our own SFT stage, then its checkpoint in the policy's place."""
    spec = {
        "name": f"SFT of {task.name}",
        "model": {"path": str(folder / "policy")},
        "data": {"sft": str(folder / "sft.jsonl"), "eval_fraction": 0.02},
        "stages": ["sft"],
        "sft": {"batch_size": 32, "epochs": 6, "learning_rate": 2e-3, "save_every": 10_000},
        "runtime": {"device": "cpu", "threads": 1},
        "seed": seed,
    }
    ours.train(spec, folder / "sft")
    (folder / "policy").rename(folder / "random")
    (folder / "sft" / "run" / "checkpoints" / "sft").rename(folder / "policy")


def _new_critic(folder: Path) -> None:
    """The critic that a run of ours with `critic.initial` = "policy" begins with, for the peer to load."""
    from transformers import AutoTokenizer

    from trainer.models import new_reward_model

    new_reward_model(folder / "policy", "zero").save_pretrained(folder / "critic")
    AutoTokenizer.from_pretrained(folder / "policy").save_pretrained(folder / "critic")
