"""Frozen models for annotation: their builder, context length, batches and threads."""

import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TypeVar

import torch

from trainer import allowed_paths
from trainer.annotation.requests import ModelSettings
from trainer.distributed import cpu_threads
from trainer.models import Model, ModelBuilder, builder_for
from trainer.session.damaged import refuse_damaged_model
from trainer.spec import ModelSpec

T = TypeVar("T")
Result = TypeVar("Result")


class ShrinkingBatches:
    """Maps rows in batches. The batch size is halved each time that the device runs out of memory."""

    def __init__(self, most: int) -> None:
        self._size = most

    def map(self, work: Callable[[Sequence[T]], Sequence[Result]], rows: Sequence[T]) -> Iterator[Result]:
        """Yield the result of `work` for each row. Raises torch.OutOfMemoryError if a single row does not fit."""
        done = 0
        while done < len(rows):
            found = self._tried(work, rows[done : done + self._size])
            if found is not None:
                yield from found
                done += len(found)

    def _tried(self, work: Callable[[Sequence[T]], Sequence[Result]], rows: Sequence[T]) -> Sequence[Result] | None:
        try:
            return work(rows)
        except torch.OutOfMemoryError:
            if len(rows) == 1:
                raise
        self._size = len(rows) // 2
        torch.cuda.empty_cache()
        return None


def model_builder(settings: ModelSettings, path: str) -> ModelBuilder:
    """The builder of a frozen model on the device of the settings."""
    wanted = settings.device != "cpu" and torch.cuda.is_available()
    device = torch.device("cuda" if wanted else "cpu")
    return builder_for(ModelSpec(path=path, dtype=settings.dtype), device, lambda part: 0)


def resolve_path(base: Path, value: str) -> str:
    """A folder below `base` if it exists, else `value` itself: a path or a hub id. Raises ModelError for a damaged checkpoint."""
    path = str(base / value) if (base / value).is_dir() else value
    if Path(path).is_dir() and allowed_paths.permits(path):
        refuse_damaged_model(Path(path))
    return path


def context_length(model: Model) -> int:
    """The number of tokens that the model can read; sys.maxsize if its architecture has no limit."""
    return getattr(model.config.get_text_config(), "max_position_embeddings", None) or sys.maxsize


def limit_threads(model: Model) -> None:
    """Set the number of CPU threads by the model's size, because a second thread slows a small model down."""
    torch.set_num_threads(cpu_threads.threads_for(model.num_parameters()))
