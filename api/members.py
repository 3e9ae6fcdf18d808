"""The project of the caller and its members."""

from typing import Annotated, Literal

from fastapi import APIRouter, Response
from pydantic import ConfigDict, Field

from api.deps import PrincipalDep, SessionDep
from api.etags import ETAG, IfMatch, etag_of, set_etag
from api.keys import CreatedKey, NewKey, created, made_key
from api.problems import BadRequest, documented
from api.schema import ListOf, Schema, Timestamp
from core.access import members
from core.access.keys import Principal, check_count
from core.access.members import Member as Row
from core.errors import (
    CrossOrigin,
    InvalidRequest,
    LastAdmin,
    NotFound,
    NotSignedIn,
    PreconditionFailed,
    QuotaExceeded,
    TooLarge,
    WrongMediaType,
)
from core.live import announce_ended_access
from core.models import Project as ProjectRow
from core.models import Role, UserKind

Name = Annotated[str, Field(min_length=1, max_length=100, pattern=r"^[^\x00-\x1f]*\S[^\x00-\x1f]*$")]
_ROLE = "The member's role. The page Permissions of the documentation lists what each role allows."


class Project(Schema):
    """A project: everything that its members share."""

    object: Literal["project"] = "project"
    """Always `project`."""
    id: str
    """Begins with `prj_`, or with `key_` if it was made before projects had members."""
    name: str
    """Its name."""
    created_at: Timestamp
    """When it was created."""
    etag: str
    """For `If-Match`, so that a change does not overwrite another one."""


class ChangeProject(Schema):
    """The new name of the project."""

    model_config = ConfigDict(extra="forbid")

    name: Name
    """Its new name."""


class NewMember(Schema):
    """A person or a service account that joins the project."""

    model_config = ConfigDict(extra="forbid")

    name: Name
    """The person's name, or the purpose of the service account."""
    kind: UserKind = UserKind.PERSON
    """`person`, or `service` for a program."""
    role: Annotated[Role, Field(description=_ROLE)]


class NewRole(Schema):
    """A member's new role."""

    model_config = ConfigDict(extra="forbid")

    role: Annotated[Role, Field(description=_ROLE)]


class Member(Schema):
    """A member of the project."""

    object: Literal["member"] = "member"
    """Always `member`."""
    id: str
    """The user's id. It begins with `usr_`."""
    name: str
    """The user's name."""
    kind: UserKind
    """`person`, or `service` for a program."""
    role: Annotated[Role, Field(description=_ROLE)]
    current: bool
    """Whether this request is made by this member."""
    joined_at: Timestamp
    """When the user joined the project."""


class CreatedMember(Member):
    """A new member with its first key."""

    key: CreatedKey
    """The member's first API key. Its text is shown once: pass it on."""


class MemberList(ListOf[Member]):
    """The members of the project."""


router = APIRouter(tags=["Project"])
_READS = (NotSignedIn,)
_WRITES = (NotSignedIn, CrossOrigin, BadRequest, TooLarge, WrongMediaType, InvalidRequest)


@router.get("/project", responses=ETAG | documented(*_READS))
def get_project(principal: PrincipalDep, session: SessionDep, response: Response) -> Project:
    """Return the project that the caller works in."""
    return _project(session.get_one(ProjectRow, principal.owner_id), response)


@router.patch("/project", responses=ETAG | documented(*_WRITES, PreconditionFailed))
def change_project(
    body: ChangeProject, principal: PrincipalDep, session: SessionDep, condition: IfMatch, response: Response
) -> Project:
    """Rename the project."""
    row = session.get_one(ProjectRow, principal.owner_id)
    condition.check(session, row)
    row.name = body.name
    session.flush()
    return _project(row, response)


@router.get("/members", responses=documented(*_READS))
def list_members(principal: PrincipalDep, session: SessionDep) -> MemberList:
    """List the members of the project, the first one first."""
    found = members.listed(session, principal.owner_id)
    return MemberList.from_items([Member(**_fields(row, principal)) for row in found])


@router.post("/members", status_code=201, responses=documented(*_WRITES, QuotaExceeded))
def add_member(body: NewMember, principal: PrincipalDep, session: SessionDep) -> CreatedMember:
    """Add a person or a service account to the project, with a first API key.

    The response is the only one that contains the key. The person signs in with it, and may make others.
    """
    check_count(session, principal.owner_id)
    row = members.add(session, principal.owner_id, body.name, body.kind, body.role)
    key = made_key(session, principal, NewKey(name=body.name), user_id=row.user.id)
    session.refresh(row.membership)
    return CreatedMember(**_fields(row, principal), key=created(*key, principal))


@router.put("/members/{user_id}/role", responses=documented(*_WRITES, NotFound, LastAdmin))
def set_member_role(user_id: str, body: NewRole, principal: PrincipalDep, session: SessionDep) -> Member:
    """Give a member another role. Event streams that it does not allow end within seconds."""
    row = members.set_role(session, principal.owner_id, user_id, body.role)
    announce_ended_access(session)
    return Member(**_fields(row, principal))


@router.delete(
    "/members/{user_id}",
    status_code=204,
    responses=documented(NotSignedIn, CrossOrigin, NotFound, InvalidRequest, LastAdmin),
)
def remove_member(user_id: str, principal: PrincipalDep, session: SessionDep) -> None:
    """Remove a member, and revoke its keys in the project. Its jobs and datasets stay. The last admin cannot be removed."""
    members.remove(session, principal.owner_id, user_id)
    announce_ended_access(session)


@router.post("/members/{user_id}/keys", status_code=201, responses=documented(*_WRITES, NotFound, QuotaExceeded))
def create_member_key(user_id: str, body: NewKey, principal: PrincipalDep, session: SessionDep) -> CreatedKey:
    """Create an API key for another member, such as a service account. The response is the only one that contains it."""
    row = members.get(session, principal.owner_id, user_id)
    check_count(session, principal.owner_id)
    return created(*made_key(session, principal, body, user_id=row.user.id), principal)


def _project(row: ProjectRow, response: Response) -> Project:
    etag = etag_of(row)
    set_etag(response, etag)
    return Project(id=row.id, name=row.name, created_at=row.created_at, etag=etag)


def _fields(row: Row, principal: Principal) -> dict[str, object]:
    user, membership = row
    fields: dict[str, object] = {name: getattr(user, name) for name in ("id", "name", "kind")}
    return fields | {
        "role": membership.role,
        "current": user.id == principal.user_id,
        "joined_at": membership.created_at,
    }
