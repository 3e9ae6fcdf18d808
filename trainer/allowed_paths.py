"""The local paths that this process may read.

A worker starts the trainer with `--local-paths`; from then on every model folder and word list is checked right before it
is opened. Started by hand the trainer is unrestricted: it reads what its user may read.
"""

import argparse
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from pydantic import ValidationError

from trainer.errors import SpecError
from trainer.spec import JobSpec
from trainer.spec.named_resources import named_paths
from trainer.spec.path_rules import PathNotAllowed, PathRules, is_hub_id

# The rules hold for the whole process, because code in a new thread must not escape them.
_rules: PathRules | None = None


@contextmanager
def confined_to(rules: PathRules | None) -> Iterator[None]:
    """While inside, the process reads only what `rules` allow; None lifts the restriction."""
    global _rules
    before, _rules = _rules, rules
    try:
        yield
    finally:
        _rules = before


def current() -> PathRules | None:
    """The rules in force, to be passed on to a process that this one starts."""
    return _rules


def add_option_to(command: argparse.ArgumentParser) -> None:
    """`--local-paths`, for each command that a worker starts."""
    command.add_argument(
        "--local-paths",
        type=Path,
        metavar="FILE",
        help="folders that local models and files may lie in, as JSON (written by a worker); left out: any",
    )


def read_rules(file: Path | None) -> PathRules | None:
    """The rules that a worker wrote; the file's folder is the run's own. Raises SpecError."""
    if file is None:
        return None
    try:
        rules = PathRules.model_validate_json(file.read_bytes())
    except (OSError, ValidationError) as error:
        raise SpecError(f"{file} holds no rules for local paths: {error}") from error
    return rules.model_copy(update={"own": (file.resolve().parent,)})


def permits(path: str | Path) -> bool:
    """Whether this process may read a local path, whether or not it exists."""
    return _rules is None or _rules.why_not(path) is None


def permitted_folder(path: str | Path) -> Path:
    """The folder to open, with its links resolved where the process is confined. Raises SpecError."""
    return _permitted(path, folder=True)


def permitted_file(path: str | Path) -> Path:
    """The file to open, with its links resolved where the process is confined. Raises SpecError."""
    return _permitted(path, folder=False)


def check_spec(spec: JobSpec) -> None:
    """Raise SpecError, naming the field, for a path in `spec` that this process may not read."""
    for named in named_paths(spec):
        if named.is_model and is_hub_id(named.value):
            continue
        if _rules is not None and (why := _rules.why_not(named.value)) is not None:
            raise SpecError(f"{named.pointer}: {why}.")


def _permitted(path: str | Path, folder: bool) -> Path:
    if _rules is None:
        return Path(path)
    try:
        return _rules.checked_folder(path) if folder else _rules.resolved(path)
    except PathNotAllowed as error:
        raise SpecError(f"{path}: {error}.") from error
