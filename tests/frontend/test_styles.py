"""Style sheets of the dashboard that others compose from."""

import re
from pathlib import Path

SOURCE = Path(__file__).parents[2] / "frontend" / "src"
COMPOSED = re.compile(r'composes: [\w ]+ from "([^"]+)"')


def test_composed_style_sheets_have_no_custom_media() -> None:
    """The build copies them into the other sheet as they are written, where a browser ignores `@media (--phone)`."""
    composed = {
        (sheet.parent / name).resolve()
        for sheet in SOURCE.rglob("*.css")
        for name in COMPOSED.findall(sheet.read_text())
    }
    assert composed
    assert [sheet.name for sheet in composed if "@media (--" in sheet.read_text()] == []
