"""Records that cannot be used: each is reported with its line, and with the column or the field where that is known."""

import io
import json
from typing import Any

import pytest

from data.files.records import read_lines
from data.files.streams import Limits
from data.schema import DatasetKind
from tests.data.reading import errors, jsonl, read, refusal

GOOD = b'{"prompt": "p", "chosen": "c", "rejected": "r"}'
P, S, Q, T = DatasetKind.PREFERENCES, DatasetKind.SFT, DatasetKind.PROMPTS, DatasetKind.PRETRAINING
CHAT = b'[{"role": "system", "content": "s"}, {"role": "user", "content": "u"}]'
TURN = b'[{"role": "assistant", "content": "a"}]'
MARGIN = b'{"prompt": "p", "chosen": "c", "rejected": "r", "margin": %b}'
LINES = Limits(line_bytes=1000)

BAD = [
    (b"{'prompt': 1}", {"line": 1, "column": 2, "detail": "is not valid JSON: expecting property name enclosed in double quotes"}),
    (b'{"prompt": "p", }', {"line": 1}),
    (GOOD + b'\n{"prompt": "p" "chosen": "c"}', {"line": 2, "column": 16, "detail": "is not valid JSON: expecting ',' delimiter"}),
    (GOOD + b"\n\n\n[1]", {"line": 4, "column": 1}),
    (b"{\n", {"line": 1, "code": "truncated"}),
    (b'"just text"', {"line": 1, "column": 1, "detail": "must be a JSON object"}),
    (b'{"prompt": "p\xff"}', {"line": 1, "column": 14, "detail": "is not UTF-8: byte 0xff, the line's 14th; set encoding to the one that it has"}),
    ("\ufeff".encode("utf-16"), {"line": 1, "column": 1}),
    (b'{"prompt": "a", "prompt": "b"}', {"line": 1, "pointer": "/prompt", "detail": "the key 'prompt' is there twice"}),
    (b'{"prompt": "p", "chosen": "c", "rejected": "r", "margin": Infinity}', {"line": 1, "detail": "holds Infinity, which is not JSON"}),
    (b'{"prompt": "p", "chosen": "c", "rejected": "r", "margin": 1e999}', {"line": 1, "detail": "holds 1e999, which is too large a number"}),
    (b'{"prompt": "p", "chosen": "c", "rejected": "r", "margin": ' + b"9" * 900 + b"}", {"line": 1, "detail": "is too large a number"}),
    (MARGIN % b"99999999999999999999999", {"line": 1, "pointer": "/margin", "detail": "is too large a number"}),
    (MARGIN % b'"lots"', {"line": 1, "pointer": "/margin", "detail": "must be a number"}),
    (MARGIN % b"true", {"line": 1, "pointer": "/margin"}),
    (MARGIN % (b"[" * 300 + b"]" * 300), {"line": 1, "detail": "is nested too deeply"}),
    (MARGIN % b'1, "annotator": {"id": 7}', {"line": 1, "pointer": "/annotator", "detail": "must be text"}),
    (MARGIN % b'1, "source": 7.5', {"line": 1, "pointer": "/source", "detail": "must be text"}),
    (MARGIN % b'1, "time": "noon"', {"line": 1, "pointer": "/time"}),
    (MARGIN % b'1, "time": "2026-01-31T12:00:00"', {"line": 1, "pointer": "/time", "detail": "must be a time with its zone, as 2026-01-31T12:00:00Z"}),
    (b'{"prompt": "a\\u0000", "chosen": "c", "rejected": "r"}', {"line": 1, "pointer": "/prompt"}),
    (b'{"prompt": "a\\ud800", "chosen": "c", "rejected": "r"}', {"line": 1, "pointer": "/prompt"}),
    (b'{"prompt": "p", "chosen": "same", "rejected": "same"}', {"line": 1, "pointer": "/rejected", "detail": "chosen and rejected are the same text"}),
    (b'{"prompt": "p", "chosen": " ", "rejected": "r"}', {"line": 1, "pointer": "/chosen", "detail": "is empty"}),
    (b'{"prompt": "p", "chosen": null, "rejected": "r"}', {"line": 1, "pointer": "/chosen", "detail": "is empty"}),
    (b'{"prompt": "", "chosen": "c", "rejected": "r"}', {"line": 1, "pointer": "/prompt", "detail": "is empty"}),
    (b'{"prompt": 3, "chosen": "c", "rejected": "r"}', {"line": 1, "pointer": "/prompt"}),
    (b'{"prompt": [], "chosen": "c", "rejected": "r"}', {"line": 1, "pointer": "/prompt"}),
    (b'{"prompt": [null], "chosen": "c", "rejected": "r"}', {"line": 1, "pointer": "/prompt/0"}),
    (b'{"prompt": [{"role": "user", "content": null}], "chosen": "c", "rejected": "r"}', {"line": 1, "pointer": "/prompt/0/content", "detail": "is empty"}),
    (b'{"chosen": "c", "rejected": "r"}', {"line": 1, "detail": "chosen and rejected share no beginning, so there is no prompt"}),
    (b'{"promt": "p", "prompt": "p", "chosen": "c", "rejected": "r"}', {"line": 1, "pointer": "/promt", "detail": "unknown field 'promt'; did you mean 'prompt'?"}),
    (b'{"prompt": "p", "a": "x", "b": "y", "label": "c"}', {"line": 1, "pointer": "/label"}),
    (b'{"prompt": "p", "a": "x", "b": "y", "label": ["a"]}', {"line": 1, "pointer": "/label"}),
    (b'{"prompt": ' + TURN + b', "chosen": "c", "rejected": "r"}', {"line": 1, "pointer": "/prompt/0/role"}),
    (b'{"prompt": "p", "chosen": ' + CHAT + b', "rejected": "r"}', {"line": 1, "pointer": "/chosen"}),
    (b'{"prompt": [{"role": "boss", "content": "x"}], "chosen": "c", "rejected": "r"}', {"line": 1, "pointer": "/prompt/0/role"}),
    (b'{"prompt": [{"role": "user", "text": "x"}], "chosen": "c", "rejected": "r"}', {"line": 1, "pointer": "/prompt/0"}),
    (b'{"prompt": "' + b"x" * 2000 + b'"}', {"line": 1, "detail": "is longer than 1000 bytes"}),
    (b"[" * 600, {"line": 1}),
    (b"", {"code": "no_rows", "detail": "The file has no rows: it is empty."}),
    (b"\n \n", {"code": "no_rows", "detail": "The file has no rows: it is empty."}),
    (b"[]", {"code": "no_rows", "detail": "The file has no rows: it is empty."}),
]  # fmt: skip


