"""Console output of a run: a line per stage, its problems and its results."""

import os
import sys

from trainer.events import (
    CheckpointDamaged,
    CheckpointSaved,
    CommandDone,
    CommandRefused,
    Curve,
    Event,
    Health,
    KnobChanged,
    Message,
    ReportCard,
    RewardMissing,
    RolledBack,
    RunFinished,
    RunStarted,
    SeedFinished,
    StageFinished,
    StageStarted,
)
from trainer.spec.health_titles import rule_title


def show(event: Event) -> None:
    """Print the event's line, if it has one. The run goes on if standard output was closed."""
    if text := line(event):
        try:
            print(text, flush=True)  # noqa: T201 for the person who watches the command
        except BrokenPipeError:
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def line(event: Event) -> str | None:
    """The line to print for an event, after its seed in a job of several; None for events that only programs read."""
    text = _line(event)
    if text is None or event.seed is None or isinstance(event, SeedFinished):
        return text
    return f"[seed {event.seed}] {text}"


def _line(event: Event) -> str | None:
    match event:
        case RunStarted():
            plan = ", ".join(
                f"{stage.stage} ({'at most ' if stage.at_most else ''}{stage.total_steps})" for stage in event.stages
            )
            return f"{plan}; on {event.device}, {event.threads} threads"
        case StageStarted():
            return f"{event.stage}: step {event.start_step} of {event.total_steps}"
        case StageFinished():
            return f"{event.stage}: done in {event.seconds:.1f} s  {_figures(event.summary)}".rstrip()
        case Message():
            return f"{event.level}: {event.text}"
        case RewardMissing():
            causes = ", ".join(f"{count} {cause}" for cause, count in event.missing.items())
            where = f"{event.stage}, step {event.step}"
            return f"warning: {where}: {event.reward} has no value for {causes} of {event.asked}: {event.reason}"
        case CheckpointDamaged():
            return f"warning: the checkpoint {event.path} is damaged: {event.reason}. {event.remedy}"
        case RunFinished():
            return f"finished in {event.seconds:.1f} s"
        case _:
            return _progress_line(event)


def _progress_line(event: Event) -> str | None:
    """The line for an event about the progress of a stage."""
    match event:
        case Health():
            title = event.title or rule_title(event.rule)
            what = f"{title}: {event.cause} {event.suggestion} ({event.rule}: {event.action})"
            return f"health: {event.stage}, step {event.step}: {what}"
        case RolledBack():
            factor = event.learning_rate_factor
            return f"{event.stage}: back from step {event.step} to the weights of step {event.to_step}, learning rates × {factor:g}"
        case KnobChanged():
            return f"{event.stage}: after step {event.step}, {event.name} {event.from_:g} → {event.to:g}"
        case CommandDone():
            return f"{event.stage}: after step {event.step}, {event.name} as requested"
        case CommandRefused():
            return f"{event.stage}: after step {event.step}, {event.name} refused: {event.reason}"
        case CheckpointSaved(best=True):
            return f"{event.stage}: best so far at step {event.step}  {_figures(event.metrics)}".rstrip()
        case Curve():
            return "\n".join([f"{event.stage}: score and judge or win rate, by distance", *map(_point, event.points)])
        case SeedFinished():
            outcome = f"collapsed: {event.why}" if event.collapsed else "did not collapse"
            return f"seed {event.seed} ({event.number} of {event.of}): {outcome}  {_figures(event.summary)}".rstrip()
        case ReportCard():
            overall = event.card.overall
            return f"{event.stage}: accuracy {overall.accuracy:.3g} ({overall.low:.3g} to {overall.high:.3g}) on {overall.pairs} held-out {_UNITS[event.card.loss]}"
    return None


_UNITS = {"pairwise": "pairs", "pointwise": "thumbs", "stepwise": "steps"}


def _point(point: object) -> str:
    return "  " + _figures({name: value for name, value in vars(point).items() if value is not None})


def _figures(summary: dict[str, float]) -> str:
    return "  ".join(f"{name} {value:.3g}" for name, value in summary.items())
