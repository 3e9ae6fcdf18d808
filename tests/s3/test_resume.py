"""Multipart uploads go on where a killed process has left them, and two writers never overwrite each other."""

import hashlib
import os
import re
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from core.blobs import Content, fault_of
from core.blobs.s3 import Bucket, S3Blobs, store, sums
from tests.s3.faulty_proxy import FaultyProxy, serving
from tests.s3.servers import Server
from tests.s3.uploading import PART, start_upload
from tests.waiting import eventually

SIZE = 4 * PART + 1000
"""Bytes of a file of five parts."""


@dataclass
class Traffic:
    """A store behind a proxy, which records the requests."""

    proxy: FaultyProxy
    bucket: Bucket
    blobs: S3Blobs

    def parts(self) -> list[str]:
        """The requests that sent a part."""
        return [path for method, path in self.proxy.seen if method == "PUT" and "partNumber=" in path]

    def writes(self) -> list[tuple[str, str]]:
        return [(method, path) for method, path in self.proxy.seen if method not in ("GET", "HEAD")]


@pytest.fixture
def traffic(server: Server, bucket: Bucket, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Traffic]:
    monkeypatch.setattr(sums, "_LEAST_PART", PART)
    proxy = FaultyProxy(server.url, lambda: None)
    with serving(proxy) as url:
        behind = replace(bucket, endpoint=url)
        yield Traffic(proxy, behind, S3Blobs(behind, tmp_path / "scratch"))


@pytest.fixture
def file(tmp_path: Path) -> Path:
    file = tmp_path / "file"
    file.write_bytes(os.urandom(SIZE))
    return file


def content_of(file: Path) -> Content:
    data = file.read_bytes()
    return Content(len(data), hashlib.sha256(data).hexdigest())


def is_whole(stored: S3Blobs, key: str, file: Path) -> bool:
    """Whether an object has the bytes of a file; all of them are read."""
    return fault_of(stored, key, content_of(file)) is None


def unfinished(server: Server, bucket: Bucket) -> list[dict[str, Any]]:
    """The multipart uploads of the bucket's prefix, with their parts."""
    client = server.client()
    found = client.list_multipart_uploads(Bucket=bucket.name, Prefix=f"{bucket.prefix}/").get("Uploads", [])
    where = [{"Bucket": bucket.name, "Key": one["Key"], "UploadId": one["UploadId"]} for one in found]
    return [one | {"Parts": client.list_parts(**one).get("Parts", [])} for one in where]


def killed_upload(server: Server, traffic: Traffic, key: str, file: Path, parts: int) -> None:
    """An upload whose process is killed once the server holds the first parts."""
    killed = threading.Event()

    def hold(method: str, path: str) -> str | None:
        number = re.search(r"partNumber=(\d+)", path)
        if number is None or int(number[1]) <= parts:
            return None
        killed.wait()
        return "busy"

    traffic.proxy.before = hold
    process = start_upload(traffic.bucket, key, file)
    eventually(lambda: [len(one["Parts"]) for one in unfinished(server, traffic.bucket)] == [parts])
    process.kill()
    process.wait()
    killed.set()
    traffic.proxy.before = lambda method, path: None
    traffic.proxy.seen.clear()


def test_killed_upload_continues_where_it_was(server: Server, traffic: Traffic, stored: S3Blobs, file: Path) -> None:
    killed_upload(server, traffic, "a", file, parts=3)
    assert not stored.exists("a")
    assert traffic.blobs.put_file("a", file) == content_of(file)
    assert len(traffic.parts()) == 2 and is_whole(stored, "a", file) and unfinished(server, traffic.bucket) == []


@pytest.mark.parametrize(("common", "sent", "left"), [(0, 5, [3]), (2, 3, [])])
def test_other_file_under_the_key_keeps_no_other_part(
    server: Server,
    traffic: Traffic,
    stored: S3Blobs,
    file: Path,
    tmp_path: Path,
    common: int,
    sent: int,
    left: list[int],
) -> None:
    killed_upload(server, traffic, "a", file, parts=3)
    other = tmp_path / "other"
    other.write_bytes(file.read_bytes()[: common * PART] + os.urandom(SIZE - common * PART))
    assert traffic.blobs.put_file("a", other) == content_of(other)
    assert len(traffic.parts()) == sent and is_whole(stored, "a", other)
    assert [len(one["Parts"]) for one in unfinished(server, traffic.bucket)] == left


def test_shorter_file_drops_the_parts_behind_it(
    server: Server, traffic: Traffic, stored: S3Blobs, file: Path, tmp_path: Path
) -> None:
    killed_upload(server, traffic, "a", file, parts=4)
    shorter = tmp_path / "shorter"
    shorter.write_bytes(file.read_bytes()[: PART + 5])
    assert traffic.blobs.put_file("a", shorter) == content_of(shorter) and is_whole(stored, "a", shorter)


