"""Annotation rounds: create, answer, measure, close, continue."""

from typing import Annotated, Literal

from fastapi import APIRouter, Depends, Query, Response
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
    NextItems,
    SubmitAnswer,
    UndoAnswer,
)
from api.authorization import authorize_object
from api.deps import After, Force, Limit, OrderBy, PrincipalDep, SessionDep, SettingsDep
from api.etags import ETAG, IfMatch, set_etag
from api.idempotency import IDEMPOTENT
from api.jobs.schemas import Job
from api.jobs.views import in_order, job_view
from api.problems import BadRequest, documented
from api.validation import StrictRoute
from core import models
from core.access.policy import Action
from core.annotation import answers, closing, continuation, queue, results, rounds, scores, sources
from core.annotation.answers import AnswerInput
from core.annotation.spec import NewRound, RoundChanges
from core.errors import (
    BlockedByValidation,
    CannotContinue,
    CheckpointDamaged,
    CrossOrigin,
    DatasetBlocked,
    DatasetDamaged,
    DatasetNotReady,
    InvalidRequest,
    InvalidSpec,
    LimitExceeded,
    NotFound,
    NothingToClose,
    NotSignedIn,
    PreconditionFailed,
    QuotaExceeded,
    RoundClosed,
    RoundNotReady,
    RoundOpen,
    TooLarge,
    WrongCheckpoint,
    WrongDatasetKind,
    WrongMediaType,
)
from core.jobs.lifecycle.actors import key_of
from core.jobs.queue.waking import wake_for
from core.jobs.submission.validations import refuse_blocked
from core.models.annotation import RoundStatus
from core.paging import page

router = APIRouter(prefix="/annotation/rounds", tags=["Annotation"], route_class=StrictRoute)
READS = (NotSignedIn, NotFound, InvalidRequest)
WRITES = (BadRequest, NotSignedIn, CrossOrigin, NotFound, TooLarge, WrongMediaType, InvalidRequest)


def _round(round_id: str, principal: PrincipalDep, session: SessionDep) -> models.AnnotationRound:
    return rounds.get(session, principal.owner_id, round_id)


RoundDep = Annotated[models.AnnotationRound, Depends(_round)]


@router.post(
    "",
    status_code=202,
    dependencies=IDEMPOTENT,
    responses=documented(
        *WRITES, WrongDatasetKind, WrongCheckpoint, CheckpointDamaged, DatasetDamaged, DatasetNotReady, DatasetBlocked
    ),
)
def create_annotation_round(
    body: NewRound, principal: PrincipalDep, session: SessionDep, settings: SettingsDep
) -> AnnotationRound:
    """Create a round of comparisons, from the rows of a dataset or from completions that policies sample for its prompts.

    A data task makes the items: the round is `preparing`, then `open`.
    """
    round_ = rounds.create(session, principal.owner_id, body, settings)
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
    rounds.settle_all(session, principal.owner_id)
    query = select(models.AnnotationRound).filter_by(owner_id=principal.owner_id)
    if status:
        query = query.where(models.AnnotationRound.status.in_([one.value for one in status]))
    found = page(session, query, models.AnnotationRound, after, limit, order)
    return AnnotationRoundList.from_items(views.rounds_of(session, found.items), found.has_more)


@router.get("/{round_id}", responses=ETAG | documented(*READS))
def get_annotation_round(round_: RoundDep, session: SessionDep, response: Response) -> AnnotationRound:
    """One round."""
    return _tagged(response, views.round_of(session, round_))


def _tagged(response: Response, round_: AnnotationRound) -> AnnotationRound:
    set_etag(response, round_.etag)
    return round_


@router.patch("/{round_id}", responses=ETAG | documented(*WRITES, PreconditionFailed, RoundNotReady, RoundClosed))
def change_annotation_round(
    body: RoundChanges, round_: RoundDep, session: SessionDep, condition: IfMatch, response: Response
) -> AnnotationRound:
    """Change the name, the instructions or the overlap of a round; pause it, or open it again."""
    condition.check(session, round_)
    return _tagged(response, views.round_of(session, rounds.change(session, round_, body)))


@router.delete(
    "/{round_id}", status_code=204, responses=documented(*READS, CrossOrigin, PreconditionFailed, RoundClosed)
)
def delete_annotation_round(round_: RoundDep, session: SessionDep, condition: IfMatch) -> None:
    """Delete a round with its items and answers. The dataset with its answers stays."""
    condition.check(session, round_)
    rounds.remove(session, round_)


@router.post("/{round_id}/next", responses=documented(*WRITES))
def next_annotation_items(body: NextItems, round_: RoundDep, session: SessionDep) -> AnnotationQueue:
    """Reserve the next items for an annotator. They are shown without policies, in a random order per annotator.

    A repeated request returns the same items. The reservation lasts `reservation_minutes`. An annotator gets an item once,
    unless they undo the answer to it.
    """
    found = queue.hand_out(session, round_, body.annotator, body.limit)
    items = [views.item_of(one, round_.kind) for one in found.items]
    return AnnotationQueue(status=RoundStatus(found.status), items=items, **vars(found.progress))


