"""`.gitattributes` marks the files that programs write, so that a review shows them folded."""

import re
from pathlib import Path

ROOT = Path(__file__).parents[1]
HEADER = re.compile("`make openapi` generates|then run `make reference`|auto-generated")
FOLDERS = ("proximal", "docs/reference", "frontend/src")


def marked() -> set[str]:
    lines = (ROOT / ".gitattributes").read_text().splitlines()
    return {line.split()[0].lstrip("/") for line in lines if line.endswith(" linguist-generated")}


def beginning(file: Path) -> str:
    """The first four lines."""
    return "\n".join(file.read_text().split("\n", 4)[:4])


def test_every_marked_file_exists() -> None:
    assert [path for path in sorted(marked()) if not (ROOT / path).is_file()] == []


def test_every_file_with_a_header_of_a_generator_is_marked() -> None:
    files = [file for folder in FOLDERS for file in (ROOT / folder).rglob("*") if file.suffix in (".py", ".ts", ".md")]
    generated = {str(file.relative_to(ROOT)) for file in files if HEADER.search(beginning(file))}
    assert generated and generated <= marked()
