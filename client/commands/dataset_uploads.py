"""`proximal datasets upload` and `proximal datasets import`."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeRemainingColumn, TransferSpeedColumn

from client.answers import Dataset
from client.errors import ApiError, ClientError
from client.terminal import plain

console = Console(highlight=False)
_INTERRUPTED = 130
_CUSTOM = "custom"

File = Annotated[
    Path,
    typer.Argument(
        exists=True, dir_okay=False, help="JSONL, JSON, CSV or Parquet, plain or as .gz or .zst.", show_default=False
    ),
]
Url = Annotated[
    str,
    typer.Argument(
        help="https://…, s3://bucket/key, hf://datasets/owner/name/file or file:///… on the server.", show_default=False
    ),
]
Kind = Annotated[
    str | None, typer.Option(help="What the rows are: preferences, sft, prompts or pretraining. Default: detected.")
]
Name = Annotated[str, typer.Option(help="For people. Default: the file's name.", show_default=False)]
Format = Annotated[
    str | None, typer.Option(help="What a record means; see `proximal datasets formats`. Default: detected.")
]
Map = Annotated[
    list[str] | None, typer.Option("--map", help="A field and its column, as prompt=question. May be repeated.")
]
Label = Annotated[
    list[str] | None,
    typer.Option(
        "--label",
        help="A label and its meaning (a, b, tie, or nothing if not usable), as model_a=a or unclear= . May be repeated.",
    ),
]
BadRows = Annotated[
    str, typer.Option(help="What to do with rows that cannot be used: refuse the file, report them, or leave_out.")
]


def upload(
    context: typer.Context,
    file: File,
    kind: Kind = None,
    name: Name = "",
    format: Format = None,
    map: Map = None,
    label: Label = None,
    bad_rows: BadRows = "refuse",
) -> None:
    """Upload a dataset; every row is checked. A large file that was interrupted goes on with the same command."""
    mapping = _mapping(map, label)
    said = {"format": format or _format(mapping), "mapping": mapping, "bad_rows": bad_rows}
    with context.obj.client() as client, _bars() as bars, _resumable(), _way_out(bad_rows):
        sent = bars.add_task("Sending", total=file.stat().st_size)
        dataset = client.upload_dataset(
            file,
            kind,
            name,
            **said,
            progress=lambda done, total: bars.update(sent, completed=done, total=total),
            importing=lambda fraction, note: bars.update(sent, description=f"Importing {fraction:.0%}"),
        )
    _tell(dataset)


def import_(
    context: typer.Context,
    url: Url,
    kind: Kind = None,
    name: Name = "",
    format: Format = None,
    map: Map = None,
    label: Label = None,
    bad_rows: BadRows = "refuse",
) -> None:
    """Make a dataset of a file elsewhere, which the platform fetches by itself where its operator allows that."""
    mapping = _mapping(map, label)
    said = {"format": format or _format(mapping), "mapping": mapping, "bad_rows": bad_rows}
    with context.obj.client() as client, _bars() as bars, _way_out(bad_rows):
        fetched = bars.add_task("Fetching", total=None)
        upload = client.create_upload_from(url)
        client.wait_for_upload(
            upload["id"], lambda done, total: bars.update(fetched, completed=done, total=total or None)
        )
        dataset = client.import_upload(upload["id"], name or None, kind, **said)
        dataset = client.wait_for_dataset(
            dataset["id"], lambda fraction, note: bars.update(fetched, description=f"Importing {fraction:.0%}")
        )
    _tell(dataset)


def _tell(dataset: Dataset) -> None:
    console.print(f"{dataset['id']}  {dataset['rows']} rows")
    found = dataset["findings"]
    if dataset["status"] == "blocked":
        console.print(
            plain(f"It is blocked by {found['blocking']} findings: see `proximal datasets report {dataset['id']}`.")
        )


@contextmanager
def _bars() -> Iterator[Progress]:
    """On a terminal only, and gone in the end."""
    error = Console(stderr=True)
    columns = (TextColumn("{task.description}"), BarColumn(), DownloadColumn(), TransferSpeedColumn())
    with Progress(
        *columns, TimeRemainingColumn(), console=error, transient=True, disable=not error.is_terminal
    ) as progress:
        yield progress


@contextmanager
def _way_out(bad_rows: str) -> Iterator[None]:
    """Behind an error about rows, what else can be done about them."""
    try:
        yield
    except ApiError as error:
        if error.code == "invalid_dataset" and bad_rows == "refuse":
            told = "Mend the file; or take it as it is with --bad-rows report, or without these rows with --bad-rows leave_out."
            raise ClientError(f"{error}\n{told}") from error
        raise


@contextmanager
def _resumable() -> Iterator[None]:
    try:
        yield
    except KeyboardInterrupt:
        Console(stderr=True).print("Interrupted. The same command goes on from here.")
        raise typer.Exit(_INTERRUPTED) from None


def _format(mapping: dict[str, Any] | None) -> str | None:
    return None if mapping is None else _CUSTOM


def _mapping(fields: list[str] | None, labels: list[str] | None) -> dict[str, Any] | None:
    """As the API takes it; None if nothing is said."""
    meanings = {name: value or None for name, value in _pairs("--label", labels, empty=True).items()}
    found = {"fields": _pairs("--map", fields), "labels": meanings}
    return {name: pairs for name, pairs in found.items() if pairs} or None


def _pairs(option: str, given: list[str] | None, empty: bool = False) -> dict[str, str]:
    pairs = [text.partition("=") for text in given or []]
    for name, separator, value in pairs:
        if not (name and separator and (value or empty)):
            raise ClientError(f"{option} {name}{separator}{value}: write name=value, as prompt=question.")
    return {name: value for name, _, value in pairs}
