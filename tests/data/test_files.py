"""Files are what their bytes are: containers, compression, encodings; and what is wrong with a file as a whole."""

import codecs
import gzip
import io
import json
import tarfile
import zlib
from pathlib import Path

import pytest
import zstandard

from data.errors import RowError
from data.files.opened import opened
from data.files.streams import Limits
from tests.data.reading import Row, errors, jsonl, read, refusal

TWO = [{"prompt": "p", "chosen": "ä", "rejected": "r"}, {"prompt": "q", "chosen": "c", "rejected": "r"}]
LINES = json.dumps(TWO[0], ensure_ascii=False).encode() + b"\n\n" + json.dumps(TWO[1]).encode() + b"\n"
STORED = [{"prompt": row["prompt"], "a": row["chosen"], "b": "r", "label": "a"} for row in TWO]
ZSTD = zstandard.ZstdCompressor().compress


def records(content: bytes, name: str = "file", limits: Limits | None = None) -> list[tuple[int, Row | str]]:
    """Each record with its line, or what is wrong with it."""
    with opened(lambda: io.BytesIO(content), name, limits or Limits()) as found:
        return [(line, str(value) if isinstance(value, RowError) else value) for line, value, _ in found.records(None)]


@pytest.mark.parametrize(
    ("content", "lines"),
    [
        (LINES, [1, 3]),
        (LINES.replace(b"\n", b"\r\n"), [1, 3]),
        (LINES.rstrip(), [1, 3]),
        (json.dumps(TWO).encode(), [1, 2]),
        (json.dumps(TWO, indent=4).encode(), [2, 7]),
        (b"\n".join(json.dumps(row, indent=1).encode() for row in TWO), [1, 6]),
        (gzip.compress(LINES), [1, 3]),
        (gzip.compress(LINES[:20]) + gzip.compress(LINES[20:]) + b"\0" * 100, [1, 3]),
        (ZSTD(LINES), [1, 3]),
        (ZSTD(LINES[:20]) + ZSTD(LINES[20:]), [1, 3]),
        (codecs.BOM_UTF8 + LINES, [1, 3]),
        (LINES.decode().encode("utf-16"), [1, 3]),
        (LINES.decode().encode("utf-16-le"), [1, 3]),
        (LINES.decode().encode("utf-16-be"), [1, 3]),
        (LINES.decode().encode("utf-32"), [1, 3]),
        (gzip.compress(codecs.BOM_UTF8 + json.dumps(TWO).encode()), [1, 2]),
    ],
)
@pytest.mark.parametrize("name", ["x.jsonl", "x.csv", "x.parquet.gz", "x"])
def test_read_gives_same_rows_for_every_container_and_name(content: bytes, lines: list[int], name: str) -> None:
    found = read(content, name)
    assert (found.rows, found.lines) == (STORED, lines)


@pytest.mark.parametrize(
    ("name", "content", "noted"),
    [
        ("x.jsonl", LINES, ""),
        ("x.json", LINES, ""),
        ("x.jsonl.gz", gzip.compress(LINES), ""),
        ("pairs", LINES, ""),
        ("x.csv", LINES, "it is JSON Lines, and was read as that"),
        ("x.parquet", json.dumps(TWO).encode(), "it is JSON, and was read as that"),
        ("x.jsonl", gzip.compress(LINES), "it is JSON Lines, compressed with gzip"),
        ("x.jsonl.zst", gzip.compress(LINES), "it is JSON Lines, compressed with gzip"),
        ("x.jsonl.gz", LINES, "it is JSON Lines, and was read as that"),
        ("x.jsonl", codecs.BOM_UTF8 + LINES, "byte-order mark at the beginning was skipped"),
        ("x.jsonl", LINES.decode().encode("utf-16"), "The text is UTF-16-LE"),
    ],
)
def test_read_notes_unusual_file_properties(name: str, content: bytes, noted: str) -> None:
    found = read(content, name)
    assert noted in " ".join(found.detection.notes) and bool(noted) == bool(found.detection.notes)
    assert ("read_as" in {finding["code"] for finding in found.converted.findings}) == bool(noted)


