"""A remote reward: responses out in batches, numbers back."""

import time
from collections.abc import Sequence
from typing import Any

from trainer.errors import RewardError
from trainer.rewards.answer import Answer
from trainer.rewards.base import Given, RewardContext
from trainer.rewards.endpoint import Endpoint
from trainer.spec import HttpReward
from trainer.text.codec import Codec


def build_http(spec: HttpReward, context: RewardContext) -> "RemoteReward":
    """Raises SpecError for an address that cannot be asked; the endpoint itself is asked only when there is something to."""
    return RemoteReward(spec, Endpoint(spec.url, spec.timeout, spec.retries, context.notify), context.codec)


class RemoteReward:
    """Asks an endpoint for scores, `batch_size` responses to a request."""

    def __init__(self, spec: HttpReward, endpoint: Endpoint, codec: Codec) -> None:
        self._spec, self._endpoint, self._codec = spec, endpoint, codec
        self._seconds = 0.0

    def score(self, answers: Sequence[Answer]) -> list[Given]:
        """Raises RewardError where the endpoint fails for good, or gives a response anything but a number or a list of them."""
        began = time.perf_counter()
        self._endpoint.requests = self._endpoint.failed = 0
        scores: list[Given] = []
        for first in range(0, len(answers), self._spec.batch_size):
            scores += self._ask(answers[first : first + self._spec.batch_size])
        self._seconds = time.perf_counter() - began
        return scores

    def figures(self) -> dict[str, float]:
        """Failed requests ÷ requests, and the seconds that asking took."""
        rate = self._endpoint.failed / self._endpoint.requests if self._endpoint.requests else 0.0
        return {"error_rate": rate, "seconds": self._seconds}

    def _ask(self, answers: Sequence[Answer]) -> list[Given]:
        if self._spec.protocol == "openrlhf":
            return numbers(self._endpoint, self._openrlhf(answers), "rewards", len(answers))
        items: list[dict[str, Any]] = [
            {"prompt": a.prompt, "response": a.text, "answer": a.reference, "finished": a.finished} for a in answers
        ]
        if self._spec.send_tokens:
            items = [item | {"tokens": self._tokens(a)} for item, a in zip(items, answers, strict=True)]
        return numbers(self._endpoint, {"items": items}, "scores", len(answers))

    def _openrlhf(self, answers: Sequence[Answer]) -> dict[str, Any]:
        """Texts decoded with their special tokens, as OpenRLHF sends them: its endpoints look for the EOS."""
        decode = self._codec.tokenizer.decode
        tokens = {"tokens": [self._tokens(a) for a in answers]} if self._spec.send_tokens else {}
        return tokens | {
            "query": [decode(a.prompt_ids + a.scored_ids) for a in answers],
            "prompts": [decode(a.prompt_ids) for a in answers],
            "labels": [a.reference for a in answers],
        }

    def _tokens(self, answer: Answer) -> list[str]:
        return self._codec.token_texts(answer.response_ids)


def numbers(endpoint: Endpoint, question: dict[str, Any], key: str, count: int) -> list[Given]:
    """`count` numbers or lists of numbers under `key` of the endpoint's answer."""
    found = listed(endpoint, question, key, count)
    for value in found:
        for one in value if isinstance(value, list) else [value]:
            if isinstance(one, bool) or not isinstance(one, int | float):
                raise RewardError(f"{endpoint.url} gave {one!r} where a number was expected, in `{key}`.")
    return found


def listed(endpoint: Endpoint, question: dict[str, Any], key: str, count: int) -> list[Any]:
    """`count` values under `key` of the endpoint's answer. Raises RewardError for anything else."""
    answer = endpoint.ask(question)
    found = answer.get(key) if isinstance(answer, dict) else None
    if not isinstance(found, list):
        raise RewardError(f'{endpoint.url} must answer {{"{key}": […]}}; it answered {str(answer)[:200]}.')
    if len(found) != count:
        raise RewardError(f"{endpoint.url} gave {len(found)} values in `{key}` for {count} items.")
    return found
