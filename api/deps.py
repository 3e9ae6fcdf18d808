"""Dependencies of routes: settings, the request's transaction, the caller, and the caller's objects."""

from collections.abc import Iterator
from functools import lru_cache
from typing import Annotated
from urllib.parse import urlsplit

from fastapi import Depends, Query, Request, Response
from fastapi.security import APIKeyCookie, HTTPAuthorizationCredentials, HTTPBearer
from sqlalchemy import select
from sqlalchemy.exc import InvalidRequestError
from sqlalchemy.orm import Session
from sqlalchemy.orm.exc import StaleDataError

from api.acts import act_of, client_address, keeps_record, note_refusal, of_caller
from api.authorization import authorize
from api.response_headers import add_header
from core.access import keys
from core.access.keys import Principal
from core.access.rate_limits import rate_limiter, request_limit
from core.access.tries import Tries
from core.access.users import act_as
from core.audit.recording import record
from core.blobs import BlobStore, blob_store
from core.datasets import versions
from core.db import request_scope
from core.errors import CrossOrigin, InvalidRequest, NotAllowed, NotFound, NotOperator, NotSignedIn, RateLimited
from core.jobs.submission.submit import Queueing
from core.models import Checkpoint, Dataset, Job, Upload
from core.paging import Order
from core.scheduling.policy import Priority, PriorityName
from core.settings import Settings, get_settings

COOKIE = "proximal_session"
_PRIORITY = "Priority class: jobs of a higher class start first. A job that has waited long rises."
_PREEMPTIBLE = "Let the platform pause the job, saved, for a more urgent one. It continues when a worker is free."
_bearer = HTTPBearer(auto_error=False, scheme_name="API key", description="An API key: `Authorization: Bearer prx_…`")
_cookie = APIKeyCookie(
    name=COOKIE, auto_error=False, scheme_name="Browser session", description="Set by `POST /v1/session`."
)


def _settings(request: Request) -> Settings:
    return request.app.state.settings or get_settings()


SettingsDep = Annotated[Settings, Depends(_settings)]


def _session(request: Request, settings: SettingsDep, response: Response) -> Iterator[Session]:
    """The request's transaction. With `scope="function"` below it is committed before the response is sent, so that a
    failed commit is an error response. Objects that it makes belong to the caller, if there is one. The audit log gets its
    changes in the same transaction."""
    with request_scope(settings) as session:
        act_as(session, lambda: getattr(request.state, "user_id", None))
        if keeps_record(request):
            record(session, lambda: act_of(request, response.status_code))
        yield session


SessionDep = Annotated[Session, Depends(_session, scope="function")]


def _blobs(settings: SettingsDep) -> BlobStore:
    return blob_store(settings)


BlobsDep = Annotated[BlobStore, Depends(_blobs)]


def tries_of(settings: Settings) -> Tries:
    """The limits on wrong keys of this process."""
    return _tries(settings.redis_url, settings.wrong_keys_per_address, settings.wrong_tries_per_key)


@lru_cache
def _tries(redis_url: str, per_address: int, per_key: int) -> Tries:
    return Tries(rate_limiter(redis_url), per_address, per_key)


def caller(
    request: Request,
    settings: SettingsDep,
    bearer: Annotated[HTTPAuthorizationCredentials | None, Depends(_bearer)],
    cookie: Annotated[str | None, Depends(_cookie)],
) -> Principal:
    """The caller, who may make this request: read in a transaction of its own, so that a slow upload holds no connection.

    Counts the request. Raises NotSignedIn, RateLimited, NotAllowed, NotOperator, and NotFound for an object of another project.
    """
    principal = _authenticated(request, settings, bearer.credentials if bearer else None, cookie)
    _count(request, settings, principal)
    of_caller(request, principal)
    try:
        authorize(request, settings, principal)
    except (NotAllowed, NotOperator) as error:
        note_refusal(request, settings, error)
        raise
    request.state.user_id = principal.user_id
    return principal


def _authenticated(request: Request, settings: Settings, key: str | None, cookie: str | None) -> Principal:
    if key is None and cookie is None:
        raise NotSignedIn()
    if key is not None:
        with tries_of(settings).trying(client_address(request), key), request_scope(settings) as session:
            return keys.authenticate(session, key)
    assert cookie is not None
    refuse_other_sites(request)
    # Not limited: a dashboard with an expired cookie sends many requests, and a token has 256 random bits.
    with request_scope(settings) as session:
        return keys.authenticate_session(session, cookie)


def _count(request: Request, settings: Settings, principal: Principal) -> None:
    """Count the request, and add the headers of draft-ietf-httpapi-ratelimit-headers. Raises RateLimited.

    All keys of a project count together, since each of them can make more. Its browser sessions count apart from them, so a
    busy program does not lock people out of the dashboard.
    """
    if not settings.requests_per_second:
        return
    limit = request_limit(settings.redis_url, settings.requests_per_second)
    allowed, window = limit.count(principal.owner_id, "browsers" if principal.by_cookie else "keys")
    add_header(request, "RateLimit-Policy", f'"requests";q={limit.quota};w={limit.seconds}')
    add_header(request, "RateLimit", f'"requests";r={window.remaining};t={window.reset_seconds}')
    if not allowed:
        rate = f"{settings.requests_per_second} requests per second (PROXIMAL_REQUESTS_PER_SECOND)"
        raise RateLimited(
            f"Your {'browsers' if principal.by_cookie else 'API keys'} together may send {rate}. "
            f"Wait {window.reset_seconds} seconds.",
            retry_after=window.reset_seconds,
        )


