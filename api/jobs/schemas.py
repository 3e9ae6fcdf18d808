"""Schemas of jobs, metrics, completions and checkpoints."""

from typing import Annotated, Any, Literal

from pydantic import ConfigDict, PlainSerializer, WrapValidator

from api.schema import ListOf, Schema, Timestamp
from core.jobs.actions.allowed_actions import JobAction
from core.jobs.overview.folding import FoldedGroup
from core.jobs.overview.inputs import JobInput
from core.jobs.overview.lineage import JobParent
from core.jobs.run.progress import Progress
from core.jobs.run.seeds import SeedResult
from core.models.findings import Severity
from core.models.job_logs import LogSource
from core.models.jobs import JobStatus
from core.scheduling.policy import PriorityName
from trainer.events import Sample
from trainer.spec import JobSpec, StageName

# A stored spec may come from an older version. OpenAPI describes it by the current model, and no validation is done.
StoredSpec = Annotated[JobSpec, WrapValidator(lambda stored, _: stored), PlainSerializer(lambda stored: stored)]
"""A dict that the API returns unchanged, with the schema of a spec."""


class JobError(Schema):
    """Why a job failed."""

    code: str
    """The kind of failure, for programs."""
    message: str
    """Cause and remedy, for people."""


class QueuePlaceView(Schema):
    """The place of a job in the queue, as an estimate."""

    position: int
    """1: it starts next. The estimate follows priorities, ageing, fair share, quotas and the sizes of workers. Other submissions change it."""
    reason: str
    """Why it waits, for people."""
    expected_start: Timestamp | None
    """When it is expected to start; null if it cannot start at present or nothing is known about running times."""


class JobGroupPlace(Schema):
    """The group that a job is in."""

    group_id: str
    """Id of the group."""
    name: str
    """Name of the group."""
    number: int
    """The job's place in the group, from 1."""
    values: dict[str, Any]
    """The fields of the spec that differ between the jobs of a sweep, by path."""


class JobHealth(Schema):
    """The gravest finding of a job; of equally grave ones the last. `GET /v1/findings` lists them all."""

    severity: Severity
    """`warning`: the run went on. `error`: it was paused, rolled back or stopped, or it reported an error."""
    title: str
    """The finding in words, such as "No clipping"."""
    rule: str | None
    """Name of the health rule; null for a warning of the run."""
    seed: int | None
    """The seed that it belongs to; null in a job with one seed."""
    step: int | None
    """The last step at which it was found; null for a warning of the run."""
    findings: int
    """Number of all findings of the job."""


class JobSummary(Schema):
    """A job in a list, without its spec."""

    object: Literal["job"] = "job"
    """Always `job`."""
    id: str
    """Begins with `job_`."""
    name: str
    """For people. `PATCH /v1/jobs/{job_id}` changes it; the name in the spec stays as it was submitted."""
    external_id: str | None
    """The id that was given at its creation; null without one."""
    tags: list[str]
    """Labels, in lower case and without duplicates."""
    metadata: dict[str, str]
    """Texts by key, for programs."""
    parent: JobParent | None
    """The job that it was made from; null for one that was submitted."""
    group: JobGroupPlace | None
    """The group that it is in; null without one."""
    model: str | None
    """`model.path` of the spec, at most 400 characters; null for a new model."""
    model_name: str | None
    """The stored checkpoint that `model` names, in words, such as `"First", PPO step 40`; null for another model."""
    submitted_by: str | None
    """Name of the API key at the submission; null if it is unknown."""
    status: JobStatus
    """State of the job."""
    priority: PriorityName
    """Priority class of the job in the queue."""
    preemptible: bool
    """Whether the platform may pause it for a more urgent job. It continues when a worker is free."""
    status_reason: str
    """Reason of the last transition, for people."""
    queue_reason: str | None
    """Why a queued job waits, or a started one that waits in the queue of a cluster; null otherwise."""
    queue: QueuePlaceView | None
    """The place of a queued job; null in other states."""
    created_at: Timestamp
    """When it was submitted."""
    started_at: Timestamp | None
    """When a worker first claimed it."""
    finished_at: Timestamp | None
    """When it ended."""
    archived_at: Timestamp | None
    """When it was archived; null for a job in the default list."""
    metrics_thinned_at: Timestamp | None
    """When the platform deleted the exact steps of its metrics, which then come in buckets; null while it has every step."""
    stage: str | None
    """The current or last stage; null before the first."""
    progress: Progress | None
    """Null until the trainer has reported its plan."""
    attempt: int
    """Number of attempts so far."""
    gpu_hours: float
    """GPU-hours of all attempts, those of a running one until now. A process on a worker without a GPU counts as one."""
    health: JobHealth | None
    """The gravest finding of the health rules and the warnings of the run; null without one."""
    error: JobError | None
    """Why the job failed; null in other states."""
    summary: dict[str, float] | None
    """Main results of a run that succeeded; null otherwise. With several seeds, each figure is the mean over the seeds that came to an end, `<figure>_low` and `<figure>_high` are its 95 % interval, and `seeds`, `collapsed_seeds` and `failed_seeds` are counts."""
    latest_metrics: dict[str, float]
    """The newest value of each metric of the current stage, by name; empty before its first step. With several seeds, those of the seed that runs, and in the end the mean over those that did not fail. The step of the best checkpoint and bounds of intervals then have none."""
    reward_sparkline: list[float]
    """Mean score in the course of PPO, at most 60 numbers; empty without PPO. With several seeds, the mean over those that have not failed, or over all if each one has."""
    etag: str
    """Changes with what requests can change. Send it as `If-Match` to keep a request from overwriting another change."""
    shown: dict[str, Any]
    """The columns that `show` of the request names, by name: null where the job has no value. Empty without `show`."""
    folded: FoldedGroup | None
    """With `fold`, the jobs of its group that this job stands for; null for a job that stands for itself alone."""
    actions: list[JobAction]
    """The requests that the state of the job allows, by their names under `/v1/jobs/{job_id}`. `command`: its knobs can be changed."""


