"""The chain of a project: its hash, the trigger that keeps it, concurrent writers, retention, and commands of the host."""

import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import select, text, update
from sqlalchemy.exc import DBAPIError
from sqlalchemy.orm import Session

from core.__main__ import main
from core.access import keys
from core.audit import chain
from core.audit.chain import hash_of, verify
from core.audit.recording import Act, record
from core.audit.retention import projects_with_old_rows, remove_old_rows
from core.db import engine_for, session_scope
from core.models import ApiKey, AuditChain, AuditRow, JobGroup, Project
from core.settings import Settings
from worker.sweeper import sweep_audit_log

ROOT = Path(__file__).parents[3]
ROW = {
    "project_id": "prj_a", "number": 1, "at": datetime(2026, 1, 2, 3, 4, 5, 6, UTC), "action": "create_group",
    "user_id": "usr_a", "user_name": "Ada", "role": "admin", "key_id": "key_a", "address": "127.0.0.1",
    "object_kind": "group", "object_id": "grp_a", "request_id": "req_a", "status": 201, "changes": [],
}  # fmt: skip
WRITER = """
import sys
from core.audit import chain
from core.db import session_scope
for number in range(int(sys.argv[3])):
    with session_scope(sys.argv[1]) as session:
        chain.append(session.connection(), {"project_id": "prj_a", "action": sys.argv[2], "user_name": "", "object_kind": "x", "changes": []} | dict.fromkeys(("user_id", "role", "key_id", "address", "object_id", "request_id", "status")))
"""


@pytest.fixture
def project(session: Session) -> str:
    made = keys.create_key(session, "tester")[0].owner_id
    session.commit()
    return made


def change(project: str, name: str) -> None:
    """One change that is recorded."""
    with session_scope() as session:
        record(session, lambda: Act("create_group", project, "usr_a", "Ada"))
        session.add(JobGroup(id=f"grp_{name}", owner_id=project, name=name, metric="", goal="maximize"))


def checked(project: str) -> chain.Verification:
    with session_scope() as session:
        return verify(session.connection(), project)


def test_hash_is_the_sum_of_the_documented_text() -> None:
    """Computed with coreutils' sha256sum from the text that docs/how-to/audit-log.md describes."""
    assert hash_of(ROW, "") == "f377180bc930d2d8870423840518cbdb364d10482484916fdbb2e9c13c2b88a5"


def test_database_refuses_to_change_the_log(settings: Settings, project: str) -> None:
    change(project, "a")
    for statement in ("UPDATE audit_rows SET user_name = 'x'", "DELETE FROM audit_rows", "TRUNCATE audit_rows"):
        with pytest.raises(DBAPIError, match="append-only"), session_scope() as session:
            session.execute(text(statement))
    assert checked(project).broken is None


def test_change_that_is_rolled_back_leaves_no_row(session: Session, project: str) -> None:
    with pytest.raises(ZeroDivisionError), session_scope() as other:
        record(other, lambda: Act("create_group", project))
        other.add(JobGroup(id="grp_a", owner_id=project, name="a", metric="", goal="maximize"))
        other.flush()
        raise ZeroDivisionError
    assert session.scalars(select(AuditRow)).all() == []


def test_part_that_a_savepoint_undoes_is_left_out(session: Session, project: str) -> None:
    with session_scope() as other:
        record(other, lambda: Act("create_group", project))
        other.add(JobGroup(id="grp_a", owner_id=project, name="a", metric="", goal="maximize"))
        before = other.begin_nested()
        other.add(JobGroup(id="grp_b", owner_id=project, name="b", metric="", goal="maximize"))
        other.flush()
        before.rollback()
    (row,) = session.scalars(select(AuditRow)).all()
    assert [one["id"] for one in row.changes] == ["grp_a"]


def test_changed_and_changed_back_is_no_change(session: Session, project: str) -> None:
    with session_scope() as other:
        record(other, lambda: Act("change_project", project))
        row = other.get_one(Project, project)
        for name in ("new", "tester"):
            row.name = name
            other.flush()
    assert session.scalars(select(AuditRow)).all() == []


