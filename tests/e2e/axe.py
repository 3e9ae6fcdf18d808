"""Faults of a page for its reader: violations of accessibility rules, and parts that cannot be seen."""

from functools import cache
from pathlib import Path

from playwright.sync_api import Page

AXE = Path(__file__).parents[2] / "frontend" / "node_modules" / "axe-core" / "axe.min.js"
ALL = ("wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice")
# Chromium without a window sometimes stops drawing until the page changes, so the wait for two frames is bounded.
_DRAWN = """Promise.race([
        new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done))),
        new Promise((done) => setTimeout(done, 2000)),
    ])"""
_RUN = """async ({ rules, within }) => {
    // Axe counts a control that the header covers in part as a small one.
    if (!within) scrollTo(0, 0);
    // Wait until colours have stopped changing. Even a reduced motion takes a moment.
    await DRAWN;
    const changing = document.getAnimations().filter((one) => one instanceof CSSTransition);
    const later = new Promise((done) => setTimeout(done, 5000));
    await Promise.race([Promise.allSettled(changing.map((one) => one.finished)), later]);
    const { violations } = await axe.run(within ?? document, { runOnly: rules, resultTypes: ["violations"] });
    return violations.flatMap(({ id, nodes }) => nodes.map((node) => `${id}: ${node.target.join(" ")}`));
}""".replace("DRAWN", _DRAWN)
_UNSEEN = """async () => {
    await DRAWN;
    const shown = [...document.querySelectorAll("header, header *, main, main *")].filter((one) => {
        const { width, height } = one.getBoundingClientRect();
        return width > 1 && height > 1 && !one.closest(".visually-hidden, thead");
    });
    const scrolls = (one) => ["auto", "scroll"].includes(getComputedStyle(one).overflowX);
    const inScroller = (one) => one.parentElement !== null && (scrolls(one.parentElement) || inScroller(one.parentElement));
    // After a change of width the charts are drawn anew, some in each frame. Until then their box clips them.
    const isChart = (one) => one.closest(".uplot, :has(> .uplot)") !== null;
    const isOutside = (one) => {
        const { left, right } = one.getBoundingClientRect();
        return (left < -1 || right > innerWidth + 1) && !inScroller(one) && !isChart(one);
    };
    const isCut = (one) => {
        if (one.scrollWidth <= one.clientWidth + 1 || isChart(one)) return false;
        const { overflowX, textOverflow, display } = getComputedStyle(one);
        return ["hidden", "clip"].includes(overflowX) && textOverflow !== "ellipsis" && display !== "inline";
    };
    // A finger needs 24 px. Axe skips buttons that only the arrow keys reach.
    const isTight = (one) => {
        const { width, left, top } = one.getBoundingClientRect();
        const next = one.nextElementSibling?.getBoundingClientRect();
        return one.matches("button") && width < 23.5 && next !== undefined && next.top === top && next.left - left < 23.5;
    };
    const found = [
        ...shown.filter(isTight).map((one) => ["narrow target", one]),
        ...shown.filter(isOutside).map((one) => ["outside", one]),
        ...shown.filter(isCut).map((one) => ["cut off", one]),
    ].map(([what, one]) => `${what}: ${one.outerHTML.slice(0, 120)}`);
    if (document.documentElement.scrollWidth > innerWidth) found.push("The page scrolls sideways.");
    return found;
}""".replace("DRAWN", _DRAWN)

_UNREAD = """() => {
    const shown = (selector, root = document) => [...root.querySelectorAll(selector)].filter((one) => one.checkVisibility());
    const name = (one) => one.getAttribute("aria-label") ?? one.textContent.trim();
    const found = shown("h1 button, h1 a, h2 button, h2 a, h3 button").map((one) => `control in a heading: ${name(one)}`);
    for (const row of shown("tbody tr")) if (row.cells.length > 1 && !row.querySelector("th")) found.push(`row without a header: ${row.textContent}`);
    const title = (one) => one.closest("tr, li")?.querySelector("th a, b")?.textContent;
    for (const list of shown("tbody, main ul, main ol")) {
        const controls = shown("button, a[download]", list).filter((one) => one.closest("tbody, ul, ol") === list);
        // Two rows may have the same title, and so may their controls.
        const isRepeated = (one) => controls.some((other) => name(other) === name(one) && title(other) !== title(one));
        found.push(...controls.filter(isRepeated).map((one) => `name of several controls: ${name(one)}`));
    }
    return found;
}"""


@cache
def _source() -> str:
    return AXE.read_text()


def violations(page: Page, within: str | None = None) -> list[str]:
    """Each as `rule: selector`; none on a page that is in order. `within`: the selector of the only part that is checked."""
    if not page.evaluate("'axe' in window"):
        page.evaluate(_source())
    found: list[str] = page.evaluate(_RUN, {"rules": list(ALL), "within": within})
    return found


def unseen(page: Page) -> list[str]:
    """Elements beyond the sides of the window or of their box, except where the user can scroll to them."""
    found: list[str] = page.evaluate(_UNSEEN)
    return found


def unread(page: Page) -> list[str]:
    """Names that a screen reader cannot tell apart, rows of tables without a name, and headings that hold controls."""
    found: list[str] = page.evaluate(_UNREAD)
    return found
