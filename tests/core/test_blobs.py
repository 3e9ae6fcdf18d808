import os
import time
from pathlib import Path

import pytest

from core.blobs import LocalBlobs
from core.errors import NotFound


@pytest.fixture
def blobs(tmp_path: Path) -> LocalBlobs:
    return LocalBlobs(tmp_path / "blobs")


@pytest.fixture
def file(tmp_path: Path) -> Path:
    file = tmp_path / "file"
    file.write_bytes(b"content")
    return file


def test_blobs_put_can_be_read_copied_and_listed(blobs: LocalBlobs, file: Path, tmp_path: Path) -> None:
    blobs.put_file("a/b/c", file)
    with blobs.open("a/b/c") as stored:
        assert stored.read() == b"content"
    blobs.get_to("a/b/c", tmp_path / "new" / "copy")
    assert (tmp_path / "new" / "copy").read_bytes() == b"content"
    assert list(blobs.list("a")) == ["a/b/c"] and blobs.exists("a/b/c") and not blobs.exists("a/b")


def test_blobs_put_replaces(blobs: LocalBlobs, file: Path) -> None:
    blobs.put_file("a", file)
    file.write_bytes(b"other")
    blobs.put_file("a", file)
    with blobs.open("a") as stored:
        assert stored.read() == b"other"


def test_deleting_is_final_and_may_be_repeated(blobs: LocalBlobs, file: Path) -> None:
    for key in ("a/1", "a/2", "b"):
        blobs.put_file(key, file)
    blobs.delete("b")
    blobs.delete("b")
    blobs.delete_prefix("a")
    blobs.delete_prefix("a")
    assert list(blobs.list("a")) == [] and not blobs.exists("b")


def test_absent_blobs_are_not_found(blobs: LocalBlobs, tmp_path: Path) -> None:
    with pytest.raises(NotFound):
        blobs.open("nope")
    with pytest.raises(NotFound):
        blobs.get_to("nope", tmp_path / "target")
    assert not (tmp_path / "target").exists()


def test_a_copy_that_fails_leaves_nothing(blobs: LocalBlobs, tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        blobs.put_file("a/b", tmp_path / "absent")
    assert list((tmp_path / "blobs").rglob("*")) == [tmp_path / "blobs" / "a"]


@pytest.mark.parametrize("key", ["", "/etc/passwd", "../x", "a/../../x", "a\x00"])
def test_no_key_leaves_the_folder(blobs: LocalBlobs, key: str) -> None:
    with pytest.raises(ValueError, match="not a blob key"):
        blobs.open(key)


def test_blobs_partial_file_is_deleted_after_a_day(blobs: LocalBlobs, file: Path, tmp_path: Path) -> None:
    blobs.put_file("a/b", file)
    old, young = (tmp_path / "blobs" / "a" / f".incoming-{name}" for name in ("old", "young"))
    for draft in (old, young):
        draft.write_bytes(b"half")
    long_ago = time.time() - 25 * 3600
    os.utime(old, (long_ago, long_ago))
    os.utime(tmp_path / "blobs" / "a" / "b", (long_ago, long_ago))
    blobs.clear_abandoned()
    assert not old.exists() and young.exists() and blobs.exists("a/b")
