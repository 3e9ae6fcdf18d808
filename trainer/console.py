"""A run for somebody who sits before a terminal: a line per stage, and what it learnt."""

import os
import sys

from trainer.events import Event, Message, RunFinished, RunStarted, StageFinished, StageStarted


def show(event: Event) -> None:
    """Print the event's line, if it has one. A reader who has gone away does not end the run."""
    if text := line(event):
        try:
            print(text, flush=True)  # noqa: T201 for whoever watches the command
        except BrokenPipeError:
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def line(event: Event) -> str | None:
    """What to print for an event; None for those that only programs care about."""
    match event:
        case RunStarted():
            plan = ", ".join(f"{stage.stage} ({stage.total_steps})" for stage in event.stages)
            return f"{plan}; on {event.device}, {event.threads} threads"
        case StageStarted():
            return f"{event.stage}: step {event.start_step} of {event.total_steps}"
        case StageFinished():
            return f"{event.stage}: done in {event.seconds:.1f} s  {_figures(event.summary)}".rstrip()
        case Message():
            return f"{event.level}: {event.text}"
        case RunFinished():
            return f"finished in {event.seconds:.1f} s"
    return None


def _figures(summary: dict[str, float]) -> str:
    return "  ".join(f"{name} {value:.3g}" for name, value in summary.items())
