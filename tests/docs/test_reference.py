"""The reference pages agree with the code that they are generated from."""

import re
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from core.settings import Settings
from tests.api.compatibility import committed
from tests.docs.test_pages import LINK, anchors_in
from trainer.spec import JobSpec

ROOT = Path(__file__).parents[2]
GENERATED = ("spec", "metrics", "rest", "events", "commands", "formats", "settings")


@pytest.fixture
def pages(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(str(ROOT / "docs" / "generate"))
    import pages

    return pages


def test_generated_pages_are_up_to_date(pages: ModuleType) -> None:
    for path, text in pages.PAGES.items():
        page = path.read_text()
        assert page == text(page), f"{path.relative_to(ROOT)}: run `make reference`"


@pytest.mark.parametrize("name", GENERATED)
def test_generated_pages_link_only_to_headings(name: str) -> None:
    page = (ROOT / "docs" / "reference" / f"{name}.md").read_text()
    links = {link["anchor"] for link in LINK.finditer(page) if not link["path"]}
    assert links - anchors_in(page) == set()


def test_readme_counts_the_formats(pages: ModuleType) -> None:
    from tables import FORMATS

    assert f"[{len(FORMATS) - 1} formats](docs/reference/formats.md)" in pages.README.read_text()


def test_spec_page_has_every_field(pages: ModuleType) -> None:
    page = pages.SPEC.read_text()
    schema = JobSpec.model_json_schema()
    assert [name for name in _fields(schema) if f"| `{name}` |" not in page] == []


def test_spec_page_has_every_kind_of_reward(pages: ModuleType) -> None:
    page = pages.SPEC.read_text()
    names = [name for name in JobSpec.model_json_schema()["$defs"] if name.endswith("Reward")]
    assert len(names) >= 10 and page.count("\n### Reward `") == len(names) and "\n### Judge `http_judge`" in page
    assert "| `rewards` | list of [reward](#rewards-and-judges) | none |" in page


def test_rest_page_has_every_route(pages: ModuleType) -> None:
    page = pages.REST.read_text()
    routes = [f"### `{method.upper()} {path}`" for path, methods in committed()["paths"].items() for method in methods]
    assert len(routes) > 50 and [route for route in routes if route not in page] == []


def test_commands_page_has_every_command(pages: ModuleType) -> None:
    page = pages.COMMANDS.read_text()
    for command in ("proximal jobs submit", "proximal datasets upload", "python -m trainer run", "python -m core keys"):
        assert f"### `{command}" in page
    assert "| `SPEC` |" in page and "Default: `8000`." in page


def test_events_page_has_every_event(pages: ModuleType) -> None:
    from trainer import events

    kinds = {
        one.model_fields["type"].default
        for one in vars(events).values()
        if hasattr(one, "model_fields") and "type" in one.model_fields
    }
    assert len(kinds) > 10
    assert kinds - set(re.findall(r"^## `(\w+)`$", pages.EVENTS.read_text(), re.MULTILINE)) == set()


def test_settings_page_has_every_setting(pages: ModuleType) -> None:
    page = pages.SETTINGS.read_text()
    variables = re.findall(r"^## `(\w+)`\n\n(?:Default: .+|\*\*Required\.\*\*)\n\n[A-Z].+\.$", page, re.MULTILINE)
    assert len(variables) == len(Settings.model_fields)


def _fields(schema: dict[str, Any]) -> set[str]:
    sections = [schema, *(one for one in schema["$defs"].values() if "properties" in one)]
    return {name for section in sections for name in section["properties"]}
