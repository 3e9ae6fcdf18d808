"""Two datasets compared over REST, and a job that names both."""

from typing import Any

import pytest
from fastapi.testclient import TestClient
from sqlalchemy import delete, func, select, update
from sqlalchemy.orm import Session

from core.models import ApiKey, DatasetPrompt, DatasetVersion, DataTask
from data.schema import DatasetKind
from tests.core.factories import jsonl, make_index, make_key, make_version

PAIRS = [{"prompt": f"p{n}", "chosen": "good", "rejected": "bad"} for n in range(5)]
ASKED = [{"prompt": f"p{n}"} for n in (3, 4, 9)]


@pytest.fixture
def pairs(session: Session, owner: tuple[ApiKey, str]) -> DatasetVersion:
    return indexed(session, owner[0].owner_id, DatasetKind.PREFERENCES, PAIRS)


@pytest.fixture
def asked(session: Session, owner: tuple[ApiKey, str]) -> DatasetVersion:
    return indexed(session, owner[0].owner_id, DatasetKind.PROMPTS, ASKED)


def indexed(session: Session, owner_id: str, kind: DatasetKind, rows: list[dict[str, Any]]) -> DatasetVersion:
    version = make_version(session, owner_id, kind, b"\n" + jsonl(rows))  # so that lines are not numbers
    make_index(session, version)
    session.commit()
    return version


def indexing(session: Session) -> list[str]:
    """The contents that wait for an index task."""
    return [task.args["sha256"] for task in session.scalars(select(DataTask).filter_by(kind="index", status="queued"))]


def end_tasks(session: Session) -> None:
    """Those that the import queued."""
    session.execute(update(DataTask).values(status="cancelled", error=None, finished_at=func.now()))
    session.commit()


def test_counts_and_lines_of_both_sides(client: TestClient, pairs: DatasetVersion, asked: DatasetVersion) -> None:
    asked_for = {"dataset": pairs.dataset_id, "other": f"{asked.dataset_id}@1"}
    found = client.get("/v1/datasets/overlap", params=asked_for).json()
    assert found["dataset"] == {"id": pairs.dataset_id, "version": 1, "rows": 5}
    assert found["other"]["rows"] == 3
    exact = found["exact"]
    assert (exact["prompts"], exact["rows"], exact["other_rows"], exact["complete"]) == (2, 2, 2, True)
    places = [(one["row"]["row_number"], one["row"]["line"], one["other"]["line"]) for one in exact["samples"]]
    assert places == [(4, 5, 2), (5, 6, 3)]
    assert found["near"]["prompts"] == 0


def test_overlap_dataset_of_another_key_is_not_found(
    client: TestClient, session: Session, pairs: DatasetVersion
) -> None:
    theirs = indexed(session, make_key(session, "other").owner_id, DatasetKind.PROMPTS, ASKED)
    for named in ({"dataset": theirs.dataset_id, "other": pairs.dataset_id}, {"dataset": pairs.dataset_id, "other": "ds_x"},
                  {"dataset": pairs.dataset_id, "other": f"{theirs.dataset_id}@1"}):  # fmt: skip
        refused = client.get("/v1/datasets/overlap", params=named)
        assert refused.status_code == 404
        assert refused.json()["param"] == ("dataset" if named["other"] == pairs.dataset_id else "other")


def test_overlap_without_index_is_409_and_queues_the_index(
    client: TestClient, session: Session, owner: tuple[ApiKey, str], pairs: DatasetVersion
) -> None:
    waiting = make_version(session, owner[0].owner_id, DatasetKind.PROMPTS, jsonl(ASKED))
    end_tasks(session)
    refused = client.get("/v1/datasets/overlap", params={"dataset": pairs.dataset_id, "other": waiting.dataset_id})
    assert (refused.status_code, refused.json()["code"]) == (409, "search_not_ready")
    assert client.get("/v1/datasets/overlap", params={"dataset": pairs.dataset_id}).status_code == 422
    assert indexing(session) == [waiting.sha256]


def test_rows_that_an_older_version_indexed_are_indexed_again(
    client: TestClient, session: Session, pairs: DatasetVersion, asked: DatasetVersion
) -> None:
    session.execute(delete(DatasetPrompt).filter_by(sha256=asked.sha256))
    end_tasks(session)
    for _ in range(2):
        params = {"dataset": pairs.dataset_id, "other": asked.dataset_id}
        found = client.get("/v1/datasets/overlap", params=params).json()
        assert (found["exact"]["prompts"], found["near"]) == (2, None)
    assert indexing(session) == [asked.sha256]


def test_plain_texts_have_no_prompts_to_compare(
    client: TestClient, session: Session, owner: tuple[ApiKey, str], pairs: DatasetVersion
) -> None:
    texts = indexed(session, owner[0].owner_id, DatasetKind.PRETRAINING, [{"text": "p3"}])
    refused = client.get("/v1/datasets/overlap", params={"dataset": pairs.dataset_id, "other": texts.dataset_id})
    assert (refused.status_code, refused.json()["param"]) == (422, "other")
    assert "no prompts" in refused.json()["detail"]


def test_job_that_trains_on_evaluation_prompts_gets_a_warning(
    client: TestClient, pairs: DatasetVersion, asked: DatasetVersion
) -> None:
    data = {"preferences": pairs.dataset_id, "evaluation_prompts": asked.dataset_id}
    job = client.post("/v1/jobs", json={"model": "m", "data": data, "ppo": {}}).json()
    (told,) = client.get(f"/v1/jobs/{job['id']}/events?types=message").json()["data"]
    assert told["data"]["level"] == "warning"
    assert told["data"]["text"].startswith(
        "2 different prompts of `data.evaluation_prompts` are also in `data.preferences`"
    )
    alone = client.post("/v1/jobs", json={"model": "m", "data": {"preferences": pairs.dataset_id}, "ppo": {}}).json()
    assert client.get(f"/v1/jobs/{alone['id']}/events?types=message").json()["data"] == []
