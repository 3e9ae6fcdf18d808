"""`python -m trainer report`: what is good and bad about a file of rows."""

import argparse
import json
import os
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from trainer import allowed_paths
from trainer.errors import SpecError, TrainerError
from trainer.report.settings import ReportSettings
from trainer.spec.problems import explain


def add_to(commands: Any) -> None:
    """`commands`: what argparse's `add_subparsers` answers."""
    command = commands.add_parser(
        "report",
        help="say what is good and bad about a dataset",
        description="Look at every row: duplicates, contradictions, lengths, bias, agreement; with a model in the settings, as "
        "its tokenizer sees them. Progress goes to standard output, a JSON object a line. Exit status: 0 it is written; 2 bad "
        "settings; 3 rows that cannot be read; 4 a tokenizer that cannot be loaded.",
    )
    command.add_argument("rows", type=Path, help="JSONL file of rows, as `python -m trainer run` takes it")
    command.add_argument("--settings", type=Path, required=True, help="JSON file: kind, and model and lengths of a job")
    command.add_argument("--out", type=Path, required=True, help="file for the report, as JSON")
    command.add_argument("--rows-dir", type=Path, required=True, help="folder for <code>.u64: the rows of each finding")
    command.add_argument("--processes", type=int, help="at most; left out: one for each core, up to 8")
    command.add_argument("--nice", type=int, default=0, help="how far behind other processes it stands, up to 19")
    allowed_paths.add_option_to(command)
    command.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> None:
    """Make and write it. Trouble is raised, and told to who reads the lines, too."""
    try:
        _run(arguments)
    except TrainerError as error:
        _say({"error": {"code": error.code, "message": str(error)}})
        raise


def _run(arguments: argparse.Namespace) -> None:
    settings = read_settings(arguments.settings)
    os.nice(arguments.nice)
    try:
        from trainer.report.build import make
    except ImportError as error:
        raise SpecError(f"A report needs {error.name}: pip install 'proximal[report]'.") from error
    report = make(arguments.rows, settings, arguments.rows_dir, _tell, arguments.processes)
    draft = arguments.out.with_name(f".{arguments.out.name}.new")
    draft.write_text(json.dumps(report, ensure_ascii=False, allow_nan=False) + "\n", encoding="utf-8")
    draft.replace(arguments.out)


def read_settings(path: Path) -> ReportSettings:
    """Raises SpecError, naming every field that is wrong."""
    try:
        return ReportSettings.model_validate_json(path.read_bytes())
    except OSError as error:
        raise SpecError(f"{path}: {error.strerror}.") from error
    except ValidationError as error:
        problems = "\n".join(f"  {problem}" for problem in explain(error, ReportSettings))
        raise SpecError(f"{path} holds no valid settings of a report:\n{problems}") from error


def _tell(progress: float, note: str) -> None:
    _say({"progress": round(progress, 4), "note": note})


def _say(line: dict[str, Any]) -> None:
    print(json.dumps(line), flush=True)  # noqa: T201 this command's output
