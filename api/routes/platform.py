"""What the platform says about itself: workers, metrics' meanings, the job's schema."""

from dataclasses import asdict
from typing import Any

from fastapi import APIRouter
from sqlalchemy import select

from api.deps import PrincipalDep, SessionDep
from api.problems import documented
from api.schemas.platform import JsonSchema, MetricInfo, MetricInfoList, Preset, PresetList, Worker, WorkerList
from core.errors import NotSignedIn
from core.jobs import workers
from core.models import Job
from trainer.metrics import METRICS
from trainer.spec import JobSpec
from trainer.spec.presets import PRESETS

router = APIRouter(tags=["Platform"])


@router.get("/workers", responses=documented(NotSignedIn))
def list_workers(principal: PrincipalDep, session: SessionDep) -> WorkerList:
    """The workers that are online."""
    present = workers.online(session)
    at_work = [worker.job_id for worker in present]
    yours = set(session.scalars(select(Job.id).where(Job.id.in_(at_work), Job.owner_id == principal.key_id)))
    shown = [Worker.model_validate(worker) for worker in present]
    return WorkerList.of([one if one.job_id in yours else one.model_copy(update={"job_id": None}) for one in shown])


@router.get("/reference/metrics", responses=documented(NotSignedIn))
def list_metric_meanings(_: PrincipalDep) -> MetricInfoList:
    """What each metric is, how it is computed, and when it looks healthy."""
    return MetricInfoList.of([MetricInfo.model_validate(asdict(metric)) for metric in METRICS], key="name")


@router.get("/presets", responses=documented(NotSignedIn))
def list_presets(_: PrincipalDep) -> PresetList:
    """Job specs to begin with: when to use each, and which of its fields to replace."""
    return PresetList.of([Preset.model_validate(preset.model_dump()) for preset in PRESETS.values()], key="name")


@router.get("/schema/job", responses=documented(NotSignedIn))
def get_job_schema(_: PrincipalDep) -> JsonSchema:
    """The JSON schema of a job spec: every field with its default and its meaning."""
    schema: dict[str, Any] = JobSpec.model_json_schema()
    return schema
