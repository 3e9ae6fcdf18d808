"""API keys, written to the database of the local platform."""

from sqlalchemy.exc import OperationalError

from client.local.folder import DataFolder, UpError
from client.local.options import Options
from client.local.services import postgres
from core.access.keys import authenticate, create_key
from core.db import engine_for, session_scope
from core.errors import NotSignedIn
from core.settings import LocalSettings


def ensure(database_url: str, folder: DataFolder) -> str:
    """The key of the data folder. A new key is made if there is none, or if the database does not hold it."""
    kept = folder.key()
    if kept is None or not _is_known(database_url, kept):
        kept = _create(database_url, "local")
        folder.keep_key(kept)
    engine_for(database_url).dispose()
    return kept


def create(options: Options, name: str) -> str:
    """Create a key. Raises UpError if the database of the data folder, or of DATABASE_URL, does not respond."""
    try:
        return _create(LocalSettings().database_url or postgres(options.folder).url, name)
    except OperationalError as error:
        raise UpError(
            "The database does not respond. Start the platform with `proximal up`, then repeat the command."
        ) from error


def _create(database_url: str, name: str) -> str:
    with session_scope(database_url) as session:
        return create_key(session, name)[1]


def _is_known(database_url: str, plaintext: str) -> bool:
    try:
        with session_scope(database_url) as session:
            authenticate(session, plaintext)
    except NotSignedIn:
        return False
    return True
