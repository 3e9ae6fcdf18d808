import json
from pathlib import Path

import numpy as np
import pytest

from data import rows as trainer_rows
from data.report.columns import Columns
from data.report.items import parser
from data.report.settings import ReportSettings
from data.report.tokens import encode_rows, fit_rows
from data.splits import text_hash
from tests.data.report.tools import Row, pair, plain_pairs, report
from trainer import run_data
from trainer.spec import DataSpec, DPOSpec, RewardModelSpec
from trainer.spec.stages import total_steps
from trainer.stages import tokenize, tokenized_rows
from trainer.stages.tokenized_rows import tokenize_pairs
from trainer.text.codec import Codec, Tokenizer, train_tokenizer

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


def test_tokens_too_long_counts_match_hand_calculation(tmp_path: Path, bytes_model: Path) -> None:
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


def test_tokens_truncated_answer_is_reported_with_its_line(tmp_path: Path, bytes_model: Path) -> None:
    np.array([1, 5, 2, 4, 3, 6], "<u8").tofile(tmp_path / "answer_lines.u64")
    said = [["a" * 6, "d" * 7], ["b", "b" * 6], ["c" * 6 + "x", "c" * 6 + "y"]]
    rows = [{"prompt": f"q{n}", "completions": answers, "ranks": [1, 2]} for n, answers in enumerate(said)]
    made = report(
        tmp_path, rows, model=str(bytes_model), max_completion_tokens=6, answer_lines=str(tmp_path / "answer_lines.u64")
    )
    codes = ("completion_too_long", "no_eos_room", "same_after_truncation")
    assert [made.finding(code)["lines"] for code in codes] == [[5, 3], [4], [6]]


def test_tokens_trainer_leaves_out_the_rows_in_the_report(tmp_path: Path, bytes_model: Path) -> None:
    lengths = [(p, a, b) for p in (3, 9) for a in (4, 6, 7, 8) for b in (2, 6, 9)]
    rows = [pair(f"{n:02d}" + "p" * (p - 2), "x" * a, "x" * b) for n, (p, a, b) in enumerate(lengths) if a != b]
    limits = {"max_prompt_tokens": 8, "max_completion_tokens": 6}
    made = report(tmp_path, rows, model=str(bytes_model), **limits)
    spec = DataSpec.model_validate({"preferences": str(tmp_path / "rows.jsonl")} | limits)
    loaded = run_data.load(spec, stages=())
    codec = Codec.for_tokenizer(train_tokenizer(["x"], 260), spec)
    why = tokenize.why_left_out([*loaded.comparisons.train, *loaded.comparisons.held_out], codec)
    assert len(made.rows("prompt_too_long")) == why[tokenized_rows.LONG_PROMPT]
    cut = {*made.rows("completion_too_long"), *made.rows("no_eos_room")} - {*made.rows("prompt_too_long")}
    assert len(cut) == why[tokenized_rows.LONG_COMPLETION]


def test_tokens_no_row_left_is_reported(tmp_path: Path, bytes_model: Path) -> None:
    made = report(tmp_path, plain_pairs(3), model=str(bytes_model), max_completion_tokens=4)
    assert "nothing_left" in made.codes and made.result["summary"]["steps_dpo"] == 0


def test_tokens_template_that_refuses_a_row_is_reported(tmp_path: Path) -> None:
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


def test_tokens_template_that_rewrites_prompts_is_reported(tmp_path: Path) -> None:
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


def test_tokens_conversations_without_template_are_reported(tmp_path: Path, bytes_model: Path) -> None:
    talk = [{"role": "user", "content": "a"}, {"role": "assistant", "content": "b"}, {"role": "user", "content": "c"}]
    made = report(tmp_path, [pair(talk, "yes", "no"), *plain_pairs(2)], model=str(bytes_model))
    assert "1 prompts have several messages" in made.finding("no_chat_template")["detail"]


def test_tokens_special_tokens_of_the_model_are_found(tmp_path: Path, bytes_model: Path) -> None:
    made = report(tmp_path, [pair("ab", "yes<|eos|>", "no"), pair("cd", "no<|pad|>", "yes")], model=str(bytes_model))
    assert made.rows("special_tokens") == [1, 2]
    assert made.result["special_tokens"] == ["<|eos|>", "<|pad|>"]


