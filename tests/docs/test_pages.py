"""The pages agree with the code and with each other."""

import re
from pathlib import Path

import pytest

from core.backup.manifest import BackupError
from core.errors import LeaseLost, PlatformError, SettingsError
from tests.api.compatibility import committed

ROOT = Path(__file__).parents[2]
PAGES = [
    *(ROOT / folder / "README.md" for folder in (".", "examples", "frontend")),
    *(ROOT / name for name in ("CONTRIBUTING.md", "CHANGELOG.md", "SECURITY.md")),
    *sorted((ROOT / "docs").rglob("*.md")),
]
LINK = re.compile(r"(?<!!)\[[^\]]*\]\((?!https?:|mailto:)(?P<path>[^)#\s]*)(?:#(?P<anchor>[^)\s]+))?\)")
IMAGE = re.compile(r"!\[[^\]]*\]\((?!https?:)(?P<path>[^)\s]+)\)|<img[^>]+src=\"(?!https?:)(?P<src>[^\"]+)\"")
FENCED = re.compile(r"^```.*?^```$", re.MULTILINE | re.DOTALL)


def anchors(page: Path) -> set[str]:
    return anchors_in(page.read_text())


def anchors_in(text: str) -> set[str]:
    """The headings of a page, as GitHub makes links of them."""
    headings = re.findall(r"^#+ (.+)$", FENCED.sub("", text), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).strip().replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_link_leads_somewhere(page: Path) -> None:
    text = FENCED.sub("", page.read_text())
    for link in LINK.finditer(text):
        target = (page.parent / link["path"]).resolve() if link["path"] else page
        assert target.exists() and target.is_relative_to(ROOT), f"{link[0]} leads nowhere"
        if link["anchor"]:
            assert target.suffix == ".md", f"{link[0]}: only a page has headings"
            assert link["anchor"] in anchors(target), f"{link[0]}: there is no such heading"
    for image in IMAGE.finditer(text):
        assert (page.parent / (image["path"] or image["src"])).is_file(), f"{image[0]} is not there"


def test_every_page_is_in_the_index() -> None:
    docs = ROOT / "docs"
    index = (docs / "README.md").read_text()
    pages = [str(page.relative_to(docs)) for page in docs.glob("*/*.md") if page.parent.name != "decisions"]
    assert [name for name in pages if f"({name})" not in index] == []
    decisions = (ROOT / "docs" / "decisions" / "README.md").read_text()
    assert [
        page.name for page in (ROOT / "docs" / "decisions").glob("0*.md") if f"({page.name})" not in decisions
    ] == []


def test_decisions_are_numbered_without_a_gap() -> None:
    numbers = [int(page.name[:4]) for page in sorted((ROOT / "docs" / "decisions").glob("0*.md"))]
    assert numbers == list(range(1, len(numbers) + 1))


def test_every_path_in_the_rest_tour_exists() -> None:
    known = [re.compile(re.sub(r"\{[^}]+\}", '[^/?"]+', path) + "$") for path in committed()["paths"]]
    text = (ROOT / "docs" / "how-to" / "use-the-rest-api.md").read_text()
    used = set(re.findall(r"(/v1/[^\s\"'?`)]+)", text))
    assert len(used) > 15
    assert [path for path in used if not any(pattern.fullmatch(path) for pattern in known)] == []


def test_the_rest_tour_lists_every_error_code() -> None:
    text = (ROOT / "docs" / "how-to" / "use-the-rest-api.md").read_text()
    # Seen at start-up only, by workers only, by two commands only, and the base of others.
    hidden = {SettingsError.code, LeaseLost.code, BackupError.code, "conflict"}
    codes = {kind.code for kind in _kinds(PlatformError)} - hidden
    assert [code for code in sorted(codes) if f"`{code}`" not in text] == []


def _kinds(kind: type[PlatformError]) -> set[type[PlatformError]]:
    return {kind}.union(*(_kinds(sub) for sub in kind.__subclasses__()))


def test_the_site_lists_every_page() -> None:
    """MkDocs builds a page that its navigation leaves out, but no reader finds it."""
    listed = (ROOT / "mkdocs.yml").read_text()
    docs = ROOT / "docs"
    pages = [page for page in docs.rglob("*.md") if not page.match("decisions/0*.md")]  # the hooks list these
    assert [page for page in pages if f" {page.relative_to(docs)}\n" not in listed] == []
