"""Findings of a data report: their codes, titles and fixes, and the files with their rows.

docs/reference/data-report.md explains each.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import numpy as np

from data.findings import LISTED, SAMPLE_CHARACTERS, Finding, FindingFix, FindingSample, Severity
from data.report.columns import SHOWN, Columns, RowExcerpt, Rows
from data.report.languages import UNKNOWN
from data.report.rows_file import LineNumbers


@dataclass(frozen=True)
class FindingKind:
    """The severity and title of a finding's code. `fix` is the action of `core/datasets/fixes.py` on its rows, and the label of the button."""

    severity: Severity
    title: str
    fix: tuple[Literal["drop", "strip"], str] | None = None


_DROP: tuple[Literal["drop"], str] = ("drop", "Drop these rows")
KINDS: dict[str, FindingKind] = {
    "no_eos_token": FindingKind("blocking", "The tokenizer has no EOS token"),
    "nothing_left": FindingKind("blocking", "No row is left after tokenising"),
    "only_ties": FindingKind("blocking", "No answer is preferred"),
    "same_after_trim": FindingKind("blocking", "Answers that differ in white space alone", _DROP),
    "same_after_truncation": FindingKind("blocking", "Answers that are the same tokens once they are cut", _DROP),
    "template_refuses": FindingKind("blocking", "Prompts that the chat template refuses", _DROP),
    "empty_answer": FindingKind("blocking", "Answers without visible text", _DROP),
    "prompt_too_long": FindingKind("warning", "Prompts that are too long", _DROP),
    "completion_too_long": FindingKind("warning", "Answers that are cut", _DROP),
    "no_eos_room": FindingKind("warning", "Answers without room for their EOS", _DROP),
    "contradictions": FindingKind("warning", "Preferences that contradict each other", ("drop", "Drop all of them")),
    "cycles": FindingKind("warning", "Preferences that form cycles", ("drop", "Drop the rows of the cycles")),
    "annotators_disagree": FindingKind(
        "warning", "Verdicts against the majority", ("drop", "Keep the majority's verdict")
    ),
    "outlier_annotator": FindingKind("warning", "Annotators who mostly disagree", ("drop", "Drop their rows")),
    "low_agreement": FindingKind("warning", "Low agreement between annotators"),
    "duplicate_rows": FindingKind("warning", "Duplicate rows", ("drop", "Drop the later ones")),
    "normalised_duplicates": FindingKind(
        "warning", "Rows that differ in case or white space", ("drop", "Drop the later ones")
    ),
    "near_duplicates": FindingKind("warning", "Rows that are nearly the same", ("drop", "Drop the later ones")),
    "leaking_prompts": FindingKind("warning", "Held-out prompts nearly trained on", ("drop", "Drop the held-out ones")),
    "one_prompt": FindingKind("warning", "One prompt for all rows"),
    "length_bias": FindingKind("warning", "Length predicts the preference"),
    "position_bias": FindingKind("warning", "Position predicts the preference"),
    "special_tokens": FindingKind(
        "warning", "Special tokens spelt out in texts", ("strip", "Remove them from the texts")
    ),
    "prompt_in_answer": FindingKind("warning", "Answers that begin with their prompt", ("strip", "Remove the prompt")),
    "role_in_answer": FindingKind("warning", "Answers that hold further turns", _DROP),
    "turns_do_not_alternate": FindingKind("warning", "Conversations whose turns do not alternate", _DROP),
    "template_ends_otherwise": FindingKind("warning", "The chat template ends turns with another token"),
    "no_chat_template": FindingKind("warning", "Conversations without a chat template"),
    "many_ties": FindingKind("info", "Most pairs are ties"),
    "one_annotator": FindingKind("info", "Only one annotator"),
    "trailing_whitespace": FindingKind("info", "Answers that end with white space", ("strip", "Strip it")),
    "leading_whitespace": FindingKind("info", "Answers that begin with white space", ("strip", "Strip it")),
    "prompt_whitespace": FindingKind("info", "White space around messages", ("strip", "Strip it")),
    "wordless_answer": FindingKind("info", "Answers without a letter or digit", _DROP),
    "shared_beginning": FindingKind("info", "Answers that begin with the same long text"),
    "template_rewrites": FindingKind("info", "The chat template rewrites prompts once they are answered"),
    "language_mix": FindingKind("info", "Several languages"),
    "language_differs": FindingKind("info", "Answers in another language than their prompt"),
    "pii_email": FindingKind("info", "Possible e-mail addresses", _DROP),
    "pii_phone": FindingKind("info", "Possible phone numbers", _DROP),
    "pii_card": FindingKind("info", "Possible credit card numbers", _DROP),
    "pii_iban": FindingKind("info", "Possible bank accounts (IBAN)", _DROP),
    "pii_ip": FindingKind("info", "Possible public IP addresses", _DROP),
}
"""Kinds by code, in the order of a report."""


@dataclass
class FindingRows:
    """The rows (from 0) of one finding; None for a finding about the whole dataset."""

    code: str
    detail: str
    rows: Rows | None = None
    samples: Sequence[RowExcerpt] = ()
    answers: Rows | None = None
    """The answer (from 0) that each row concerns, or NO_ANSWER. None: the rows as a whole."""


