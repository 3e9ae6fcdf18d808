"""Pairs as many and as long as those of Anthropic's hh-rlhf, written anew from a seed.

Turns and lengths have the published set's proportions: 160,800 rows, dialogues of one to four human turns, answers of about
280 characters with a long tail. The words are made up. There are a few hundred common ones and thirty thousand rare ones,
whose frequency falls with their rank. Some rows are copies, near copies and contradictions.
"""

import itertools
import json
import random
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROWS = 160_000
_WORDS = 30_000
_TURNS, _TURN_WEIGHTS = (1, 2, 3, 4), (35, 30, 20, 15)
_ASKED, _ANSWERED = (2.4, 0.7), (3.4, 0.8)
"""Mean and standard deviation of the logarithm of a turn's number of words."""
_LONGEST = 600
_COPIES, _NEAR_COPIES, _CONTRADICTIONS = 0.01, 0.01, 0.005
_REMEMBERED = 512
Row = dict[str, Any]


@dataclass(frozen=True)
class Planted:
    """How many rows are what a report should find."""

    copies: int
    near_copies: int
    contradictions: int


def write(path: Path, rows: int = ROWS, seed: int = 0) -> Planted:
    """Write canonical rows, unless they are there already, and say what is planted in them."""
    facts = path.with_suffix(".planted.json")
    if path.exists() and facts.exists():
        return Planted(**json.loads(facts.read_text()))
    path.parent.mkdir(parents=True, exist_ok=True)
    counts = {"copies": 0, "near_copies": 0, "contradictions": 0}
    with path.open("w", encoding="utf-8") as file:
        for row, planted in itertools.islice(_rows(random.Random(seed)), rows):
            file.write(json.dumps(row, ensure_ascii=False, separators=(",", ":")) + "\n")
            if planted:
                counts[planted] += 1
    facts.write_text(json.dumps(counts))
    return Planted(**counts)


def _rows(rng: random.Random) -> Iterator[tuple[Row, str]]:
    """Rows, and which of the counts each is one of."""
    text = _Text(rng)
    kept: list[Row] = []
    while True:
        draw = rng.random()
        if kept and draw < _COPIES:
            yield rng.choice(kept), "copies"
        elif kept and draw < _COPIES + _NEAR_COPIES:
            yield _nearly(rng.choice(kept), text, rng), "near_copies"
        elif kept and draw < _COPIES + _NEAR_COPIES + _CONTRADICTIONS:
            row = rng.choice(kept)
            yield row | {"a": row["b"], "b": row["a"]}, "contradictions"
        else:
            row = _row(text, rng)
            kept = [*kept[-_REMEMBERED:], row] if rng.random() < 0.1 else kept
            yield row, ""


def _row(text: "_Text", rng: random.Random) -> Row:
    prompt = []
    for turn in range(rng.choices(_TURNS, _TURN_WEIGHTS)[0]):
        if turn:
            prompt.append({"role": "assistant", "content": text.of(*_ANSWERED)})
        prompt.append({"role": "user", "content": text.of(*_ASKED)})
    return {"prompt": prompt, "a": text.of(*_ANSWERED), "b": text.of(*_ANSWERED), "label": "a"}


def _nearly(row: Row, text: "_Text", rng: random.Random) -> Row:
    """With one word of the preferred answer changed; whether that is near enough depends on its length."""
    words = row["a"].split(" ")
    words[rng.randrange(len(words))] = text.word()
    return row | {"a": " ".join(words)}


class _Text:
    """Sentences of made-up words."""

    def __init__(self, rng: random.Random) -> None:
        self._rng = rng
        self._words = _vocabulary(random.Random(1))
        self._weights = list(itertools.accumulate(1 / (rank + 2.7) for rank in range(len(self._words))))

    def word(self) -> str:
        return self._rng.choices(self._words, cum_weights=self._weights)[0]

    def of(self, mean: float, deviation: float) -> str:
        """A text whose number of words has this distribution."""
        count = min(_LONGEST, max(1, round(self._rng.lognormvariate(mean, deviation))))
        words = self._rng.choices(self._words, cum_weights=self._weights, k=count)
        for end in range(11, count, 12):
            words[end] += "."
        return " ".join(words).capitalize() + "."


def _vocabulary(rng: random.Random) -> list[str]:
    """Short words first, as they are the frequent ones."""
    starts, middles = (
        [*"bcdfghjklmnprstvw", "st", "tr", "ch", "sh", "th", "pl", "gr"],
        [*"aeiou", "ai", "ea", "ou", "ee"],
    )
    ends = ["", *"nrstlm", "nd", "st", "ng", "ck"]
    syllables = ["".join(parts) for parts in itertools.product(starts, middles, ends)]
    rng.shuffle(syllables)
    found = dict.fromkeys(syllables[:400])
    while len(found) < _WORDS:
        found["".join(rng.choices(syllables, k=2 if len(found) < 6000 else 3))] = None
    return list(found)
