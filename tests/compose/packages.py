"""The packages that an installation with some extras consists of, from those that the tests run with."""

import tomllib
from collections.abc import Iterator
from importlib.metadata import distribution, requires
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from tests.compose.compose_file import ROOT


def closure(extras: list[str], project: Path = ROOT) -> set[str]:
    """The names of all distributions that pip would install, those that others need included."""
    return set(_walk(extras, project))


def link(extras: list[str], site: Path, project: Path = ROOT) -> None:
    """Make them, and no others, importable from the folder `site`, with their metadata."""
    for name in closure(extras, project):
        files = distribution(name).files or []
        for top in {file.parts[0] for file in files} - {"..", "__pycache__"}:
            target = site / top
            if not target.exists():  # some distributions share a namespace
                target.symlink_to(Path(str(distribution(name).locate_file(top))))


def _walk(extras: list[str], folder: Path) -> Iterator[str]:
    project = tomllib.loads((folder / "pyproject.toml").read_text())["project"]
    asked: dict[str, list[str]] = project["optional-dependencies"]
    waiting = [
        Requirement(line) for line in (*project["dependencies"], *(line for one in extras for line in asked[one]))
    ]
    seen: set[tuple[str, frozenset[str]]] = set()
    while waiting:
        needed = waiting.pop()
        name, wanted = canonicalize_name(needed.name), frozenset(needed.extras)
        if (name, wanted) in seen:
            continue
        seen.add((name, wanted))
        if name == "proximal-rlhf":
            waiting += [Requirement(line) for extra in wanted for line in asked[extra]]
            continue
        yield name
        waiting += [one for one in map(Requirement, requires(name) or []) if _applies(one, wanted)]


def _applies(requirement: Requirement, extras: frozenset[str]) -> bool:
    marker = requirement.marker
    return marker is None or any(marker.evaluate({"extra": extra}) for extra in extras | {""})
