"""How the pages of the dashboard look for an owner: layouts of charts, saved views, columns."""

import json
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Path
from pydantic import ConfigDict
from sqlalchemy import func, select
from sqlalchemy.dialects.postgresql import insert

from api.deps import PrincipalDep, SessionDep
from api.problems import BadRequest, documented
from api.schema import ListOf, Schema, Timestamp
from api.validation import StrictRoute
from core import models
from core.errors import CrossOrigin, InvalidRequest, NotFound, NotSignedIn, QuotaExceeded, TooLarge, WrongMediaType

MOST_SETTINGS = 200
"""Most settings of one owner."""
MOST_BYTES = 64 * 1024
"""Largest value, as JSON in UTF-8."""

SettingName = Annotated[str, Path(pattern=r"^[a-z][a-z0-9._-]{0,79}$", description="Such as `charts.ppo`.")]


class NewViewSetting(Schema):
    """The value of a setting."""

    model_config = ConfigDict(extra="forbid")

    value: Any
    """Any JSON, at most 64 KiB. The platform does not read it."""


class ViewSetting(Schema):
    """One setting of the dashboard."""

    object: Literal["view_setting"] = "view_setting"
    """Always `view_setting`."""
    name: str
    """Unique among your settings."""
    value: Any
    """Any JSON."""
    updated_at: Timestamp
    """When it was stored last."""


class ViewSettingList(ListOf[ViewSetting]):
    """Your settings of the dashboard, by name."""


router = APIRouter(prefix="/view-settings", tags=["Platform"], route_class=StrictRoute)


@router.get("", responses=documented(NotSignedIn))
def list_view_settings(principal: PrincipalDep, session: SessionDep) -> ViewSettingList:
    """List what the dashboard keeps for you: layouts of charts, saved views, columns."""
    query = select(models.ViewSetting).filter_by(owner_id=principal.owner_id).order_by(models.ViewSetting.name)
    return ViewSettingList.from_items([_view(row) for row in session.scalars(query)], key="name")


@router.put(
    "/{name}",
    responses=documented(BadRequest, NotSignedIn, CrossOrigin, InvalidRequest, TooLarge, WrongMediaType, QuotaExceeded),
)
def store_view_setting(
    name: SettingName, body: NewViewSetting, principal: PrincipalDep, session: SessionDep
) -> ViewSetting:
    """The value takes the place of the one that the name had."""
    size = len(json.dumps(body.value, ensure_ascii=False).encode())
    if size > MOST_BYTES:
        raise TooLarge(f"The value has {size} bytes. A setting has at most {MOST_BYTES}.")
    key = {"owner_id": principal.owner_id, "name": name}
    if session.get(models.ViewSetting, key) is None:
        owned = select(func.count()).select_from(models.ViewSetting).filter_by(owner_id=principal.owner_id)
        count = session.scalars(owned).one()
        if count >= MOST_SETTINGS:
            detail = f"You have {count} settings. This platform allows {MOST_SETTINGS}. Delete some of them."
            raise QuotaExceeded(detail, limit=MOST_SETTINGS, value=count)
    changed = {"value": body.value, "updated_at": func.clock_timestamp()}
    statement = insert(models.ViewSetting).values(**key, **changed)
    statement = statement.on_conflict_do_update(index_elements=list(key), set_=changed)
    session.execute(statement)
    return _view(session.get_one(models.ViewSetting, key, populate_existing=True))


@router.delete("/{name}", status_code=204, responses=documented(NotSignedIn, CrossOrigin, NotFound, InvalidRequest))
def delete_view_setting(name: SettingName, principal: PrincipalDep, session: SessionDep) -> None:
    """The dashboard then shows its usual view."""
    found = session.get(models.ViewSetting, {"owner_id": principal.owner_id, "name": name})
    if found is None:
        raise NotFound(f"There is no setting {name!r}.")
    session.delete(found)


def _view(row: models.ViewSetting) -> ViewSetting:
    return ViewSetting(name=row.name, value=row.value, updated_at=row.updated_at)
