"""`proximal datasets report` and `fix`."""

import time
from collections.abc import Iterator
from typing import Annotated

import typer
from rich.text import Text

from proximal.errors import ClientError
from proximal.sdk import Client
from proximal.sdk.types import DatasetVersion, Finding, Report, ReportResult
from proximal.terminal import Printer, facts, plain

_POLL_SECONDS = 0.5
_COLOURS = {"blocking": "red", "warning": "yellow", "info": "blue"}
DatasetId = Annotated[str, typer.Argument(help="The dataset's id, ds_…", show_default=False)]
Version = Annotated[int | None, typer.Option(help="Which version. Default: the newest.", show_default=False)]


def report(
    context: typer.Context,
    dataset_id: DatasetId,
    version: Version = None,
    model: Annotated[
        str | None, typer.Option(help="Count tokens with this model's tokenizer: a checkpoint, hub id or folder.")
    ] = None,
    chat_template: Annotated[str | None, typer.Option(help="auto or none, same as in a job's `data`.")] = None,
    max_prompt_tokens: Annotated[int | None, typer.Option(min=1, help="Same as in a job's `data`.")] = None,
    max_completion_tokens: Annotated[int | None, typer.Option(min=1, help="Same as in a job's `data`.")] = None,
) -> None:
    """Print a report on the quality of a dataset, with its findings and fixes."""
    with context.obj.client() as client:
        made = client.request_report(
            dataset_id,
            version=version,
            model=model,
            chat_template=chat_template,
            max_prompt_tokens=max_prompt_tokens,
            max_completion_tokens=max_completion_tokens,
        )
        made = _waited_for(client, made, context.obj.printer)
    context.obj.printer.item(made, *_parts(made))


def fix(
    context: typer.Context,
    dataset_id: DatasetId,
    findings: Annotated[list[str], typer.Argument(help="Codes of findings that have a fix.", show_default=False)],
    version: Version = None,
    report: Annotated[
        str | None, typer.Option(help="The report with the findings, rep_…. Default: the newest of the version.")
    ] = None,
) -> None:
    """Create a new version in which these findings are fixed."""
    with context.obj.client() as client:
        made: DatasetVersion = client.apply_fixes(dataset_id, findings, version, report)
        while made["status"] == "importing":
            time.sleep(_POLL_SECONDS)
            made = client.get_dataset_version(dataset_id, made["number"])
    if made["error"] is not None:
        raise ClientError(f"Version {made['number']} could not be made: {made['error']['message']}")
    origin = made["origin"]
    done = "".join(f", {origin[name]} {name}" for name in ("dropped", "changed") if name in origin)
    text = f"{dataset_id}@{made['number']}  {made['status']}, {made['rows']} rows{done}"
    context.obj.printer.item(made, plain(text), key="number")


def _waited_for(client: Client, made: Report, printer: Printer) -> Report:
    """The finished report. A status line shows the progress."""
    with printer.progress.status("waiting") as line:
        while made["status"] in ("queued", "running"):
            if made["progress"] is not None:
                line.update(plain(f"{made['progress']['fraction']:.0%} {made['progress']['note']}"))
            time.sleep(_POLL_SECONDS)
            made = client.get_report(made["dataset_id"], made["id"])
    if made["result"] is None:
        why = made["error"]["message"] if made["error"] else made["status"]
        raise ClientError(f"There is no report: {why}")
    return made


def _parts(made: Report) -> Iterator[Text]:
    """The report as text for people."""
    result = made["result"]
    assert result is not None
    yield plain(f"{made['id']}  version {made['version']} of {made['dataset_id']}")
    yield _figures(result)
    for finding in result["findings"]:
        yield from _finding(finding)
    if fixable := [finding["code"] for finding in result["findings"] if finding["fix"] is not None]:
        yield plain(f"\nTo fix: proximal datasets fix {made['dataset_id']} {' '.join(fixable)}")


def _figures(result: ReportResult) -> Text:
    rows = [(name.replace("_", " "), f"{value:,.0f}") for name, value in result["summary"].items()]
    for one in result["histograms"]:
        spread = f"median {one['median']:,}, 95 % ≤ {one['p95']:,}, longest {one['max']:,} {one['unit']}"
        rows.append((one["title"].lower(), spread))
    if result["languages"]:
        shares = ", ".join(f"{one['language']} {one['share']:.0%}" for one in result["languages"][:4])
        rows.append(("languages", shares))
    if bias := result["length_bias"]:
        interval = f"{bias['low']:.1%} to {bias['high']:.1%}"
        won = f"{bias['longer_wins']:.1%} ({interval}); {bias['rule']}: {bias['length_only_accuracy']:.1%}"
        rows.append(("the longer wins", won))
    if agreement := result["agreement"]:
        alpha = "not defined" if agreement["alpha"] is None else f"{agreement['alpha']:.3f}"
        rows.append(("Krippendorff's α", f"{alpha}, {agreement['items']:,} pairs judged by several"))
    if splits := result["splits"]:
        rows.append(("held out", f"{splits['eval']:,} rows of {splits['eval_prompts']:,} prompts"))
    return facts(rows)


def _finding(finding: Finding) -> Iterator[Text]:
    heading = Text.assemble("\n", (finding["severity"], _COLOURS[finding["severity"]]), "  ", plain(finding["title"]))
    heading.append_text(plain(f"  [{finding['code']}]"))
    yield heading
    yield plain(finding["detail"])
    if finding["count"]:
        share = "" if finding["share"] is None else f" ({finding['share']:.2%})"
        more = ", …" if finding["count"] > len(finding["lines"]) else ""
        yield plain(f"{finding['count']:,} rows{share}, lines {', '.join(map(str, finding['lines']))}{more}")
    for sample in finding["samples"]:
        yield plain(f"  {sample['line']}: {sample['text']}")
    if finding["fix"] is not None:
        yield plain(f"  fix: {finding['fix']['label']}")
