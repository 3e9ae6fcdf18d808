"""`proximal workers …`"""

from collections import Counter
from collections.abc import Callable
from typing import Annotated, Any

import typer

from proximal.commands.group import CommandGroup
from proximal.sdk import Client
from proximal.sdk.types import Worker
from proximal.terminal import age, plain

app = CommandGroup(help="The workers that run jobs.", no_args_is_help=True)
WorkerId = Annotated[str, typer.Argument(help="The worker's id, wrk_…", show_default=False)]
COLUMNS: dict[str, Any] = {
    "name": lambda worker: _name(worker),
    "state": lambda worker: _state(worker),
    "GPUs": lambda worker: _gpus(worker),
    "labels": lambda worker: ", ".join(worker["labels"]),
    "last seen": lambda worker: age(worker["last_seen_at"]),
}


@app.command("list")
def list_(context: typer.Context) -> None:
    """List the workers that are online, and those that have stopped and stay cordoned.

    The id of the job that a worker runs stands below its own id. The id of another key's job is not shown.
    """
    with context.obj.client() as client:
        context.obj.printer.items(client.list_workers(), COLUMNS, below="job_id")


@app.command()
def cordon(context: typer.Context, worker_id: WorkerId) -> None:
    """Keep new jobs from a worker. It finishes the job that it runs. Needs an operator's key."""
    _change(context, lambda client: client.cordon_worker(worker_id))


@app.command()
def drain(context: typer.Context, worker_id: WorkerId) -> None:
    """Keep new jobs from a worker, and give its saved job back to the queue. Needs an operator's key."""
    _change(context, lambda client: client.drain_worker(worker_id))


@app.command()
def uncordon(context: typer.Context, worker_id: WorkerId) -> None:
    """Let a worker take jobs again, also one that has stopped. Needs an operator's key."""
    _change(context, lambda client: client.uncordon_worker(worker_id))


@app.command()
def token(context: typer.Context) -> None:
    """Create a token with which one worker joins, and print the command for its machine. Needs an operator's key."""
    with context.obj.client() as client:
        made = client.create_worker_token()
    command = f"proximal worker join {client.url} --token {made['token']}"
    context.obj.printer.item(made, plain(command), key="token")


def _name(worker: Worker) -> str:
    same = worker["name"] in ("", worker["hostname"])
    return worker["hostname"] if same else f"{worker['name']} on {worker['hostname']}"


def _state(worker: Worker) -> str:
    states = [worker["state"], *(["busy"] if worker["busy"] else []), *(["offline"] if worker["offline"] else [])]
    return ", ".join(states)


def _gpus(worker: Worker) -> str:
    counts = Counter(gpu["model"] for gpu in worker["gpus"])
    return ", ".join(f"{number} × {model}" if number > 1 else model for model, number in counts.items())


def _change(context: typer.Context, change: Callable[[Client], Worker]) -> None:
    with context.obj.client() as client:
        worker = change(client)
    context.obj.printer.item(worker, plain(f"{worker['id']}  {worker['state']}"))