class Job(JobSummary):
    """A job with its spec."""

    notes: str
    """Text for people."""
    spec: StoredSpec
    """The spec with all defaults filled in."""
    seeds: list[SeedResult]
    """The seeds of a job with several, in order, each with its own figures; empty for a job with one seed."""
    seeds_summary: dict[str, float] | None
    """The figures of `summary` over the seeds that are done so far; null before the first, and for a job with one seed."""
    inputs: list[JobInput]
    """The datasets and checkpoints that the spec names, each with a name for people."""
    children: dict[str, int]
    """Numbers of the jobs made from this one, by `relation`. `GET /v1/jobs/{job_id}/lineage` lists them."""


class JobList(ListOf[JobSummary]):
    """Jobs, newest first unless asked otherwise."""


class JobBatch(Schema):
    """Jobs that a request names."""

    object: Literal["job.batch"] = "job.batch"
    """Always `job.batch`."""
    data: list[Job]
    """The jobs, in the order of the request."""
    missing: list[str]
    """The ids of which there is no job."""


class JobTag(Schema):
    """A tag in use."""

    object: Literal["job.tag"] = "job.tag"
    """Always `job.tag`."""
    tag: str
    """The tag."""
    jobs: int
    """Number of your jobs that have it."""


class JobTagList(ListOf[JobTag]):
    """Tags, most frequent first."""


class Series(Schema):
    """A metric of a stage: `values` of each step, or `last`, `min`, `max`, `mean` and `n` of each bucket of a long series."""

    seed: int | None
    """The seed it belongs to; null in a job with one seed."""
    stage: StageName
    """The stage it belongs to."""
    name: str
    """The metric; `GET /v1/reference/metrics` explains it."""
    steps: list[int]
    """Step of each point, or the last step of each bucket."""
    values: list[float] | None = None
    """Value at each step; null for buckets."""
    last: list[float] | None = None
    """Value at the last step of each bucket; null without buckets."""
    min: list[float] | None = None
    """Smallest value of each bucket; null without buckets."""
    max: list[float] | None = None
    """Largest value of each bucket; null without buckets."""
    mean: list[float] | None = None
    """Mean of the points of each bucket; null without buckets."""
    n: list[int] | None = None
    """Number of points in each bucket; null without buckets."""


class Metrics(Schema):
    """The metrics of a job."""

    object: Literal["metrics"] = "metrics"
    """Always `metrics`."""
    series: list[Series]
    """By seed, then by stage in the run's order, then by name."""
    last_seq: int
    """Sequence number of the last event in these metrics. A stream with `after` set to it continues without a gap."""
    thinned_at: Timestamp | None
    """When the platform deleted the exact steps of the job. The series then have buckets; null while it has every step."""


class TelemetrySeries(Schema):
    """One measurement over the time axis."""

    name: str
    """The measurement, such as `cpu/percent` or `gpu/0/power`."""
    values: list[float | None]
    """Mean in each bucket; null where it was not measured."""


class MeasurementInfo(Schema):
    """The meaning of a measurement. `<n>` in its name stands for the number of a GPU."""

    name: str
    """Name of its series."""
    unit: str
    """Unit of its values."""
    meaning: str
    """The quantity that is measured."""


