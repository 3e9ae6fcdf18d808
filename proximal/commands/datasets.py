"""`proximal datasets …`"""

import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import RenderableType
from rich.table import Table

from proximal.commands import dataset_reports, dataset_uploads
from proximal.commands.group import CommandGroup, IfMatch, day_or_time
from proximal.errors import ClientError
from proximal.sdk.types import Dataset, DatasetRow, Overlap
from proximal.terminal import age, facts, moment, plain, with_sorted

app = CommandGroup(help="Upload, inspect, archive and delete datasets.", no_args_is_help=True)
app.command()(dataset_uploads.upload)
app.command("import")(dataset_uploads.import_)
app.command()(dataset_reports.report)
app.command()(dataset_reports.fix)

DatasetId = Annotated[str, typer.Argument(help="The dataset's id, ds_…", show_default=False)]
COLUMNS: dict[str, Any] = {
    "name": lambda row: row["name"],
    "kind": lambda row: row["kind"],
    "status": lambda row: _status(row),
    "rows": lambda row: row["rows"],
    "created": lambda row: age(row["created_at"]),
}
SORTED_COLUMNS: dict[str, Any] = {"size": lambda row: row["bytes"]}
VERSION_COLUMNS: dict[str, Any] = {
    "version": lambda row: row["number"],
    "of": lambda row: row["parent"],
    "status": lambda row: row["status"] if row["damage"] is None else f"{row['status']}, damaged",
    "rows": lambda row: row["rows"],
    "left out": lambda row: row["left_out"],
    "jobs": lambda row: len(row["jobs"]),
    "sha256": lambda row: (row["sha256"] or "")[:12],
    "created": lambda row: age(row["created_at"]),
}
FORMAT_COLUMNS: dict[str, Any] = {
    "title": lambda row: row["title"],
    "kinds": lambda row: ", ".join(row["kinds"]),
    "an example": lambda row: json.dumps(row["example"][0], ensure_ascii=False),
}
_NEVER = "never"
_LATER = "Compare again in a few minutes."
Version = Annotated[int | None, typer.Option(help="Which version. Default: the newest.", show_default=False)]


@app.command("list")
def list_(
    context: typer.Context,
    kind: Annotated[
        str | None, typer.Option(help="Only this kind: preferences, thumbs, steps, sft, prompts or pretraining.")
    ] = None,
    search: Annotated[str | None, typer.Option(help="Only datasets whose name contains this text.")] = None,
    archived: Annotated[bool, typer.Option("--archived", help="Archived datasets instead of the others.")] = False,
    sort: Annotated[
        str, typer.Option(help="Sort by name, kind, rows, size or created; with `-` in front, highest first.")
    ] = "-created",
) -> None:
    """List datasets, newest first unless sorted otherwise."""
    with context.obj.client() as client:
        found = client.list_datasets(kind=kind, search=search, archived=archived, sort=sort)
        context.obj.printer.items(found, with_sorted(COLUMNS, SORTED_COLUMNS, sort))


@app.command("get", hidden=True)  # its name before the other groups had `show`
@app.command()
def show(context: typer.Context, dataset_id: DatasetId) -> None:
    """Show one dataset: its newest version, its status and the number of its findings."""
    with context.obj.client() as client:
        dataset = client.get_dataset(dataset_id)
    names = ("id", "name", "kind", "version", "rows", "bytes", "sha256", "created_at", "archived_at", "expires_at")
    rows = [(name, dataset[name]) for name in names if dataset[name] is not None]
    rows.append(("status", _status(dataset)))
    rows += [("damage", f"rows.jsonl {dataset['damage']}")] if dataset["damage"] else []
    rows += [(f"{severity} findings", count) for severity, count in dataset["findings"].items() if count]
    failure = [plain(f"{dataset['error']['code']}: {dataset['error']['message']}")] if dataset["error"] else []
    context.obj.printer.item(dataset, facts(rows), *failure)


@app.command()
def overlap(
    context: typer.Context,
    dataset: Annotated[
        str, typer.Argument(help="The dataset whose prompts are searched for: ds_…, ds_…@2.", show_default=False)
    ],
    other: Annotated[str, typer.Argument(help="The dataset to search in.", show_default=False)],
) -> None:
    """Show the prompts that two datasets share, equal or nearly equal."""
    with context.obj.client() as client:
        found = client.compare_datasets(dataset=dataset, other=other)
    context.obj.printer.item(found, *_overlap(found), key=None)


@app.command()
def versions(context: typer.Context, dataset_id: DatasetId) -> None:
    """List a dataset's versions, newest first."""
    with context.obj.client() as client:
        context.obj.printer.items(client.list_dataset_versions(dataset_id), VERSION_COLUMNS, key=None)


@app.command()
def rows(  # noqa: PLR0913  its options are its arguments
    context: typer.Context,
    dataset_id: DatasetId,
    version: Version = None,
    search: Annotated[
        str | None, typer.Option(help='Only rows with these words: `"a phrase" or word -without`.')
    ] = None,
    finding: Annotated[str | None, typer.Option(help="Only rows that this finding of a report names.")] = None,
    split: Annotated[
        str | None, typer.Option(help="Only rows that a run trains on (train) or holds out (eval).")
    ] = None,
    sample: Annotated[int | None, typer.Option(min=1, max=100, help="Print this many random rows.")] = None,
    seed: Annotated[int, typer.Option(min=0, help="The same seed gives the same sample.")] = 0,
    limit: Annotated[int, typer.Option(min=1, help="Maximum number of rows.")] = 20,
) -> None:
    """Print rows as JSON, one per line, each with its line in the source file."""
    filters: dict[str, Any] = {"version": version, "search": search, "finding": finding, "split": split}
    with context.obj.client() as client:
        found: Iterable[DatasetRow]
        if sample is not None:
            found = client.sample_dataset_rows(dataset_id, sample, seed, **filters)
        else:
            found = client.list_dataset_rows(dataset_id, **filters)
        for row, _ in zip(found, range(limit if sample is None else sample), strict=False):
            printed = {name: row[name] for name in ("line", "row_number", "split", "row")}
            context.obj.printer.line(printed, json.dumps(printed, ensure_ascii=False))