class Writer:
    """Builds the findings, and writes the numbers of their rows into files."""

    def __init__(self, folder: Path, total: int, lines: LineNumbers) -> None:
        self._folder, self._total, self._lines = folder, total, lines

    def write(self, found: Iterable[FindingRows]) -> list[Finding]:
        """Findings in the order of KINDS. A finding with an empty list of rows is left out."""
        order = list(KINDS)
        kept = [one for one in found if one.rows is None or len(one.rows)]
        return [self._finding(one) for one in sorted(kept, key=lambda one: order.index(one.code))]

    def _finding(self, found: FindingRows) -> Finding:
        kind, rows = KINDS[found.code], found.rows
        finding = Finding(
            code=found.code,
            severity=kind.severity,
            title=kind.title,
            detail=found.detail,
            count=0 if rows is None else len(rows),
            share=None if rows is None else len(rows) / self._total,
            lines=[],
            samples=[],
            fix=None,
        )
        if rows is None:
            return finding
        (rows + 1).astype("<u8").tofile(self._folder / f"{found.code}.u64")
        lines = self._lines.numbers(rows, found.answers)
        finding.lines = lines[np.sort(np.unique(lines, return_index=True)[1])[:LISTED]].tolist()
        places = np.searchsorted(rows, [row for row, _ in found.samples[:SHOWN]])
        finding.samples = [
            FindingSample(line=int(lines[place]), row=row + 1, text=text[:SAMPLE_CHARACTERS])
            for place, (row, text) in zip(places, found.samples, strict=False)
        ]
        finding.fix = None if kind.fix is None else FindingFix(id=kind.fix[0], label=kind.fix[1])
        return finding


_OTHER_LANGUAGES = 0.05
"""Least share of other languages than the main one for a finding."""
_DETAILS = {
    "same_after_trim": "Two of the row's answers differ only in the white space around them, so neither can be preferred.",
    "empty_answer": "The answer has only white space, zero-width and control characters.",
    "role_in_answer": "A line of the answer begins with “Human:”, “Assistant:” or similar. It is a further turn, from "
    "the splitting of a file or made up by a model. A policy trained on it writes the turns of both sides.",
    "turns_do_not_alternate": "The assistant begins, or two consecutive turns have one role. Some chat templates refuse that. Others "
    "join the two turns, which no conversation with the policy will have. The samples show the first turn that is out of order.",
    "prompt_in_answer": "Every answer of the row begins with the text of its prompt, so the policy would learn to repeat it.",
    "shared_beginning": "The answers begin with the same text, for half of the shorter one or more. If it belongs to the "
    "prompt, move it there. Training has no effect on a text that both sides share.",
    "trailing_whitespace": "It becomes tokens before the EOS, which the policy learns to generate.",
    "leading_whitespace": "The prompt is a conversation, so nothing has to be joined. The space becomes a token of its own.",
    "prompt_whitespace": "A message of the conversation begins or ends with white space; chat templates differ in whether "
    "they strip it.",
    "wordless_answer": "Punctuation, signs or emoji alone. A few such answers are normal. Many of them indicate a broken "
    "export.",
    "pii_email": "Check them before training, because the model may memorise them.",
    "pii_phone": "International, North American or national numbers of 9 to 15 digits. Many may be made up.",
    "pii_card": "13 to 19 digits with a valid checksum (Luhn).",
    "pii_iban": "The checksum is valid.",
    "pii_ip": "Addresses of the public internet; a version number may look like one.",
}


def mark_findings(columns: Columns) -> Iterator[FindingRows]:
    for code, detail in _DETAILS.items():
        if code in columns.marks:
            yield mark_finding(columns, code, detail)
    if "special_tokens" in columns.marks:
        yield _special_tokens(columns)
    yield from _languages(columns)


def mark_finding(columns: Columns, code: str, detail: str) -> FindingRows:
    """A finding of the rows that the scan marked with `code`."""
    return FindingRows(code, detail, columns.marks[code], columns.samples[code], columns.answers[code])


def _special_tokens(columns: Columns) -> FindingRows:
    named = ", ".join(sorted(columns.tokens)[:10])
    detail = (
        f"{named}. In an answer they are plain text, and the model learns to spell them. In a prompt with a chat "
        "template they become the real tokens, which end or forge a turn. Some, such as <s>, are also HTML."
    )
    return mark_finding(columns, "special_tokens", detail)


def _languages(columns: Columns) -> Iterator[FindingRows]:
    known = [(row, language) for row, language in columns.languages if language != UNKNOWN]
    if not known:
        return
    counts = Counter(language for _, language in known)
    (main, _), *others = counts.most_common()
    rows = np.array([row for row, language in known if language != main], np.int64)
    if len(rows) > _OTHER_LANGUAGES * len(known):
        shares = ", ".join(f"{language} {count / len(known):.1%}" for language, count in others[:5])
        detail = (
            f"{len(columns.languages)} rows were examined; the language of {len(known)} was detected. Most are "
            f"{main}, others {shares}. Only rows of the sample are listed."
        )
        shown = [(row, language) for row, language in known if language != main][:SHOWN]
        yield FindingRows("language_mix", detail, rows, shown)
    if "language_differs" in columns.marks:
        detail = f"{len(columns.languages)} rows were examined. Correct for translations, and wrong elsewhere."
        yield mark_finding(columns, "language_differs", detail)
