import io
import json
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import func, select
from sqlalchemy.orm import Session

from core import datasets, jobs
from core.blobs import LocalBlobs
from core.datasets.reading import Limits
from core.datasets.store import Upload
from core.errors import DatasetInUse, InvalidDataset, NotFound
from core.models import Dataset
from core.models.dataset import DatasetKind
from tests.core.factories import ROWS, jsonl, make_dataset, make_job, make_key
from trainer import rows

GOOD = b'{"prompt": "p", "chosen": "c", "rejected": "r"}'
P, S, Q, T = DatasetKind.PREFERENCES, DatasetKind.SFT, DatasetKind.PROMPTS, DatasetKind.PRETRAINING


@pytest.fixture
def blobs(tmp_path: Path) -> LocalBlobs:
    return LocalBlobs(tmp_path / "blobs")


def _upload(session: Session, blobs: LocalBlobs, content: bytes, kind: DatasetKind = P) -> Dataset:
    upload = Upload(io.BytesIO(content), kind, "mine")
    return datasets.create(
        session, blobs, make_key(session).id, upload, Limits(line_bytes=1000), blobs._root / "scratch"
    )


def _errors(session: Session, blobs: LocalBlobs, content: bytes, kind: DatasetKind = P) -> list[dict[str, Any]]:
    with pytest.raises(InvalidDataset) as refusal:
        _upload(session, blobs, content, kind)
    errors: list[dict[str, Any]] = refusal.value.extras["errors"]
    return errors


CHAT = b'[{"role": "system", "content": "s"}, {"role": "user", "content": "u"}]'
TURN = b'[{"role": "assistant", "content": "a"}]'
TALK = b'[{"role": "user", "content": "u"}, {"role": "assistant", "content": "a"}, {"role": "user", "content": "v"}]'


@pytest.mark.parametrize(
    ("kind", "line", "stored"),
    [
        (P, GOOD, {"prompt": "p", "a": "c", "b": "r", "label": "a"}),
        (P, b'{"prompt":"p","a":"x","b":"y","label":"tie"}', {"prompt": "p", "a": "x", "b": "y", "label": "tie"}),
        (
            P,
            b'{"prompt":"p","a":"x","b":"y","label":"b","annotator":"me","margin":0.5,"source":"s"}',
            {"prompt": "p", "a": "x", "b": "y", "label": "b", "annotator": "me", "margin": 0.5, "source": "s"},
        ),
        (P, GOOD[:-1] + b',"margin":null,"source":null}', {"prompt": "p", "a": "c", "b": "r", "label": "a"}),
        (
            P,
            b'{"prompt":' + CHAT + b',"chosen":' + TURN + b',"rejected":"r"}',
            {
                "prompt": [{"role": "system", "content": "s"}, {"role": "user", "content": "u"}],
                "a": "a",
                "b": "r",
                "label": "a",
            },
        ),
        (S, b'{"prompt":"p","completion":' + TURN + b"}", {"prompt": "p", "completion": "a"}),
        (Q, b'{"prompt":"\xc3\xa4 \\u00e4"}', {"prompt": "ä ä"}),
        (Q, b'{"prompt":"p","answer":"42"}', {"prompt": "p", "answer": "42"}),
        (Q, b'{"prompt":"p","answer":4.5}', {"prompt": "p", "answer": 4.5}),
        (Q, b'{"prompt":"p","answer":0}', {"prompt": "p", "answer": 0}),
        (Q, b'{"prompt":"p","answer":null}', {"prompt": "p"}),
        (S, b'{"messages":' + TALK + b"}", {"messages": json.loads(TALK)}),
        (T, b'{"text":" a\\nb","source":"s"}', {"text": " a\nb", "source": "s"}),
        (
            P,
            b'{"prompt":"p","completions":["x",' + TURN + b',"z"],"ranks":[2,1,2],"annotator":"me"}',
            {"prompt": "p", "completions": ["x", "a", "z"], "ranks": [2, 1, 2], "annotator": "me"},
        ),
    ],
)
def test_rows_are_stored_in_canonical_form(
    session: Session, blobs: LocalBlobs, kind: DatasetKind, line: bytes, stored: dict[str, Any]
) -> None:
    dataset = _upload(session, blobs, line + b"\n", kind)
    assert datasets.rows(blobs, dataset, 0, 10) == [(1, stored)]


