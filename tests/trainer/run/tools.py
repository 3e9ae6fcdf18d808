"""Runs of any stages, in this process, on the demo's smallest data."""

import hashlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.trainer.running import events_of, tiny_spec
from trainer.events import Event, EventLog, Metrics, RunStarted, StageFinished
from trainer.models import load_tokenizer
from trainer.run.process import run_in_process
from trainer.session.session import Session
from trainer.spec import JobSpec
from trainer.stages.model_factory import ModelFactory
from trainer.text.codec import Codec

SFT = {"epochs": 1, "batch_size": 16, "learning_rate": 1e-2, "save_every": 3}
REWARD_MODEL = {"epochs": 1, "batch_size": 16, "learning_rate": 3e-3, "save_every": 3}
DPO = {"batch_size": 16, "learning_rate": 1e-3, "save_every": 3}
PPO = {
    "steps": 4, "batch_size": 8, "epochs": 1, "minibatches": 2, "learning_rate": 1e-3, "max_new_tokens": 6,
    "save_every": 2, "eval_every": 2, "log_samples": 0,
}  # fmt: skip
LENGTH = {"type": "length", "target": 3}
LORA = {"rank": 2, "alpha": 4}


def spec_of(stages: list[str], **changes: Any) -> JobSpec:
    """The tiny run with these stages; `changes` are merged into its sections, `model` is replaced."""
    spec: dict[str, Any] = tiny_spec() | {"stages": stages, "sft": SFT, "reward_model": REWARD_MODEL, "dpo": DPO}
    spec |= {"ppo": PPO, "evaluation": {"prompts": 8}}
    for section, values in changes.items():
        merged = isinstance(values, dict) and section != "model" and section in spec
        spec[section] = spec[section] | values if merged else values
    return JobSpec.model_validate(spec)


def run(folder: Path, stages: list[str], **changes: Any) -> dict[str, float]:
    return run_in_process(spec_of(stages, **changes), folder)


def plan_of(folder: Path) -> list[str]:
    """The stages as announced by the run's last start."""
    return [[plan.stage for plan in e.stages] for e in events_of(folder) if isinstance(e, RunStarted)][-1]


def finished(folder: Path) -> list[str]:
    return [event.stage for event in events_of(folder) if isinstance(event, StageFinished)]


@contextmanager
def model_factory(folder: Path, stages: list[str], **changes: Any) -> Iterator[ModelFactory]:
    folder.mkdir(exist_ok=True)
    spec, log = spec_of(stages, **changes), EventLog(folder / "events.jsonl")
    tokenizer = load_tokenizer(spec.model.path or folder / "checkpoints" / "sft")
    try:
        yield ModelFactory(Session(spec, folder, log), Codec.for_tokenizer(tokenizer, spec.data))
    finally:
        log.close()


class Crash(BaseException):
    """Ends the process like a kill: no handler of the trainer catches it."""


@contextmanager
def crashing(monkeypatch: pytest.MonkeyPatch, stage: str, step: int) -> Iterator[None]:
    """While inside, the process ends as soon as that step is reported, whatever is saved by then."""

    def look(event: Event) -> None:
        if isinstance(event, Metrics) and (event.stage, event.step) == (stage, step):
            raise Crash

    with monkeypatch.context() as patch, pytest.raises(Crash):
        patch.setattr("trainer.events.console.show", look)
        yield


def contents(folder: Path) -> dict[str, str]:
    """A hash of every weight file of the stages' results, by path."""
    results = [path for path in (folder / "checkpoints").iterdir() if "-" not in path.name]
    files = [file for result in results for file in result.rglob("*.safetensors")]
    return {str(file.relative_to(folder)): hashlib.sha256(file.read_bytes()).hexdigest() for file in files}
