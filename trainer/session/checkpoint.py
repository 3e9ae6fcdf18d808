"""Checkpoints: model folders that transformers loads, plus what an exact resume needs. Safetensors and JSON, no pickle.

    checkpoints/ppo-000020/          intermediate: policy and tokenizer, as transformers saves them
    checkpoints/ppo-000020/trainer_state/   optimizer moments, critic, step
    checkpoints/ppo-best/            the one with the best evaluation, with best.json (step, metrics)
    checkpoints/ppo/                 the stage's result, with stage.json (steps, seconds, summary)
    checkpoints/damaged-…/           a folder whose files are not those that were saved; it is never read again

Each folder has a manifest.json with the size and SHA-256 of its files, which are verified before the folder is used.

With sharded models (`runtime.sharding`) each process writes some whole tensors into its own file
(…-00001-of-00002.safetensors). transformers loads such a folder too, on any number of processes.

With adapters (`model.lora`) an intermediate checkpoint holds only the adapters, in peft's format. A result also holds the
merged weights, unless the backbone is quantized. A folder is written under a temporary name, flushed to disk and renamed, so
a folder with its final name is complete.
"""

import json
import os
import re
import shutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from safetensors.torch import load_file
from torch import Tensor

from trainer.distributed import SINGLE, World
from trainer.distributed.saving import save_tensors, save_weights, save_whole
from trainer.events import Event
from trainer.models import Model
from trainer.session import manifest
from trainer.session.damaged import Damage, Inspector
from trainer.session.manifest import STATE
from trainer.spec import StageName
from trainer.text.codec import Tokenizer

_NUMBERS = "state.json"
_BEST = "best.json"
_INTERMEDIATE = re.compile(r"(?P<stage>[a-z_]+)-(?P<step>\d{6,})")


@dataclass(frozen=True)
class StageResult:
    """The content of a finished stage's `stage.json`."""

    steps: int
    seconds: float
    summary: dict[str, float]