@app.command()
def change(
    context: typer.Context,
    dataset_id: DatasetId,
    name: Annotated[str | None, typer.Option(help="New name.", show_default=False)] = None,
    expires_at: Annotated[
        str | None,
        typer.Option(
            help="When the platform may delete it, such as 2027-01-31 or 2027-01-31T18:00 (your time), or `never`.",
            show_default=False,
        ),
    ] = None,
    if_match: IfMatch = None,
) -> None:
    """Rename a dataset, or set when it expires. The platform keeps it while an unfinished job uses it."""
    changes: dict[str, str | None] = {} if name is None else {"name": name}
    if expires_at is not None:
        changes["expires_at"] = None if expires_at == _NEVER else day_or_time("--expires-at", expires_at)
    if not changes:
        raise ClientError("Name a change: --name or --expires-at.")
    with context.obj.client() as client:
        dataset = client.change_dataset(dataset_id, **changes, if_match=if_match)
    kept = f"{moment(dataset['expires_at'])} UTC" if dataset["expires_at"] else "it is deleted"
    context.obj.printer.item(dataset, plain(f"{dataset['id']}  {dataset['name']}, kept until {kept}"))


@app.command()
def archive(
    context: typer.Context,
    dataset_id: DatasetId,
    undo: Annotated[bool, typer.Option("--undo", help="Return it to the lists.")] = False,
) -> None:
    """Archive a dataset: lists leave it out. Jobs can still use it."""
    with context.obj.client() as client:
        dataset = client.unarchive_dataset(dataset_id) if undo else client.archive_dataset(dataset_id)
    where = "archived" if dataset["archived_at"] else "in the list"
    context.obj.printer.item(dataset, plain(f"{dataset['id']}  {where}"))


@app.command()
def delete(context: typer.Context, dataset_id: DatasetId, if_match: IfMatch = None) -> None:
    """Delete a dataset with all its versions, unless an unfinished job uses one."""
    with context.obj.client() as client:
        client.delete_dataset(dataset_id, if_match=if_match)
    context.obj.printer.item({"id": dataset_id, "deleted": True}, plain(f"{dataset_id}  deleted"))


@app.command()
def formats(context: typer.Context) -> None:
    """List the formats that files may have, each with an example."""
    with context.obj.client() as client:
        context.obj.printer.items(client.list_formats(), FORMAT_COLUMNS)


@app.command()
def export(
    context: typer.Context,
    dataset_id: Annotated[str, typer.Argument(help="The dataset's id, ds_…", show_default=False)],
    file: Annotated[Path, typer.Argument(help="The file to write.", dir_okay=False, show_default=False)],
    format: Annotated[str, typer.Option(help="trl, openai, openrlhf, verl, llama_factory, parquet or rows.")] = "trl",
    version: Annotated[int | None, typer.Option(help="Which version. Default: the newest.", show_default=False)] = None,
) -> None:
    """Write a dataset's rows to a file, in a format that other programs read."""
    with context.obj.client() as client:
        lost = client.export_dataset(dataset_id, file, format, version)
    lines = [f"  {LOST.get(name, f'rows that lose their {name}')}: {count}" for name, count in lost.items()]
    told = "\n".join([f"{file}, without what {format} cannot hold:", *lines] if lost else [str(file)])
    context.obj.printer.item({"file": str(file), "not_carried": lost}, plain(told), key="file")


LOST = {
    "ties": "ties left out",
    "unlabelled": "rows without a verdict left out",
    "neutral": "solutions with a neutral step left out",
    "turns": "conversations left out, because their turns do not alternate",
    "conversations": "conversations left out, because only texts can be read",
    "rankings": "rankings written as their pairs",
    "later_turns": "conversations cut behind the last answer",
}
"""Descriptions of the counts of an export."""


def _overlap(found: Overlap) -> Iterator[RenderableType]:
    """The lines and tables that show the prompts which two datasets share."""
    sides = [f"{side['id']}@{side['version']}" for side in (found["dataset"], found["other"])]
    for name, shared in (("equal prompts", found["exact"]), ("near duplicates", found["near"])):
        if shared is None:
            yield plain(f"{name}: not known yet; the platform indexes the rows again. {_LATER}")
            continue
        least = "" if shared["complete"] else "at least "
        rows = f"{shared['rows']} of the {found['dataset']['rows']} rows of {sides[0]}"
        yield plain(f"{name}: {least}{shared['prompts']}, in {least}{rows}")
        if shared["samples"]:
            table = Table(f"line of {sides[0]}", f"line of {sides[1]}", "similarity", "prompt", "the other one")
            for sample in shared["samples"]:
                lines = str(sample["row"]["line"]), str(sample["other"]["line"]), f"{sample['similarity']:.2f}"
                table.add_row(*lines, plain(sample["row"]["prompt"]), plain(sample["other"]["prompt"]))
            yield table


def _status(dataset: Dataset) -> str:
    """The status, with the progress of an import, and whether the stored rows are damaged."""
    progress = dataset["progress"]
    if dataset["damage"] is not None:
        return f"{dataset['status']}, damaged"
    return dataset["status"] if progress is None else f"{dataset['status']} {progress['fraction']:.0%}"
