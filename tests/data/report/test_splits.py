from pathlib import Path

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from data.report.duplicates import held_out_rows
from data.splits import held_out_keys, prompt_key, text_hash
from tests.data.report.tools import pair, report
from trainer.run_data import load
from trainer.spec import DataSpec


@given(st.sets(st.text(min_size=1), min_size=1, max_size=40), st.floats(0.01, 0.99))
def test_the_split_is_the_trainers(prompts: set[str], fraction: float) -> None:
    ordered = sorted(prompts)
    expected = held_out_keys(ordered, [], fraction)
    found = held_out_rows(np.array([text_hash(prompt_key(prompt)) for prompt in ordered], np.uint64), fraction)
    assert {prompt for prompt, kept in zip(ordered, found, strict=True) if kept} == expected


def test_prompt_whose_hash_is_the_fraction_is_trained_on() -> None:
    """The hashes of d0, d1, d2 and d3 begin with 8a, fc, b4 and 23 (`printf d2 | b2sum -l 64`)."""
    prompts, fraction = ["d0", "d1", "d2", "d3"], 0xB42C3E6F12633C41 / 2**64
    assert held_out_keys(prompts, [], fraction) == {"d0", "d3"}
    numbers = np.array([text_hash(prompt) for prompt in prompts], np.uint64)
    assert held_out_rows(numbers, fraction).tolist() == [True, False, False, True]


def test_sizes_are_those_of_a_run(tmp_path: Path) -> None:
    rows = [pair(f"question {n // 2}", "yes", "no", "ab"[n % 2]) for n in range(120)]
    split = report(tmp_path, rows, eval_fraction=0.3).result["splits"]
    loaded = load(DataSpec(preferences=str(tmp_path / "rows.jsonl"), eval_fraction=0.3)).comparisons
    assert (split["train"], split["eval"]) == (len(loaded.train), len(loaded.held_out))
    assert split["train_prompts"] + split["eval_prompts"] == 60 and split["shared_prompts"] == 0


def test_a_held_out_prompt_that_is_nearly_trained_on_leaks(tmp_path: Path) -> None:
    words = " ".join(f"word{n}" for n in range(40))
    prompts = [f"{words} number{n}" for n in range(30)] + ["quite another question", "and one more of them"]
    rows = [pair(prompt, "yes", "no", "ab"[n % 2]) for n, prompt in enumerate(prompts)]
    made = report(tmp_path, rows, eval_fraction=0.2)
    numbers = np.array([text_hash(prompt) for prompt in prompts], np.uint64)
    expected = [n for n, kept in enumerate(held_out_rows(numbers, 0.2).tolist(), 1) if kept and n <= 30]
    assert made.rows("leaking_prompts") == expected and expected
    assert made.result["splits"]["near_prompts"] == len(expected)


def test_one_prompt_cannot_be_split(tmp_path: Path) -> None:
    made = report(tmp_path, [pair("q", "x", "y"), pair("q", "x", "z", "b")])
    assert "one_prompt" in made.codes and made.result["splits"]["eval"] == 0
