"""Violations of accessibility rules that axe-core finds on a page."""

from functools import cache
from pathlib import Path

from playwright.sync_api import Page

AXE = Path(__file__).parents[2] / "frontend" / "node_modules" / "axe-core" / "axe.min.js"
_RUN = """async () => {
    // Wait until colours have stopped changing. Even a reduced motion takes a moment.
    await new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)));
    const changing = document.getAnimations().filter((one) => one instanceof CSSTransition);
    await Promise.allSettled(changing.map((one) => one.finished));
    const { violations } = await axe.run(document, { runOnly: ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "best-practice"] });
    return violations.flatMap(({ id, nodes }) => nodes.map((node) => `${id}: ${node.target.join(" ")}`));
}"""


@cache
def _source() -> str:
    return AXE.read_text()


def violations(page: Page) -> list[str]:
    """Each as `rule: selector`; none on a page that is in order."""
    page.evaluate(_source())
    found: list[str] = page.evaluate(_RUN)
    return found
