"""How a PPO run has gone so far: all that its health rules, its best checkpoint and its curve need to go on after a resume."""

from dataclasses import dataclass, field
from typing import Any

from trainer.events import CurvePoint, finite
from trainer.health import Monitor

_BEST_FIGURES = ("win_rate", "win_rate_low", "win_rate_high", "score", "judge", "kl", "response_length")


@dataclass
class Course:
    """Every checkpoint has it, as JSON. A roll-back leaves it: what has been seen has been seen."""

    monitor: Monitor
    rate_factor: float = 1.0
    """Of the learning rates: halved by each roll-back."""
    roll_backs: int = 0
    skipped: int = 0
    """Optimizer steps left out because a number was not finite."""
    entropy: float | None = None
    """Of the last iteration that had one."""
    best_step: int | None = None
    best: dict[str, float] = field(default_factory=dict)
    """The evaluation with the best win rate, by figure; empty before the first. Never of a step that was rolled back, or
    of which a part was left out."""
    curve: list[CurvePoint] = field(default_factory=list)

    def note(self, step: int, values: dict[str, float], may_be_best: bool = True) -> bool:
        """Add a step's metrics; answer whether it is the best evaluation so far. The first of equals stays the best.

        Where something went wrong at the step it may not be: it is drawn, but nothing is to go back to it.
        """
        self.entropy = values.get("policy/entropy_avg", self.entropy)
        seen = finite(values).items()
        figures = {name.removeprefix("eval/"): value for name, value in seen if name.startswith("eval/")}
        if "win_rate" not in figures:
            return False
        shown = ("sqrt_kl", "score", "judge", "win_rate")
        self.curve.append(CurvePoint(step=step, **{name: figures[name] for name in shown if name in figures}))
        if not may_be_best or (self.best and figures["win_rate"] <= self.best["win_rate"]):
            return False
        self.best_step, self.best = step, {name: figures[name] for name in _BEST_FIGURES if name in figures}
        return True

    def summary(self, best_is_kept: bool) -> dict[str, float]:
        """What of it belongs to the stage's result.

        The win rate by which the best checkpoint was chosen is a maximum over evaluations, hence too high: the evaluation
        stage measures that checkpoint again (`best_win_rate`).
        """
        summary = {}
        if best_is_kept and self.best_step is not None:
            summary = {"best_step": float(self.best_step), "selection_win_rate": self.best["win_rate"]}
        first = self.monitor.first("policy/entropy_avg")
        if first and self.entropy is not None:
            summary["entropy_kept"] = self.entropy / first
        return summary

    def numbers(self) -> dict[str, Any]:
        """All of it as JSON."""
        numbers = {name: value for name, value in vars(self).items() if name not in ("monitor", "curve")}
        return numbers | {"monitor": self.monitor.state(), "curve": [point.model_dump() for point in self.curve]}

    def restore(self, numbers: dict[str, Any]) -> None:
        """Put back what `numbers` returned."""
        self.monitor.restore(numbers["monitor"])
        self.curve = [CurvePoint(**point) for point in numbers["curve"]]
        for name, value in numbers.items():
            if name not in ("monitor", "curve"):
                setattr(self, name, value)
