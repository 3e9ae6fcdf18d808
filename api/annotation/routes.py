"""Rounds of annotation: made, answered, counted, closed, gone on with."""

from typing import Annotated, Literal

from fastapi import APIRouter, Depends, Query
from sqlalchemy import select

from api.annotation import views
from api.annotation.progress_schemas import AnnotationProgress
from api.annotation.schemas import (
    AnnotationAnswer,
    AnnotationContinuation,
    AnnotationQueue,
    AnnotationResultList,
    AnnotationRound,
    AnnotationRoundList,
    AnnotationUndo,
    ChooseRewardModel,
    CloseRound,
    ContinueJob,
    GiveAnswer,
    NextItems,
    TakeBack,
)
from api.deps import After, Limit, OrderBy, PrincipalDep, SessionDep, SettingsDep
from api.jobs.schemas import Job
from api.jobs.views import in_order, job_view
from api.problems import BadRequest, documented
from api.validation import StrictRoute
from core import models
from core.annotation import answers, closing, continuation, queue, results, rounds, scores, sources
from core.annotation.answers import Given
from core.annotation.spec import NewRound, RoundChanges
from core.broker import knock
from core.db import after_commit
from core.errors import (
    CannotContinue,
    CrossOrigin,
    DatasetBlocked,
    DatasetNotReady,
    InvalidRequest,
    InvalidSpec,
    NotFound,
    NothingToClose,
    NotSignedIn,
    RoundClosed,
    RoundNotReady,
    RoundOpen,
    TooLarge,
    WrongCheckpoint,
    WrongDatasetKind,
    WrongMediaType,
)
from core.models.annotation import RoundStatus
from core.pages import page

router = APIRouter(prefix="/annotation/rounds", tags=["Annotation"], route_class=StrictRoute)
READS = (NotSignedIn, NotFound, InvalidRequest)
WRITES = (BadRequest, NotSignedIn, CrossOrigin, NotFound, TooLarge, WrongMediaType, InvalidRequest)


def _round(round_id: str, principal: PrincipalDep, session: SessionDep) -> models.AnnotationRound:
    return rounds.get(session, principal.key_id, round_id)


RoundDep = Annotated[models.AnnotationRound, Depends(_round)]


@router.post(
    "",
    status_code=202,
    responses=documented(*WRITES, WrongDatasetKind, WrongCheckpoint, DatasetNotReady, DatasetBlocked),
)
def create_annotation_round(
    body: NewRound, principal: PrincipalDep, session: SessionDep, settings: SettingsDep
) -> AnnotationRound:
    """Make a round of comparisons, from a dataset's rows or from what policies answer to its prompts.

    Its items are made in the background: it is `preparing`, then `open`.
    """
    round_ = rounds.create(session, principal.key_id, body, settings)
    session.refresh(round_)
    return views.round_of(session, round_)


@router.get("", responses=documented(NotSignedIn, InvalidRequest))
def list_annotation_rounds(
    principal: PrincipalDep,
    session: SessionDep,
    status: Annotated[list[RoundStatus] | None, Query(description="Only rounds in this state (or these).")] = None,
    limit: Limit = 20,
    after: After = None,
    order: OrderBy = "desc",
) -> AnnotationRoundList:
    """Your rounds."""
    rounds.settle_all(session, principal.key_id)
    query = select(models.AnnotationRound).filter_by(owner_id=principal.key_id)
    if status:
        query = query.where(models.AnnotationRound.status.in_([one.value for one in status]))
    found = page(session, query, models.AnnotationRound, after, limit, order)
    return AnnotationRoundList.of(views.rounds_of(session, found.items), found.has_more)


@router.get("/{round_id}", responses=documented(*READS))
def get_annotation_round(round_: RoundDep, session: SessionDep) -> AnnotationRound:
    """One round."""
    return views.round_of(session, round_)


@router.patch("/{round_id}", responses=documented(*WRITES, RoundNotReady, RoundClosed))
def change_annotation_round(body: RoundChanges, round_: RoundDep, session: SessionDep) -> AnnotationRound:
    """Change its name, its instructions or its overlap; pause it, or open it again."""
    return views.round_of(session, rounds.change(session, round_, body))


@router.delete("/{round_id}", status_code=204, responses=documented(*READS, CrossOrigin, RoundClosed))
def delete_annotation_round(round_: RoundDep, session: SessionDep) -> None:
    """Delete it with its items and answers. A dataset that it was closed into stays."""
    rounds.remove(session, round_)


@router.post("/{round_id}/next", responses=documented(*WRITES))
def next_annotation_items(body: NextItems, round_: RoundDep, session: SessionDep) -> AnnotationQueue:
    """What an annotator is to answer next, blind and in an order of their own; asking again gives the same.

    What was handed out is kept for them for some minutes. Nobody gets an item twice, unless they take an answer back.
    """
    found = queue.hand_out(session, round_, body.annotator, body.limit)
    items = [views.item_of(handed, round_.kind) for handed in found.items]
    return AnnotationQueue(status=RoundStatus(found.status), items=items, **vars(found.standing))