def test_many_at_once_are_encoded_as_each_alone() -> None:
    texts = ["", "a", "né 日\t!", "a<|eos|>b", "b<|eos|>", "x" * 50]
    codec = Codec.for_tokenizer(train_tokenizer(texts, 280), DataSpec(preferences="-", max_completion_tokens=8))
    together = [codec.closed(ids) for ids in codec.completion_ids(texts)]
    assert together == [codec.completion(text) for text in texts]
    assert codec.prompt_ids(["ab", "c"]) == [codec.prompt("ab"), codec.prompt("c")]
    assert json.dumps(codec.completion_ids([])) == "[]"


LIMITS = {"max_prompt_tokens": 8, "max_completion_tokens": 6}


def ranking(prompt: str, *answers: str) -> Row:
    return {"prompt": prompt, "completions": list(answers), "ranks": list(range(1, len(answers) + 1))}


def test_of_a_ranking_the_pairs_of_its_short_answers_stay(tmp_path: Path, bytes_model: Path) -> None:
    rows = [ranking(f"q{n}", "aa", "x" * 9, f"b{n}") for n in range(40)]
    made = report(tmp_path, rows, model=str(bytes_model), **LIMITS)
    assert "completion_too_long" in made.codes and "nothing_left" not in made.codes
    spec = DataSpec.model_validate({"preferences": str(tmp_path / "rows.jsonl")} | LIMITS)
    kept, _ = tokenize_pairs(
        run_data.load(spec).comparisons.train, Codec.for_tokenizer(train_tokenizer(["x"], 260), spec)
    )
    assert made.result["splits"]["train"] == len(kept)  # one pair of each
    assert made.result["summary"]["steps_dpo"] == total_steps(len(kept), DPOSpec())
    assert made.result["summary"]["steps_reward_model"] == total_steps(len(kept), RewardModelSpec())


def test_pairs_are_counted_as_the_trainer_keeps_them() -> None:
    rows = [
        ranking("q", "aa", "bb", "cc"),  # 3 pairs
        ranking("r", "aa", "aa<|eos|>", "cc"),  # the first two are the same tokens: 2
        ranking("s", "aa", "x" * 7 + "y", "x" * 7 + "z"),  # two are cut: none
        pair("u", "aa ", "aa"),  # other tokens, for what they are worth: 1
    ]
    spec = DataSpec.model_validate({"preferences": "-"} | LIMITS)
    codec = Codec.for_tokenizer(train_tokenizer(["x"], 260), spec)
    items = [parser("preferences")(row, number) for number, row in enumerate(rows, 1)]
    found = encode_rows(items, codec)
    columns = Columns(
        {
            "offset": np.arange(4),
            "answers": np.array([3, 3, 3, 2], np.uint16),
            "prompt_tokens": np.array(found.prompts),
            "answer_tokens": np.array(found.answers),
            "first_alike": np.array(found.firsts, np.uint8),
        }
    )
    settings = ReportSettings.model_validate({"kind": "preferences"} | LIMITS)
    kept = [len(tokenize_pairs(trainer_rows.comparisons(row, 1), codec)[0]) for row in rows]
    assert fit_rows(columns, settings).pairs.tolist() == kept == [3, 2, 0, 1]


def test_demonstrations_without_room_for_their_eos_are_nothing(tmp_path: Path, bytes_model: Path) -> None:
    rows = [{"prompt": f"q{n}", "completion": "x" * 6} for n in range(5)]
    made = report(tmp_path, rows, kind="sft", model=str(bytes_model), **LIMITS)
    assert made.finding("nothing_left")["severity"] == "blocking"
    rows = [{"prompt": f"q{n}", "completion": "x" * 5} for n in range(5)]
    assert "nothing_left" not in report(tmp_path, rows, kind="sft", model=str(bytes_model), **LIMITS).codes


def test_tokens_nothing_left_ignores_held_out_rows(tmp_path: Path, bytes_model: Path) -> None:
    prompts = sorted((f"q{n}" for n in range(5)), key=text_hash)  # the first is held out, the last trained on
    for held_out, code in ((prompts[0], {"nothing_left"}), (prompts[-1], set())):
        rows = [pair(p, "aa" if p == held_out else "x" * 9, "bb") for p in prompts]
        made = report(tmp_path, rows, model=str(bytes_model), eval_fraction=1e-9, **LIMITS)
        assert made.codes & {"nothing_left"} == code


def test_of_prompts_one_has_to_be_left_on_each_side(tmp_path: Path, bytes_model: Path) -> None:
    prompts = sorted((f"q{n}" + "x" * (9 if n else 0) for n in range(2)), key=text_hash)
    made = report(tmp_path, [{"prompt": p} for p in prompts], kind="prompts", model=str(bytes_model), **LIMITS)
    assert "nothing_left" in made.codes
