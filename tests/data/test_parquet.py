"""Parquet: rows, types that JSON does not have, and files that are broken or too wide."""

import datetime
import decimal
import gzip
import io
import resource
import secrets
from pathlib import Path
from typing import Any

import pyarrow as arrow
import pyarrow.parquet as parquet
import pytest

from data.errors import OutOfSpace, RowError, UnclearFormat
from data.files.opened import opened
from data.files.streams import Limits
from tests.data.reading import errors, read, talk

PAIRS = [{"prompt": talk(f"q{n}"), "chosen": f"c{n}", "rejected": "r", "margin": n / 2} for n in range(300)]


def file(rows: list[dict[str, Any]] | arrow.Table, **options: Any) -> bytes:
    table = rows if isinstance(rows, arrow.Table) else arrow.Table.from_pylist(rows)
    out = io.BytesIO()
    parquet.write_table(table, out, **options)
    return out.getvalue()


def test_row_groups_are_read_one_after_the_other() -> None:
    found = read(file(PAIRS, row_group_size=7), "x.parquet")
    assert (found.detection.container, found.plan.format, found.lines) == (
        "parquet",
        "trl_explicit",
        list(range(1, 301)),
    )
    assert found.rows[2] == {"prompt": talk("q2"), "a": "c2", "b": "r", "label": "a", "margin": 1.0}


@pytest.mark.parametrize("pack", [lambda data: data, gzip.compress])
def test_parquet_compressed_or_unseekable_is_read(pack: Any, tmp_path: Path) -> None:
    class Pipe(io.BytesIO):
        def seekable(self) -> bool:
            return False

        def seek(self, *_: Any) -> int:
            raise io.UnsupportedOperation

    content = pack(file(PAIRS))
    with opened(lambda: Pipe(content), "x.parquet", Limits(), scratch=tmp_path) as found:
        assert len(list(found.records(None))) == 300
    assert list(tmp_path.iterdir()) == []


def test_values_that_json_does_not_have() -> None:
    at = datetime.datetime(2026, 1, 31, 12, tzinfo=datetime.UTC)
    row = {
        "time": at,
        "day": at.date(),
        "exact": decimal.Decimal("1.50"),
        "whole": decimal.Decimal("3"),
        "nothing": float("nan"),
    }
    table = arrow.Table.from_pylist([row, {"time": None}])
    table = table.append_column("fine", arrow.array([1_000_000_001, None], arrow.timestamp("ns")))
    with opened(lambda: io.BytesIO(file(table)), "x", Limits()) as found:
        first, second = (value for _, value, _ in found.records(None))
    assert first == {
        "time": "2026-01-31T12:00:00+00:00",
        "day": "2026-01-31",
        "exact": 1.5,
        "whole": 3,
        "nothing": None,
        "fine": "1970-01-01T00:00:01",
    }
    assert isinstance(second, dict) and set(second.values()) == {None}


def test_bytes_and_nul_and_a_value_too_long_are_bad_rows() -> None:
    table = arrow.table({"prompt": ["a\0", "x" * 2000, "good"]})
    found = read(file(table), "x.parquet", limits=Limits(line_bytes=1000))
    assert (found.lines, found.found) == ([3], {"bad_characters": [1], "line_too_long": [2]})
    (error,) = errors(file(arrow.table({"prompt": [b"\xff"]})), kind="prompts")
    assert error["detail"] == "holds bytes that are not UTF-8 text"


def test_parquet_reads_only_used_columns_and_names_the_others() -> None:
    rows = [row | {"embedding": [0.5] * 10, "id": n} for n, row in enumerate(PAIRS)]
    found = read(file(rows), "x.parquet")
    assert "Not used: embedding, id." in found.finding("columns_ignored")["detail"]
    with opened(lambda: io.BytesIO(file(rows)), "x", Limits()) as file_:
        _, value, _ = next(file_.records(lambda name: name == "chosen"))
    assert value == {"chosen": "c0"}


