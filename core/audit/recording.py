"""Records what a transaction changes, as one row that the same transaction writes right before its commit."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from sqlalchemy import ClauseElement, Delete, Insert, Table, Update, event, inspect, select
from sqlalchemy.orm import ORMExecuteState, Session, SessionTransaction, UOWTransaction
from sqlalchemy.orm.state import InstanceState

from core.audit import chain
from core.audit.columns import KINDS, changed, identity, is_audited, main_object, project_of, shown
from core.db import session_scope

OPERATOR = "operator on the host"
"""The actor of a command that an operator runs on the host, which has no user."""
_MOST = 50
"""Most changed database rows that one row of the log holds, and most that one statement's values are read of."""


@dataclass(frozen=True)
class Act:
    """A request or a command, apart from its changes."""

    action: str
    """The operation id of the API, or a command of the host."""
    project_id: str | None = None
    """None: the project that the changes belong to."""
    user_id: str | None = None
    user_name: str = OPERATOR
    role: str | None = None
    key_id: str | None = None
    address: str | None = None
    request_id: str | None = None
    object_kind: str | None = None
    """None: that of the first object that it makes, or else the project."""
    object_id: str | None = None
    status: int | None = None
    """The status of the response."""
    always: bool = False
    """Whether it is recorded without a change, such as a read."""


@dataclass
class _Change:
    """A changed row of the database. A missing side: the row did not exist."""

    table: Table
    id: str
    before: dict[str, Any] | None
    after: dict[str, Any] | None
    project: str | None


class Recorder:
    """Collects the changes of one session. `act` is called before the commit; with None, nothing is recorded."""

    def __init__(self, session: Session, act: Callable[[], Act | None]) -> None:
        self._act = act
        self._changes: list[_Change] = []
        self._late: list[tuple[_Change, str, Any, str]] = []
        self._left_out = 0
        self._savepoints: dict[SessionTransaction, int] = {}
        event.listen(session, "after_flush", self._after_flush)
        event.listen(session, "do_orm_execute", self._around_statement)
        event.listen(session, "after_transaction_create", self._begin)
        event.listen(session, "after_soft_rollback", self._roll_back)
        event.listen(session, "before_commit", self._write)

    def _begin(self, _: Session, transaction: SessionTransaction) -> None:
        if transaction.nested:
            self._savepoints[transaction] = len(self._changes)

    def _roll_back(self, _: Session, transaction: SessionTransaction) -> None:
        if transaction in self._savepoints:
            del self._changes[self._savepoints.pop(transaction) :]

    def _after_flush(self, session: Session, _: UOWTransaction) -> None:
        """Keep the changed columns of each object. The history of its attributes still has the old values here."""
        for instance in (*session.new, *session.dirty, *session.deleted):
            state: InstanceState[Any] = inspect(instance)
            table = state.mapper.local_table
            if isinstance(table, Table) and is_audited(table):
                before, after, late = _sides(state)
                is_new, is_deleted = instance in session.new, instance in session.deleted
                one = self._add(table, None if is_new else before, None if is_deleted else after)
                if one is not None and not is_deleted:
                    self._late += [(one, name, instance, key) for name, key in late.items()]

    def _around_statement(self, state: ORMExecuteState) -> Any:
        """Read the rows of an UPDATE or DELETE before it and after it, which an ORM flush does not report."""
        statement = state.statement
        if not isinstance(statement, Insert | Update | Delete) or not state.execution_options.get("audited", True):
            return None
        table = statement.table
        if not isinstance(table, Table) or not is_audited(table):
            return None
        if isinstance(statement, Insert):
            return self._around_insert(state, statement, table)
        session = state.session
        session.flush()
        query = select(table)
        if statement.whereclause is not None:
            query = query.where(statement.whereclause)
        before = [dict(row) for row in session.connection().execute(query.limit(_MOST + 1), _values(state)).mappings()]
        result = state.invoke_statement()
        for row in before:
            self._add(table, row, _stored(session, table, row) if isinstance(statement, Update) else None)
        return result

    def _around_insert(self, state: ORMExecuteState, statement: Insert, table: Table) -> Any:
        """Read the row that an INSERT with values writes, and the one that it replaces."""
        session = state.session
        compiled = statement.compile(dialect=session.get_bind().dialect)
        values = {name: value for name, value in {**compiled.params, **_values(state)}.items() if name in table.columns}
        if not all(values.get(column.name) is not None for column in table.primary_key.columns):
            self._left_out += 1  # several rows, or a key that the database makes
            return state.invoke_statement()
        before = _stored(session, table, values)
        result = state.invoke_statement()
        self._add(table, before, _stored(session, table, values))
        return result

    def _add(self, table: Table, before: Mapping[str, Any] | None, after: Mapping[str, Any] | None) -> _Change | None:
        row = after if after is not None else before
        if row is None:
            return None
        sides = [None if side is None else shown(table, side) for side in (before, after)]
        one = _Change(table, identity(table, row), sides[0], sides[1], project_of(table, row))
        self._changes.append(one)
        return one

    def _write(self, session: Session) -> None:
        if session.in_nested_transaction():
            return
        session.flush()
        act = self._act()
        if act is None:
            return
        for one, name, instance, key in self._late:
            if instance in session and one.after is not None:
                one.after |= shown(one.table, {name: getattr(instance, key)})
        project = act.project_id or next((one.project for one in self._changes if one.project), None)
        if project is None:
            return
        merged = _merged(one for one in self._changes if one.project in (None, project))
        if not merged and not self._left_out and not act.always:
            return
        chain.append(session.connection(), _row(act, project, merged, self._left_out))


