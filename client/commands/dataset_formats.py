"""`proximal datasets formats` and `export`."""

import json
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from client.terminal import list_of, plain

console = Console(highlight=False)


class Output(StrEnum):
    """How a list is printed."""

    TABLE = "table"
    JSON = "json"


def formats(
    context: typer.Context,
    output: Annotated[Output, typer.Option(help="A table, or everything as JSON.")] = Output.TABLE,
) -> None:
    """List the formats that files may have, each with an example."""
    with context.obj.client() as client:
        found = client.list_formats()
    if output is Output.JSON:
        console.print(plain(json.dumps(found, ensure_ascii=False, indent=2)), soft_wrap=True)
        return
    table = list_of("title", "kinds", "an example")
    for one in found:
        table.add_row(
            one["id"],
            plain(one["title"]),
            ", ".join(one["kinds"]),
            plain(json.dumps(one["example"][0], ensure_ascii=False)),
        )
    console.print(table)


def export(
    context: typer.Context,
    dataset_id: Annotated[str, typer.Argument(help="The dataset's id, ds_…", show_default=False)],
    file: Annotated[Path, typer.Argument(help="Where to write it.", dir_okay=False, show_default=False)],
    format: Annotated[str, typer.Option(help="trl, openai, parquet or rows.")] = "trl",
    version: Annotated[int | None, typer.Option(help="Which version. Default: the newest.", show_default=False)] = None,
) -> None:
    """Write a dataset's rows to a file, in a format that other programs read."""
    with context.obj.client() as client:
        left_out = client.export_dataset(dataset_id, file, format, version)
    rest = f", {left_out} rows left out: they have no place in this format" if left_out else ""
    console.print(plain(f"{file}{rest}"), soft_wrap=True)
