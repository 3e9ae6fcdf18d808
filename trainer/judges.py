"""Judges: functions that an operator installed, named in a spec, never carried by one.

A judge is `judge(prompt: str, response: str, finished: bool) -> float`, higher is better, registered under the
entry-point group `proximal.judges`.
"""

from collections.abc import Callable
from importlib.metadata import entry_points
from typing import cast

from trainer.errors import SpecError

Judge = Callable[[str, str, bool], float]
GROUP = "proximal.judges"


def load(name: str | None) -> Judge | None:
    """The judge of that name; None for no name. Raises SpecError, listing the installed ones, for an unknown name."""
    if name is None:
        return None
    installed = {entry.name: entry for entry in entry_points(group=GROUP)}
    if name not in installed:
        known = ", ".join(sorted(installed)) or "none"
        raise SpecError(f"#/evaluation/judge: no judge named {name!r} is installed here (installed: {known}).")
    return cast(Judge, installed[name].load())
