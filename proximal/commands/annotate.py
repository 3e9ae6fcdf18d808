"""`proximal annotate …`"""

import getpass
import time
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console, RenderableType
from rich.rule import Rule
from rich.table import Table
from rich.text import Text

from proximal.commands.group import CommandGroup, IfMatch
from proximal.errors import ClientError
from proximal.sdk import Client
from proximal.sdk.spec_files import read_spec
from proximal.sdk.types import AnnotationItem, AnnotationProgress, AnnotationQueue, AnnotationRound
from proximal.terminal import age, facts, plain

app = CommandGroup(
    help="Annotation rounds: people compare completions, and a job continues from their answers.", no_args_is_help=True
)
console = Console(highlight=False)
COLUMNS: dict[str, Any] = {
    "name": lambda row: row["name"],
    "kind": lambda row: row["kind"],
    "status": lambda row: row["status"],
    "items": lambda row: row["items"],
    "answers": lambda row: f"{row['answers']}/{row['answers_wanted']}",
    "created": lambda row: age(row["created_at"]),
}
_KEYS = {"1": "1", "2": "2", "0": "tie", "s": "skip"}
_UNDO, _QUIT = "u", "q"
RoundId = Annotated[str, typer.Argument(help="The round's id, ann_…", show_default=False)]


@app.command()
def new(
    context: typer.Context,
    file: Annotated[Path, typer.Argument(help="TOML or JSON file with the settings of the round.", show_default=False)],
) -> None:
    """Create a round from a dataset, or from completions of checkpoints."""
    wanted = read_spec(file)
    source = wanted.pop("source", {})
    if not isinstance(source, dict):
        raise ClientError(f'{file}: `source` must be a table, for example {{type = "dataset", dataset = "ds_…"}}.')
    with context.obj.client() as client:
        round_ = client.create_annotation_round({"source": source, **wanted})
    context.obj.printer.item(round_, plain(f"{round_['id']}  {round_['status']}"))


@app.command("list")
def list_(
    context: typer.Context,
    status: Annotated[list[str] | None, typer.Option(help="Only rounds in this state; may be repeated.")] = None,
) -> None:
    """List rounds, newest first."""
    with context.obj.client() as client:
        context.obj.printer.items(client.list_annotation_rounds(status=status or ()), COLUMNS)


@app.command()
def show(context: typer.Context, round_id: RoundId) -> None:
    """Show one round: its progress, its annotators, and the wins of each policy."""
    with context.obj.client() as client:
        round_, progress = client.get_annotation_round(round_id), client.get_annotation_progress(round_id)
    parts: list[RenderableType] = [_summary(round_, progress)]
    if round_["error"] is not None:
        parts.append(plain(f"{round_['error']['code']}: {round_['error']['message']}"))
    if progress["annotators"]:
        parts.append(_annotators(progress))
    context.obj.printer.item({**round_, "progress": progress}, *parts)


@app.command()
def answer(
    context: typer.Context,
    round_id: Annotated[str, typer.Argument(help="The round's id, ann_…", show_default=False)],
    annotator: Annotated[str | None, typer.Option(help="Your name, as it is stored in the dataset.")] = None,
) -> None:
    """Answer items until none is left or you type q. Keys for pairs: 1, 2, 0 (a tie). Other keys: s (skip), u (undo), q (quit)."""
    name = annotator or getpass.getuser()
    with context.obj.client() as client:
        if instructions := client.get_annotation_round(round_id)["instructions"]:
            console.print(plain(instructions), soft_wrap=True)
        while (found := client.next_annotation_items(round_id, name))["items"]:
            if not _ask(client, round_id, name, found):
                return
    why = "There are no more items for you." if found["status"] == "open" else f"The round is {found['status']}."
    console.print(f"{why} You have answered {found['done']}.")


@app.command()
def pause(context: typer.Context, round_id: RoundId, if_match: IfMatch = None) -> None:
    """Pause a round. Annotators get no items until it is open again."""
    _set_status(context, round_id, "paused", if_match)


@app.command("open")
def open_(context: typer.Context, round_id: RoundId, if_match: IfMatch = None) -> None:
    """Open a paused round again."""
    _set_status(context, round_id, "open", if_match)


@app.command()
def close(
    context: typer.Context,
    round_id: RoundId,
    dataset: Annotated[str | None, typer.Option(help="Add the answers to this dataset, as a new version.")] = None,
    name: Annotated[str | None, typer.Option(help="Name of a new dataset. Default: the name of the round.")] = None,
) -> None:
    """Close a round, and write its answers into a dataset."""
    with context.obj.client() as client:
        round_ = client.close_annotation_round(round_id, dataset, name)
    context.obj.printer.item(
        round_, plain(f"{round_['dataset']}@{round_['version']}  {round_['status']}"), key="dataset"
    )


