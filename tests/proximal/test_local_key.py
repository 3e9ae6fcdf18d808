"""The key that `proximal up` keeps in the data folder."""

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from sqlalchemy.orm import Session

from core.access import members
from core.access.keys import authenticate, end_key, revoke_key
from core.models import ApiKey, Role, UserKind
from core.settings import Settings
from proximal.data_folder import DataFolder
from proximal.local.keys import ensure


@pytest.fixture
def folder(tmp_path: Path) -> DataFolder:
    return DataFolder(tmp_path)


def test_known_key_is_kept(settings: Settings, folder: DataFolder) -> None:
    first = ensure(settings.database_url, folder)
    assert ensure(settings.database_url, folder) == first == folder.key()


@pytest.mark.parametrize("is_revoked", [True, False])
def test_ended_key_is_replaced_in_its_project(
    settings: Settings, session: Session, folder: DataFolder, is_revoked: bool
) -> None:
    """A rotation ends it. A key of a new project would show none of the jobs."""
    old = authenticate(session, ensure(settings.database_url, folder))
    if is_revoked:
        revoke_key(session, old.key_id)
    else:
        end_key(session, session.get_one(ApiKey, old.key_id), timedelta(days=1))
        session.get_one(ApiKey, old.key_id).expires_at = datetime.now(UTC) - timedelta(seconds=1)
    session.commit()
    new = authenticate(session, ensure(settings.database_url, folder))
    assert new.key_id != old.key_id
    assert (new.owner_id, new.user_id, new.operator) == (old.owner_id, old.user_id, True)


def test_key_of_a_removed_member_leads_to_a_new_project(
    settings: Settings, session: Session, folder: DataFolder
) -> None:
    old = authenticate(session, ensure(settings.database_url, folder))
    other = members.add(session, old.owner_id, "Ada", UserKind.PERSON, Role.ADMIN)
    members.remove(session, old.owner_id, old.user_id)
    session.commit()
    assert authenticate(session, ensure(settings.database_url, folder)).owner_id != old.owner_id
    assert members.get(session, old.owner_id, other.user.id).membership.role == Role.ADMIN
