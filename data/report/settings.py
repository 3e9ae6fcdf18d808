"""What a report is asked for."""

from pathlib import Path
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, PositiveInt

Kind = Literal["preferences", "thumbs", "sft", "prompts", "pretraining"]


class ReportSettings(BaseModel):
    """The file that `--settings` names. Lengths and split are the job's `data`: the same fields, the same defaults."""

    model_config = ConfigDict(extra="forbid", frozen=True, use_attribute_docstrings=True)

    kind: Kind
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