@app.command("continue")
def continue_(
    context: typer.Context,
    round_id: RoundId,
    job: Annotated[str, typer.Option(help="The job to continue, job_…", show_default=False)],
    steps: Annotated[
        int | None, typer.Option(min=1, help="Steps of PPO. Default: the same number as in the job.")
    ] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Print the plan without submitting a job.")] = False,
) -> None:
    """Submit a job that refits the job's reward model on a closed round, then runs PPO from the job's policy."""
    with context.obj.client() as client:
        if dry_run:
            plan = client.get_annotation_continuation(round_id, job=job, steps=steps)
            context.obj.printer.item(plan, *map(plain, plan["sentences"]), key=None)
        else:
            made = client.continue_job(round_id, job, steps)
            context.obj.printer.item(made, plain(made["id"]))


@app.command()
def delete(context: typer.Context, round_id: RoundId, if_match: IfMatch = None) -> None:
    """Delete a round with its answers. The dataset with its answers stays."""
    with context.obj.client() as client:
        client.delete_annotation_round(round_id, if_match=if_match)
    context.obj.printer.item({"id": round_id, "deleted": True}, plain(f"{round_id}  deleted"))


def _set_status(context: typer.Context, round_id: str, status: str, if_match: str | None) -> None:
    with context.obj.client() as client:
        round_ = client.change_annotation_round(round_id, status=status, if_match=if_match)
    context.obj.printer.item(round_, plain(round_["status"]))


def _summary(round_: AnnotationRound, progress: AnnotationProgress) -> Text:
    names = ("id", "name", "kind", "status", "overlap", "items", "gold_items", "left_out", "dataset", "version")
    known = dict(round_.items())
    rows: list[tuple[str, object]] = [(name, known[name]) for name in names if known[name] is not None]
    if round_["cut_off"]:
        rows.append(("cut_off", f"{round_['cut_off']} items have a completion that was cut off at the maximum length"))
    rows.append(("answers", f"{progress['answers']} of {progress['answers_wanted']}, {progress['skips']} skips"))
    rows.append(("Krippendorff's α", _number(progress["alpha"])))
    for side in progress["sides"] or ():
        won = f"{side['wins']} wins, {side['losses']} losses, {side['ties']} ties"
        rows.append((side["checkpoint"] or side["model"] or "", won))
    if (model := progress["reward_model"]) is not None:
        rows.append(("reward model", f"{model['status']}, agrees in {model['agree']} of {model['of']}"))
    if round_["jobs"]:
        rows.append(("continued as", ", ".join(round_["jobs"])))
    return facts(rows)


def _annotators(progress: AnnotationProgress) -> Table:
    table = Table("annotator", "answers", "skips", "ties", "seconds", "gold", "agreement", "κ")
    for one in progress["annotators"]:
        gold = f"{one['gold_right']}/{one['gold_of']}"
        counts = (str(one["answers"]), str(one["skips"]), str(one["ties"]), _number(one["median_seconds"]), gold)
        table.add_row(plain(one["annotator"]), *counts, _number(one["agreement"]), _number(one["kappa"]))
    return table


def _number(value: float | None) -> str:
    return "-" if value is None else f"{value:.2f}"


def _ask(client: Client, round_id: str, annotator: str, queue: AnnotationQueue) -> bool:
    """Show an item and send the answer. Returns False if the annotator quits."""
    item, began = queue["items"][0], time.monotonic()
    _show(item, queue)
    while True:
        typed = input(_prompt(item)).strip().lower()
        if typed == _QUIT:
            return False
        if typed == _UNDO:
            if client.undo_annotation(round_id, annotator)["item"] is None:
                console.print("There is no answer to undo.")
            return True
        if (given := _understood(item, typed)) is not None:
            seconds = time.monotonic() - began
            client.answer_annotation_item(round_id, item["id"], annotator, **given, seconds=seconds)
            return True


def _understood(item: AnnotationItem, typed: str) -> dict[str, Any] | None:
    """The answer that was typed; None if it is not valid."""
    if item["kind"] == "pairs" or typed == "s":
        return {"choice": _KEYS[typed]} if typed in _KEYS else None
    digits, count = list(typed.replace(" ", "").replace(",", "")), len(item["completions"])
    if len(digits) != count or not all(digit.isdecimal() and 1 <= int(digit) <= count for digit in digits):
        return None
    return {"ranks": [int(digit) for digit in digits]}


def _prompt(item: AnnotationItem) -> str:
    if item["kind"] == "pairs":
        return "1, 2, 0 = tie, s = skip, u = undo, q = quit: "
    return f"Ranks of the {len(item['completions'])} completions, 1 is the best (such as 132); s, u, q: "


def _show(item: AnnotationItem, queue: AnnotationQueue) -> None:
    console.print(Rule(f"{queue['done'] + 1} of {queue['total']}"))
    prompt = item["prompt"]
    turns = [("", prompt)] if isinstance(prompt, str) else [(f"{m['role']}: ", m["content"]) for m in prompt]
    for role, text in turns:
        console.print(Text.assemble((role, "bold"), plain(text)), soft_wrap=True)
    for number, text in enumerate(item["completions"], 1):
        console.print(Text.assemble((f"\n[{number}] ", "bold cyan"), plain(text)), soft_wrap=True)
