from datetime import timedelta

import pytest
from sqlalchemy import select, text
from sqlalchemy.orm import Session

from core.access import keys
from core.errors import NotFound, NotSignedIn
from core.models import ApiKey, BrowserSession


def test_a_key_opens_and_only_its_hash_is_stored(session: Session) -> None:
    key, plaintext = keys.create_key(session, "me")
    principal = keys.authenticate(session, plaintext)
    assert (principal.key_id, principal.key_name, principal.by_cookie) == (key.id, "me", False)
    stored = session.execute(text("SELECT to_jsonb(api_keys)::text FROM api_keys")).scalar_one()
    assert plaintext not in stored and plaintext.startswith(key.prefix)


def test_authenticate_every_new_key_has_its_own_owner(session: Session) -> None:
    mine, yours = (keys.authenticate(session, keys.create_key(session, "same name")[1]) for _ in range(2))
    assert mine.owner_id != yours.owner_id


@pytest.mark.parametrize("wrong", ["", "prx_", "prx_x", "\x00", "\udcff", "' OR 1=1"])
def test_authenticate_wrong_key_is_refused(session: Session, wrong: str) -> None:
    keys.create_key(session, "me")
    with pytest.raises(NotSignedIn):
        keys.authenticate(session, wrong)


def test_a_revoked_key_opens_nothing_and_its_browsers_are_out(session: Session) -> None:
    key, plaintext = keys.create_key(session, "me")
    token, _ = keys.open_session(session, key.id, timedelta(hours=1))
    keys.revoke_key(session, key.id)
    with pytest.raises(NotSignedIn):
        keys.authenticate(session, plaintext)
    with pytest.raises(NotSignedIn):
        keys.authenticate_session(session, token)


def test_an_unknown_key_cannot_be_revoked(session: Session) -> None:
    with pytest.raises(NotFound):
        keys.revoke_key(session, "key_x")


def test_a_browser_session_lasts_until_it_is_closed(session: Session) -> None:
    key, _ = keys.create_key(session, "me")
    token, expires_at = keys.open_session(session, key.id, timedelta(hours=1))
    principal = keys.authenticate_session(session, token)
    assert (principal.key_id, principal.by_cookie, principal.expires_at) == (key.id, True, expires_at)
    keys.close_session(session, token)
    with pytest.raises(NotSignedIn):
        keys.authenticate_session(session, token)


def test_browser_session_expires_and_is_deleted(session: Session) -> None:
    key, _ = keys.create_key(session, "me")
    token, _ = keys.open_session(session, key.id, timedelta(hours=-1))
    with pytest.raises(NotSignedIn):
        keys.authenticate_session(session, token)
    keys.open_session(session, key.id, timedelta(hours=1))
    assert len(session.scalars(select(BrowserSession)).all()) == 1


def test_use_is_noted(session: Session) -> None:
    key, plaintext = keys.create_key(session, "me")
    keys.authenticate(session, plaintext)
    session.commit()
    assert session.scalars(select(ApiKey.last_used_at).filter_by(id=key.id)).one() is not None
