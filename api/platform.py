"""What the platform says about itself: workers, metrics' meanings, the job's schema."""

from dataclasses import asdict
from typing import Any, Literal

from fastapi import APIRouter
from sqlalchemy import select

from api.deps import PrincipalDep, SessionDep
from api.problems import documented
from api.schema import ListOf, Schema, Timestamp
from core.errors import NotSignedIn
from core.jobs import workers
from core.models import Job
from data.formats import FORMATS
from data.formats.base import Format
from data.kinds import DatasetKind
from data.preview import example_mapping, example_rows
from trainer.metrics import METRICS
from trainer.spec import JobSpec
from trainer.spec.presets import PRESETS


class Worker(Schema):
    """A worker that was seen lately."""

    object: Literal["worker"] = "worker"
    """Always `worker`."""
    id: str
    """Begins with `wrk_`."""
    hostname: str
    """The machine it runs on."""
    job_id: str | None
    """What it is working on; null if it is idle, or if that is another key's job."""
    started_at: Timestamp
    """When it was first seen."""
    last_seen_at: Timestamp
    """When it last gave a sign of life."""


class WorkerList(ListOf[Worker]):
    """The workers that are online."""


class MetricChart(Schema):
    """The dashboard's chart of a metric. Metrics of one stage with the same title are lines of one chart."""

    title: str
    """The chart's title."""
    order: int
    """Charts of a stage, and the lines of a chart, are sorted by it."""
    line: str
    """The line's name in the legend; empty for the only line."""
    scale: Literal["left", "right"]
    """The axis that the line is measured on."""


class MetricInfo(Schema):
    """One metric: its meaning, its unit and its chart."""

    stage: str
    """The stage that reports it."""
    name: str
    """Its name in events and series."""
    label: str
    """Its name for people."""
    formula: str
    """How it is computed."""
    meaning: str
    """Its description."""
    healthy: tuple[float | None, float | None] | None
    """The range of a healthy run, either side null where open; null where there is no general rule."""
    advice: str
    """What to do outside that range."""
    unit: str
    """Its unit; empty for a number without one."""
    chart: MetricChart | None
    """Its chart; null for a metric that is only in the list of all metrics."""


class MetricInfoList(ListOf[MetricInfo]):
    """Every metric that the trainer reports."""


class Preset(Schema):
    """A job spec to begin with."""

    name: str
    """Its name, also in `python -m trainer presets`."""
    title: str
    """Its name for people."""
    description: str
    """When to use it, and what its settings are for."""
    replace: list[str]
    """Fields of the spec whose values are stand-ins: your own model, datasets and rewards go there."""
    spec: dict[str, Any]
    """The body of `POST /v1/jobs`, once those are replaced. What it leaves out has its default."""


class PresetList(ListOf[Preset]):
    """Every preset."""


class DatasetFormat(Schema):
    """A format that files may have."""

    object: Literal["dataset.format"] = "dataset.format"
    """Always `dataset.format`."""
    id: str
    """What `format` is set to."""
    title: str
    """Its name for people."""
    kinds: list[DatasetKind]
    """What it can be read as, the usual first."""
    about: str
    """What a record is, and what becomes of it."""
    source: str
    """Where it is described, or the data that it is known from. Empty: it is the platform's own."""
    example: list[dict[str, Any]]
    """Records as they come."""
    mapping: dict[str, Any] | None
    """The example's mapping, of `custom`."""
    becomes: list[dict[str, Any]]
    """The rows that the example gives, as they are stored."""


class DatasetFormatList(ListOf[DatasetFormat]):
    """Every format, in the order in which people look for them."""


JsonSchema = dict[str, Any]


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


@router.get("/reference/formats", responses=documented(NotSignedIn))
def list_formats(_: PrincipalDep) -> DatasetFormatList:
    """The formats that files may have, each with an example and what becomes of it."""
    return DatasetFormatList.of([_shown(one) for one in FORMATS.values()])


def _shown(one: Format) -> DatasetFormat:
    told = {name: getattr(one, name) for name in ("id", "title", "about", "source")}
    shown = {"kinds": list(one.kinds), "example": list(one.example), "mapping": example_mapping(one.id)}
    return DatasetFormat.model_validate({**told, **shown, "becomes": example_rows()[one.id]})
