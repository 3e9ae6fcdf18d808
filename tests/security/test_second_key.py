"""A second key against every route of the OpenAPI document, with the ids of the first key's objects.

The routes come from the document, so a new route is tested at once. A new path parameter needs an id in `ids`.
"""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pytest
from fastapi.testclient import TestClient
from httpx2 import Response
from sqlalchemy.orm import Session

from api import examples
from api.app import create_app
from api.openapi import followed
from core.access import keys
from core.blobs import blob_store
from core.datasets import reports, versions
from core.jobs.checkpoints.checkpoints import record_checkpoint
from core.jobs.lifecycle import attempts
from core.jobs.queue.workers import report_worker
from core.jobs.run.events import append_events
from core.models import AnnotationItem, DatasetReport, Job
from core.models.jobs import JobStatus
from core.settings import Settings, get_settings
from tests.api.compatibility import committed
from tests.api.test_workers import MACHINE
from tests.core.annotation.tools import make_round
from tests.core.factories import running
from trainer.events import CheckpointSaved, Sample, Samples

MARK = "belongs-to-the-first-key"
"""Part of every text of the first key."""
ROWS = json.dumps({"prompt": MARK, "chosen": f"{MARK} yes", "rejected": "no"}).encode() + b"\n"
SCHEMA = committed()
OPERATIONS = [
    (method.upper(), path, operation) for path, item in SCHEMA["paths"].items() for method, operation in item.items()
]
OPERATIONS.sort(key=lambda one: one[0] != "GET")  # a stream of a job that a leak lets another key retry would not end
PUBLIC = re.compile("/(healthz|readyz)|/v1/(reference/.*|presets|schema/.*)")
"""Routes without data of a project."""
SHARED = {"worker_id", "project_id"}
"""Parameters that name objects of the platform, or a whole project. Only an operator may change them."""
HARMLESS = {"create_upload", "create_upload_from", "create_group", "create_key", "create_sign_in_code"}
HARMLESS |= {"sign_in", "sign_out", "validate_sweep", "create_template", "store_view_setting", "delete_view_setting"}
HARMLESS |= {"change_project", "add_member"}
"""Operations that name no other object, look none up, or name one that each project has of its own. They may succeed."""


@dataclass
class Platform:
    """The application, a client for each key, and the ids of the first key's objects."""

    first: TestClient
    second: TestClient
    ids: dict[str, Any]
    queries: dict[str, str]
    """A value for each query parameter that names an object."""

    def call(
        self, client: TestClient, method: str, path: str, operation: dict[str, Any], query: dict[str, str]
    ) -> Response:
        address = re.sub(r"{(\w+)[^}]*}", lambda found: str(self.ids[found[1]]), path)
        return client.request(method, address, params=query, **self._body(operation))

    def _body(self, operation: dict[str, Any]) -> dict[str, Any]:
        """The example of the body, about the first key's objects."""
        content = operation.get("requestBody", {}).get("content", {})
        if "application/octet-stream" in content:
            return {"content": b"x" * 10, "headers": {"Content-Type": "application/octet-stream"}}
        if "application/json" not in content:
            return {}
        text = json.dumps(examples.BODIES[operation["operationId"]])
        for example, name in (
            (examples.JOB, "job_id"),
            (examples.DATASET, "dataset_id"),
            (examples.CHECKPOINT, "checkpoint_id"),
            (examples.UPLOAD, "upload_id"),
        ):
            text = text.replace(example, self.ids[name])
        return {"json": json.loads(text)}

    def state(self) -> dict[str, Any]:
        """The first key's objects, as the API shows them to it."""
        paths = (
            "jobs/{job_id}",
            "datasets/{dataset_id}",
            "uploads/{upload_id}",
            "groups/{group_id}",
            "keys",
            "webhooks/{webhook_id}",
            "webhooks/{webhook_id}/deliveries",
            "templates/{template_id}",
            "view-settings",
            "project",
            "members",
        )
        paths += ("annotation/rounds/{round_id}", "jobs/{job_id}/commands", "jobs/{job_id}/samples/notes")
        paths += ("datasets/{dataset_id}/tasks",)
        return {path: _without_times(self.first.get(f"/v1/{path.format(**self.ids)}").json()) for path in paths}


