"""The phases of a run, how long each may take, and how long each has taken. Without threads and without a clock.

Phases nest, and only the innermost one is counted. A reward that hangs is therefore named as the reward, not as the scoring
around it. A phase has one history for each place: `ppo/evaluate/rollout` is another one than `ppo/rollout`.

The unit of time is the tick, one second in which the process ran.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

Phase = Literal[
    "load",
    "start",
    "rollout",
    "score",
    "reward",
    "request",
    "update",
    "evaluate",
    "evaluate_all",
    "save",
    "save_result",
    "collective",
]
"""`load`: data and models. `start`: the optimizers and the sampling engine of PPO. `request`: one to a remote reward or judge.
`evaluate_all`: on all rows, in the end. `save_result`: a whole model, where `save` may have adapters alone."""

MULTIPLE = 10
"""The deadline of a phase is this many times the longest that it has taken."""
_REST = "step"
"""The name of the time between phases, from one report of metrics to the next."""


@dataclass(frozen=True)
class Floors:
    """The shortest deadlines, in ticks."""

    first: int = 1800
    """That of a phase without a history, which may compile kernels or start an engine. Also that of the time between phases."""
    later: int = 45
    """That of a phase that has ended before."""


@dataclass
class Durations:
    """How long a phase has taken at most, in ticks. None: it has not ended yet."""

    first: int | None = None
    """The first time in a process, with everything that is compiled then."""
    later: int | None = None
    """The times after that."""

    def add(self, ticks: int, first: bool) -> None:
        if first:
            self.first = max(self.first or 0, ticks)
        else:
            self.later = max(self.later or 0, ticks)

    def joined(self, other: "Durations") -> "Durations":
        return Durations(_longer(self.first, other.first), _longer(self.later, other.later))


def _longer(one: int | None, other: int | None) -> int | None:
    return max(one, other) if one is not None and other is not None else one if other is None else other


@dataclass
class Running:
    """A phase that has begun and has not ended."""

    name: str
    key: str
    """The stage and the names of the phases around it and of itself, joined by slashes."""
    rests: bool
    """Whether it is the time between phases, or a collective in that time."""
    around: "Running | None" = None
    at_most: int = 0
    """Ticks after which it ends by itself, such as the time-out of a request; 0: unknown."""
    ticks: int = 0
    """Ticks so far, without those of phases inside it."""
    reported: bool = False


@dataclass
class PhaseClock:
    """Counts the ticks of the innermost phase and compares them with its deadline."""

    floors: Floors = field(default_factory=Floors)
    history: dict[str, Durations] = field(default_factory=dict)
    collectives: int = 0
    """Collectives that have begun. All processes begin the same ones in the same order, so the one with fewer is behind."""
    _scope: str = "start"
    _stack: list[Running] = field(default_factory=list)
    _ended: set[str] = field(default_factory=set)
    """Keys of the phases that have ended in this process."""

    def __post_init__(self) -> None:
        self._stack = [self._rest()]

    @property
    def innermost(self) -> Running:
        return self._stack[-1]

    @property
    def path(self) -> str:
        """The names of the running phases, from the outermost one on; that of the time between phases alone."""
        return "/".join(running.name for running in self._stack[1:]) or _REST

    def enter_stage(self, stage: str) -> None:
        """Begin the time between phases of this stage."""
        self._scope = stage
        self._stack[0] = self._rest()

    def step_ended(self) -> None:
        """End the time between phases, and begin the next one."""
        self._remember(self._stack[0])
        self._stack[0] = self._rest()

    def begin(self, name: Phase, at_most: int = 0) -> None:
        collective = name == "collective"
        self.collectives += collective
        outer = self._stack[1:]
        key = "/".join([self._scope, *(running.name for running in outer), name])
        self._stack.append(Running(name, key, collective and not outer, outer[-1] if outer else None, at_most))

    def end(self, completed: bool) -> None:
        """End the innermost phase. Only one that has completed adds to the history."""
        ended = self._stack.pop()
        if completed:
            self._remember(ended)

    def deadline(self, running: Running) -> int:
        """The most ticks that the phase may take."""
        known = self._known(running)
        is_new = known is None or (running.around is not None and self._known(running.around) is None)
        least = self.floors.first if is_new or running.rests else self.floors.later
        return max(least + running.at_most, MULTIPLE * (known or 0))

    def _known(self, running: Running) -> int | None:
        """The ticks that the phase has taken at most; None without a history.

        The collectives of one phase differ: one may wait for a whole checkpoint, and the next one for nothing.
        """
        past = self.history.get(running.key, Durations())
        if running.name == "collective":
            return _longer(past.first, past.later)
        return past.first if running.key not in self._ended or past.later is None else past.later

    def tick(self) -> Running | None:
        """Count one tick. Return the innermost phase when it passes its deadline, once for each time it runs."""
        running = self.innermost
        running.ticks += 1
        if running.reported or running.ticks <= self.deadline(running):
            return None
        running.reported = True
        return running

    def silence(self) -> None:
        """Report none of the running phases: a finding has named one of them or of another process."""
        for running in self._stack:
            running.reported = True

    def recall(self, stored: Mapping[str, Any]) -> None:
        """Add the history that `stored` returned in an earlier process."""
        for key, (first, later) in stored.items():
            self.history[key] = self.history.get(key, Durations()).joined(Durations(first, later))

    def stored(self) -> dict[str, list[int | None]]:
        """The history, for JSON."""
        return {key: [durations.first, durations.later] for key, durations in self.history.items()}

    def _remember(self, running: Running) -> None:
        first = running.key not in self._ended
        self._ended.add(running.key)
        self.history.setdefault(running.key, Durations()).add(running.ticks, first)

    def _rest(self) -> Running:
        return Running(_REST, f"{self._scope}/{_REST}", rests=True)