def test_upload_ended_by_the_sweeper_begins_anew(server: Server, traffic: Traffic, stored: S3Blobs, file: Path) -> None:
    ended = threading.Event()

    def end(method: str, path: str) -> None:
        if "partNumber=3" in path and not ended.is_set():
            ended.set()
            (upload,) = unfinished(server, traffic.bucket)
            upload.pop("Parts")
            server.client().abort_multipart_upload(**upload)

    traffic.proxy.before = end
    assert traffic.blobs.put_file("a", file) == content_of(file)
    assert ended.is_set() and len(traffic.parts()) > 5 and is_whole(stored, "a", file)


def test_error_in_a_response_of_200_is_no_success(traffic: Traffic, stored: S3Blobs, file: Path) -> None:
    completions = 0

    def fail(method: str, path: str) -> str | None:
        nonlocal completions
        completes = method == "POST" and "uploadId=" in path
        completions += completes
        return "error in a 200" if completes and completions == 1 else None

    traffic.proxy.before = fail
    assert traffic.blobs.put_file("a", file) == content_of(file)
    assert completions == 2 and len(traffic.parts()) == 5 and is_whole(stored, "a", file)


def test_upload_without_the_right_to_list_is_stored(traffic: Traffic, stored: S3Blobs, file: Path) -> None:
    traffic.proxy.refused = ("GET",)
    assert traffic.blobs.put_file("a", file) == content_of(file) and is_whole(stored, "a", file)


def test_upload_about_to_be_resumed_is_not_removed(
    server: Server, traffic: Traffic, stored: S3Blobs, file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    killed_upload(server, traffic, "a", file, parts=2)
    stored.clear_abandoned()  # an upload of moto began in 2010; its parts are new
    assert len(unfinished(server, traffic.bucket)) == 1
    monkeypatch.setattr(store, "_ABANDONED_SECONDS", -60)
    stored.clear_abandoned()
    assert unfinished(server, traffic.bucket) == []
    traffic.blobs.put_file("a", file)
    assert len(traffic.parts()) == 5 and is_whole(stored, "a", file)


@pytest.mark.parametrize("size", [7, SIZE])
def test_second_writer_of_the_same_bytes_writes_nothing(
    server: Server, traffic: Traffic, stored: S3Blobs, file: Path, size: int
) -> None:
    file.write_bytes(file.read_bytes()[:size])
    first = traffic.blobs.put_file("a", file)
    written = server.client().head_object(Bucket=traffic.bucket.name, Key=f"{traffic.bucket.prefix}/a")
    traffic.proxy.seen.clear()
    second = traffic.blobs.put_file("a", file)
    assert (first, first.stamp) == (second, second.stamp) and is_whole(stored, "a", file)
    again = server.client().head_object(Bucket=traffic.bucket.name, Key=f"{traffic.bucket.prefix}/a")
    assert again["LastModified"] == written["LastModified"] and len(traffic.writes()) <= (size == 7)


@pytest.mark.parametrize("size", [7, SIZE])
@pytest.mark.parametrize("same", [True, False])
def test_object_of_a_faster_writer_is_kept_or_replaced(
    traffic: Traffic, stored: S3Blobs, file: Path, tmp_path: Path, size: int, same: bool
) -> None:
    file.write_bytes(file.read_bytes()[:size])
    other = tmp_path / "other"
    other.write_bytes(file.read_bytes() if same else os.urandom(size))
    faster = threading.Event()

    def overtake(method: str, path: str) -> None:
        if not faster.is_set() and method == ("PUT" if size == 7 else "POST") and "uploads=" not in path:
            faster.set()
            stored.put_file("a", other)

    traffic.proxy.before = overtake
    assert traffic.blobs.put_file("a", file) == content_of(file)
    assert faster.is_set() and is_whole(stored, "a", file)


@pytest.mark.parametrize("size", [7, SIZE])
def test_two_writers_at_the_same_time_both_succeed(traffic: Traffic, stored: S3Blobs, file: Path, size: int) -> None:
    file.write_bytes(file.read_bytes()[:size])
    with ThreadPoolExecutor(2) as writers:
        found = list(writers.map(lambda blobs: blobs.put_file("a", file), (traffic.blobs, stored)))
    assert found == [content_of(file)] * 2 and is_whole(stored, "a", file)


def test_damaged_object_is_replaced(traffic: Traffic, stored: S3Blobs, file: Path, tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.write_bytes(os.urandom(SIZE))
    stored.put_file("a", other)
    traffic.blobs.put_file("a", file)
    assert is_whole(stored, "a", file)
