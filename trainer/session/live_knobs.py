"""Live knobs of the stage that runs: commands are read, recorded and carried out between two steps.

The main process decides the step of a command and records it on disk before anything changes. All processes then carry it
out at the same step. A killed run therefore neither loses a command nor carries it out twice, and a run that is resumed from
an earlier checkpoint repeats each recorded change at its step.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from trainer.events import CommandDone, CommandRefused, KnobChanged
from trainer.events.commands import Command, CommandReader, CommandRecord, append_records, read_records
from trainer.session.session import Session
from trainer.spec import OptimizerSpec, StageName
from trainer.spec.knobs import Action, Knob, KnobSetting, changed, is_over, value_of, why_not

Retune = Callable[[Knob, Any], float]
"""Called with a knob and the stage's section with its new value. Returns the value before."""


class CommandQueue:
    """The commands of a run folder, as the main process sees them."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._reader = CommandReader(session.run_dir)
        self._records = read_records(session.run_dir)
        self._known = {record.command.id for record in self._records}
        self._waiting: list[Command] = []

    def due(self, stage: StageName, step: int, refusal: Callable[[Command], str | None]) -> list[CommandRecord]:
        """The commands to carry out or refuse after `step` steps: those recorded at this step, then new ones, now recorded.

        A recorded refusal is repeated, too: the process may have been killed before it reported it.

        New commands wait until the recorded ones of the stage were repeated. A newer change therefore stays the newer one.
        """
        self._read()
        mine = [record for record in self._records if record.stage == stage]
        found = [record for record in mine if record.step == step]
        if any(record.step > step and record.refused is None for record in mine):
            return found
        later = [command for command in self._waiting if command.stage and is_over(stage, command.stage)]
        new = [
            CommandRecord(command=command, stage=stage, step=step, refused=refusal(command))
            for command in self._waiting
            if command not in later
        ]
        append_records(self._session.run_dir, new)
        self._records += new
        self._waiting = later
        return found + new

    def _read(self) -> None:
        for command in self._reader.new():
            if isinstance(command, str):
                self._session.log(command, warning=True)
            elif command.id not in self._known:
                self._known.add(command.id)
                self._waiting.append(command)


class LiveKnobs:
    """The commands of one stage. `section` is the stage's section of the spec with the present values."""

    def __init__(
        self,
        session: Session,
        stage: StageName,
        section: OptimizerSpec,
        settings: Mapping[Knob, KnobSetting],
        carried_out: Sequence[str],
        retune: Retune,
        held_out: bool,
    ) -> None:
        """`settings` and `carried_out` are those of the checkpoint that the stage resumes from; `section` has the settings.

        `carried_out`: ids of the commands of the checkpoint's own step that it already holds.
        """
        self._session, self._stage, self._retune, self._held_out = session, stage, retune, held_out
        self.section = section
        self.settings = dict(settings)
        self._boundary: tuple[int | None, list[str]] = None, []
        """The newest step after which commands were carried out, and their ids."""
        self._held = frozenset(carried_out)
        self.evaluation_asked = False
        """Whether an evaluation after the next step was requested."""
        self._queue = CommandQueue(session) if session.world.is_main else None

    def at_boundary(self, step: int, save: Callable[[], None]) -> None:
        """Carry out the commands that are due after `step` steps. `save` saves a checkpoint unless that step has one."""
        self.evaluation_asked = False
        self._boundary = step, []
        for record in self._due(step, self._refusal):
            command = record.command
            self._boundary[1].append(command.id)
            if record.refused is not None:
                self._refuse(record)
            elif command.change is not None:
                if command.id not in self._held:
                    self._change(*command.change, command.id, step)
            else:
                self._done(command, step)
                if command.name == "checkpoint":
                    save()
                self.evaluation_asked |= command.name == "evaluate"

    def finish(self, steps: int) -> None:
        """Refuse the commands that came during the last step."""
        reason = f"The stage {self._stage} has taken its last step."
        for record in self._due(steps, lambda command: reason):
            self._refuse(record)

    def to_json(self, step: int) -> dict[str, Any]:
        """The settings and the commands carried out after `step` steps, for a checkpoint of that step."""
        at, commands = self._boundary
        settings = {knob: setting.model_dump() for knob, setting in self.settings.items()}
        return {"knobs": settings, "commands": list(commands) if at == step else []}

    def _due(self, step: int, refusal: Callable[[Command], str | None]) -> list[CommandRecord]:
        def read() -> list[CommandRecord]:
            assert self._queue is not None  # only the main process reads
            return self._queue.due(self._stage, step, refusal)

        return self._session.world.from_main(read)

    def _refusal(self, command: Command) -> str | None:
        if command.stage is not None and command.stage != self._stage:
            return f"The stage {command.stage} is over."
        if reason := why_not(self._stage, self.section, command.name):
            return reason
        if command.change is None:
            idle = command.name == "evaluate" and not self._held_out
            return f"The stage {self._stage} has no held-out rows to evaluate on." if idle else None
        try:
            changed(self.section, *command.change)
        except ValueError as error:
            return str(error)
        return None

    def _change(self, knob: Knob, value: float, command: str, step: int) -> None:
        replaced = self.settings[knob].replaced if knob in self.settings else value_of(self.section, knob)
        self.section = changed(self.section, knob, value)
        self.settings[knob] = KnobSetting(value=value, replaced=replaced, step=step)
        before = self._retune(knob, self.section)
        self._session.emit(
            KnobChanged(stage=self._stage, step=step, name=knob, from_=before, to=value, command=command)
        )

    def _done(self, command: Command, step: int) -> None:
        name: Action = "checkpoint" if command.name == "checkpoint" else "evaluate"
        self._session.emit(CommandDone(stage=self._stage, step=step, name=name, command=command.id))

    def _refuse(self, record: CommandRecord) -> None:
        command, reason = record.command, record.refused or ""
        self._session.emit(
            CommandRefused(stage=self._stage, step=record.step, name=command.name, command=command.id, reason=reason)
        )
