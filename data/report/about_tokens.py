"""Findings of what the job's tokenizer, template and lengths make of the rows."""

from collections.abc import Callable, Iterator, Sequence

import numpy as np

from data.report.about_rows import marked
from data.report.columns import Columns, Rows
from data.report.findings import Found
from data.report.fitting import Fitting, Flags, left
from data.report.reading import Texts
from data.report.scanned import Sample
from data.report.settings import ReportSettings
from data.report.tokenizer import TokenizerFacts


def found(
    columns: Columns, facts: TokenizerFacts, settings: ReportSettings, fits: Fitting, kept: Flags | None, texts: Texts
) -> Iterator[Found]:
    """`kept`: rows that are held out; none where nothing can be."""
    if not facts.has_eos:
        detail = "Without one no response could ever end. Set `eos_token` in its tokenizer_config.json."
        yield Found("no_eos_token", detail)
        return
    yield from _lengths(columns, fits, settings, texts)
    yield from _template(columns, facts)
    if "same_after_truncation" in columns.marks:
        detail = (
            f"With {settings.max_completion_tokens} tokens (`data.max_completion_tokens`) for an answer and its EOS, nothing "
            "tells them apart: the loss is ln 2 and the gradient zero, whatever the label says."
        )
        yield marked(columns, "same_after_truncation", detail)
    if kept is not None:
        yield from _nothing_left(left(columns, fits, settings), kept, settings)


def _nothing_left(usable: Flags, kept: Flags, settings: ReportSettings) -> Iterator[Found]:
    raise_ = "Raise `data.max_prompt_tokens`."
    if settings.kind != "prompts":
        raise_ = "Raise `data.max_prompt_tokens` and `data.max_completion_tokens`."
    if not usable[~kept].any():
        yield Found("nothing_left", f"Of the rows that would be trained on none is left. {raise_}")
    elif settings.kind == "prompts" and kept.any() and not usable[kept].any():
        yield Found("nothing_left", f"Of the prompts that would be held out none is left. {raise_}")


def _lengths(columns: Columns, fits: Fitting, settings: ReportSettings, texts: Texts) -> Iterator[Found]:
    rows = np.flatnonzero(fits.long_prompt)
    detail = f"They have more than `data.max_prompt_tokens` = {settings.max_prompt_tokens} tokens, and are left out."
    yield Found("prompt_too_long", detail, rows, _samples(rows, texts, texts.prompt))
    cut = (
        "left out of the reward model's and DPO's data, and cut in SFT, where they teach no EOS"
        if settings.kind == "preferences"
        else "cut, and teach no EOS"
    )
    limit = f"`data.max_completion_tokens` = {settings.max_completion_tokens}"
    rows = np.flatnonzero(fits.long_answer)
    if settings.kind != "pretraining":
        detail = f"They have more tokens than {limit}: {cut}."
        yield Found("completion_too_long", detail, rows, _samples(rows, texts, texts.answers), _longest(columns, rows))
        rows = np.flatnonzero(fits.eos_alone_missing)
        detail = f"They have just as many tokens as {limit}, and none is left for the EOS: {cut}."
        yield Found("no_eos_room", detail, rows, _samples(rows, texts, texts.answers), _longest(columns, rows))


def _longest(columns: Columns, rows: Rows) -> Rows:
    """Which answer of each row has the most tokens."""
    tokens, starts = columns.arrays["answer_tokens"], columns.starts
    return np.array([tokens[starts[row] : starts[row + 1]].argmax() for row in rows.tolist()], np.int64)


def _template(columns: Columns, facts: TokenizerFacts) -> Iterator[Found]:
    for code, detail in (
        ("template_refuses", "Each is shown with what the template says. Its roles or their order do not suit it."),
        (
            "template_rewrites",
            "Of the rows looked at. The trainer keeps to what the prompt alone becomes, which is what the policy sees when it "
            "answers; who trains on whole rendered conversations would train on another text.",
        ),
    ):
        if code in columns.marks:
            yield marked(columns, code, detail)
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


def _samples(rows: Rows, texts: Texts, text: Callable[[int], str]) -> Sequence[Sample]:
    return [(row, text(row)) for row in texts.lines.apart(rows)]
