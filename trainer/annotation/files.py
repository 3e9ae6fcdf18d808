"""The files that the commands read and write: JSON Lines, one line for each prompt."""

import json
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

from data.errors import RowError
from data.reading import read_row
from data.rows import Prompt, Row, prompt_of
from trainer.errors import DataError, data_errors

T = TypeVar("T")


class Completion(NamedTuple):
    """An answer, and whether it ended by itself."""

    text: str
    finished: bool


def prompts(path: Path) -> list[Prompt]:
    """Raises DataError, naming file and line."""
    return list(_read(path, prompt_of))


def answered(path: Path) -> list[tuple[Prompt, list[Completion]]]:
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
        with data_errors(), path.open(encoding="utf-8") as file:
            for number, line in enumerate(file, start=1):
                yield read_row(str(path), number, line, lambda row, _: parse(row))
    except OSError as error:
        raise DataError(f"{path}: {error.strerror}.") from error


def _answered(row: Row) -> tuple[Prompt, list[Completion]]:
    texts, finished = row.get("completions"), row.get("finished")
    if not isinstance(texts, list) or not all(isinstance(text, str) for text in texts):
        raise RowError("`completions` must be a list of texts")
    if finished is None:
        finished = [True] * len(texts)
    if not isinstance(finished, list) or len(finished) != len(texts) or not all(type(one) is bool for one in finished):
        raise RowError("`finished` must be a list with true or false for each completion")
    return prompt_of(row), [Completion(*one) for one in zip(texts, finished, strict=True)]