PrincipalDep = Annotated[Principal, Depends(caller)]


def _sent(bearer: Annotated[HTTPAuthorizationCredentials | None, Depends(_bearer)]) -> str:
    """The text that is sent as `Authorization: Bearer …`. Raises NotSignedIn without one."""
    if bearer is None:
        raise NotSignedIn()
    return bearer.credentials


BearerDep = Annotated[str, Depends(_sent)]


def refuse_other_sites(request: Request, *, silence_is_fine: bool = False) -> None:
    """Raise CrossOrigin for a changing request with a cookie from another site.

    A browser attaches the cookie to requests of any page, and sends the origin of the page in a header. Programs send no cookie.
    """
    if request.method in ("GET", "HEAD", "OPTIONS"):
        return
    site, origin = request.headers.get("sec-fetch-site"), request.headers.get("origin")
    same_site = site is None or site == "same-origin"
    same_origin = origin is None or urlsplit(origin).netloc == request.headers.get("host")
    if not (same_site and same_origin and (site or origin or silence_is_fine)):
        raise CrossOrigin()


def _job(job_id: str, principal: PrincipalDep, session: SessionDep) -> Job:
    """The caller's job. Raises NotFound for another caller's job, too."""
    job = session.scalars(select(Job).filter_by(id=job_id, owner_id=principal.owner_id)).one_or_none()
    if job is None:
        raise NotFound(f"There is no job {job_id!r}.")
    return job


JobDep = Annotated[Job, Depends(_job)]


def _queueing(
    priority: Annotated[PriorityName, Query(description=_PRIORITY)] = "normal",
    preemptible: Annotated[bool, Query(description=_PREEMPTIBLE)] = False,
) -> Queueing:
    return Queueing(Priority.named(priority), preemptible)


QueueingDep = Annotated[Queueing, Depends(_queueing)]


def _dataset(dataset_id: str, principal: PrincipalDep, session: SessionDep) -> Dataset:
    return versions.dataset_of(session, principal.owner_id, dataset_id)


DatasetDep = Annotated[Dataset, Depends(_dataset)]


def _checkpoint(checkpoint_id: str, principal: PrincipalDep, session: SessionDep) -> Checkpoint:
    query = select(Checkpoint).join(Job, Job.id == Checkpoint.job_id)
    query = query.where(Checkpoint.id == checkpoint_id, Job.owner_id == principal.owner_id)
    checkpoint = session.scalars(query).one_or_none()
    if checkpoint is None:
        raise NotFound(f"There is no checkpoint {checkpoint_id!r}.")
    return checkpoint


CheckpointDep = Annotated[Checkpoint, Depends(_checkpoint)]

_EXTERNAL_ID = (
    "An id of your choice, at most 200 characters without control characters. It is unique among your objects of this kind: "
    "a second creation with it returns 409 and the `existing` id."
)


def _external_id(
    external_id: Annotated[str | None, Query(min_length=1, max_length=200, description=_EXTERNAL_ID)] = None,
) -> str | None:
    if external_id is not None and not external_id.isprintable():
        detail = "must not contain a control character"
        raise InvalidRequest(
            f"`external_id` {detail}.", param="external_id", errors=[{"pointer": "?external_id", "detail": detail}]
        )
    return external_id


ExternalId = Annotated[str | None, Depends(_external_id)]
ExternalIdFilter = Annotated[str | None, Query(max_length=200, description="Only the one with this external id.")]
Limit = Annotated[int, Query(ge=1, le=100, description="Maximum number of items.")]
After = Annotated[str | None, Query(description="Only items after this one: the `last_id` of the previous page.")]
OrderBy = Annotated[Order, Query(description="`desc`: newest first; `asc`: oldest first.")]


def oldest_first(order: Order, sort: str) -> bool:
    """Whether `order` asks for the oldest ones first, in a list that also has `sort`. Raises InvalidRequest for both."""
    if order == "asc" and sort != "-created":
        detail = "is for lists without `sort`; `-` before the name of `sort` gives the direction"
        raise InvalidRequest(f"`order`: {detail}.", param="order", errors=[{"pointer": "?order", "detail": detail}])
    return order == "asc"


Force = Annotated[bool, Query(description="Submit the job although a validation of this spec has blocking findings.")]


def refresh(session: Session, row: Dataset | Upload) -> None:
    """Write the changes of a row and read its stored values. Raises NotFound if another request has deleted it."""
    id_ = row.id
    try:
        session.flush()
        session.refresh(row)
    except (StaleDataError, InvalidRequestError) as error:
        raise NotFound(f"{id_} was deleted meanwhile.") from error
