"""Plug-ins: rewards and judges that an operator installed. A spec holds only their names and options."""

import traceback
from collections.abc import Callable, Sequence
from importlib.metadata import entry_points
from inspect import signature
from typing import Any

from data.splits import prompt_text
from trainer.errors import RewardError, SpecError, TrainerError
from trainer.rewards.base import RewardContext, RewardInput, RewardValue
from trainer.spec import PluginReward
from trainer.text.codec import Codec

GROUP = "proximal.rewards"

Score = Callable[..., Sequence[Any]]
"""`score(prompts, responses, finished, answers)`, or with a further parameter `tokens`."""


def build_plugin(spec: PluginReward, context: RewardContext) -> "PluginScorer":
    """Raises SpecError where the plug-in is not installed, or where it refuses its options."""
    factory = load_entry_point(GROUP, spec.plugin, "plug-in")
    try:
        score: Score = factory(**spec.options)
    except TrainerError:
        raise
    except Exception as error:  # plug-in code may raise anything; the error is reported with its place
        raise SpecError(f"the plug-in {spec.plugin!r} refused its options: {plugin_error(error)}") from error
    return PluginScorer(score, context.codec)


class PluginScorer:
    """Calls a plug-in's `score(prompts, responses, finished, answers)` for a number per response, or a list per token.

    A function with a parameter `tokens` also receives the texts of each response's tokens.
    """

    def __init__(self, score: Score, codec: Codec) -> None:
        self._score, self._codec = score, codec
        self._wants_tokens = _takes_tokens(score)

    def score(self, answers: Sequence[RewardInput]) -> list[RewardValue]:
        columns = (
            [prompt_text(a.prompt) for a in answers],
            [a.text for a in answers],
            [a.finished for a in answers],
            [a.reference for a in answers],
        )
        try:
            tokens = (
                {"tokens": [self._codec.token_texts(a.response_ids) for a in answers]} if self._wants_tokens else {}
            )
            return [_given(value) for value in self._score(*columns, **tokens)]
        except TrainerError:
            raise
        except Exception as error:  # plug-in code may raise anything; the error is reported with its place
            raise RewardError(f"the plug-in failed: {plugin_error(error)}") from error


def _takes_tokens(score: Score) -> bool:
    try:
        return "tokens" in signature(score).parameters
    except (TypeError, ValueError):  # some builtins have no signature
        return False


def _given(value: Any) -> RewardValue:
    """A number as float; a list, tuple or array as a list of floats."""
    value = value.tolist() if hasattr(value, "tolist") else value
    return [float(one) for one in value] if isinstance(value, list | tuple) else float(value)


def load_entry_point(group: str, name: str, what: str) -> Any:
    """The object registered under `name`. `what` is its word in errors. Raises SpecError for an unknown name or failed import."""
    entries = {entry.name: entry for entry in entry_points(group=group)}
    if name not in entries:
        known = ", ".join(sorted(entries)) or "none"
        raise SpecError(f"no {what} named {name!r} is installed here (installed: {known}).")
    try:
        return entries[name].load()
    except (ImportError, AttributeError) as error:
        raise SpecError(f"the {what} {name!r} cannot be loaded: {error}") from error


def plugin_error(error: Exception) -> str:
    """The error of a plug-in with its file and line, for the plug-in's author."""
    frame = traceback.extract_tb(error.__traceback__)[-1]
    return f"{type(error).__name__}: {error} ({frame.filename}, line {frame.lineno})"
