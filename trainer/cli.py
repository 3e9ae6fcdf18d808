"""`python -m trainer`: run a spec, check it, or print the spec's schema. torch is imported only once the arguments are good."""

import argparse
import json
import os
import sys
import textwrap
import tomllib
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from data.start_up import importing
from trainer import allowed_paths, data_report
from trainer.annotation import command as annotation
from trainer.errors import RestartAfterHang, SpecError, StorageError, TrainerError
from trainer.events import CheckpointSaved, read
from trainer.hangs.restart import Restarts
from trainer.preflight.render import parse_bytes, render
from trainer.preflight.report import Report
from trainer.spec import DATASETS, JobSpec, ResourcesSpec
from trainer.spec.named_resources import named_paths, with_paths
from trainer.spec.nulls import with_nulls
from trainer.spec.presets import PRESETS
from trainer.spec.validation_errors import Problem, explain


def main(argv: list[str] | None = None) -> int:
    arguments = _parser().parse_args(argv)
    arguments.given = sys.argv[1:] if argv is None else argv
    try:
        with allowed_paths.confined_to(allowed_paths.read_rules(getattr(arguments, "local_paths", None))):
            return _run_command(arguments)
    except SpecError as error:
        return _complain(error)


def _run_command(arguments: argparse.Namespace) -> int:
    if arguments.command == "schema":
        print(json.dumps(JobSpec.model_json_schema(), indent=2))  # noqa: T201 this command's output
        return 0
    if arguments.command == "presets":
        return _presets(arguments.name)
    if arguments.command == "check":
        return _check(arguments)
    if arguments.command == "check-server":
        from trainer.preflight.server import serve

        return serve(lambda given: main(list(given)))
    if arguments.command in ("complete", "judge", "report"):
        return _run(arguments)
    try:
        _prepare_node(arguments)
        spec = load_spec(arguments.spec)
        allowed_paths.check_spec(spec)
    except (SpecError, StorageError) as error:
        return _complain(error)
    restarts = None if arguments.lease is not None else Restarts(arguments.given, arguments.attempt)
    if arguments.command == "launch" and spec.resources.total > 1:
        return _launch_again(arguments, spec.resources, restarts)
    with importing("trainer.run.process"):
        from trainer.run.process import run_in_process
    try:
        run_in_process(spec, arguments.run_dir, arguments.lease, restarts)
    except TrainerError as error:
        return _complain(error)
    return 0


def _presets(name: str | None) -> int:
    """Print the list of presets, or one as a spec in JSON."""
    if name is not None:
        print(json.dumps(PRESETS[name].spec, indent=2))  # noqa: T201 this command's output
        return 0
    for preset in PRESETS.values():
        lines = textwrap.wrap(preset.description, 100)
        print("\n    ".join([f"{preset.name}: {preset.title}", *lines, f"Replace: {', '.join(preset.replace)}."]))  # noqa: T201
    return 0


def _run(arguments: argparse.Namespace) -> int:
    """A command that brings its own `run`."""
    try:
        arguments.run(arguments)
    except TrainerError as error:
        return _complain(error)
    return 0


def _prepare_node(arguments: argparse.Namespace) -> None:
    """Take the number of this node from Kubeflow, and write the output to the node's file. Raises SpecError and StorageError."""
    if getattr(arguments, "kubeflow", False):
        from trainer.distributed.kubeflow import take_node

        arguments.machine_rank, arguments.rendezvous = take_node()
    path: Path | None = arguments.log
    if path is not None:
        from trainer.distributed.rank import write_output_to

        rank = getattr(arguments, "machine_rank", 0)
        try:
            write_output_to(path.with_stem(f"{path.stem}-{rank}") if rank else path)
        except OSError as error:
            raise StorageError(f"The output cannot be written to {path}: {error}") from error


def _launch_again(arguments: argparse.Namespace, resources: ResourcesSpec, restarts: Restarts | None) -> int:
    """Launch the run. After a hang that asks for it, start this command again."""
    events: Path = arguments.run_dir / "events.jsonl"
    before = events.stat().st_size if events.exists() else 0
    status = _launch(arguments, resources)
    if status == RestartAfterHang.exit_status and restarts is not None:
        restarts.start_again(any(isinstance(event, CheckpointSaved) for event, _ in read(events, before)))
    return status


