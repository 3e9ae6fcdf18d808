"""What can be found, each with its code, and what a finding says: docs/reference/data-report.md explains them."""

from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Literal

import numpy as np

from data.report.columns import Rows
from data.report.lines import Lines
from data.report.scanned import SHOWN, Sample

Severity = Literal["blocking", "warning", "info"]
LISTED = 20
"""Lines that a finding lists; all are in its file."""
_SAMPLE_CHARACTERS = 300


@dataclass(frozen=True)
class Kind:
    """A finding that there can be. `fix`: what `core/datasets/fixes.py` does with its rows, and what the button says."""

    severity: Severity
    title: str
    fix: tuple[Literal["drop", "strip"], str] | None = None


_DROP: tuple[Literal["drop"], str] = ("drop", "Drop these rows")
KINDS: dict[str, Kind] = {
    "no_eos_token": Kind("blocking", "The tokenizer has no EOS token"),
    "nothing_left": Kind("blocking", "No row is left after tokenising"),
    "only_ties": Kind("blocking", "Nothing is preferred to anything"),
    "same_after_trim": Kind("blocking", "Answers that differ in white space alone", _DROP),
    "same_after_truncation": Kind("blocking", "Answers that are the same tokens once they are cut", _DROP),
    "template_refuses": Kind("blocking", "Prompts that the chat template refuses", _DROP),
    "empty_answer": Kind("blocking", "Answers with nothing to be seen", _DROP),
    "prompt_too_long": Kind("warning", "Prompts that are too long", _DROP),
    "completion_too_long": Kind("warning", "Answers that are cut", _DROP),
    "no_eos_room": Kind("warning", "Answers without room for their EOS", _DROP),
    "contradictions": Kind("warning", "Preferences that contradict each other", ("drop", "Drop both sides of them")),
    "cycles": Kind("warning", "Preferences that run in circles", ("drop", "Drop what makes the circles")),
    "annotators_disagree": Kind("warning", "Verdicts against the majority", ("drop", "Keep what the majority says")),
    "outlier_annotator": Kind("warning", "Annotators who mostly disagree", ("drop", "Drop their rows")),
    "low_agreement": Kind("warning", "Annotators agree little"),
    "duplicate_rows": Kind("warning", "Rows that are there twice", ("drop", "Drop the later ones")),
    "normalised_duplicates": Kind(
        "warning", "Rows that differ in case or white space", ("drop", "Drop the later ones")
    ),
    "near_duplicates": Kind("warning", "Rows that are nearly the same", ("drop", "Drop the later ones")),
    "leaking_prompts": Kind("warning", "Held-out prompts nearly trained on", ("drop", "Drop the held-out ones")),
    "one_prompt": Kind("warning", "One prompt for all rows"),
    "length_bias": Kind("warning", "The length tells who wins"),
    "position_bias": Kind("warning", "The side tells who wins"),
    "special_tokens": Kind("warning", "Special tokens spelt out in texts", ("strip", "Take them out of the texts")),
    "prompt_in_answer": Kind("warning", "Answers that begin with their prompt", ("strip", "Take the prompt away")),
    "role_in_answer": Kind("warning", "Answers that hold further turns", _DROP),
    "turns_do_not_alternate": Kind("warning", "Conversations whose turns do not alternate", _DROP),
    "template_ends_otherwise": Kind("warning", "The chat template ends turns with another token"),
    "no_chat_template": Kind("warning", "Conversations without a chat template"),
    "many_ties": Kind("info", "Most pairs are ties"),
    "one_annotator": Kind("info", "One annotator alone"),
    "trailing_whitespace": Kind("info", "Answers that end with white space", ("strip", "Strip it")),
    "leading_whitespace": Kind("info", "Answers that begin with white space", ("strip", "Strip it")),
    "prompt_whitespace": Kind("info", "White space around messages", ("strip", "Strip it")),
    "wordless_answer": Kind("info", "Answers without a letter or digit", _DROP),
    "shared_beginning": Kind("info", "Answers that begin with the same long text"),
    "template_rewrites": Kind("info", "The chat template rewrites prompts once they are answered"),
    "language_mix": Kind("info", "Several languages"),
    "language_differs": Kind("info", "Answers in another language than their prompt"),
    "pii_email": Kind("info", "What looks like e-mail addresses", _DROP),
    "pii_phone": Kind("info", "What looks like phone numbers", _DROP),
    "pii_card": Kind("info", "What looks like credit card numbers", _DROP),
    "pii_iban": Kind("info", "What looks like bank accounts (IBAN)", _DROP),
    "pii_ip": Kind("info", "What looks like public IP addresses", _DROP),
}
"""By code, in the order in which they are told."""


@dataclass
class Found:
    """Rows (from 0) that a finding names; none for one that is about the dataset as a whole."""

    code: str
    detail: str
    rows: Rows | None = None
    samples: Sequence[Sample] = ()
    answers: Rows | None = None
    """Of each row, which of its answers is meant (from 0), or NO_ANSWER. None: the rows as a whole."""


@dataclass
class Finding:
    """As it is written, stored and shown."""

    code: str
    severity: Severity
    title: str
    detail: str
    count: int
    """Rows; 0 where it is about the dataset as a whole."""
    share: float | None
    """Of all rows; null where it is about the dataset as a whole."""
    lines: list[int] = field(default_factory=list)
    """Of the first rows, in the file that they came from; each once, though its record may have become several rows."""
    samples: list[dict[str, Any]] = field(default_factory=list)
    fix: dict[str, str] | None = None


class Writer:
    """Turns what was found into findings, and writes the numbers of their rows into files."""

    def __init__(self, folder: Path, total: int, lines: Lines) -> None:
        self._folder, self._total, self._lines = folder, total, lines

    def write(self, found: Iterable[Found]) -> list[dict[str, Any]]:
        """In the order of KINDS; what names no row, where rows are wanted, is nothing."""
        order = list(KINDS)
        kept = [one for one in found if one.rows is None or len(one.rows)]
        return [asdict(self._finding(one)) for one in sorted(kept, key=lambda one: order.index(one.code))]

    def _finding(self, found: Found) -> Finding:
        kind = KINDS[found.code]
        if found.rows is None:
            return Finding(found.code, kind.severity, kind.title, found.detail, 0, None)
        (found.rows + 1).astype("<u8").tofile(self._folder / f"{found.code}.u64")
        finding = Finding(
            found.code, kind.severity, kind.title, found.detail, len(found.rows), len(found.rows) / self._total
        )
        lines = self._lines.of(found.rows, found.answers)
        finding.lines = lines[np.sort(np.unique(lines, return_index=True)[1])[:LISTED]].tolist()
        places = np.searchsorted(found.rows, [row for row, _ in found.samples[:SHOWN]])
        finding.samples = [
            {"line": int(lines[place]), "row": row + 1, "text": text[:_SAMPLE_CHARACTERS]}
            for place, (row, text) in zip(places, found.samples, strict=False)
        ]
        finding.fix = None if kind.fix is None else dict(zip(("id", "label"), kind.fix, strict=True))
        return finding
