"""The split in SQL equals the split of the trainer."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.datasets.splits import Split, held_out_below, stored_hash
from data.splits import hash_share, prompt_key
from tests.core.factories import jsonl
from trainer import run_data
from trainer.spec import DataSpec

CHAT = [{"role": "user", "content": "p7"}]
PREFERENCES = [{"prompt": f"p{n % 40}", "a": f"x{n}", "b": "y", "label": "a"} for n in range(80)]
PREFERENCES += [
    {"prompt": CHAT, "a": "x", "b": "z", "label": "b"},
    {"prompt": "p3", "completions": ["x", "y"], "ranks": [1, 2]},
]
SFT = [{"messages": [{"role": "user", "content": f"p{n}"}, {"role": "assistant", "content": "a"}]} for n in range(30)]
PROMPTS = [{"prompt": f"q{n}", "answer": n} for n in range(30)]


@pytest.mark.parametrize("eval_fraction", [0.001, 0.1, 0.5, 0.999])
@pytest.mark.parametrize(("kind", "rows"), [("preferences", PREFERENCES), ("sft", SFT), ("prompts", PROMPTS)])
def test_split_of_each_row_equals_that_of_the_trainer(
    kind: str, rows: list[dict[str, Any]], eval_fraction: float, tmp_path: Path
) -> None:
    (tmp_path / "rows.jsonl").write_bytes(jsonl(rows))
    spec = DataSpec.model_validate({kind: str(tmp_path / "rows.jsonl"), "eval_fraction": eval_fraction})
    loaded = run_data.load(spec, stages=())
    held_out = {prompt_key(row.prompt) for row in loaded.prompts.held_out}
    hashes = [stored_hash(kind, row) for row in rows]
    known = [number for number in hashes if number is not None]
    split = Split(held_out_below(eval_fraction) - 2**63, min(known), max(known))
    for row, number in zip(rows, hashes, strict=True):
        key = prompt_key(row["prompt"] if "prompt" in row else row["messages"][:-1])
        assert split.side_of(number) == ("eval" if key in held_out else "train"), json.dumps(row)


def test_a_prompt_as_text_and_as_a_message_is_the_same() -> None:
    assert stored_hash("prompts", {"prompt": "p7"}) == stored_hash("prompts", {"prompt": CHAT})


def test_a_text_has_no_prompt_and_no_side() -> None:
    assert stored_hash("pretraining", {"text": "t"}) is None
    assert Split(0, -5, 5).side_of(None) is None


def test_one_prompt_alone_is_trained_on() -> None:
    assert Split(2**63 - 1, 7, 7).side_of(7) == "train"


@given(st.floats(0, 1, exclude_min=True, exclude_max=True))
def test_split_bound_rounds_as_the_trainer_does(fraction: float) -> None:
    bound = held_out_below(fraction)
    assert hash_share(bound) >= fraction
    assert bound == 0 or hash_share(bound - 1) < fraction
