"""`proximal usage`: the caller's use and limits."""

from collections.abc import Callable
from typing import Any

import typer

_GIB = 2**30
Shown = Callable[[float], str]
_ROWS: tuple[tuple[str, str, Shown], ...] = (
    ("open_jobs", "unfinished jobs", "{:.0f}".format),
    ("running_jobs", "running jobs", "{:.0f}".format),
    ("gpus", "GPUs of running jobs", "{:.0f}".format),
    ("gpu_hours", "GPU-hours of this month", "{:.1f}".format),
    ("stored_bytes", "stored data", lambda size: f"{size / _GIB:.2f} GiB"),
)


def usage(context: typer.Context) -> None:
    """Show what your key uses, and its limits."""
    from rich.table import Table

    with context.obj.client() as client:
        found: dict[str, Any] = client.get_usage()
    table = Table("resource", "used", "limit")
    for name, label, shown in _ROWS:
        limit = found["limits"][name]
        table.add_row(label, shown(found["used"][name]), "none" if limit is None else shown(limit))
    context.obj.printer.item(found, table, key=None)
