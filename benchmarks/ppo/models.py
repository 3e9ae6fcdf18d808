"""Makes a size's models once and keeps them: the policy by our own SFT stage, the reward model by our own RM stage."""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.measuring.places import ROOT, say, trainer_python
from benchmarks.ppo import corpus
from benchmarks.ppo.sizes import SIZES, Size

OFFLINE = {"HF_HUB_OFFLINE": "1", "TOKENIZERS_PARALLELISM": "false"}
_HELD_OUT = 0.02
_PAIRS = 32
"""Pairs of an optimizer step."""


@dataclass(frozen=True)
class Models:
    """Folders and files that both systems are given."""

    policy: Path
    reward: Path
    prompts: Path
    preferences: Path
    vocab: int
    """Rows of the embedding."""
    prompt_tokens: float
    """Mean length of a prompt."""


def ready(
    size: Size,
    cache: Path,
    full_length: bool = False,
    threads: int | None = None,
    variants: Callable[[Path], None] | None = None,
) -> Models:
    """The size's models, made if they are not there yet (half a minute to two on two quiet cores).

    `variants` is `benchmarks.ppo.variants.make` for a caller that holds torch itself; None: it runs in a process of its own.
    """
    folder = cache / "models" / f"{size.name}-{size.digest()}"
    if not (folder / "facts.json").exists():
        _make(size, folder, threads, variants or _variants)
    facts = json.loads((folder / "facts.json").read_text())
    kind = "full" if full_length or size.full_length else "natural"
    data = folder / "data"
    return Models(
        folder / f"policy-{kind}",
        folder / f"reward-{kind}",
        data / "prompts.jsonl",
        data / "preferences.jsonl",
        facts["vocab"],
        facts["prompt_tokens"],
    )


def _make(size: Size, folder: Path, threads: int | None, variants: Callable[[Path], None]) -> None:
    """In a folder of another name, which gets its own once everything is there."""
    draft = folder.with_name(folder.name + ".making")
    shutil.rmtree(draft, ignore_errors=True)
    draft.mkdir(parents=True)
    (draft / "size.json").write_text(size.to_json())
    if size.base is not None:
        base = ready(SIZES[size.base], folder.parent.parent, threads=threads).policy.parent
        for part in ("data", "policy-natural", "reward-natural"):
            shutil.copytree(base / part, draft / part)
    else:
        _train(size, draft, threads)
    variants(draft)
    for run in draft.glob("run-*"):
        shutil.rmtree(run)
    draft.rename(folder)


def _variants(draft: Path) -> None:
    _run(["benchmarks.ppo.variants", str(draft)], draft)


def _train(size: Size, draft: Path, threads: int | None) -> None:
    """The texts, and where the size wants trained models both stages, each as a run of its own."""
    texts = int(size.sft_steps * size.sft_batch / (1 - _HELD_OUT))
    corpus.write(draft / "data", size.reviews, texts=texts, pairs=int(size.reward_steps * _PAIRS / (1 - _HELD_OUT)))
    if not size.trained:
        return
    say(f"{size.name}: training its policy and its reward model, once")
    for stage, spec in (("sft", _sft(size)), ("reward_model", _reward_model(draft / "run-sft/checkpoints/sft"))):
        files = {name: str(draft / "data" / f"{name}.jsonl") for name in spec["data"]}
        lengths = {"eval_fraction": _HELD_OUT, "max_prompt_tokens": 32, "max_completion_tokens": 128}
        spec |= {"stages": [stage], "data": files | lengths, "runtime": {"device": size.device, "threads": threads}}
        (draft / f"{stage}.json").write_text(json.dumps(spec, indent=1))
        _run(
            ["trainer", "run", f"{draft / stage}.json", "--run-dir", str(draft / f"run-{stage.split('_')[0]}")],
            draft,
        )


def _run(module: list[str], folder: Path) -> None:
    log = folder / "log.txt"
    with log.open("a") as out:
        done = subprocess.run(
            [trainer_python(), "-m", *module], cwd=ROOT, env=os.environ | OFFLINE, stdout=out, stderr=out, check=False
        )
    if done.returncode:
        sys.exit(f"Making the models failed; {log} ends with:\n{log.read_text()[-2000:]}")


def _sft(size: Size) -> dict[str, Any]:
    """So brief that the lengths come out natural, no more."""
    shape = size.shape
    config = {
        "model_type": "llama",
        "hidden_size": shape.hidden,
        "intermediate_size": shape.ffn,
        "num_hidden_layers": shape.layers,
        "num_attention_heads": shape.heads,
        "num_key_value_heads": shape.key_values,
        "max_position_embeddings": 256,
        "tie_word_embeddings": shape.tied,
        "initializer_range": size.init_std,
    }
    return {
        "model": {"config": config, "tokenizer": {"vocab_size": 1024}},
        "data": ["sft"],
        "sft": {"batch_size": size.sft_batch, "learning_rate": size.sft_rate, "save_every": 10_000},
    }


def _reward_model(policy: Path) -> dict[str, Any]:
    """A brief training, so that scores have a meaning. They are not normalised, because the peer has no bias of a score."""
    return {
        "model": {"path": str(policy)},
        "data": ["preferences"],
        "reward_model": {"batch_size": _PAIRS, "learning_rate": 1e-3, "save_every": 10_000, "normalize": "none"},
    }