class Checkpoints:
    """The checkpoints of one run folder."""

    def __init__(
        self, folder: Path, keep_last: int, world: World = SINGLE, emit: Callable[[Event], None] = lambda _: None
    ) -> None:
        """With several processes, only the main one reads and writes the folder. `emit` receives an event of each damaged one."""
        self.folder = folder
        self.keep_last = keep_last
        self.world = world
        self._inspector = Inspector(emit)
        world.from_main(self._sweep)

    def _sweep(self) -> None:
        self.folder.mkdir(parents=True, exist_ok=True)
        for leftover in self.folder.glob(".tmp-*"):
            shutil.rmtree(leftover)

    def final(self, stage: StageName) -> Path:
        """The folder of the stage's result, which may not exist yet."""
        return self.folder / stage

    def result(self, stage: StageName) -> StageResult | None:
        """The result of a finished stage; None before that, and where its files are damaged. Raises StorageError."""
        return self.world.from_main(lambda: self._result(stage))

    def _result(self, stage: StageName) -> StageResult | None:
        path = self.final(stage)
        if not path.exists():
            return None
        if damage := self._inspector.damage(path):
            remedy = f"The stage {stage} continues from its newest good checkpoint, or from its beginning."
            self._inspector.report(damage, stage, None, remedy, final=True, best=False)
            return None
        file = path / "stage.json"
        return StageResult(**json.loads(file.read_text())) if file.exists() else None

    def newest(self, stage: StageName) -> tuple[Path, int] | None:
        """The newest good intermediate checkpoint of a stage and its step. Raises StorageError for one that cannot be read."""
        return self.world.from_main(lambda: self._newest(stage))

    def _newest(self, stage: StageName) -> tuple[Path, int] | None:
        damaged: list[tuple[Damage, int]] = []
        chosen = None
        for path, step in sorted(self._intermediate(stage), key=lambda found: found[1], reverse=True):
            if (damage := self._inspector.damage(path)) is None:
                chosen = (path, step)
                break
            damaged.append((damage, step))
        remedy = f"The stage {stage} continues from step {chosen[1]}." if chosen else f"The stage {stage} begins anew."
        for damage, step in damaged:
            self._inspector.report(damage, stage, step, remedy, final=False, best=False)
        return chosen

    def verify_again(self) -> None:
        """Verify each checkpoint again when it is used next, because it was read or saved long ago."""
        self._inspector.forget()

    def save(self, stage: StageName, step: int, model: Model, tokenizer: Tokenizer, state: "TrainerState") -> Path:
        """Save an intermediate checkpoint, and delete the stage's oldest ones beyond `keep_last`."""
        path = self.folder / f"{stage}-{step:06d}"
        with _publishing(path, self.world) as folder:
            _save_model(folder, model, tokenizer, self.world)
            state.save(folder / STATE, self.world)
        self._prune(stage)
        return path

    def best(self, stage: StageName) -> tuple[Path, int] | None:
        """The checkpoint kept as the stage's best and its step; None where its files are damaged. Raises StorageError."""
        return self.world.from_main(lambda: self._found_best(stage))

    def _found_best(self, stage: StageName) -> tuple[Path, int] | None:
        path = self._best(stage)
        if not path.exists():
            return None
        if damage := self._inspector.damage(path):
            self._inspector.report(damage, stage, None, "The run goes on without it.", final=False, best=True)
            return None
        return (path, int(json.loads((path / _BEST).read_text())["step"])) if (path / _BEST).exists() else None

    def save_best(
        self,
        stage: StageName,
        step: int,
        model: Model,
        tokenizer: Tokenizer,
        metrics: Mapping[str, float],
        state: "TrainerState | None",
    ) -> Path:
        """Replace the stage's best checkpoint. With `state`, a run can roll back to it."""
        path = self._best(stage)
        with _publishing(path, self.world) as folder:
            _save_result(folder, model, tokenizer, self.world)
            if self.world.is_main:
                (folder / _BEST).write_text(json.dumps({"step": step, "metrics": dict(metrics)}, indent=2))
            if state is not None:
                state.save(folder / STATE, self.world)
        return path

    def restore(self, stage: StageName, source: Path, step: int, numbers: Mapping[str, Any]) -> Path:
        """Make an earlier checkpoint the newest one, at `step`, with some of its `numbers` replaced."""
        path = self.folder / f"{stage}-{step:06d}"
        with _publishing(path, self.world) as folder:
            if self.world.is_main:
                changed = load_numbers(source) | dict(numbers)
                shutil.copytree(source, folder, copy_function=_linked, dirs_exist_ok=True)
                (folder / _BEST).unlink(missing_ok=True)
                (folder / STATE / _NUMBERS).unlink()  # the original's own, as a link
                (folder / STATE / _NUMBERS).write_text(json.dumps(changed))
        self._prune(stage)
        return path

    def save_final(
        self,
        stage: StageName,
        model: Model | None,
        tokenizer: Tokenizer,
        result: StageResult,
        files: Mapping[str, str] | None = None,
        models: Mapping[str, Model] | None = None,
    ) -> Path:
        """Save a stage's result, and further texts and models by name."""
        path = self.final(stage)
        with _publishing(path, self.world) as folder:
            if model is not None:
                _save_result(folder, model, tokenizer, self.world)
            for name, further in (models or {}).items():
                _save_result(folder / name, further, tokenizer, self.world)
            if self.world.is_main:
                for name, text in (files or {}).items():
                    (folder / name).write_text(text, encoding="utf-8")
                (folder / "stage.json").write_text(json.dumps(vars(result), indent=2))
        if self.world.is_main:
            self._inspector.trust(path)  # later stages ask for the result again and again
        return path

    def _best(self, stage: StageName) -> Path:
        return self.folder / f"{stage}-best"

    def _prune(self, stage: StageName) -> None:
        if not self.world.is_main:
            return
        for old, _ in sorted(self._intermediate(stage), key=lambda found: found[1])[: -self.keep_last]:
            _delete(old)

    def _intermediate(self, stage: StageName) -> list[tuple[Path, int]]:
        matches = [(path, _INTERMEDIATE.fullmatch(path.name)) for path in self.folder.iterdir()]
        return [(path, int(m["step"])) for path, m in matches if m and m["stage"] == stage]


