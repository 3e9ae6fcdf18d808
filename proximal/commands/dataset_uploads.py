"""`proximal datasets upload` and `proximal datasets import`."""

import shlex
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeRemainingColumn, TransferSpeedColumn
from rich.text import Text

from proximal.errors import ApiError, ClientError, Question
from proximal.sdk.types import Dataset, DatasetVersion, Finding
from proximal.terminal import plain

_BLOCKED, _INTERRUPTED = 7, 130
_COLOURS = {"blocking": "red", "warning": "yellow", "info": "blue"}
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
    list[str] | None, typer.Option("--map", help="A field and its column, such as prompt=question. May be repeated.")
]
Label = Annotated[
    list[str] | None,
    typer.Option(
        "--label",
        help="A value of the verdict's column and its meaning, such as model_a=a or liked=up. Beside two answers: a, b or tie. "
        "Beside one: up, down or a number. Empty: not usable. May be repeated.",
    ),
]
Ignore = Annotated[
    list[str] | None,
    typer.Option(
        "--ignore", help="A column that is not used and not asked about. May be repeated.", show_default=False
    ),
]
Encoding = Annotated[
    str | None,
    typer.Option(
        help="Encoding of the text, such as cp1252 or shift_jis. Default: UTF-8, or the encoding of its byte order mark."
    ),
]
ExternalId = Annotated[
    str | None, typer.Option(help="An id of your choice. A second dataset with it is refused.", show_default=False)
]
BadRows = Annotated[str, typer.Option(help="Handling of invalid rows: refuse (the whole file), report, or leave_out.")]


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
    external_id: ExternalId = None,
    ignore: Ignore = None,
) -> None:
    """Upload a dataset and validate every row. To resume an interrupted upload, repeat the command."""
    mapping = _mapping(map, label)
    options = {"format": format or _format(mapping), "mapping": mapping, "bad_rows": bad_rows, "encoding": encoding}
    with_ignored: dict[str, Any] = options | {"ignore": ignore or []}
    with context.obj.client() as client, _bars(context) as bars, _resumable(), _with_corrections(context):
        sent = bars.add_task("Sending", total=file.stat().st_size)
        dataset = client.upload_dataset(
            file,
            kind,
            name,
            **with_ignored,
            external_id=external_id,
            progress=lambda done, total: bars.update(sent, completed=done, total=total),
            importing=lambda fraction, note: bars.update(sent, description=f"Importing {fraction:.0%}"),
        )
        version = client.get_dataset_version(dataset["id"], dataset["version"])
    _print(context, dataset, version)


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
    external_id: ExternalId = None,
    ignore: Ignore = None,
) -> None:
    """Make a dataset from a URL. The platform downloads the file, if its operator allows the address."""
    mapping = _mapping(map, label)
    options = {"format": format or _format(mapping), "mapping": mapping, "bad_rows": bad_rows, "encoding": encoding}
    with_ignored: dict[str, Any] = options | {"ignore": ignore or []}
    with context.obj.client() as client, _bars(context) as bars, _with_corrections(context):
        fetched = bars.add_task("Fetching", total=None)
        upload = client.create_upload_from(url)
        client.wait_for_upload(
            upload["id"], lambda done, total: bars.update(fetched, completed=done, total=total or None)
        )
        dataset = client.import_upload(upload["id"], name or None, kind, **with_ignored, external_id=external_id)
        dataset = client.wait_for_dataset(
            dataset["id"], lambda fraction, note: bars.update(fetched, description=f"Importing {fraction:.0%}")
        )
        version = client.get_dataset_version(dataset["id"], dataset["version"])
    _print(context, dataset, version)


def _print(context: typer.Context, dataset: Dataset, version: DatasetVersion) -> None:
    """Print the dataset, and on standard error its findings. Exit with 7 if the dataset is blocked."""
    printer = context.obj.printer
    left_out = f", {_counted(version['left_out'], 'record')} left out" if version["left_out"] else ""
    printer.item(
        dataset, plain(f"{dataset['id']}  {_counted(dataset['rows'] or 0, 'row')} of {dataset['kind']}{left_out}")
    )
    told = Console(stderr=True, highlight=False)
    for finding in version["findings"]:
        # A program reads what went wrong as well, but not the remarks.
        if finding["severity"] != "info" or not (printer.quiet or printer.as_json):
            told.print(finding_line(finding), soft_wrap=True)
    if dataset["status"] == "blocked":
        codes = " ".join(finding["code"] for finding in version["findings"] if finding["severity"] == "blocking")
        told.print(
            plain(f"Blocked. Leave these records out: proximal datasets fix {dataset['id']} {codes}"), soft_wrap=True
        )
        raise typer.Exit(_BLOCKED)


