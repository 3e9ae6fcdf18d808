"""A few bytes of Parquet that say a large text again and again."""

import io
import tracemalloc
from collections.abc import Callable
from typing import Any

import pyarrow as arrow
import pyarrow.parquet as parquet
import pytest

from data.errors import UnusableFile
from data.files.columnar import Columnar
from data.files.streams import Limits
from tests.data.reading import errors

LARGE = "x" * 2 * 1024**2
MESSAGES = arrow.list_(arrow.struct([("role", arrow.string()), ("content", arrow.string())]))
MEBI = 1024**2


def packed(values: list[Any], kind: Any = None, **options: Any) -> bytes:
    out = io.BytesIO()
    table = arrow.table({"prompt": arrow.array(values, kind or arrow.string())})
    parquet.write_table(table, out, compression="zstd", **options)
    return out.getvalue()


def peak(content: bytes, limits: Limits) -> tuple[int, str]:
    """Bytes of objects and of columns that were there at once while it was read, and why it was refused."""
    tracemalloc.start()
    before, refused = arrow.total_allocated_bytes(), ""
    columns = 0
    try:
        for _ in Columnar(io.BytesIO(content), limits).records(None):
            columns = max(columns, arrow.total_allocated_bytes() - before)
    except UnusableFile as error:
        refused = error.extras["errors"][0]["code"]
    finally:
        objects = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
    return objects + columns, refused


@pytest.mark.parametrize(
    "pack",
    [
        lambda: packed([LARGE] * 64),
        lambda: packed([[{"role": "user", "content": LARGE}] * 64], MESSAGES),
        lambda: packed([LARGE + str(at) for at in range(64)], use_dictionary=False, column_encoding="DELTA_BYTE_ARRAY"),
    ],
    ids=["column", "inside of lists", "differences"],
)
def test_parquet_repeated_text_is_refused_before_unpacking(pack: Callable[[], bytes]) -> None:
    content = pack()
    assert len(content) < 20_000
    size, refused = peak(content, Limits())
    assert refused == "expands_too_far" and size < 32 * MEBI


def test_parquet_text_above_ratio_is_refused_by_its_metadata() -> None:
    """The uncompressed size that the file states is more than 200 times its own size."""
    (error,) = errors(packed(["x" * 20 * MEBI]), "x.parquet", kind="prompts")
    assert error["code"] == "expands_too_far" and "more than 200 times" in error["detail"]


def test_parquet_repeated_text_is_refused_before_its_first_row() -> None:
    """A million rows of one text, in a small file. An unused column with such a text does not count."""
    indices = arrow.array([0] * 1_000_000, arrow.int32())
    text = arrow.DictionaryArray.from_arrays(indices, arrow.array(["x" * 1000]))
    out = io.BytesIO()
    parquet.write_table(arrow.table({"prompt": text, "other": arrow.array(range(1_000_000))}), out, compression="zstd")
    found = Columnar(out, Limits(ratio=50))
    with pytest.raises(UnusableFile, match="more than 50 times"):
        next(found.records(lambda name: name == "prompt"))
    assert next(Columnar(out, Limits(ratio=50)).records(lambda name: name == "other"))[1] == {"other": 0}


def test_parquet_large_texts_are_converted_in_small_batches() -> None:
    size, refused = peak(packed([LARGE] * 50), Limits(ratio=1e9))
    assert not refused and size < 64 * MEBI


def test_parquet_list_that_repeats_a_text_too_long_is_a_bad_row() -> None:
    many = [{"role": "user", "content": LARGE}] * 50
    found = Columnar(io.BytesIO(packed([many, many[:1]], MESSAGES)), Limits(ratio=1e9)).records(None)
    assert [getattr(record, "code", "read") for _, record, _ in found] == ["line_too_long", "read"]


def test_parquet_nested_texts_across_row_groups_are_unchanged() -> None:
    rows = [[{"role": "user", "content": f"{at} " * 40}] for at in range(3000)]
    content = packed(rows, MESSAGES, row_group_size=1000, dictionary_pagesize_limit=20_000)
    assert [record for _, record, _ in Columnar(io.BytesIO(content), Limits()).records(None)] == [
        {"prompt": row} for row in rows
    ]
