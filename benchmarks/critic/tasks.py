"""Three tasks of long credit: one number after the last token, for tokens long before it.

A response has a fixed number of letters, T. Its score depends on the letters that it holds and not on their order. A prompt is
a random word, which the score does not read. A policy on held-out prompts is therefore tested for having learned to ignore it.
Scores lie in [0, 1]. Each task has responses with the score 1, which `best` names, so the optimal value is 1 for each prompt.
Pure Python.
"""

import random
import string
from collections.abc import Callable
from dataclasses import dataclass
from math import comb

END = "="
"""Ends every prompt. A policy here never samples it."""
OPTIMUM = 1.0
"""The optimal value of every prompt of every task: the maximum of the score."""
_WORD = 6
Score = Callable[[str], float]


@dataclass(frozen=True)
class Task:
    """A task on an alphabet of its own, for responses of T = `tokens` letters."""

    name: str
    letters: str
    tokens: int
    good: str
    """The letters that count."""
    rule: Score
    chance: float
    """The value of letters drawn at random."""

    def score(self, prompt: str, response: str) -> float:
        """The score of a response of T letters to any prompt."""
        return self.rule(response)

    @property
    def best(self) -> str:
        """A response with the score `OPTIMUM`."""
        return (self.good * self.tokens)[: self.tokens]

    def prompts(self, count: int, held_out: int) -> tuple[list[str], list[str]]:
        """`count` prompts to train on and `held_out` others, always the same ones."""
        draws, found = random.Random(f"{self.name}/prompts"), dict[str, None]()
        while len(found) < count + held_out:
            found["".join(draws.choices(self.letters, k=_WORD)) + END] = None
        words = list(found)
        return words[:count], words[count:]


def delayed(size: int, tokens: int) -> Task:
    """Delayed reward: half of the letters are good ones. Their share in the response is paid after its last token.

    Each token contributes 1/T, and the contributions of the others hide it in the sum. Optimal value: 1, by good letters
    alone. Letters at random get ½.
    """
    good = _chosen("delayed", size, size // 2)
    return Task("delayed", _alphabet(size), tokens, good, lambda text: sum(x in good for x in text) / tokens, 0.5)


def distractors(size: int, tokens: int) -> Task:
    """Distractor tokens: a quarter of the letters, and no fewer than two, are keys. The score is the share of keys that occur.

    The other letters are distractors without an effect, and so is a key that occurred before. Optimal value: 1, by all keys.
    Letters at random hold a given key with probability 1 − (1 − 1/n)ᵀ.
    """
    keys = _chosen("distractors", size, max(2, size // 4))
    chance = 1 - (1 - 1 / size) ** tokens
    return Task("distractors", _alphabet(size), tokens, keys, lambda text: _share(keys, text), chance)


def sparse(size: int, tokens: int) -> Task:
    """Sparse success: as `distractors` with other keys, no fewer than three, but 1 if all of them occur and else 0.

    Optimal value: 1. Letters at random succeed with Σₖ (−1)ᵏ·C(m, k)·(1 − k/n)ᵀ for m keys of n letters (inclusion and
    exclusion): .05 for 6 of 24 letters and T = 24.
    """
    keys = _chosen("sparse", size, max(3, size // 4))
    count = len(keys)
    chance = sum((-1) ** k * comb(count, k) * (1 - k / size) ** tokens for k in range(count + 1))
    return Task("sparse", _alphabet(size), tokens, keys, lambda text: float(_share(keys, text) == 1), chance)


MAKERS: dict[str, Callable[[int, int], Task]] = {"delayed": delayed, "distractors": distractors, "sparse": sparse}
"""Each task's generator, of the number of letters and that of tokens."""


def _share(keys: str, text: str) -> float:
    return sum(key in text for key in keys) / len(keys)


def _alphabet(size: int) -> str:
    return string.ascii_lowercase[:size]


def _chosen(name: str, size: int, count: int) -> str:
    return "".join(sorted(random.Random(name).sample(_alphabet(size), count)))
