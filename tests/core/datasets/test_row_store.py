"""Drafts of rows, and stored contents."""

import hashlib
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import func, select
from sqlalchemy.exc import OperationalError
from sqlalchemy.orm import Session

from core.blobs import LocalBlobs, blob_store
from core.datasets import row_store, u64
from core.datasets.orphans import remove_orphans
from core.datasets.row_store import RowsDraft, drafting
from core.db import session_scope
from core.errors import DiskFull
from core.models import DatasetContent
from core.settings import get_settings
from data.schema import DatasetKind
from tests.core.factories import make_key, make_version

ROWS = [(1, {"prompt": "a"}), (2, {"prompt": "ä"}), (3, {"prompt": "c"})]


@pytest.fixture
def blobs() -> LocalBlobs:
    store = blob_store(get_settings())
    assert isinstance(store, LocalBlobs)
    return store


@contextmanager
def drafted(folder: Path, rows: list[tuple[int, dict[str, Any]]]) -> Iterator[RowsDraft]:
    with drafting(folder) as out:
        for line, row in rows:
            out.add(line, row)
        yield out.finish()


def test_draft_is_canonical_jsonl_with_checksum_and_row_offsets(tmp_path: Path) -> None:
    whole = '{"prompt":"a"}\n{"prompt":"ä"}\n{"prompt":"c"}\n'.encode()
    with drafted(tmp_path, ROWS) as draft:
        assert draft.rows_file.read_bytes() == whole
        assert (draft.rows, draft.bytes, draft.sha256) == (3, 46, hashlib.sha256(whole).hexdigest())
        assert u64.unpacked(draft.index_file.read_bytes()) == [0, 15, 31]
        assert not draft.own_lines
    assert list(tmp_path.iterdir()) == []


def test_the_lines_of_the_source_are_kept(tmp_path: Path) -> None:
    with drafted(tmp_path, [(1, {"prompt": "a"}), (4, {"prompt": "b"}), (4, {"prompt": "c"})]) as draft:
        assert draft.own_lines
        assert u64.unpacked(draft.lines_file.read_bytes()) == [1, 4, 4]


@pytest.mark.parametrize(("lines", "own"), [([[1, 3], [2, 4, 5]], True), ([[1, 3], []], False)])
def test_answer_lines_are_kept_if_all_rows_have_some(tmp_path: Path, lines: list[list[int]], own: bool) -> None:
    with drafting(tmp_path) as out:
        for number, of_answers in enumerate(lines, 1):
            out.add(number, {"prompt": "p"}, of_answers)
        draft = out.finish()
        assert draft.own_answer_lines == own
        assert u64.unpacked(draft.answer_lines_file.read_bytes()) == [line for row in lines for line in row]


def test_long_lists_of_numbers_are_written_in_pieces(tmp_path: Path) -> None:
    with drafted(tmp_path, [(number, {"prompt": "p"}) for number in range(1, 20_001)]) as draft:
        assert u64.unpacked(draft.index_file.read_bytes()) == list(range(0, 20_000 * 15, 15))


def test_draft_on_full_disk_raises_disk_full_and_leaves_no_file(tmp_path: Path) -> None:
    with pytest.raises(DiskFull), drafting(tmp_path) as out:
        out._out.close()
        out._out = Path("/dev/full").open("wb", buffering=0)  # noqa: SIM115  closed below
        out.add(1, {"prompt": "p"})
    out._out.close()
    assert list(tmp_path.iterdir()) == []


def test_drafts_of_killed_processes_are_deleted_after_a_day(tmp_path: Path) -> None:
    long_ago = time.time() - 25 * 3600
    abandoned = [tmp_path / name for name in ("draft-old", "gather-old", "report-old")]
    young, written = tmp_path / "draft-young", tmp_path / "report-long"
    for folder in (*abandoned, young, written):
        folder.mkdir()
        (folder / "rows").write_text("x")
    for path in (*abandoned, *(folder / "rows" for folder in abandoned), written):
        os.utime(path, (long_ago, long_ago))
    with drafting(tmp_path):
        assert [folder.exists() for folder in (*abandoned, young, written)] == [False, False, False, True, True]


