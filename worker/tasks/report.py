"""The data task `report`: runs `python -m trainer report` on the rows of a version."""

import json
import tempfile
from pathlib import Path
from typing import Any

from sqlalchemy.orm import Session

from core.access.references import is_checkpoint_id
from core.blobs import BlobStore
from core.datasets import number_files, reports
from core.datasets.rows import ANSWER_LINES, LINES, answer_lines_key, lines_key
from core.db import session_scope
from core.models import DatasetReport, DatasetVersion
from data.formats import labelled
from worker.jobs import checkpoints
from worker.jobs.checkpoints import DamagedCheckpoint, StoredCheckpoint
from worker.jobs.damaged import DamagedRows, recorded
from worker.jobs.launch.trainer_command import TRAINER
from worker.jobs.workspace import StoredRows, fetch_rows, write_path_rules
from worker.tasks.command import LOW_PRIORITY
from worker.tasks.context import TaskContext

_FETCHED, _MADE = 0.02, 0.98
_SETTINGS = ("chat_template", "max_prompt_tokens", "max_completion_tokens", "eval_fraction")


def make_report(task: TaskContext) -> None:
    """Make and store the report. A repeated attempt makes the same report."""
    report_id = task.args["report"]
    with tempfile.TemporaryDirectory(dir=task.scratch, prefix="report-") as name:
        folder = Path(name)
        try:
            with session_scope() as session:
                if not _fetch(session, task, report_id, folder):
                    return
        except (DamagedCheckpoint, DamagedRows) as error:
            raise recorded(error) from error
        task.report(_FETCHED, "reading rows")
        files = [str(folder / file) for file in ("rows.jsonl", "settings.json", "report.json", "rows")]
        rows, settings, out, rows_dir = files
        command = [*TRAINER, "report", rows, "--settings", settings, "--out", out, "--rows-dir", rows_dir]
        command += [*LOW_PRIORITY, *write_path_rules(folder, task.settings.path_rules)]
        task.run_command(command, cwd=folder, span=(_FETCHED, _MADE))
        _store(task.blobs, report_id, folder)


def _fetch(session: Session, task: TaskContext, report_id: str, folder: Path) -> bool:
    """Write the input files of the command. Returns False if the dataset has been deleted.

    Raises DamagedRows and DamagedCheckpoint.
    """
    report = session.get(DatasetReport, report_id)
    version = None if report is None else session.get(DatasetVersion, report.version_id)
    if report is None or version is None or version.content is None:
        return False
    given = report.settings
    settings: dict[str, Any] = {name: given[name] for name in _SETTINGS if name in given}
    settings |= {"kind": version.dataset.kind, "labelled": labelled(_source(session, version).origin)}
    fetch_rows(task.blobs, StoredRows.of(version.content), folder / "rows.jsonl")
    for name, key in ((LINES, lines_key(version.id)), (ANSWER_LINES, answer_lines_key(version.id))):
        if number_files.is_stored(task.blobs, key, version.number_files, name):
            task.blobs.get_to(key, folder / f"{name}.u64")
            settings[name] = str(folder / f"{name}.u64")
    if "model" in given:
        settings["model"] = _model(session, task, given["model"], folder / "model")
    (folder / "settings.json").write_text(json.dumps(settings))
    return True


def _source(session: Session, version: DatasetVersion) -> DatasetVersion:
    """The version that was imported, before any fixes."""
    while version.origin.get("type") == "fix" and version.parent_id is not None:
        version = session.get_one(DatasetVersion, version.parent_id)
    return version


def _model(session: Session, task: TaskContext, model: str, folder: Path) -> str:
    """The name of the model for the trainer. For a checkpoint, a folder with all of its files but the weights."""
    if not is_checkpoint_id(model):
        reports.check_model(
            session, task.owner_id, model, task.settings
        )  # the settings may have changed since the request
        return model
    stored = StoredCheckpoint.of(reports.checkpoint_of(session, task.owner_id, model))
    checkpoints.download(task.blobs, stored, folder, model_only=True, weights=False)
    return str(folder)


def _store(blobs: BlobStore, report_id: str, folder: Path) -> None:
    """Store the row numbers, then the result, so that a published result can be filtered by its findings."""
    prefix = f"reports/{report_id}"
    blobs.delete_prefix(prefix)
    sums = {
        file.stem: number_files.put(blobs, reports.rows_key(report_id, file.stem), file)
        for file in sorted((folder / "rows").glob("*.u64"))
    }
    result = json.loads((folder / "report.json").read_text())
    with session_scope() as session:
        report = session.get(DatasetReport, report_id, with_for_update=True)
        if report is not None:
            report.result, report.number_files = result, sums
            return
    blobs.delete_prefix(prefix)
