"""The commands of `proximal jobs` that change a job, or make another one from it."""

import inspect
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal, get_args, get_type_hints

import typer

from proximal.commands.group import Function, IfMatch
from proximal.errors import ClientError
from proximal.sdk import Client
from proximal.sdk.spec_files import changed_patch, changed_spec, with_uploads
from proximal.sdk.types import Job
from proximal.terminal import plain

JobId = Annotated[str, typer.Argument(help="The job's id, job_…", show_default=False)]
Reason = Annotated[str, typer.Option(help="Why, for the job's events.")]
Priority = Annotated[Literal["low", "normal", "high"], typer.Option(help="Jobs of a higher class start first.")]
Preemptible = Annotated[
    bool, typer.Option("--preemptible", help="Let the platform pause it, saved, for a more urgent job.")
]
PatchFile = Annotated[
    Path | None,
    typer.Option("--patch", help="JSON or TOML file with a merge patch (RFC 7396) on the spec.", show_default=False),
]
Changes = Annotated[
    list[str] | None,
    typer.Option(
        "--set", help="A field of the spec and its value, as ppo.kl.coef=0.1; null is a value; may be repeated."
    ),
]
SpecFile = Annotated[
    Path | None,
    typer.Argument(help="TOML or JSON file. Data files that it names are uploaded.", show_default=False),
]
FromTemplate = Annotated[
    str | None,
    typer.Option(help="Name or id of a template. The file and `--set` change its spec.", show_default=False),
]
Force = Annotated[bool, typer.Option(help="Submit the job although a validation of its spec has blocking findings.")]


def clone(
    context: typer.Context, job_id: JobId, patch: PatchFile = None, changes: Changes = None, force: Force = False
) -> None:
    """Submit a new job with the spec of another one, changed by `--patch` and then by `--set`."""
    changed = changed_patch(patch, changes or ())
    _print_job(context, lambda client: client.clone_job(job_id, changed, force=force or None))


def branch(
    context: typer.Context,
    job_id: JobId,
    start: Annotated[str, typer.Option("--from", help="A checkpoint's id, or its stage and step, as ppo:40.")],
    patch: PatchFile = None,
    changes: Changes = None,
    force: Force = False,
) -> None:
    """Submit a new job that continues another one from a checkpoint, with changes."""
    place = _start(start)
    changed = changed_patch(patch, changes or ())
    _print_job(context, lambda client: client.branch_job(job_id, patch=changed, force=force or None, **place))


def extend(
    context: typer.Context,
    job_id: JobId,
    steps: Annotated[int, typer.Option(min=1, help="The new number of PPO steps in all.")],
    force: Force = False,
) -> None:
    """Submit a new job that gives the PPO stage of a succeeded one more steps."""
    _print_job(context, lambda client: client.extend_job(job_id, steps, force=force or None))


def delete(context: typer.Context, job_id: JobId, if_match: IfMatch = None) -> None:
    """Delete a job that has ended, with its events, metrics and checkpoints."""
    with context.obj.client() as client:
        client.delete_job(job_id, if_match=if_match)
    context.obj.printer.item({"id": job_id, "deleted": True}, plain(f"{job_id}  deleted"))


BY_HAND: dict[str, Function] = {"clone": clone, "branch": branch, "extend": extend, "delete": delete}
"""The commands of actions that take more than a reason."""


def action_commands() -> Iterator[Function]:
    """A command for each action on a job that the API has. `command` is `jobs set`."""
    for action in get_args(get_args(get_type_hints(Job)["actions"])[0]):
        if action != "command":
            yield BY_HAND.get(action) or _without_options(action)


def _without_options(action: str) -> Function:
    """The command of an action that takes a reason or nothing. The API's reference describes it."""
    method = getattr(Client, f"{action}_job")

    def with_reason(context: typer.Context, job_id: JobId, reason: Reason = "") -> None:
        _print_job(context, lambda client: method(client, job_id, reason), "status")

    def plainly(context: typer.Context, job_id: JobId) -> None:
        _print_job(context, lambda client: method(client, job_id), "id")

    command = with_reason if "reason" in inspect.signature(method).parameters else plainly
    command.__name__, command.__doc__ = action, (method.__doc__ or "").split("\n\n")[0]
    return command


def _start(text: str) -> dict[str, Any]:
    """Raises ClientError for a text that is neither an id nor a stage and a step."""
    stage, separator, step = text.partition(":")
    if not separator:
        return {"checkpoint": text}
    if not step.isdigit():
        raise ClientError(f"--from {text}: give a checkpoint's id, or its stage and step, as ppo:40")
    return {"stage": stage, "step": int(step)}


def given_spec(client: Client, file: Path | None, changes: Sequence[str], template: str | None) -> dict[str, Any]:
    """The spec of a file with `path=value` changes, or with a template the merge patch on its spec. Data files are uploaded.

    Raises BadParameter without file and template.
    """
    if file is None and template is None:
        raise typer.BadParameter("Give a file with the spec, or --template.")
    given = changed_spec(file, changes) if template is None else changed_patch(file, changes)
    return given if file is None else with_uploads(client, given, file.parent)


def _print_job(context: typer.Context, change: Callable[[Client], Job], shown: Literal["id", "status"] = "id") -> None:
    with context.obj.client() as client:
        job = change(client)
    context.obj.printer.item(job, plain(job[shown]))