@pytest.mark.parametrize(("content", "expected"), BAD, ids=range(len(BAD)))
def test_a_bad_row_is_named(content: bytes, expected: dict[str, Any]) -> None:
    (error,) = errors(content, kind="preferences", limits=LINES)
    assert expected.items() <= error.items()
    assert error["detail"]


RANKING = b'{"prompt": "p", "completions": %b, "ranks": %b}'
BAD_OF_KIND = [
    (P, RANKING % (b'["x"]', b"[1]"), {"pointer": "/completions", "detail": "must be a list of 2 to 100 completions"}),
    (P, RANKING % (b'"xy"', b"[1, 2]"), {"pointer": "/completions"}),
    (P, RANKING % (b"[" + b", ".join(b'"%d"' % n for n in range(101)) + b"]", b"[1]"), {"pointer": "/completions"}),
    (P, RANKING % (b'["x", "y"]', b"[1, 2, 3]"), {"pointer": "/ranks"}),
    (P, RANKING % (b'["x", "y"]', b'"12"'), {"pointer": "/ranks"}),
    (P, RANKING % (b'["x", "y"]', b"[1, 1.5]"), {"pointer": "/ranks/1"}),
    (P, RANKING % (b'["x", "y"]', b"[true, 2]"), {"pointer": "/ranks/0"}),
    (P, RANKING % (b'["x", "y"]', b"[1, 99999999999999999999]"), {"pointer": "/ranks/1"}),
    (P, RANKING % (b'["x", " "]', b"[1, 2]"), {"pointer": "/completions/1", "detail": "is empty"}),
    (P, RANKING % (b'["x", "y", "x"]', b"[1, 2, 3]"), {"pointer": "/completions/2", "detail": "is the same text as completion 0"}),
    (P, RANKING[:-1] % (b'["x", "y"]', b"[1, 2]") + b', "margin": 1}', {"pointer": "/margin"}),
    (S, b'{"messages": ' + CHAT + b"}", {"pointer": "/messages", "detail": "must have an assistant's turn after another one"}),
    (S, b'{"messages": ' + TURN + b"}", {"pointer": "/messages"}),
    (S, b'{"messages": "hello"}', {"pointer": "/messages"}),
    (Q, b'{"prompt": "p", "answer": " "}', {"pointer": "/answer", "detail": "is empty"}),
    (Q, b'{"prompt": "p", "answer": true}', {"pointer": "/answer", "detail": "must be text, a number, an object or a list; write true and false as texts"}),
    (Q, b'{"prompt": "p", "answer": 99999999999999999999}', {"pointer": "/answer", "detail": "is too large a number"}),
    (Q, b'{"prompt": "p", "anwser": "1"}', {"pointer": "/anwser", "detail": "unknown field 'anwser'; did you mean 'answer'?"}),
    (T, b'{"text": ""}', {"pointer": "/text", "detail": "is empty"}),
    (T, b'{"text": 1}', {"pointer": "/text", "detail": "must be text"}),
    (T, b'{"prompt": "p"}', {"pointer": "/text"}),
]  # fmt: skip


