"""A trainer that does not train: a real process with a real event log, and behaviours that the real one avoids.

The spec's `name` is the list of things to do, in order, separated by spaces.
"""

import argparse
import json
import os
import signal
import sys
import time
from pathlib import Path

from trainer.events import (
    CheckpointSaved,
    Event,
    EventLog,
    Health,
    KnobChanged,
    Message,
    Metrics,
    RunFailed,
    RunFinished,
    RunStarted,
    RunStopped,
    StagePlan,
    StageStarted,
)
from trainer.events.commands import Command, CommandReader, read_records
from trainer.session import manifest

STEPS = 5


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("run")
    parser.add_argument("spec", type=Path)
    parser.add_argument("--run-dir", type=Path)
    parser.add_argument("--lease", type=Path)
    parser.add_argument("--local-paths", type=Path)
    arguments = parser.parse_args()
    spec = json.loads(arguments.spec.read_text())
    fake = Fake(arguments.run_dir, arguments.lease, spec)
    for action in spec["name"].split():
        if (status := getattr(fake, action)()) is not None:
            return int(status)
    return 0


class Fake:
    def __init__(self, folder: Path, lease: Path, spec: dict[str, object]) -> None:
        self.folder, self.lease, self.spec = folder, lease, spec
        self.log = EventLog(folder / "events.jsonl")
        self.asked = False
        signal.signal(signal.SIGTERM, self._ask)

    def _ask(self, *_: object) -> None:
        self.asked = True

    def emit(self, event: Event) -> None:
        self.log.emit(event)

    def begin(self) -> None:
        step = self._resume_step()
        plan = [StagePlan(stage="ppo", total_steps=STEPS)]
        resumed = {"resumed_stage": "ppo", "resumed_step": step} if step else {}
        asked = self.spec["runtime"]["threads"]  # type: ignore[index]
        threads = asked if isinstance(asked, int) else 7
        named = self.spec["model"]["dtype"]  # type: ignore[index]
        dtype = "bfloat16" if named == "auto" else named  # as on a machine with a GPU
        self.emit(
            RunStarted(
                stages=plan, device="cpu", threads=threads, dtype=dtype, versions={"asked for": named}, **resumed
            )
        )
        self.emit(StageStarted(stage="ppo", total_steps=STEPS, start_step=step))

    def steps(self) -> int | None:
        """Run quick steps, with a checkpoint at each."""
        for step in range(self._resume_step() + 1, STEPS + 1):
            self.emit(Metrics(stage="ppo", step=step, total_steps=STEPS, values={"loss": 1.0 / step}))
            self._save(step)
        return None

    def slow_steps(self) -> None:
        for step in range(1, STEPS + 1):
            self.emit(Metrics(stage="ppo", step=step, total_steps=STEPS, values={"loss": 1.0}))
            time.sleep(0.5)

    def wait(self) -> int | None:
        """Check for a signal or the end of the lease, as the trainer does between two steps."""
        while not self.asked:
            if time.time() > float(self.lease.read_text()):
                self.emit(RunStopped(reason="lease_lost", stage="ppo", step=1))
                return 75
            time.sleep(0.02)
        self._save(2)
        self.emit(RunStopped(reason="signal", stage="ppo", step=2))
        return 75

    def wait_the_first_time(self) -> int | None:
        return None if self._resume_step() else self.wait()

    def wait_in_attempt_1(self) -> int | None:
        return self.wait() if self.folder.name == "attempt-1" else None

    def end_when_asked(self) -> None:
        """End as a run does whose last step was under way when the signal came."""
        while not self.asked:
            time.sleep(0.02)

    def die_when_asked(self) -> None:
        self.end_when_asked()
        self.die()

    def die_the_first_time(self) -> None:
        if not self._resume_step():
            self._save(1)
            self.die()

    def hang(self) -> int:
        """End as a trainer does that finds a hang, with `hang.action` = "restart"."""
        message = "Process 0 has been in the phase reward."
        self.emit(RunFailed(code="hang_restart", message=message, stage="ppo", step=1))
        return 16

    def hang_the_first_time(self) -> int | None:
        if self._resume_step():
            return None
        self._save(1)
        return self.hang()

    def obey(self) -> None:
        """Report the log at the start, and carry out one new command after step 3."""
        log = [(one.command.id, one.step) for one in read_records(self.folder)]
        self.emit(Message(text=json.dumps(log)))
        reader, known = CommandReader(self.folder), {id_ for id_, _ in log}
        while True:
            for command in reader.new():
                assert isinstance(command, Command) and command.value is not None
                if command.id not in known:
                    knob = {"name": command.name, "from": 0.05, "to": command.value, "command": command.id}
                    self.emit(KnobChanged.model_validate({"stage": "ppo", "step": 3} | knob))
                    return
            time.sleep(0.02)

    def finish(self) -> None:
        self.emit(RunFinished(seconds=1.0, summary={"win_rate": 0.9}))

    def not_yet_listening(self) -> None:
        """Leave SIGTERM without a handler, as while torch is being imported."""
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        self.emit(Message(text="importing"))
        time.sleep(60)

    def deaf(self) -> None:
        """Ignore SIGTERM."""
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        self.emit(Message(text="deaf"))
        time.sleep(60)

    def deaf_the_first_time(self) -> None:
        if self.folder.name == "attempt-1":
            self.deaf()

    def diverge(self) -> int:
        self.emit(RunFailed(code="diverged", message="The loss is not finite at step 3.", stage="ppo", step=3))
        return 5

    def diverge_the_first_time(self) -> int | None:
        return self.diverge() if self.folder.name == "attempt-1" else None

    def pause_in_attempt_1(self) -> int | None:
        """A pause at the end: the checkpoints of all steps are stored."""
        if self.folder.name != "attempt-1":
            return None
        self.emit(RunStopped(reason="health", stage="ppo", step=STEPS, message="Paused in stage ppo."))
        return 76

    def lose_the_others(self) -> int:
        """End as a process of several does when another one has ended."""
        while not self.asked:
            time.sleep(0.02)
        self.emit(RunFailed(code="process_lost", message="Another process has ended."))
        return 11

    def pause_for_health_once(self) -> int | None:
        return None if self._resume_step() else self.pause_for_health()

    def pause_for_health(self) -> int:
        self.emit(
            Health(
                stage="ppo",
                step=3,
                rule="kl_blow_up",
                action="pause",
                limit=50.0,
                cause="The KL is 60.",
                evidence=[],
                suggestion="Raise `ppo.kl.coef`.",
            )
        )
        self._save(3)
        message = "Paused in stage ppo after step 3: the KL is 60. Raise `ppo.kl.coef`."
        self.emit(RunStopped(reason="health", stage="ppo", step=3, message=message))
        sys.stderr.write(f"a warning\nerror: {message} Run the same command to go on from there.\n")
        return 76

    def improve(self) -> None:
        """Write two best checkpoints, the second one before the worker can upload the first."""
        for step in (1, 2):
            best = self.folder / "checkpoints" / "ppo-best"
            best.mkdir(parents=True, exist_ok=True)
            (best / "weights").write_text(f"weights of step {step}")
            (best / "best.json").write_text(json.dumps({"step": step}))
            manifest.write(best)
        for step in (1, 2):
            self.emit(CheckpointSaved(stage="ppo", step=step, path="checkpoints/ppo-best", final=False, best=True))

    def crash(self) -> None:
        raise RuntimeError("an unforeseen bug")

    def die(self) -> None:
        os.kill(os.getpid(), signal.SIGKILL)

    def segfault(self) -> None:
        os.kill(os.getpid(), signal.SIGSEGV)

    def half_a_line(self) -> None:
        with (self.folder / "events.jsonl").open("a") as file:
            file.write('{"type": "mess')

    def nonsense(self) -> None:
        with (self.folder / "events.jsonl").open("a") as file:
            file.write('{"type": "no such event"}\n')
        time.sleep(60)

    def chatter(self) -> None:
        """Write lines, a progress bar, escape codes, a byte that is no text, and a line without an end."""
        sys.stdout.buffer.write(b"hello\n\r 10%|#|\r100%|####|\n\x1b[31mred\x1b[0m\n\xff\nunfinished")
        sys.stdout.flush()

    def leak_secrets(self) -> None:
        hub = "hf_" + "aB3" * 11 + "x"
        sys.stderr.write(f"key is {os.environ['MY_API_KEY']}\n{dict(os.environ)}\ntoken {hub}\n")
        sys.stderr.write("Authorization: Bearer sekrit\nhttps://me:sekrit@host.example/x\n")
        self.emit(Message(text=f"cannot open https://me:sekrit@host.example/{hub}"))

    def show_environment(self) -> None:
        sys.stdout.write(f"{dict(os.environ)}\n")

    def show_preferences(self) -> None:
        path = self.spec["data"]["preferences"]  # type: ignore[index]
        self.emit(Message(text=(self.folder / path).read_text().splitlines()[0]))

    def show_models(self) -> None:
        """Report the files in the folders of the model and of the reference."""
        paths = [self.spec["model"]["path"], self.spec["ppo"]["reference"]["path"]]  # type: ignore[index]
        for path in paths:
            files = [file.relative_to(self.folder / path) for file in (self.folder / path).rglob("*") if file.is_file()]
            weights = (self.folder / path / "weights").read_text()
            self.emit(Message(text=f"{path}: {sorted(map(str, files))}, {weights}"))

    def bad_spec(self) -> int:
        sys.stderr.write("error: nothing is right\n")
        return 2

    def leave_a_child(self) -> None:
        child = os.fork()
        if child == 0:
            time.sleep(60)
        self.emit(Message(text=f"child {child}"))

    def _resume_step(self) -> int:
        found = sorted((self.folder / "checkpoints").glob("ppo-*"))
        return int(found[-1].name[4:]) if found else 0

    def _save(self, step: int) -> None:
        path = f"checkpoints/ppo-{step:06d}"
        (self.folder / path).mkdir(parents=True, exist_ok=True)
        (self.folder / path / "weights").write_text(f"weights of step {step}")
        (self.folder / path / "trainer_state").mkdir(exist_ok=True)
        (self.folder / path / "trainer_state" / "optimizer").write_text("moments")
        manifest.write(self.folder / path)
        self.emit(CheckpointSaved(stage="ppo", step=step, path=path, final=False))


if __name__ == "__main__":
    sys.exit(main())
