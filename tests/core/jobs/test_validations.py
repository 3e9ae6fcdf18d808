"""Validations: requests, their results, and the jobs that they block."""

from typing import Any

import pytest
from sqlalchemy import select, text
from sqlalchemy.orm import Session

from core import tasks
from core.errors import BlockedByValidation, NotFound, QuotaExceeded
from core.jobs.submission import validations
from core.jobs.submission.submit import submit_job
from core.jobs.submission.validation_result import JobFinding, ValidationResult
from core.models import DataTask, Validation
from core.models.tasks import TaskStatus
from core.settings import Settings
from tests.core.factories import make_dataset, make_key
from trainer.preflight.report import Finding, Report
from trainer.spec import JobSpec

ERROR = Finding(
    level="error", area="model", code="context", where="#/ppo/max_new_tokens", detail="Too long.", fix="Lower it."
)
NOTE = Finding(level="warning", area="data", code="few", where="#/data", detail="Few rows.")


@pytest.fixture
def owner(session: Session) -> str:
    return make_key(session).owner_id


@pytest.fixture
def spec(session: Session, owner: str) -> JobSpec:
    return JobSpec.model_validate({"model": "a/b", "data": {"preferences": make_dataset(session, owner).id}, "ppo": {}})


def finish(session: Session, made: validations.ValidationDetails, *findings: Finding) -> None:
    made.validation.result = ValidationResult.of_report(Report(findings=list(findings)), {}).model_dump(mode="json")
    tasks.end(session, made.task, TaskStatus.SUCCEEDED)
    session.commit()


def test_validation_of_the_same_spec_is_made_once(
    session: Session, owner: str, spec: JobSpec, settings: Settings
) -> None:
    first = validations.request(session, owner, spec, settings)
    assert first.task.kind == "validate" and first.validation.spec["ppo"]["steps"] == 100
    assert first.validation.spec["data"]["preferences"].startswith(f"{spec.data.preferences}@sha256:")
    assert validations.request(session, owner, spec, settings) == first  # unfinished
    finish(session, first, NOTE)
    assert validations.request(session, owner, spec, settings) == first
    other = spec.model_copy(update={"seed": 1})
    assert validations.request(session, owner, other, settings).validation.id != first.validation.id


def test_validation_of_same_rows_in_another_dataset_is_reused(
    session: Session, owner: str, spec: JobSpec, settings: Settings
) -> None:
    """A client uploads a file twice."""
    first = validations.request(session, owner, spec, settings)
    data = spec.data.model_copy(update={"preferences": make_dataset(session, owner).id})
    again = validations.request(session, owner, spec.model_copy(update={"data": data}), settings)
    assert again.validation.id == first.validation.id and data.preferences != spec.data.preferences


@pytest.mark.parametrize("end", ["failed", "cancelled", "succeeded"])
def test_validation_without_result_or_refreshed_runs_again(
    session: Session, owner: str, spec: JobSpec, settings: Settings, end: str
) -> None:
    first = validations.request(session, owner, spec, settings)
    task_id = first.task.id
    if end == "succeeded":
        finish(session, first, ERROR)
    else:
        tasks.end(session, first.task, TaskStatus(end), {"code": "c", "message": "m"})
    again = validations.request(session, owner, spec, settings, refresh=end == "succeeded")
    assert again.validation.id == first.validation.id and again.task.id != task_id
    assert again.result is None and again.task.status == TaskStatus.QUEUED


def test_submission_is_refused_by_blocking_findings(
    session: Session, owner: str, spec: JobSpec, settings: Settings
) -> None:
    made = validations.request(session, owner, spec, settings)
    job = submit_job(session, owner, spec, settings)
    validations.refuse_blocked(session, owner, job.spec)  # no result yet
    finish(session, made, ERROR, NOTE)
    with pytest.raises(BlockedByValidation, match="has 1 blocking finding: the run would fail") as refusal:
        validations.refuse_blocked(session, owner, job.spec)
    assert refusal.value.extras["param"] == "ppo.max_new_tokens"
    assert refusal.value.extras["validation"] == made.validation.id
    (error,) = refusal.value.extras["errors"]
    assert (error["code"], error["pointer"], error["advice"]) == ("context", "#/ppo/max_new_tokens", "Lower it.")
    validations.refuse_blocked(session, make_key(session).owner_id, job.spec)
    validations.refuse_blocked(session, owner, job.spec | {"seed": 1})


def test_submission_with_warnings_is_accepted(session: Session, owner: str, spec: JobSpec, settings: Settings) -> None:
    finish(session, validations.request(session, owner, spec, settings), NOTE)
    validations.refuse_blocked(session, owner, submit_job(session, owner, spec, settings).spec)


def test_validation_is_found_by_its_owner_only(session: Session, owner: str, spec: JobSpec, settings: Settings) -> None:
    made = validations.request(session, owner, spec, settings)
    assert validations.get(session, owner, made.validation.id) == made
    with pytest.raises(NotFound):
        validations.get(session, make_key(session).owner_id, made.validation.id)


def test_unfinished_validations_are_limited(
    session: Session, owner: str, spec: JobSpec, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(validations, "MOST_UNFINISHED", 1)
    made = validations.request(session, owner, spec, settings)
    other = spec.model_copy(update={"seed": 1})
    with pytest.raises(QuotaExceeded, match="You have 1 unfinished validations"):
        validations.request(session, owner, other, settings)
    finish(session, made)
    validations.request(session, owner, other, settings)


def test_old_validations_are_deleted_by_the_next_request(
    session: Session, owner: str, spec: JobSpec, settings: Settings
) -> None:
    """One that is still being made is kept."""
    made = [validations.request(session, owner, spec.model_copy(update={"seed": seed}), settings) for seed in (1, 2, 3)]
    finish(session, made[0])
    finish(session, made[1])
    session.execute(
        text("UPDATE validations SET requested_at = now() - interval '31 days' WHERE id <> :kept"),
        {"kept": made[1].validation.id},
    )
    last = validations.request(session, owner, spec, settings)
    kept = {found.validation.id for found in (made[1], made[2], last)}
    assert set(session.scalars(select(Validation.id))) == kept
    assert session.get(DataTask, made[0].task.id) is not None


@pytest.mark.parametrize(
    ("where", "detail", "pointer", "shown"),
    [
        ("/w/run/data/sft.jsonl, line 3", "no text.", "#/data/sft", "Line 3: no text."),
        ("/w/run/data/sft.jsonl", "5 rows more.", "#/data/sft", "5 rows more."),
        ("#/model/path", "There is no folder /w/run/models/ckpt_1.", "#/model/path", "There is no folder ckpt_1."),
        ("", "x", "#", "x"),
    ],
)
def test_findings_name_fields_and_ids_instead_of_paths(where: str, detail: str, pointer: str, shown: str) -> None:
    report = Report(findings=[Finding(level="error", area="data", code="c", where=where, detail=detail)])
    names: dict[str, Any] = {"/w/run/data/sft.jsonl": "ds_1@sha256:a", "/w/run/models/ckpt_1": "ckpt_1"}
    (found,) = ValidationResult.of_report(report, names).findings
    assert found == JobFinding(code="c", severity="blocking", area="data", pointer=pointer, detail=shown, advice=None)
