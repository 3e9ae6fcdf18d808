import json
from pathlib import Path

import pytest

from tests.trainer.report.tools import pair, plain_pairs, report
from trainer import data, encoded
from trainer.spec import DataSpec
from trainer.text import Codec, Tokenizer, train_tokenizer

TEMPLATE = (
    "{% for m in messages %}{% if m.role == 'system' %}{{ raise_exception('no system') }}{% endif %}"
    "<{{ m.role }}>{{ m.content | trim }}</s>{% endfor %}{% if add_generation_prompt %}<assistant>{% endif %}"
)


@pytest.fixture
def bytes_model(tmp_path: Path) -> Path:
    """A folder with a tokenizer of one token for each byte."""
    return saved(train_tokenizer(["x"], 260), tmp_path)


def saved(tokenizer: Tokenizer, tmp_path: Path) -> Path:
    folder = tmp_path / "model"
    tokenizer.save_pretrained(folder)
    return folder


def test_what_is_too_long_by_hand(tmp_path: Path, bytes_model: Path) -> None:
    rows = [
        pair("p" * 8, "a" * 5, "b"),  # 8 tokens just fit, and so do 5 with their EOS
        pair("p" * 9, "a", "b"),  # row 2: the prompt
        pair("q", "a" * 6, "b"),  # row 3: no room for the EOS
        pair("r", "a" * 7, "b"),  # row 4: cut
        pair("s", "a" * 6 + "x", "a" * 6 + "y"),  # row 5: cut to the same
        pair("t", "aa", "bb", "b"),
    ]
    made = report(tmp_path, rows, model=str(bytes_model), max_prompt_tokens=8, max_completion_tokens=6)
    assert made.rows("prompt_too_long") == [2]
    assert made.rows("no_eos_room") == [3]
    assert made.rows("completion_too_long") == [4, 5]
    assert made.rows("same_after_truncation") == [5]
    assert made.finding("same_after_truncation")["severity"] == "blocking"
    assert made.result["summary"]["truncated"] == 3
    assert made.result["summary"]["tokens"] == 8 + 9 + 1 + 1 + 1 + 1 + (5 + 1) + 2 + 7 + 8 + 14 + 4
    prompts = made.result["histograms"][0]
    assert (prompts["name"], prompts["limit"], prompts["max"], prompts["counts"][1]) == ("prompt_tokens", 8, 9, 4)


def test_the_trainer_leaves_out_what_the_report_says(tmp_path: Path, bytes_model: Path) -> None:
    lengths = [(p, a, b) for p in (3, 9) for a in (4, 6, 7, 8) for b in (2, 6, 9)]
    rows = [pair(f"{n:02d}" + "p" * (p - 2), "x" * a, "x" * b) for n, (p, a, b) in enumerate(lengths) if a != b]
    limits = {"max_prompt_tokens": 8, "max_completion_tokens": 6}
    made = report(tmp_path, rows, model=str(bytes_model), **limits)
    spec = DataSpec.model_validate({"preferences": str(tmp_path / "rows.jsonl")} | limits)
    loaded = data.load(spec, stages=())
    codec = Codec.of(train_tokenizer(["x"], 260), spec)
    why = encoded.why_left_out([*loaded.comparisons.train, *loaded.comparisons.held_out], codec)
    assert len(made.rows("prompt_too_long")) == why[encoded.LONG_PROMPT]
    cut = {*made.rows("completion_too_long"), *made.rows("no_eos_room")} - {*made.rows("prompt_too_long")}
    assert len(cut) == why[encoded.LONG_COMPLETION]


def test_nothing_left_is_said(tmp_path: Path, bytes_model: Path) -> None:
    made = report(tmp_path, plain_pairs(3), model=str(bytes_model), max_completion_tokens=4)
    assert "nothing_left" in made.codes and made.result["summary"]["steps_dpo"] == 0


def test_the_chat_template_has_its_say(tmp_path: Path) -> None:
    tokenizer = train_tokenizer(["x"], 260)
    tokenizer.chat_template = TEMPLATE
    system = [{"role": "system", "content": "be kind"}, {"role": "user", "content": "hello"}]
    rows = [pair("hi ", "yes", "no"), pair(system, "yes", "no", "b")]
    made = report(tmp_path, rows, model=str(saved(tokenizer, tmp_path)))
    assert made.rows("template_refuses") == [2]
    assert "no system" in made.finding("template_refuses")["samples"][0]["text"]
    # <user>hi</s><assistant> is 22 bytes and an answer's turn begins alike: nothing is rewritten
    assert made.result["histograms"][0]["max"] == len("<user>hi</s><assistant>")
    assert "template_rewrites" not in made.codes


def test_a_template_that_rewrites_prompts_is_told(tmp_path: Path) -> None:
    tokenizer = train_tokenizer(["x"], 260)
    tokenizer.chat_template = (
        "{% if add_generation_prompt %}Q: {% else %}R: {% endif %}{% for m in messages %}{{ m.content }}{% endfor %}"
    )
    made = report(tmp_path, [pair("hi", "yes", "no"), pair("ho", "no", "yes")], model=str(saved(tokenizer, tmp_path)))
    assert made.rows("template_rewrites") == [1, 2]


def test_a_tokenizer_without_eos_is_a_finding_not_an_end(tmp_path: Path) -> None:
    tokenizer = train_tokenizer(["x"], 260)
    tokenizer.eos_token = None
    made = report(tmp_path, plain_pairs(2), model=str(saved(tokenizer, tmp_path)))
    assert made.codes == {"no_eos_token"}
    assert made.result["histograms"][0]["unit"] == "characters"


def test_conversations_without_a_template_are_told(tmp_path: Path, bytes_model: Path) -> None:
    talk = [{"role": "user", "content": "a"}, {"role": "assistant", "content": "b"}, {"role": "user", "content": "c"}]
    made = report(tmp_path, [pair(talk, "yes", "no"), *plain_pairs(2)], model=str(bytes_model))
    assert "1 prompts have several messages" in made.finding("no_chat_template")["detail"]


def test_the_models_own_special_tokens_are_found(tmp_path: Path, bytes_model: Path) -> None:
    made = report(tmp_path, [pair("ab", "yes<|eos|>", "no"), pair("cd", "no<|pad|>", "yes")], model=str(bytes_model))
    assert made.rows("special_tokens") == [1, 2]
    assert made.result["special_tokens"] == ["<|eos|>", "<|pad|>"]


def test_many_at_once_are_encoded_as_each_alone() -> None:
    texts = ["", "a", "né 日\t!", "a<|eos|>b", "b<|eos|>", "x" * 50]
    codec = Codec.of(train_tokenizer(texts, 280), DataSpec(preferences="-", max_completion_tokens=8))
    together = [codec.closed(ids) for ids in codec.completion_ids(texts)]
    assert together == [codec.completion(text) for text in texts]
    assert codec.prompt_ids(["ab", "c"]) == [codec.prompt("ab"), codec.prompt("c")]
    assert json.dumps(codec.completion_ids([])) == "[]"
