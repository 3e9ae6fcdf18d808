"""Datasets as the trainer sees them: JSONL in, demonstrations, comparisons, prompts and texts out, split by prompt.

What a row may look like is in trainer/rows.py.
"""

import hashlib
import json
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, TypeVar

from trainer import rows
from trainer.errors import DataError
from trainer.rows import Comparison, Demonstration, Message, Prompt, PromptRow, Thumb
from trainer.spec import DataSpec, RewardModelLoss, StageName

__all__ = [
    "Comparison",
    "Data",
    "Demonstration",
    "Message",
    "Prompt",
    "PromptRow",
    "Split",
    "Thumb",
    "hash_share",
    "load",
    "prompt_key",
    "text_hash",
]

NEEDS: dict[StageName, tuple[str, ...]] = {
    "sft": ("demonstrations",),
    "reward_model": ("comparisons",),
    "dpo": ("comparisons",),
    "kto": ("thumbs",),
    "ppo": ("prompts", "held_out_prompts"),
    "evaluation": ("held_out_prompts",),
}
"""Of what each stage must have at least one. See `needs`."""


def needs(stage: StageName, loss: RewardModelLoss) -> tuple[str, ...]:
    """The kinds of item of which `stage` must have at least one; `loss` is the reward model's."""
    return ("thumbs",) if stage == "reward_model" and loss == "pointwise" else NEEDS[stage]


@dataclass(frozen=True)
class Split:
    """Training and held-out items; no prompt is in both."""

    train: list[Any]
    held_out: list[Any]


@dataclass(frozen=True)
class Data:
    """Everything a run learns from and is measured on; empty is what was not given."""

    demonstrations: Split
    """Of Demonstration."""
    comparisons: Split
    """Of Comparison."""
    prompts: Split
    """Of PromptRow."""
    texts: list[str]
    """Plain texts, for PPO-ptx."""
    thumbs: Split = field(default_factory=lambda: Split([], []))
    """Of Thumb."""
    shared: Counter[str] = field(default_factory=Counter)
    """Rows of each kind whose prompt is in `data.evaluation_prompts`: no stage trains on them."""


def load(
    spec: DataSpec,
    stages: Collection[StageName] = ("sft", "reward_model", "ppo", "evaluation"),
    turns: Literal["last", "all"] = "last",
    loss: RewardModelLoss = "pairwise",
) -> Data:
    """Read the files that `spec` names and split each by prompt. SFT takes `turns` of each conversation; `loss` is the
    reward model's, which decides whether it needs comparisons or thumbs.

    Raises DataError, naming file and line, for what cannot be read or used, and when one of `stages` has no data.
    """
    comparisons = [pair for pairs in _read(spec.preferences, rows.comparisons) for pair in pairs]
    thumbs = list(_read(spec.thumbs, lambda row, _: rows.thumb(row)))
    good = (
        _preferred(comparisons) if spec.preferences else [Demonstration(t.prompt, t.completion) for t in thumbs if t.up]
    )
    shown = list(_read(spec.sft, lambda row, _: rows.demonstration(row))) if spec.sft else good
    demonstrations = [turn for item in shown for turn in (item.turns() if turns == "all" else (item,))]
    prompts = list(_read(spec.prompts, lambda row, _: rows.prompt_row(row)))
    if not spec.prompts:
        source: Sequence[Comparison | Demonstration | Thumb] = comparisons or (demonstrations if spec.sft else thumbs)
        prompts = list({prompt_key(item.prompt): PromptRow(item.prompt) for item in source}.values())
    others = [*(d.prompt for d in demonstrations), *(c.prompt for c in comparisons), *(t.prompt for t in thumbs)]
    shared: Counter[str] = Counter()
    if spec.evaluation_prompts:
        evaluated = list(_read(spec.evaluation_prompts, lambda row, _: rows.prompt_row(row)))
        keys = {prompt_key(row.prompt) for row in evaluated}
        held_out = keys | {key for key in map(prompt_key, others) if _hash01(key) < spec.eval_fraction}
        asked = Split(_split(prompts, keys).train, evaluated)
        shared = _counted(
            {"demonstrations": demonstrations, "pairs": comparisons, "prompts": prompts, "thumbs": thumbs}, keys
        )
    else:
        held_out = _held_out_keys([row.prompt for row in prompts], others, spec)
        asked = _split(prompts, held_out)
    data = Data(
        _split(demonstrations, held_out),
        _split(comparisons, held_out),
        asked,
        list(_read(spec.pretraining, lambda row, _: rows.text(row))),
        _split(thumbs, held_out),
        shared,
    )
    _require(data, stages, spec, loss)
    return data


