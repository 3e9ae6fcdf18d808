"""`proximal jobs set`: live knobs of a running job."""

from typing import Annotated, Any

import typer

from client.commands.job_changes import JobId
from client.terminal import Printer

KNOBS = ("kl_coef", "kl_target", "learning_rate", "critic_learning_rate")
"""The knobs of `trainer.spec.knobs`, whose import takes a second."""
KNOB_COLUMNS: dict[str, Any] = {
    "name": lambda knob: knob["name"],
    "value": lambda knob: "" if knob["value"] is None else f"{knob['value']:g}",
    "field": lambda knob: knob["field"],
    "unavailable because": lambda knob: knob["reason"] or "",
}
COMMAND_COLUMNS: dict[str, Any] = {
    "stage": lambda command: command["stage"],
    "name": lambda command: command["name"],
    "value": lambda command: "" if command["value"] is None else f"{command['value']:g}",
    "status": lambda command: command["status"],
}


def set_knobs(
    context: typer.Context,
    job_id: JobId,
    values: Annotated[
        list[str] | None, typer.Argument(help="New values, such as kl_coef=0.05 or learning_rate=1e-6.")
    ] = None,
    evaluate: Annotated[bool, typer.Option("--evaluate", help="Evaluate the policy after the next step.")] = False,
    checkpoint: Annotated[bool, typer.Option("--checkpoint", help="Save a checkpoint between two steps.")] = False,
) -> None:
    """Change live knobs of a running job. Without values, show the knobs that its stage has."""
    printer: Printer = context.obj.printer
    with context.obj.client() as client:
        if not (values or evaluate or checkpoint):
            printer.items(client.get_job_knobs(job_id)["knobs"], KNOB_COLUMNS, key=None)
            return
        knobs = dict(map(assignment, values or []))
        made = client.create_job_commands(job_id, **knobs, evaluate=evaluate or None, checkpoint=checkpoint or None)
        printer.items(made, COMMAND_COLUMNS)


def assignment(text: str) -> tuple[str, float]:
    """Raises BadParameter unless the text is NAME=NUMBER with the name of a knob."""
    name, _, value = text.partition("=")
    try:
        number = float(value)
    except ValueError as error:
        raise typer.BadParameter(f"{text!r} is not NAME=NUMBER, such as kl_coef=0.05.") from error
    if name not in KNOBS:
        raise typer.BadParameter(f"There is no knob {name!r}. The knobs are {', '.join(KNOBS)}.")
    return name, number
