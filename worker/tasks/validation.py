"""The data task `validate`: runs `python -m trainer check` on a resolved spec, in a folder as the trainer would have it."""

import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from sqlalchemy.orm import Session

from core.db import session_scope
from core.jobs.queue import largest_worker
from core.jobs.queue.workers import online_workers
from core.jobs.submission.stored_specs import validated
from core.jobs.submission.submit import needed_inputs
from core.jobs.submission.validation_result import ValidationResult
from core.models import Validation
from core.scheduling.matching import Requirement
from trainer.preflight.report import Report
from worker.health import worker_is_alive
from worker.jobs import workspace as workspaces
from worker.jobs.checkpoints import DamagedCheckpoint, StoredCheckpoint
from worker.jobs.damaged import DamagedRows, recorded
from worker.jobs.launch.trainer_command import TRAINER
from worker.jobs.workspace import Inputs, StoredRows, Workspace
from worker.tasks.command import LOW_PRIORITY, CommandFailed, CommandTimedOut
from worker.tasks.context import TaskContext


def validate(task: TaskContext) -> None:
    """Check the spec and store the result. A repeated attempt starts anew.

    Raises NotFound for a dataset or checkpoint that has been deleted, CommandTimedOut, and CommandFailed if the check wrote
    no report.
    """
    validation_id = task.args["validation"]
    with tempfile.TemporaryDirectory(dir=task.scratch, prefix="validation-") as name:
        workspace = Workspace(Path(name).resolve() / "run")
        with session_scope() as session:
            validation = session.get(Validation, validation_id)
            if validation is None:
                return
            spec, inputs = validation.spec, _inputs(session, task, validation.spec)
        workspaces.create(workspace, task.settings.path_rules)
        task.report(0.0, "fetching datasets and models")
        try:
            workspaces.fill(workspace, _for_its_gpu(spec), inputs, task.blobs, task.check)
        except (DamagedCheckpoint, DamagedRows) as error:
            raise recorded(error) from error
        task.report(0.1, "checking")
        report = _check(task, workspace, _machine_options(Requirement.of_spec(spec)))
        report = _with_largest_worker(task, spec, report)
        _store(task, validation_id, ValidationResult.of_report(report, _names(workspace, spec, inputs)))


def _inputs(session: Session, task: TaskContext, spec: dict[str, Any]) -> Inputs:
    needed = needed_inputs(session, task.owner_id, validated(spec), task.settings)
    rows = {role: StoredRows.of(found.content) for role, found in needed.versions.items() if found.content is not None}
    models = {at: StoredCheckpoint.of(checkpoint) for at, checkpoint in needed.checkpoints.items()}
    return Inputs(rows, {}, models, None, None)


def _machine_options(need: Requirement) -> list[str]:
    """Options about the machine of the run. Without a worker on this machine, the run is for another one."""
    if need.gpu_memory_gib and need.device != "cpu":
        return ["--device-memory", f"{need.gpu_memory_gib}GiB"]
    return [] if worker_is_alive() else ["--elsewhere"]


def _for_its_gpu(spec: dict[str, Any]) -> dict[str, Any]:
    """The spec for the device that it certainly runs on. A job that needs GPU memory runs on a GPU."""
    need = Requirement.of_spec(spec)
    on_gpu = need.gpu_memory_gib and need.device == "auto"
    return spec | {"runtime": spec["runtime"] | {"device": "cuda"}} if on_gpu else spec


def _check(task: TaskContext, workspace: Workspace, options: list[str]) -> Report:
    """The report of the command. Its exit status is that of the first blocking finding, so a report counts more."""
    file = workspace.folder / "report.json"
    command = [*TRAINER, "check", str(workspace.spec), "--json", str(file), *options, *LOW_PRIORITY]
    command += ["--local-paths", str(workspace.local_paths)]
    limit = task.settings.validation_seconds
    try:
        task.run_command(command, cwd=workspace.folder, check=_deadline(limit), shared=True)
    except CommandFailed:
        if not file.exists():
            raise
    return Report.model_validate_json(file.read_bytes())


def _with_largest_worker(task: TaskContext, spec: dict[str, Any], report: Report) -> Report:
    """The report with a finding if it fits no worker that is online."""
    if report.memory is None or any(finding.code == "no_room" for finding in report.findings):
        return report
    with session_scope() as session:
        cpu_only = Requirement.of_spec(spec).device == "cpu"
        refuse = task.settings.refuse_unfit_jobs
        found = largest_worker.unfit(report.memory, online_workers(session), cpu_only=cpu_only, refuse=refuse)
    if found is None:
        return report
    order = ("error", "warning", "info")
    return report.model_copy(
        update={"findings": sorted([found, *report.findings], key=lambda finding: order.index(finding.level))}
    )


def _deadline(seconds: float) -> Callable[[], None]:
    """A function that raises CommandTimedOut once the time is over."""
    ends_at = time.monotonic() + seconds

    def check() -> None:
        if time.monotonic() > ends_at:
            detail = f"The check took longer than {seconds:g} s (PROXIMAL_VALIDATION_SECONDS). It was ended without a result."
            raise CommandTimedOut(detail)

    return check


def _names(workspace: Workspace, spec: dict[str, Any], inputs: Inputs) -> dict[str, str]:
    """The names that replace the paths of the folder in findings, by path."""
    names = {str(workspace.folder / f"data/{role}.jsonl"): str(spec["data"][role]) for role in inputs.datasets}
    names |= {str(workspace.folder / f"models/{model.id}"): model.id for model in inputs.models.values()}
    return names | {f"{workspace.folder}/": "", str(workspace.folder): "the run's folder"}


def _store(task: TaskContext, validation_id: str, result: ValidationResult) -> None:
    """Store the result, unless another attempt holds the task. A deleted validation is left alone."""
    with session_scope() as session:
        task.require_held(session)
        validation = session.get(Validation, validation_id, with_for_update=True)
        if validation is not None:
            validation.result = result.model_dump(mode="json")
        task.finish(session)
