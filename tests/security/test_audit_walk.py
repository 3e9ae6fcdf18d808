"""Every changing operation of the API succeeds once, and leaves one row in the audit log with its own request id."""

import json
import re
from collections.abc import Iterator
from importlib.metadata import version
from ipaddress import ip_network
from typing import Any

import pytest
from fastapi.testclient import TestClient
from httpx2 import Response
from sqlalchemy import func, select
from sqlalchemy.orm import Session

from api.app import create_app
from api.authorization import AUDITED_READS
from core.access import keys
from core.datasets import reports, versions
from core.jobs.checkpoints.checkpoints import CheckpointFile, record_checkpoint
from core.jobs.lifecycle import attempts
from core.jobs.queue.workers import report_worker
from core.jobs.run.events import append_events
from core.models import ApiKey, AuditRow, DatasetReport, DeliveryStatus, Job, WebhookDelivery
from core.models.jobs import JobStatus
from core.settings import Settings, get_settings
from data.schema import DatasetKind
from tests.api.compatibility import committed
from tests.api.test_workers import MACHINE
from tests.core.annotation.tools import make_round
from tests.core.factories import make_job, make_version, running
from trainer.events import CheckpointSaved, Sample, Samples

READING = {"validate_sweep", "preview_upload"}
"""Operations with another method than GET that store nothing."""
SCHEMA = committed()
CHANGING = {
    operation["operationId"]
    for item in SCHEMA["paths"].values()
    for method, operation in item.items()
    if method != "get" and operation["operationId"] not in READING
}
STATE: list[CheckpointFile] = [{"path": "trainer_state/state.json", "bytes": 1, "sha256": "-"}]


class Walker:
    """A client that notes which operations have succeeded, and how many rows each has left."""

    def __init__(self, client: TestClient, session: Session, key: ApiKey) -> None:
        self.client, self.session, self.key = client, session, key
        self.rows: dict[str, list[int]] = {}

    def __call__(self, method: str, path: str, **given: Any) -> Any:
        answer: Response = self.client.request(method, f"/v1/{path}", **given)
        assert answer.status_code < 400, (method, path, answer.text)
        found = select(AuditRow).where(AuditRow.request_id == answer.headers["X-Request-Id"])
        self.session.rollback()
        rows = self.session.scalars(found).all()
        operation = operation_of(method, f"/v1/{path}")
        assert {row.action for row in rows} <= {operation} and {row.project_id for row in rows} <= {self.key.owner_id}
        self.rows.setdefault(operation, []).append(len(rows))
        return answer.json() if answer.content else None


def operation_of(method: str, path: str) -> str:
    """The id of the operation. A path without parameters comes before one with some."""
    for pattern in sorted(SCHEMA["paths"], key=lambda one: one.count("{")):
        item = SCHEMA["paths"][pattern]
        if method.lower() in item and re.fullmatch(re.sub(r"{[^}]*}", "[^/]+", pattern), path):
            return str(item[method.lower()]["operationId"])
    raise AssertionError(path)


@pytest.fixture
def walk(settings: Settings, session: Session) -> Iterator[Walker]:
    app = create_app()
    app.state.settings = get_settings().model_copy(
        update={"requests_per_second": 0, "import_urls": "any", "webhook_networks": [ip_network("127.0.0.1")]}
    )
    key, text = keys.create_key(session, "tester", operator=True)
    session.commit()
    with TestClient(app, headers={"Authorization": f"Bearer {text}"}) as client:
        yield Walker(client, session, key)


def walk_keys_and_members(walk: Walker) -> None:
    text = walk("POST", "keys", json={"name": "k"})["text"]
    headers = {"Origin": "http://testserver"}
    walk("POST", "session", json={"token": text}, headers=headers)
    ended = walk("GET", "sessions")["data"][0]["id"]
    walk("DELETE", f"sessions/{ended}")
    walk("POST", "session/codes")
    walk("DELETE", "session")
    walk("POST", f"keys/{walk('POST', 'keys', json={'name': 'k'})['id']}/revoke")
    walk("POST", f"keys/{walk('POST', 'keys', json={'name': 'k'})['id']}/rotate", json={})
    walk("PATCH", "project", json={"name": "New"})
    user = walk("POST", "members", json={"name": "Ada", "role": "member"})["id"]
    walk("PUT", f"members/{user}/role", json={"role": "viewer"})
    walk("POST", f"members/{user}/keys", json={"name": "k"})
    walk("DELETE", f"members/{user}")
    walk("PUT", "view-settings/charts.ppo", json={"value": 1})
    walk("PUT", "view-settings/charts.ppo", json={"value": 2})
    walk("DELETE", "view-settings/charts.ppo")


