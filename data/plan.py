"""The plan for reading one file. The user's options and the detection decide it once, and it is stored with the dataset."""

from collections.abc import Collection, Mapping
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property
from typing import Any, Self

from data.detect import AS_WELL, LIKELY, Candidate, Detection, ordered, stands_out, without
from data.errors import InvalidOption, UnclearFormat
from data.findings import unusable
from data.formats import FORMATS, SPELT, custom
from data.formats.base import Format, Source
from data.formats.guess import guess
from data.leftovers import examine
from data.questions import NAMED_FORMAT, NAMED_KIND, NAMED_NOTHING, Question, advice, questions
from data.schema import DatasetKind
from data.spelling import Names, plain

_AS_RECORDS = 'Write one record a line, or an array of records, with the names of the columns: {"prompt": "…", "completion": "…"}.'
_LISTED = 5
_POSSIBLE = 0.1
"""Least score of a format when the user named the kind."""

_LEFT_OUT_IF_EMPTY = frozenset({"encoding", "ignore", "named", "lost", "examined"})
_MOST_EXAMINED = 200


@dataclass(frozen=True)
class Plan:
    """Container, format, kind and mapping of one file, as plain JSON values."""

    container: str
    compression: str
    format: str
    kind: str
    mapping: dict[str, Any] | None = None
    """The mapping of the format `custom`."""
    encoding: str | None = None
    """The text encoding that the user named; None: it is detected."""
    ignore: list[str] = field(default_factory=list)
    """Columns that the user left out, by their paths."""
    named: bool = False
    """Whether the user named the format, kind or mapping. Columns that may contradict it are then a warning, no question."""
    lost: list[str] = field(default_factory=list)
    """Columns of the first records that look meaningful and are not used."""
    examined: list[str] = field(default_factory=list)
    """Columns that the first records fill. Only others are examined during the import."""

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> Self:
        """The plan that `as_json` stored."""
        return cls(**value)

    def as_json(self) -> dict[str, Any]:
        """The plan as it is stored."""
        return {name: value for name, value in asdict(self).items() if name not in _LEFT_OUT_IF_EMPTY or value}

    @property
    def reads_as(self) -> Format:
        """The format that the plan names."""
        return FORMATS[self.format]

    @property
    def grouped(self) -> str:
        """The position of the answers to one prompt if each is a record: "consecutive", "anywhere" or ""."""
        if self.kind != DatasetKind.PREFERENCES:
            return ""
        if self.format == custom.FORMAT.id:
            return "anywhere" if custom.grouped(self.mapping or {}) else ""
        return self.reads_as.grouped

    def names_in(self, record: Source) -> Mapping[str, str]:
        """The column of a record by field of a row, for error messages."""
        return custom.names(self.mapping or {}) if self.format == custom.FORMAT.id else self.reads_as.names_in(record)

    @cached_property
    def columns(self) -> Names:
        """The columns that the rows depend on. Readers get no others, from any container."""
        if self.format == custom.FORMAT.id:
            mapped = custom.columns(self.mapping or {})
            return Names(mapped, None, {plain(name): name for name in mapped}, self.ignore)
        return Names(self.reads_as.columns(DatasetKind(self.kind)), self.reads_as.pattern, SPELT, self.ignore)


def make_plan(
    detection: Detection,
    format: str | None = None,
    kind: str | None = None,
    mapping: Mapping[str, Any] | None = None,
    ignore: Collection[str] = (),
) -> Plan:
    """The plan from the user's options, and from the detection for options that were left out.

    `ignore`: columns that are not used and not asked about. Raises UnclearFormat if both leave the format or the meaning
    of a column open, UnusableMapping, and UnusableFile for a file without records. Raises InvalidOption for a format that
    does not exist or does not give this kind.
    """
    if detection.records == 0:
        raise unusable("no_rows", _without_rows(detection))
    ignore = _checked_columns(ignore)
    detection = without(detection, ignore)
    plan = _planned(detection, format, kind, mapping)
    named = NAMED_FORMAT if format or mapping else NAMED_KIND if kind else NAMED_NOTHING
    plan = replace(plan, ignore=ignore, named=named is not NAMED_NOTHING)
    sample = examine(detection.sample, plan.reads_as, DatasetKind(plan.kind), plan.mapping, plan.columns)
    found = questions(sample, plan.reads_as, DatasetKind(plan.kind), plan.columns, plan.ignore)
    if asked := [question for question in found.asked if not question.is_settled(named)]:
        raise _asking(detection, asked)
    examined = sorted({column.path[0] for column in sample.columns})[:_MOST_EXAMINED]
    return replace(plan, lost=[*found.noted, *(question.column for question in found.asked)], examined=examined)


