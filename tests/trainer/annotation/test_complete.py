"""Completions of policies that were made up on the spot, and a reward model's scores of them."""

import copy
import json
import math
from pathlib import Path
from typing import Any

import pytest
import torch
from transformers import LlamaConfig, LlamaForCausalLM, LlamaForSequenceClassification

from tests import tolerance
from trainer.cli import main
from trainer.sampling import Response, sample_with
from trainer.text.codec import Tokenizer, train_tokenizer

PROMPTS = ["how was it ?", "was the film any good , would you say ?", "tell me ."]
CONTEXT = 48


@pytest.fixture(scope="module")
def tokenizer() -> Tokenizer:
    return train_tokenizer(PROMPTS, 300)


def saved(folder: Path, tokenizer: Tokenizer, seed: int, kind: Any = LlamaForCausalLM) -> Any:
    """A tiny model in that folder."""
    torch.manual_seed(seed)
    config = LlamaConfig(  # type: ignore[call-arg]
        vocab_size=len(tokenizer), hidden_size=16, intermediate_size=24, num_hidden_layers=1, num_attention_heads=2,
        max_position_embeddings=CONTEXT, initializer_range=0.5, num_labels=1, pad_token_id=None, bos_token_id=None,
        eos_token_id=tokenizer.eos_token_id, score_bias=0.5, tie_word_embeddings=False,
    )  # fmt: skip
    model = kind(config).eval()
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return model


@pytest.fixture
def folder(tmp_path: Path, tokenizer: Tokenizer) -> Path:
    for seed, name in enumerate(("one", "two")):
        saved(tmp_path / name, tokenizer, seed)
    (tmp_path / "prompts.jsonl").write_text("".join(json.dumps({"prompt": prompt}) + "\n" for prompt in PROMPTS))
    return tmp_path


def asked(path: str, **settings: Any) -> dict[str, Any]:
    return {"path": path, "device": "cpu"} | settings


def complete(folder: Path, **changes: Any) -> list[dict[str, Any]]:
    plain = {"prompts": "prompts.jsonl", "policies": [asked("one"), asked("two")], "max_new_tokens": 8}
    (folder / "request.json").write_text(json.dumps(plain | changes))
    assert main(["complete", str(folder / "request.json"), "--out", str(folder / "out.jsonl")]) == 0
    return [json.loads(line) for line in (folder / "out.jsonl").read_text().splitlines()]