def _launch(arguments: argparse.Namespace, resources: ResourcesSpec) -> int:
    if arguments.slurm and resources.machines > 1:
        from trainer.distributed.slurm import launch_on_nodes, node_rank

        try:
            rank = node_rank()
        except SpecError as error:
            return _complain(error)
        if rank is None:
            return launch_on_nodes(resources.machines, [sys.executable, "-m", "trainer", *arguments.given])
        arguments.machine_rank = rank
    if (resources.machines > 1) != (arguments.rendezvous is not None):
        return _complain(
            SpecError("--rendezvous is for a run on several machines (`resources.machines`), and needed there.")
        )
    if arguments.machine_rank >= resources.machines:
        return _complain(SpecError(f"--machine-rank counts from 0: the run has {resources.machines} machines."))
    from trainer.distributed.launch import Machine, launch

    command = ["trainer", "run", str(arguments.spec), "--run-dir", str(arguments.run_dir)]
    lease = [] if arguments.lease is None else ["--lease", str(arguments.lease)]
    paths = [] if arguments.local_paths is None else ["--local-paths", str(arguments.local_paths)]
    machine = Machine(arguments.machine_rank, arguments.rendezvous)
    attempt = ["--attempt", str(arguments.attempt)]
    return launch(resources, machine, [*command, *lease, *paths, *attempt], arguments.rank_logs)


class InvalidSpec(SpecError):
    """A spec that can be read but is not valid, with all its problems."""

    def __init__(self, message: str, problems: list[Problem]) -> None:
        super().__init__(message)
        self.problems = problems


def load_spec(path: Path) -> JobSpec:
    """Read a TOML or JSON spec; dataset and model paths in it are relative to the file.

    Raises SpecError, naming every field that is wrong.
    """
    if path.suffix not in (".toml", ".json") and path.is_file():
        raise SpecError(f"{path}: a spec is TOML or JSON, and its name ends with .toml or .json.")
    try:
        text = path.read_text(encoding="utf-8")
        raw = with_nulls(tomllib.loads(text)) if path.suffix == ".toml" else json.loads(text)
    except (OSError, ValueError) as error:
        raise SpecError(f"{path}: {error}") from error
    try:
        spec = JobSpec.model_validate(raw)
    except ValidationError as error:
        problems = "\n".join(f"  {problem}" for problem in explain(error))
        raise InvalidSpec(f"{path} is not a valid spec:\n{problems}", explain(error)) from error
    return _resolved(spec, path.resolve().parent)


def _resolved(spec: JobSpec, base: Path) -> JobSpec:
    """Relative paths of datasets and word lists are relative to the spec's folder. A model is a folder there, or a hub id."""
    data = {name: str(base / value) for name in DATASETS if (value := getattr(spec.data, name))}
    places = {
        named.at: str(base / named.value)
        for named in named_paths(spec)
        if not named.is_model or (base / named.value).is_dir()
    }
    return with_paths(spec.model_copy(update={"data": spec.data.model_copy(update=data)}), places)


def _check(arguments: argparse.Namespace) -> int:
    """Print the preflight's report; its exit status is the run's, had it been started."""
    try:
        report = _report(arguments)
    except SpecError as error:
        return _complain(error)
    text = report.model_dump_json(indent=2, exclude_none=True)
    if arguments.json == "-":
        print(text)  # noqa: T201 this command's output
    else:
        print(render(report))  # noqa: T201 this command's output
        if arguments.json is not None:
            Path(arguments.json).write_text(text + "\n", encoding="utf-8")
    return report.exit_status()


def _report(arguments: argparse.Namespace) -> Report:
    os.nice(arguments.nice)
    try:
        spec = load_spec(arguments.spec)
    except InvalidSpec as error:
        return Report.of_invalid_spec([(problem.pointer, problem.detail) for problem in error.problems])
    allowed_paths.check_spec(spec)
    with importing("trainer.preflight.check"):
        from trainer.preflight.check import CheckOptions, check
    memory = None if arguments.device_memory is None else parse_bytes(arguments.device_memory)
    report = check(spec, CheckOptions(memory, arguments.ask_endpoints, arguments.elsewhere))
    return _with_trial(spec, report) if arguments.trial_step and not report.errors() else report