def test_equal_rows_are_stored_once(session: Session, blobs: LocalBlobs, tmp_path: Path) -> None:
    with drafted(tmp_path, ROWS) as draft:
        first = row_store.put(session, blobs, draft)
        assert row_store.put(session, blobs, draft) is first
    assert first.blob_key == f"contents/{first.sha256}/rows.jsonl"
    assert list(blobs.list("contents")) == [first.blob_key, f"contents/{first.sha256}/rows.u64"]


def test_a_store_without_room_leaves_nothing(
    session: Session, blobs: LocalBlobs, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    put = blobs.put_file

    def full_after_the_rows(key: str, source: Path) -> None:
        if key.endswith(".u64"):
            raise DiskFull()
        put(key, source)

    monkeypatch.setattr(blobs, "put_file", full_after_the_rows)
    with drafted(tmp_path, ROWS) as draft, pytest.raises(DiskFull):
        row_store.put(session, blobs, draft)
    assert list(blobs.list("contents")) == []
    assert session.scalar(select(func.count()).select_from(DatasetContent)) == 0


def test_put_that_lost_its_connection_deletes_no_blob(
    session: Session, blobs: LocalBlobs, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A lost connection releases the lock. Then another transaction may store the same rows at the same time."""
    put, backend = blobs.put_file, session.scalar(select(func.pg_backend_pid()))

    def interrupted(key: str, source: Path) -> None:
        monkeypatch.setattr(blobs, "put_file", put)
        with session_scope() as other:
            other.execute(select(func.pg_terminate_backend(backend)))
        with session_scope() as other:
            row_store.put(other, blobs, draft)
        put(key, source)

    monkeypatch.setattr(blobs, "put_file", interrupted)
    with drafted(tmp_path, ROWS) as draft, pytest.raises(OperationalError):
        row_store.put(session, blobs, draft)
    assert len(list(blobs.list("contents"))) == 2


def test_put_restores_a_missing_blob(session: Session, blobs: LocalBlobs, tmp_path: Path) -> None:
    with drafted(tmp_path, ROWS) as draft:
        content = row_store.put(session, blobs, draft)
        blobs.delete_prefix("contents")
        assert row_store.put(session, blobs, draft) is content
        with blobs.open(content.blob_key) as file:
            assert file.read() == draft.rows_file.read_bytes()


def test_uploads_of_the_same_rows_share_their_content(session: Session, blobs: LocalBlobs) -> None:
    first = make_version(session, make_key(session).owner_id, DatasetKind.PROMPTS, b'{"prompt": "p"}\n')
    second = make_version(session, make_key(session).owner_id, DatasetKind.PROMPTS, b'\n{"prompt":  "p"}')
    assert first.sha256 == second.sha256 and first.dataset_id != second.dataset_id
    assert len(list(blobs.list("contents"))) == 2


def test_unreferenced_blobs_are_deleted_at_the_second_sweep(
    session: Session, blobs: LocalBlobs, tmp_path: Path
) -> None:
    version = make_version(session, make_key(session).owner_id, DatasetKind.PROMPTS, b'\n{"prompt": "p"}')
    session.commit()
    kept = [
        f"contents/{version.sha256}/rows.jsonl",
        f"contents/{version.sha256}/rows.u64",
        f"versions/{version.id}/lines.u64",
    ]
    (tmp_path / "x").write_text("x")
    orphans = [
        f"contents/{'0' * 64}/rows.jsonl",
        "versions/dv_x/lines.u64",
        "reports/rep_x/a.u64",
        "uploads/up_x/000001",
        "datasets/ds_x.jsonl",
    ]
    for key in orphans:
        blobs.put_file(key, tmp_path / "x")
    suspects = remove_orphans(blobs, set())
    assert suspects == {
        f"contents/{'0' * 64}",
        "versions/dv_x",
        "reports/rep_x",
        "uploads/up_x",
        "datasets/ds_x.jsonl",
    }
    assert all(map(blobs.exists, orphans))
    assert remove_orphans(blobs, suspects) == set()
    assert [key for key in (*orphans, *kept) if blobs.exists(key)] == kept
