"""The first user of a project, which is its admin. Keys of a release without users become that user's at their first use."""

from collections.abc import Callable

from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.orm import Session

from core.models import ApiKey, Membership, Project, Role, User, UserKind

_ACTING = "acting_user"


def first_user_of(session: Session, project: Project) -> str:
    """The id of the project's first user, which is made if it is missing. It is an admin then, so that the project has one.

    The id follows from that of the project, so that concurrent calls make one user. A user that has lost its membership since
    does not get it back.
    """
    user_id = f"usr_{project.id.partition('_')[2]}"
    made = insert(User).values(id=user_id, name=project.name, kind=UserKind.PERSON).on_conflict_do_nothing()
    if session.scalar(made.returning(User.id)) is not None:
        member = insert(Membership).values(project_id=project.id, user_id=user_id, role=Role.ADMIN)
        session.execute(member.on_conflict_do_nothing())
    return user_id


def adopt(session: Session, key: ApiKey) -> str:
    """Give a key of a release without users to the first user of its project. Returns the user's id.

    All keys of a project were equal in that release, so none gains or loses anything.
    """
    user_id = first_user_of(session, session.get_one(Project, key.owner_id))
    key.user_id = user_id
    session.flush()
    return user_id


def act_as(session: Session, user: Callable[[], str | None]) -> None:
    """Name the user whose request the transaction carries out. `user` is called when something is made."""
    session.info[_ACTING] = user


def acting_user(session: Session) -> str | None:
    """The user whose request the transaction carries out; None if the platform acts by itself."""
    user: Callable[[], str | None] | None = session.info.get(_ACTING)
    return None if user is None else user()