def _counted(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"


def finding_line(finding: Finding) -> Text:
    """A finding with its severity, number of records and first line."""
    place = f" in line {finding['lines'][0]}" if finding["count"] == 1 and finding["lines"] else ""
    if finding["count"] > 1:
        place = f" in {finding['count']} records" + (
            f", first in line {finding['lines'][0]}" if finding["lines"] else ""
        )
    head = Text(f"{finding['severity']}:", _COLOURS[finding["severity"]])
    return Text.assemble(head, " ", plain(f"{finding['title']}{place}: {finding['detail']}"))


@contextmanager
def _bars(context: typer.Context) -> Iterator[Progress]:
    """Progress bars on a terminal. They disappear when the command ends."""
    error = context.obj.printer.progress
    columns = (TextColumn("{task.description}"), BarColumn(), DownloadColumn(), TransferSpeedColumn())
    with Progress(
        *columns, TimeRemainingColumn(), console=error, transient=True, disable=not error.is_terminal
    ) as progress:
        yield progress


@contextmanager
def _with_corrections(context: typer.Context) -> Iterator[None]:
    """Add the possible corrections to an error about the file."""
    try:
        yield
    except ApiError as error:
        if error.code == "format_unclear":
            raise with_commands(error, _command_line(context)) from error
        if names := error.problem.get("encodings"):
            raise _with_encodings(error, names, context) from error
        of_the_file = any(one.get("code") for one in error.problem.get("errors") or [])
        if error.code == "invalid_dataset" and not of_the_file and context.params["bad_rows"] == "refuse":
            lines = (
                "Correct the file, or import it with --bad-rows report or, without these rows, --bad-rows leave_out."
            )
            raise ClientError(f"{error}\n{lines}") from error
        raise


@contextmanager
def _resumable() -> Iterator[None]:
    try:
        yield
    except KeyboardInterrupt:
        Console(stderr=True).print("Interrupted. Repeat the command to resume.")
        raise typer.Exit(_INTERRUPTED) from None


def _command_line(context: typer.Context) -> list[str]:
    """The command line without the options that say how to read the file, and without the API key."""
    given, root = context.params, context.find_root()
    source = root.get_parameter_source("url")
    url = ["--url", root.params["url"]] if source is not None and source.name == "COMMANDLINE" else []
    what = str(given["file"] if "file" in given else given["url"])
    more = [("--name", given["name"]), ("--encoding", given["encoding"]), ("--external-id", given["external_id"])]
    if given["bad_rows"] != "refuse":
        more.append(("--bad-rows", given["bad_rows"]))
    more += [("--ignore", name) for name in given["ignore"] or []]
    options = [word for name, value in more if value for word in (name, value)]
    return ["proximal", *url, "datasets", str(context.info_name), what, *options]


def _with_encodings(error: ApiError, names: Sequence[str], context: typer.Context) -> Question:
    """The error of a file that is not UTF-8, with a command for each likely encoding."""
    given = context.params
    told = [("--kind", given["kind"]), ("--format", given["format"])]
    told += [("--map", pair) for pair in given["map"] or []] + [("--label", pair) for pair in given["label"] or []]
    more = [word for name, value in told if value for word in (name, value)]
    command = _command_line(context)
    return Question("\n".join([str(error), *(_shell([*command, *more, "--encoding", name]) for name in names)]))


def _format(mapping: dict[str, Any] | None) -> str | None:
    return None if mapping is None else _CUSTOM


def _mapping(fields: list[str] | None, labels: list[str] | None) -> dict[str, Any] | None:
    """The mapping for the API; None without options. A label may contain "=", its meaning may not."""
    meanings = {name: value or None for name, value in _pairs("--label", labels, empty=True, last=True).items()}
    found = {"fields": _pairs("--map", fields), "labels": meanings}
    return {name: pairs for name, pairs in found.items() if pairs} or None


def _pairs(option: str, given: list[str] | None, *, empty: bool = False, last: bool = False) -> dict[str, str]:
    """Names and values. `empty`: a value may be empty. `last`: split at the last "=" instead of the first."""
    pairs = [text.rpartition("=") if last else text.partition("=") for text in given or []]
    for name, separator, value in pairs:
        if not (name and separator and (value or empty)):
            raise ClientError(f"{option} {name}{separator}{value}: write name=value, such as prompt=question.")
    return {name: value for name, _, value in pairs}


_MOST = 3
"""Number of candidates in the message. The platform lists more."""
_LIKELY = 0.6
"""Share of fitting records from which a candidate is named beside a suggested mapping."""


def with_commands(error: ApiError, command: Sequence[str]) -> Question:
    """The error with commands to copy. `command`: the command line without the options that say how to read the file."""
    if questions := error.problem.get("questions"):
        return _asked(error, questions, command)
    suggested = error.problem.get("suggested")
    every = error.problem.get("candidates") or []
    candidates = [one for one in every if one["score"] >= _LIKELY] or ([] if suggested else every)
    lines = [str(error)]
    if candidates:
        lines += ["Read it in one of these ways:", *(_shell([*command, *_named(one)]) for one in candidates[:_MOST])]
    if suggested:
        lead = "Or map the columns to fields" if candidates else "Map the columns to fields"
        lines += [f"{lead}, as their names suggest (check this first):", _shell([*command, *_mapped(suggested)])]
    return Question("\n".join(lines))


def _asked(error: ApiError, questions: Sequence[Mapping[str, Any]], command: Sequence[str]) -> Question:
    """The error with each question and its choices. Columns that another choice must also ignore are in each command."""
    lines = [str(error)] if len(questions) == 1 else ["Columns that look meaningful are not used:"]
    for question in questions:
        lines += [] if len(questions) == 1 else [question["detail"]]
        for choice in question["choices"]:
            lines += [f"{choice['label']}:", _shell([*command, *_chosen(choice)])]
    if len(questions) > 1:
        ignored = [word for question in questions for word in ("--ignore", question["column"])]
        lines += ["Ignore all of them:", _shell([*command, *ignored])]
    return Question("\n".join(lines))


def _chosen(choice: Mapping[str, Any]) -> list[str]:
    """The options of a choice."""
    named = [(option, choice[name]) for option, name in (("--format", "format"), ("--kind", "kind")) if choice[name]]
    ignored = [("--ignore", name) for name in choice["ignore"]]
    mapped = _mapped(choice["mapping"]) if choice["mapping"] else []
    return [word for pair in [*named, *ignored] for word in pair] + mapped


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