def record(session: Session, act: Callable[[], Act | None]) -> None:
    """Have a session record its changes, once it commits. Several calls are a mistake."""
    Recorder(session, act)


@contextmanager
def operator_scope(action: str, database_url: str | None = None) -> Iterator[Session]:
    """`session_scope` for a command of the host, which is recorded in the project that it changes."""
    with session_scope(database_url) as session:
        record(session, lambda: Act(action))
        yield session


def _values(state: ORMExecuteState) -> dict[str, Any]:
    parameters = state.parameters
    return dict(parameters) if isinstance(parameters, Mapping) else {}


def _sides(state: InstanceState[Any]) -> tuple[dict[str, Any], dict[str, Any], dict[str, str]]:
    """The loaded columns of an object before and after a flush, and the attributes that the database computes, by column."""
    before: dict[str, Any] = {}
    after: dict[str, Any] = {}
    late: dict[str, str] = {}
    for attribute in state.mapper.column_attrs:
        name = attribute.columns[0].name
        if attribute.key not in state.dict and not state.attrs[attribute.key].history.has_changes():
            continue
        history = state.attrs[attribute.key].history
        unchanged = history.unchanged[0] if history.unchanged else None
        after[name] = history.added[0] if history.added else unchanged
        before[name] = history.deleted[0] if history.deleted else (None if history.added else unchanged)
        if isinstance(after[name], ClauseElement):
            late[name] = attribute.key
            after[name] = None
    return before, after, late


def _stored(session: Session, table: Table, row: Mapping[str, Any]) -> dict[str, Any] | None:
    """The row of the database with the primary key of `row`."""
    key = [column == row[column.name] for column in table.primary_key.columns]
    found = session.connection().execute(select(table).where(*key)).mappings().one_or_none()
    return None if found is None else dict(found)


def _merged(changes: Iterator[_Change]) -> list[_Change]:
    """One change for each database row that differs at the end, with only the columns that differ."""
    merged: dict[tuple[str, str], _Change] = {}
    for one in changes:
        key = (one.table.name, one.id)
        earlier = merged.get(key)
        if earlier is not None and earlier.after is not None and one.after is not None:
            one.after = earlier.after | one.after
        if earlier is not None:
            one.before = earlier.before
        merged[key] = one
    kept = []
    for one in merged.values():
        sides = changed(one.before, one.after)
        if sides is not None:
            kept.append(_Change(one.table, one.id, sides[0], sides[1], one.project))
    return kept


def _row(act: Act, project: str, changes: list[_Change], left_out: int) -> dict[str, Any]:
    made = main_object((one.table.name, one.id) for one in changes if one.before is None)
    touched = main_object((one.table.name, one.id) for one in changes)
    kind, id_ = (act.object_kind, act.object_id) if act.object_kind else made or touched or ("project", project)
    rows = [_shown(one) for one in changes[:_MOST]]
    more = len(changes) - len(rows) + left_out
    if more:
        rows.append({"kind": "more", "id": str(more), "before": None, "after": None})
    return {
        "project_id": project,
        "action": act.action,
        "user_id": act.user_id,
        "user_name": act.user_name,
        "role": act.role,
        "key_id": act.key_id,
        "address": act.address,
        "object_kind": kind,
        "object_id": id_,
        "request_id": act.request_id,
        "status": act.status,
        "changes": rows,
    }


def _shown(one: _Change) -> dict[str, Any]:
    return {"kind": KINDS.get(one.table.name, one.table.name), "id": one.id, "before": one.before, "after": one.after}
