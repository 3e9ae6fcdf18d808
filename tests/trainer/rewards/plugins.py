"""Plug-ins as an operator might write them."""

from collections.abc import Callable, Sequence

import torch

from trainer.errors import RewardError


def per_letter(letter: str, per: float = 1.0) -> Callable[..., Sequence[float]]:
    def score(
        prompts: list[str], responses: list[str], finished: list[bool], answers: list[str | None]
    ) -> Sequence[float]:
        rows = zip(prompts, responses, finished, answers, strict=True)
        return [per * text.count(letter) + (text == answer) + 100 * (not ended) for _, text, ended, answer in rows]

    return score


def per_token(word: str) -> Callable[..., Sequence[object]]:
    """A list, a tuple or an array of one number per token; a number for a response without the word."""

    def score(
        prompts: list[str],
        responses: list[str],
        finished: list[bool],
        answers: list[str | None],
        tokens: list[list[str]],
    ) -> list[object]:
        found: list[object] = []
        for number, own in enumerate(tokens):
            values = [float(word in token) for token in own]
            found.append([values, tuple(values), torch.tensor(values)][number % 3] if any(values) else -1.0)
        return found

    return score


def broken() -> Callable[..., Sequence[float]]:
    return lambda prompts, responses, finished, answers: [1 / 0 for _ in responses]


def moody() -> Callable[..., Sequence[object]]:
    """The length of each response. Some texts fail: with a whole batch, or alone."""
    errors = {"late": TimeoutError(), "away": ConnectionRefusedError(), "odd": KeyError("x")}
    values = {"none": None, "told": {"missing": "refusal", "reason": "unsafe"}}

    def score(
        prompts: list[str], responses: list[str], finished: list[bool], answers: list[str | None]
    ) -> list[object]:
        for text in responses:
            if text == "fatal":
                raise RewardError("no such language")
            if text in errors:
                raise errors[text]
        return [values.get(text, len(text)) for text in responses]

    return score


def judge(prompt: str, response: str, finished: bool) -> float:
    return float("nan") if response == "nan" else len(prompt) + 10 * len(response) + 100 * finished
