"""A browser follows the redirect of a download, saves the file under its name, and sends no cookie to the bucket."""

import pytest
from playwright.sync_api import sync_playwright

from benchmarks.measuring.browser import chromium
from core.models import ApiKey, Checkpoint
from core.settings import Settings
from tests.api.serving import application, serving
from tests.s3.test_downloads import FILE, WEIGHTS, checkpoint, owner, platform_key, used

__all__ = ["checkpoint", "owner", "platform_key", "used"]
pytestmark = [pytest.mark.slow, pytest.mark.parametrize("server", ["moto"], indirect=True)]
CLICK = """path => { const a = document.createElement("a"); a.href = path; a.download = ""; document.body.append(a); a.click(); }"""


def test_browser_saves_the_file_of_a_redirect(
    checkpoint: Checkpoint, used: Settings, owner: tuple[ApiKey, str]
) -> None:
    with serving(application(used)) as port, sync_playwright() as playwright:
        url = f"http://localhost:{port}"  # the bucket is at 127.0.0.1: a cookie belongs to every port of its host
        browser = playwright.chromium.launch(executable_path=chromium())
        context = browser.new_context(base_url=url, accept_downloads=True)
        assert context.request.post("/v1/session", data={"token": owner[1]}, headers={"Origin": url}).ok
        page = context.new_page()
        sent: list[dict[str, str]] = []
        page.on("request", lambda request: sent.append({"url": request.url} | request.all_headers()))
        page.goto("/healthz")
        with page.expect_download() as waiting:
            page.evaluate(CLICK, FILE)
        saved = waiting.value
        assert saved.suggested_filename == "model.safetensors" and saved.path().read_bytes() == WEIGHTS
        elsewhere = [one for one in sent if not one["url"].startswith(url)]
        assert elsewhere and all("cookie" not in one and "authorization" not in one for one in elsewhere)
        browser.close()