class Telemetry(Schema):
    """Measurements of the machine. Series, `at`, `attempts` and `seconds` have the same length."""

    object: Literal["telemetry"] = "telemetry"
    """Always `telemetry`."""
    attempt: int
    """The attempt; the newest where all are asked for."""
    attempts: list[int]
    """The attempt of each bucket."""
    at: list[Timestamp]
    """Start of each bucket of time, by the worker's clock."""
    seconds: list[float]
    """Width of each bucket; 0 for a single measurement. Older measurements of a long attempt are averaged."""
    series: list[TelemetrySeries]
    """By name. A machine without a GPU has no GPU series."""
    measurements: list[MeasurementInfo]
    """Every kind of measurement, with its unit and meaning."""


class JobLogLine(Schema):
    """A line of a job's console output."""

    object: Literal["job.log_line"] = "job.log_line"
    """Always `job.log_line`."""
    number: int
    """Number of the line in the job, from 1, over all attempts. It is the cursor. Dropped lines leave a gap."""
    attempt: int
    """The attempt that it belongs to."""
    at: Timestamp
    """When the worker read it."""
    source: LogSource
    """The program that wrote it."""
    machine: int
    """Number of the machine, for a run on several; 0 is the worker's."""
    rank: int | None
    """Number of the process in the run, from 0; null for the worker and for the launcher of several processes."""
    text: str
    """The line without its end. Secrets in it are replaced by `[masked]`."""
    dropped_bytes: int
    """Size of the output before this line that is not stored (`PROXIMAL_LOG_BYTES`); 0 for most lines."""


class JobSample(Sample):
    """A completion that the run logged."""

    # A row of an older version may have removed fields, and lacks newer ones.
    model_config = ConfigDict(
        extra="ignore",
        use_attribute_docstrings=True,
        json_schema_serialization_defaults_required=True,
        ser_json_inf_nan="null",
    )

    object: Literal["job.sample"] = "job.sample"
    """Always `job.sample`."""
    seed: int | None
    """The seed of the run; null in a job with one seed."""
    stage: str
    """The stage of the run."""
    step: int
    """The step of the stage."""
    index: int
    """Index among the completions of that step, from 0."""


class JobSampleList(ListOf[JobSample]):
    """The completions of one step."""


class FigureHistogram(Schema):
    """How often a figure of the completions has which value."""

    by: Literal["score", "judge", "kl", "tokens"]
    """The figure."""
    low: float | None
    """Lower edge of the first bin; null if no completion has the figure."""
    high: float | None
    """Upper edge of the last bin; it belongs to this bin."""
    counts: list[int]
    """Completions in each bin. The bins have equal widths; `min` and `max` of the request have no effect on them."""


class SampleSearch(Schema):
    """Completions that a search found."""

    object: Literal["list"] = "list"
    """Always `list`."""
    data: list[JobSample]
    """The completions of this page. Their `token_table` is null."""
    has_more: bool
    """Whether more follow. The same request with `skip` set to the number of those seen returns them."""
    total: int
    """Number of completions on all pages."""
    histogram: FigureHistogram
    """The histogram of the figure."""


class SampleStep(Schema):
    """A step that has completions."""

    seed: int | None
    """Its seed; null in a job with one seed."""
    stage: str
    """Its stage."""
    step: int
    """Its number."""


class SampleStepList(ListOf[SampleStep]):
    """Steps that have completions, in the order in which they were reached."""


class CheckpointFile(Schema):
    """Path, size and checksum of one file."""

    path: str
    """Relative to the checkpoint's folder."""
    bytes: int
    """Its size."""
    sha256: str
    """SHA-256 in hexadecimal."""


class Checkpoint(Schema):
    """A saved model folder that transformers' `from_pretrained` loads."""

    object: Literal["job.checkpoint"] = "job.checkpoint"
    """Always `job.checkpoint`."""
    id: str
    """Begins with `ckpt_`."""
    job_id: str
    """The job it comes from."""
    attempt: int
    """The attempt that saved it."""
    stage: StageName
    """The stage it was saved in."""
    step: int
    """The step it was saved after."""
    final: bool
    """Whether it is the result of the stage. A run resumes from the other checkpoints."""
    best: bool
    """Whether its evaluation on held-out prompts is the best of the stage and seed so far. The platform keeps it beside the last ones."""
    seed: int | None
    """Seed of a job with several seeds; null for the job's own seed."""
    created_at: Timestamp
    """When it was stored."""
    bytes: int
    """Size of all files."""
    metrics: dict[str, float]
    """Figures of the checkpoint, by name."""
    files: list[CheckpointFile]
    """The files of the folder."""
    can_branch: bool
    """Whether a branch can start from it. The best checkpoint may hold a model without the state of its run; a new job can
    start with it as `model.path`. No branch starts from a damaged checkpoint."""
    damage: str | None
    """The first stored file that is not what was saved, and how; null for a good one. A damaged checkpoint is never used."""
    damaged_at: Timestamp | None
    """When the damage was found."""


class CheckpointList(ListOf[Checkpoint]):
    """Checkpoints, oldest first unless asked otherwise."""
