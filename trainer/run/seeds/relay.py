"""What the events of a seed's run become in the log of the whole job."""

from trainer.events import (
    CheckpointSaved,
    Event,
    Health,
    Message,
    RolledBack,
    RunFailed,
    RunFinished,
    RunStarted,
    RunStopped,
    StageFinished,
    StageStarted,
)

_ENDINGS = (RunFinished, RunFailed, RunStopped)


class Relay:
    """The first seed is shown as if it were the whole job, but for its end; of the others, what is worth a line.

    Every seed's checkpoints are passed on, with their path in the job's folder: they are what another machine goes on from.
    """

    def __init__(self, seed: int, number: int, count: int, started: bool) -> None:
        self._seed = seed
        self._name = f"seed {seed} ({number} of {count})"
        self._first = number == 1
        self._started = started

    def pass_on(self, event: Event) -> Event | None:
        """What the job's log gets for an event of this seed; None for nothing."""
        if isinstance(event, CheckpointSaved):
            return event.model_copy(update={"path": f"seeds/{self._seed}/{event.path}", "seed": self._seed})
        if isinstance(event, RunStarted) and not self._started:
            return event
        if self._first:
            return None if isinstance(event, _ENDINGS) else event
        return self._line(event)

    def _line(self, event: Event) -> Message | None:
        match event:
            case StageStarted():
                return Message(text=f"{self._name}: {event.stage}, {event.total_steps} steps")
            case StageFinished():
                figures = ", ".join(f"{name} {value:.3g}" for name, value in event.summary.items())
                return Message(text=f"{self._name}: {event.stage} done in {event.seconds:.0f} s  {figures}".rstrip())
            case Health():
                return Message(text=f"{self._name}, step {event.step}: {event.cause}", level="warning")
            case RolledBack():
                text = f"{self._name}: rolled back from step {event.step} to step {event.to_step}"
                return Message(text=text, level="warning")
            case Message(level="warning" | "error"):
                return Message(text=f"{self._name}: {event.text}", level=event.level)
        return None
