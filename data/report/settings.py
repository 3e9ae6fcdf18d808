"""What a report is asked for."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal, Protocol

from pydantic import BaseModel, ConfigDict, Field, PositiveInt

from data.rows import Prompt

RowKind = Literal["preferences", "thumbs", "sft", "prompts", "pretraining"]


class ReportSettings(BaseModel):
    """The file that `--settings` names. Lengths and split are the job's `data`: the same fields, the same defaults."""

    model_config = ConfigDict(extra="forbid", frozen=True, use_attribute_docstrings=True)

    kind: RowKind
    """What the rows are."""
    model: str | None = None
    """A model whose tokenizer the job would use: a folder, or a hub id. None: lengths are in characters and words."""
    chat_template: Literal["auto", "none"] = "auto"
    """As the job's `data.chat_template`."""
    max_prompt_tokens: PositiveInt = 512
    """As the job's."""
    max_completion_tokens: PositiveInt = 512
    """As the job's."""
    eval_fraction: Annotated[float, Field(gt=0, lt=1)] = 0.1
    """As the job's."""
    lines: Path | None = None
    """Little-endian uint64 line numbers, one for each row, of the file that the rows were made from. None: a row's number is its line."""
    answer_lines: Path | None = None
    """The same of each answer, row after row, where answers were records of their own. None: they lie in their row's line."""

    labelled: bool = False
    """Whether every row has two sides that stand as they were judged, and a label of its own. False: A may be the chosen one by
    definition, where it always wins."""


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
"""Loads the tokenizer in each process of a report, so it must be picklable. None where it has no EOS. Raises
TokenizerFailed."""