def test_complete_samples_per_prompt_is_the_count_of_each_policy(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    found = complete(folder, completions=2)
    assert [row["policies"] for row in found] == [[0, 0, 1, 1]] * 3
    assert len({text for row in found for text in row["completions"]}) > 6, "drawn, not the likeliest each time"
    lines = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [line["progress"] for line in lines] == sorted(line["progress"] for line in lines)
    assert lines[-1]["note"] == "Policy 2 of 2"


def test_what_is_drawn_depends_on_the_seed_alone(folder: Path) -> None:
    first = complete(folder, seed=3)
    assert complete(folder, seed=3, batch_size=1) == first
    assert complete(folder, seed=4) != first


def test_complete_responses_do_not_depend_on_other_policies(folder: Path) -> None:
    both = complete(folder)
    assert [row["completions"] for row in complete(folder, policies=[asked("one")])] == [
        row["completions"][:1] for row in both
    ]


def test_complete_prompt_that_fills_context_gets_no_response(folder: Path, tokenizer: Tokenizer) -> None:
    lengths = [len(tokenizer(prompt)["input_ids"]) for prompt in PROMPTS]
    assert lengths[1] == max(lengths) > lengths[0]
    found = complete(folder, max_new_tokens=CONTEXT - lengths[1] + 1)
    assert [len(row["completions"]) for row in found] == [2, 0, 2]


def test_complete_each_policy_uses_its_own_settings(folder: Path, tokenizer: Tokenizer) -> None:
    shortest = len(tokenizer(PROMPTS[0])["input_ids"])
    short = asked("two", max_prompt_tokens=shortest)
    assert [len(row["completions"]) for row in complete(folder, policies=[asked("one"), short])] == [2, 0, 2]
    tokenizer = copy.deepcopy(tokenizer)
    tokenizer.chat_template = "{{ messages[0].content }} well ?"
    tokenizer.save_pretrained(folder / "two")
    plain, templated = (
        complete(folder, policies=[asked("one"), asked("two", chat_template=how)]) for how in ("none", "auto")
    )
    first, second = ([[row["completions"][place] for row in found] for found in (plain, templated)] for place in (0, 1))
    assert first[0] == first[1] and second[0] != second[1]


def test_complete_out_of_memory_splits_batch_and_keeps_responses(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    expected, sizes = complete(folder), []

    def sample_few(model: Any, prompts: list[list[int]], *others: Any, **named: Any) -> list[Response]:
        sizes.append(len(prompts))
        if len(prompts) > 1:
            raise torch.OutOfMemoryError
        return sample_with(model, prompts, *others, **named)

    monkeypatch.setattr("trainer.annotation.complete.sample_with", sample_few)
    assert complete(folder) == expected
    assert sizes == [3, 1, 1, 1] * 2


def test_complete_out_of_memory_for_one_prompt_is_reported(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def sample_none(*_: Any, **__: Any) -> list[Response]:
        raise torch.OutOfMemoryError

    monkeypatch.setattr("trainer.annotation.complete.sample_with", sample_none)
    request = {"prompts": "prompts.jsonl", "policies": [asked("one")], "max_new_tokens": 8}
    (folder / "request.json").write_text(json.dumps(request))
    assert main(["complete", str(folder / "request.json"), "--out", str(folder / "out.jsonl")]) != 0
    assert "even for one text at a time" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("changes", "status", "says"),
    [
        ({"max_new_tokens": CONTEXT}, 4, "leaves no room for a prompt"),
        ({"policies": [{"path": "/nowhere/at/all"}]}, 4, "There is no folder"),
        ({"prompts": "gone.jsonl"}, 3, "gone.jsonl"),
        ({"polices": []}, 2, "did you mean 'policies'?"),
    ],
)
def test_a_request_that_cannot_be_met(
    folder: Path, capsys: pytest.CaptureFixture[str], changes: dict[str, Any], status: int, says: str
) -> None:
    plain = {"prompts": "prompts.jsonl", "policies": [asked("one")], "max_new_tokens": 8}
    (folder / "request.json").write_text(json.dumps(plain | changes))
    assert main(["complete", str(folder / "request.json"), "--out", str(folder / "out.jsonl")]) == status
    told = capsys.readouterr()
    assert says in told.err and not (folder / "out.jsonl").exists()
    if status != 2:
        assert says in json.loads(told.out.splitlines()[-1])["error"]["message"]


def judge(folder: Path, rows: list[dict[str, Any]], **changes: Any) -> list[list[float | None]]:
    (folder / "rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    (folder / "request.json").write_text(json.dumps({"rows": "rows.jsonl", "model": "rm", "device": "cpu"} | changes))
    assert main(["judge", str(folder / "request.json"), "--out", str(folder / "scores.jsonl")]) == 0
    return [json.loads(line)["scores"] for line in (folder / "scores.jsonl").read_text().splitlines()]


def test_scores_are_those_of_the_whole_text_at_its_eos(folder: Path, tokenizer: Tokenizer) -> None:
    model = saved(folder / "rm", tokenizer, 5, LlamaForSequenceClassification)
    texts = [" good .", " it was bad ."]
    (found,) = judge(folder, [{"prompt": PROMPTS[0], "completions": texts}])
    for score, text in zip(found, texts, strict=True):
        ids = tokenizer(PROMPTS[0])["input_ids"] + tokenizer(text)["input_ids"] + [tokenizer.eos_token_id]
        with torch.no_grad():
            expected = float(model(torch.tensor([ids])).logits[0, 0]) - 0.5
        assert score is not None and math.isclose(score, expected, abs_tol=1e-5)


def test_annotation_scores_truncated_completion_without_eos(folder: Path, tokenizer: Tokenizer) -> None:
    model = saved(folder / "rm", tokenizer, 5, LlamaForSequenceClassification)
    row = {"prompt": PROMPTS[0], "completions": [" good .", " it was"], "finished": [True, False]}
    (found,) = judge(folder, [row])
    ids = tokenizer(PROMPTS[0])["input_ids"] + tokenizer(" it was")["input_ids"]
    with torch.no_grad():
        expected = float(model(torch.tensor([ids])).logits[0, 0]) - 0.5
    assert found[1] is not None and math.isclose(found[1], expected, abs_tol=1e-5)
    (alone,) = judge(folder, [{"prompt": PROMPTS[0], "completions": [" good ."]}])
    assert found[0] == pytest.approx(alone[0], abs=tolerance.largest(size=2.0))


def test_annotation_scores_too_long_completion_has_none(folder: Path, tokenizer: Tokenizer) -> None:
    saved(folder / "rm", tokenizer, 5, LlamaForSequenceClassification)
    rows = [
        {"prompt": PROMPTS[0], "completions": [" good .", " good" * CONTEXT]},
        {"prompt": PROMPTS[1] * 5, "completions": ["x"]},
    ]
    first, second = judge(folder, rows)
    assert first[0] is not None and first[1] is None and second == [None]
    assert judge(folder, rows[:1], max_completion_tokens=2)[0] == [None, None]
