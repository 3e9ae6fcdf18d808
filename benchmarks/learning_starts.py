"""The folders that both systems start from: one tokenizer, a policy with random or briefly fine-tuned weights, and its critic."""

import json
from pathlib import Path
from typing import Any, Literal

from benchmarks import ours
from benchmarks.learning_tasks import ALPHABET, PROMPTS, Task
from benchmarks.models import Models
from benchmarks.sizes import Shape

Start = Literal["random", "sft"]
SHAPE = Shape(hidden=64, layers=2, heads=4, ffn=128)
_INIT_STD = 0.05
_NEVER = -20.0
"""A logit: e⁻²⁰ of the others' probability."""


def ready(task: Task, start: Start, seed: int, cache: Path) -> Models:
    """Policy, critic and prompts of one run, made if they are not there yet."""
    folder = cache / "starts" / f"{task.name}-{start}-{seed}"
    if not (folder / "done").exists():
        folder.mkdir(parents=True, exist_ok=True)
        _write_prompts(task, folder)
        _new_policy(folder / "policy", seed)
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


def _new_policy(folder: Path, seed: int) -> None:
    """Random weights, and an output layer with a bias: so low at PAD that neither system ever samples it.

    TRL takes a sampled PAD for the end of a response; a policy that samples nothing else makes its losses NaN.
    """
    import torch
    from transformers import PhiConfig, PhiForCausalLM

    tokenizer = _tokenizer()
    torch.manual_seed(seed)
    config = PhiConfig(
        vocab_size=len(tokenizer),
        hidden_size=SHAPE.hidden,
        intermediate_size=SHAPE.ffn,
        num_hidden_layers=SHAPE.layers,
        num_attention_heads=SHAPE.heads,
        max_position_embeddings=64,
        initializer_range=_INIT_STD,
        resid_pdrop=0.0,
        embd_pdrop=0.0,
        attention_dropout=0.0,
        bos_token_id=None,
        eos_token_id=tokenizer.eos_token_id,
        pad_token_id=tokenizer.pad_token_id,
    )
    model = PhiForCausalLM(config)
    torch.nn.init.constant_(model.lm_head.bias[tokenizer.pad_token_id : tokenizer.pad_token_id + 1], _NEVER)
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)


def _tokenizer() -> Any:
    """One token a character."""
    from tokenizers import Regex, Tokenizer, decoders, models, pre_tokenizers
    from transformers import PreTrainedTokenizerFast

    tokens = ["<pad>", "<eos>", *ALPHABET]
    inner = Tokenizer(models.WordLevel({token: number for number, token in enumerate(tokens)}, unk_token="<pad>"))
    inner.pre_tokenizer = pre_tokenizers.Split(Regex("."), "isolated")
    inner.decoder = decoders.Fuse()
    return PreTrainedTokenizerFast(tokenizer_object=inner, eos_token="<eos>", pad_token="<pad>")


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