def test_statement_has_each_row_before_and_after(session: Session, project: str) -> None:
    with session_scope() as other:
        record(other, lambda: Act("rename", project))
        other.execute(update(ApiKey).where(ApiKey.owner_id == project).values(name="new"))
    (row,) = session.scalars(select(AuditRow)).all()
    assert [(one["before"], one["after"]) for one in row.changes] == [({"name": "tester"}, {"name": "new"})]


def test_rows_of_another_project_are_left_out(session: Session, project: str) -> None:
    other = keys.create_key(session, "other")[0].owner_id
    session.commit()
    with session_scope() as both:
        record(both, lambda: Act("rename", project))
        both.execute(update(ApiKey).values(name="new"))
    (row,) = session.scalars(select(AuditRow)).all()
    assert row.project_id == project and other not in str(row.changes) and len(row.changes) == 1


def test_two_processes_keep_one_chain(session: Session, settings: Settings) -> None:
    command = [sys.executable, "-c", WRITER, settings.database_url]
    writers = [subprocess.Popen([*command, name, "25"], cwd=ROOT) for name in ("one", "two")]
    assert [writer.wait(timeout=120) for writer in writers] == [0, 0]
    found = checked("prj_a")
    assert (found.broken, found.rows, found.last) == (None, 50, 50)
    assert len(set(session.scalars(select(AuditRow.action)))) == 2


def test_old_rows_go_and_the_rest_is_verified(settings: Settings, session: Session, project: str) -> None:
    for name in "abcd":
        change(project, name)
    _make_old(settings, project, 3)
    sweep_audit_log(settings.model_copy(update={"audit_days": 30.0}))
    assert session.scalars(select(AuditRow.number)).all() == [4]
    chain_row = session.get_one(AuditChain, project)
    assert (chain_row.anchor_number, chain_row.number) == (3, 4)
    assert _outcome(project) == (None, 1, 4)
    change(project, "e")
    assert _outcome(project) == (None, 2, 5)


def test_row_behind_a_younger_one_stays(settings: Settings, session: Session, project: str) -> None:
    for name in "abc":
        change(project, name)
    _make_old(settings, project, 1)
    _make_old(settings, project, 3, first=3)
    assert projects_with_old_rows(session, 30) == [project]
    assert remove_old_rows(session, project, 30) == 1
    assert remove_old_rows(session, project, 30) == 0
    assert session.scalars(select(AuditRow.number).order_by(AuditRow.number)).all() == [2, 3]


def test_without_a_limit_no_row_goes(settings: Settings, session: Session, project: str) -> None:
    change(project, "a")
    _make_old(settings, project, 1)
    sweep_audit_log(settings)
    assert session.scalars(select(AuditRow.number)).all() == [1]


def test_commands_of_the_host_are_recorded(session: Session, settings: Settings) -> None:
    assert main(["keys", "create", "ci"]) == 0
    key = session.scalars(select(ApiKey)).one()
    assert main(["owners", "set", key.owner_id, "open_jobs=3"]) == 0
    assert main(["keys", "revoke", key.id]) == 0
    rows = session.scalars(select(AuditRow).order_by(AuditRow.number)).all()
    assert [(row.action, row.user_name, row.user_id) for row in rows] == [
        (name, "operator on the host", None) for name in ("keys create", "owners set", "keys revoke")
    ]
    assert {row.project_id for row in rows} == {key.owner_id}
    assert rows[1].changes[0]["after"] == {"quotas": {"open_jobs": 3}}
    assert key.sha256 not in str([row.changes for row in rows])


def _make_old(settings: Settings, project: str, last: int, first: int = 1) -> None:
    """Date rows back, as if the clock had been wrong, and write the chain anew."""
    with engine_for(settings.database_url).begin() as connection:
        connection.exec_driver_sql("SET LOCAL session_replication_role = replica")
        old = text(f"UPDATE audit_rows SET at = at - interval '40 days' WHERE number BETWEEN {first} AND {last}")
        connection.execute(old)
        previous = ""
        for row in connection.execute(select(AuditRow.__table__).order_by(AuditRow.number)).mappings().all():
            previous = hash_of(row, previous)
            written = update(AuditRow).where(AuditRow.number == row["number"]).values(hash=previous)
            connection.execute(written)
        connection.execute(update(AuditChain).values(hash=previous))


def _outcome(project: str) -> tuple[Any, int, int]:
    found = checked(project)
    return found.broken, found.rows, found.last
