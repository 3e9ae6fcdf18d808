"""From one run's models to the folders that are measured: `python -m benchmarks.ppo.variants FOLDER`, started by `models`.

FOLDER holds data/, size.json and either the runs that trained the models (run-sft/, run-reward/), or those of a smaller
vocabulary under their final names, or nothing more, for random weights. Makes policy-natural, reward-natural, policy-full,
reward-full and facts.json.
"""

import json
import os
import shutil
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import torch
from torch import nn
from transformers import AutoConfig, AutoModelForCausalLM, AutoModelForSequenceClassification, AutoTokenizer

from benchmarks.ppo.sizes import Size
from trainer.session import manifest
from trainer.text.codec import train_tokenizer

_NEVER = "ÿ"
"""A byte that no text here holds, as byte-level BPE writes it: after SFT the policies draw it once in a million tokens."""


def main() -> None:
    make(Path(sys.argv[1]))


def make(folder: Path) -> None:
    """All of it, from what `folder` holds."""
    size = Size.from_json((folder / "size.json").read_text())
    policy, reward = folder / "policy-natural", folder / "reward-natural"
    if size.base is not None:
        assert size.shape.vocab is not None  # or it would be its base
        _widen(policy, AutoModelForCausalLM, size.shape.vocab)
        _widen(reward, AutoModelForSequenceClassification, size.shape.vocab)
    elif size.trained:
        _take(folder / "run-sft" / "checkpoints" / "sft", policy)
        _take(folder / "run-reward" / "checkpoints" / "reward_model", reward)
    else:
        _draw(size, folder, policy, reward)
    for kind in ("policy", "reward"):
        _never_ending(folder / f"{kind}-natural", folder / f"{kind}-full")
    _write_facts(folder, policy)


def _take(checkpoint: Path, target: Path) -> None:
    """A model of its own, without the manifest: its files are changed later."""
    left = shutil.ignore_patterns(manifest.STATE, "stage.json", manifest.NAME)
    shutil.copytree(checkpoint, target, copy_function=os.link, ignore=left)


def _widen(folder: Path, family: Any, rows: int) -> None:
    """A larger vocabulary: further rows like the one of a token that no text holds, which the policy has learnt not to draw."""
    model = family.from_pretrained(folder, dtype=torch.float32)
    old = model.config.vocab_size
    unseen = AutoTokenizer.from_pretrained(folder).convert_tokens_to_ids(_NEVER)
    model.resize_token_embeddings(rows, mean_resizing=False)
    with torch.no_grad():
        weights = model.get_input_embeddings().weight
        weights[old:] = weights[unseen]
    _save(model, folder)


def _draw(size: Size, folder: Path, policy: Path, reward: Path) -> None:
    """Random weights of the given shape, and a tokenizer of the texts, which names only the first of its tokens."""
    shape = size.shape
    tokenizer = train_tokenizer(_texts(folder / "data" / "sft.jsonl"), 1024)
    sizes = {
        "hidden_size": shape.hidden,
        "intermediate_size": shape.ffn,
        "num_hidden_layers": shape.layers,
        "num_attention_heads": shape.heads,
        "num_key_value_heads": shape.key_values,
        "tie_word_embeddings": shape.tied,
        "vocab_size": shape.vocab or len(tokenizer),
        "max_position_embeddings": 2048,
        "bos_token_id": None,
        "eos_token_id": tokenizer.eos_token_id,
        "pad_token_id": tokenizer.pad_token_id,
        "initializer_range": size.init_std,
        "num_labels": 1,
    }
    config = AutoConfig.for_model("llama", **sizes)
    dtype = torch.bfloat16 if size.lora else torch.float32
    for target, family in ((policy, AutoModelForCausalLM), (reward, AutoModelForSequenceClassification)):
        if target == reward and size.lora:
            continue  # its reward model is an adapter, made by the run itself
        torch.manual_seed(0)
        with torch.device(
            "cuda" if size.device == "cuda" and torch.cuda.is_available() else "cpu"
        ):  # seconds, not a minute
            model = family.from_config(config, dtype=dtype)  # type: ignore[no-untyped-call]
        _save(model, target)
        del model
    for target in (policy, reward):
        tokenizer.save_pretrained(target)


def _texts(path: Path) -> Iterable[str]:
    with path.open(encoding="utf-8") as lines:
        for line in lines:
            row = json.loads(line)
            yield row["prompt"] + row["completion"]


def _save(model: nn.Module, folder: Path) -> None:
    """Over what is there: the old files are links to the run's."""
    for old in folder.glob("*.safetensors"):
        old.unlink()
    model.save_pretrained(folder)  # type: ignore[operator]


def _never_ending(natural: Path, full: Path) -> None:
    """The same weights with another EOS: a token that the policy never draws, so that every response is as long as allowed.

    Both systems read it from the tokenizer, and neither needs an option for it.
    """
    shutil.copytree(natural, full, copy_function=os.link)
    tokenizer = AutoTokenizer.from_pretrained(natural)
    assert tokenizer.convert_tokens_to_ids(_NEVER) != tokenizer.unk_token_id
    tokenizer.eos_token = _NEVER
    for name in ("tokenizer.json", "tokenizer_config.json", "special_tokens_map.json"):
        (full / name).unlink(missing_ok=True)
    tokenizer.save_pretrained(full)
    for name in ("config.json", "generation_config.json"):
        if (full / name).exists():
            found = json.loads((full / name).read_text())
            (full / name).unlink()
            (full / name).write_text(json.dumps(found | {"eos_token_id": tokenizer.eos_token_id}, indent=2))


def _write_facts(folder: Path, policy: Path) -> None:
    tokenizer = AutoTokenizer.from_pretrained(policy)
    prompts = [json.loads(line)["prompt"] for line in (folder / "data" / "prompts.jsonl").read_text().splitlines()]
    lengths = [len(tokenizer(prompt)["input_ids"]) for prompt in prompts]
    vocab = AutoConfig.from_pretrained(policy).vocab_size
    facts = {"vocab": vocab, "tokens": len(tokenizer), "prompt_tokens": sum(lengths) / len(lengths)}
    (folder / "facts.json").write_text(json.dumps(facts, indent=1))


if __name__ == "__main__":
    main()
