"""Writes what two runs on a pretrained storyteller need: `python -m examples.stories FOLDER --model PATH`.

    FOLDER/sentiment.toml    happier stories: PPO against VADER's sentiment
    FOLDER/arithmetic.toml   sums in words, GSM8K's answer format: SFT on a few, then PPO against the right number

PATH is a transformers folder of a small model of children's stories, such as stories260K (karpathy/tinyllamas).
"""

import argparse
import itertools
import json
import random
from collections.abc import Iterable
from pathlib import Path

HERE = Path(__file__).parent
WHO = (
    "a boy named Tim",
    "a girl named Lily",
    "a dog named Max",
    "a cat named Kitty",
    "a bird named Jay",
    "a man named Bob",
)
WHERE = (
    "in the park",
    "in a house",
    "near a tree",
    "by the sea",
    "in the town",
    "on a farm",
    "in the woods",
    "at school",
)
WHAT = ("a ball", "a box", "a book", "a hat", "a stick", "a car", "a bag", "a cup")
BEGINNINGS = (
    "Once upon a time, there was {who}. One day, {who_short} was {where} and saw {what}.",
    "One day, {who} went to play {where}. {who_short} had {what}.",
    "{who_short} sat {where} with {what}.",
)
NAMES = ("Tim", "Lily", "Max", "Sue", "Bob", "Amy", "Ben", "Mia", "Sam", "Anna", "Tom", "Jane")
THINGS = ("apples", "balls", "books", "hats", "toys", "cars", "cups", "eggs", "leaves", "sticks")


def beginnings() -> list[dict[str, str]]:
    """Every beginning of a story once."""
    return [
        {"prompt": text.format(who=who, who_short=who.split()[-1], where=where, what=what)}
        for text, who, where, what in itertools.product(BEGINNINGS, WHO, WHERE, WHAT)
    ]


def problems(count: int, seed: int) -> list[dict[str, str]]:
    """Different sums of two numbers from 1 to 9 in words, with the worked answer."""
    every = list(itertools.product(NAMES, NAMES, THINGS, range(1, 10), range(1, 10)))
    picked = random.Random(seed).sample([one for one in every if one[0] != one[1]], count)
    return [_problem(*one) for one in picked]


def _problem(name: str, other: str, thing: str, first: int, second: int) -> dict[str, str]:
    total = first + second
    return {
        "prompt": f"{name} has {first} {thing}. {other} gives {name} {second} more. How many {thing} does {name} have?",
        "completion": f" {first} + {second} = {total}\n#### {total}",
        "answer": f"{first} + {second} = <<{first}+{second}={total}>>{total}\n#### {total}",
    }


def write(folder: Path, model: Path) -> None:
    """Write both specs and their data into `folder`."""
    folder.mkdir(parents=True, exist_ok=True)
    rows = problems(6000, seed=0)
    _write(folder / "beginnings.jsonl", beginnings())
    _write(folder / "worked.jsonl", ({key: row[key] for key in ("prompt", "completion")} for row in rows[:2000]))
    _write(folder / "problems.jsonl", ({key: row[key] for key in ("prompt", "answer")} for row in rows[2000:]))
    for name in ("sentiment", "arithmetic"):
        spec = (HERE / f"{name}.toml").read_text(encoding="utf-8")
        (folder / f"{name}.toml").write_text(spec.replace("MODEL", str(model.resolve())), encoding="utf-8")


def _write(path: Path, rows: Iterable[dict[str, str]]) -> None:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")


def main() -> None:
    parser = argparse.ArgumentParser(description="Write two runs on a pretrained storyteller.")
    parser.add_argument("folder", type=Path)
    parser.add_argument("--model", type=Path, required=True, help="folder of the model")
    arguments = parser.parse_args()
    write(arguments.folder, arguments.model)


if __name__ == "__main__":
    main()
