"""The texts on which the benchmarks' models are trained: the demo's language of film reviews, several in a row.

Written anew from a seed, so that a fresh clone measures the same models.
"""

import json
import math
import random
from pathlib import Path
from typing import Any

from examples.reviews.language import Question, questions, review
from examples.reviews.rule import judge

_TEMPERATURE = 0.6
"""Sampling temperature of the preference labels, as in the demo."""


def write(folder: Path, counts: tuple[int, ...], seed: int = 0, texts: int = 4000, pairs: int = 3000) -> None:
    """Write sft.jsonl, preferences.jsonl and prompts.jsonl; a text is one of `counts` reviews in a row."""
    rng, asked = random.Random(seed), questions()
    rows: dict[str, list[dict[str, Any]]] = {
        "sft": [_demonstration(rng.choice(asked), counts, rng) for _ in range(texts)],
        "preferences": [_pair(rng.choice(asked), counts, rng) for _ in range(pairs)],
        "prompts": [{"prompt": question.text} for question in asked],
    }
    folder.mkdir(parents=True, exist_ok=True)
    for name, found in rows.items():
        lines = "".join(json.dumps(row) + "\n" for row in found)
        (folder / f"{name}.jsonl").write_text(lines, encoding="utf-8")


def _text(question: Question, counts: tuple[int, ...], rng: random.Random) -> str:
    return "".join(review(question, rng) for _ in range(rng.choice(counts)))


def _demonstration(question: Question, counts: tuple[int, ...], rng: random.Random) -> dict[str, str]:
    return {"prompt": question.text, "completion": _text(question, counts, rng)}


def _pair(question: Question, counts: tuple[int, ...], rng: random.Random) -> dict[str, str]:
    first, second = _text(question, counts, rng), _text(question, counts, rng)
    while second == first:
        second = _text(question, counts, rng)
    difference = judge(question.text, first, True) - judge(question.text, second, True)
    if rng.random() > 1 / (1 + math.exp(-difference / _TEMPERATURE)):
        first, second = second, first
    return {"prompt": question.text, "chosen": first, "rejected": second}
