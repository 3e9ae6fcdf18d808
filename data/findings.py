"""Findings of an import: problems, with the lines that have them."""

from collections import Counter
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict

from data.errors import RowError, UnusableFile
from data.parse import storable

LISTED = 20
"""Most lines that a finding lists. Its count includes all lines."""
SAMPLES = 3
SAMPLE_CHARACTERS = 300
_LONGEST = 400
"""Most characters of a detail. Names of fields may be as long as a record."""
_WORDINGS = 5
"""Most different details of one code."""

Severity = Literal["blocking", "warning", "info"]
BLOCKING: Literal["blocking"] = "blocking"
WARNING: Literal["warning"] = "warning"
INFO: Literal["info"] = "info"
CODES: dict[str, tuple[Severity, str]] = {
    "not_json": (BLOCKING, "Lines that are not JSON"),
    "not_utf8": (BLOCKING, "Lines that are not UTF-8"),
    "not_an_object": (BLOCKING, "Records that are not objects"),
    "duplicate_key": (BLOCKING, "A key twice in one object"),
    "bad_number": (BLOCKING, "Numbers that JSON does not allow"),
    "bad_characters": (BLOCKING, "NUL characters or halves of surrogate pairs"),
    "line_too_long": (BLOCKING, "Records that are too long"),
    "too_deep": (BLOCKING, "Records that are nested too deeply"),
    "too_many_fields": (BLOCKING, "Records with too many fields"),
    "wrong_field_count": (BLOCKING, "Records with more or fewer fields than the header"),
    "bad_quotes": (BLOCKING, "Unmatched quotes"),
    "missing_field": (BLOCKING, "A field is missing"),
    "unknown_field": (BLOCKING, "A field's name looks misspelt"),
    "wrong_type": (BLOCKING, "A field has the wrong type"),
    "empty_text": (BLOCKING, "Empty prompts or answers"),
    "identical_answers": (BLOCKING, "Both answers are the same"),
    "repeated_answer": (BLOCKING, "An answer twice in one ranking"),
    "prompt_differs": (BLOCKING, "The two sides do not share a prompt"),
    "bad_conversation": (BLOCKING, "Conversations that do not fit together"),
    "several_turns": (BLOCKING, "Answers that are not exactly one turn"),
    "not_text": (BLOCKING, "Images or other content that is not text"),
    "reasoning": (BLOCKING, "Reasoning beside the answers, which is not trained here"),
    "tools": (BLOCKING, "Tool calls, which are not trained here"),
    "bad_label": (BLOCKING, "Labels without a known meaning"),
    "one_side_only": (
        BLOCKING,
        "Prompts whose answers are all good or all bad: import them as thumbs",
    ),
    "single_answer": (BLOCKING, "Prompts with one answer only"),
    "contradictory_ratings": (BLOCKING, "One answer with different ratings"),
    "not_usable": (BLOCKING, "Records that cannot be used"),
    "scores_disagree": (WARNING, "The chosen answer has the lower score"),
    "rated_twice": (WARNING, "Answers with the same rating twice"),
    "unrated_steps": (WARNING, "Steps without a rating were left out"),
    "verdicts_ignored": (WARNING, "Columns that may hold verdicts, answers or parts of a prompt were not used"),
    "system_ignored": (WARNING, "System messages that differ from those of the conversations"),
    "ignored_missing": (WARNING, "Columns to ignore that the file does not have"),
    "truncated_cell": (BLOCKING, "Cells that the program which wrote the file cut off"),
    "mapped_missing": (WARNING, "Columns of the mapping that the file does not have"),
    "missing_words": (WARNING, "Cells with a word for a missing value, such as NaN, were read as empty"),
    "weights_ignored": (WARNING, "Answers that were marked as nothing to learn are learnt"),
    "tools_dropped": (WARNING, "Definitions of tools were left out"),
    "reasoning_dropped": (WARNING, "Reasoning beside the answers was left out"),
    "prompt_unlike": (WARNING, "The prompt column differs from the conversations"),
    "questions_disagree": (WARNING, "Two questions prefer different answers"),
    "context_missing": (WARNING, "Turns before the prompt are missing"),
    "prompt_repeated": (WARNING, "Both answers repeat the prompt"),
    "columns_ignored": (INFO, "Columns that were not used"),
    "numbers_as_text": (INFO, "Numbers that were written as text"),
    "not_imitated": (INFO, "Answers that are marked as bad, which SFT leaves out"),
    "not_compared": (INFO, "Records without two answers that are compared"),
    "unlabelled": (INFO, "Pairs that have not been compared yet"),
    "read_as": (INFO, "How the file was read"),
}
"""Severity and title of each code."""