TABLE = b'prompt,chosen,rejected\n"two\nlines","say ""hi""",r\n\np,,r\np,c\nx,y,z\n'


def test_csv_records_are_at_the_line_where_they_begin() -> None:
    assert records(TABLE, "x.csv") == [
        (2, {"prompt": "two\nlines", "chosen": 'say "hi"', "rejected": "r"}),
        (5, {"prompt": "p", "chosen": None, "rejected": "r"}),
        (6, "has 2 fields; the header has 3"),
        (7, {"prompt": "x", "chosen": "y", "rejected": "z"}),
    ]
    found = read(TABLE, "x.csv")
    assert (found.plan.format, found.lines) == ("trl_explicit", [2, 7])
    assert found.found == {"empty_text": [5], "wrong_field_count": [6]}


@pytest.mark.parametrize(("sign", "note"), [(",", ""), ("\t", "tabs"), (";", "semicolons"), ("|", "vertical bars")])
def test_the_sign_between_the_columns_is_found(sign: str, note: str) -> None:
    rows = [["prompt", "chosen", "rejected"], ["a, b; c", "1\u2009|x" if sign != "|" else "1", "2"], ["d", "3", "4"]]
    content = "\r\n".join(sign.join(f'"{cell}"' for cell in row) for row in rows).encode()
    found = read(content, "x.csv")
    assert [row["prompt"] for row in found.rows] == ["a, b; c", "d"]
    assert note in " ".join(found.detection.notes)


def test_lines_may_end_as_on_old_macintoshes() -> None:
    assert records(b"prompt,chosen\ra,b\rc,d\r", "x.csv")[1] == (3, {"prompt": "c", "chosen": "d"})


def test_csv_record_with_bad_bytes_or_quotes_is_reported_at_line() -> None:
    assert records(b'prompt,chosen\na,\xff\n"b"c,d\ne\0,f\ng,h\n"i,j\n', "x.csv") == [
        (2, "is not UTF-8: byte 0xff in line 2; set encoding to the one that it has"),
        (3, "has quotes that do not fit together: ',' expected after '\"'"),
        (4, "holds a NUL character"),
        (5, {"prompt": "g", "chosen": "h"}),
        (6, "has quotes that do not fit together: unexpected end of data"),
    ]


def test_csv_unclosed_quote_spoils_only_its_own_record() -> None:
    assert records(b'prompt,chosen\na,b\nc,"d\n\ne,f\ng\nh,i\n', "x.csv") == [
        (2, {"prompt": "a", "chosen": "b"}),
        (3, "has quotes that do not fit together: unexpected end of data"),
        (5, {"prompt": "e", "chosen": "f"}),
        (6, "has 1 fields; the header has 2"),
        (7, {"prompt": "h", "chosen": "i"}),
    ]


@pytest.mark.parametrize(
    ("end", "detail"),
    [
        (b'"f",g,h', "has quotes that do not fit together: ',' expected after '\"'"),
        (b'12",g,h', "has 5 fields; the header has 3"),
    ],
)
def test_csv_quote_closed_in_a_later_record_hides_no_record(end: bytes, detail: str) -> None:
    found = records(b'prompt,chosen,rejected\na,b,"c\n1,2,3\n4,5,6\n' + end + b"\n", "x.csv")
    assert [line for line, _ in found] == [2, 3, 4, 5] and found[0][1] == detail
    assert found[1:3] == [(n, {"prompt": p, "chosen": c, "rejected": r}) for n, p, c, r in ((3, *"123"), (4, *"456"))]


def test_csv_multiline_text_with_missing_field_is_one_record() -> None:
    table = b'prompt,chosen,rejected\n"Dear Sir, I write\nto you.\nYours, truly, me",b\nd,e,f\n'
    assert records(table, "x.csv") == [
        (2, "has 2 fields; the header has 3"),
        (5, {"prompt": "d", "chosen": "e", "rejected": "f"}),
    ]


