"""Exports of the dashboard's modules have an importer."""

import re
from collections.abc import Iterator
from pathlib import Path

SOURCE = Path(__file__).parents[2] / "frontend" / "src"
DECLARED = re.compile(
    r"^export (?:async )?(?:function\*?|const|let|class|interface|type|enum) (\w+)|^export \{([^}]*)\}", re.MULTILINE
)
IMPORTED = re.compile(r"\b(?:import|export)\s+(?:type\s+)?(?:\w+,\s*)?\{([^}]*)\}")
LOADED_LATER = re.compile(r"\bimport\(.*", re.DOTALL)
"""From the first dynamic import on, a file names the parts of modules anywhere."""


def names_in(braces: str) -> set[str]:
    """The names of an import or export list, those before `as`."""
    return {item.split()[0] for item in braces.replace("type ", "").split(",") if item.strip()}


def exported(text: str) -> Iterator[str]:
    for name, braces in DECLARED.findall(text):
        yield from [name] if name else names_in(braces)


def imported(text: str) -> set[str]:
    listed = set[str]().union(*(names_in(braces) for braces in IMPORTED.findall(text)))
    later = LOADED_LATER.search(text)
    return listed | set(re.findall(r"\w+", later[0] if later else ""))


def test_every_export_of_the_dashboard_has_an_importer() -> None:
    """An export that no other file imports, the tests included, is only a name of its own file."""
    files = [file for file in SOURCE.rglob("*.ts*") if not file.name.endswith(".gen.ts")]
    uses = {file: imported(file.read_text()) for file in files}
    alone = [
        f"{file.relative_to(SOURCE)}: {name}"
        for file in files
        for name in exported(file.read_text())
        if not any(name in names for user, names in uses.items() if user != file)
    ]
    assert not alone, "Delete `export`, or the code:\n" + "\n".join(alone)
