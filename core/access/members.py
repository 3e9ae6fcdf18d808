"""The members of a project: who they are, their roles, and how they come and go."""

from collections.abc import Sequence
from typing import NamedTuple

from sqlalchemy import Select, func, select
from sqlalchemy.orm import Session

from core.access.keys import revoke_key
from core.errors import LastAdmin, NotFound, QuotaExceeded
from core.models import ApiKey, Membership, Role, User, UserKind
from core.models.base import new_id

MOST_MEMBERS = 500
"""Most members of a project."""


class Member(NamedTuple):
    """A user with its membership in one project."""

    user: User
    membership: Membership


def listed(session: Session, project_id: str) -> Sequence[Member]:
    """The members of a project, in the order in which they joined."""
    rows = session.execute(_members(project_id).order_by(Membership.created_at, User.id))
    return [Member(user, membership) for user, membership in rows]


def get(session: Session, project_id: str, user_id: str) -> Member:
    """One member. Raises NotFound."""
    row = session.execute(_members(project_id).where(User.id == user_id)).one_or_none()
    if row is None:
        raise NotFound(f"There is no member {user_id!r} in this project.")
    user, membership = row
    return Member(user, membership)


def add(session: Session, project_id: str, name: str, kind: UserKind, role: Role) -> Member:
    """Make a user and its membership. Raises QuotaExceeded at MOST_MEMBERS."""
    _lock(session, project_id)
    count = session.scalars(select(func.count()).select_from(Membership).filter_by(project_id=project_id)).one()
    if count >= MOST_MEMBERS:
        detail = f"The project has {count} members. This platform allows {MOST_MEMBERS}. Remove those who have left."
        raise QuotaExceeded(detail, limit=MOST_MEMBERS, value=count)
    user = User(id=new_id("usr"), name=name, kind=kind)
    session.add(user)
    session.flush()
    membership = Membership(project_id=project_id, user_id=user.id, role=role)
    session.add(membership)
    session.flush()
    return Member(user, membership)


def set_role(session: Session, project_id: str, user_id: str, role: Role) -> Member:
    """Give a member another role. The caller announces it (`core.live.announce_ended_access`). Raises NotFound and LastAdmin."""
    _lock(session, project_id)
    member = get(session, project_id, user_id)
    if role != member.membership.role:
        if member.membership.role == Role.ADMIN:
            _keep_an_admin(session, project_id, "Make another member an admin first.")
        member.membership.role = role
        session.flush()
    return member


def remove(session: Session, project_id: str, user_id: str) -> int:
    """End a membership, and revoke the member's keys in the project. Its objects stay. Returns the number of keys revoked.

    The caller announces it (`core.live.announce_ended_access`). Raises NotFound and LastAdmin.
    """
    _lock(session, project_id)
    member = get(session, project_id, user_id)
    if member.membership.role == Role.ADMIN:
        _keep_an_admin(session, project_id, "Make another member an admin, and remove this one then.")
    query = select(ApiKey.id).filter_by(owner_id=project_id, user_id=user_id, revoked_at=None)
    ended = session.scalars(query).all()
    for key_id in ended:
        revoke_key(session, key_id)
    session.delete(member.membership)
    session.flush()
    return len(ended)


def _members(project_id: str) -> Select[User, Membership]:
    query = select(User, Membership).join(Membership, Membership.user_id == User.id)
    return query.where(Membership.project_id == project_id)


def _keep_an_admin(session: Session, project_id: str, advice: str) -> None:
    """Raise LastAdmin if the project has one admin. The caller holds the lock."""
    query = select(func.count()).select_from(Membership).filter_by(project_id=project_id, role=Role.ADMIN)
    if session.scalars(query).one() <= 1:
        raise LastAdmin(f"This is the only admin of the project. {advice}")


def _lock(session: Session, project_id: str) -> None:
    """Serialise the changes of a project's members."""
    session.execute(select(func.pg_advisory_xact_lock(func.hashtextextended(f"members {project_id}", 0))))
