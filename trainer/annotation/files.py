"""The files that the commands read and write: JSON Lines, one line for each prompt."""

import json
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any, TypeVar

from trainer.data import read_row
from trainer.errors import DataError
from trainer.rows import Prompt, Row, prompt_of

T = TypeVar("T")


def prompts(path: Path) -> list[Prompt]:
    """Raises DataError, naming file and line."""
    return list(_read(path, prompt_of))


def answered(path: Path) -> list[tuple[Prompt, list[str]]]:
    """Prompts with their completions. Raises DataError, naming file and line."""
    return list(_read(path, _answered))


def write(path: Path, rows: Iterable[Any]) -> None:
    """The file appears whole."""
    draft = path.with_name(f".{path.name}.new")
    with draft.open("w", encoding="utf-8") as file:
        for row in rows:
            file.write(json.dumps(row, ensure_ascii=True) + "\n")
    draft.replace(path)


def _read(path: Path, parse: Callable[[Row], T]) -> Iterator[T]:
    try:
        with path.open(encoding="utf-8") as file:
            for number, line in enumerate(file, start=1):
                yield read_row(str(path), number, line, lambda row, _: parse(row))
    except OSError as error:
        raise DataError(f"{path}: {error.strerror}.") from error


def _answered(row: Row) -> tuple[Prompt, list[str]]:
    completions = row.get("completions")
    if not isinstance(completions, list) or not all(isinstance(text, str) for text in completions):
        raise DataError("`completions` must be a list of texts")
    return prompt_of(row), completions
