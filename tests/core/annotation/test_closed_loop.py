"""The closed loop with real components: policies sample, annotators compare, and the job is continued."""

import tomllib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from fastapi.testclient import TestClient
from sqlalchemy.orm import Session

from api.app import create_app
from core.access import keys
from core.blobs import blob_store
from core.settings import Settings
from data.schema import DatasetKind
from tests.core.annotation.tools import work
from tests.core.factories import make_version
from worker.health import WorkerHeartbeat
from worker.jobs.claim import run_queued_jobs
from worker.jobs.context import WorkerContext
from worker.jobs.launch.local import LocalLauncher
from worker.process import StopRequest

EXAMPLES = Path(__file__).parents[3] / "examples"
ROUNDS = "/v1/annotation/rounds"
SHORT = {
    "sft": {"epochs": 1},
    "reward_model": {"epochs": 1},
    "ppo": {"steps": 2, "eval_every": 2, "batch_size": 8, "max_new_tokens": 8},
    "evaluation": {"prompts": 4},
}
ROWS = 40
"""Rows of the example. The assertions do not need a model that learns much."""
Call = Callable[..., Any]


@pytest.fixture
def call(session: Session, settings: Settings) -> Iterator[Call]:
    """Send a request that must succeed. Returns the body of the response."""
    _, key = keys.create_key(session, "tester")
    session.commit()
    with TestClient(create_app(settings), headers={"Authorization": f"Bearer {key}"}) as client:

        def call(method: str, path: str, **body: Any) -> Any:
            answer = client.request(method, path, **({"json": body} if method != "GET" else {}))
            assert answer.is_success, answer.text
            return answer.json()

        yield call


def run_jobs(settings: Settings) -> None:
    """Run every queued job with the real trainer."""
    with WorkerHeartbeat(settings) as heartbeat:
        run_queued_jobs(WorkerContext(settings, blob_store(settings), LocalLauncher(), StopRequest()), heartbeat)


def tiny_spec(session: Session, owner_id: str) -> dict[str, Any]:
    spec = tomllib.loads((EXAMPLES / "tiny.toml").read_text())
    for kind in (DatasetKind.SFT, DatasetKind.PREFERENCES):
        lines = (EXAMPLES / "tiny" / f"{kind.value}.jsonl").read_bytes().splitlines(keepends=True)
        spec["data"][kind.value] = make_version(session, owner_id, kind, b"".join(lines[:ROWS])).dataset_id
    session.commit()
    return {**spec, **{section: spec[section] | changes for section, changes in SHORT.items()}}


def answer_all(call: Call, round_id: str, annotator: str) -> None:
    """Prefer the longer text, at either position."""
    while items := call("POST", f"{ROUNDS}/{round_id}/next", annotator=annotator)["items"]:
        lengths = [len(text) for text in items[0]["completions"]]
        choice = "tie" if lengths[0] == lengths[1] else str(1 + lengths.index(max(lengths)))
        call("PUT", f"{ROUNDS}/{round_id}/items/{items[0]['id']}/answer", annotator=annotator, choice=choice)


@pytest.mark.slow
def test_closed_loop_two_annotators_compare_and_job_continues(session: Session, settings: Settings, call: Call) -> None:
    spec = tiny_spec(session, call("GET", "/v1/session")["key"]["id"])
    dataset = spec["data"]["preferences"]
    job = call("POST", "/v1/jobs", **spec)["id"]
    run_jobs(settings)
    final = {one["stage"]: one["id"] for one in call("GET", f"/v1/jobs/{job}/checkpoints?final=true")["data"]}

    source = {"type": "checkpoints", "checkpoints": [final["sft"], final["ppo"]], "prompts": dataset, "limit": 6}
    made = call("POST", ROUNDS, source=source, overlap=2, reward_model=final["reward_model"])
    path = f"{ROUNDS}/{made['id']}"
    work()
    opened = call("GET", path)
    assert opened["status"] == "open", opened["error"]
    assert opened["items"] + opened["left_out"] == 6 and opened["items"] > 0
    assert [policy["stage"] for policy in opened["policies"]] == ["sft", "ppo"]

    for annotator in ("kim", "lee"):
        answer_all(call, made["id"], annotator)
    progress = call("GET", f"{path}/progress")
    answers = progress["answers"]
    assert (answers, progress["pairwise"]) == (2 * opened["items"], 1.0)
    assert (progress["reward_model"]["status"], progress["reward_model"]["of"]) == (
        "succeeded",
        answers - progress["ties"],
    )
    sft, ppo = progress["sides"]
    assert (sft["checkpoint"], sft["wins"], sft["losses"]) == (final["sft"], ppo["losses"], ppo["wins"])

    call("POST", f"{path}/close", dataset=dataset)
    work()
    assert call("GET", path)["status"] == "closed"
    assert call("GET", f"/v1/datasets/{dataset}/versions/2")["rows"] == ROWS + answers
    following = call("POST", f"{path}/continue", job=job, steps=2)["id"]
    run_jobs(settings)
    done = call("GET", f"/v1/jobs/{following}")
    assert done["status"] == "succeeded", done["error"]
    assert done["spec"]["stages"] == ["reward_model", "ppo", "evaluation"]
    assert (done["spec"]["model"]["path"], done["spec"]["ppo"]["reference"]["path"]) == (final["ppo"], final["sft"])
    assert call("GET", path)["jobs"] == [following]
