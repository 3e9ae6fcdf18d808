"""The contract of every blob store: a folder, and a bucket on each server."""

import hashlib
import os
from dataclasses import replace
from pathlib import Path

import pytest

from core.blobs import BlobDamaged, BlobStore, Content, LocalBlobs, fault_of
from core.blobs.s3 import Bucket, S3Blobs, store
from core.errors import NotFound
from tests.s3.servers import Server

LARGE = 34_000_000
"""Bytes of a file that is sent in three parts and read in two ranges."""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    file = tmp_path / "file"
    file.write_bytes(b"content")
    return file


def read(blobs: BlobStore, key: str) -> bytes:
    with blobs.open(key) as stored:
        return stored.read()


def test_put_blob_is_read_copied_and_listed(blobs: BlobStore, file: Path, tmp_path: Path) -> None:
    assert blobs.is_empty()
    content = blobs.put_file("a/b/c", file)
    assert (content.bytes, content.sha256) == (7, hashlib.sha256(b"content").hexdigest())
    assert read(blobs, "a/b/c") == b"content" and blobs.stamp("a/b/c")[0] == 7
    blobs.get_to("a/b/c", tmp_path / "new" / "copy", content)
    assert (tmp_path / "new" / "copy").read_bytes() == b"content"
    assert list(blobs.list("a")) == list(blobs.list("a/b")) == ["a/b/c"] and list(blobs.list("a/b/c/d")) == []
    assert blobs.exists("a/b/c") and not blobs.exists("a/b") and not blobs.is_empty()


def test_put_replaces_blob_and_its_stamp(blobs: BlobStore, file: Path) -> None:
    blobs.put_file("a", file)
    before = blobs.stamp("a")
    file.write_bytes(b"CONTENT")
    blobs.put_file("a", file)
    assert read(blobs, "a") == b"CONTENT" and blobs.stamp("a") != before


def test_large_blob_arrives_whole_in_both_directions(blobs: BlobStore, file: Path, tmp_path: Path) -> None:
    data = os.urandom(LARGE)
    file.write_bytes(data)
    content = blobs.put_file("large", file)
    assert content.sha256 == hashlib.sha256(data).hexdigest()
    blobs.get_to("large", tmp_path / "copy", content)
    assert (tmp_path / "copy").read_bytes() == data
    with blobs.open("large") as stored:
        stored.seek(LARGE - 5)
        assert stored.read() == data[-5:]
        stored.seek(1_000_000)
        assert stored.read(300_000) == data[1_000_000:1_300_000] and stored.tell() == 1_300_000
        stored.seek(0)
        assert hashlib.sha256(stored.read()).hexdigest() == content.sha256


def test_empty_blob_is_stored_and_read(blobs: BlobStore, file: Path, tmp_path: Path) -> None:
    file.write_bytes(b"")
    content = blobs.put_file("empty", file)
    blobs.get_to("empty", tmp_path / "copy", content)
    assert read(blobs, "empty") == (tmp_path / "copy").read_bytes() == b""


def test_lines_of_a_blob_are_read_in_order(blobs: BlobStore, file: Path) -> None:
    lines = [f"row {number} {'x' * (number % 97)}\n".encode() for number in range(9_000)]
    file.write_bytes(b"".join(lines))
    blobs.put_file("rows", file)
    with blobs.open("rows") as stored:
        assert list(stored) == lines


def test_deleting_is_final_and_may_be_repeated(blobs: BlobStore, file: Path) -> None:
    for key in ("a/1", "a/2/3", "ab", "b"):
        blobs.put_file(key, file)
    for _ in range(2):
        blobs.delete("b")
        blobs.delete_prefix("a")
    assert list(blobs.list("a")) == [] and blobs.exists("ab") and not blobs.exists("b")


def test_absent_blob_is_not_found(blobs: BlobStore, tmp_path: Path) -> None:
    for action in (blobs.open, blobs.stamp, lambda key: blobs.get_to(key, tmp_path / "target")):
        with pytest.raises(NotFound):
            action("nope")
    assert not (tmp_path / "target").exists()


