"""The finding about a hang: which process is in which phase, and which of several is behind."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Place:
    """Where a process is."""

    phases: str
    """Names of the running phases, from the outermost one on, joined by slashes."""
    ticks: int
    """Seconds in which the innermost phase has run."""
    collectives: int
    """Collectives that the process has begun."""
    stage: str | None
    step: int
    last_event: str
    """The last event of the run, and its age."""

    @property
    def phase(self) -> str:
        return self.phases.rpartition("/")[2]

    @property
    def within(self) -> str:
        """The innermost phase, and the one around it."""
        around = self.phases.rpartition("/")[0]
        return f"the phase {self.phase}" + (f" (in {around})" if around else "")


@dataclass(frozen=True)
class Finding:
    """A phase that has passed its deadline."""

    phase: str
    """The phase of the process that is behind."""
    ranks: Sequence[int]
    """The processes that are behind, or that do not respond."""
    text: str


def finding_of(places: Mapping[int, Place], processes: int) -> Finding:
    """The finding about a run, by the places of those of its `processes` that have responded. At least one has."""
    silent = [rank for rank in range(processes) if rank not in places]
    behind = silent or _behind(places)
    shown = places[behind[0]] if not silent else next(iter(places.values()))
    parts = [_silence(silent)] if silent else [_hangs(rank, places[rank]) for rank in behind]
    parts += [_waits(rank, place) for rank, place in sorted(places.items()) if rank not in behind]
    place = f"Stage {shown.stage}, after step {shown.step}; the last event is {shown.last_event}."
    return Finding("no response" if silent else shown.phase, behind, " ".join([*parts, place]))


def _behind(places: Mapping[int, Place]) -> list[int]:
    """The processes that have begun the fewest collectives, where the others wait for them.

    Processes in the same collective wait for each other, and all are named.
    """
    fewest = min(place.collectives for place in places.values())
    behind = [rank for rank, place in sorted(places.items()) if place.collectives == fewest]
    at_work = [rank for rank in behind if places[rank].phase != "collective"]
    return at_work or behind


def _hangs(rank: int, place: Place) -> str:
    return f"Process {rank} has been in {place.within} for {place.ticks} seconds, far longer than before."


def _waits(rank: int, place: Place) -> str:
    return f"Process {rank} has waited in {place.within} for {place.ticks} seconds."


def _silence(ranks: Sequence[int]) -> str:
    which = "Process" if len(ranks) == 1 else "Processes"
    return (
        f"{which} {', '.join(map(str, ranks))} did not respond: stopped, on a machine that cannot be reached, or in "
        "code that keeps Python's lock."
    )