@pytest.mark.parametrize(("kind", "content", "expected"), BAD_OF_KIND, ids=range(len(BAD_OF_KIND)))
def test_a_bad_row_of_the_other_kinds_is_named_too(kind: DatasetKind, content: bytes, expected: dict[str, Any]) -> None:
    (error,) = errors(content, kind=kind.value)
    assert expected.items() <= error.items()


def test_every_error_is_counted_and_the_first_twenty_are_listed() -> None:
    refused = refusal(GOOD + b"\n" + b"no\n" * 30)
    assert refused.extras["error_count"] == 30
    assert [error["line"] for error in refused.extras["errors"]] == list(range(2, 22))
    assert refused.detail == "Line 2: is not valid JSON: expecting value. 29 more."


def test_after_a_line_that_is_too_long_the_numbers_still_fit() -> None:
    content = b'{"prompt": "' + b"x" * 5000 + b'"}\n' + GOOD + b"\nno\n"
    assert [error["line"] for error in errors(content, limits=LINES)] == [1, 3]


@pytest.mark.parametrize("end", [b"", b"\n", b"\r\n"])
def test_line_at_the_byte_limit_is_read_and_one_above_is_not(end: bytes) -> None:
    line = b'{"prompt": "' + b"x" * (1000 - 14) + b'"}'
    assert len(line) == 1000
    assert len(read(line + end, limits=LINES).rows) == 1
    (error,) = errors(line.replace(b"xx", b"xxx", 1) + end, limits=LINES, kind="prompts")
    assert error["detail"] == "is longer than 1000 bytes"


def test_line_of_200_mb_is_a_bad_row_and_not_held_in_memory() -> None:
    """The file hands out at most what is asked for, so the largest question is what would be in memory."""

    class Long(io.RawIOBase):
        left, largest = 200_000_000, 0

        def readable(self) -> bool:
            return True

        def readinto(self, buffer: Any) -> int:
            self.largest, size = max(self.largest, len(buffer)), min(len(buffer), self.left)
            buffer[:size] = b"x" * size
            self.left -= size
            return size

    long = Long()
    ((number, bad, raw),) = read_lines(io.BufferedReader(long), Limits(line_bytes=1000), [])
    assert (number, str(bad), raw) == (1, "is longer than 1000 bytes", b"x" * 1001)
    assert long.left == 0 and long.largest <= 1024 * 1024