def prompt_key(prompt: Prompt) -> str:
    """The same string for the same prompt, whatever file it came from, and as text or as one message of the user's."""
    if isinstance(prompt, list) and len(prompt) == 1 and prompt[0]["role"] == "user":
        return prompt[0]["content"]
    return prompt if isinstance(prompt, str) else json.dumps(prompt, sort_keys=True, ensure_ascii=False)


def prompt_text(prompt: Prompt) -> str:
    """A prompt for people and judges to read."""
    return prompt if isinstance(prompt, str) else "\n".join(f"{m['role']}: {m['content']}" for m in prompt)


def _counted(items: Mapping[str, Sequence[Any]], keys: Collection[str]) -> Counter[str]:
    """How many of the items have one of these prompts, by name; names without any are left out."""
    return Counter(name for name, found in items.items() for item in found if prompt_key(item.prompt) in keys)


def _preferred(comparisons: list[Comparison]) -> list[Demonstration]:
    """The preferred side of each pair, and the best of each ranking; where nothing was preferred, nothing."""
    found: list[Demonstration] = []
    rankings: dict[int, list[Comparison]] = defaultdict(list)
    for pair in comparisons:
        if pair.group is not None:
            rankings[pair.group].append(pair)
        elif pair.preferred is not None:
            found.append(Demonstration(pair.prompt, pair.preferred))
    for pairs in rankings.values():
        everything = dict.fromkeys(side for pair in pairs for side in (pair.a, pair.b))
        beaten = {pair.b if pair.label == "a" else pair.a for pair in pairs if pair.preferred is not None}
        found += [Demonstration(pairs[0].prompt, side) for side in everything if beaten and side not in beaten]
    return found


def _require(data: Data, stages: Collection[StageName], spec: DataSpec, loss: RewardModelLoss) -> None:
    """Raise DataError where a stage has nothing to learn from. Data that no stage reads is not looked at."""
    left = {
        "demonstrations": data.demonstrations.train,
        "comparisons": data.comparisons.train,
        "thumbs": data.thumbs.train,
        "prompts": data.prompts.train,
        "held_out_prompts": data.prompts.held_out,
    }
    needed = {name for stage in stages for name in needs(stage, loss)}
    if "held_out_prompts" in needed and not left["held_out_prompts"]:
        raise DataError("The data needs at least two different prompts: one to train on and one to hold out.")
    _require_preferred(data, needed, spec)
    _require_both_thumbs(data, needed, spec)
    for name, items in left.items():
        if name in needed and not items:
            held_out = (
                "the prompts of `data.evaluation_prompts`" if name == "prompts" and spec.evaluation_prompts else ""
            )
            held_out = held_out or f"{spec.eval_fraction:.0%} of the prompts"
            raise DataError(f"No {name} are left to train on after holding out {held_out}.")


def _require_preferred(data: Data, needed: Collection[str], spec: DataSpec) -> None:
    shown, pairs = data.demonstrations, data.comparisons
    if "demonstrations" not in needed or shown.train + shown.held_out:
        return
    if spec.thumbs and not spec.preferences:
        raise DataError(f"{spec.thumbs}: every thumb is down, and SFT would learn the completions with a thumb up.")
    if pairs.train + pairs.held_out:
        raise DataError(
            f"{spec.preferences}: nothing but ties: no answer is preferred to another, and SFT would learn the preferred "
            "ones. Name demonstrations in `data.sft`, or leave 'sft' out of `stages`."
        )


def _require_both_thumbs(data: Data, needed: Collection[str], spec: DataSpec) -> None:
    verdicts = {thumb.up for thumb in data.thumbs.train}
    if "thumbs" in needed and len(verdicts) == 1:
        which = "up" if verdicts.pop() else "down"
        raise DataError(
            f"{spec.thumbs}: every thumb that is trained on is {which}: there is nothing to tell apart. Bring rows of both."
        )


