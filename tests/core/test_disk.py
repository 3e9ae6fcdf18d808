"""Writing to a full disk."""

import resource
from collections.abc import Iterator
from pathlib import Path

import pytest

from core.blobs import LocalBlobs
from core.errors import DiskFull
from data.errors import disk_full_raises

LIMIT = 64 * 1024


@pytest.fixture
def little_room() -> Iterator[None]:
    """No file may grow beyond LIMIT bytes."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (LIMIT, before[1]))
    yield
    resource.setrlimit(resource.RLIMIT_FSIZE, before)


def test_disk_full_raises_converts_the_system_error() -> None:
    """Linux has a device that is always full."""
    with pytest.raises(DiskFull), disk_full_raises(DiskFull), Path("/dev/full").open("wb", buffering=0) as file:
        file.write(b"x")


def test_disk_full_raises_leaves_other_errors_unchanged(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError), disk_full_raises(DiskFull):
        (tmp_path / "absent").read_bytes()


def test_a_draft_that_does_not_fit_leaves_nothing(tmp_path: Path, little_room: None) -> None:
    blobs = LocalBlobs(tmp_path)
    with pytest.raises(DiskFull), blobs.draft("a/b") as draft:
        draft.write(b"x" * LIMIT)
        draft.write(b"x" * 10_000)
        draft.keep()
    assert [path for path in tmp_path.rglob("*") if path.is_file()] == []


def test_blobs_draft_not_kept_is_deleted_and_never_listed(tmp_path: Path) -> None:
    blobs = LocalBlobs(tmp_path)
    with blobs.draft("a/b") as draft:
        draft.write(b"half")
        with draft.open() as file:
            assert file.read() == b"half"
        assert list(blobs.list("a")) == [] and not blobs.exists("a/b")
    assert [path for path in tmp_path.rglob("*") if path.is_file()] == []
