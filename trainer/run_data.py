"""Reads the datasets of a run: demonstrations, comparisons, prompts and texts from JSONL files, split by prompt.

`data.schema` has the fields of a row.
"""

from collections import Counter, defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from data import rows
from data.parse import read_rows
from data.rows import Comparison, Demonstration, Prompt, PromptRow, Solution, Thumb
from data.splits import Split, hash01, held_out_keys, prompt_key, split
from trainer.errors import DataError, data_errors
from trainer.spec import DataSpec, RewardModelLoss, StageName

NEEDS: dict[StageName, tuple[str, ...]] = {
    "sft": ("demonstrations",),
    "reward_model": ("comparisons",),
    "dpo": ("comparisons",),
    "kto": ("thumbs",),
    "ppo": ("prompts", "held_out_prompts"),
    "evaluation": ("held_out_prompts",),
}
"""The kinds of rows that each stage needs at least one of. See `needs`."""


def needs(stage: StageName, loss: RewardModelLoss) -> tuple[str, ...]:
    """The kinds of item of which `stage` must have at least one; `loss` is the reward model's."""
    return (_LEARNT[loss],) if stage == "reward_model" else NEEDS[stage]


_LEARNT: dict[RewardModelLoss, str] = {"pairwise": "comparisons", "pointwise": "thumbs", "stepwise": "solutions"}
"""The kind of rows from which the reward model learns with each loss."""


@dataclass(frozen=True)
class Data:
    """The rows that a run trains on and is evaluated on. A dataset that was not given is empty."""

    demonstrations: Split
    """Rows of type Demonstration."""
    comparisons: Split
    """Rows of type Comparison."""
    prompts: Split
    """Rows of type PromptRow."""
    texts: list[str]
    """Plain texts, for PPO-ptx."""
    thumbs: Split = field(default_factory=lambda: Split([], []))
    """Rows of type Thumb."""
    solutions: Split = field(default_factory=lambda: Split([], []))
    """Rows of type Solution."""
    shared: Counter[str] = field(default_factory=Counter)
    """Rows of each kind whose prompt is in `data.evaluation_prompts`: no stage trains on them."""

    def trained_prompts(self) -> dict[str, list[Prompt]]:
        """The prompts of the rows that are trained on, by kind of row."""
        sides = {
            "demonstrations": self.demonstrations,
            "pairs": self.comparisons,
            "thumbs": self.thumbs,
            "solutions": self.solutions,
            "prompts": self.prompts,
        }
        return {kind: [item.prompt for item in side.train] for kind, side in sides.items()}


@data_errors()
def load(
    spec: DataSpec,
    stages: Collection[StageName] = ("sft", "reward_model", "ppo", "evaluation"),
    turns: Literal["last", "all"] = "last",
    loss: RewardModelLoss = "pairwise",
) -> Data:
    """Read the files that `spec` names and split each by prompt.

    `turns`: the turns of a conversation that SFT learns. `loss`: the reward model's, which decides whether it needs
    comparisons, thumbs or solutions. Raises DataError with file and line for a row that cannot be used, and for a stage without data.
    """
    comparisons = [pair for pairs in read_rows(spec.preferences, rows.comparisons) for pair in pairs]
    thumbs = list(read_rows(spec.thumbs, lambda row, _: rows.thumb(row)))
    solutions = list(read_rows(spec.steps, lambda row, _: rows.solution(row)))
    good = (
        _preferred(comparisons) if spec.preferences else [Demonstration(t.prompt, t.completion) for t in thumbs if t.up]
    )
    shown = list(read_rows(spec.sft, lambda row, _: rows.demonstration(row))) if spec.sft else good
    demonstrations = [turn for item in shown for turn in (item.turns() if turns == "all" else (item,))]
    prompts = list(read_rows(spec.prompts, lambda row, _: rows.prompt_row(row)))
    if not spec.prompts:
        source: Sequence[Comparison | Demonstration | Thumb | Solution] = comparisons or (
            demonstrations if spec.sft else thumbs or solutions
        )
        prompts = list({prompt_key(item.prompt): PromptRow(item.prompt) for item in source}.values())
    learnt: tuple[Sequence[Any], ...] = (demonstrations, comparisons, thumbs, solutions)
    others = [row.prompt for items in learnt for row in items]
    shared: Counter[str] = Counter()
    if spec.evaluation_prompts:
        evaluated = list(read_rows(spec.evaluation_prompts, lambda row, _: rows.prompt_row(row)))
        keys = {prompt_key(row.prompt) for row in evaluated}
        held_out = keys | {key for key in map(prompt_key, others) if hash01(key) < spec.eval_fraction}
        asked = Split(split(prompts, keys).train, evaluated)
        shared = _counted(
            {
                "demonstrations": demonstrations,
                "pairs": comparisons,
                "prompts": prompts,
                "thumbs": thumbs,
                "solutions": solutions,
            },
            keys,
        )
    else:
        held_out = held_out_keys([row.prompt for row in prompts], others, spec.eval_fraction)
        asked = split(prompts, held_out)
    data = Data(
        split(demonstrations, held_out),
        split(comparisons, held_out),
        asked,
        list(read_rows(spec.pretraining, lambda row, _: rows.text(row))),
        split(thumbs, held_out),
        split(solutions, held_out),
        shared,
    )
    _require(data, stages, spec, loss)
    return data


def _counted(items: Mapping[str, Sequence[Any]], keys: Collection[str]) -> Counter[str]:
    """The number of items with one of these prompts, by name. Names without any are left out."""
    return Counter(name for name, found in items.items() for item in found if prompt_key(item.prompt) in keys)


def _preferred(comparisons: list[Comparison]) -> list[Demonstration]:
    """The preferred side of each pair, and the best answers of each ranking. A tie gives none."""
    demonstrations: list[Demonstration] = []
    rankings: dict[int, list[Comparison]] = defaultdict(list)
    for pair in comparisons:
        if pair.group is not None:
            rankings[pair.group].append(pair)
        elif pair.preferred is not None:
            demonstrations.append(Demonstration(pair.prompt, pair.preferred))
    for pairs in rankings.values():
        everything = dict.fromkeys(side for pair in pairs for side in (pair.a, pair.b))
        beaten = {pair.b if pair.label == "a" else pair.a for pair in pairs if pair.preferred is not None}
        demonstrations += [Demonstration(pairs[0].prompt, side) for side in everything if beaten and side not in beaten]
    return demonstrations


def _require(data: Data, stages: Collection[StageName], spec: DataSpec, loss: RewardModelLoss) -> None:
    """Raise DataError for a stage without data. Data that no stage reads is not checked."""
    left = {
        "demonstrations": data.demonstrations.train,
        "comparisons": data.comparisons.train,
        "thumbs": data.thumbs.train,
        "solutions": data.solutions.train,
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
            f"{spec.thumbs}: every thumb that is trained on is {which}: a model cannot learn the difference. Bring rows of both."
        )