def _with_trial(spec: JobSpec, report: Report) -> Report:
    """The report with a measured trial step, or with a finding why there is none."""
    from trainer.run.trial_step import no_trial, trial_findings, trial_steps

    try:
        trial = trial_steps(spec)
    except TrainerError as error:
        return report.with_findings([no_trial(error)])
    return report.model_copy(update={"trial": trial}).with_findings(trial_findings(spec, trial))


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m trainer", description="Run one RLHF job: SFT, reward model, PPO, evaluation."
    )
    commands = parser.add_subparsers(dest="command", required=True)
    _add_run_and_launch(commands)
    _add_check(commands)
    commands.add_parser("check-server", help="make checks for a data worker, with torch imported once")
    commands.add_parser("schema", help="print the JSON schema of a spec")
    presets = commands.add_parser(
        "presets",
        help="list specs to begin with, or print one",
        description="Without a name: the presets, when to use each, and which of its fields are to be replaced. With a name: that "
        "preset as a JSON spec.",
    )
    presets.add_argument("name", nargs="?", choices=PRESETS, help="print this preset's spec")
    annotation.add_to(commands)
    data_report.add_to(commands)
    return parser


def _add_run_and_launch(commands: Any) -> None:
    run = commands.add_parser(
        "run",
        help="run a spec, or resume a run",
        description="Run a spec. The same command on the same run folder resumes where the run stopped. Exit status 0 is "
        "success, 75 a stop and 76 a pause that can be resumed. Errors: 2 spec, 3 data, 4 model, 5 diverged, 6 out of memory, "
        "7 run folder. Further: 8 reward failed, 9 unhealthy, 10 self-test failed, 11 process lost, 12 disk full, "
        "13 sampling engine failed, 15 hang, 16 hang that asks for a restart.",
    )
    launch = commands.add_parser(
        "launch",
        help="run a spec in the processes of its `resources`",
        description="Start this machine's processes of a run, under accelerate's launcher. The exit status is that of the "
        "process that failed first, as `run` defines it.",
    )
    for command in (run, launch):
        command.add_argument("spec", type=Path, help="TOML or JSON file; see `python -m trainer schema`")
        command.add_argument("--run-dir", type=Path, required=True, help="folder for events.jsonl and checkpoints/")
        command.add_argument(
            "--lease", type=Path, help="file with the Unix time until which the run may go on (written by a worker)"
        )
        allowed_paths.add_option_to(command)
        command.add_argument(
            "--attempt",
            type=int,
            default=1,
            help="number of the attempt since the last new checkpoint; a run without a worker sets it when it restarts after a hang",
        )
        command.add_argument(
            "--log", type=Path, help="file that the output is appended to, in place of the console; node 1 has FILE-1"
        )
    launch.add_argument("--machine-rank", type=int, default=0, help="which of the run's machines this is, from 0")
    launch.add_argument("--rendezvous", metavar="HOST:PORT", help="where the machines meet: a free port of machine 0")
    launch.add_argument(
        "--slurm",
        action="store_true",
        help="in a batch job of Slurm with a node for each machine: start the processes on all of them, without the two options above",
    )
    launch.add_argument(
        "--kubeflow",
        action="store_true",
        help="in a pod of a TrainJob: take the number of this machine and the rendezvous from the variables of Kubeflow",
    )
    launch.add_argument(
        "--rank-logs", type=Path, help="folder for the output of each process; left out: all write to the console"
    )


def _add_check(commands: Any) -> None:
    check = commands.add_parser(
        "check",
        help="say what a spec would do and need, without doing it",
        description="Look at data, model, steps and memory of a spec, and name everything that is wrong. Nothing is trained or "
        "downloaded. Exit status: 0 it would run; 2 bad spec; 3 bad data; 4 bad model; 6 not enough memory.",
    )
    check.add_argument("spec", type=Path, help="TOML or JSON file")
    check.add_argument("--json", metavar="FILE", help="write the report as JSON too; - prints it in place of the text")
    check.add_argument(
        "--device-memory", metavar="SIZE", help="memory to fit into, such as 24GiB; left out: this machine's"
    )
    check.add_argument(
        "--ask-endpoints", action="store_true", help="ask remote rewards and judges about one response from the data"
    )
    check.add_argument(
        "--elsewhere",
        action="store_true",
        help="the run is for another machine: a GPU or weights that are missing here are warnings, and this machine's memory is "
        "not compared",
    )
    check.add_argument(
        "--trial-step",
        action="store_true",
        help="load the model, take the first PPO iteration at several learning rates, and report how far each moves the policy",
    )
    check.add_argument("--nice", type=int, default=0, help="niceness of the process, up to 19")
    allowed_paths.add_option_to(check)


def _complain(error: TrainerError) -> int:
    print(f"error: {error}", file=sys.stderr)  # noqa: T201 the process edge
    return error.exit_status
