"""Plug-ins: rewards and judges that an operator installed. A spec holds only their names and options."""

import traceback
from collections.abc import Callable, Sequence
from functools import partial
from importlib.metadata import entry_points
from inspect import signature
from typing import Any

from data.splits import prompt_text
from trainer.errors import SpecError, TrainerError
from trainer.rewards.base import RewardContext, RewardInput, RewardOutcome
from trainer.rewards.missing import Missing, cause_of, shown, stated
from trainer.rewards.steps import all_steps, placed
from trainer.spec import PluginReward
from trainer.text.codec import Codec

GROUP = "proximal.rewards"

Score = Callable[..., Sequence[Any]]
"""`score(prompts, responses, finished, answers)`, or with further parameters `tokens` and `steps`."""


def build_plugin(spec: PluginReward, context: RewardContext) -> "PluginScorer":
    """Raises SpecError where the plug-in is not installed, or where it refuses its options."""
    factory = load_entry_point(GROUP, spec.plugin, "plug-in")
    try:
        score: Score = factory(**spec.options)
    except TrainerError:
        raise
    except Exception as error:  # plug-in code may raise anything; the error is reported with its place
        raise SpecError(f"the plug-in {spec.plugin!r} refused its options: {plugin_error(error)}") from error
    return PluginScorer(score, context.codec, context.notify, spec.step_delimiter)


class PluginScorer:
    """Calls a plug-in's `score(prompts, responses, finished, answers)` for a number per response, or a list per token.

    A function with a parameter `tokens` also receives the texts of each response's tokens. With a delimiter a list has a number
    per step, and a function with a parameter `steps` receives their texts. If a call fails, each response
    is scored by a call of its own. One whose call fails again has no value.
    """

    def __init__(
        self,
        score: Score,
        codec: Codec,
        notify: Callable[[str], None] = lambda text: None,
        step_delimiter: str | None = None,
    ) -> None:
        self._score, self._codec, self._notify, self._step_delimiter = score, codec, notify, step_delimiter
        self._wants_tokens, self._wants_steps = _takes(score, "tokens"), _takes(score, "steps")
        if self._wants_steps and step_delimiter is None:
            raise SpecError("this plug-in scores the steps of a response: set `step_delimiter`.")

    def score(self, answers: Sequence[RewardInput]) -> list[RewardOutcome]:
        return placed(self._values(answers), answers, all_steps(answers, self._step_delimiter, self._codec))

    def _values(self, answers: Sequence[RewardInput]) -> list[RewardOutcome]:
        try:
            return [outcome(value) for value in self._call(answers)]
        except TrainerError:
            raise
        except Exception as error:  # noqa: BLE001  # plug-in code may raise anything; the error is reported with its place
            self._notify(f"The plug-in failed: {plugin_error(error)}. Scoring each response by a call of its own.")
        return [outcome_of(partial(self._alone, answer)) for answer in answers]

    def _call(self, answers: Sequence[RewardInput]) -> Sequence[Any]:
        columns = (
            [prompt_text(a.prompt) for a in answers],
            [a.text for a in answers],
            [a.finished for a in answers],
            [a.reference for a in answers],
        )
        tokens = {"tokens": [self._codec.token_texts(a.response_ids) for a in answers]} if self._wants_tokens else {}
        steps = all_steps(answers, self._step_delimiter, self._codec) if self._wants_steps else None
        return self._score(*columns, **tokens, **({} if steps is None else {"steps": [own.texts for own in steps]}))

    def _alone(self, answer: RewardInput) -> Any:
        values = self._call([answer])
        return values[0] if len(values) == 1 else Missing("bad_output", f"returned {len(values)} scores for 1 response")


def _takes(score: Score, parameter: str) -> bool:
    try:
        return parameter in signature(score).parameters
    except (TypeError, ValueError):  # some builtins have no signature
        return False


def outcome_of(call: Callable[[], Any]) -> RewardOutcome:
    """The result of a call of plug-in code; `Missing` if it raised. A TrainerError is raised: it ends the run."""
    try:
        return outcome(call())
    except TrainerError:
        raise
    except Exception as error:  # noqa: BLE001  # plug-in code may raise anything; the error is reported with its place
        return Missing(cause_of(error), f"the plug-in failed: {plugin_error(error)}")


def outcome(value: Any) -> RewardOutcome:
    """A number as float; a list, tuple or array as a list of floats; `Missing` for anything else, also in a list."""
    if isinstance(value, Missing):
        return value
    value = value.tolist() if hasattr(value, "tolist") else value
    try:
        return [float(one) for one in value] if isinstance(value, list | tuple) else float(value)
    except (TypeError, ValueError, OverflowError):
        told = (
            next((one for one in map(stated, value) if one), None) if isinstance(value, list | tuple) else stated(value)
        )
        return told or Missing("bad_output", f"returned {shown(value)} in place of a number")


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
