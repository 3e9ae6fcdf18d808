"""Every page of the dashboard: readable by all in both themes, nothing cut off at any width, no error in the console."""

import gzip
import re
from collections.abc import Iterator

import pytest
from playwright.sync_api import CDPSession, ConsoleMessage, Page, expect

from proximal.sdk import Client
from tests.e2e.axe import unread, unseen, violations
from tests.e2e.conftest import REPOSITORY, NewPage

ASSETS = REPOSITORY / "frontend" / "dist" / "assets"
WIDTHS = (320, 800, 1280, 2560)
"""320 is what remains of 1280 at a zoom of 400 %."""
FONT_PX = {"usual": 16, "twice": 32}
RUN_TABS = ("metrics", "completions", "over-optimisation", "events", "logs", "machine", "checkpoints", "spec", "about")
ABSENT = "job_aaaaaaaaaaaaaaaaaaaaaaaa"
EXPECTED = "status of 404"
"""The browser reports such responses. The absent job causes one."""
LISTS = re.compile(r"/v1/(jobs|findings|groups|datasets|annotation/rounds)(\?|$)")
JOB = re.compile(r"/v1/jobs/job_[a-z0-9]+$")
# Spaces as in WCAG 1.4.12. The policy of the page refuses <style>, but not a constructed style sheet.
SPACE = """isOn => {
    window.spaced ??= new CSSStyleSheet();
    const wide = "line-height: 1.5 !important; letter-spacing: 0.12em !important; word-spacing: 0.16em !important";
    window.spaced.replaceSync(isOn ? `* { ${wide} }` : "");
    document.adoptedStyleSheets = [window.spaced];
}"""
# The router follows the address, so the code of the dashboard is loaded once.
GO = """path => {
    history.pushState(null, "", path);
    dispatchEvent(new PopStateEvent("popstate"));
}"""


def paths(client: Client, job_id: str, round_id: str) -> Iterator[str]:
    dataset = f"/datasets/{client.get_job(job_id)['spec']['data']['preferences'].partition('@')[0]}"
    yield from ("/", "/?q=nothing-like-this", "/groups", f"/groups/{client.create_group(name='Empty')['id']}")
    yield from (f"/jobs/{job_id}?stage=ppo&tab={tab}" for tab in RUN_TABS)
    yield from (f"/jobs/{job_id}?stage={stage}" for stage in ("sft", "reward_model", "evaluation"))
    yield from (f"/jobs/{ABSENT}", "/nothing-here", f"/compare?runs={job_id}", "/compare")
    yield from (f"/compare?runs={job_id}&tab=completions", f"/jobs/{job_id}?readonly=1")
    yield from ("/jobs/new", f"/jobs/new?clone={job_id}", f"/jobs/new?branch={job_id}", "/templates", "/workers")
    yield from ("/findings", "/findings?severity=error", "/jobs/new?recipe=dpo")
    yield from (
        dataset,
        f"{dataset}?tab=rows&diff=1",
        f"{dataset}?tab=rows&view=table&row=2",
        f"{dataset}?tab=versions",
    )
    yield from ("/datasets", "/datasets/new", "/annotate", "/annotate/new", f"/annotate/new?job={job_id}")
    yield from (f"/annotate/{round_id}", f"/annotate/{round_id}/queue")
    yield from (
        "/settings",
        "/settings?tab=members",
        "/settings?tab=usage",
        "/settings?tab=webhooks",
        "/settings?tab=audit",
        "/settings?tab=platform",
        "/settings?tab=notifications",
    )


def opened(page: Page, path: str) -> None:
    page.evaluate(GO, path)
    expect(page.locator("main").locator("h1, kbd").first).to_be_attached()
    expect(page.get_by_label(re.compile("^Loading"))).to_have_count(0)


def faults(page: Page, number: int) -> Iterator[tuple[object, ...]]:
    """Those of the page. Its number decides the width at which each theme is checked, as a check takes 0.3 seconds."""
    themes = {WIDTHS[number % 3]: "light", WIDTHS[(number + 1) % 3]: "dark"}
    for width in WIDTHS:
        page.set_viewport_size({"width": width, "height": 844})
        yield from ((width, each) for each in unseen(page))
        if theme := themes.get(width):
            page.emulate_media(color_scheme="dark" if theme == "dark" else "light", reduced_motion="reduce")
            yield from ((width, theme, each) for each in violations(page))
    page.emulate_media(color_scheme="light", reduced_motion="reduce")


