"""Makes the demo's datasets: `python -m examples.reviews.generate FOLDER [--seed N]`.

Reviews for SFT, and pairs of reviews whose preference is drawn from the hidden rule through a Bradley-Terry model with
temperature, with a share of labels flipped: noisy, as people are.
"""

import argparse
import json
import math
import random
from pathlib import Path
from typing import Any

from examples.reviews.language import Question, questions, review
from examples.reviews.rule import judge

TEMPERATURE = 0.6
FLIPPED = 0.05


def write(folder: Path, seed: int, reviews: int = 7000, pairs: int = 16000) -> dict[str, Path]:
    """Write sft.jsonl, preferences.jsonl and prompts.jsonl into `folder`; return their paths by those names."""
    rng = random.Random(seed)
    asked = questions()
    rows: dict[str, list[dict[str, Any]]] = {
        "sft": [_demonstration(question, rng) for question in _cycle(asked, reviews, rng)],
        "preferences": [_pair(question, rng) for question in _cycle(asked, pairs, rng)],
        "prompts": [{"prompt": question.text} for question in asked],
    }
    folder.mkdir(parents=True, exist_ok=True)
    paths = {name: folder / f"{name}.jsonl" for name in rows}
    for name, path in paths.items():
        path.write_text("".join(json.dumps(row) + "\n" for row in rows[name]), encoding="utf-8")
    return paths


def _cycle(asked: list[Question], count: int, rng: random.Random) -> list[Question]:
    """`count` questions, every one as often as the others, in random order."""
    picked: list[Question] = []
    while len(picked) < count:
        picked += rng.sample(asked, len(asked))
    return picked[:count]


def _demonstration(question: Question, rng: random.Random) -> dict[str, str]:
    return {"prompt": question.text, "completion": review(question, rng)}


def _pair(question: Question, rng: random.Random) -> dict[str, str]:
    first, second = review(question, rng), review(question, rng)
    while second == first:
        second = review(question, rng)
    difference = judge(question.text, first, True) - judge(question.text, second, True)
    prefers_first = rng.random() < 1 / (1 + math.exp(-difference / TEMPERATURE))
    if rng.random() < FLIPPED:
        prefers_first = not prefers_first
    chosen, rejected = (first, second) if prefers_first else (second, first)
    return {"prompt": question.text, "chosen": chosen, "rejected": rejected}


def main() -> None:
    parser = argparse.ArgumentParser(description="Write the demo's datasets.")
    parser.add_argument("folder", type=Path)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--reviews", type=int, default=7000, help="rows of sft.jsonl")
    parser.add_argument("--pairs", type=int, default=16000, help="rows of preferences.jsonl")
    arguments = parser.parse_args()
    write(arguments.folder, arguments.seed, arguments.reviews, arguments.pairs)


if __name__ == "__main__":
    main()