@pytest.mark.parametrize("name", ["x.jsonl", "x.json"])
def test_nan_as_pandas_writes_it_is_null_and_noted_once(name: str) -> None:
    rows = [b'{"prompt": "p", "chosen": "c", "rejected": "r", "margin": %b}' % one for one in (b"1", b"NaN", b"NaN")]
    rows.append(b'{"prompt": "p", "chosen": NaN, "rejected": "r"}')
    content = b"\n".join(rows) if name == "x.jsonl" else b"[" + b",\n".join(rows) + b"]"
    found = read(content, name)
    assert [row.get("margin") for row in found.rows] == [1, None, None] and found.found == {"empty_text": [4]}
    assert found.finding("read_as")["detail"] == "NaN, which JSON does not have, was read as null, first in line 2."


def test_a_line_nested_beyond_what_can_be_read_is_a_bad_row() -> None:
    content = b'{"prompt": ' + b"[" * 20_000 + b"]" * 20_000 + b"}"
    (error,) = errors(content, kind="prompts")
    assert error == {"line": 1, "detail": "is nested too deeply"}


def test_a_record_with_too_many_fields_is_a_bad_row() -> None:
    content = GOOD + b"\n" + json.dumps({f"c{n}": 1 for n in range(60)}).encode()
    (error,) = errors(content, limits=Limits(columns=50))
    assert error == {"line": 2, "detail": "has 60 fields; 50 are allowed"}


def test_schema_change_in_the_file_is_reported_line_by_line() -> None:
    other = b'{"question": "q", "good": "g", "bad": "b"}\n'
    found = read((GOOD + b"\n") * 300 + other * 2)
    assert (found.plan.format, len(found.rows), found.found) == ("trl_explicit", 300, {"missing_field": [301, 302]})
    finding = found.finding("missing_field")
    assert finding["detail"] == "The field 'prompt' is missing; found 'question', 'good', 'bad'."
    assert (finding["severity"], finding["count"], finding["fix"]["id"]) == ("blocking", 2, "leave_out")
    assert finding["samples"][0] == {"line": 301, "row": None, "text": other.decode().strip()}
    assert finding["share"] == pytest.approx(2 / 302, abs=1e-6)


def test_numbers_that_are_written_as_text_are_read_and_noted() -> None:
    found = read(MARGIN % b'"0.5"')
    assert found.rows == [{"prompt": "p", "a": "c", "b": "r", "label": "a", "margin": 0.5}]
    assert found.found == {"numbers_as_text": [1]}


@pytest.mark.parametrize(
    "tie",
    [
        b'{"prompt": "p", "a": "x", "b": "y", "label": "tie"}',
        b'{"prompt": "p", "completions": ["x", "y"], "ranks": [2, 2]}',
    ],
)
def test_nothing_but_ties_is_refused(tie: bytes) -> None:
    (error,) = errors(tie + b"\n" + tie)
    assert error["code"] == "only_ties"


def test_a_tie_beside_something_that_was_preferred_is_fine() -> None:
    tie = b'{"prompt": "p", "a": "x", "b": "y", "label": "tie"}\n'
    assert len(read(tie + GOOD).rows) == 2


def test_names_as_long_as_a_record_do_not_fill_the_findings() -> None:
    long = "x" * 100_000
    rows = [{"prompt": "p", "chosen": "c", "rejected": "r", f"{n}{long}": 1} for n in range(3)]
    bad = {"prompt" + long: 1, "chosen": "c"}
    found = read(jsonl(*rows, bad))
    assert found.found == {"missing_field": [4]}
    assert len(json.dumps([found.converted.findings, found.converted.errors])) < 5000
