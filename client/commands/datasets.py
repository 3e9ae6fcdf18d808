"""`proximal datasets …`"""

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from client.terminal import list_of, moment, plain

app = typer.Typer(help="Upload datasets and list them.", no_args_is_help=True)
console = Console(highlight=False)


@app.command()
def upload(
    context: typer.Context,
    file: Annotated[Path, typer.Argument(exists=True, dir_okay=False, help="JSONL file.", show_default=False)],
    kind: Annotated[
        str, typer.Option(help="What its rows are: preferences, sft, prompts or pretraining.", show_default=False)
    ],
    name: Annotated[str, typer.Option(help="For people. Default: the file's name.", show_default=False)] = "",
) -> None:
    """Upload a dataset; every row is checked."""
    with context.obj.client() as client:
        dataset = client.upload_dataset(file, kind, name)
    console.print(f"{dataset['id']}  {dataset['rows']} rows")


@app.command("list")
def list_(
    context: typer.Context,
    kind: Annotated[str | None, typer.Option(help="Only this kind: preferences, sft, prompts or pretraining.")] = None,
) -> None:
    """List datasets, newest first."""
    table = list_of("name", "kind", "rows", "bytes", "created")
    with context.obj.client() as client:
        for row in client.list_datasets(kind):
            size = (str(row["rows"]), str(row["bytes"]))
            table.add_row(row["id"], plain(row["name"]), row["kind"], *size, moment(row["created_at"]))
    console.print(table)