def walk_workers(walk: Walker) -> None:
    token = walk("POST", "workers/tokens")["token"]
    joins = {"Authorization": f"Bearer {token}"}
    walk("PUT", f"admin/projects/{walk.key.owner_id}/quotas", json={"gpus": 4})
    walk("POST", "workers/join", json={"version": version("proximal-rlhf")}, headers=joins)
    report_worker(walk.session, "wrk_9", "host", None, MACHINE)
    walk.session.commit()
    for change in ("cordon", "drain", "uncordon"):
        walk("POST", f"workers/wrk_9/{change}")


def walk_datasets(walk: Walker) -> None:
    content = b'{"prompt": "p", "chosen": "c", "rejected": "r"}\nno\n'
    form = {"kind": "preferences", "bad_rows": "report"}
    made = walk("POST", "datasets", files={"file": ("p.jsonl", content)}, data=form)["id"]
    walk("POST", f"datasets/{made}/fixes", json={"findings": ["leave_out"]})
    walk("PATCH", f"datasets/{made}", json={"name": "n"})
    walk("POST", f"datasets/{made}/archive")
    walk("POST", f"datasets/{made}/unarchive")
    walk("POST", f"datasets/{made}/reports", json={"eval_fraction": 0.3})
    found = versions.get(walk.session, walk.key.owner_id, made)
    report: DatasetReport = reports.request(walk.session, found)
    walk.session.commit()
    walk("POST", f"datasets/{made}/tasks/{report.task_id}/cancel")
    walk("GET", f"datasets/{made}/rows")
    walk("GET", f"datasets/{made}/export")
    walk("DELETE", f"datasets/{made}")


def walk_uploads(walk: Walker) -> None:
    upload = walk("POST", "uploads", json={"filename": "a.jsonl", "bytes": 10})["id"]
    walk("PUT", f"uploads/{upload}/parts/1", content=b"x" * 10, headers={"Content-Type": "application/octet-stream"})
    walk("POST", f"uploads/{upload}/complete", json={})
    walk("DELETE", f"uploads/{upload}")
    walk("POST", "uploads/from", json={"url": "https://data.example/a.jsonl"})


def _trained(walk: Walker) -> Job:
    """A job that has ended, with a checkpoint to branch from and one to extend."""
    source = make_job(walk.session, walk.key.owner_id, ppo={"steps": 4, "lr_schedule": "constant", "warmup_ratio": 0.0})
    attempt = running(walk.session, source)
    for stage, step, final in (("sft", 1, True), ("reward_model", 1, True), ("ppo", 2, False), ("ppo", 4, True)):
        path = f"checkpoints/{stage}" + ("" if final else f"-{step:06d}")
        saved = CheckpointSaved.model_validate({"stage": stage, "step": step, "path": path, "final": final})
        record_checkpoint(walk.session, source.id, attempt, saved, [] if final else STATE, path)
    logged = Samples(stage="ppo", step=2, rows=[Sample(prompt="p", response="r")])
    append_events(walk.session, source.id, attempt, [logged])
    walk.session.commit()
    walk("POST", f"jobs/{source.id}/commands", json={"kl_coef": 0.2})
    attempts.finish(walk.session, source.id, attempt, JobStatus.SUCCEEDED, "")
    walk.session.commit()
    return source


def walk_webhooks(walk: Walker) -> None:
    receiver = {"url": "http://127.0.0.1:9/hook", "event_types": ["job.failed"]}
    made = walk("POST", "webhooks", json=receiver)
    address = f"webhooks/{made['id']}"
    walk("PATCH", address, json={"description": "d"})
    walk("POST", f"{address}/rotate", json={"overlap_hours": 0})
    sent = walk("POST", f"{address}/test")["id"]
    walk.session.get_one(WebhookDelivery, sent).status = DeliveryStatus.FAILED
    walk.session.get_one(WebhookDelivery, sent).finished_at = func.now()
    walk.session.commit()
    walk("POST", f"{address}/deliveries/{sent}/replay")
    walk("DELETE", address)
    stored = walk.session.scalars(select(AuditRow.changes).where(AuditRow.object_kind == "webhook")).all()
    assert stored and made["secret"] not in json.dumps(stored)


