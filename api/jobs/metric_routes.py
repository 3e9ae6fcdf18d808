"""Metrics of a job."""

from typing import Annotated

from fastapi import APIRouter, Query

from api.deps import JobDep, SessionDep
from api.jobs.schemas import Metrics, Series
from api.problems import documented
from core.errors import InvalidRequest, NotFound, NotSignedIn
from core.jobs.run import metrics
from core.jobs.run.metrics import MetricQuery
from core.jobs.run.seeds import asked_index, seeds_of
from trainer.spec import StageName

router = APIRouter(prefix="/jobs/{job_id}", tags=["Metrics and samples"])

OneStage = Annotated[StageName | None, Query(description="Only this stage.")]
Seed = Annotated[int | None, Query(ge=0, lt=2**63, description="Only this seed of a job with several. Left out: all.")]


@router.get("/metrics", responses=documented(NotSignedIn, NotFound, InvalidRequest))
def get_job_metrics(
    job: JobDep,
    session: SessionDep,
    stage: OneStage = None,
    seed: Seed = None,
    names: Annotated[str, Query(description="Only these metrics, separated by commas.")] = "",
    from_: Annotated[int | None, Query(alias="from", ge=0, le=2**62, description="First step.")] = None,
    to: Annotated[int | None, Query(ge=0, le=2**62, description="Last step.")] = None,
    max_points: Annotated[
        int,
        Query(
            ge=1,
            le=10_000,
            description="Maximum points per series. A range of more steps is returned in buckets of 4, 16, 64, … steps.",
        ),
    ] = 1000,
) -> Metrics:
    """Return metrics as series. A long range is returned in buckets, with the last, smallest and largest value and the mean of each.

    A job with several seeds has a series of each seed. A job whose `thinned_at` is set has buckets of 4 or more steps. A
    range has the buckets whose last step it has.
    """
    seeds = range(len(seeds_of(job))) if seed is None else (asked_index(job, seed),)
    wanted = MetricQuery(stage, [name for name in names.split(",") if name], from_, to, max_points, seeds)
    found, last_seq = metrics.series(session, job.id, wanted)
    several = seeds_of(job) if len(seeds_of(job)) > 1 else [None]
    return Metrics(
        series=[_series(one, several[one.seed_index]) for one in found],
        last_seq=last_seq,
        thinned_at=job.metrics_thinned_at,
    )


def _series(one: metrics.Series, seed: int | None) -> Series:
    key = {"seed": seed, "stage": one.stage, "name": one.name, "steps": one.steps}
    if not one.bucketed:
        return Series.model_validate(key | {"values": one.last})
    return Series.model_validate(key | {"last": one.last, "min": one.min, "max": one.max, "mean": one.mean, "n": one.n})
