"""`proximal annotate answer`: a round on the terminal, item by item."""

import getpass
import time
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.rule import Rule
from rich.text import Text

from client.sdk import Client
from client.sdk.types import AnnotationItem, AnnotationQueue
from client.terminal import plain

console = Console(highlight=False)
_KEYS = {"1": "1", "2": "2", "0": "tie", "s": "skip"}
_UNDO, _QUIT = "u", "q"


def answer(
    context: typer.Context,
    round_id: Annotated[str, typer.Argument(help="The round's id, ann_…", show_default=False)],
    annotator: Annotated[str | None, typer.Option(help="Your name, as it will stand in the dataset.")] = None,
) -> None:
    """Answer items until there are none or you type q. Of pairs: 1, 2, 0 (a tie); always: s (skip), u (undo), q."""
    name = annotator or getpass.getuser()
    with context.obj.client() as client:
        if instructions := client.get_annotation_round(round_id)["instructions"]:
            console.print(plain(instructions), soft_wrap=True)
        while (found := client.next_annotation_items(round_id, name))["items"]:
            if not _ask(client, round_id, name, found):
                return
    why = "Nothing is left for you here." if found["status"] == "open" else f"The round is {found['status']}."
    console.print(f"{why} You have answered {found['done']}.")


def _ask(client: Client, round_id: str, annotator: str, queue: AnnotationQueue) -> bool:
    """One item; False to stop."""
    item, began = queue["items"][0], time.monotonic()
    _show(item, queue)
    while True:
        typed = input(_prompt(item)).strip().lower()
        if typed == _QUIT:
            return False
        if typed == _UNDO:
            if client.undo_annotation(round_id, annotator)["item"] is None:
                console.print("There is nothing to take back.")
            return True
        if (given := _understood(item, typed)) is not None:
            seconds = time.monotonic() - began
            client.answer_annotation_item(round_id, item["id"], annotator, **given, seconds=seconds)
            return True


def _understood(item: AnnotationItem, typed: str) -> dict[str, Any] | None:
    """What was meant; None where that is not clear."""
    if item["kind"] == "pairs" or typed == "s":
        return {"choice": _KEYS[typed]} if typed in _KEYS else None
    digits, count = list(typed.replace(" ", "").replace(",", "")), len(item["completions"])
    if len(digits) != count or not all(digit.isdecimal() and 1 <= int(digit) <= count for digit in digits):
        return None
    return {"ranks": [int(digit) for digit in digits]}


def _prompt(item: AnnotationItem) -> str:
    if item["kind"] == "pairs":
        return "1, 2, 0 = tie, s = skip, u = undo, q = quit: "
    return f"A rank for each of the {len(item['completions'])}, 1 is the best (as 132); s, u, q: "


def _show(item: AnnotationItem, queue: AnnotationQueue) -> None:
    console.print(Rule(f"{queue['done'] + 1} of {queue['total']}"))
    prompt = item["prompt"]
    turns = [("", prompt)] if isinstance(prompt, str) else [(f"{m['role']}: ", m["content"]) for m in prompt]
    for role, text in turns:
        console.print(Text.assemble((role, "bold"), plain(text)), soft_wrap=True)
    for number, text in enumerate(item["completions"], 1):
        console.print(Text.assemble((f"\n[{number}] ", "bold cyan"), plain(text)), soft_wrap=True)
