"""`python -m trainer complete` and `judge`: run by the data worker for rounds of annotation, or by hand."""

import argparse
import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

from trainer import allowed_paths
from trainer.annotation.requests import CompletionRequest, JudgeRequest
from trainer.errors import TrainerError


def add_to(commands: Any) -> None:
    """Add both commands to the trainer's."""
    complete = commands.add_parser(
        "complete",
        help="sample answers of policies to prompts",
        description="Sample answers of one or several policies to prompts. Progress goes to standard output as JSON lines.",
    )
    complete.add_argument(
        "request", type=Path, help="JSON file: see CompletionRequest in trainer/annotation/requests.py"
    )
    judge = commands.add_parser(
        "judge",
        help="score completions with a reward model",
        description="Score completions with a reward model. Progress goes to standard output as JSON lines.",
    )
    judge.add_argument("request", type=Path, help="JSON file: see JudgeRequest in trainer/annotation/requests.py")
    for command, run in ((complete, _complete), (judge, _judge)):
        command.add_argument("--out", type=Path, required=True, help="JSON Lines, one line for each of the input")
        command.add_argument("--nice", type=int, default=0, help="how far behind other processes it stands, up to 19")
        allowed_paths.add_option_to(command)
        command.set_defaults(run=run)


def _complete(arguments: argparse.Namespace) -> None:
    from trainer.annotation.complete import complete

    request = CompletionRequest.read(arguments.request)
    _guarded(
        arguments.nice, lambda: complete(request, arguments.request.resolve().parent, arguments.out, _print_progress)
    )


def _judge(arguments: argparse.Namespace) -> None:
    from trainer.annotation.judge import judge

    request = JudgeRequest.read(arguments.request)
    _guarded(arguments.nice, lambda: judge(request, arguments.request.resolve().parent, arguments.out, _print_progress))


def _guarded(niceness: int, work: Callable[[], None]) -> None:
    """Run the command at the priority of `--nice`. An error is printed as a JSON line and raised."""
    os.nice(niceness)
    from trainer.out_of_memory import as_out_of_memory, is_out_of_memory

    try:
        try:
            work()
        except (RuntimeError, MemoryError) as error:
            if not is_out_of_memory(error):
                raise
            advice = "Shorten the texts, or try again when no job runs on this device."
            raise as_out_of_memory(error, ", even for one text at a time", advice) from error
    except TrainerError as error:
        _print_line({"error": {"code": error.code, "message": str(error)}})
        raise


def _print_progress(fraction: float, note: str) -> None:
    _print_line({"progress": round(fraction, 4), "note": note})


def _print_line(line: dict[str, Any]) -> None:
    print(json.dumps(line), flush=True)  # noqa: T201 this command's output