def _planned(detection: Detection, format: str | None, kind: str | None, mapping: Mapping[str, Any] | None) -> Plan:
    """The plan without a look at the columns that it does not use."""
    if format is None and mapping is not None:
        format = custom.FORMAT.id
    if format is None:
        found = _detected(detection, kind)
        format, kind = found if found is not None else (_own(kind), kind)
    known = _known(format)
    if known is custom.FORMAT:
        made, checked = custom.checked(mapping)
        kind = _kind(known, kind or made, made)
        return Plan(detection.container, detection.compression, known.id, kind, checked, detection.named_encoding)
    if mapping is not None:
        raise _invalid("mapping", "belongs to the format custom")
    chosen = kind or _kind_of(known, detection)
    return Plan(
        detection.container,
        detection.compression,
        known.id,
        _kind(known, chosen),
        encoding=detection.named_encoding,
    )


def _checked_columns(ignore: Collection[str]) -> list[str]:
    if isinstance(ignore, str) or not all(isinstance(name, str) and name for name in ignore):
        raise _invalid("ignore", "must list names of columns")
    return sorted(set(ignore))


def _asking(detection: Detection, asked: list[Question]) -> UnclearFormat:
    """The error that asks about columns."""
    more = f" {len(asked) - 1} more." if len(asked) > 1 else ""
    shown = [_shown(candidate) for candidate in detection.candidates[:_LISTED]]
    errors = [{"pointer": f"/{one.column.replace('.', '/')}", "detail": one.detail} for one in asked]
    found = [one.as_json() for one in asked]
    return UnclearFormat(
        f"{asked[0].detail}{more}", param="format", candidates=shown, suggested=None, errors=errors, questions=found
    )


def _shown(candidate: Candidate) -> dict[str, Any]:
    return {"format": candidate.format, "kind": candidate.kind, "score": candidate.score, "why": candidate.why}


def _detected(detection: Detection, kind: str | None) -> tuple[str, str] | None:
    """Format and kind of the candidate that stands out, or None if no candidate has the requested kind.

    Raises UnclearFormat if several are equally likely, or if none is likely and no kind was named.
    """
    candidates = ordered([candidate for candidate in detection.candidates if kind in (None, candidate.kind)])
    # The user named the kind, so a low score is enough. Records that differ are reported.
    if stands_out(candidates, LIKELY if kind is None else _POSSIBLE):
        return candidates[0].format, candidates[0].kind
    if kind is not None and not candidates:
        return None
    raise _unclear(detection, candidates)


def _own(kind: str | None) -> str:
    """The platform's own format. The import then reports what each line lacks."""
    if kind not in list(DatasetKind):
        raise _invalid("kind", f"must be one of {', '.join(DatasetKind)}")
    return "rows"


def _unclear(detection: Detection, candidates: list[Candidate]) -> UnclearFormat:
    shown = [_shown(candidate) for candidate in candidates]
    suggested = guess(detection.columns)
    names = ", ".join(column.name for column in detection.columns[:12]) or "none"
    if shown and candidates[0].score >= LIKELY:
        likely = [one for one in candidates[:_LISTED] if one.score >= AS_WELL * candidates[0].score]
        detail = f"The records could be {' or '.join(map(_named, likely))}: say which."
    elif detection.columns:
        ways = "Map them to fields, with the format custom" + (" (a mapping is suggested)" if suggested else "")
        cure = advice(detection.sample)
        detail = f"No known format fits these columns: {names}. {cure or f'{ways}, or name a format.'}"
    else:
        detail = f"Line {detection.problems[0]['line']}: {detection.problems[0]['detail']}. {_AS_RECORDS}"
    return UnclearFormat(
        detail, param="format", candidates=shown[:_LISTED], suggested=suggested, errors=detection.problems[:20]
    )


def _without_rows(detection: Detection) -> str:
    names = ", ".join(column.name for column in detection.columns[:12])
    return (
        f"The file has no rows, only the names of its columns: {names}."
        if names
        else "The file has no rows: it is empty."
    )


def _named(candidate: Candidate) -> str:
    return f"{candidate.format} (as {candidate.kind})"


def _kind_of(known: Format, detection: Detection) -> str:
    """The kind if the user named none: the detected one, or the format's only one. Raises UnclearFormat."""
    found = [candidate.kind for candidate in detection.candidates if candidate.format == known.id]
    if known.one_of_many or (not found and len(known.kinds) > 1):
        kinds, why = ", ".join(known.kinds), "The format was named."
        ways = [{"format": known.id, "kind": kind.value, "score": 1.0, "why": why} for kind in known.kinds]
        detail = f"{known.title} can be read as {kinds}: say which."
        raise UnclearFormat(detail, param="kind", candidates=ways, suggested=None)
    return found[0] if found else known.kinds[0].value


def _kind(known: Format, kind: str, made: str | None = None) -> str:
    """The kind of the rows. Raises InvalidOption if the format does not give it. `made` is the kind that the fields of a mapping give."""
    kinds = list(known.kinds) if made is None else [made]
    if kind not in kinds:
        raise _invalid("kind", f"must be {' or '.join(kinds)} for {known.title}")
    return DatasetKind(kind).value


def _known(format: str) -> Format:
    if format not in FORMATS:
        raise _invalid("format", f"must be one of {', '.join(FORMATS)}")
    return FORMATS[format]


def _invalid(name: str, detail: str) -> InvalidOption:
    return InvalidOption(f"{name}: {detail}", param=name, errors=[{"pointer": f"#/{name}", "detail": detail}])
