"""Models for looking only: on the device, with all that their architecture needs."""

import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TypeVar

import torch

from trainer.annotation.requests import ModelSettings
from trainer.distributed import cpu_threads
from trainer.models import Model, ModelBuilder, builder_for
from trainer.spec import ModelSpec

T = TypeVar("T")
Result = TypeVar("Result")


class AsManyAsFit:
    """Work on rows, so many at a time; on half as many from the moment that the device has no memory for them."""

    def __init__(self, most: int) -> None:
        self._size = most

    def map(self, work: Callable[[Sequence[T]], Sequence[Result]], rows: Sequence[T]) -> Iterator[Result]:
        """The result of `work` for each row. Raises OutOfMemoryError where one alone is too much."""
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


def maker(settings: ModelSettings, path: str) -> ModelBuilder:
    """For a frozen model."""
    wanted = settings.device != "cpu" and torch.cuda.is_available()
    device = torch.device("cuda" if wanted else "cpu")
    return builder_for(ModelSpec(path=path, dtype=settings.dtype), device, lambda part: 0)


def place_of(base: Path, value: str) -> str:
    """A folder beside the request, or else what it is: a path of its own, or a hub id."""
    return str(base / value) if (base / value).is_dir() else value


def context_of(model: Model) -> int:
    """How many tokens it can read."""
    return getattr(model.config.get_text_config(), "max_position_embeddings", None) or sys.maxsize


def spare_threads(model: Model) -> None:
    """For a small model a second thread only costs."""
    torch.set_num_threads(cpu_threads.threads_for(model.num_parameters()))
