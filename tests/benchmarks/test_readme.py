"""The list of benchmarks."""

import re
from pathlib import Path

FOLDER = Path(__file__).parents[2] / "benchmarks"


def test_readme_lists_every_file_of_the_benchmarks() -> None:
    listed = set(re.findall(r"\]\(([\w/]+\.py)\)", (FOLDER / "README.md").read_text()))
    files = {str(file.relative_to(FOLDER)) for file in FOLDER.rglob("*.py") if file.name != "__init__.py"}
    assert listed == files