def test_csv_unmatched_quotes_take_bounded_time() -> None:
    (error,) = errors(b"prompt,chosen\n" + b'a","b\n' * 1000, "x.csv", limits=Limits(line_bytes=10_000))
    assert error["code"] == "bad_quotes" and "in too many places" in error["detail"]


def test_an_element_that_is_bad_hides_no_other_in_an_array() -> None:
    content = b'[\n {"a": 1},\n {"a" 2},\n "x",\n {"a": "]}"},\n {"a": 3, "a": 4},\n {"b": [[], {}]}\n]'
    assert records(content) == [
        (2, {"a": 1}),
        (3, "is not valid JSON: expecting ':' delimiter"),
        (4, "must be a JSON object"),
        (5, {"a": "]}"}),
        (6, "the key 'a' is there twice"),
        (7, {"b": [[], {}]}),
    ]


@pytest.mark.parametrize("size", [1, 2, 3, 7])
def test_json_array_records_do_not_depend_on_chunk_borders(size: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("data.files.values._CHUNK", size)
    rows = [{"a": '\\"]', "b": [{"c": "ä\n"}]}, {"e": {}}, {"d": None}]
    assert records(json.dumps(rows).encode()) == list(enumerate(rows, 1))


@pytest.mark.parametrize("size", [1, 5, 1000])
@pytest.mark.parametrize(
    ("content", "lines"),
    [
        (b'\n[{"a":\n1},\n\n {"a": 2}\n,{"a": 3}, {"a": 4}]', [2, 5, 6, 6]),
        (b'[{"a": 1}, {"a":\n2},\n{"a": 3}]', [1, 2, 3]),
        (b'\n\n[{"a": 1}\n]', [3]),
        (b'{\n"a": 1\n}\r\n\r\n{\n"a": 2}', [1, 5]),
    ],
    ids=["lines", "numbers", "one", "no-array"],
)
def test_json_array_lines_are_numbers_if_first_two_share_a_line(
    content: bytes, lines: list[int], size: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("data.files.values._CHUNK", size)
    assert [line for line, _ in records(content, "x.json")] == lines


def test_json_array_truncation_is_reported_with_its_line() -> None:
    (error,) = errors(b'[\n  {"a": 1},\n\n  {"a": "op', "x.json")
    assert (error["code"], error["line"]) == ("truncated", 4) and "at record 2" in error["detail"]


UNUSABLE = [
    (gzip.compress(LINES * 100)[:-5], "x.gz", "truncated"),
    (gzip.compress(LINES * 100)[:30], "x.gz", "truncated"),
    (ZSTD(LINES * 100)[:-5], "x.zst", "truncated"),
    (gzip.compress(LINES)[:-8] + b"\0" * 8, "x.gz", "broken_compression"),
    (ZSTD(LINES)[:8] + b"\xff" * 30, "x.zst", "broken_compression"),
    (json.dumps(TWO).encode()[:-4], "x.json", "truncated"),
    (b'[{"prompt": "open', "x.json", "truncated"),
    (b"prompt,prompt\n1,2\n", "x.csv", "duplicate_columns"),
    (b",,\n1,2,3\n", "x.csv", "no_header"),
    (b"prompt,ch\0sen\n1,2\n", "x.csv", "no_header"),
    (b"prompt,ch\xffsen\n1,2\n", "x.csv", "no_header"),
    (b'prompt,"cho"sen\n1,2\n', "x.csv", "no_header"),
    (b",".join(b"c%d" % n for n in range(1001)) + b"\n", "x.csv", "too_many_columns"),
    (b"PK\x03\x04" + b"\0" * 30, "x.csv", "unknown_container"),
    (gzip.compress(gzip.compress(LINES)), "x.jsonl.gz.gz", "unknown_container"),
    (b"version https://git-lfs.github.com/spec/v1\noid sha256:1\nsize 9\n", "train.jsonl.gz", "unknown_container"),
    (b"<!DOCTYPE html><html><body>Not found</body></html>", "x.jsonl", "unknown_container"),
    (b"\0\1\2\3" * 100, "x.jsonl", "unknown_container"),
    (b"Dear all,\n\nthis is prose.\n", "x.txt", "unknown_container"),
    (b"\xff\xfe" + LINES.decode().encode("utf-16-le")[:-1], "x.jsonl", "not_utf8"),
]


@pytest.mark.parametrize(("content", "name", "code"), UNUSABLE, ids=[f"{n}-{one[2]}" for n, one in enumerate(UNUSABLE)])
def test_unreadable_file_is_refused_with_a_code(content: bytes, name: str, code: str) -> None:
    (error,) = errors(content, name, kind="preferences")
    assert error["code"] == code and error["detail"].endswith(".")


def test_a_million_columns_are_refused_before_they_are_read() -> None:
    header = b",".join(b"c%d" % n for n in range(1_000_000))
    limits = Limits(line_bytes=len(header) + 10)
    assert errors(header + b"\n1\n", "x.csv", limits=limits)[0]["code"] == "too_many_columns"
    assert errors(header + b"\n1\n", "x.csv")[0]["code"] == "line_too_long"


def test_csv_unclosed_quote_is_cut_at_the_line_limit() -> None:
    content = b'prompt,chosen\na,b\n"open,c\n' + b"d,e\n" * 1000
    (error,) = errors(content, "x.csv", limits=Limits(line_bytes=500))
    assert (error["code"], error["line"]) == ("line_too_long", 3)
    assert "a quote that opens there may have no end" in error["detail"]


def test_json_array_with_too_long_records_is_refused() -> None:
    content = b'[{"a": 1}, {"a": "' + b"x" * 3_000_000 + b'"}]'
    (error,) = errors(content, "x.json", limits=Limits(line_bytes=1000))
    assert (error["code"], error["line"]) == ("line_too_long", 2)


@pytest.mark.parametrize("bomb", [gzip.compress(bytes(40_000_000), 9), ZSTD(bytes(40_000_000))], ids=["gzip", "zstd"])
def test_file_that_expands_beyond_the_ratio_is_refused(bomb: bytes) -> None:
    (error,) = errors(bomb, kind="preferences", limits=Limits(line_bytes=1000))
    assert (error["code"], error["detail"]) == (
        "expands_too_far",
        "Decompressed, the file is more than 200 times as large as it was sent.",
    )


def test_file_that_expands_beyond_the_size_limit_is_refused() -> None:
    content = gzip.compress(jsonl(*TWO) * 1000)
    (error,) = errors(content, limits=Limits(expanded_bytes=50_000))
    assert error["code"] == "expands_too_far"


def test_zstd_bomb_is_expanded_in_bounded_pieces() -> None:
    """A zstd block of four bytes makes 128 KiB: what one step of decompression makes is bounded by what goes in."""
    from data.files import streams

    bomb = ZSTD(bytes(100_000_000))
    source = streams.CountedBytes(io.BytesIO(bomb), lambda _: None)
    blocks = streams.Expanded(io.BufferedReader(source, streams.BUFFER), source, "zstd", Limits(ratio=1e9)).blocks()
    assert max(map(len, blocks)) <= 36 * 1024**2


def test_progress_counts_bytes_of_the_file_as_sent(tmp_path: Path) -> None:
    content, told = zlib.compress(b""), []
    content = gzip.compress(LINES * 10_000, 1)
    with opened(lambda: io.BytesIO(content), "x", Limits(), told.append) as found:
        assert sum(1 for _ in found.records(None)) == 20_000
    assert told == sorted(told) and told[-1] == len(content)


def test_names_of_files_lead_nowhere(tmp_path: Path) -> None:
    for name in ("../../etc/passwd", "/etc/passwd", "a\0b.csv", "..", "", "x" * 5000, "C:\\x.csv"):
        assert read(LINES, name, scratch=tmp_path).rows == STORED
    assert list(tmp_path.iterdir()) == []


def test_truncated_upload_is_refused_or_has_a_bad_last_line() -> None:
    whole = jsonl(*TWO) * 50
    (error,) = errors(whole[: len(whole) // 2 - 9])
    assert error["line"] == 50
    assert refusal(gzip.compress(whole)[: len(gzip.compress(whole)) // 2]).extras["errors"][0]["code"] == "truncated"


TALK = [{"role": "user", "content": "q"}, {"role": "assistant", "content": "x"}]
LONG = [{"role": "user", "content": "q" * 100_000}, {"role": "assistant", "content": "x"}]
SHARED = [{"from": "human", "value": "q"}, {"from": "gpt", "value": "x"}]


@pytest.mark.parametrize(
    ("content", "name", "container", "lines"),
    [
        (jsonl(TALK, TALK), "x.jsonl", "jsonl", [1, 2]),
        (jsonl(SHARED, TALK), "x", "jsonl", [1, 2]),
        (jsonl(TALK), "x.jsonl", "jsonl", [1]),
        (jsonl({"messages": TALK}, TALK), "x.jsonl", "jsonl", [1, 2]),
        (json.dumps([TALK, TALK]).encode(), "x.json", "json", [1, 2]),
        (json.dumps(TALK, indent=2).encode(), "x.json", "json", [1]),
        (json.dumps([TALK, SHARED], indent=2).encode(), "x.json", "json", [2, 12]),
        (jsonl(LONG, LONG), "x.jsonl", "jsonl", [1, 2]),
        (jsonl(LONG, LONG), "x", "json", [1, 2]),
    ],
)
def test_an_array_of_messages_is_one_conversation(content: bytes, name: str, container: str, lines: list[int]) -> None:
    found = read(content, name)
    assert (found.detection.container, found.lines) == (container, lines)
    expected = LONG if b"q" * 100 in content else TALK
    assert found.rows == [{"messages": expected}] * len(lines)


def test_an_array_of_anything_else_in_a_line_is_refused() -> None:
    found = read(jsonl(TALK, [{"prompt": "q"}], [*TALK, "no"], []), kind="sft")
    assert (found.lines, found.found) == ([1], {"not_an_object": [2, 3, 4]})
    assert "read only if it is a conversation" in found.finding("not_an_object")["detail"]


def test_an_archive_is_named_and_not_read_as_text() -> None:
    archive = io.BytesIO()
    with tarfile.open(fileobj=archive, mode="w") as tar:
        entry = tarfile.TarInfo("x.jsonl")
        entry.size = len(LINES)
        tar.addfile(entry, io.BytesIO(LINES))
    for content in (archive.getvalue(), gzip.compress(archive.getvalue()), ZSTD(archive.getvalue())):
        (error,) = errors(content, "x.tar.gz", kind="preferences")
        assert error["code"] == "unknown_container" and "a tar archive: unpack it" in error["detail"]


@pytest.mark.parametrize("sign", [";", ",", "\t", "|", "^"])
@pytest.mark.parametrize("line", ["sep={}\r\n", '"SEP={}"\n'])
@pytest.mark.parametrize("name", ["x.csv", "x"])
def test_the_separator_that_excel_names_counts(sign: str, line: str, name: str) -> None:
    content = line.format(sign) + f"prompt{sign}chosen{sign}rejected\nq{sign}x{sign}y\n"
    found = read(content.encode(), name)
    assert (found.rows, found.lines) == ([{"prompt": "q", "a": "x", "b": "y", "label": "a"}], [3])


def test_repeated_key_is_reported_once() -> None:
    found = read(b'{"prompt": "q", "chosen": "x", "chosen": "z", "rejected": "y"}\n' + jsonl(TWO[0]))
    assert found.finding("duplicate_key")["detail"] == "The key 'chosen' is there twice."
