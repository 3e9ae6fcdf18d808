"""Responses without a value: a reward or a judge failed. Such a response is left out, and is never scored otherwise.

`Missing` stands in place of the value. `MissingCounts` counts them in one batch, and `MissingWatch` over the whole run.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, get_args

from trainer.events import RewardMissing
from trainer.session.session import Session
from trainer.spec import DEFAULT_MAX_MISSING, JobSpec, MissingCause, StageName, reward_names

WINDOW = 1000
"""Responses of the window in which the share is taken. It consists of whole batches, so it may hold some more."""
FEWEST = 200
"""A smaller window counts as this many responses, so that one failure at the start of a run is no large share."""
JUDGE, LABELS = "evaluation.judge", "ppo.online.label_by"
"""The names of the two judges. No reward can have such a name."""
_LONGEST_SHOWN = 200
"""Characters of a value that a message repeats."""
CAUSES: tuple[MissingCause, ...] = get_args(MissingCause)
_WORDS: dict[MissingCause, str] = {
    "time_out": "time-out",
    "refusal": "refusal",
    "bad_output": "bad output",
    "crash": "crash",
    "unreachable": "unreachable",
}


@dataclass(frozen=True)
class Missing:
    """No value."""

    cause: MissingCause
    reason: str
    """The event that caused it, for people."""


class NoValue(Exception):
    """A request or a call that scores some responses failed for good."""

    def __init__(self, cause: MissingCause, reason: str) -> None:
        super().__init__(reason)
        self.missing = Missing(cause, reason)


def cause_of(error: Exception) -> MissingCause:
    """The cause that an exception of a reward's own code stands for."""
    if isinstance(error, TimeoutError):
        return "time_out"
    return "unreachable" if isinstance(error, ConnectionError) else "crash"


def stated(value: Any) -> Missing | None:
    """The `{"missing": cause, "reason": text}` that a reward returned in place of a value; None for another value."""
    if not isinstance(value, dict) or "missing" not in value:
        return None
    cause, reason = value["missing"], value.get("reason", "no reason given")
    if cause not in CAUSES:
        return Missing("bad_output", f"returned the cause {shown(cause)}; it must be one of {', '.join(CAUSES)}")
    return Missing(cause, str(reason)[:400])


def shown(value: object) -> str:
    """A value that is no usable number, in a message."""
    try:
        text = repr(value)
    except ValueError:
        return "an integer of thousands of digits"
    return text if len(text) <= _LONGEST_SHOWN else f"{text[:_LONGEST_SHOWN]}…"


def present(values: Sequence[Any]) -> list[Any]:
    """The values that are there."""
    return [value for value in values if not isinstance(value, Missing)]


@dataclass(frozen=True)
class MissingCounts:
    """The responses that one reward was asked about, and those without a value by their cause."""

    asked: int
    causes: Counter[MissingCause]
    reason: str
    """The reason of the first one; empty without one."""

    @classmethod
    def of(cls, values: Sequence[object]) -> "MissingCounts":
        found = [value for value in values if isinstance(value, Missing)]
        return cls(len(values), Counter(one.cause for one in found), found[0].reason if found else "")

    def __add__(self, other: "MissingCounts") -> "MissingCounts":
        return MissingCounts(self.asked + other.asked, self.causes + other.causes, self.reason or other.reason)

    @property
    def missing(self) -> int:
        return self.causes.total()

    def __str__(self) -> str:
        """Such as `3 of 64 (2 time-out, 1 crash)`."""
        causes = ", ".join(f"{self.causes[cause]} {_WORDS[cause]}" for cause in CAUSES if self.causes[cause])
        return f"{self.missing} of {self.asked}" + (f" ({causes})" if causes else "")


Counts = Mapping[str, MissingCounts]
"""By the name of the reward, `JUDGE` or `LABELS`."""


def counts_of(parts: Mapping[str, Sequence[object]]) -> dict[str, MissingCounts]:
    return {name: MissingCounts.of(values) for name, values in parts.items()}


def together(one: Counts, other: Counts) -> dict[str, MissingCounts]:
    """The counts of two batches."""
    return {**one, **{name: one[name] + counts if name in one else counts for name, counts in other.items()}}


