"""`proximal datasets upload` and `proximal datasets import`."""

import shlex
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeRemainingColumn, TransferSpeedColumn

from client.errors import ApiError, ClientError
from client.sdk.types import Dataset
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
    str | None, typer.Option(help="Kind of the rows: preferences, sft, prompts or pretraining. Default: detected.")
]
Name = Annotated[str, typer.Option(help="For people. Default: the file's name.", show_default=False)]
Format = Annotated[
    str | None, typer.Option(help="Format of a record; see `proximal datasets formats`. Default: detected.")
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
Encoding = Annotated[
    str | None,
    typer.Option(help="Encoding of the text, such as cp1252 or shift_jis. Default: UTF-8, or as its first bytes show."),
]
BadRows = Annotated[str, typer.Option(help="Handling of invalid rows: refuse the file, report them, or leave_out.")]


def upload(  # noqa: PLR0913  # one for each option
    context: typer.Context,
    file: File,
    kind: Kind = None,
    name: Name = "",
    format: Format = None,
    map: Map = None,
    label: Label = None,
    bad_rows: BadRows = "refuse",
    encoding: Encoding = None,
) -> None:
    """Upload a dataset and validate every row. To resume an interrupted upload, repeat the command."""
    mapping = _mapping(map, label)
    said = {"format": format or _format(mapping), "mapping": mapping, "bad_rows": bad_rows, "encoding": encoding}
    with context.obj.client() as client, _bars() as bars, _resumable(), _way_out(context):
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


def import_(  # noqa: PLR0913  # one for each option
    context: typer.Context,
    url: Url,
    kind: Kind = None,
    name: Name = "",
    format: Format = None,
    map: Map = None,
    label: Label = None,
    bad_rows: BadRows = "refuse",
    encoding: Encoding = None,
) -> None:
    """Make a dataset from a URL. The platform downloads the file, if its operator allows the address."""
    mapping = _mapping(map, label)
    said = {"format": format or _format(mapping), "mapping": mapping, "bad_rows": bad_rows, "encoding": encoding}
    with context.obj.client() as client, _bars() as bars, _way_out(context):
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
def _way_out(context: typer.Context) -> Iterator[None]:
    """Behind an error about the file, what can be done about it."""
    try:
        yield
    except ApiError as error:
        if error.code == "format_unclear":
            raise way_on(error, _words(context)) from error
        if error.code == "invalid_dataset" and context.params["bad_rows"] == "refuse":
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


def _words(context: typer.Context) -> list[str]:
    """The command as it was given, without how to read the file. The key is left out: it does not belong on a screen."""
    given, root = context.params, context.find_root()
    source = root.get_parameter_source("url")
    url = ["--url", root.params["url"]] if source is not None and source.name == "COMMANDLINE" else []
    what = str(given["file"] if "file" in given else given["url"])
    more = [("--name", given["name"]), ("--encoding", given["encoding"])]
    if given["bad_rows"] != "refuse":
        more.append(("--bad-rows", given["bad_rows"]))
    options = [word for name, value in more if value for word in (name, value)]
    return ["proximal", *url, "datasets", str(context.info_name), what, *options]


def _format(mapping: dict[str, Any] | None) -> str | None:
    return None if mapping is None else _CUSTOM


def _mapping(fields: list[str] | None, labels: list[str] | None) -> dict[str, Any] | None:
    """The mapping for the API; None without options. A label may hold the sign "=", as `A=B` does; its meaning does not."""
    meanings = {name: value or None for name, value in _pairs("--label", labels, empty=True, last=True).items()}
    found = {"fields": _pairs("--map", fields), "labels": meanings}
    return {name: pairs for name, pairs in found.items() if pairs} or None


def _pairs(option: str, given: list[str] | None, *, empty: bool = False, last: bool = False) -> dict[str, str]:
    """`empty`: a value may be. `last`: the name ends at the last sign."""
    pairs = [text.rpartition("=") if last else text.partition("=") for text in given or []]
    for name, separator, value in pairs:
        if not (name and separator and (value or empty)):
            raise ClientError(f"{option} {name}{separator}{value}: write name=value, as prompt=question.")
    return {name: value for name, _, value in pairs}


_SHOWN = 3
"""Candidates that are offered; the platform lists more that fit less well."""
_LIKELY = 0.6
"""Share of the records that a candidate fits, from which it is offered beside a suggested mapping."""


def way_on(error: ApiError, command: Sequence[str]) -> ClientError:
    """The error with commands to copy. `command`: the words of the one that was given, without how to read the file."""
    suggested = error.problem.get("suggested")
    every = error.problem.get("candidates") or []
    candidates = [one for one in every if one["score"] >= _LIKELY] or ([] if suggested else every)
    told = [str(error)]
    if candidates:
        told += ["Read it in one of these ways:", *(_shell([*command, *_named(one)]) for one in candidates[:_SHOWN])]
    if suggested:
        lead = "Or say which column is which field" if candidates else "Say which column is which field"
        told += [f"{lead}, as the names suggest (check it first):", _shell([*command, *_mapped(suggested)])]
    return ClientError("\n".join(told))


def _named(candidate: Mapping[str, Any]) -> list[str]:
    return ["--format", candidate["format"], "--kind", candidate["kind"]]


def _mapped(mapping: Mapping[str, Any]) -> list[str]:
    fields = [f"{name}={column}" for name, column in mapping["fields"].items()]
    labels = [f"{value}={side or ''}" for value, side in (mapping.get("labels") or {}).items()]
    return [word for pair in fields for word in ("--map", pair)] + [
        word for pair in labels for word in ("--label", pair)
    ]


def _shell(words: Sequence[str]) -> str:
    return "  " + shlex.join(words)
