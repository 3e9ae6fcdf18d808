"""The API key of a local platform, written to its database."""

from core.access.keys import authenticate, create_key, replace_ended
from core.audit.recording import operator_scope
from core.db import engine_for, session_scope
from core.errors import NotSignedIn
from proximal.data_folder import DataFolder


def ensure(database_url: str, folder: DataFolder) -> str:
    """The key of the data folder. A new key is made if there is none, or if the database does not hold it.

    If it was revoked or rotated, a new one takes its place in the same project.
    """
    kept = folder.key()
    if kept is None or not _is_known(database_url, kept):
        with operator_scope("up", database_url) as session:
            replaced = None if kept is None else replace_ended(session, kept)
            kept = (replaced or create_key(session, "local", operator=True))[1]
        folder.keep_key(kept)
    engine_for(database_url).dispose()
    return kept


def _is_known(database_url: str, plaintext: str) -> bool:
    try:
        with session_scope(database_url) as session:
            authenticate(session, plaintext)
    except NotSignedIn:
        return False
    return True
