"""The dashboard's own way to send large files, in a real browser, to the real platform."""

import hashlib
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Page, Request, Route

from proximal.sdk import Client
from tests.e2e.conftest import REPOSITORY, NewPage
from tests.waiting import eventually

MIB = 1024 * 1024
SIZE = 40 * MIB
"""Two parts of 16 MiB, and one of 8."""
_BUNDLE = """
import { build } from "vite";
const [root, outDir] = process.argv.slice(1);
const lib = { entry: `${root}/src/features/datasets/api/upload.ts`, formats: ["iife"], name: "uploads", fileName: () => "uploads.js" };
const resolve = { alias: { "@": `${root}/src` } };
await build({ configFile: false, root, resolve, logLevel: "error", build: { lib, outDir, minify: false } });
"""
_START = """
async ([size, byte, stopAtOnce]) => {
  const content = new Uint8Array(size).fill(byte);
  const file = new File([content], "large.bin", { lastModified: 1 });
  window.stop = new AbortController();
  window.told = [];
  window.checked = [];
  const onProgress = ({ sent, total, checking }) => (checking ? window.checked : window.told).push(sent / total);
  const onOpen = ({ id }) => {
    window.id = id;
    if (stopAtOnce) window.stop.abort();
  };
  try {
    const upload = await uploads.startUpload(file, { onProgress, onOpen, signal: window.stop.signal });
    return { ...upload, error: null };
  } catch (error) {
    return { id: window.id, error: error.name };
  }
}
"""


@pytest.fixture(scope="package")
def script(tmp_path_factory: pytest.TempPathFactory) -> str:
    """src/features/datasets/api/upload.ts with all that it imports, for a page that does not have it."""
    out, root = tmp_path_factory.mktemp("bundle"), REPOSITORY / "frontend"
    path = os.pathsep.join([str(Path(sys.prefix) / "node" / "bin"), os.environ["PATH"]])
    command = ["node", "--input-type=module", "-e", _BUNDLE, str(root), str(out)]
    subprocess.run(command, cwd=root, env={**os.environ, "PATH": path}, check=True, capture_output=True)
    return (out / "uploads.js").read_text()


@pytest.fixture
def page(new_page: NewPage, script: str) -> Page:
    page = new_page()
    _load(page, script)
    return page


def _load(page: Page, script: str) -> None:
    page.goto("/")
    page.evaluate(f"{script}; window.uploads = uploads")


def start(page: Page, byte: int = 7, stop_at_once: bool = False) -> dict[str, Any]:
    """Send a file of so many equal bytes, or only open an upload for it; what became of it."""
    made: dict[str, Any] = page.evaluate(_START, [SIZE, byte, stop_at_once])
    return made


def sum_of(byte: int) -> str:
    return hashlib.sha256(bytes([byte]) * SIZE).hexdigest()


def parts_sent(page: Page) -> list[str]:
    """Grows with the numbers of the parts that the page sends."""
    numbers: list[str] = []

    def note(request: Request) -> None:
        if request.method == "PUT":
            numbers.append(request.url.rpartition("/")[2])

    page.on("request", note)
    return numbers


def test_upload_client_sends_parts_and_reports_progress(page: Page, client: Client) -> None:
    sent = parts_sent(page)
    upload = start(page)
    assert (upload["status"], upload["sha256"], sorted(sent)) == ("complete", sum_of(7), ["1", "2", "3"])
    told = page.evaluate("window.told")
    assert told[0] == 0 and told[-1] == 1
    client.delete_upload(upload["id"])


def test_upload_client_resumes_a_stopped_upload_after_reload(page: Page, script: str, client: Client) -> None:
    held: list[Route] = []

    def hold(route: Route) -> None:
        held.append(route)

    page.route("**/parts/2", hold)
    page.evaluate(f"(wanted) => {{ window.result = ({_START})(wanted) }}", [SIZE, 7, False])
    # Not wait_for_function: the page's own rules forbid what it does.
    eventually(lambda: page.evaluate("window.id") or page.wait_for_timeout(20))
    upload_id = page.evaluate("window.id")
    eventually(lambda: client.get_upload(upload_id)["received"] == [1, 3] or page.wait_for_timeout(20))
    page.evaluate("window.stop.abort()")
    assert page.evaluate("window.result") == {"id": upload_id, "error": "AbortError"}
    page.unroute("**/parts/2")

    _load(page, script)
    sent = parts_sent(page)
    upload = start(page)
    assert (upload["id"], upload["sha256"], sent) == (upload_id, sum_of(7), ["2"])
    assert page.evaluate("[window.checked.at(-1), window.told[0]]") == pytest.approx([24 / 40, 24 / 40])
    assert page.evaluate("Object.keys(localStorage).filter((key) => key.startsWith('upload:'))") == []
    client.delete_upload(upload_id)


def test_upload_client_restarts_at_first_differing_part(page: Page, client: Client) -> None:
    stopped = start(page, byte=1, stop_at_once=True)
    for part, size in {1: 16, 2: 16, 3: 8}.items():
        client.put_upload_part(stopped["id"], part, bytes([1]) * size * MIB)
    held: list[Route] = []
    page.route("**/parts/3", lambda route: held.append(route) if route.request.method == "GET" else route.continue_())
    upload = start(page, byte=2)
    assert upload["id"] != stopped["id"] and upload["sha256"] == sum_of(2)
    for made in (upload, stopped):
        client.delete_upload(made["id"])


_SLOW_PATHS = [pytest.param(path, marks=pytest.mark.slow) for path in ("**/v1/uploads", "**/parts/2")]


@pytest.mark.parametrize("path", ["**/complete", *_SLOW_PATHS])
def test_upload_client_retries_transient_errors(page: Page, client: Client, path: str) -> None:
    troubles = ["connection lost", "503"]

    def trouble(route: Route) -> None:
        match troubles.pop() if troubles else "":
            case "connection lost":
                route.abort()
            case "503":
                route.fulfill(status=503, body="busy")
            case _:
                route.continue_()

    page.route(path, trouble)
    upload = start(page)
    assert (upload["error"], upload["sha256"], troubles) == (None, sum_of(7), [])
    client.delete_upload(upload["id"])


def test_upload_client_restarts_an_upload_that_was_removed(page: Page, client: Client) -> None:
    stopped = start(page, stop_at_once=True)
    client.delete_upload(stopped["id"])
    upload = start(page)
    assert upload["id"] != stopped["id"] and upload["status"] == "complete"
    client.delete_upload(upload["id"])
