"""Exports of stored rows: JSON Lines for TRL and OpenAI, Parquet, or the rows unchanged."""

import itertools
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, BinaryIO

import orjson

from data.errors import InvalidOption
from data.schema import NOTES, THUMBS, DatasetKind
from data.stored_rows import Row, messages, shape_of

_CHUNK = 256 * 1024
_NO_OPENAI = {DatasetKind.PRETRAINING: "plain texts", DatasetKind.THUMBS: "a verdict on one answer"}


class ExportFormat(StrEnum):
    """The file format of an export."""

    TRL = "trl"
    """TRL's JSON Lines: explicit prompts. Rankings become their pairs; ties and unlabelled pairs are left out."""
    OPENAI = "openai"
    """OpenAI's JSON Lines of preferences or conversations. Notes and the rows that TRL's format leaves out are left out."""
    PARQUET = "parquet"
    """The platform's own rows, in Parquet."""
    ROWS = "rows"
    """The platform's own rows, in JSON Lines, byte for byte as they are stored."""


@dataclass(frozen=True)
class Export:
    """A file to send."""

    media_type: str
    suffix: str
    left_out: int
    """Number of rows that the format cannot represent."""
    body: Iterator[bytes]


def export(open_rows: Callable[[], BinaryIO], kind: DatasetKind, format: ExportFormat) -> Export:
    """The exported rows, in pieces. Raises InvalidOption for a kind that the format cannot represent."""
    if format is ExportFormat.ROWS:
        return Export("application/jsonl", ".jsonl", 0, _chunks(open_rows))
    if format is ExportFormat.OPENAI and (what := _NO_OPENAI.get(kind)) is not None:
        detail = f"OpenAI's formats have no place for {what}; take rows, trl or parquet"
        raise InvalidOption(f"{detail}.", param="format", errors=[{"pointer": "?format", "detail": detail}])
    shape = shape_of(open_rows)
    if format is ExportFormat.PARQUET:
        from data.export_parquet import parquet  # slow to import

        return Export("application/vnd.apache.parquet", ".parquet", 0, parquet(open_rows, shape))
    say = _openai if format is ExportFormat.OPENAI else _trl
    body = _jsonl(open_rows, lambda row: say(row, shape.conversational))
    left_out = shape.left_out if kind is DatasetKind.PREFERENCES else 0
    return Export("application/jsonl", ".jsonl", left_out, body)


def pairs(row: Row) -> Iterator[tuple[str, str]]:
    """The preferred and the other answer of a pair, or of each pair of a ranking with a better answer."""
    if "completions" in row:
        ranked = list(zip(row["ranks"] or [], row["completions"], strict=False))
        for (rank, text), (other_rank, other) in itertools.combinations(ranked, 2):
            if rank != other_rank:
                yield (text, other) if rank < other_rank else (other, text)
    elif row["label"] in ("a", "b"):
        yield (row["a"], row["b"]) if row["label"] == "a" else (row["b"], row["a"])


def _trl(row: Row, conversational: bool) -> Iterator[Row]:
    """Messages in every row if any row has messages, because a column has one type."""
    notes = {name: row[name] for name in NOTES if name in row}
    if "prompt" not in row:  # whole conversations and texts are the same there
        yield row
        return
    prompt: Any = messages(row["prompt"]) if conversational else row["prompt"]

    def message(text: str) -> Any:
        return [{"role": "assistant", "content": text}] if conversational else text

    if "a" in row or "completions" in row:
        for chosen, rejected in pairs(row):
            yield {"prompt": prompt, "chosen": message(chosen), "rejected": message(rejected)} | notes
    elif "completion" in row:
        label = {"label": row["thumb"] == THUMBS[0]} if "thumb" in row else {}
        yield {"prompt": prompt, "completion": message(row["completion"])} | label | notes
    else:
        yield row | {"prompt": prompt}


def _openai(row: Row, _: bool) -> Iterator[Row]:
    if "messages" in row:
        yield {"messages": row["messages"]}
        return
    prompt = messages(row["prompt"])
    if "a" in row or "completions" in row:
        for chosen, rejected in pairs(row):
            sides = ([{"role": "assistant", "content": text}] for text in (chosen, rejected))
            yield {
                "input": {"messages": prompt, "tools": [], "parallel_tool_calls": True},
                "preferred_output": next(sides),
                "non_preferred_output": next(sides),
            }
    elif "completion" in row:
        yield {"messages": [*prompt, {"role": "assistant", "content": row["completion"]}]}
    else:
        yield {"messages": prompt} | ({"answer": row["answer"]} if "answer" in row else {})


def _jsonl(open_rows: Callable[[], BinaryIO], say: Callable[[Row], Iterator[Row]]) -> Iterator[bytes]:
    buffer = bytearray()
    with open_rows() as file:
        for line in file:
            for row in say(orjson.loads(line)):
                buffer += orjson.dumps(row) + b"\n"
            if len(buffer) > _CHUNK:
                yield bytes(buffer)
                buffer.clear()
    yield bytes(buffer)


def _chunks(open_rows: Callable[[], BinaryIO]) -> Iterator[bytes]:
    with open_rows() as file:
        while chunk := file.read(_CHUNK):
            yield chunk
