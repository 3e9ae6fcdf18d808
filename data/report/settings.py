"""Settings of a report, and the interface of the job's tokenizer. The trainer implements it."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal, Protocol

from pydantic import BaseModel, ConfigDict, Field, PositiveInt

from data.rows import Prompt
from data.schema import DatasetKind


class ReportSettings(BaseModel):
    """The file that `--settings` names. Lengths and split have the names and defaults of the job's `data`."""

    model_config = ConfigDict(extra="forbid", frozen=True, use_attribute_docstrings=True)

    kind: DatasetKind
    """The kind of the rows."""
    model: str | None = None
    """A model whose tokenizer the job would use: a folder, or a hub id. None: lengths are in characters and words."""
    chat_template: Literal["auto", "none"] = "auto"
    """The job's `data.chat_template`."""
    max_prompt_tokens: PositiveInt = 512
    """The job's `data.max_prompt_tokens`."""
    max_completion_tokens: PositiveInt = 512
    """The job's `data.max_completion_tokens`."""
    eval_fraction: Annotated[float, Field(gt=0, lt=1)] = 0.1
    """The job's `data.eval_fraction`."""
    lines: Path | None = None
    """A file of line numbers (little-endian uint64), one for each row, in the file that the rows were made from. None: a row's number is its line."""
    answer_lines: Path | None = None
    """The same for each answer, row after row, where each answer was a record. None: answers have their row's line."""

    labelled: bool = False
    """Whether the sides of each row are in the order in which they were judged, with a label.

    False: in a file where A always wins, A may be the chosen answer by definition.
    """


@dataclass(frozen=True)
class TokenizerFacts:
    """Properties of a job's tokenizer that findings depend on."""

    special_tokens: frozenset[str] = frozenset()
    has_eos: bool = True
    eos: str = ""
    closing: str | None = None
    """The special token with which the chat template ends an assistant's turn; None without a template."""
    templated: bool = False
    """Whether a chat template is applied."""


class RowTokenizer(Protocol):
    """Renders and tokenizes rows exactly as the job does."""

    def rendered(self, prompt: Prompt) -> str:
        """The text that a prompt's tokens are made of. Raises RowError where the chat template refuses it."""

    def conversation(self, prompt: Prompt, answer: str) -> str | None:
        """Prompt and answer in the chat template; None without a template, or where it refuses them."""

    def prompt_ids(self, rendered: Sequence[str]) -> list[list[int]]:
        """Token ids of each rendered prompt, not cut."""

    def completion_ids(self, texts: Sequence[str]) -> list[list[int]]:
        """Token ids of each answer, not cut, without EOS."""

    def closed(self, ids: list[int]) -> tuple[list[int], bool]:
        """An answer's ids with EOS and True or, where that does not fit, cut and False."""


LoadTokenizer = Callable[[], tuple[RowTokenizer | None, TokenizerFacts]]
"""Loads the tokenizer. Each process of a report calls it, so it must be picklable. Its first value is None if the
tokenizer has no EOS. Raises TokenizerFailed."""
