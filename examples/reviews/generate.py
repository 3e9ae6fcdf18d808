"""Makes the demo's datasets: `python -m examples.reviews.generate FOLDER [--seed N]`.

It writes reviews for SFT, pairs of reviews, single reviews with a thumb up or down, and reviews with a label
for each sentence. The preference of a pair is drawn from
the hidden rule through a Bradley-Terry model with temperature. A thumb is drawn from the rule by a logistic model. A share of
all labels is flipped: noisy, as people are.
"""

import argparse
import gzip
import json
import math
import random
import shutil
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from examples import recipes
from examples.reviews.language import NEGATIVE, POSITIVE, TOPICS, Question, questions, review
from examples.reviews.rule import judge

TEMPERATURE = 0.6
FLIPPED = 0.05
LIKED = 0.5
"""The hidden score at which a reader is as likely to give a thumb up as one down."""


def write(
    folder: Path, seed: int, reviews: int = 7000, pairs: int = 16000, thumbs: int = 0, steps: int = 0
) -> dict[str, Path]:
    """Write sft.jsonl, preferences.jsonl, prompts.jsonl and, where they are asked for, thumbs.jsonl and steps.jsonl into `folder`.

    Returns their paths by those names. Thumbs and steps have draws of their own: their number changes no other file.
    """
    rng = random.Random(seed)
    asked = questions()
    rows: dict[str, list[dict[str, Any]]] = {
        "sft": [_demonstration(question, rng) for question in _cycle(asked, reviews, rng)],
        "preferences": [_pair(question, rng) for question in _cycle(asked, pairs, rng)],
        "prompts": [{"prompt": question.text} for question in asked],
    }
    if thumbs:
        own = random.Random(f"thumbs {seed}")
        rows["thumbs"] = [_thumb(question, own) for question in _cycle(asked, thumbs, own)]
    if steps:
        own = random.Random(f"steps {seed}")
        rows["steps"] = [_sentences(question, own) for question in _cycle(asked, steps, own)]
    folder.mkdir(parents=True, exist_ok=True)
    paths = {name: folder / f"{name}.jsonl" for name in rows}
    for name, path in paths.items():
        path.write_text("".join(json.dumps(row) + "\n" for row in rows[name]), encoding="utf-8")
    return paths


def write_samples(folder: Path) -> None:
    """Write the sample data that the dashboard offers: the demo's datasets for seed 0, by gzip, and its spec."""
    with TemporaryDirectory() as temporary:
        files = write(Path(temporary), seed=0)
        folder.mkdir(parents=True, exist_ok=True)
        for path in files.values():
            (folder / f"{path.name}.gz").write_bytes(gzip.compress(path.read_bytes(), mtime=0))
    shutil.copyfile(Path(__file__).with_name("demo.toml"), folder / "demo.toml")


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


def _thumb(question: Question, rng: random.Random) -> dict[str, str]:
    said = review(question, rng)
    up = rng.random() < 1 / (1 + math.exp((LIKED - judge(question.text, said, True)) / TEMPERATURE))
    if rng.random() < FLIPPED:
        up = not up
    return {"prompt": question.text, "completion": said, "thumb": "up" if up else "down"}


def _sentences(question: Question, rng: random.Random) -> dict[str, Any]:
    """A review in sentences. A kind one is good; an unkind one, or one about another film, is bad; any other is neutral."""
    sentences = [f"{clause} ." for clause in review(question, rng).removesuffix(" .").split(" .")]
    labels = [_label(question, sentence) for sentence in sentences]
    return {
        "prompt": question.text,
        "steps": sentences,
        "labels": [_OTHER[label] if rng.random() < FLIPPED else label for label in labels],
    }


_OTHER = {"good": "bad", "neutral": "neutral", "bad": "good"}


def _label(question: Question, sentence: str) -> str:
    words = set(sentence.split())
    if words & set(NEGATIVE) or words & set(TOPICS) - {question.topic}:
        return "bad"
    return "good" if words & set(POSITIVE) else "neutral"


def main() -> None:
    parser = argparse.ArgumentParser(description="Write the demo's datasets.")
    parser.add_argument("folder", type=Path)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--reviews", type=int, default=7000, help="rows of sft.jsonl")
    parser.add_argument("--pairs", type=int, default=16000, help="rows of preferences.jsonl")
    parser.add_argument("--thumbs", type=int, default=0, help="rows of thumbs.jsonl; 0: no such file")
    parser.add_argument("--steps", type=int, default=0, help="rows of steps.jsonl; 0: no such file")
    parser.add_argument(
        "--samples", action="store_true", help="write the sample data and the recipes of the dashboard instead"
    )
    arguments = parser.parse_args()
    if arguments.samples:
        write_samples(arguments.folder)
        recipes.write(arguments.folder)
        return
    write(arguments.folder, arguments.seed, arguments.reviews, arguments.pairs, arguments.thumbs, arguments.steps)


if __name__ == "__main__":
    main()
