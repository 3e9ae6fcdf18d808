"""Health checks for load balancers and supervisors."""

import time
from collections.abc import Callable
from functools import lru_cache
from importlib.metadata import version
from typing import Literal

import redis
from fastapi import APIRouter, Response
from sqlalchemy import text
from sqlalchemy.exc import SQLAlchemyError

from api.deps import SettingsDep
from api.schema import Schema
from core.blobs import BlobStore, blob_store
from core.db import at_head_or_newer, engine_for
from core.errors import StoreFailed
from core.settings import Settings

_BLOBS_SECONDS = 30


class Health(Schema):
    """The process is up."""

    status: Literal["ok"] = "ok"
    """Always `ok`."""
    version: str
    """The version of the platform."""


class Readiness(Schema):
    """State of each service that the API needs."""

    status: Literal["ok", "failed"]
    """`ok` if every check is `ok`."""
    checks: dict[str, str]
    """`database`, `migrations`, `redis` and `blobs`: `ok`, or the problem."""
    notes: list[str]
    """Limits of services that are `ok`."""


router = APIRouter(tags=["Health"])


@router.get("/healthz")
def is_alive() -> Health:
    """Return 200 while the process runs."""
    return Health(version=version("proximal-rlhf"))


@router.get("/readyz", responses={503: {"model": Readiness, "description": "A check failed; `checks` names it."}})
def is_ready(settings: SettingsDep, response: Response) -> Readiness:
    """Check that the database and Redis respond, that the schema is migrated, and that blobs can be written and read."""
    checks = {name: _outcome(check, settings) for name, check in CHECKS.items()}
    ready = all(outcome == "ok" for outcome in checks.values())
    response.status_code = 200 if ready else 503
    note = _outcome(_blobs_note, settings) if checks["blobs"] == "ok" else ""
    return Readiness(status="ok" if ready else "failed", checks=checks, notes=[note] if note else [])


def _database(settings: Settings) -> str:
    with engine_for(settings.database_url).connect() as connection:
        connection.execute(text("SELECT 1"))
    return "ok"


def _migrations(settings: Settings) -> str:
    ready = at_head_or_newer(settings.database_url)
    return "ok" if ready else "not at the newest schema: run `python -m core migrate`"


def _redis(settings: Settings) -> str:
    with redis.Redis.from_url(settings.redis_url, socket_connect_timeout=2, socket_timeout=2) as client:
        client.ping()
    return "ok"


def _blobs(settings: Settings) -> str:
    _blobs_note(settings)
    return "ok"


def _blobs_note(settings: Settings) -> str:
    return _check_blobs(blob_store(settings), int(time.monotonic() // _BLOBS_SECONDS)) or ""


@lru_cache(maxsize=1)
def _check_blobs(blobs: BlobStore, _period: int) -> str | None:
    """The note of a usable store. Raises OSError. Only a success is remembered, for its period: load balancers ask often,
    and each check writes a blob."""
    return blobs.check()


CHECKS: dict[str, Callable[[Settings], str]] = {
    "database": _database,
    "migrations": _migrations,
    "redis": _redis,
    "blobs": _blobs,
}


def _outcome(check: Callable[[Settings], str], settings: Settings) -> str:
    try:
        return check(settings)
    except StoreFailed as error:
        return f"not usable. {error.detail}"
    except OSError as error:
        return f"cannot be written ({type(error).__name__}): check the folder of PROXIMAL_BLOB_URL and its owner"
    except redis.ResponseError:
        return "refuses commands, for example because its disk is full: see its log"
    except (SQLAlchemyError, redis.RedisError) as error:
        # Only the class of the error: this endpoint is public, and messages may hold addresses and user names.
        return f"does not respond ({type(error).__name__})"