def test_bom_crlf_blank_lines_and_a_missing_last_newline_are_fine(session: Session, blobs: LocalBlobs) -> None:
    dataset = _upload(session, blobs, b"\xef\xbb\xbf" + GOOD + b"\r\n\r\n  \n" + GOOD.replace(b'"p"', b'"q"'))
    assert dataset.rows == 2
    assert [row["prompt"] for _, row in datasets.rows(blobs, dataset, 0, 10)] == ["p", "q"]
    assert datasets.rows(blobs, dataset, 1, 10)[0][0] == 2


def test_the_sum_and_size_are_those_of_what_is_stored(session: Session, blobs: LocalBlobs) -> None:
    first, second = _upload(session, blobs, GOOD), _upload(session, blobs, GOOD + b"\n\n")
    assert first.sha256 == second.sha256
    assert first.bytes == blobs._path(first.blob_key).stat().st_size


MARGIN = b'{"prompt": "p", "chosen": "c", "rejected": "r", "margin": %b}'
BAD = [
    (b"{'prompt': 1}", {"line": 1, "column": 2, "detail": "is not valid JSON: expecting property name enclosed in double quotes"}),
    (b'{"prompt": "p", }', {"line": 1}),
    (GOOD + b'\n{"prompt": "p" "chosen": "c"}', {"line": 2, "column": 16, "detail": "is not valid JSON: expecting ',' delimiter"}),
    (GOOD + b"\n\n\n[1]", {"line": 4, "column": 1}),
    (b"{\n", {"line": 1, "column": 2}),
    (b'"just text"', {"line": 1, "column": 1, "detail": "must be a JSON object"}),
    (b'{"prompt": "p\xff"}', {"line": 1, "column": 14, "detail": "is not UTF-8: byte 0xff, the line's 14th"}),
    ("\ufeff".encode("utf-16"), {"line": 1, "column": 1}),
    (b'{"prompt": "a", "prompt": "b"}', {"line": 1, "pointer": "/prompt", "detail": "holds the key 'prompt' twice"}),
    (b'{"prompt": "p", "chosen": "c", "rejected": "r", "margin": NaN}', {"line": 1, "detail": "holds NaN, which is not JSON"}),
    (b'{"prompt": "p", "chosen": "c", "rejected": "r", "margin": 1e999}', {"line": 1}),
    (b'{"prompt": "p", "chosen": "c", "rejected": "r", "margin": ' + b"9" * 5000 + b"}", {"line": 1}),
    (MARGIN % b"99999999999999999999999", {"line": 1, "pointer": "/margin", "detail": "is too large a number"}),
    (MARGIN % b'"lots"', {"line": 1, "pointer": "/margin", "detail": "must be a number"}),
    (MARGIN % b"true", {"line": 1, "pointer": "/margin"}),
    (MARGIN % (b"[" * 300 + b"]" * 300), {"line": 1, "pointer": "/margin"}),
    (MARGIN % b'1, "annotator": {"id": 7}', {"line": 1, "pointer": "/annotator", "detail": "must be text"}),
    (MARGIN % b'1, "source": 7', {"line": 1, "pointer": "/source", "detail": "must be text"}),
    (b'{"prompt": "a\\u0000", "chosen": "c", "rejected": "r"}', {"line": 1, "pointer": "/prompt"}),
    (b'{"prompt": "a\\ud800", "chosen": "c", "rejected": "r"}', {"line": 1, "pointer": "/prompt"}),
    (b'{"prompt": "p", "chosen": "same", "rejected": "same"}', {"line": 1, "pointer": "/rejected"}),
    (b'{"prompt": "p", "chosen": " ", "rejected": "r"}', {"line": 1, "pointer": "/chosen", "detail": "is empty"}),
    (b'{"prompt": "", "chosen": "c", "rejected": "r"}', {"line": 1, "pointer": "/prompt", "detail": "is empty"}),
    (b'{"prompt": 3, "chosen": "c", "rejected": "r"}', {"line": 1, "pointer": "/prompt"}),
    (b'{"prompt": [], "chosen": "c", "rejected": "r"}', {"line": 1, "pointer": "/prompt"}),
    (b'{"chosen": "c", "rejected": "r"}', {"line": 1, "pointer": "/prompt"}),
    (b'{"promt": "p", "prompt": "p", "chosen": "c", "rejected": "r"}', {"line": 1, "pointer": "/promt", "detail": "unknown field 'promt'; did you mean 'prompt'?"}),
    (b'{"prompt": "p", "a": "x", "b": "y", "label": "c"}', {"line": 1, "pointer": "/label"}),
    (b'{"prompt": "p", "a": "x", "b": "y", "label": ["a"]}', {"line": 1, "pointer": "/label"}),
    (b'{"prompt": ' + TURN + b', "chosen": "c", "rejected": "r"}', {"line": 1, "pointer": "/prompt/0/role"}),
    (b'{"prompt": "p", "chosen": ' + CHAT + b', "rejected": "r"}', {"line": 1, "pointer": "/chosen"}),
    (b'{"prompt": [{"role": "boss", "content": "x"}], "chosen": "c", "rejected": "r"}', {"line": 1, "pointer": "/prompt/0/role"}),
    (b'{"prompt": [{"role": "user", "text": "x"}], "chosen": "c", "rejected": "r"}', {"line": 1, "pointer": "/prompt/0"}),
    (b'{"prompt": "' + b"x" * 2000 + b'"}', {"line": 1, "detail": "is longer than 1000 bytes"}),
    (b"[" * 600, {"line": 1}),
    (b"", {"line": 1, "detail": "the file has no rows"}),
    (b"\n \n", {"line": 1, "detail": "the file has no rows"}),
]  # fmt: skip