def walk_jobs(walk: Walker, source: Job) -> None:
    address = f"jobs/{source.id}"
    walk("POST", f"{address}/branch", json={"stage": "ppo", "step": 2})
    walk("POST", f"{address}/extend", json={"steps": 5})
    walk("POST", f"{address}/clone")
    note = walk("PUT", f"{address}/samples/ppo.2.0/note", json={"text": "t"})["id"]
    walk("DELETE", f"{address}/samples/notes/{note}")
    group = walk("POST", "sweeps", json={"spec": source.spec, "parameters": {"ppo.steps": [4, 5]}})["id"]
    walk("POST", f"groups/{group}/cancel")
    walk("POST", "groups", json={"name": "g"})
    template = walk("POST", "templates", json={"name": "t", "spec": source.spec})["id"]
    walk("PATCH", f"templates/{template}", json={"name": "u"})
    walk("POST", f"templates/{template}/jobs")
    walk("DELETE", f"templates/{template}")
    checked = walk("POST", "jobs/validate", json=source.spec)["id"]
    walk("POST", f"jobs/validations/{checked}/cancel")
    job = walk("POST", "jobs", json=source.spec)["id"]
    walk("PATCH", f"jobs/{job}", json={"name": "n"})
    for action in ("pause", "resume", "cancel", "retry", "cancel", "archive", "unarchive"):
        walk("POST", f"jobs/{job}/{action}")
    walk("DELETE", f"jobs/{job}")


def walk_rounds(walk: Walker, source: Job) -> None:
    dataset = make_version(walk.session, walk.key.owner_id, DatasetKind.PREFERENCES).dataset_id
    walk.session.commit()
    made = {"source": {"type": "dataset", "dataset": dataset, "rows": "all"}}
    walk("DELETE", f"annotation/rounds/{walk('POST', 'annotation/rounds', json=made)['id']}")
    round_ = make_round(walk.session, walk.key.owner_id, kind="pairs")
    address = f"annotation/rounds/{round_.id}"
    walk("PATCH", address, json={"overlap": 2})
    (item,) = walk("POST", f"{address}/next", json={"annotator": "ada"})["items"]
    walk("PUT", f"{address}/items/{item['id']}/answer", json={"annotator": "ada", "choice": "1"})
    walk("POST", f"{address}/undo", json={"annotator": "ada"})
    walk("PUT", f"{address}/items/{item['id']}/answer", json={"annotator": "ada", "choice": "1"})
    saved = walk("GET", f"jobs/{source.id}/checkpoints")["data"]
    (reward_model,) = [one["id"] for one in saved if one["stage"] == "reward_model"]
    walk("POST", f"{address}/reward_model", json={"checkpoint": reward_model})
    walk("POST", f"{address}/close", json={})
    ready = make_version(walk.session, walk.key.owner_id)
    closed = make_round(walk.session, walk.key.owner_id)
    closed.status, closed.closed_at = "closed", ready.ready_at
    closed.dataset_id, closed.version = ready.dataset_id, ready.number
    walk.session.commit()
    walk("POST", f"annotation/rounds/{closed.id}/continue", json={"job": source.id})


def test_audit_walk(walk: Walker) -> None:
    source = _trained(walk)
    walk_keys_and_members(walk)
    walk_workers(walk)
    walk_datasets(walk)
    walk_uploads(walk)
    walk_webhooks(walk)
    walk_jobs(walk, source)
    walk_rounds(walk, source)
    assert CHANGING - walk.rows.keys() == set(), "let each changing operation succeed once"
    without = {name for name, counts in walk.rows.items() if 0 in counts and name in CHANGING | AUDITED_READS}
    several = {name for name, counts in walk.rows.items() if max(counts) > 1}
    assert (without, several) == (set(), {"cancel_group"}), "one row for each job of the group"
