"""`proximal jobs telemetry`: measurements of the machine during an attempt."""

import re
from collections.abc import Iterator
from typing import Annotated

import typer
from rich.table import Table

from proximal.commands.job_changes import JobId
from proximal.sdk.types import Telemetry
from proximal.terminal import plain

_GIB = 2**30


def telemetry(
    context: typer.Context,
    job_id: JobId,
    attempt: Annotated[int | None, typer.Option(min=1, help="The attempt. Default: all of them.")] = None,
) -> None:
    """Show the use of CPU, memory, disk and GPUs: the last, mean and highest value of each measurement over all attempts."""
    with context.obj.client() as client:
        found = client.get_job_telemetry(job_id, attempt=attempt, every_attempt=attempt is None)
    table = Table("measurement", "last", "mean", "highest", "unit")
    rows = list(summary(found))
    for row in rows:
        table.add_row(*row)
    shown = table if rows else plain(f"{'The job' if attempt is None else f'Attempt {attempt}'} has no measurements.")
    context.obj.printer.item(found, shown, key=None)


def summary(found: Telemetry) -> Iterator[tuple[str, ...]]:
    """A row for each measurement, bytes in GiB. The mean is weighted by the width of the buckets, at least 1 s for each."""
    units = {one["name"]: one["unit"] for one in found["measurements"]}
    widths = [max(seconds, 1.0) for seconds in found["seconds"]]
    for series in found["series"]:
        pairs = [(value, width) for value, width in zip(series["values"], widths, strict=True) if value is not None]
        if not pairs:
            continue
        mean = sum(value * width for value, width in pairs) / sum(width for _, width in pairs)
        figures = (pairs[-1][0], mean, max(value for value, _ in pairs))
        unit = units.get(re.sub(r"/[0-9]+/", "/<n>/", series["name"]), "")
        scale, shown = (_GIB, "GiB") if unit == "bytes" else (1, unit)
        yield (series["name"], *(f"{figure / scale:.4g}" for figure in figures), shown)
