"""Rewards of the steps of a response (process rewards), which PPO takes on the last token of each step.

A reward model for each step of a solution is from Uesato et al. 2022 (arXiv 2211.14275) and Lightman et al. 2023
(arXiv 2305.20050). Here the steps are the parts of the response between occurrences of a delimiter, such as a line break.
"""

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate

from trainer.rewards.base import RewardInput, RewardOutcome
from trainer.rewards.missing import Missing
from trainer.text.codec import Codec


@dataclass(frozen=True)
class Steps:
    """The steps of a response. Parts of white space are none."""

    texts: list[str]
    """Without the delimiter."""
    last_tokens: list[int]
    """The token of each step, counted from 0, with which the delimiter after it is complete. That of the last step is the response's last."""

    def on_tokens(self, value: RewardOutcome, tokens: int) -> RewardOutcome:
        """A list of one score per step as one number per token; other values unchanged.

        Scores of steps that end with the same token are summed. `Missing` for a list of another length.
        """
        if not isinstance(value, list):
            return value
        if len(value) != len(self.texts):
            return Missing(
                "bad_output",
                f"returned a list of {len(value)} scores for a response of {len(self.texts)} steps. Return one number for the "
                "response, or one for each step",
            )
        placed = [0.0] * tokens
        for score, token in zip(value, self.last_tokens, strict=True):
            placed[token] += score
        return placed


def steps_of(answer: RewardInput, delimiter: str, codec: Codec) -> Steps:
    """The steps of a response, in order. A delimiter belongs to the step before it."""
    return steps_in(answer.response_ids, answer.text, delimiter, codec)


def steps_in(ids: list[int], said: str, delimiter: str, codec: Codec) -> Steps:
    """The same of the tokens of a response, whose text without a stop is `said`."""
    special = set(codec.tokenizer.all_special_ids)
    pieces = ["" if token in special else text for token, text in zip(ids, codec.token_texts(ids), strict=True)]
    whole = "".join(pieces)
    text = said if whole.startswith(said) else whole  # without a stop string
    texts, ends, begin = list[str](), list[int](), 0
    for part in text.split(delimiter):
        begin += len(part) + len(delimiter)
        if part.strip():
            texts.append(part)
            ends.append(min(begin, len(text)))
    filled = [*accumulate(map(len, pieces))]
    last_tokens = [bisect_left(filled, end) for end in ends]
    return Steps(texts, [*last_tokens[:-1], len(ids) - 1] if texts else [])


def all_steps(answers: Sequence[RewardInput], delimiter: str | None, codec: Codec) -> list[Steps] | None:
    """The steps of each response; None without a delimiter."""
    return None if delimiter is None else [steps_of(answer, delimiter, codec) for answer in answers]


def placed(
    values: Sequence[RewardOutcome], answers: Sequence[RewardInput], steps: Sequence[Steps] | None
) -> list[RewardOutcome]:
    """The values with the scores of steps on their tokens; unchanged without steps, and where their count is wrong."""
    if steps is None or len(values) != len(answers):
        return list(values)
    together = zip(values, answers, steps, strict=True)
    return [own.on_tokens(value, len(answer.response_ids)) for value, answer, own in together]
