"""What the two commands are told, as JSON files. Torch-free, so that whoever writes them uses the same description."""

import json
from pathlib import Path
from typing import Annotated, Literal, Self

from pydantic import Field, ValidationError

from trainer.errors import SpecError
from trainer.spec import Section
from trainer.spec.problems import explain

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
    """`auto` takes a GPU where there is one."""


class Policy(ModelSettings):
    """One that is asked."""

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
    policies: Annotated[tuple[Policy, ...], Field(min_length=1)]
    """Each with its own settings."""
    completions: PositiveInt = 1
    """Answers of each policy to each prompt."""
    max_new_tokens: PositiveInt
    """Longest answer."""
    temperature: Annotated[float, Field(gt=0)] = 1.0
    """Of sampling."""
    seed: Annotated[int, Field(ge=0)] = 0
    """With the policy's place, the prompt's line and the answer's number it decides what is drawn."""


class JudgeRequest(_Request, ModelSettings):
    """Score completions with a reward model."""

    rows: str
    """JSON Lines with `prompt`, `completions` and, where some of these were cut off, `finished`; relative to this file."""
    model: str
    """A reward model's folder (relative to this file) or hub id."""
    max_completion_tokens: PositiveInt = 512
    """Longer completions get no score."""
