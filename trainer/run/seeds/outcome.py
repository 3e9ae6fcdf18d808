"""How one seed ended, kept in its folder so that it is not run again."""

import json
from dataclasses import asdict, dataclass
from pathlib import Path

_NAME = "outcome.json"


@dataclass(frozen=True)
class Outcome:
    """What a seed's run came to."""

    seed: int
    seconds: float
    summary: dict[str, float]
    """Empty if it failed."""
    failed: bool
    why_collapsed: str | None


def read(folder: Path) -> Outcome | None:
    """None while the seed is not done."""
    path = folder / _NAME
    return Outcome(**json.loads(path.read_text())) if path.exists() else None


def write(folder: Path, outcome: Outcome) -> None:
    draft = folder / f"{_NAME}.new"
    draft.write_text(json.dumps(asdict(outcome), indent=2))
    draft.replace(folder / _NAME)


def best(outcomes: list[Outcome]) -> Outcome | None:
    """The highest win rate, else the first that did not fail; None if all did."""
    return max((o for o in outcomes if not o.failed), key=lambda o: o.summary.get("win_rate", 0.0), default=None)
