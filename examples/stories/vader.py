"""VADER's sentiment (Hutto and Gilbert 2014) as a reward and as a judge; both are plug-ins named `vader`.

The package is `vaderSentiment`. A plug-in is Python that the operator installed: this one shows how small it can be.
"""

from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

from trainer.errors import SpecError


def reward() -> Callable[..., list[float]]:
    """For the entry-point group `proximal.rewards`: the compound sentiment of each response, −1 to 1."""
    compound = _analyser()

    def score(
        prompts: Sequence[str], responses: Sequence[str], finished: Sequence[bool], answers: Sequence[str | None]
    ) -> list[float]:
        return [compound(response) for response in responses]

    return score


def judge(prompt: str, response: str, finished: bool) -> float:
    """For the entry-point group `proximal.judges`."""
    return _analyser()(response)


@cache
def _analyser() -> Callable[[str], float]:
    try:
        from vaderSentiment.vaderSentiment import SentimentIntensityAnalyzer
    except ImportError as error:
        raise SpecError("The plug-in `vader` needs the package vaderSentiment: pip install vaderSentiment") from error
    analyser: Any = SentimentIntensityAnalyzer()
    return lambda text: float(analyser.polarity_scores(text)["compound"])