@pytest.mark.parametrize(("content", "expected"), BAD, ids=range(len(BAD)))
def test_a_bad_row_is_named_and_nothing_is_stored(
    session: Session, blobs: LocalBlobs, content: bytes, expected: dict[str, Any]
) -> None:
    (error,) = _errors(session, blobs, content)
    assert expected.items() <= error.items()
    assert error["detail"]
    assert session.scalar(select(func.count()).select_from(Dataset)) == 0
    assert [path for path in blobs._root.rglob("*") if path.is_file()] == []


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
    (P, b'{"prompt": "p", "completions": ["x", "y"]}', {"pointer": "/ranks"}),
    (S, b'{"messages": ' + CHAT + b"}", {"pointer": "/messages", "detail": "must have an assistant's turn after another one"}),
    (S, b'{"messages": ' + TURN + b"}", {"pointer": "/messages"}),
    (S, b'{"messages": "hello"}', {"pointer": "/messages"}),
    (S, b'{"messages": ' + TALK + b', "prompt": "p"}', {"pointer": "/prompt"}),
    (Q, b'{"prompt": "p", "answer": " "}', {"pointer": "/answer", "detail": "is empty"}),
    (Q, b'{"prompt": "p", "answer": true}', {"pointer": "/answer", "detail": "must be text or a number"}),
    (Q, b'{"prompt": "p", "answer": [1]}', {"pointer": "/answer"}),
    (Q, b'{"prompt": "p", "answer": 99999999999999999999}', {"pointer": "/answer", "detail": "is too large a number"}),
    (Q, b'{"prompt": "p", "anwser": "1"}', {"pointer": "/anwser", "detail": "unknown field 'anwser'; did you mean 'answer'?"}),
    (T, b'{"text": ""}', {"pointer": "/text", "detail": "is empty"}),
    (T, b'{"text": 1}', {"pointer": "/text", "detail": "must be text"}),
    (T, b'{"prompt": "p"}', {"pointer": "/text"}),
]  # fmt: skip


