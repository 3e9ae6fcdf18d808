"""Two hundred faults between the platform and an S3 server, with processes killed in the middle: no blob is lost or half there."""

import hashlib
import logging
import os
import random
import threading
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import pytest

from core.blobs import Content, fault_of
from core.blobs.s3 import Bucket, S3Blobs, sums
from core.errors import NotFound, StorageUnreadable, StoreFailed
from tests.s3.faulty_proxy import FAULTS, FaultyProxy, serving
from tests.s3.servers import Server
from tests.s3.uploading import PART, start_upload

COUNT = 200
SMALL, LARGE = 50_000, 11_000_000
KILLED = "process killed"
SECONDS = 3.0
"""Time that a request may take, so that a slow one costs little. A request that takes longer on a busy machine is a fault more."""
log = logging.getLogger(__name__)


@pytest.fixture
def planned() -> list[str | None]:
    """The faults of the next requests. Later ones pass."""
    return []


@pytest.fixture
def proxy(server: Server, planned: list[str | None]) -> Iterator[tuple[FaultyProxy, str]]:
    proxy = FaultyProxy(server.url, lambda: planned.pop(0) if planned else None)
    with serving(proxy) as url:
        yield proxy, url


@pytest.fixture
def faulty(bucket: Bucket, proxy: tuple[FaultyProxy, str], tmp_path: Path) -> S3Blobs:
    return S3Blobs(replace(bucket, endpoint=proxy[1], seconds=SECONDS), tmp_path / "scratch")


@pytest.fixture
def file(tmp_path: Path) -> Path:
    file = tmp_path / "file"
    file.write_bytes(os.urandom(SMALL))
    return file


def content_of(data: bytes) -> Content:
    return Content(len(data), hashlib.sha256(data).hexdigest())


@pytest.mark.parametrize("fault", [fault for fault in FAULTS if fault not in ("credentials lost", "slow")])
def test_passing_fault_is_retried(
    fault: str, faulty: S3Blobs, stored: S3Blobs, planned: list[str | None], file: Path, tmp_path: Path
) -> None:
    planned += [fault]
    content = faulty.put_file("a", file)
    assert content == content_of(file.read_bytes()) and fault_of(stored, "a", replace(content, stamp=None)) is None
    planned += [fault, fault]
    faulty.get_to("a", tmp_path / "copy", content)
    assert (tmp_path / "copy").read_bytes() == file.read_bytes()
    planned += [fault]
    assert list(faulty.list("a")) == []
    planned += [fault]
    faulty.delete("a")
    assert not stored.exists("a")


def test_lost_credentials_are_a_clear_failure(
    faulty: S3Blobs, stored: S3Blobs, planned: list[str | None], file: Path, tmp_path: Path
) -> None:
    stored.put_file("a", file)
    for action in (
        lambda: faulty.put_file("b", file),
        lambda: faulty.get_to("a", tmp_path / "copy"),
        lambda: faulty.delete("a"),
        lambda: list(faulty.list("a")),
    ):
        planned += ["credentials lost"] * 5
        with pytest.raises(StoreFailed) as raised:
            action()
        assert "PROXIMAL_BLOB_ACCESS_KEY_ID" in raised.value.detail and raised.value.__cause__ is None
        planned.clear()
    assert not (tmp_path / "copy").exists() and not stored.exists("b") and stored.exists("a")


