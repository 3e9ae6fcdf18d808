"""Sources of imports: real servers that fail, redirect or report wrong sizes, and folders of this machine."""

import os
import socket
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from threading import Event

import pytest

from core.access.import_urls import HubFile, ServerFile, WebFile, parse_import_url
from core.access.pinned import is_public
from core.errors import FetchFailed, ImportRefused
from core.settings import Settings
from tests.worker.tasks.file_server import File, Files, serving_files
from worker.downloads import connection
from worker.downloads.connection import http_get
from worker.downloads.hub import find_hub_file
from worker.downloads.web import download
from worker.tasks.fetch import open_remote_file

CONTENT = bytes(range(256)) * 400


@pytest.fixture
def web() -> Iterator[Files]:
    with serving_files() as served:
        yield served


@pytest.fixture
def settings(settings: Settings, web: Files, tmp_path: Path) -> Settings:
    allowed = [f"{web.url}/", "https://", "hf://", f"file://{tmp_path}/folder"]
    return settings.model_copy(update={"import_urls": allowed, "hub_url": f"{web.url}/hub"})


def fetched(url: str, settings: Settings, waits: list[float] | None = None) -> bytes:
    waited: list[float] = [] if waits is None else waits
    with download(WebFile(url), settings, waited.append) as source:
        return b"".join(source.chunks)


@pytest.mark.parametrize("says_length", [True, False])
def test_web_source_returns_the_complete_file(web: Files, settings: Settings, says_length: bool) -> None:
    web.files["/a.jsonl"] = File(CONTENT, says_length=says_length)
    with download(WebFile(f"{web.url}/a.jsonl?x=1"), settings) as source:
        assert (source.name, source.size) == ("a.jsonl", len(CONTENT) if says_length else None)
        assert b"".join(source.chunks) == CONTENT
    path, headers = web.asked[0]
    assert path == "/a.jsonl?x=1"
    assert not {"authorization", "cookie"} & headers.keys()


def test_a_connection_that_breaks_is_taken_up(web: Files, settings: Settings) -> None:
    web.files["/a"] = File(CONTENT, etag='"v1"', cuts=[70_000, 20_000])
    waits: list[float] = []
    assert fetched(f"{web.url}/a", settings, waits) == CONTENT
    ranges = [(headers.get("range"), headers.get("if-range")) for _, headers in web.asked]
    assert ranges == [(None, None), ("bytes=70000-", '"v1"'), ("bytes=90000-", '"v1"')]
    assert waits == [1.0, 1.0]


@pytest.mark.parametrize("file", [File(CONTENT, cuts=[70_000]), File(CONTENT, etag='W/"v1"', cuts=[70_000])])
def test_web_source_does_not_join_parts_of_unverified_files(web: Files, settings: Settings, file: File) -> None:
    web.files["/a"] = file
    with pytest.raises(FetchFailed, match="the connection ended after 70000 bytes"):
        fetched(f"{web.url}/a", settings)


def test_web_source_changed_file_is_reported(web: Files, settings: Settings) -> None:
    web.files["/a"] = File(CONTENT, etag='"v1"', cuts=[70_000], takes_ranges=False)
    with pytest.raises(FetchFailed, match="changed"):
        fetched(f"{web.url}/a", settings)