@pytest.mark.parametrize(("kind", "content", "expected"), BAD_OF_KIND, ids=range(len(BAD_OF_KIND)))
def test_a_bad_row_of_the_other_kinds_is_named_too(
    session: Session, blobs: LocalBlobs, kind: DatasetKind, content: bytes, expected: dict[str, Any]
) -> None:
    (error,) = _errors(session, blobs, content, kind)
    assert expected.items() <= error.items()


@pytest.mark.parametrize("kind", list(DatasetKind))
def test_the_trainer_reads_what_is_stored(session: Session, kind: DatasetKind, tmp_path: Path) -> None:
    """Each kind, through the trainer's own reader: the two packages know the same rows."""
    extra = {
        P: [{"prompt": "r", "completions": ["x", "y", "z"], "ranks": [1, 2, 2]}],
        S: [{"messages": json.loads(TALK)}],
        Q: [{"prompt": "q", "answer": 7}],
        T: [{"text": "more", "source": "s"}],
    }
    blobs = LocalBlobs(tmp_path / "blobs")
    dataset = _upload(session, blobs, jsonl([*ROWS[kind], *extra[kind]]), kind)
    stored = [row for _, row in datasets.rows(blobs, dataset, 0, 10)]
    found = [rows.comparisons(row, 9) if kind is P else READERS[kind](row) for row in stored]
    expected: dict[DatasetKind, Any] = {
        P: [("x", "y", "a"), ("x", "z", "a"), ("y", "z", "tie")],
        S: rows.Demonstration([{"role": "user", "content": "u"}], "a"),
        Q: rows.PromptRow("q", "7"),
        T: "more",
    }
    last = [(pair.a, pair.b, pair.label) for pair in found[-1]] if kind is P else found[-1]
    assert len(found) == 4 and last == expected[kind]


READERS: dict[DatasetKind, Any] = {S: rows.demonstration, Q: rows.prompt_row, T: rows.text}


def test_every_error_is_counted_and_the_first_twenty_are_listed(session: Session, blobs: LocalBlobs) -> None:
    with pytest.raises(InvalidDataset) as refusal:
        _upload(session, blobs, GOOD + b"\n" + b"no\n" * 30)
    assert refusal.value.extras["error_count"] == 30
    assert [error["line"] for error in refusal.value.extras["errors"]] == list(range(2, 22))


def test_after_a_line_that_is_too_long_the_numbers_still_fit(session: Session, blobs: LocalBlobs) -> None:
    content = b'{"prompt": "' + b"x" * 5000 + b'"}\n' + GOOD + b"\nno\n"
    assert [error["line"] for error in _errors(session, blobs, content)] == [1, 3]


def test_a_line_nested_beyond_what_can_be_read_is_a_bad_row(session: Session, blobs: LocalBlobs) -> None:
    upload = Upload(io.BytesIO(b'{"prompt": ' + b"[" * 20_000 + b"]" * 20_000 + b"}"), P, "mine")
    with pytest.raises(InvalidDataset, match="nested too deeply"):
        datasets.create(session, blobs, make_key(session).id, upload, Limits(100_000), blobs._root / "scratch")


def test_a_line_of_exactly_the_limit_is_taken(session: Session, blobs: LocalBlobs) -> None:
    line = b'{"prompt": "' + b"x" * (1000 - 14) + b'"}'
    assert len(line) == 1000
    assert _upload(session, blobs, line + b"\n", Q).rows == 1


def test_another_owner_s_dataset_is_absent(session: Session) -> None:
    dataset = make_dataset(session, make_key(session).id)
    with pytest.raises(NotFound):
        datasets.get(session, make_key(session).id, dataset.id)


def test_a_dataset_stays_while_an_unfinished_job_uses_it(session: Session, blobs: LocalBlobs) -> None:
    job = make_job(session)
    dataset = session.get_one(Dataset, job.spec["data"]["preferences"])
    with pytest.raises(DatasetInUse, match=job.id):
        datasets.delete(session, blobs, dataset)
    jobs.request_cancel(session, job)
    datasets.delete(session, blobs, dataset)
    assert session.get(Dataset, dataset.id) is None
