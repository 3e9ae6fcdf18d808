"""What the platform says about itself."""

from typing import Any, Literal

from api.schemas.base import ListOf, Schema, Timestamp


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


class MetricInfo(Schema):
    """What one metric means."""

    stage: str
    """The stage that reports it."""
    name: str
    """Its name in events and series."""
    label: str
    """Its name for people."""
    formula: str
    """How it is computed."""
    meaning: str
    """What it tells."""
    healthy: tuple[float | None, float | None] | None
    """The range of a healthy run, either side null where open; null where there is no general rule."""
    advice: str
    """What to do outside that range."""


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


class Health(Schema):
    """The process is up."""

    status: Literal["ok"] = "ok"
    """Always `ok`."""


class Readiness(Schema):
    """Whether each part that the API needs is there."""

    status: Literal["ok", "failed"]
    """`ok` if every check is."""
    checks: dict[str, str]
    """`database`, `migrations` and `redis`, each `ok` or what is wrong."""


JsonSchema = dict[str, Any]
