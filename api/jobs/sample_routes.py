"""The completions that a job logged."""

from dataclasses import replace
from typing import Annotated

from fastapi import APIRouter, Depends, Query

from api.deps import JobDep, SessionDep
from api.jobs.metric_routes import OneStage, Seed
from api.jobs.schemas import FigureHistogram, JobSample, JobSampleList, SampleSearch, SampleStep, SampleStepList
from api.problems import documented
from core.errors import InvalidRequest, NotFound, NotSignedIn
from core.jobs.run import samples
from core.jobs.run.samples import Figure, OneSeed, Order, SampleQuery
from core.jobs.run.seeds import asked_index, seeds_of
from core.models import Job
from data.parse import storable
from trainer.spec import STAGES

SAMPLE_ADDRESS = rf"^({'|'.join(STAGES)})\.\d{{1,18}}\.\d{{1,4}}$"
"""Matches the stage, step and index of a completion, as in `ppo.120.3`."""
router = APIRouter(prefix="/jobs/{job_id}", tags=["Metrics and samples"])


@router.get("/samples", responses=documented(NotSignedIn, NotFound, InvalidRequest))
def list_job_samples(
    job: JobDep,
    session: SessionDep,
    stage: OneStage = None,
    step: Annotated[int | None, Query(ge=0, le=2**62, description="The step. Left out: the newest.")] = None,
    seed: Annotated[
        int | None,
        Query(ge=0, lt=2**63, description="The seed of a job with several. Left out: the one that logged last."),
    ] = None,
) -> JobSampleList:
    """List the completions that the run logged at one step."""
    event = samples.samples_at(session, job.id, stage, step, one_seed(job, seed))
    rows = event.data["rows"] if event else []
    where = {"seed": event.seed, "stage": event.stage, "step": event.step} if event else {}
    return JobSampleList.from_items(
        [JobSample.model_validate({**row, **where, "index": index}) for index, row in enumerate(rows)], key="index"
    )


@router.get("/samples/steps", responses=documented(NotSignedIn, NotFound, InvalidRequest))
def list_job_sample_steps(
    job: JobDep,
    session: SessionDep,
    stage: OneStage = None,
    seed: Seed = None,
) -> SampleStepList:
    """List the steps that have completions."""
    steps = samples.sample_steps(session, job.id, stage, one_seed(job, seed))
    return SampleStepList.from_items(
        [SampleStep(seed=seed, stage=name, step=step) for seed, name, step in steps], key="step"
    )


def one_seed(job: Job, seed: int | None) -> OneSeed | None:
    """The seed to select; None for all. Raises InvalidRequest for one that the job does not have."""
    if seed is None:
        return None
    asked_index(job, seed)
    return OneSeed(seed, seeds_of(job)[0])


def _selection(
    stage: OneStage = None,
    from_: Annotated[int | None, Query(alias="from", ge=0, le=2**62, description="First step.")] = None,
    to: Annotated[int | None, Query(ge=0, le=2**62, description="Last step.")] = None,
    q: Annotated[
        str, Query(max_length=1000, description="Text that the prompt or the response has, in any case.")
    ] = "",
    finished: Annotated[
        bool | None, Query(description="Only completions that ended with EOS, or only those that did not.")
    ] = None,
    held_out: Annotated[
        bool | None, Query(description="Only completions of held-out prompts, or only those of training batches.")
    ] = None,
    same_prompt: Annotated[
        str | None,
        Query(
            pattern=SAMPLE_ADDRESS,
            description="Only completions of the same prompt as this one, by its stage, step and index: `ppo.120.3`.",
        ),
    ] = None,
) -> SampleQuery:
    prompt_of = None
    if same_prompt is not None:
        name, step, index = same_prompt.split(".")
        prompt_of = name, int(step), int(index)
    words = storable(q) or None
    return SampleQuery(stage, from_, to, words, finished, held_out, prompt_of)


def _with_figure(
    wanted: Annotated[SampleQuery, Depends(_selection)],
    job: JobDep,
    seed: Seed = None,
    by: Annotated[
        Figure, Query(description="The figure of `min`, `max`, the histogram and the orders `highest` and `lowest`.")
    ] = "score",
    min_: Annotated[float | None, Query(alias="min", description="Lowest figure.")] = None,
    max_: Annotated[float | None, Query(alias="max", description="Highest figure.")] = None,
) -> SampleQuery:
    return replace(wanted, by=by, low=min_, high=max_, seed=one_seed(job, seed))


@router.get("/samples/search", responses=documented(NotSignedIn, NotFound, InvalidRequest))
def search_job_samples(
    job: JobDep,
    session: SessionDep,
    wanted: Annotated[SampleQuery, Depends(_with_figure)],
    order: Annotated[Order, Query(description="The order of the completions.")] = "newest",
    skip: Annotated[int, Query(ge=0, le=100_000, description="Number of completions to leave out at the start.")] = 0,
    limit: Annotated[int, Query(ge=1, le=200, description="Maximum number of completions.")] = 50,
) -> SampleSearch:
    """Search the completions of all steps, and return the histogram of a figure. Token tables are left out."""
    found = samples.search(session, job.id, replace(wanted, order=order, skip=skip, limit=limit))
    rows = [JobSample.model_validate(row) for row in found.rows]
    histogram = FigureHistogram(by=wanted.by, low=found.low, high=found.high, counts=list(found.counts))
    return SampleSearch(data=rows, has_more=skip + len(rows) < found.total, total=found.total, histogram=histogram)