class Described(BaseModel):
    """A model that is stored and that the API returns. The docstring of a field is its description in the API's reference."""

    model_config = ConfigDict(
        from_attributes=True,
        use_attribute_docstrings=True,
        json_schema_serialization_defaults_required=True,
        ser_json_inf_nan="null",
    )


class FindingSample(Described):
    """A record that a finding is about."""

    line: int
    """Line in the source."""
    row: int | None
    """Number among the stored rows; null if it is not stored."""
    text: str
    """Beginning of the record."""


class FindingFix(Described):
    """A correction that the platform can apply."""

    id: str
    """For programs."""
    label: str
    """For people."""


class Finding(Described):
    """A problem of the data, with the records that have it."""

    code: str
    """For programs."""
    severity: Severity
    """`blocking`: after an import, no job can use the version until the user decides; in a report, training on these rows is pointless."""
    title: str
    """For people."""
    detail: str
    """Description of the problem."""
    count: int
    """Number of records."""
    share: float | None
    """Share of all records, from 0 to 1; null for a finding about the whole dataset."""
    lines: list[int]
    """Lines of the first of them in the source."""
    samples: list[FindingSample]
    """Some of them."""
    fix: FindingFix | None
    """The fix that the platform can apply, if there is one."""


LEAVE_OUT = FindingFix(id="leave_out", label="Leave these rows out")


class _Seen:
    """Counts and samples of one code, bounded for any number of lines."""

    def __init__(self) -> None:
        self.count = 0
        self.lines: list[int] = []
        self.samples: list[FindingSample] = []
        self.wordings: Counter[str] = Counter()

    def add(self, line: int, wording: str, text: str, count: int) -> None:
        self.count += count
        if len(self.lines) < LISTED and line not in self.lines:
            self.lines.append(line)
        if len(self.samples) < SAMPLES:
            self.samples.append(FindingSample(line=line, row=None, text=text[:SAMPLE_CHARACTERS]))
        wording = wording[:_LONGEST]
        if wording in self.wordings or len(self.wordings) < _WORDINGS:
            self.wordings[wording] += count

    def detail(self) -> str:
        if len(self.wordings) == 1 and self.count == self.wordings.total():
            return f"{next(iter(self.wordings))}."
        listed = [f"{wording} ({count})" for wording, count in self.wordings.most_common()]
        rest = self.count - self.wordings.total()
        return "; ".join(listed) + (f"; {rest} more" if rest else "") + "."


class Findings:
    """Collects the findings of one file while it is read."""

    def __init__(self) -> None:
        self._seen: dict[str, _Seen] = {}
        self.errors: list[dict[str, Any]] = []
        """The first bad records: line, detail, and column or pointer where known."""
        self.error_count = 0

    def refuse(self, line: int, bad: RowError, text: str) -> None:
        """Count a record that cannot be used, and note its error."""
        self.error_count += 1
        if len(self.errors) < LISTED:
            pointer = None if bad.pointer is None else bad.pointer[:_LONGEST]
            error = {"line": line, "detail": bad.detail[:_LONGEST], "column": bad.column, "pointer": pointer}
            self.errors.append(storable({name: value for name, value in error.items() if value is not None}))
        self.note(bad.code, line, bad.sentence(), text)

    def note(self, code: str, line: int, detail: str, text: str = "", count: int = 1) -> None:
        """Note a property of `count` records that were used, the first of them in `line`. The severity is that of the code."""
        if code not in self._seen:
            self._seen[code] = _Seen()
        self._seen[code].add(line, detail, text, count)

    def codes(self) -> frozenset[str]:
        """The codes that were noted."""
        return frozenset(self._seen)

    def as_json(self, records: int) -> list[dict[str, Any]]:
        """All findings as JSON, ordered by severity and count. `records` is the total that `share` refers to."""
        order = (BLOCKING, WARNING, INFO)
        found = sorted(self._seen.items(), key=lambda item: (order.index(CODES[item[0]][0]), -item[1].count))
        return [storable(_finding(code, seen, records).model_dump()) for code, seen in found]


def _finding(code: str, seen: _Seen, records: int) -> Finding:
    severity, title = CODES[code]
    return Finding(
        code=code,
        severity=severity,
        title=title,
        detail=seen.detail(),
        count=seen.count,
        share=round(min(1.0, seen.count / records), 6) if records else 0.0,
        lines=seen.lines,
        samples=[sample for sample in seen.samples if sample.text],
        fix=LEAVE_OUT if severity == "blocking" else None,
    )


def unusable(code: str, detail: str, line: int | None = None, **extras: Any) -> UnusableFile:
    """The error of a file that cannot be used as a whole. `detail` is a sentence."""
    error = {"code": code, "detail": detail} | ({} if line is None else {"line": line})
    return UnusableFile(detail, param="file", errors=[error], error_count=1, **extras)
