"""Findings about the rows after tokenizing: the tokenizer, the chat template and the length limits."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np

from data.errors import RowError
from data.report.columns import NO_ANSWER, Columns, Flags, RowExcerpt, Rows
from data.report.findings import FindingRows, mark_finding
from data.report.items import Item
from data.report.rows_file import Texts
from data.report.settings import ReportSettings, RowTokenizer, TokenizerFacts
from data.rows import Prompt


@dataclass(frozen=True)
class Fitting:
    """Whether rows and answers fit into the limits. Arrays have one value for each row, except `whole`."""

    long_prompt: Flags
    usable_prompt: Flags
    """The prompt is not too long, and the chat template accepts it."""
    long_answer: Flags
    """An answer is cut, and so has no EOS."""
    eos_alone_missing: Flags
    """The longest answer is not cut, but has no room for its EOS."""
    whole: Flags
    """For each answer: it has room for its EOS."""
    pairs: Rows
    """Number of pairs of uncut answers with different tokens."""


def fit_rows(columns: Columns, settings: ReportSettings) -> Fitting:
    """Which rows fit. Without a model's tokens, everything fits."""
    none = np.zeros(columns.rows, bool)
    if not columns.has_tokens():
        counts = columns.arrays["answers"].astype(np.int64)
        everything = np.ones(counts.sum(), bool)
        return Fitting(none, ~none, none, none, everything, counts * (counts - 1) // 2)
    prompts, answers = columns.arrays["prompt_tokens"], columns.arrays["answer_tokens"].astype(np.int64)
    longest = np.zeros(columns.rows, np.int64)
    np.maximum.at(longest, columns.row_of, answers)
    whole = answers < settings.max_completion_tokens
    return Fitting(
        long_prompt=prompts > settings.max_prompt_tokens,
        usable_prompt=(prompts > 0) & (prompts <= settings.max_prompt_tokens),
        long_answer=longest > settings.max_completion_tokens,
        eos_alone_missing=longest == settings.max_completion_tokens,
        whole=whole,
        pairs=_pairs(columns, whole),
    )


def _pairs(columns: Columns, whole: Flags) -> Rows:
    """The number of pairs of uncut answers, without pairs of equal answers."""
    row_of = columns.row_of[whole]
    counts = np.bincount(row_of, minlength=columns.rows)
    alike, sizes = np.unique(row_of * 256 + columns.arrays["first_alike"][whole], return_counts=True)
    same = np.bincount(alike // 256, sizes * (sizes - 1) // 2, minlength=columns.rows)
    found: Rows = counts * (counts - 1) // 2 - same.astype(np.int64)
    return found


def left(columns: Columns, fits: Fitting, settings: ReportSettings) -> Flags:
    """Rows that a run can learn from. A run without any such row ends before training."""
    if settings.kind == "preferences":
        judged = columns.arrays["judged"]
        return (
            fits.usable_prompt & (fits.pairs > 0) & (judged | ~judged.any())
        )  # a file that waits to be judged is no trouble
    if settings.kind in ("sft", "thumbs", "steps"):
        return fits.usable_prompt & fits.whole  # one answer each: one without its EOS is refused, or left out
    return fits.usable_prompt


@dataclass
class EncodedRows:
    """Token counts of the rows as the job would tokenize them. Lengths are those before cutting, without EOS."""

    prompts: list[int] = field(default_factory=list)
    """Tokens of each row's prompt; 0 without a prompt, or where the chat template refuses it."""
    answers: list[int] = field(default_factory=list)
    """Tokens of each answer, row after row."""
    firsts: list[int] = field(default_factory=list)
    """For each answer, the position in its row of the first answer with the same tokens, after cutting and closing."""
    same: list[int] = field(default_factory=list)
    """For each row, the first answer whose tokens repeat an earlier answer's, or NO_ANSWER."""
    refused: dict[int, str] = field(default_factory=dict)
    """Rows whose prompt the chat template refuses, with the template's message."""


def encode_rows(items: Sequence[Item], tokenizer: RowTokenizer) -> EncodedRows:
    """Count the tokens of a chunk. Equal prompts are encoded once."""
    rows = EncodedRows()
    texts = _rendered(items, tokenizer, rows.refused)
    unique = list(dict.fromkeys(text for text in texts if text is not None))
    lengths = {text: len(ids) for text, ids in zip(unique, tokenizer.prompt_ids(unique), strict=True)}
    rows.prompts = [0 if text is None else lengths[text] for text in texts]
    answers = iter(tokenizer.completion_ids([text for item in items for text in item.answers]))
    for item in items:
        own = [next(answers) for _ in item.answers]
        rows.answers += map(len, own)
        firsts = _firsts([tuple(tokenizer.closed(ids)[0]) for ids in own])
        rows.firsts += firsts
        rows.same.append(next((index for index, first in enumerate(firsts) if first != index), NO_ANSWER))
    return rows


def _rendered(items: Sequence[Item], tokenizer: RowTokenizer, refused: dict[int, str]) -> list[str | None]:
    known: dict[str, str | None] = {}
    texts: list[str | None] = []
    for row, item in enumerate(items):
        if item.prompt is None or item.prompt_key is None:
            texts.append(None)
            continue
        try:
            if item.prompt_key not in known:
                known[item.prompt_key] = tokenizer.rendered(item.prompt)
        except RowError as error:
            refused[row] = str(error)
            texts.append(None)
            continue
        texts.append(known[item.prompt_key])
    return texts


def _firsts(answers: Sequence[tuple[int, ...]]) -> list[int]:
    known: dict[tuple[int, ...], int] = {}
    return [known.setdefault(answer, index) for index, answer in enumerate(answers)]


def rewrites(tokenizer: RowTokenizer, prompt: Prompt, answer: str) -> bool:
    """Whether the chat template renders the prompt of a whole conversation differently from the prompt alone.

    The trainer uses the rendering of the prompt alone, which is also what the policy sees when it generates.
    """
    whole = tokenizer.conversation(prompt, answer)
    try:
        return whole is not None and not whole.startswith(tokenizer.rendered(prompt))
    except RowError:
        return False  # reported as `template_refuses`


def token_findings(
    columns: Columns, facts: TokenizerFacts, settings: ReportSettings, fits: Fitting, kept: Flags | None, texts: Texts
) -> Iterator[FindingRows]:
    """Findings about the tokenizer, its chat template and the limits. `kept` marks the rows that are held out; None if no row can be."""
    if not facts.has_eos:
        detail = "Without an EOS token no response ends. Set `eos_token` in its tokenizer_config.json."
        yield FindingRows("no_eos_token", detail)
        return
    yield from _lengths(columns, fits, settings, texts)
    yield from _template(columns, facts)
    if "same_after_truncation" in columns.marks:
        detail = (
            f"With {settings.max_completion_tokens} tokens (`data.max_completion_tokens`) for an answer and its EOS, the "
            "answers are equal: the loss is ln 2 and the gradient zero, whatever the label is."
        )
        yield mark_finding(columns, "same_after_truncation", detail)
    if kept is not None:
        yield from _nothing_left(left(columns, fits, settings), kept, settings)


def _nothing_left(usable: Flags, kept: Flags, settings: ReportSettings) -> Iterator[FindingRows]:
    raise_ = "Raise `data.max_prompt_tokens`."
    if settings.kind != "prompts":
        raise_ = "Raise `data.max_prompt_tokens` and `data.max_completion_tokens`."
    if not usable[~kept].any():
        yield FindingRows("nothing_left", f"No row to train on is left. {raise_}")
    elif settings.kind == "prompts" and kept.any() and not usable[kept].any():
        yield FindingRows("nothing_left", f"No held-out prompt is left. {raise_}")


def _lengths(columns: Columns, fits: Fitting, settings: ReportSettings, texts: Texts) -> Iterator[FindingRows]:
    rows = np.flatnonzero(fits.long_prompt)
    detail = f"They have more than `data.max_prompt_tokens` = {settings.max_prompt_tokens} tokens, and are left out."
    yield FindingRows("prompt_too_long", detail, rows, _samples(rows, texts, texts.prompt))
    cut = (
        "left out of the reward model's and DPO's data, and cut in SFT, where they teach no EOS"
        if settings.kind == "preferences"
        else "cut, and teach no EOS"
    )
    limit = f"`data.max_completion_tokens` = {settings.max_completion_tokens}"
    rows = np.flatnonzero(fits.long_answer)
    if settings.kind != "pretraining":
        detail = f"They have more tokens than {limit}: {cut}."
        yield FindingRows(
            "completion_too_long", detail, rows, _samples(rows, texts, texts.answers), _longest(columns, rows)
        )
        rows = np.flatnonzero(fits.eos_alone_missing)
        detail = f"They have exactly as many tokens as {limit}, without room for the EOS: {cut}."
        yield FindingRows("no_eos_room", detail, rows, _samples(rows, texts, texts.answers), _longest(columns, rows))


def _longest(columns: Columns, rows: Rows) -> Rows:
    """The number of the longest answer of each row, in tokens."""
    tokens, starts = columns.arrays["answer_tokens"], columns.starts
    return np.array([tokens[starts[row] : starts[row + 1]].argmax() for row in rows.tolist()], np.int64)


def _template(columns: Columns, facts: TokenizerFacts) -> Iterator[FindingRows]:
    for code, detail in (
        (
            "template_refuses",
            "The template refuses their roles or the order of the roles. The samples show its message.",
        ),
        (
            "template_rewrites",
            "Only some rows were examined. The trainer uses the rendering of the prompt alone, which is also what the policy "
            "sees when it generates. Training on whole rendered conversations would use another text.",
        ),
    ):
        if code in columns.marks:
            yield mark_finding(columns, code, detail)
    if facts.closing not in (None, facts.eos):
        detail = (
            f"{facts.closing}, while the tokenizer's EOS is {facts.eos}, with which completions are trained to end."
        )
        yield FindingRows("template_ends_otherwise", detail)
    if not facts.templated and columns.conversations:
        detail = (
            f"{columns.conversations} prompts have several messages. Without a template they are joined by line breaks, and "
            "their roles are lost."
        )
        yield FindingRows("no_chat_template", detail)


def _samples(rows: Rows, texts: Texts, text: Callable[[int], str]) -> Sequence[RowExcerpt]:
    return [(row, text(row)) for row in texts.lines.apart(rows)]
