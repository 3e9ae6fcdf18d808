"""What a report is asked for."""

from pathlib import Path
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, PositiveInt

from trainer.spec import DataSpec

Kind = Literal["preferences", "thumbs", "sft", "prompts", "pretraining"]
_DEFAULTS = DataSpec()


class ReportSettings(BaseModel):
    """The file that `--settings` names. Lengths and split are the job's `data`: the same fields, the same defaults."""

    model_config = ConfigDict(extra="forbid", frozen=True, use_attribute_docstrings=True)

    kind: Kind
    """What the rows are."""
    model: str | None = None
    """A model whose tokenizer the job would use: a folder, or a hub id. None: lengths are in characters and words."""
    chat_template: Literal["auto", "none"] = _DEFAULTS.chat_template
    """As the job's `data.chat_template`."""
    max_prompt_tokens: PositiveInt = _DEFAULTS.max_prompt_tokens
    """As the job's."""
    max_completion_tokens: PositiveInt = _DEFAULTS.max_completion_tokens
    """As the job's."""
    eval_fraction: Annotated[float, Field(gt=0, lt=1)] = _DEFAULTS.eval_fraction
    """As the job's."""
    lines: Path | None = None
    """Little-endian uint64 line numbers, one for each row, of the file that the rows were made from. None: a row's number is its line."""
    answer_lines: Path | None = None
    """The same of each answer, row after row, where answers were records of their own. None: they lie in their row's line."""

    labelled: bool = False
    """Whether every row has two sides that stand as they were judged, and a label of its own. False: A may be the chosen one by
    definition, where it always wins."""

    @property
    def data(self) -> DataSpec:
        """As the job would have it."""
        return DataSpec(
            eval_fraction=self.eval_fraction,
            max_prompt_tokens=self.max_prompt_tokens,
            max_completion_tokens=self.max_completion_tokens,
            chat_template=self.chat_template,
        )
