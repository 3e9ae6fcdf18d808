"""What a PPO run does about itself after each iteration: health, the best checkpoint, going back."""

from pathlib import Path
from typing import NoReturn

from trainer.errors import Diverged, Unhealthy
from trainer.events import Evidence, Health, RolledBack
from trainer.health import Finding, gravest
from trainer.ppo.state import RunHistory
from trainer.session.session import Session
from trainer.session.stage_loop import StageRun, save, state_after
from trainer.spec import HealthRule, HealthSpec

MOST_ROLL_BACKS = 3
_RATE_CUT = 0.5


class RolledBackError(Exception):
    """The newest checkpoint is now an earlier state of the run. Whoever built the actors builds them anew from it, and goes on."""


class Watch:
    """Looks at each iteration's metrics. A roll-back keeps the step's number: steps only ever count up."""

    def __init__(self, session: Session, course: RunHistory, keeps_best: bool) -> None:
        self._session = session
        self._course = course
        self._may_roll_back = _may_roll_back(session.spec.health)
        # what a rule may go back to is kept, wanted or not
        self._keeps_best = keeps_best or self._may_roll_back
        self._left_out_at: int | None = None

    def look(self, run: StageRun, done: int, values: dict[str, float], seconds: float) -> None:
        """Say what is wrong, keep what is best, and do what the gravest finding asks for.

        Raises Paused, Unhealthy or (asked to stop while going back) Stopped, everything saved, or RolledBackError.
        """
        findings = self._course.monitor.look(done, values)
        for finding in findings:
            self._say(finding)
        # a state from which the run goes back, or that a step left out has shaped, is none to go back to
        sound = done != self._left_out_at and all(finding.action != "roll_back" for finding in findings)
        if self._course.note(done, values, may_be_best=sound) and self._keeps_best:
            state = state_after(run, done, seconds) if self._may_roll_back else None
            self._session.save_best(run.stage, done, run.model, run.tokenizer, self._course.best, state)
        worst = gravest(findings)
        match worst and worst.action:
            case "pause":
                save(self._session, run, done, seconds)
                self._session.pause(_told(worst))
            case "stop":
                self._stop(run, done, seconds, _told(worst))
            case "roll_back":
                self._roll_back(run, done, seconds, _told(worst))

    def leave_out(self, step: int, trouble: Diverged) -> None:
        """A loss or gradient of iteration `step` (1-based) is not finite. Returns if its optimizer step is to be left out.

        Raises the trouble itself where the rule says that the run ends: in the midst of an iteration, of which nothing can
        be saved that a resume could go on from.
        """
        self._course.skipped += 1
        self._left_out_at = step
        if self._course.monitor.tolerates(self._course.skipped):
            return
        for finding in self._course.monitor.look(step, self.figures()):
            self._say(finding)
        raise trouble

    def figures(self) -> dict[str, float]:
        """How many optimizer steps were left out, once there are any."""
        return {"health/skipped_steps": float(self._course.skipped)} if self._course.skipped else {}

    def _say(self, finding: Finding) -> None:
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
            )
        )

    def _stop(self, run: StageRun, done: int, seconds: float, why: str) -> NoReturn:
        save(self._session, run, done, seconds)
        raise Unhealthy(f"Stopped by a health rule after step {done}; the run is saved. {why}")

    def _roll_back(self, run: StageRun, done: int, seconds: float, why: str) -> NoReturn:
        if self._course.roll_backs == MOST_ROLL_BACKS:
            self._stop(run, done, seconds, f"It has been rolled back {MOST_ROLL_BACKS} times already. {why}")
        source, to_step = self._source(run)
        self._course.roll_backs += 1
        self._course.rate_factor *= _RATE_CUT
        self._course.monitor.rearm()
        numbers = {"step": done, "seconds": seconds, "course": self._course.numbers()}
        self._session.put_back(run.stage, source, done, numbers)
        factor = self._course.rate_factor
        self._session.emit(RolledBack(stage=run.stage, step=done, to_step=to_step, learning_rate_factor=factor))
        self._session.stop_if_asked()
        raise RolledBackError

    def _source(self, run: StageRun) -> tuple[Path, int]:
        """The best checkpoint, if it is the one that this run saved; else the newest. Both are of a step before this one."""
        best = self._session.checkpoints.best(run.stage)
        if best is not None and best[1] == self._course.best_step and (best[0] / "trainer_state").exists():
            return best
        newest = self._session.checkpoints.newest(run.stage)
        assert newest is not None  # the first evaluation has left a best one; only a machine may have lost it
        return newest


def _may_roll_back(spec: HealthSpec) -> bool:
    rules = [getattr(spec, name) for name in HealthSpec.model_fields]
    return spec.enabled and any(isinstance(rule, HealthRule) and rule.action == "roll_back" for rule in rules)


def _told(finding: Finding | None) -> str:
    assert finding is not None
    return f"{finding.cause} {finding.suggestion}"