def faults_of_larger_text(page: Page, letters: CDPSession) -> Iterator[tuple[object, ...]]:
    """Those at the width of 1280 with letters of twice their size, and with wide spaces."""
    page.set_viewport_size({"width": 1280, "height": 844})
    page.evaluate(SPACE, True)
    yield from (("wide spaces", each) for each in unseen(page))
    page.evaluate(SPACE, False)
    _resize(letters, "twice")
    yield from (("letters of 200 %", each) for each in unseen(page))
    _resize(letters, "usual")


def _resize(letters: CDPSession, size: str) -> None:
    letters.send("Page.setFontSizes", {"fontSizes": {"standard": FONT_PX[size]}})


def test_every_page_is_in_order(new_page: NewPage, client: Client, finished_job: str, open_round: str) -> None:
    errors: list[str] = []

    def note(message: ConsoleMessage) -> None:
        if message.type == "error" and EXPECTED not in message.text:
            errors.append(message.text)

    page = new_page()
    page.on("console", note)
    page.add_init_script("localStorage.setItem('proximal-annotator', 'Ada')")
    page.goto("/")
    letters = page.context.new_cdp_session(page)
    found: list[tuple[object, ...]] = []
    for number, path in enumerate(paths(client, finished_job, open_round)):
        page.set_viewport_size({"width": WIDTHS[0], "height": 844})
        opened(page, path)
        found += [(path, *each) for each in faults(page, number)] + [(path, each) for each in unread(page)]
        found += [(path, "class undefined")] * page.locator(".undefined").count()
        found += [(path, *each) for each in faults_of_larger_text(page, letters)]
    page.route(LISTS, lambda route: route.fulfill(json={"object": "list", "data": [], "has_more": False}))
    page.goto("/")
    for number, path in enumerate(("/", "/findings", "/groups", "/datasets", "/annotate")):
        opened(page, path)
        found += [(f"{path} of an empty platform", *each) for each in faults(page, number)]
    page.unroute_all()
    assert found == []
    assert errors == []
    page.context.set_offline(True)
    expect(page.get_by_text("offline", exact=True)).to_be_visible()
    page.context.set_offline(False)
    expect(page.get_by_role("link", name="1 worker online")).to_be_visible()
    page.context.clear_cookies()
    page.goto("/")
    expect(page.get_by_role("button", name="Sign in")).to_be_visible()
    assert [*faults(page, 0), *faults(page, 1)] == []


def test_job_of_unknown_or_short_name_is_a_wide_link(new_page: NewPage, client: Client, finished_job: str) -> None:
    """The page links the latest jobs that have used the dataset, and other tests may have submitted those."""
    dataset = client.get_job(finished_job)["spec"]["data"]["preferences"].partition("@")[0]
    page = new_page()
    with page.expect_request(JOB):
        page.route(JOB, lambda _: None)  # no answer
        page.goto(f"/datasets/{dataset}?tab=versions")
    shown = page.locator('a[title^="job_"]').first.get_attribute("title") or "no job"
    expect(page.locator(f'a[title="{shown}"]')).to_have_text(f"…{shown[-6:]}")
    assert violations(page) == []
    job = client.get_job(shown) | {"name": "x"}
    page.unroute_all()
    page.route(JOB, lambda route: route.fulfill(json=job))
    page.reload()
    expect(page.locator(f'a[title="{shown}"]')).to_have_text("x")
    assert violations(page) == []


@pytest.mark.parametrize("path", ["/", "/jobs/{job}?stage=ppo", "/compare?runs={job}&stage=ppo"])
def test_first_load_has_at_most_180_kb_of_scripts(new_page: NewPage, finished_job: str, path: str) -> None:
    """The size as gzip of all that a browser with an empty cache loads before the user does anything."""
    new_page()
    page = new_page()
    loaded: set[str] = set()
    page.on("response", lambda response: loaded.add(response.url.rpartition("/")[2]))
    page.goto(path.format(job=finished_job))
    expect(page.locator("tbody tr, canvas").last).to_be_visible()
    page.evaluate("new Promise(requestIdleCallback)")
    scripts = [name for name in loaded if name.endswith(".js") and (ASSETS / name).is_file()]
    assert len(scripts) >= 5
    assert sum(len(gzip.compress((ASSETS / name).read_bytes())) for name in scripts) <= 180_000
