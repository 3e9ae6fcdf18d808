"""Datasets as the trainer sees them: JSONL in, prompts, demonstrations and comparisons out, split by prompt.

A prompt is plain text (a string) or a conversation (a list of messages). A comparison is a prompt, two completions and
a label, "a", "b" or "tie"; chosen/rejected files are comparisons whose label is "a".
"""

import hashlib
import json
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from trainer.errors import DataError
from trainer.spec import DataSpec

Message = dict[str, str]
Prompt = str | list[Message]


@dataclass(frozen=True)
class Demonstration:
    """A prompt with the completion that SFT imitates."""

    prompt: Prompt
    completion: str


@dataclass(frozen=True)
class Comparison:
    """Two completions of one prompt. `label` is "a" or "b" (the preferred one) or "tie"."""

    prompt: Prompt
    a: str
    b: str
    label: str

    @property
    def preferred(self) -> str | None:
        return {"a": self.a, "b": self.b}.get(self.label)


@dataclass(frozen=True)
class Split:
    """Training and held-out items; no prompt is in both."""

    train: list[Any]
    held_out: list[Any]


@dataclass(frozen=True)
class Data:
    """Everything a run learns from and is measured on."""

    demonstrations: Split
    comparisons: Split
    prompts: Split


def load(spec: DataSpec) -> Data:
    """Read the files that `spec` names and split each by prompt.

    Raises DataError, naming file and line, for what cannot be read or used.
    """
    comparisons = list(_read(Path(spec.preferences), _comparison)) if spec.preferences else []
    demonstrations = (
        list(_read(Path(spec.sft), _demonstration))
        if spec.sft
        else [Demonstration(c.prompt, c.preferred) for c in comparisons if c.preferred is not None]
    )
    prompts = list(_read(Path(spec.prompts), _prompt_of)) if spec.prompts else [c.prompt for c in comparisons]
    prompts = list({prompt_key(prompt): prompt for prompt in prompts}.values())
    others = [*(d.prompt for d in demonstrations), *(c.prompt for c in comparisons)]
    held_out = _held_out_keys(prompts, others, spec)
    data = Data(
        _split(demonstrations, lambda d: d.prompt, held_out),
        _split(comparisons, lambda c: c.prompt, held_out),
        _split(prompts, lambda p: p, held_out),
    )
    for name, split in vars(data).items():
        if not split.train:
            raise DataError(
                f"No {name} are left to train on after holding out {spec.eval_fraction:.0%} of the prompts."
            )
    return data


def prompt_key(prompt: Prompt) -> str:
    """The same string for the same prompt, whatever file it came from."""
    return prompt if isinstance(prompt, str) else json.dumps(prompt, sort_keys=True, ensure_ascii=False)


def prompt_text(prompt: Prompt) -> str:
    """A prompt for people and judges to read."""
    return prompt if isinstance(prompt, str) else "\n".join(f"{m['role']}: {m['content']}" for m in prompt)


def _held_out_keys(prompts: Iterable[Prompt], others: Iterable[Prompt], spec: DataSpec) -> set[str]:
    """Prompts whose hash falls below `eval_fraction`: the same ones in every file and every run.

    Of `prompts`, those for PPO and evaluation, one is held out and one trained on at least.
    """
    asked = sorted({prompt_key(prompt) for prompt in prompts}, key=_hash01)
    if len(asked) < 2:
        raise DataError("The data needs at least two different prompts: one to train on and one to hold out.")
    everything = {*asked, *(prompt_key(prompt) for prompt in others)}
    held_out = {key for key in everything if _hash01(key) < spec.eval_fraction}
    return (held_out | {asked[0]}) - {asked[-1]}


def _hash01(text: str) -> float:
    return int.from_bytes(hashlib.blake2b(text.encode(), digest_size=8).digest(), "big") / 2**64


T = TypeVar("T")


def _split(items: list[T], prompt: Callable[[T], Prompt], held_out: set[str]) -> Split:
    train: list[T] = []
    kept: list[T] = []
    for item in items:
        (kept if prompt_key(prompt(item)) in held_out else train).append(item)
    return Split(train, kept)


def _read(path: Path, parse: Callable[[dict[str, Any]], T]) -> Iterator[T]:
    try:
        with path.open(encoding="utf-8-sig") as file:
            for number, line in enumerate(file, start=1):
                if line.strip():
                    yield _row(path, number, line, parse)
    except OSError as error:
        raise DataError(f"{path}: {error.strerror}.") from error
    except UnicodeDecodeError as error:
        raise DataError(f"{path}: not UTF-8 text (byte {error.start}).") from error


def _row(path: Path, number: int, line: str, parse: Callable[[dict[str, Any]], T]) -> T:
    try:
        row = json.loads(line)
        if not isinstance(row, dict):
            raise DataError("each line must be a JSON object")
        if "\\ud" in line.lower():
            json.dumps(row, ensure_ascii=False).encode()
        return parse(row)
    except json.JSONDecodeError as error:
        raise DataError(f"{path}, line {number}, column {error.colno}: not JSON: {error.msg}.") from error
    except DataError as error:
        raise DataError(f"{path}, line {number}: {error}.") from error
    except UnicodeEncodeError as error:
        raise DataError(f"{path}, line {number}: holds half of a surrogate pair (\\ud800 to \\udfff).") from error


def _comparison(row: dict[str, Any]) -> Comparison:
    prompt = _prompt_of(row)
    if "label" in row:
        if row["label"] not in ("a", "b", "tie"):
            raise DataError('`label` must be "a", "b" or "tie"')
        return Comparison(prompt, _completion(row, "a"), _completion(row, "b"), row["label"])
    return Comparison(prompt, _completion(row, "chosen"), _completion(row, "rejected"), "a")


def _demonstration(row: dict[str, Any]) -> Demonstration:
    return Demonstration(_prompt_of(row), _completion(row, "completion"))


def _prompt_of(row: dict[str, Any]) -> Prompt:
    value = row.get("prompt")
    if isinstance(value, str) and value:
        return value
    if isinstance(value, list) and value and all(_is_message(message) for message in value):
        return [{"role": m["role"], "content": m["content"]} for m in value]
    raise DataError("`prompt` must be a text, or a list of messages with `role` and `content`, and not empty")


def _completion(row: dict[str, Any], field: str) -> str:
    value = row.get(field)
    if isinstance(value, list) and len(value) == 1 and _is_message(value[0]) and value[0]["role"] == "assistant":
        value = value[0]["content"]
    if isinstance(value, str) and value:
        return value
    raise DataError(f"`{field}` must be a text, or one assistant message, and not empty")


def _is_message(value: Any) -> bool:
    return isinstance(value, dict) and isinstance(value.get("role"), str) and isinstance(value.get("content"), str)
