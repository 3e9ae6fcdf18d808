"""Parses the parts of a Dockerfile that the tests need."""

import fnmatch
from dataclasses import dataclass
from pathlib import Path

from tests.compose.compose_file import ROOT


@dataclass(frozen=True)
class Step:
    """One instruction, in the stage that it belongs to."""

    stage: str
    word: str
    rest: str


def steps(path: Path) -> list[Step]:
    found, stage = [], ""
    for line in _logical_lines(path):
        word, _, rest = line.partition(" ")
        if word == "FROM":
            stage = rest.split(" AS ")[1] if " AS " in rest else "final"
        found.append(Step(stage, word, rest.strip()))
    return found


def bases(path: Path) -> set[str]:
    """The base images by default: the build arguments have the values of their declarations."""
    defaults = dict(step.rest.split("=") for step in steps(path) if step.stage == "" and step.word == "ARG")
    named = {step.rest.split()[0] for step in steps(path) if step.word == "FROM"}
    return {defaults.get(name.strip("${}"), name) for name in named}


def copies(path: Path, stage: str) -> list[tuple[str, str]]:
    """(source, target) of what a stage copies from the repository."""
    pairs = []
    for step in steps(path):
        if step.stage == stage and step.word == "COPY" and not step.rest.startswith("--from"):
            *sources, target = step.rest.split()
            pairs += [(source, target) for source in sources]
    return pairs


def extras(path: Path) -> list[str]:
    """The extras of pyproject.toml that an image installs."""
    (install,) = [step.rest for step in steps(path) if "-r pyproject.toml" in step.rest]
    words = install.split()
    return [words[index + 1] for index, word in enumerate(words) if word == "--extra"]


def is_sent(path: str) -> bool:
    """Whether .dockerignore lets a path of the repository through: the last rule that fits it, or a folder above it, decides."""
    sent = True
    for rule in (ROOT / ".dockerignore").read_text().splitlines():
        if not rule or rule.startswith("#"):
            continue
        pattern = rule.removeprefix("!").removeprefix("**/")
        parts = Path(path).parts
        anywhere = "**/" in rule
        starts = range(len(parts)) if anywhere else (0,)
        tried = ["/".join(parts[start:end]) for start in starts for end in range(start + 1, len(parts) + 1)]
        if any(fnmatch.fnmatchcase(one, pattern) and one.count("/") == pattern.count("/") for one in tried):
            sent = rule.startswith("!")
    return sent


def _logical_lines(path: Path) -> list[str]:
    lines = [line for line in path.read_text().splitlines() if line.strip() and not line.startswith("#")]
    return "\n".join(lines).replace("\\\n", " ").splitlines()