@pytest.mark.parametrize(
    ("content", "code"),
    [
        (file(PAIRS)[:-20], "truncated"),
        (b"PAR1", "truncated"),
        (b"PAR1" + b"\0" * 100 + (50).to_bytes(4, "little") + b"PAR1", "broken_parquet"),
        (b"PAR1" + b"\0" * 100 + (2**31 - 1).to_bytes(4, "little") + b"PAR1", "too_many_columns"),
        (file(arrow.table({f"c{n}": [1] for n in range(1001)})), "too_many_columns"),
        (file(PAIRS)[:200] + b"\xff" * 300 + file(PAIRS)[500:], "broken_parquet"),
    ],
)
def test_a_broken_file_is_refused(content: bytes, code: str) -> None:
    assert errors(content, "x.parquet", kind="preferences")[0]["code"] == code


def test_parquet_that_expands_too_far_is_refused_while_reading() -> None:
    table = arrow.table({"prompt": ["x" * 50_000] * 800})
    content = file(table, compression="zstd")
    assert len(content) < 100_000
    (error,) = errors(content, "x.parquet", limits=Limits(expanded_bytes=5_000_000))
    assert error["code"] == "expands_too_far"


def test_parquet_in_gzip_is_unpacked_to_disk_only_if_small(tmp_path: Path) -> None:
    content = gzip.compress(file(PAIRS))
    (error,) = errors(content, "x.parquet.gz", limits=Limits(unpacked_bytes=1000), scratch=tmp_path)
    assert error["code"] == "expands_too_far" and "Unpack it before you send it" in error["detail"]


def test_parquet_invalid_utf8_text_is_an_error_not_a_crash() -> None:
    strings = arrow.array([b"\xff\xfe"], arrow.binary()).view(arrow.string())
    (error,) = errors(file(arrow.table({"prompt": strings})), "x.parquet", kind="prompts")
    assert error["code"] == "broken_parquet" or isinstance(error["detail"], RowError | str)


def test_parquet_without_disk_space_to_unpack_is_reported(tmp_path: Path) -> None:
    content = gzip.compress(file([row | {"noise": secrets.token_hex(500)} for row in PAIRS], compression="none"))
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (50_000, before[1]))
    try:
        with pytest.raises(OutOfSpace):
            read(content, "x.parquet.gz", scratch=tmp_path)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


def test_binary_columns_of_utf8_are_text() -> None:
    table = arrow.table({"prompt": ["ä".encode(), b"q"], "tags": [[b"x"], []]})
    with opened(lambda: io.BytesIO(file(table)), "x", Limits()) as found:
        assert [value for _, value, _ in found.records(None)] == [
            {"prompt": "ä", "tags": ["x"]},
            {"prompt": "q", "tags": []},
        ]


@pytest.mark.parametrize("format", [None, "trl_explicit"])
def test_parquet_without_rows_is_reported_with_its_columns(format: str | None) -> None:
    (error,) = errors(file(arrow.table({"prompt": arrow.array([], arrow.string())})), "x.parquet", format=format)
    assert error == {"code": "no_rows", "detail": "The file has no rows, only the names of its columns: prompt."}


def test_an_encoding_is_not_for_tables() -> None:
    (error,) = errors(file(PAIRS), "x.parquet", encoding="cp1252")
    assert error["code"] == "wrong_encoding" and "leave `encoding` out" in error["detail"]


def test_verdict_in_a_map_column_stops_the_import() -> None:
    votes = arrow.array([[("up", 3), ("down", 1)], [("up", 0)]], arrow.map_(arrow.string(), arrow.int64()))
    table = arrow.table({"prompt": ["q", "r"], "response": ["x", "y"], "votes": votes})
    with pytest.raises(UnclearFormat, match=r"`votes\.up` looks like a verdict"):
        read(file(table), "x.parquet")
