"""The pictured views: which page each one shows, how large, and what is done there before the picture."""

import json
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from playwright.sync_api import BrowserContext, Page, Route, sync_playwright

from benchmarks.measuring.browser import OPTIONS, chromium
from benchmarks.pictures.stored import ANNOTATOR, Stored

Theme = Literal["light", "dark"]
Prepare = Callable[[Page], object]
WIDTH, HEIGHT = 1280, 800
_PAUSE_MS, _MOST_LOOKS = 400, 40


@dataclass(frozen=True)
class View:
    """A page at an address. `ready` is a selector of what is drawn last."""

    name: str
    address: str
    ready: str
    height: int = HEIGHT
    width: int = WIDTH
    theme: Theme = "light"
    prepare: Prepare | None = None
    documented: bool = True
    """Whether a page of the documentation shows it. The others only serve the comparison of two commits."""


def views(stored: Stored) -> list[View]:
    """All views."""
    job, charts = f"/jobs/{stored.demo}", "article b[data-value]"
    runs = ",".join(stored.sweep)
    dataset = f"/datasets/{stored.collected}"
    return [
        View("run", f"{job}?stage=ppo", charts, 900),
        View("run-dark", f"{job}?stage=ppo", charts, 900, theme="dark"),
        View("run-phone", f"{job}?stage=ppo", charts, 844, 390, documented=False),
        View("jobs", "/", "tbody tr", 620),
        View("jobs-dark", "/", "tbody tr", 620, theme="dark", documented=False),
        View("result", job, "main h2", 934),
        View("result-dark", job, "main h2", 934, theme="dark"),
        View("completions", f"{job}?stage=ppo&tab=completions&step=30", "main article", 900, prepare=_open_tokens),
        View("over-optimisation", f"{job}?stage=ppo&tab=over-optimisation", "main svg, main canvas", 760),
        View("compare", f"/compare?runs={runs}&stage=ppo", charts, 900),
        View("new-job", f"/jobs/new?clone={stored.demo}", "aside table", 900),
        View("report", dataset, "main h2", 760),
        View("report-figures", dataset, "main h2", 760, prepare=_scroll_to("Prompts")),
        View("annotate", f"/annotate/{stored.open_round}/queue", "[aria-label='Answer 1']", 560),
        View("round", f"/annotate/{stored.closed_round}", "main h2", 640),
        View("workers", "/workers", "main tbody tr", 300),
    ]


def _open_tokens(page: Page) -> None:
    """The tokens of the first completion that has any."""
    page.get_by_role("button", name="Tokens", exact=True).first.click()


def _scroll_to(heading: str) -> Prepare:
    def scroll(page: Page) -> None:
        page.get_by_role("heading", name=heading).first.evaluate("heading => heading.scrollIntoView()")

    return scroll


def photograph(address: str, key: str, stored: Stored, folder: Path, chosen: Iterable[View]) -> Iterator[Path]:
    """Write a PNG for each view. Yields each file."""
    folder.mkdir(parents=True, exist_ok=True)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium(), args=OPTIONS)
        try:
            for view in chosen:
                with _page(browser.new_context, view, address, key, stored) as page:
                    file = folder / f"{view.name}.png"
                    file.write_bytes(_picture(page, view))
                    yield file
        finally:
            browser.close()


@contextmanager
def _page(
    new_context: Callable[..., BrowserContext], view: View, address: str, key: str, stored: Stored
) -> Iterator[Page]:
    """A page with the clock, the time zone and the measurements of the workers that the stored platform names."""
    size = {"width": view.width, "height": view.height}
    place = {"locale": "en-US", "timezone_id": "UTC", "color_scheme": view.theme, "reduced_motion": "reduce"}
    context = new_context(base_url=address, viewport=size, **place)
    try:
        reply = context.request.post("/v1/session", data={"token": key})
        if not reply.ok:
            raise SystemExit(f"The sign-in to the platform failed: {reply.status} {reply.text()}")
        context.add_init_script(f"localStorage.setItem('proximal-annotator', {json.dumps(ANNOTATOR)})")
        context.route("**/v1/workers", lambda route: _send(route, stored.workers))
        page = context.new_page()
        page.clock.set_fixed_time(stored.now)
        yield page
    finally:
        context.close()


def _send(route: Route, workers: list[object]) -> None:
    route.fulfill(json={"object": "list", "data": workers})


def _picture(page: Page, view: View) -> bytes:
    """The picture of a page that has stopped changing. Ends the program if the page does not."""
    page.goto(view.address)
    page.wait_for_selector(view.ready)
    _still(page, view)
    if view.prepare:
        view.prepare(page)
        page.mouse.move(0, 0)
    return _still(page, view)


def _still(page: Page, view: View) -> bytes:
    """Two pictures in a row that are the same, of a page without placeholders."""
    before = b""
    for _ in range(_MOST_LOOKS):
        picture = page.screenshot(animations="disabled", caret="hide")
        if picture == before and not page.locator("[role=status][aria-label^=Loading]").count():
            return picture
        before = picture
        page.wait_for_timeout(_PAUSE_MS)
    raise SystemExit(f"The page of the picture {view.name} changes all the time: {page.url}")
