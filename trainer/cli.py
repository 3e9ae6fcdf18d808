"""`python -m trainer`: run a spec, or print the spec's schema. torch is imported only once the arguments are good."""

import argparse
import json
import sys
import tomllib
from pathlib import Path

from pydantic import ValidationError

from trainer.errors import SpecError, TrainerError
from trainer.spec import DATASETS, JobSpec
from trainer.spec.paths import named_paths, with_paths
from trainer.spec_errors import explain


def main(argv: list[str] | None = None) -> int:
    arguments = _parser().parse_args(argv)
    if arguments.command == "schema":
        print(json.dumps(JobSpec.model_json_schema(), indent=2))  # noqa: T201 this command's output
        return 0
    try:
        spec = load_spec(arguments.spec)
    except SpecError as error:
        return _complain(error)
    from trainer.process import run_in_process

    try:
        run_in_process(spec, arguments.run_dir, arguments.lease)
    except TrainerError as error:
        return _complain(error)
    return 0


def load_spec(path: Path) -> JobSpec:
    """Read a TOML or JSON spec; dataset and model paths in it are relative to the file.

    Raises SpecError, naming every field that is wrong.
    """
    try:
        text = path.read_text(encoding="utf-8")
        raw = tomllib.loads(text) if path.suffix == ".toml" else json.loads(text)
    except (OSError, ValueError) as error:
        raise SpecError(f"{path}: {error}") from error
    try:
        spec = JobSpec.model_validate(raw)
    except ValidationError as error:
        problems = "\n".join(f"  {problem}" for problem in explain(error))
        raise SpecError(f"{path} is not a valid spec:\n{problems}") from error
    return _resolved(spec, path.resolve().parent)


def _resolved(spec: JobSpec, base: Path) -> JobSpec:
    """Datasets and word lists are files beside the spec; what names a model is a folder there, or else a hub id."""
    data = {name: str(base / value) for name in DATASETS if (value := getattr(spec.data, name))}
    places = {
        named.at: str(base / named.value)
        for named in named_paths(spec)
        if named.kind == "file" or (base / named.value).is_dir()
    }
    return with_paths(spec.model_copy(update={"data": spec.data.model_copy(update=data)}), places)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m trainer", description="Run one RLHF job: SFT, reward model, PPO, evaluation."
    )
    commands = parser.add_subparsers(dest="command", required=True)
    run = commands.add_parser(
        "run",
        help="run a spec, or go on with a run",
        description="Run a spec. The same command on the same run folder goes on where the run stopped. Exit status: "
        "0 done; 2 bad spec; 3 bad data; 4 bad model; 5 diverged; 6 out of memory; 7 run folder; 8 reward failed; 75 stopped, saved and resumable.",
    )
    run.add_argument("spec", type=Path, help="TOML or JSON file; see `python -m trainer schema`")
    run.add_argument("--run-dir", type=Path, required=True, help="folder for events.jsonl and checkpoints/")
    run.add_argument(
        "--lease", type=Path, help="file with the Unix time until which the run may go on (written by a worker)"
    )
    commands.add_parser("schema", help="print the JSON schema of a spec")
    return parser


def _complain(error: TrainerError) -> int:
    print(f"error: {error}", file=sys.stderr)  # noqa: T201 the process edge
    return error.exit_status
