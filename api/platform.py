"""Reference data: metrics, presets, formats, the schema of a job."""

from dataclasses import asdict
from typing import Any, Literal

from fastapi import APIRouter

from api.deps import PrincipalDep
from api.problems import documented
from api.schema import ListOf, Schema
from core.errors import NotSignedIn
from data.formats import FORMATS
from data.formats.base import Format
from data.preview import example_mapping, example_rows
from data.schema import DatasetKind
from trainer.metrics import METRICS
from trainer.spec import JobSpec
from trainer.spec.presets import PRESETS


class MetricChart(Schema):
    """The dashboard's chart of a metric. Metrics of one stage with the same title are lines of one chart."""

    title: str
    """The chart's title."""
    order: int
    """Sort key for the charts of a stage and for the lines of a chart."""
    line: str
    """The line's name in the legend; empty for the only line."""
    scale: Literal["left", "right"]
    """The axis of the line."""


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
    """How to react to a value outside that range."""
    unit: str
    """Its unit; empty for a number without one."""
    chart: MetricChart | None
    """Its chart; null for a metric that is only in the list of all metrics."""


class MetricInfoList(ListOf[MetricInfo]):
    """Every metric that the trainer reports."""


class Preset(Schema):
    """A job spec to start from."""

    name: str
    """Its name, also in `python -m trainer presets`."""
    title: str
    """Its name for people."""
    description: str
    """When to use it, and what its settings are for."""
    replace: list[str]
    """Fields of the spec with placeholder values. Replace them by your own model, datasets and rewards."""
    models: list[str]
    """Fields of `model`. A job that the preset suits has one of them: `path`, a model to load, or `config`, a new one."""
    rewards: list[str]
    """Types of rewards. A job that the preset suits has no other; `model` is also that of a job without `rewards`."""
    spec: dict[str, Any]
    """The body of `POST /v1/jobs`, after the fields in `replace` are set. Missing fields have their default."""


class PresetList(ListOf[Preset]):
    """Every preset."""


class DatasetFormat(Schema):
    """A format that files may have."""

    object: Literal["dataset.format"] = "dataset.format"
    """Always `dataset.format`."""
    id: str
    """The value of `format` in a request."""
    title: str
    """Its name for people."""
    kinds: list[DatasetKind]
    """Kinds of rows that it can be read as, the usual one first."""
    about: str
    """Description of a record, and of the rows made from it."""
    source: str
    """Where the format is documented, or a dataset in that format. Empty: a format of the platform."""
    example: list[dict[str, Any]]
    """Example records."""
    mapping: dict[str, Any] | None
    """Mapping of the example, for the format `custom`."""
    becomes: list[dict[str, Any]]
    """Rows made from the example, as they are stored."""


class DatasetFormatList(ListOf[DatasetFormat]):
    """Every format, the most common first."""


JsonSchema = dict[str, Any]


router = APIRouter(tags=["Platform"])


@router.get("/reference/metrics", responses=documented(NotSignedIn))
def list_metric_meanings(_: PrincipalDep) -> MetricInfoList:
    """List the metrics with their formulas and healthy ranges."""
    return MetricInfoList.from_items([MetricInfo.model_validate(asdict(metric)) for metric in METRICS], key="name")


@router.get("/presets", responses=documented(NotSignedIn))
def list_presets(_: PrincipalDep) -> PresetList:
    """List job specs to start from, each with its use and the fields to replace."""
    return PresetList.from_items(
        [Preset.model_validate(preset.model_dump()) for preset in PRESETS.values()], key="name"
    )


@router.get("/schema/job", responses=documented(NotSignedIn))
def get_job_schema(_: PrincipalDep) -> JsonSchema:
    """Return the JSON schema of a job spec, with defaults and descriptions."""
    schema: dict[str, Any] = JobSpec.model_json_schema()
    return schema


@router.get("/reference/formats", responses=documented(NotSignedIn))
def list_formats(_: PrincipalDep) -> DatasetFormatList:
    """List the file formats, each with an example and its rows."""
    return DatasetFormatList.from_items([_format(one) for one in FORMATS.values()])


def _format(one: Format) -> DatasetFormat:
    plain = {name: getattr(one, name) for name in ("id", "title", "about", "source")}
    shown = {"kinds": list(one.kinds), "example": list(one.example), "mapping": example_mapping(one.id)}
    return DatasetFormat.model_validate({**plain, **shown, "becomes": example_rows()[one.id]})
