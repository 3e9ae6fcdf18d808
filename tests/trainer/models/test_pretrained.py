"""A real pretrained model (no PAD token, BOS before prompts) on real, human-rated text."""

import json
from pathlib import Path

import pytest
import torch
from transformers import AutoModelForCausalLM, AutoTokenizer

from tests import tolerance
from tests.trainer.running import metrics_of, run

PROMPTS = ("Once upon a time", "The film was", "One day, a girl", "The story is")


def preferences(vader: Path, path: Path, count: int) -> Path:
    """Pairs of film snippets whose mean human sentiment differs by a point at least; the kinder one is preferred."""
    lines = (vader / "human_ratings" / "movieReviewSnippets_GroundTruth.txt").read_text(encoding="utf-8").splitlines()
    rated = [(float(score), text) for _, score, text in (line.split("\t", 2) for line in lines) if len(text) < 60]
    kind, harsh = [text for score, text in rated if score > 0.5], [text for score, text in rated if score < -0.5]
    rows = [
        {"prompt": PROMPTS[n % len(PROMPTS)], "chosen": " " + good, "rejected": " " + bad}
        for n, (good, bad) in enumerate(list(zip(kind, harsh, strict=False))[:count])
    ]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


@pytest.mark.slow
def test_a_pretrained_model_without_pad_goes_through_all_stages(shared_data: Path, tmp_path: Path) -> None:
    data = preferences(shared_data / "vader", tmp_path / "preferences.jsonl", 96)
    spec = {
        "model": str(shared_data / "model_stories260k"),
        "data": {"preferences": str(data), "eval_fraction": 0.3},
        "sft": {"learning_rate": 1e-3, "batch_size": 8},
        "reward_model": {"learning_rate": 1e-3, "batch_size": 8},
        "ppo": {"steps": 2, "batch_size": 8, "epochs": 1, "minibatches": 1, "max_new_tokens": 16, "eval_every": 1},
        "runtime": {"threads": 1},
    }
    (tmp_path / "spec.json").write_text(json.dumps(spec))
    assert run(tmp_path / "spec.json", tmp_path / "run") == (0, "")
    first = metrics_of(tmp_path / "run")["ppo", 1]
    assert abs(first["objective/kl"]) < 1e-3 and abs(first["val/ratio"] - 1) < tolerance.mean()
    checkpoint = tmp_path / "run" / "checkpoints" / "ppo"
    model, tokenizer = AutoModelForCausalLM.from_pretrained(checkpoint), AutoTokenizer.from_pretrained(checkpoint)
    assert torch.isfinite(
        model(**tokenizer("Once upon", return_tensors="pt", return_token_type_ids=False)).logits
    ).all()
