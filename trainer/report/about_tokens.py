"""Findings of what the job's tokenizer, template and lengths make of the rows."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from trainer.report.columns import Columns, Rows, Sample
from trainer.report.findings import Found
from trainer.report.reading import Texts
from trainer.report.scanned import SHOWN, CodecFacts
from trainer.report.settings import ReportSettings

Flags = npt.NDArray[np.bool_]


@dataclass(frozen=True)
class Fitting:
    """Of each row, as the trainer decides it (trainer/encoded.py, `why_left_out`)."""

    long_prompt: Flags
    long_answer: Flags
    """An answer that is cut, and has no EOS then."""
    eos_alone_missing: Flags
    """The answer is whole, but there is no room for its EOS."""
    refused: Flags
    """By the chat template."""
    same: Flags
    """Two answers are the same tokens."""

    @property
    def usable_prompt(self) -> Flags:
        return ~(self.long_prompt | self.refused)

    @property
    def usable_pair(self) -> Flags:
        return self.usable_prompt & ~(self.long_answer | self.eos_alone_missing | self.same)


def fitting(columns: Columns, settings: ReportSettings) -> Fitting:
    """Of a report with a model's tokens; without one, everything fits."""
    none = np.zeros(columns.rows, bool)
    if not columns.has_tokens():
        return Fitting(none, none, none, none, none)
    longest = np.zeros(columns.rows, np.int64)
    row_of = np.repeat(np.arange(columns.rows), columns.arrays["answers"])
    np.maximum.at(longest, row_of, columns.arrays["answer_tokens"].astype(np.int64))
    return Fitting(
        long_prompt=columns.arrays["prompt_tokens"] > settings.max_prompt_tokens,
        long_answer=longest > settings.max_completion_tokens,
        eos_alone_missing=longest == settings.max_completion_tokens,
        refused=_flags(columns, "template_refuses"),
        same=_flags(columns, "same_after_truncation") | _flags(columns, "same_after_trim"),
    )


def _flags(columns: Columns, code: str) -> Flags:
    flags = np.zeros(columns.rows, bool)
    flags[columns.marks.get(code, np.empty(0, np.int64))] = True
    return flags


def found(columns: Columns, facts: CodecFacts, settings: ReportSettings, texts: Texts) -> Iterator[Found]:
    if not facts.has_eos:
        detail = "Without one no response could ever end. Set `eos_token` in its tokenizer_config.json."
        yield Found("no_eos_token", detail)
        return
    fits = fitting(columns, settings)
    yield from _lengths(columns, fits, settings, texts)
    yield from _template(columns, facts)
    if "same_after_truncation" in columns.marks:
        detail = (
            f"With {settings.max_completion_tokens} tokens (`data.max_completion_tokens`) for an answer and its EOS, nothing "
            "tells them apart: the loss is ln 2 and the gradient zero, whatever the label says."
        )
        code = "same_after_truncation"
        yield Found(code, detail, columns.marks[code], columns.samples[code])
    usable = fits.usable_pair if settings.kind == "preferences" else fits.usable_prompt
    if settings.kind != "pretraining" and not usable.any():
        yield Found("nothing_left", "Raise `data.max_prompt_tokens` and `data.max_completion_tokens`.")


def _lengths(columns: Columns, fits: Fitting, settings: ReportSettings, texts: Texts) -> Iterator[Found]:
    rows = np.flatnonzero(fits.long_prompt)
    detail = f"They have more than `data.max_prompt_tokens` = {settings.max_prompt_tokens} tokens, and are left out."
    yield Found("prompt_too_long", detail, rows, _samples(rows, texts.prompt))
    cut = (
        "left out of the reward model's and DPO's data, and cut in SFT, where they teach no EOS"
        if settings.kind == "preferences"
        else "cut, and teach no EOS"
    )
    limit = f"`data.max_completion_tokens` = {settings.max_completion_tokens}"
    rows = np.flatnonzero(fits.long_answer)
    if settings.kind != "pretraining":
        yield Found(
            "completion_too_long", f"They have more tokens than {limit}: {cut}.", rows, _samples(rows, texts.answers)
        )
        rows = np.flatnonzero(fits.eos_alone_missing)
        detail = f"They have just as many tokens as {limit}, and none is left for the EOS: {cut}."
        yield Found("no_eos_room", detail, rows, _samples(rows, texts.answers))


def _template(columns: Columns, facts: CodecFacts) -> Iterator[Found]:
    for code, detail in (
        ("template_refuses", "Each is shown with what the template says. Its roles or their order do not suit it."),
        (
            "template_rewrites",
            "Of the rows looked at. The trainer keeps to what the prompt alone becomes, which is what the policy sees when it "
            "answers; who trains on whole rendered conversations would train on another text.",
        ),
    ):
        if code in columns.marks:
            yield Found(code, detail, columns.marks[code], columns.samples[code])
    if facts.closing not in (None, facts.eos):
        detail = (
            f"{facts.closing}, while the tokenizer's EOS is {facts.eos}, with which completions are trained to end."
        )
        yield Found("template_ends_otherwise", detail)
    if not facts.templated and columns.conversations:
        detail = (
            f"{columns.conversations} prompts have several messages; without a template they are joined by line breaks, and "
            "who says them is lost."
        )
        yield Found("no_chat_template", detail)


def _samples(rows: Rows, text: Callable[[int], str]) -> Sequence[Sample]:
    return [(int(row), text(int(row))) for row in rows[:SHOWN]]
