"""Verifiable tasks on strings of single characters: their prompts, their right answers, and what a response is worth.

Pure Python, so that a server, a plug-in or another trainer's process can score with it.
"""

import itertools
import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass

LETTERS = "abcdef"
DIGITS = "0123456789"
CLOSING = {"(": ")", "[": "]", "{": "}"}
END = "="
"""Ends every prompt and stands nowhere else in it."""
ALPHABET = (*LETTERS, *DIGITS, *CLOSING, *CLOSING.values(), "+", END)
"""24 characters, each one token; with PAD and EOS 26."""
MODULUS = 7
PROMPTS = 1024
"""Maximum for one task."""


@dataclass(frozen=True)
class Task:
    """A question with one right answer."""

    name: str
    questions: Callable[[random.Random], Iterator[str]]
    """Endless or finite, repetitions included."""
    solve: Callable[[str], str]
    """The answer to a question, which has no END."""
    longest: int
    """Response tokens, the EOS included."""

    def prompts(self, seed: int = 0) -> list[str]:
        """At most PROMPTS different ones, the same for the same seed."""
        found = itertools.islice(dict.fromkeys(self.questions(random.Random(f"{self.name}/{seed}"))), PROMPTS)
        return [question + END for question in found]

    def answer(self, prompt: str) -> str:
        return self.solve(prompt.removesuffix(END))

    def score(self, prompt: str, response: str) -> float:
        """Characters that stand where the answer has them ÷ the longer of the two: 1 for the answer itself, 0 for nothing."""
        answer = self.answer(prompt)
        right = sum(a == b for a, b in zip(answer, response, strict=False))
        return right / max(len(answer), len(response))


def _words(low: int, high: int, alphabet: str = LETTERS) -> Callable[[random.Random], Iterator[str]]:
    """Random strings of `low` to `high` characters."""

    def questions(draws: random.Random) -> Iterator[str]:
        for _ in range(20 * PROMPTS):
            yield "".join(draws.choices(alphabet, k=draws.randint(low, high)))

    return questions


def _sums(draws: random.Random) -> Iterator[str]:
    pairs = [f"{a}+{b}" for a in DIGITS for b in DIGITS]
    return iter(draws.sample(pairs, len(pairs)))


def _sum(question: str) -> str:
    return str(sum(int(digit) for digit in question.split("+")) % MODULUS)


def _open_brackets(draws: random.Random) -> Iterator[str]:
    """Strings of brackets that leave one to four open."""
    for _ in range(20 * PROMPTS):
        text, waiting = "", 0
        for _ in range(draws.randint(1, 6)):
            if waiting and draws.random() < 0.4:
                text, waiting = text + closed(text)[0], waiting - 1
            else:
                text, waiting = text + draws.choice("([{"), waiting + 1
        if 1 <= waiting <= 4:
            yield text


def closed(text: str) -> str:
    """The brackets that close what `text` leaves open, innermost first."""
    waiting: list[str] = []
    for character in text:
        if character in CLOSING:
            waiting.append(CLOSING[character])
        else:
            waiting.pop()
    return "".join(reversed(waiting))


TASKS: dict[str, Task] = {
    task.name: task
    for task in (
        Task("copy", _words(2, 4), lambda question: question, 8),
        Task("reverse", _words(2, 4), lambda question: question[::-1], 8),
        Task("sort", _words(2, 4), lambda question: "".join(sorted(question)), 8),
        Task("count", _words(2, 8, "ab"), lambda question: str(question.count("a")), 4),
        Task("modular_sum", _sums, _sum, 4),
        Task("brackets", _open_brackets, closed, 8),
    )
}