@router.put("/{round_id}/items/{item_id}/answer", responses=documented(*WRITES, RoundNotReady, RoundClosed))
def answer_annotation_item(item_id: str, body: GiveAnswer, round_: RoundDep, session: SessionDep) -> AnnotationAnswer:
    """Answer or skip an item that was handed to this annotator. Again the same changes nothing, another answer replaces it."""
    given = Given(body.choice, body.ranks, body.seconds)
    annotation = answers.answer(session, round_, item_id, body.annotator, given)
    return views.answer_of(annotation, queue.standing(session, round_, body.annotator))


@router.post("/{round_id}/undo", responses=documented(*WRITES, RoundNotReady, RoundClosed))
def undo_annotation(body: TakeBack, round_: RoundDep, session: SessionDep) -> AnnotationUndo:
    """Take back what an annotator said last, or of one item; it is then handed to them again, first."""
    taken = answers.undo(session, round_, body.annotator, body.item)
    standing = queue.standing(session, round_, body.annotator)
    return AnnotationUndo(item=taken and views.item_of(taken, round_.kind), **vars(standing))


@router.get("/{round_id}/progress", responses=documented(*READS))
def get_annotation_progress(round_: RoundDep, session: SessionDep) -> AnnotationProgress:
    """How far it is, how fast and how well each annotator answers, how far people agree with each other and with a
    reward model, and which policy wins."""
    return views.progress_of(session, round_)


@router.get("/{round_id}/items", responses=documented(*READS))
def list_annotation_results(
    round_: RoundDep,
    session: SessionDep,
    after: Annotated[int, Query(ge=0, le=2**62, description="Only items behind this number.")] = 0,
    only: Annotated[Literal["disagreed"] | None, Query(description="`disagreed`: where answers differ.")] = None,
    limit: Limit = 20,
) -> AnnotationResultList:
    """Its items with everything that is known of them, which tells whose completions they are."""
    found = results.page(session, round_, after, limit + 1, disagreed=only is not None)
    shown = [views.result_of(item, given) for item, given in found[:limit]]
    return AnnotationResultList.of(shown, len(found) > limit, key="number")


@router.post("/{round_id}/reward_model", status_code=202, responses=documented(*WRITES, RoundNotReady, WrongCheckpoint))
def choose_annotation_reward_model(
    body: ChooseRewardModel, round_: RoundDep, principal: PrincipalDep, session: SessionDep
) -> AnnotationProgress:
    """Have the completions scored by a reward model, to see how often people prefer what it prefers."""
    checkpoint = sources.scorer(session, principal.key_id, body.checkpoint, "checkpoint")
    return views.progress_of(session, scores.request(session, round_, checkpoint.id))


@router.post(
    "/{round_id}/close",
    status_code=202,
    responses=documented(
        *WRITES, RoundNotReady, RoundClosed, NothingToClose, WrongDatasetKind, DatasetNotReady, DatasetBlocked
    ),
)
def close_annotation_round(body: CloseRound, round_: RoundDep, session: SessionDep) -> AnnotationRound:
    """Take no more answers; have them written into a new dataset, or behind the rows of one that is there.

    That is done in the background: it is `closing`, then `closed`.
    """
    return views.round_of(session, closing.close(session, round_, body.dataset, body.name))


@router.get(
    "/{round_id}/continuation",
    responses=documented(*READS, RoundOpen, CannotContinue, InvalidSpec, DatasetNotReady, DatasetBlocked),
)
def get_annotation_continuation(
    round_: RoundDep,
    session: SessionDep,
    job: Annotated[str, Query(description="The job to go on with.")],
    steps: Annotated[int | None, Query(ge=1, description="Steps of PPO. Left out: as many as the job had.")] = None,
) -> AnnotationContinuation:
    """What `POST …/continue` would submit, and what that does, in words."""
    found = continuation.plan(session, round_, job, steps)
    spec = in_order(found.spec.model_dump(mode="json"))
    return AnnotationContinuation.model_validate({"spec": spec, "sentences": found.sentences})


@router.post(
    "/{round_id}/continue",
    status_code=201,
    responses=documented(
        *WRITES,
        RoundOpen,
        CannotContinue,
        InvalidSpec,
        WrongCheckpoint,
        WrongDatasetKind,
        DatasetNotReady,
        DatasetBlocked,
    ),
)
def continue_job(body: ContinueJob, round_: RoundDep, session: SessionDep, settings: SettingsDep) -> Job:
    """Go on with a job: refit its reward model on the closed round, then PPO from its policy."""
    job = continuation.go_on(session, round_, body.job, settings, body.steps, body.name)
    after_commit(session, lambda: knock(settings.redis_url))
    return job_view(session, job)
