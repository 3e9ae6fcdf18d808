"""The health callback of a PPO run. After each iteration it reports, keeps the best, pauses, stops or rolls back."""

from pathlib import Path
from typing import NoReturn

from trainer.errors import Diverged, Unhealthy
from trainer.events import Evidence, Health, RolledBack, SuggestedChange
from trainer.health import HealthFinding, gravest
from trainer.health.changes import suggested_values
from trainer.ppo.state import RunHistory
from trainer.session.session import Session
from trainer.session.stage_loop import StageLoop
from trainer.spec import HealthRule, HealthSpec

MOST_ROLL_BACKS = 3
_RATE_CUT = 0.5


class RolledBackError(Exception):
    """The newest checkpoint is now an earlier state of the run. The caller builds the models anew from it and trains on."""


class HealthCallback:
    """Checks the metrics of each iteration. A roll-back keeps the step's number, so steps only count up."""

    def __init__(self, session: Session, history: RunHistory, keep_best: bool) -> None:
        self._session = session
        self._history = history
        self._may_roll_back = _may_roll_back(session.spec.health)
        # a rule that may roll back needs the best checkpoint, whether or not the spec keeps it
        self._keep_best = keep_best or self._may_roll_back
        self._skipped_at: int | None = None

    def after_step(self, loop: StageLoop, done: int, metrics: dict[str, float]) -> None:
        """Report the findings, save the checkpoint if it is the best, and do what the gravest finding asks for.

        Raises Paused, Unhealthy, RolledBackError, or Stopped if asked to stop during a roll-back. Everything is saved then.
        """
        findings = self._history.monitor.look(done, metrics)
        for finding in findings:
            self._report(finding)
        # a state that triggers a roll-back, or that a skipped step has shaped, is no target for a later one
        sound = done != self._skipped_at and all(finding.action != "roll_back" for finding in findings)
        if self._history.add(done, metrics, may_be_best=sound) and self._keep_best:
            state = loop.trainer_state(done) if self._may_roll_back else None
            self._session.save_best(loop.stage, done, loop.model, loop.tokenizer, self._history.best, state)
        worst = gravest(findings)
        match worst and worst.action:
            case "pause":
                loop.save(done)
                self._session.pause(_explained(worst))
            case "stop":
                self._stop(loop, done, _explained(worst))
            case "roll_back":
                self._roll_back(loop, done, _explained(worst))

    def skip_step(self, step: int, error: Diverged) -> None:
        """Called when a loss or gradient of iteration `step` (1-based) is not finite. Returns if the step may be skipped.

        Raises `error` itself if the rule ends the run. Nothing is saved then, because a resume needs whole iterations.
        """
        self._history.skipped += 1
        self._skipped_at = step
        if self._history.monitor.tolerates(self._history.skipped):
            return
        for finding in self._history.monitor.look(step, self.metrics()):
            self._report(finding)
        raise error

    def metrics(self) -> dict[str, float]:
        """The number of skipped optimizer steps, once there are any."""
        return {"health/skipped_steps": float(self._history.skipped)} if self._history.skipped else {}

    def _report(self, finding: HealthFinding) -> None:
        values = suggested_values(self._session.spec, finding.changes)
        self._session.emit(
            Health(
                stage="ppo",
                step=finding.step,
                rule=finding.rule,
                action=finding.action,
                limit=finding.limit,
                cause=finding.cause,
                evidence=[Evidence(**vars(point)) for point in finding.evidence],
                suggestion=finding.suggestion,
                changes=[SuggestedChange(**vars(value)) for value in values],
            )
        )

    def _stop(self, loop: StageLoop, done: int, reason: str) -> NoReturn:
        loop.save(done)
        raise Unhealthy(f"Stopped by a health rule after step {done}; the run is saved. {reason}")

    def _roll_back(self, loop: StageLoop, done: int, reason: str) -> NoReturn:
        if self._history.roll_backs == MOST_ROLL_BACKS:
            self._stop(loop, done, f"It has been rolled back {MOST_ROLL_BACKS} times already. {reason}")
        source, to_step = self._source(loop)
        self._history.roll_backs += 1
        self._history.rate_factor *= _RATE_CUT
        self._history.monitor.rearm()
        numbers = {"step": done, "seconds": loop.seconds, "course": self._history.to_json()}
        numbers |= {"knobs": loop.knobs.to_json(), **self._kl_coef_set_since(loop, to_step)}
        self._session.restore(loop.stage, source, done, numbers)
        factor = self._history.rate_factor
        self._session.emit(RolledBack(stage=loop.stage, step=done, to_step=to_step, learning_rate_factor=factor))
        self._session.stop_if_asked()
        raise RolledBackError

    def _kl_coef_set_since(self, loop: StageLoop, to_step: int) -> dict[str, float]:
        """The KL coefficient that was set live after `to_step`: an adaptive controller starts again from it."""
        setting = loop.knobs.settings.get("kl_coef")
        return {} if setting is None or setting.step < to_step else {"kl_coef": setting.value}

    def _source(self, loop: StageLoop) -> tuple[Path, int]:
        """The best checkpoint if this run saved it, else the newest one. Both are older than the current step."""
        best = self._session.checkpoints.best(loop.stage)
        if best is not None and best[1] == self._history.best_step and (best[0] / "trainer_state").exists():
            return best
        newest = self._session.checkpoints.newest(loop.stage)
        assert newest is not None  # the first evaluation saved a best one; if that is lost, a later one exists
        return newest


def _may_roll_back(spec: HealthSpec) -> bool:
    rules = [getattr(spec, name) for name in HealthSpec.model_fields]
    return spec.enabled and any(isinstance(rule, HealthRule) and rule.action == "roll_back" for rule in rules)


def _explained(finding: HealthFinding | None) -> str:
    assert finding is not None
    return f"{finding.cause} {finding.suggestion}"