@pytest.mark.parametrize("size", [SMALL, LARGE])
def test_file_changed_on_its_way_is_absent_or_whole(
    faulty: S3Blobs,
    stored: S3Blobs,
    proxy: tuple[FaultyProxy, str],
    file: Path,
    size: int,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Also if the credentials are lost as soon as an object may be there, so that it could not be deleted again."""
    monkeypatch.setattr(sums, "_LEAST_PART", PART)
    file.write_bytes(os.urandom(size))
    done: list[str] = []

    def fault(method: str, path: str) -> str | None:
        makes_object = ("PUT", size == SMALL) if "uploadId" not in path else ("POST", size == LARGE)
        lost = "object" in done
        if (method, True) == makes_object:
            done.append("object")
        if method == "PUT" and "changed" not in done:
            done.append("changed")
            return "request changed"
        return "credentials lost" if lost else None

    proxy[0].before = fault
    with suppress(StoreFailed):
        faulty.put_file("a", file)
    assert {"object", "changed"} == set(done)
    assert not stored.exists("a") or fault_of(stored, "a", content_of(file.read_bytes())) is None


def test_server_that_is_away_is_a_clear_failure(bucket: Bucket, file: Path, tmp_path: Path) -> None:
    away = S3Blobs(replace(bucket, endpoint="http://127.0.0.1:9"), tmp_path)
    with pytest.raises(StoreFailed, match="does not respond"):
        away.put_file("a", file)
    with pytest.raises(StoreFailed, match="does not respond"):
        fault_of(away, "a", Content(1, ""))


def test_bytes_that_change_on_every_read_are_no_damage(
    faulty: S3Blobs, stored: S3Blobs, proxy: tuple[FaultyProxy, str], file: Path, tmp_path: Path
) -> None:
    content = stored.put_file("a", file)
    proxy[0].choose = lambda: "response changed"
    with pytest.raises(StoreFailed, match="other bytes of a file each time"):
        faulty.get_to("a", tmp_path / "copy", content)
    with pytest.raises(StorageUnreadable, match="differ from read to read"):
        fault_of(faulty, "a", replace(content, stamp=None))
    assert not (tmp_path / "copy").exists()


@pytest.mark.slow
def test_two_hundred_faults_lose_no_blob(
    faulty: S3Blobs,
    stored: S3Blobs,
    bucket: Bucket,
    proxy: tuple[FaultyProxy, str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.INFO)
    monkeypatch.setattr(sums, "_LEAST_PART", PART)
    chance = random.Random(28)
    injector, url = proxy
    behind = replace(bucket, endpoint=url, seconds=SECONDS)

    def choose() -> str | None:
        if injector.counted.total() >= COUNT or chance.random() < 0.55:
            return None
        return chance.choices(FAULTS, weights=[3, 3, 1, 3, 3, 3, 3, 3, 1])[0]

    injector.choose = choose
    failures, half, number = 0, [], 0
    while injector.counted.total() < COUNT:
        number += 1
        data = chance.randbytes(LARGE if number % 3 == 0 else SMALL)
        key = f"k/{number}"
        if len(data) == LARGE:
            _kill_while_it_stores(behind, injector, key, data, tmp_path, chance)
        failures += not _stored_or_refused(faulty, stored, key, data, number % 4 == 1, tmp_path, half)
        failures += not _fetched_or_refused(faulty, stored, key, data, tmp_path, half)
    resumed = sum("is resumed" in line.message for line in caplog.records)
    found = (number, dict(injector.counted), failures, resumed, len(half))
    log.info("%d files, %s, %d refused, %d resumed, %d lost or half", *found)
    assert half == [] and set(injector.counted) == {*FAULTS, KILLED} and failures < number and resumed


def _kill_while_it_stores(
    bucket: Bucket, injector: FaultyProxy, key: str, data: bytes, folder: Path, chance: random.Random
) -> None:
    """Begin to store a file, in a process that is killed at one of its requests."""
    source = folder / "source"
    source.write_bytes(data)
    requests = iter(range(chance.randint(3, 7)))
    fault = chance.choice([None, "request cut", "response lost"])
    started, lock = threading.Event(), threading.Lock()

    def count(method: str, path: str) -> str | None:
        started.wait()
        with lock:
            if next(requests, None) is not None or process.returncode is not None:
                return None
            process.kill()
            process.wait()
            injector.counted[KILLED] += 1
        return fault

    injector.before = count
    process = start_upload(bucket, key, source)
    started.set()
    process.wait()
    injector.before = lambda method, path: None


def _stored_or_refused(
    faulty: S3Blobs, stored: S3Blobs, key: str, data: bytes, drafted: bool, folder: Path, half: list[str]
) -> bool:
    """Store a file through the proxy. Afterwards it is whole, or refused and then absent or whole."""
    source = folder / "source"
    source.write_bytes(data)
    try:
        if drafted:
            with faulty.draft(key) as draft:
                draft.write(data)
                draft.settle()
                draft.keep()
        else:
            assert faulty.put_file(key, source) == content_of(data)
        done = True
    except StoreFailed:
        done = False
    try:
        with stored.open(key) as file:
            found = file.read()
        if found != data:
            half.append(f"{key}: {len(found)} bytes")
    except NotFound:
        if done:
            half.append(f"{key}: lost")
    return done


def _fetched_or_refused(faulty: S3Blobs, stored: S3Blobs, key: str, data: bytes, folder: Path, half: list[str]) -> bool:
    """Fetch a file through the proxy. Afterwards it is whole, or refused and absent."""
    source, target = folder / "source", folder / "target"
    stored.put_file(key, source)
    target.unlink(missing_ok=True)
    try:
        faulty.get_to(key, target, content_of(data))
    except StoreFailed:
        if target.exists():
            half.append(f"{key}: refused, but there")
        return False
    if target.read_bytes() != data:
        half.append(f"{key}: fetched with other bytes")
    return True