def _held_out_keys(prompts: Iterable[Prompt], others: Iterable[Prompt], spec: DataSpec) -> set[str]:
    """Prompts whose hash falls below `eval_fraction`: the same ones in every file and every run.

    Of `prompts`, those for PPO and evaluation, one is held out and one trained on at least, where there are two.
    """
    asked = sorted({prompt_key(prompt) for prompt in prompts}, key=_hash01)
    everything = {*asked, *(prompt_key(prompt) for prompt in others)}
    held_out = {key for key in everything if _hash01(key) < spec.eval_fraction}
    return (held_out | set(asked[:1])) - set(asked[-1:])


def text_hash(text: str) -> int:
    """64 bits, the same in every run. Of a prompt's key, as a share of 2^64, it decides whether the prompt is held out."""
    return int.from_bytes(hashlib.blake2b(text.encode(), digest_size=8).digest(), "big")


def hash_share(number: int) -> float:
    """Where a hash lies among all of them, from 0 to 1."""
    return number / 2**64


def _hash01(text: str) -> float:
    return hash_share(text_hash(text))


T = TypeVar("T")


def _split(items: list[Any], held_out: set[str]) -> Split:
    train: list[Any] = []
    kept: list[Any] = []
    for item in items:
        (kept if prompt_key(item.prompt) in held_out else train).append(item)
    return Split(train, kept)


def _read(path: str | None, parse: Callable[[dict[str, Any], int], T]) -> Iterator[T]:
    """What `parse` makes of each row and its line number; nothing where no file is named."""
    if path is None:
        return
    empty = True
    try:
        with Path(path).open(encoding="utf-8-sig") as file:
            for number, line in enumerate(file, start=1):
                if line.strip():
                    empty = False
                    yield read_row(path, number, line, parse)
    except OSError as error:
        raise DataError(f"{path}: {error.strerror}.") from error
    except UnicodeDecodeError as error:
        raise DataError(f"{path}: not UTF-8 text (byte {error.start}).") from error
    if empty:
        raise DataError(f"{path}: the file is empty: it has no row.")


def read_row(path: str, number: int, line: str, parse: Callable[[dict[str, Any], int], T]) -> T:
    """What `parse` makes of one line. Raises DataError, naming file and line."""
    try:
        row = json.loads(line, object_pairs_hook=_without_duplicates, parse_constant=_no_constant)
        if not isinstance(row, dict):
            raise DataError("each line must be a JSON object")
        if "\\ud" in line.lower():
            json.dumps(row, ensure_ascii=False).encode()
        if "\\u0000" in line and _holds_nul(row):
            raise DataError("holds a NUL character")
        return parse(row, number)
    except json.JSONDecodeError as error:
        raise DataError(f"{path}, line {number}, column {error.colno}: not JSON: {error.msg}.") from error
    except DataError as error:
        raise DataError(f"{path}, line {number}: {error}.") from error
    except UnicodeEncodeError as error:
        raise DataError(f"{path}, line {number}: holds half of a surrogate pair (\\ud800 to \\udfff).") from error
    except RecursionError as error:
        raise DataError(f"{path}, line {number}: is nested too deeply.") from error
    except ValueError as error:  # Python refuses to read integers of thousands of digits
        raise DataError(f"{path}, line {number}: holds a number that is too long.") from error


def _without_duplicates(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    names = [name for name, _ in pairs]
    if twice := next((name for name in names if names.count(name) > 1), None):
        raise DataError(f"holds the key {twice!r} twice")
    return dict(pairs)


def _no_constant(name: str) -> Any:
    raise DataError(f"holds {name}, which is not JSON")


def _holds_nul(value: Any) -> bool:
    """The character, in a text or a key; a text about code may well spell out its escape."""
    if isinstance(value, str):
        return "\0" in value
    if isinstance(value, dict):
        return any("\0" in key or _holds_nul(item) for key, item in value.items())
    return isinstance(value, list) and any(map(_holds_nul, value))
