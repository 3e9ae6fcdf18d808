"""API keys, written to the database of the local platform."""

from collections.abc import Iterator
from contextlib import contextmanager

from sqlalchemy import select
from sqlalchemy.exc import OperationalError
from sqlalchemy.orm import Session

from core.access.keys import authenticate, create_key, revoke_key
from core.audit.recording import operator_scope
from core.db import engine_for, session_scope
from core.errors import NotFound, NotSignedIn
from core.live import ACCESS_CHANNEL, publisher_for
from core.models import ApiKey
from core.settings import LocalSettings
from proximal.data_folder import DataFolder, UpError
from proximal.local.options import Options
from proximal.local.services import postgres, redis


def ensure(database_url: str, folder: DataFolder) -> str:
    """The key of the data folder. A new key is made if there is none, or if the database does not hold it."""
    kept = folder.key()
    if kept is None or not _is_known(database_url, kept):
        kept = _create(database_url, "local", operator=True)
        folder.keep_key(kept)
    engine_for(database_url).dispose()
    return kept


def create(options: Options, name: str) -> str:
    """Create a key and return its text. Raises UpError if the database does not respond."""
    with _database(options, "keys create") as session:
        return create_key(session, name)[1]


def list_all(options: Options) -> list[dict[str, str]]:
    """Every key, oldest first, without its text. Raises UpError if the database does not respond."""
    with _database(options) as session:
        return [
            {
                "id": key.id,
                "name": key.name,
                "prefix": f"{key.prefix}…",
                "state": "revoked" if key.revoked_at else "active",
                "created_at": f"{key.created_at:%Y-%m-%d %H:%M:%S}",
            }
            for key in session.scalars(select(ApiKey).order_by(ApiKey.created_at, ApiKey.id))
        ]


def revoke(options: Options, key_id: str) -> None:
    """Revoke a key, and end its event streams. Raises UpError for an unknown key, and if the database does not respond."""
    with _database(options, "keys revoke") as session:
        try:
            revoke_key(session, key_id)
        except NotFound as error:
            raise UpError(str(error)) from error
    publisher_for(LocalSettings().redis_url or redis(options.folder).url).publish(ACCESS_CHANNEL, b"")


@contextmanager
def _database(options: Options, command: str | None = None) -> Iterator[Session]:
    """A transaction in the database of the data folder, or of DATABASE_URL. The audit log gets the changes of `command`."""
    url = LocalSettings().database_url or postgres(options.folder).url
    try:
        with operator_scope(command, url) if command else session_scope(url) as session:
            yield session
    except OperationalError as error:
        raise UpError(
            "The database does not respond. Start the platform with `proximal up`, then repeat the command."
        ) from error


def _create(database_url: str, name: str, operator: bool) -> str:
    with operator_scope("up", database_url) as session:
        return create_key(session, name, operator=operator)[1]


def _is_known(database_url: str, plaintext: str) -> bool:
    try:
        with session_scope(database_url) as session:
            authenticate(session, plaintext)
    except NotSignedIn:
        return False
    return True