def _without_times(shown: Any) -> Any:
    """A response without the times that reading or waiting changes."""
    if isinstance(shown, dict):
        return {name: _without_times(one) for name, one in shown.items() if name not in ("last_used_at", "queue")}
    return [_without_times(one) for one in shown] if isinstance(shown, list) else shown


@pytest.fixture
def platform(settings: Settings, session: Session) -> Iterator[Platform]:
    """A platform on which the first key has an object of every kind."""
    app = create_app()
    app.state.settings = get_settings().model_copy(update={"requests_per_second": 0})
    (row, text), (_, other) = keys.create_key(session, MARK), keys.create_key(session, "second")
    session.commit()
    with TestClient(app) as first, TestClient(app) as second:
        first.headers["Authorization"], second.headers["Authorization"] = f"Bearer {text}", f"Bearer {other}"
        ids = _objects(first, session, row.owner_id) | {
            "key_id": row.id,
            "user_id": row.user_id,
            "project_id": row.owner_id,
        }
        queries = {
            "dataset": ids["dataset_id"],
            "other": ids["dataset_id"],
            "jobs": ids["job_id"],
            "ids": ids["job_id"],
        }
        queries |= {
            "job": ids["job_id"],
            "group": ids["group_id"],
            "external_id": MARK,
            "tag": MARK,
            "text": MARK,
            "name": MARK,
        }
        yield Platform(first, second, ids, queries | {"report": ids["report_id"], "search": MARK, "q": MARK})


def _objects(client: TestClient, session: Session, owner_id: str) -> dict[str, Any]:
    """The value of every path parameter."""
    form = {"files": {"file": (f"{MARK}.jsonl", ROWS)}, "data": {"kind": "preferences", "name": MARK}}
    dataset = client.post("/v1/datasets", params={"external_id": MARK}, **form).json()
    spec = {"name": MARK, "model": "some/model", "data": {"preferences": dataset["id"]}, "ppo": {}}
    job = client.post("/v1/jobs", params={"external_id": MARK}, json=spec).json()
    client.patch(f"/v1/jobs/{job['id']}", json={"tags": [MARK], "notes": MARK}).raise_for_status()
    attempt = running(session, session.get_one(Job, job["id"]))
    file = get_settings().data_dir / "config.json"
    file.write_text("{}")
    blob_store(get_settings()).put_file(f"{MARK}/config.json", file)
    saved = CheckpointSaved(stage="ppo", step=40, path="checkpoints/ppo", final=True)
    files: Any = [{"path": "config.json", "bytes": 2, "sha256": "0" * 64}]
    checkpoint = record_checkpoint(session, job["id"], attempt, saved, files, MARK)
    logged = Samples(stage="ppo", step=120, rows=[Sample(prompt=MARK, response=MARK)])
    append_events(session, job["id"], attempt, [logged])
    attempts.finish(session, job["id"], attempt, JobStatus.SUCCEEDED, "Done.")
    report_worker(session, "wrk_1", "host", job["id"], MACHINE)
    round_ = make_round(session, owner_id, name=MARK)
    item = session.query(AnnotationItem).filter_by(round_id=round_.id).first()
    report: DatasetReport = reports.request(session, versions.get(session, owner_id, dataset["id"]))
    session.commit()
    upload = client.post("/v1/uploads", json={"filename": f"{MARK}.jsonl", "bytes": 10}).json()
    client.put(f"/v1/uploads/{upload['id']}/parts/1", content=b"x" * 10).raise_for_status()
    group = client.post("/v1/groups", json={"name": MARK}).json()
    template = client.post("/v1/templates", json={"name": MARK, "spec": {"name": MARK}}).json()
    client.put("/v1/view-settings/charts.ppo", json={"value": MARK}).raise_for_status()
    note = client.put(f"/v1/jobs/{job['id']}/samples/ppo.120.0/note", json={"text": MARK}).json()
    validation = client.post("/v1/jobs/validate", json=spec | {"seed": 1}).json()
    assert item is not None
    token = client.headers["Authorization"].removeprefix("Bearer ")
    client.post("/v1/session", json={"token": token}, headers={"Origin": "http://testserver"}).raise_for_status()
    client.cookies.clear()
    browser = client.get("/v1/sessions").json()["data"][0]["id"]
    receiver = {"url": "https://93.184.215.14/hook", "description": MARK, "event_types": ["job.failed"]}
    webhook = client.post("/v1/webhooks", json=receiver).json()
    delivery = client.post(f"/v1/webhooks/{webhook['id']}/test").json()
    return {
        "session_id": browser, "webhook_id": webhook["id"], "delivery_id": delivery["id"],
        "dataset_id": dataset["id"], "job_id": job["id"], "checkpoint_id": checkpoint.id, "path": "config.json",
        "round_id": round_.id, "item_id": item.id, "report_id": report.id, "task_id": report.task_id, "number": 1,
        "upload_id": upload["id"], "group_id": group["id"], "validation_id": validation["id"], "worker_id": "wrk_1",
        "template_id": template["id"], "name": "charts.ppo", "sample": "ppo.120.0", "note_id": note["id"],
    }  # fmt: skip