@dataclass
class MissingWatch:
    """The share of missing values of each reward and judge in its window, against `max_missing`.

    Checkpoints hold the windows. Every process has the same ones, because they are made from gathered values.
    """

    windows: dict[str, list[list[int]]] = field(default_factory=dict)
    """By name, the responses asked about and those without a value, batch by batch; the newest is last."""
    reasons: dict[str, str] = field(default_factory=dict)
    """By name, the newest reason."""

    def note(self, session: Session, stage: StageName, step: int, counts: Counts, held_out: bool = False) -> None:
        """Add the counts of one step (1-based; 0 is the start), and report those with a missing value."""
        self.add(counts)
        for name, found in counts.items():
            if found.missing:
                session.emit(
                    RewardMissing(
                        stage=stage,
                        step=step,
                        reward=name,
                        asked=found.asked,
                        missing=dict(found.causes),
                        share=self.share(name),
                        reason=found.reason,
                        held_out=held_out,
                    )
                )

    def add(self, counts: Counts) -> None:
        for name, found in counts.items():
            window = self.windows.setdefault(name, [])
            window.append([found.asked, found.missing])
            if found.reason:
                self.reasons[name] = found.reason
            while sum(asked for asked, _ in window[1:]) >= WINDOW:
                window.pop(0)

    def share(self, name: str) -> float:
        """The share in the window; 0 for a name without one."""
        window = self.windows.get(name, [])
        return sum(missing for _, missing in window) / max(FEWEST, sum(asked for asked, _ in window))

    def follow(self, limits: Mapping[str, float]) -> None:
        """Forget the windows that mean nothing under a changed spec: of rewards that it lacks, and those above their limit.

        A run that goes on under its own limits has neither, because it pauses and counts anew.
        """
        self.windows = {
            name: window for name, window in self.windows.items() if self.share(name) <= limits.get(name, -1)
        }

    def exceeded(self, limits: Mapping[str, float]) -> str | None:
        """Why the job must pause, for people; None if no share is above its limit.

        The windows above their limit are emptied. A job that is resumed counts anew.
        """
        found = [name for name in self.windows if self.share(name) > limits.get(name, DEFAULT_MAX_MISSING)]
        why = [self._why(name, limits.get(name, DEFAULT_MAX_MISSING)) for name in found]
        for name in found:
            del self.windows[name]
        return " ".join(why) if why else None

    def _why(self, name: str, limit: float) -> str:
        asked, missing = (sum(numbers) for numbers in zip(*self.windows[name], strict=True))
        return (
            f"{described(name)} gave no value for {missing} of its last {asked} responses, more than its `max_missing` "
            f"({limit:g}) allows. The newest reason: {self.reasons[name].rstrip('.')}."
        )

    def to_json(self) -> dict[str, Any]:
        return {"windows": self.windows, "reasons": self.reasons}

    @classmethod
    def from_json(cls, stored: Mapping[str, Any]) -> "MissingWatch":
        """{} is the watch of a checkpoint from before there was one."""
        return cls(stored.get("windows", {}), stored.get("reasons", {}))


def missing_metrics(counts: Counts, watch: MissingWatch) -> dict[str, float]:
    """The responses of an iteration without a value, by reward and cause, and the shares that `max_missing` limits."""
    values: dict[str, float] = {}
    for name, found in counts.items():
        if found.missing:
            values[f"reward/{name}/missing"] = found.missing
            values |= {f"reward/{name}/{cause}": found.causes[cause] for cause in CAUSES if found.causes[cause]}
        if share := watch.share(name):
            values[f"reward/{name}/missing_share"] = share
    return values


def limits_of(spec: JobSpec) -> dict[str, float]:
    """`max_missing` of each reward and judge by its name."""
    limits = {name: _limit(one) for name, one in zip(reward_names(spec.scoring), spec.scoring, strict=True)}
    limits[JUDGE] = limits[LABELS] = _limit(spec.evaluation.judge)
    if spec.ppo.online is not None and spec.ppo.online.label_by is not None:
        limits[LABELS] = _limit(spec.ppo.online.label_by)
    return limits


def _limit(scorer: Any) -> float:
    """An installed judge, and a reward that always has a value, have no field of their own."""
    return float(getattr(scorer, "max_missing", DEFAULT_MAX_MISSING))


def described(name: str) -> str:
    """A reward or a judge, at the beginning of a sentence."""
    return {JUDGE: "The judge", LABELS: "The judge of `ppo.online`"}.get(name, f"Reward `{name}`")
