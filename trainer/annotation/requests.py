"""The request files of `complete` and `judge`, and the JSON Lines files that they read and write. Torch-free."""

import json
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple, Self, TypeVar

from pydantic import Field, ValidationError

from data.errors import RowError
from data.parse import read_row
from data.schema import Prompt, Row, prompt_of
from trainer.errors import DataError, SpecError, data_errors
from trainer.spec import Section
from trainer.spec.validation_errors import explain

PositiveInt = Annotated[int, Field(ge=1)]


class ModelSettings(Section):
    """How a model reads texts, and computes."""

    chat_template: Literal["auto", "none"] = "auto"
    """As `data.chat_template` of a job."""
    max_prompt_tokens: PositiveInt = 512
    """Longer prompts are left out."""
    dtype: Literal["auto", "float32", "bfloat16", "float16"] = "auto"
    """As `model.dtype` of a job."""
    device: Literal["auto", "cpu"] = "auto"
    """`auto` uses a GPU if there is one."""


class AnsweringPolicy(ModelSettings):
    """A policy that answers the prompts."""

    path: str
    """Its folder (relative to the request) or hub id."""


class _Request(Section):
    batch_size: PositiveInt = 64
    """Sequences per forward pass, and fewer where the device has no memory for them. Changes memory, not the result."""

    @classmethod
    def read(cls, path: Path) -> Self:
        """Raises SpecError, naming every field that is wrong."""
        try:
            return cls.model_validate(json.loads(path.read_text(encoding="utf-8")))
        except ValidationError as error:
            problems = "\n".join(f"  {problem}" for problem in explain(error, cls))
            raise SpecError(f"{path} is not a valid request:\n{problems}") from error
        except (OSError, ValueError) as error:
            raise SpecError(f"{path}: {error}") from error


class CompletionRequest(_Request):
    """Sample answers of policies."""

    prompts: str
    """JSON Lines with `prompt`, relative to this file."""
    policies: Annotated[tuple[AnsweringPolicy, ...], Field(min_length=1)]
    """Each with its own settings."""
    completions: PositiveInt = 1
    """Answers of each policy to each prompt."""
    max_new_tokens: PositiveInt
    """Longest answer."""
    temperature: Annotated[float, Field(gt=0)] = 1.0
    """Sampling temperature."""
    seed: Annotated[int, Field(ge=0)] = 0
    """The draws depend on it, the policy's position, the prompt's line and the answer's number."""


class JudgeRequest(_Request, ModelSettings):
    """Score completions with a reward model."""

    rows: str
    """JSON Lines with `prompt`, `completions` and, where some of these were cut off, `finished`; relative to this file."""
    model: str
    """A reward model's folder (relative to this file) or hub id."""
    max_completion_tokens: PositiveInt = 512
    """Longer completions get no score."""


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
