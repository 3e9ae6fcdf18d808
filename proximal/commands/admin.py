"""`proximal admin …`"""

from typing import Annotated, Any

import typer

from proximal.commands.group import CommandGroup
from proximal.errors import ClientError
from proximal.sdk.types import PlatformProject
from proximal.terminal import age, facts

app = CommandGroup(help="All projects of the platform. Needs an operator's key.", no_args_is_help=True)
_GIB = 2**30
_LIMITS = ("open_jobs", "running_jobs", "gpus", "gpu_hours", "stored_bytes", "when_exceeded")
PROJECT_COLUMNS: dict[str, Any] = {
    "name": lambda project: project["name"],
    "members": lambda project: project["members"],
    "running": lambda project: _of(project, "running_jobs"),
    "unfinished": lambda project: _of(project, "open_jobs"),
    "GPUs": lambda project: _of(project, "gpus"),
    "GPU-hours": lambda project: _of(project, "gpu_hours"),
    "stored GiB": lambda project: _of(project, "stored_bytes", _GIB),
}
JOB_COLUMNS: dict[str, Any] = {
    "project": lambda job: job["project"]["name"],
    "status": lambda job: job["status"],
    "GPU-hours": lambda job: f"{job['gpu_hours']:.1f}",
    "worker": lambda job: job["worker_id"] or "",
    "submitted": lambda job: age(job["created_at"]),
}


@app.command()
def projects(context: typer.Context) -> None:
    """List all projects with their use, each beside its limit."""
    with context.obj.client() as client:
        context.obj.printer.items(client.list_projects(), PROJECT_COLUMNS)


@app.command("set-quotas")
def set_quotas(
    context: typer.Context,
    project: Annotated[str, typer.Argument(help="The project's id, prj_…", show_default=False)],
    limits: Annotated[
        list[str] | None,
        typer.Argument(
            help="LIMIT=VALUE: open_jobs, running_jobs, gpus, gpu_hours, stored_bytes, or when_exceeded. `none`: no limit.",
            show_default=False,
        ),
    ] = None,
) -> None:
    """Replace the own limits of a project. A limit that is left out is the platform's default."""
    wanted = dict(_limit(one) for one in limits or ())
    with context.obj.client() as client:
        changed = client.set_project_quotas(project, **wanted)
    shown: list[tuple[str, object]] = [
        (name, _shown(changed["usage"]["limits"][name]) + ("" if name in changed["own_limits"] else "  (default)"))
        for name in _LIMITS
    ]
    context.obj.printer.item(changed, facts(shown))


@app.command()
def jobs(
    context: typer.Context,
    status: Annotated[
        list[str] | None, typer.Option(help="Only jobs in this state. May be repeated.", show_default=False)
    ] = None,
    project: Annotated[str | None, typer.Option(help="Only jobs of this project, prj_…", show_default=False)] = None,
) -> None:
    """List the jobs of all projects, the newest first, without what they are made of."""
    options: dict[str, Any] = {"status": status, "project": project}
    with context.obj.client() as client:
        context.obj.printer.items(client.list_platform_jobs(**options), JOB_COLUMNS)


def _of(project: PlatformProject, name: str, unit: int = 1) -> str:
    usage: dict[str, Any] = {**project["usage"]}
    used, limit = usage["used"][name] / unit, usage["limits"][name]
    return f"{used:.3g}" if limit is None else f"{used:.3g} of {limit / unit:.3g}"


def _limit(assignment: str) -> tuple[str, Any]:
    name, separator, value = assignment.partition("=")
    if not separator or name not in _LIMITS:
        raise ClientError(f"{assignment}: write LIMIT=VALUE with one of {', '.join(_LIMITS)}.")
    if name == "when_exceeded":
        return name, value
    if value == "none":
        return name, None
    try:
        return name, int(value)
    except ValueError as error:
        raise ClientError(f"{assignment}: the value is a whole number or none.") from error


def _shown(limit: object) -> str:
    return "none" if limit is None else str(limit)
