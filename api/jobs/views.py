"""Responses for jobs, made from rows."""

import typing
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from types import MappingProxyType
from typing import Any

from pydantic import BaseModel
from sqlalchemy.orm import Session

from api.etags import etag_of
from api.jobs.finding_schemas import HealthFinding
from api.jobs.schemas import Job, JobSummary
from core import models
from core.jobs.actions.allowed_actions import allowed_actions
from core.jobs.groups.groups import places_of
from core.jobs.overview import findings, lineage, listing
from core.jobs.overview.fields import JobField, shown_values
from core.jobs.overview.folding import FoldedGroup
from core.jobs.overview.inputs import inputs, model_names
from core.jobs.queue.queue_places import QueuePlace, queue_places
from core.jobs.run import seeds, sparkline
from core.jobs.run.progress import progress
from core.models.findings import Severity
from core.scheduling.policy import Priority, PriorityName
from trainer.spec import JobSpec
from trainer.spec.health_titles import rule_title

_MESSAGES = {Severity.WARNING: "Warning of the run", Severity.ERROR: "Error of the run"}


def job_view(session: Session, row: models.Job) -> Job:
    """The response for a job."""
    (view,) = job_views(session, [row])
    return view


def job_views(session: Session, rows: Sequence[models.Job]) -> list[Job]:
    named, children = inputs(session, rows), lineage.children_counts(session, [row.id for row in rows])
    return [
        Job.model_validate(
            {
                **summary.model_dump(),
                "notes": row.notes,
                "spec": in_order(row.spec),
                "inputs": named[row.id],
                "children": children.get(row.id, {}),
                **_seeds(session, row),
            }
        )
        for row, summary in zip(rows, job_summaries(session, rows), strict=True)
    ]


def _seeds(session: Session, row: models.Job) -> dict[str, Any]:
    found, summary = seeds.results(session, row)
    return {"seeds": found, "seeds_summary": summary}


def job_summaries(
    session: Session,
    rows: Sequence[models.Job],
    shown: Sequence[JobField] = (),
    folded: Mapping[str, FoldedGroup] = MappingProxyType({}),
) -> list[JobSummary]:
    ids = [row.id for row in rows]
    places, groups = queue_places(session, rows), places_of(session, ids)
    hours, parents = listing.gpu_hours(session, ids), lineage.parents(session, rows)
    checkpoints, health = model_names(session, rows), findings.health_of(session, ids)
    values = shown_values(session, ids, shown)
    own = {
        row.id: {
            "gpu_hours": hours.get(row.id, 0.0),
            "parent": parents.get(row.id),
            "model_name": checkpoints.get(row.id),
            "health": _health(health.get(row.id)),
            "shown": values.get(row.id, {}),
            "folded": folded.get(row.id),
        }
        for row in rows
    }
    return [_summary(row, places.get(row.id), groups.get(row.id), own[row.id]) for row in rows]


def _summary(
    row: models.Job, place: QueuePlace | None, group: tuple[models.JobGroupMember, str] | None, own: dict[str, Any]
) -> JobSummary:
    derived: dict[str, Any] = own | {
        "etag": etag_of(row),
        "progress": progress(row),
        "queue_reason": row.waits_because or (place and place.reason),
        "queue": place and asdict(place),
        "group": group and {**_stored(group[0], ("group_id", "number", "values")), "name": group[1]},
    }
    derived |= {
        "reward_sparkline": sparkline.means(row.reward_line),
        "priority": _priority(row),
        "metadata": row.metadata_,
        "actions": allowed_actions(row),
    }
    stored = _stored(row, [name for name in JobSummary.model_fields if name not in (*derived, "object")])
    return JobSummary.model_validate(stored | derived)


def _stored(row: Any, names: Sequence[str]) -> dict[str, Any]:
    return {name: getattr(row, name) for name in names}


def _priority(row: models.Job) -> PriorityName:
    return Priority(max(Priority.LOW, min(row.priority, Priority.HIGH))).label


def in_order(stored: dict[str, Any], section: type[BaseModel] = JobSpec) -> dict[str, Any]:
    """The spec with its fields in the order of the model, which JSONB does not keep. Unknown fields come last."""
    ordered: dict[str, Any] = {}
    for name in (*section.model_fields, *stored):
        if name in stored and name not in ordered:
            field = section.model_fields.get(name)
            inner = _section_in(field.annotation) if field else None
            ordered[name] = in_order(stored[name], inner) if inner and isinstance(stored[name], dict) else stored[name]
    return ordered


def _section_in(annotation: Any) -> type[BaseModel] | None:
    """The model inside `X`, or inside `X | None`."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return annotation
    return next((found for inner in typing.get_args(annotation) if (found := _section_in(inner))), None)


def _health(found: findings.JobHealth | None) -> dict[str, Any] | None:
    """The fields of `JobHealth`; None without a finding."""
    if found is None:
        return None
    row = found.finding
    stored = {name: getattr(row, name) for name in ("severity", "rule", "seed", "step")}
    return stored | {"title": _title(row), "findings": found.count}


def finding_view(row: models.JobFinding, job: Any) -> HealthFinding:
    """The response for a finding of the job, a row with `name` and `status`."""
    derived: dict[str, Any] = {
        "job_name": job.name,
        "job_status": job.status,
        "title": _title(row),
        "evidence": row.data.get("evidence", []),
        "changes": row.data.get("changes", []),
    }
    stored = {name: getattr(row, name) for name in HealthFinding.model_fields if name not in (*derived, "object")}
    return HealthFinding.model_validate(stored | derived)


def _title(row: models.JobFinding) -> str:
    return _MESSAGES[Severity(row.severity)] if row.rule is None else rule_title(row.rule)
