"""The health callback of a PPO run. After each iteration it reports, keeps the best, pauses, stops or rolls back."""

from pathlib import Path
from typing import NoReturn

from trainer.errors import Diverged, Unhealthy
from trainer.events import Evidence, Health, RolledBack, SuggestedChange
from trainer.health import HealthFinding, gravest
from trainer.health.changes import suggested_values
from trainer.ppo.state import RunHistory
from trainer.ppo.stored_numbers import in_present_format
from trainer.session.checkpoint import load_numbers
from trainer.session.session import Session
from trainer.session.stage_loop import StageLoop
from trainer.spec import HealthRule, HealthSpec
from trainer.spec.health_titles import rule_title

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
        self._is_best = False

    def look(self, done: int, metrics: dict[str, float]) -> list[HealthFinding]:
        """Apply the rules to the metrics of a step, and add them to the history. Returns the findings."""
        findings = self._history.monitor.look(done, metrics, done - self._history.value_pretraining.done)
        # a state that triggers a roll-back, or that a skipped step has shaped, is no target for a later one
        sound = done != self._skipped_at and all(finding.action != "roll_back" for finding in findings)
        self._is_best = self._history.add(done, metrics, may_be_best=sound)
        return findings

    def best_so_far(self, metrics: dict[str, float]) -> dict[str, float]:
        """The step of the best evaluation as a metric, if `metrics` are those of an evaluation. `look` comes before."""
        best = self._history.best_step
        return {"eval/best_step": float(best)} if "eval/win_rate" in metrics and best is not None else {}

    def renew_first(self, loop: StageLoop) -> None:
        """Replace the state of the checkpoint of step 0, if that is the best one and is kept for a roll-back, by the present one."""
        if self._may_roll_back and self._history.best_step == 0:
            self._session.save_best(
                loop.stage, 0, loop.model, loop.tokenizer, self._history.best, loop.trainer_state(0)
            )

    def after_step(self, loop: StageLoop, done: int, findings: list[HealthFinding]) -> None:
        """Report the findings of `look`, save the checkpoint if it is the best, and do what the gravest finding asks for.

        Raises Paused, Unhealthy, RolledBackError, or Stopped if asked to stop during a roll-back. Everything is saved then.
        """
        for finding in findings:
            self._report(finding)
        if self._is_best and self._keep_best:
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

        Those of value pretraining come before these iterations. Raises `error` itself if the rule ends the run. Nothing is saved then, because a resume needs whole iterations.
        """
        step += self._history.value_pretraining.done
        self._history.skipped += 1
        self._skipped_at = step
        if self._history.monitor.tolerates(self._history.skipped):
            return
        iteration = step - self._history.value_pretraining.done
        for finding in self._history.monitor.look(step, self.metrics(), iteration):
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
                title=rule_title(finding.rule),
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
        source = self._source(loop)
        if source is None:
            self._stop(loop, done, f"No good checkpoint is left to roll back to. {reason}")
        path, to_step = source
        self._history.roll_backs += 1
        self._history.rate_factor *= _RATE_CUT
        self._history.monitor.rearm()
        numbers = in_present_format(load_numbers(path), path)
        numbers |= {"step": done, "seconds": loop.seconds, "history": self._history.to_json()}
        numbers |= loop.knobs.to_json(done)
        self._session.restore(loop.stage, path, done, numbers)
        factor = self._history.rate_factor
        self._session.emit(RolledBack(stage=loop.stage, step=done, to_step=to_step, learning_rate_factor=factor))
        self._session.stop_if_asked()
        raise RolledBackError

    def _source(self, loop: StageLoop) -> tuple[Path, int] | None:
        """The best checkpoint if this run saved it, else the newest good one. Both are older than the current step."""
        self._session.checkpoints.verify_again()
        best = self._session.checkpoints.best(loop.stage)
        if best is not None and best[1] == self._history.best_step and (best[0] / "trainer_state").exists():
            return best
        return self._session.checkpoints.newest(loop.stage)


def _may_roll_back(spec: HealthSpec) -> bool:
    rules = [getattr(spec, name) for name in HealthSpec.model_fields]
    return spec.enabled and any(isinstance(rule, HealthRule) and rule.action == "roll_back" for rule in rules)


def _explained(finding: HealthFinding | None) -> str:
    assert finding is not None
    return f"{finding.cause} {finding.suggestion}"