def test_web_source_slow_server_fails_despite_reconnects(
    web: Files, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The server sends one byte per connection, a second apart. 120 bytes are expected."""
    web.files["/a"] = File(CONTENT, etag='"v1"', cuts=[1] * 300)
    clock = [0.0]

    def passes(seconds: float) -> None:
        clock[0] += seconds

    monkeypatch.setattr(time, "monotonic", lambda: clock[0])
    with (
        pytest.raises(FetchFailed, match="too slow: 121 bytes in 121 seconds"),
        download(WebFile(f"{web.url}/a"), settings, passes) as source,
    ):
        list(source.chunks)


@pytest.mark.parametrize(
    "begins", [b"HTTP/1.1 200 OK\r\nX: ", b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1;"]
)
def test_web_source_slow_header_fails_at_the_read_timeout(
    settings: Settings, monkeypatch: pytest.MonkeyPatch, begins: bytes
) -> None:
    monkeypatch.setattr(connection, "READ_SECONDS", 0.3)
    over = Event()

    def drip() -> None:
        accepted, _ = listener.accept()
        with accepted, suppress(OSError):
            accepted.sendall(begins)
            while not over.wait(0.02):
                accepted.sendall(b"x")

    with socket.create_server(("127.0.0.1", 0)) as listener, ThreadPoolExecutor(1) as pool:
        url = f"http://127.0.0.1:{listener.getsockname()[1]}/"
        allowed = settings.model_copy(update={"import_urls": [url]})
        dripping = pool.submit(drip)
        try:
            with pytest.raises(TimeoutError), http_get(url, allowed, {}) as opened:
                opened.response.read1(100)
        finally:
            over.set()
        dripping.result()


def test_web_source_busy_server_is_retried(web: Files, settings: Settings) -> None:
    web.files["/a"] = File(CONTENT, statuses=[503, 429])
    waits: list[float] = []
    assert fetched(f"{web.url}/a", settings, waits) == CONTENT
    assert waits == [1.0, 2.0]
    web.files["/a"] = File(CONTENT, statuses=[500] * 5)
    with pytest.raises(FetchFailed, match="the server returned 500"):
        fetched(f"{web.url}/a", settings)


@pytest.mark.parametrize("status", [401, 403, 404, 410])
def test_web_source_refusal_is_reported_without_retry(web: Files, settings: Settings, status: int) -> None:
    web.files["/a"] = File(statuses=[status])
    with pytest.raises(FetchFailed, match=f"returned {status}"):
        fetched(f"{web.url}/a", settings)
    assert len(web.asked) == 1


def test_a_redirect_below_a_prefix_is_followed(web: Files, settings: Settings) -> None:
    web.files |= {"/a": File(redirect="/b#top"), "/b": File(redirect=f"{web.url}/c"), "/c": File(CONTENT)}
    assert fetched(f"{web.url}/a", settings) == CONTENT


def test_a_redirect_for_ever_ends(web: Files, settings: Settings) -> None:
    web.files["/a"] = File(redirect="/a")
    with pytest.raises(FetchFailed, match="sent more than 5 redirects"):
        fetched(f"{web.url}/a", settings)
    assert len(web.asked) == 6


@pytest.mark.parametrize(
    "target",
    [
        "http://127.0.0.1:1/",
        "http://data.example/",
        "https://127.0.0.1/",
        "https://localhost/",
        "https://169.254.169.254/latest/meta-data",
        "https://[::1]/",
        "https://[::ffff:10.0.0.1]/",
        "https://0x7f.1/",
        "https://2130706433/",
        "https://user:secret@data.example/",
        "file:///etc/passwd",
        "ftp://data.example/",
        "https://[",
    ],
)
def test_a_redirect_into_private_places_is_refused(web: Files, settings: Settings, target: str) -> None:
    web.files["/a"] = File(redirect=target)
    with pytest.raises(ImportRefused):
        fetched(f"{web.url}/a", settings)


def test_a_name_that_leads_into_a_private_network_is_refused(web: Files, settings: Settings) -> None:
    """The prefix `https://` allows every host, but names none."""
    with pytest.raises(ImportRefused, match="private network"):
        fetched(f"https://localhost:{web.port}/a", settings)
    assert web.asked == []


@pytest.mark.parametrize(
    ("address", "public"),
    [
        ("8.8.8.8", True),
        ("2606:4700::1111", True),
        ("10.1.2.3", False),
        ("172.16.0.1", False),
        ("192.168.1.1", False),
        ("127.0.0.1", False),
        ("169.254.169.254", False),
        ("100.64.0.1", False),
        ("0.0.0.0", False),
        ("224.0.0.1", False),
        ("255.255.255.255", False),
        ("::1", False),
        ("::", False),
        ("fe80::1%eth0", False),
        ("fd00::1", False),
        ("ff02::1", False),
        ("::ffff:10.0.0.1", False),
        ("::ffff:8.8.8.8", True),
        ("64:ff9b::a00:1", False),
        ("2002:a00:1::", False),
        ("::7f00:1", False),
        ("64:ff9b:1::a00:1", False),
        ("fec0::1", False),
    ],
)
def test_which_addresses_are_public(address: str, public: bool) -> None:
    assert is_public(address) == public


def test_a_file_of_the_server_below_an_allowed_folder(settings: Settings, tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "a.csv").write_bytes(CONTENT)
    with open_remote_file(parse_import_url(f"file://{tmp_path}/folder/a.csv", settings.hub_url), settings) as source:
        assert (source.name, source.size, b"".join(source.chunks)) == ("a.csv", len(CONTENT), CONTENT)


def test_links_lead_out_of_no_folder(settings: Settings, tmp_path: Path) -> None:
    folder = tmp_path / "folder"
    folder.mkdir()
    (tmp_path / "secret").write_text("secret")
    (folder / "file").symlink_to(tmp_path / "secret")
    (folder / "up").symlink_to(tmp_path)
    (folder / "data").symlink_to(settings.data_dir)
    for path in ("file", "up/secret", "data/x"):
        with pytest.raises(ImportRefused), open_remote_file(ServerFile(folder / path), settings):
            pass


def test_server_file_folder_swapped_for_a_link_is_refused(
    settings: Settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for folder in ("folder/data", "secret"):
        (tmp_path / folder).mkdir(parents=True)
        (tmp_path / folder / "a").write_text(folder)
    really_open = os.open

    def exchanged(path: Path, flags: int) -> int:
        (tmp_path / "folder" / "data").rename(tmp_path / "old")
        (tmp_path / "folder" / "data").symlink_to(tmp_path / "secret")
        return really_open(path, flags)

    monkeypatch.setattr(os, "open", exchanged)
    with pytest.raises(ImportRefused), open_remote_file(ServerFile(tmp_path / "folder" / "data" / "a"), settings):
        pass


def test_server_file_of_the_platform_is_refused(settings: Settings) -> None:
    everything = settings.model_copy(update={"import_urls": [f"file://{settings.data_dir.parent}"]})
    blob = settings.blob_dir / "uploads" / "up_other" / "000001"
    blob.parent.mkdir(parents=True)
    blob.write_text("another's")
    with pytest.raises(ImportRefused), open_remote_file(ServerFile(blob), everything):
        pass


def test_server_file_that_is_no_file_is_reported(settings: Settings, tmp_path: Path) -> None:
    folder = tmp_path / "folder"
    (folder / "deeper").mkdir(parents=True)
    os.mkfifo(folder / "pipe")
    for name, message in {
        "deeper": "is not a regular file",
        "pipe": "is not a regular file",
        "absent": "No such file",
    }.items():
        with pytest.raises(FetchFailed, match=message), open_remote_file(ServerFile(folder / name), settings):
            pass


def listed(web: Files, *paths: str) -> HubFile:
    """A dataset on the hub with these files."""
    items = ", ".join(f'{{"type": "file", "path": "{path}", "size": 1}}' for path in paths)
    web.files["/hub/api/datasets/o/n/tree/main"] = File(f'[{{"type": "directory", "path": "d"}}, {items}]'.encode())
    return HubFile("o/n", "main", "", f"{web.url}/hub")


@pytest.mark.parametrize(
    ("paths", "chosen"),
    [
        (["README.md", "dataset_infos.json", "pairs.jsonl.gz"], "pairs.jsonl.gz"),
        (
            ["data/train-00000-of-00001.parquet", "data/test-00000-of-00001.parquet"],
            "data/train-00000-of-00001.parquet",
        ),
    ],
)
def test_hub_source_takes_the_file_of_the_dataset(
    web: Files, settings: Settings, paths: list[str], chosen: str
) -> None:
    wanted = listed(web, *paths)
    assert find_hub_file(wanted, settings).path == chosen
    web.files[f"/hub/datasets/o/n/resolve/main/{chosen}"] = File(CONTENT)
    with open_remote_file(wanted, settings) as source:
        assert (source.name, b"".join(source.chunks)) == (chosen.rpartition("/")[2], CONTENT)


def test_a_dataset_of_several_files_lists_them(web: Files, settings: Settings) -> None:
    with pytest.raises(FetchFailed) as caught:
        find_hub_file(listed(web, "a/train.jsonl", "b/train.jsonl"), settings)
    assert "hf://datasets/o/n/a/train.jsonl, hf://datasets/o/n/b/train.jsonl" in caught.value.detail
    with pytest.raises(FetchFailed, match="no file that can be imported"):
        find_hub_file(listed(web, "README.md"), settings)


def test_a_dataset_of_more_files_than_the_hub_lists_at_once(web: Files, settings: Settings) -> None:
    wanted = listed(web, "train.jsonl")
    web.files["/hub/api/datasets/o/n/tree/main"].headers["Link"] = f'<{web.url}/next>; rel="next"'
    with pytest.raises(FetchFailed, match="too many files"):
        find_hub_file(wanted, settings)


def test_a_dataset_that_is_not_on_the_hub(web: Files, settings: Settings) -> None:
    with pytest.raises(FetchFailed, match="no public dataset o/n"):
        find_hub_file(HubFile("o/n", "main", "", f"{web.url}/hub"), settings)