def test_put_of_absent_file_leaves_nothing(blobs: BlobStore, tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        blobs.put_file("a/b", tmp_path / "absent")
    assert not blobs.exists("a/b")


@pytest.mark.parametrize("key", ["", "/etc/passwd", "../x", "a/../../x", "a\x00"])
def test_no_key_leaves_the_store(blobs: BlobStore, file: Path, key: str) -> None:
    for action in (blobs.open, lambda key: blobs.put_file(key, file), blobs.delete_prefix):
        with pytest.raises(ValueError, match="not a blob key"):
            action(key)


def test_keys_with_unusual_characters_are_kept(blobs: BlobStore, file: Path) -> None:
    keys = ["k/a b", "k/a%20b", "k/a+b", "k/größe", "k/q?x=1&y", "k/#1"]
    for key in keys:
        blobs.put_file(key, file)
    assert sorted(blobs.list("k")) == sorted(keys) and all(read(blobs, key) == b"content" for key in keys)
    blobs.delete_prefix("k")
    assert list(blobs.list("k")) == []


@pytest.mark.parametrize("settled", [False, True])
def test_draft_is_visible_once_it_is_kept(blobs: BlobStore, settled: bool) -> None:
    with blobs.draft("a/b") as draft:
        draft.write(b"half")
        with draft.open() as file:
            assert file.read() == b"half"
        draft.settle()
        draft.write(b" and half")
        if settled:
            draft.settle()
        assert not blobs.exists("a/b") and list(blobs.list("a")) == []
        draft.keep()
        assert read(blobs, "a/b") == b"half and half"
    assert list(blobs.list("a")) == ["a/b"]


def test_draft_that_is_not_kept_leaves_nothing(blobs: BlobStore) -> None:
    with blobs.draft("a/b") as draft:
        draft.write(b"half")
        draft.settle()
    assert list(blobs.list("a")) == [] and not blobs.exists("a/b")


def test_damaged_blob_is_found_and_not_copied(blobs: BlobStore, file: Path, tmp_path: Path) -> None:
    content = blobs.put_file("a", file)
    assert fault_of(blobs, "a", content) is None
    file.write_bytes(b"CONTENT")
    blobs.put_file("a", file)
    other = hashlib.sha256(b"CONTENT").hexdigest()
    expected = f"has the SHA-256 {other} instead of {content.sha256}"
    assert fault_of(blobs, "a", content) == expected
    with pytest.raises(BlobDamaged, match=expected):
        blobs.get_to("a", tmp_path / "copy", content)
    assert not (tmp_path / "copy").exists()
    file.write_bytes(b"short")
    blobs.put_file("a", file)
    assert fault_of(blobs, "a", content) == "has 5 bytes instead of 7"
    blobs.delete("a")
    blobs.put_file("b", file)
    assert fault_of(blobs, "a", content) == "is missing"


def test_checked_store_is_left_as_it_was(blobs: BlobStore) -> None:
    blobs.check()
    assert blobs.is_empty()


def test_known_stamp_spares_a_read(stored: S3Blobs, file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    content = stored.put_file("a", file)
    monkeypatch.setattr(S3Blobs, "open", None)
    assert content.stamp and fault_of(stored, "a", content) is None
    with pytest.raises(TypeError):
        fault_of(stored, "a", replace(content, stamp=None))


def test_folder_knows_no_stamp_and_no_address(tmp_path: Path, file: Path) -> None:
    blobs = LocalBlobs(tmp_path / "blobs")
    assert blobs.put_file("a", file).stamp is None and blobs.download_url("a") is None


def test_blobs_of_two_prefixes_are_separate(bucket: Bucket, stored: S3Blobs, file: Path, tmp_path: Path) -> None:
    other = S3Blobs(replace(bucket, prefix=f"{bucket.prefix}0"), tmp_path)
    stored.put_file("a", file)
    other.delete_prefix("a")
    assert other.is_empty() and not other.exists("a") and stored.exists("a") and other != stored


def test_abandoned_transfers_are_removed(
    server: Server, bucket: Bucket, stored: S3Blobs, file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    client = server.client()
    stored.put_file("kept", file)
    with file.open("rb") as source:
        stored.put(".incoming/draft", source)
    for prefix in (bucket.prefix, "other"):
        begun = client.create_multipart_upload(Bucket=bucket.name, Key=f"{prefix}/a b")
        client.upload_part(Bucket=bucket.name, Key=f"{prefix}/a b", UploadId=begun["UploadId"], PartNumber=1, Body=b"x")

    def unfinished() -> list[str]:
        return [one["Key"] for one in client.list_multipart_uploads(Bucket=bucket.name).get("Uploads", [])]

    stored.clear_abandoned()
    assert stored.exists(".incoming/draft")
    if server.name != "moto":  # all uploads of moto began in 2010
        assert f"{bucket.prefix}/a b" in unfinished()
    monkeypatch.setattr(store, "_ABANDONED_SECONDS", -60)
    stored.clear_abandoned()
    assert f"{bucket.prefix}/a b" not in unfinished() and "other/a b" in unfinished()
    assert not stored.exists(".incoming/draft") and stored.exists("kept")


def test_content_is_compared_without_its_stamp() -> None:
    assert Content(1, "a") == Content(1, "a", "stamp")
