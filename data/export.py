"""Exports of stored rows: files for other trainers, Parquet, or the rows unchanged."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from enum import StrEnum
from typing import BinaryIO

import orjson

from data import export_layouts as layouts
from data.errors import InvalidOption
from data.schema import NOTES, DatasetKind
from data.stored_rows import ExportShape, Row, shape_of

_CHUNK = 256 * 1024
_KINDS = {
    DatasetKind.PREFERENCES: "preferences",
    DatasetKind.THUMBS: "a verdict on one answer",
    DatasetKind.STEPS: "labels of steps",
    DatasetKind.SFT: "demonstrations",
    DatasetKind.PROMPTS: "prompts alone",
    DatasetKind.PRETRAINING: "plain texts",
}
LEFT_OUT = ("ties", "unlabelled", "neutral", "turns", "conversations")
"""Properties that leave a whole row out of a file. The others change a row or drop a part of it."""


class ExportFormat(StrEnum):
    """The file format of an export."""

    TRL = "trl"
    """TRL's JSON Lines: explicit prompts. Rankings become their pairs. Ties, unlabelled pairs, and solutions with a neutral step are left out."""
    OPENAI = "openai"
    """OpenAI's JSON Lines of preferences or conversations. Notes and the rows that TRL's format leaves out are left out."""
    OPENRLHF = "openrlhf"
    """OpenRLHF's JSON Lines: prompt, chosen and rejected; input and output; or input, label and datasource."""
    VERL = "verl"
    """verl's Parquet: prompts with their reward model, messages, or prompt, chosen and rejected as texts."""
    LLAMA_FACTORY = "llama_factory"
    """LLaMA-Factory's JSON Lines: sharegpt conversations, or alpaca instructions for prompts."""
    PARQUET = "parquet"
    """The platform's own rows, in Parquet."""
    ROWS = "rows"
    """The platform's own rows, in JSON Lines, byte for byte as they are stored."""


@dataclass(frozen=True)
class Export:
    """A file to send."""

    media_type: str
    suffix: str
    body: Iterator[bytes]
    not_carried: Counter[str] = field(default_factory=Counter)
    """Number of rows with each property that the format cannot hold. Rows with `ties`, `unlabelled`, `neutral`, `turns`
    and `conversations` are left out. `rankings` become their pairs, `later_turns` are cut off, a note or `answer` is dropped."""

    @property
    def left_out(self) -> int:
        """Number of rows that the format cannot represent."""
        return sum(self.not_carried[name] for name in LEFT_OUT)


@dataclass(frozen=True)
class _Layout:
    """The layout of a trainer's file."""

    title: str
    rows: Callable[[Row, ExportShape], Iterator[Row]]
    kinds: frozenset[DatasetKind] = frozenset(DatasetKind)
    carries: frozenset[str] = frozenset()
    """The notes that the file keeps, and `answer`."""
    loses: Callable[[Row], str | None] | None = None
    """The property of a row that the layout cannot hold, besides ties, rankings and notes."""
    parquet: bool = False


_P, _S, _Q, _T = DatasetKind.PREFERENCES, DatasetKind.SFT, DatasetKind.PROMPTS, DatasetKind.PRETRAINING
_LAYOUTS = {
    ExportFormat.TRL: _Layout("TRL", layouts.trl, carries=frozenset({*NOTES, "answer"}), loses=layouts.trl_loses),
    ExportFormat.OPENAI: _Layout("OpenAI", layouts.openai, frozenset({_P, _S, _Q}), frozenset({"answer"})),
    ExportFormat.OPENRLHF: _Layout(
        "OpenRLHF", layouts.openrlhf, frozenset({_P, _S, _Q, _T}), frozenset({"answer"}), layouts.openrlhf_loses
    ),
    ExportFormat.VERL: _Layout(
        "verl", layouts.verl, frozenset({_P, _S, _Q}), frozenset({"answer"}), layouts.verl_loses, parquet=True
    ),
    ExportFormat.LLAMA_FACTORY: _Layout(
        "LLaMA-Factory",
        layouts.llama_factory,
        frozenset(DatasetKind) - {DatasetKind.STEPS},
        loses=layouts.llama_factory_loses,
    ),
}
_MORE_NOTES = {
    (ExportFormat.OPENRLHF, _P): {"margin"},
    (ExportFormat.OPENRLHF, _Q): {"source"},
    (ExportFormat.VERL, _Q): {"source"},
}
"""Notes that a layout keeps for one kind only."""


def export(open_rows: Callable[[], BinaryIO], kind: DatasetKind, format: ExportFormat) -> Export:
    """The exported rows, in pieces. Raises InvalidOption for a kind that the format cannot represent."""
    if format is ExportFormat.ROWS:
        return Export("application/jsonl", ".jsonl", _chunks(open_rows))
    if format is ExportFormat.PARQUET:
        from data.export_parquet import parquet  # slow to import

        return Export("application/vnd.apache.parquet", ".parquet", parquet(open_rows, shape_of(open_rows)))
    layout = _LAYOUTS[format]
    if kind not in layout.kinds:
        others = [name.value for name, one in _LAYOUTS.items() if kind in one.kinds]
        detail = f"{layout.title} has no place for {_KINDS[kind]}; take {', '.join(['rows', *others])} or parquet"
        raise InvalidOption(f"{detail}.", param="format", errors=[{"pointer": "?format", "detail": detail}])
    shape = shape_of(open_rows)
    lost = _not_carried(open_rows, shape, layout, layout.carries | _MORE_NOTES.get((format, kind), set()))
    rows = _laid_out(open_rows, shape, layout)
    if layout.parquet:
        from data.export_parquet import of_rows  # slow to import

        return Export("application/vnd.apache.parquet", ".parquet", of_rows(rows, layouts.verl_columns(kind)), lost)
    return Export("application/jsonl", ".jsonl", _jsonl(rows), lost)


def _not_carried(
    open_rows: Callable[[], BinaryIO], shape: ExportShape, layout: _Layout, carries: frozenset[str]
) -> Counter[str]:
    lost = Counter({name: count for name, count in shape.counts.items() if name not in carries})
    if layout.loses is not None:
        with open_rows() as file:
            lost.update(name for line in file if (name := layout.loses(orjson.loads(line))) is not None)
    return lost


def _laid_out(open_rows: Callable[[], BinaryIO], shape: ExportShape, layout: _Layout) -> Iterator[Row]:
    with open_rows() as file:
        for line in file:
            row = orjson.loads(line)
            if layout.loses is None or layout.loses(row) not in LEFT_OUT:
                yield from layout.rows(row, shape)


def _jsonl(rows: Iterable[Row]) -> Iterator[bytes]:
    buffer = bytearray()
    for row in rows:
        buffer += orjson.dumps(row) + b"\n"
        if len(buffer) > _CHUNK:
            yield bytes(buffer)
            buffer.clear()
    yield bytes(buffer)


def _chunks(open_rows: Callable[[], BinaryIO]) -> Iterator[bytes]:
    with open_rows() as file:
        while chunk := file.read(_CHUNK):
            yield chunk