@dataclass
class TrainerState:
    """Optimizer moments by name, further models by name, and small numbers."""

    optimizers: dict[str, dict[str, Tensor]]
    models: dict[str, Model]
    numbers: dict[str, Any]

    def save(self, folder: Path, world: World = SINGLE) -> None:
        if world.is_main:
            folder.mkdir()
        world.barrier()
        for name, tensors in self.optimizers.items():
            save_tensors(folder, name, tensors, world)
        for name, model in self.models.items():
            save_weights(folder / name, model, world)
        if world.is_main:
            (folder / _NUMBERS).write_text(json.dumps(self.numbers))


def load_optimizer(checkpoint: Path, name: str) -> dict[str, Tensor]:
    """Load the tensors that `TrainerState` saved under that name, from any number of processes."""
    folder = checkpoint / STATE
    files = [folder / f"{name}.safetensors", *sorted(folder.glob(f"{name}-*-of-*.safetensors"))]
    return {key: value for file in files if file.exists() for key, value in load_file(file).items()}


def load_numbers(checkpoint: Path) -> dict[str, Any]:
    numbers: dict[str, Any] = json.loads((checkpoint / STATE / _NUMBERS).read_text())
    return numbers


def copied(source: Path, target: Path) -> Path:
    """Copy a checkpoint folder to `target`, by hard links if the file system has them. `target` appears complete or not at all.

    The caller has verified the source.
    """
    with _publishing(target) as folder:
        shutil.copytree(source, folder, copy_function=_linked, dirs_exist_ok=True)
    return target


def _linked(source: str, target: str) -> None:
    try:
        os.link(source, target)
    except OSError:  # another file system, or one without links
        shutil.copyfile(source, target)


def _save_model(folder: Path, model: Model, tokenizer: Tokenizer, world: World) -> None:
    save_weights(folder, model, world)
    if world.is_main:
        tokenizer.save_pretrained(folder)


def _save_result(folder: Path, model: Model, tokenizer: Tokenizer, world: World) -> None:
    save_whole(folder, model, world)
    if world.is_main:
        tokenizer.save_pretrained(folder)


class _publishing:
    """Write into a temporary folder, which gets its final name once all processes have written and the files are on disk."""

    def __init__(self, path: Path, world: World = SINGLE) -> None:
        self.path = path
        self.temporary = path.with_name(f".tmp-{path.name}")
        self.world = world

    def __enter__(self) -> Path:
        if self.world.is_main:
            shutil.rmtree(self.temporary, ignore_errors=True)
            self.temporary.mkdir(parents=True)
        self.world.barrier()
        return self.temporary

    def __exit__(self, kind: object, error: object, trace: object) -> None:
        if kind is not None:  # the other processes end by themselves
            shutil.rmtree(self.temporary, ignore_errors=True)
            return
        self.world.barrier()
        if self.world.is_main:
            self._publish()
        self.world.barrier()

    def _publish(self) -> None:
        manifest.write(self.temporary)
        for file in self.temporary.rglob("*"):
            _flush(file)
        if self.path.exists():
            _delete(self.path)
        self.temporary.rename(self.path)
        _flush(self.path.parent)


def _delete(path: Path) -> None:
    """Delete a folder. A kill during it leaves a temporary folder for the next start to delete, never half a checkpoint."""
    temporary = path.with_name(f".tmp-old-{path.name}")
    path.rename(temporary)
    shutil.rmtree(temporary)


def _flush(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