def _queries(platform: Platform, operation: dict[str, Any]) -> Iterator[dict[str, str]]:
    """The required parameters, and these with each optional one that names an object."""
    parameters = [followed(SCHEMA, one) for one in operation.get("parameters", [])]
    known = {one["name"]: one for one in parameters if one["in"] == "query"}
    required = {name: platform.queries[name] for name, one in known.items() if one.get("required")}
    yield required
    for name in known.keys() & platform.queries.keys() - required.keys():
        yield required | {name: platform.queries[name]}


def test_second_key_reaches_nothing_of_the_first(platform: Platform) -> None:
    before, found = platform.state(), []
    secrets = [MARK, *(one for name, one in platform.ids.items() if len(str(one)) > 12 and name not in SHARED)]
    for method, path, operation in OPERATIONS:
        if PUBLIC.fullmatch(path):
            continue
        parameters = set(re.findall(r"{(\w+)", path))
        assert parameters <= platform.ids.keys(), f"{path}: add the id of an object to `_objects`"
        is_harmless = operation["operationId"] in HARMLESS
        for query in _queries(platform, operation):
            response = platform.call(platform.second, method, path, operation, query)
            shown = response.text.replace(query.get("ids", "-"), "")  # absent ids are named
            where = f"{method} {path} {query}: {response.status_code} {response.text[:300]}"
            if (
                (parameters and not is_harmless and response.status_code != (403 if parameters & SHARED else 404))
                or (method != "GET" and not is_harmless and response.is_success)
                or (response.is_success and any(secret in shown for secret in map(str, secrets)))
            ):
                found.append(where)
    assert found == []
    assert platform.state() == before


def test_first_key_reaches_every_object(platform: Platform) -> None:
    """Otherwise a wrong id in the table would hide a leak."""
    lost = []
    for method, path, operation in OPERATIONS:
        if method != "GET" or PUBLIC.fullmatch(path) or path.endswith("/stream") or path.startswith("/v1/admin/"):
            continue
        for query in _queries(platform, operation):
            response = platform.call(platform.first, method, path, operation, query)
            if response.status_code not in (200, 204, 409, 422):
                lost.append(f"{path} {query}: {response.status_code} {response.text[:300]}")
    assert lost == []
