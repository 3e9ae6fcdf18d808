"""Models and tokenizers as they come: each works through all stages, or is refused by name before training."""

from pathlib import Path
from typing import Any

import pytest
import torch
from transformers import AutoModelForCausalLM, AutoTokenizer, GPT2Config, GPT2LMHeadModel

from tests import tolerance
from tests.trainer.run.tools import LENGTH, LORA, finished, run
from tests.trainer.running import metrics_of
from trainer.errors import ModelError

STAGES = ["sft", "reward_model", "ppo", "evaluation"]


def gpt2_in(folder: Path, first: Path, rows: int, pad: str | None, positions: int = 128) -> Path:
    """Tied embeddings, dropout in its config, learned positions, no chat template; `rows` more than there are tokens."""
    tokenizer = AutoTokenizer.from_pretrained(first / "sft")
    tokenizer.pad_token = pad
    torch.manual_seed(0)
    sizes = {"n_embd": 32, "n_layer": 2, "n_head": 4, "n_positions": positions}
    ids = {"eos_token_id": tokenizer.eos_token_id, "bos_token_id": None, "pad_token_id": tokenizer.pad_token_id}
    GPT2LMHeadModel(GPT2Config(vocab_size=len(tokenizer) + rows, **sizes, **ids)).save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


@pytest.mark.parametrize(
    ("pad", "rows", "model"),
    [
        pytest.param(None, 0, {}, marks=pytest.mark.slow),
        ("<|eos|>", 61, {"lora": LORA}),
        pytest.param(None, 5, {"dtype": "bfloat16"}, marks=pytest.mark.slow),
    ],
    ids=["no pad", "pad is eos, more rows, adapters", "bfloat16"],
)
def test_a_gpt2_goes_through_all_stages(
    first: Path, tmp_path: Path, pad: str | None, rows: int, model: dict[str, Any]
) -> None:
    base = gpt2_in(tmp_path / "base", first, rows, pad)
    run(tmp_path, STAGES, model={"path": str(base), "gradient_checkpointing": True} | model)
    assert finished(tmp_path) == STAGES
    first_step = metrics_of(tmp_path)["ppo", 1]
    assert first_step["objective/kl"] == 0
    # the minibatches are narrower than the batch that was scored, so their products round differently
    computed_in = getattr(torch, model.get("dtype", "float32"))
    assert first_step["val/first_minibatch_ratio"] == pytest.approx(1, abs=tolerance.mean(computed_in))
    saved = AutoModelForCausalLM.from_pretrained(tmp_path / "checkpoints" / "ppo")
    assert saved.lm_head.weight is saved.transformer.wte.weight and saved.dtype == torch.float32


def test_a_vocabulary_smaller_than_the_tokenizers_is_refused(first: Path, tmp_path: Path) -> None:
    base = gpt2_in(tmp_path / "base", first, -1, None)
    with pytest.raises(ModelError, match=r"The tokenizer has \d+ tokens, the model only \d+"):
        run(tmp_path, ["sft"], model=str(base))


def test_context_must_fit_only_the_stages_that_run(first: Path, tmp_path: Path) -> None:
    """A context of 48 is enough for SFT; sampling 64 tokens would need more."""
    base = gpt2_in(tmp_path / "base", first, 0, None, positions=48)
    run(tmp_path / "a", ["sft"], model=str(base), ppo={"max_new_tokens": 64})
    with pytest.raises(ModelError, match=r"`ppo.max_new_tokens` together: \d+ tokens, but the model's context is 48"):
        run(tmp_path / "b", ["ppo"], model=str(base), ppo={"max_new_tokens": 64}, rewards=[LENGTH])
    run(tmp_path / "c", ["evaluation"], model=str(base), ppo={"max_new_tokens": 64}, rewards=[LENGTH],
        evaluation={"max_new_tokens": 4, "against": str(base)})  # fmt: skip


def test_architecture_without_scoring_head_runs_without_critic(tmp_path: Path) -> None:
    sizes = {"n_embd": 32, "n_layer": 1, "n_head": 4, "n_positions": 128, "rotary_dim": 8}
    model = {"config": sizes | {"model_type": "codegen"}, "tokenizer": {"vocab_size": 512}}
    with pytest.raises(ModelError, match="codegen: transformers has no reward model"):
        run(tmp_path / "a", ["sft", "ppo"], model=model, rewards=[LENGTH])
    no_critic = {"advantage": {"estimator": "reward_to_go"}}
    run(tmp_path / "b", ["sft", "ppo"], model=model, rewards=[LENGTH], ppo=no_critic)
    head = {"critic": {"kind": "value_head"}}
    run(tmp_path / "c", ["sft", "ppo"], model=model, rewards=[LENGTH], ppo=head)


def test_template_and_pad_are_saved_with_every_result(first: Path, tmp_path: Path) -> None:
    tokenizer = AutoTokenizer.from_pretrained(first / "sft")
    tokenizer.chat_template = "{% for m in messages %}{{ m['role'] }}: {{ m['content'] }}\n{% endfor %}"
    base = tmp_path / "base"
    AutoModelForCausalLM.from_pretrained(first / "sft").save_pretrained(base)
    tokenizer.save_pretrained(base)
    run(tmp_path, ["ppo"], model={"path": str(base), "lora": LORA}, rewards=[LENGTH])
    saved = AutoTokenizer.from_pretrained(tmp_path / "checkpoints" / "ppo")
    assert saved.chat_template == tokenizer.chat_template and saved.get_vocab() == tokenizer.get_vocab()