@router.put("/{round_id}/items/{item_id}/answer", responses=documented(*WRITES, RoundNotReady, RoundClosed))
def answer_annotation_item(item_id: str, body: SubmitAnswer, round_: RoundDep, session: SessionDep) -> AnnotationAnswer:
    """Answer or skip an item of this annotator. The same answer again changes nothing; another answer replaces it."""
    given = AnswerInput(body.choice, body.ranks, body.seconds)
    annotation = answers.answer(session, round_, item_id, body.annotator, given)
    return views.answer_of(annotation, queue.queue_progress(session, round_, body.annotator))


@router.post("/{round_id}/undo", dependencies=IDEMPOTENT, responses=documented(*WRITES, RoundNotReady, RoundClosed))
def undo_annotation(body: UndoAnswer, round_: RoundDep, session: SessionDep) -> AnnotationUndo:
    """Undo an annotator's last answer, or the one to an item. The annotator gets the item again, first."""
    taken = answers.undo(session, round_, body.annotator, body.item)
    progress = queue.queue_progress(session, round_, body.annotator)
    return AnnotationUndo(item=taken and views.item_of(taken, round_.kind), **vars(progress))


@router.get("/{round_id}/progress", responses=documented(*READS))
def get_annotation_progress(round_: RoundDep, session: SessionDep) -> AnnotationProgress:
    """Progress, speed and quality of each annotator, agreement between annotators and with a reward model, and the wins of
    each policy."""
    return views.progress_of(session, round_)


@router.get("/{round_id}/items", responses=documented(*READS))
def list_annotation_results(
    round_: RoundDep,
    session: SessionDep,
    after: Annotated[int, Query(ge=0, le=2**62, description="Only items after this number.")] = 0,
    only: Annotated[Literal["disagreed"] | None, Query(description="`disagreed`: where answers differ.")] = None,
    limit: Limit = 20,
) -> AnnotationResultList:
    """List the items with their policies, scores and answers."""
    found = results.page(session, round_, after, limit + 1, disagreed=only is not None)
    listed = [views.result_of(item, submitted) for item, submitted in found[:limit]]
    return AnnotationResultList.from_items(listed, len(found) > limit, key="number")


@router.post(
    "/{round_id}/reward_model",
    status_code=202,
    dependencies=IDEMPOTENT,
    responses=documented(*WRITES, RoundNotReady, WrongCheckpoint, CheckpointDamaged),
)
def choose_annotation_reward_model(
    body: ChooseRewardModel, round_: RoundDep, principal: PrincipalDep, session: SessionDep, settings: SettingsDep
) -> AnnotationProgress:
    """Score the completions with a reward model, to measure how often it agrees with the annotators."""
    checkpoint = sources.owned_reward_model(session, principal.owner_id, body.checkpoint, settings, "checkpoint")
    return views.progress_of(session, scores.request(session, round_, checkpoint.id))


@router.post(
    "/{round_id}/close",
    status_code=202,
    dependencies=IDEMPOTENT,
    responses=documented(
        *WRITES,
        RoundNotReady,
        RoundClosed,
        NothingToClose,
        WrongDatasetKind,
        DatasetNotReady,
        DatasetBlocked,
        DatasetDamaged,
    ),
)
def close_annotation_round(
    body: CloseRound, round_: RoundDep, principal: PrincipalDep, session: SessionDep
) -> AnnotationRound:
    """End a round, and write its answers to a new dataset or append them to an existing one.

    A data task writes them: the round is `closing`, then `closed`.
    """
    if body.dataset is not None:
        authorize_object(session, principal, Action.CHANGE, "dataset_id", body.dataset)
    return views.round_of(session, closing.close(session, round_, body.dataset, body.name))


@router.get(
    "/{round_id}/continuation",
    responses=documented(
        *READS,
        RoundOpen,
        CannotContinue,
        CheckpointDamaged,
        InvalidSpec,
        DatasetNotReady,
        DatasetBlocked,
        DatasetDamaged,
    ),
)
def get_annotation_continuation(
    round_: RoundDep,
    session: SessionDep,
    job: Annotated[str, Query(description="The job to continue.")],
    steps: Annotated[
        int | None, Query(ge=1, description="Steps of PPO. Left out: the same number as in the job.")
    ] = None,
) -> AnnotationContinuation:
    """Return the spec that `POST …/continue` would submit, and a description of it."""
    found = continuation.plan(session, round_, job, steps)
    spec = in_order(found.spec.model_dump(mode="json"))
    return AnnotationContinuation.model_validate({"spec": spec, "sentences": found.sentences})


@router.post(
    "/{round_id}/continue",
    status_code=201,
    dependencies=IDEMPOTENT,
    responses=documented(
        *WRITES,
        RoundOpen,
        CannotContinue,
        CheckpointDamaged,
        DatasetDamaged,
        InvalidSpec,
        LimitExceeded,
        QuotaExceeded,
        WrongCheckpoint,
        WrongDatasetKind,
        DatasetNotReady,
        DatasetBlocked,
        BlockedByValidation,
    ),
)
def continue_job(
    body: ContinueJob,
    round_: RoundDep,
    principal: PrincipalDep,
    session: SessionDep,
    settings: SettingsDep,
    force: Force = False,
) -> Job:
    """Submit a job that continues another: refit its reward model on the closed round, then run PPO from its policy."""
    wanted = continuation.NextJob(body.job, body.steps, body.name)
    job = continuation.continue_job(session, round_, wanted, settings, key_of(principal))
    if not force:
        refuse_blocked(session, principal.owner_id, job.spec)
    wake_for(session, job, settings.redis_url)
    return job_view(session, job)
