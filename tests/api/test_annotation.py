"""A round over REST, from a dataset's unlabelled pairs to the rows of a new one; and every misuse."""

from typing import Any

import pytest
from fastapi.testclient import TestClient
from sqlalchemy.orm import Session

from core.models import ApiKey
from data.schema import DatasetKind
from tests.api.problem_checks import problem
from tests.core.annotation.tools import make_round, work
from tests.core.factories import jsonl, make_key, make_version

ROUNDS = "/v1/annotation/rounds"
UNLABELLED = [{"prompt": f"p{n}", "a": f"x{n}", "b": f"y{n}", "label": None} for n in range(3)]
LABELLED = [{"prompt": f"q{n}", "a": "good", "b": "bad", "label": "a"} for n in range(2)]


@pytest.fixture
def pairs(session: Session, owner: tuple[ApiKey, str]) -> str:
    """A dataset with unlabelled pairs, and two labelled ones."""
    made = make_version(session, owner[0].owner_id, content=jsonl(UNLABELLED + LABELLED)).dataset_id
    session.commit()
    return made


def create(client: TestClient, dataset: str, **more: Any) -> dict[str, Any]:
    source = {"type": "dataset", "dataset": dataset}
    answer = client.post(ROUNDS, json={"source": source, **more})
    assert answer.status_code == 202, answer.text
    work()
    found: dict[str, Any] = client.get(f"{ROUNDS}/{answer.json()['id']}").json()
    return found


def answer_all(client: TestClient, round_id: str, annotator: str, choice: str) -> list[dict[str, Any]]:
    """Answer all items of an annotator with the same choice, and return the items."""
    seen: list[dict[str, Any]] = []
    while True:
        queue = client.post(f"{ROUNDS}/{round_id}/next", json={"annotator": annotator}).json()
        if not queue["items"]:
            return seen
        (item,) = queue["items"]
        seen.append(item)
        body = {"annotator": annotator, "choice": choice, "seconds": 3}
        said = client.put(f"{ROUNDS}/{round_id}/items/{item['id']}/answer", json=body)
        assert said.status_code == 200 and said.json()["done"] == len(seen)


def test_from_unlabelled_pairs_to_the_rows_of_a_dataset(client: TestClient, pairs: str) -> None:
    made = create(client, pairs, name="Pilot", overlap=2, instructions="Which is kinder?")
    assert (made["status"], made["items"], made["answers_wanted"], made["source"]["dataset"]) == (
        "open",
        3,
        6,
        f"{pairs}@1",
    )
    kim, lee = (answer_all(client, made["id"], name, "1") for name in ("kim", "lee"))
    assert sorted(item["prompt"] for item in kim) == ["p0", "p1", "p2"]
    assert [sorted(item["completions"]) for item in kim] == [sorted(item["completions"]) for item in lee]
    progress = client.get(f"{ROUNDS}/{made['id']}/progress").json()
    assert (progress["items_done"], progress["answers"], progress["first_chosen"]) == (3, 6, 6)
    assert [one["annotator"] for one in progress["annotators"]] == ["kim", "lee"]
    assert progress["annotators"][0]["median_seconds"] == 3 and progress["reward_model"] is None
    closing = client.post(f"{ROUNDS}/{made['id']}/close", json={"name": "Kindness"})
    assert (closing.status_code, closing.json()["status"]) == (202, "closing")
    work()
    closed = client.get(f"{ROUNDS}/{made['id']}").json()
    assert (closed["status"], closed["version"]) == ("closed", 1)
    rows = client.get(f"/v1/datasets/{closed['dataset']}/rows").json()["data"]
    assert len(rows) == 6
    shown = {(item["prompt"], "kim"): item["completions"][0] for item in kim}
    shown |= {(item["prompt"], "lee"): item["completions"][0] for item in lee}
    for row in (one["row"] for one in rows):
        assert row[row["label"]] == shown[row["prompt"], row["annotator"]], "what was chosen is what was seen"


def test_round_of_mixed_rows_uses_labelled_ones_as_gold(client: TestClient, pairs: str) -> None:
    made = create(client, pairs, gold_share=0.4)
    assert (made["items"], made["gold_items"], made["gold"]) == (3, 2, f"{pairs}@1")
    seen = answer_all(client, made["id"], "kim", "tie")
    assert all(item.keys() == seen[0].keys() and "gold" not in item for item in seen)
    progress = client.get(f"{ROUNDS}/{made['id']}/progress").json()
    assert (progress["gold_right"], progress["ties"]) == (0, 3) and progress["gold_of"] >= 1


def test_undo_returns_the_item_with_its_previous_answer(client: TestClient, pairs: str) -> None:
    round_id = create(client, pairs)["id"]
    first, *_ = answer_all(client, round_id, "kim", "2")[::-1]
    undone = client.post(f"{ROUNDS}/{round_id}/undo", json={"annotator": "kim"}).json()
    assert undone["item"]["id"] == first["id"] and undone["item"]["completions"] == first["completions"]
    assert undone["item"]["previous"] == {"choice": "2", "ranks": None}
    assert (undone["done"], undone["total"]) == (2, 3)
    named = {"annotator": "kim", "item": first["id"]}
    assert client.post(f"{ROUNDS}/{round_id}/undo", json=named).json()["item"] is None


def test_results_are_complete_and_can_be_limited_to_differing(client: TestClient, pairs: str) -> None:
    round_id = create(client, pairs, overlap=2)["id"]
    answer_all(client, round_id, "kim", "1")
    assert client.get(f"{ROUNDS}/{round_id}/items?only=disagreed").json()["data"] == []
    answer_all(client, round_id, "lee", "tie")
    page = client.get(f"{ROUNDS}/{round_id}/items?limit=2").json()
    assert (page["has_more"], page["last_id"]) == (True, "2")
    (last,) = client.get(f"{ROUNDS}/{round_id}/items?after=2&only=disagreed").json()["data"]
    assert [given["annotator"] for given in last["answers"]] == ["kim", "lee"]
    assert last["answers"][1]["choice"] == "tie" and last["completions"][0].startswith("x")


def test_a_round_is_paused_opened_listed_and_deleted(client: TestClient, pairs: str) -> None:
    made = create(client, pairs, name="One")
    paused = client.patch(f"{ROUNDS}/{made['id']}", json={"status": "paused", "name": "Two"}).json()
    assert (paused["status"], paused["name"]) == ("paused", "Two")
    assert client.post(f"{ROUNDS}/{made['id']}/next", json={"annotator": "kim"}).json()["status"] == "paused"
    listed = client.get(f"{ROUNDS}?status=paused").json()["data"]
    assert listed == [client.get(f"{ROUNDS}/{made['id']}").json()]
    assert client.get(f"{ROUNDS}?status=open").json()["data"] == []
    assert client.delete(f"{ROUNDS}/{made['id']}").status_code == 204
    problem(client.get(f"{ROUNDS}/{made['id']}"), 404, "not_found")


def test_round_from_unusable_source_is_refused_with_a_reason(client: TestClient, session: Session, owner: Any) -> None:
    labelled = make_version(session, owner[0].owner_id, content=jsonl(LABELLED)).dataset_id
    session.commit()
    made = create(client, labelled)
    assert made["status"] == "failed"
    assert (
        made["error"]["message"]
        == f'{labelled}@1 holds no unlabelled pair. Set `source.rows` to "all" to include labelled ones.'
    )
    answer = client.put(f"{ROUNDS}/{made['id']}/items/item_x/answer", json={"annotator": "kim", "choice": "1"})
    assert "holds no unlabelled pair" in problem(answer, 409, "round_not_ready")["detail"]
    assert create(client, labelled, kind="ranking")["error"]["message"].startswith(
        f"{labelled}@1 holds no unlabelled ranking"
    )


def test_a_round_that_is_described_wrongly(client: TestClient, pairs: str) -> None:
    source = {"type": "dataset", "dataset": pairs}
    for body, pointer in (
        ({"source": source, "overlp": 2}, "#/overlp"),
        ({"source": source | {"limit": 0}}, "#/source/limit"),
        ({"source": source, "name": "a\0b"}, "#/name"),
    ):
        document = problem(client.post(ROUNDS, json=body), 422, "invalid_request")
        assert document["errors"][0]["pointer"] == pointer


def test_round_of_unknown_dataset_or_checkpoint_is_refused(client: TestClient, session: Session, owner: Any) -> None:
    prompts = make_version(session, owner[0].owner_id, DatasetKind.PROMPTS).dataset_id
    others = make_version(session, make_key(session).owner_id).dataset_id
    session.commit()
    asked: dict[str, Any] = {"type": "checkpoints", "checkpoints": ["ckpt_x", "ckpt_y"]}
    for source, status, code, param in (
        ({"type": "dataset", "dataset": "ds_nope"}, 404, "not_found", "source.dataset"),
        ({"type": "dataset", "dataset": prompts}, 422, "wrong_dataset_kind", "source.dataset"),
        ({"type": "dataset", "dataset": others}, 404, "not_found", "source.dataset"),
        (asked | {"prompts": prompts}, 404, "not_found", "source.checkpoints.0"),
        (asked | {"prompts": "ds_nope"}, 404, "not_found", "source.prompts"),
    ):
        assert problem(client.post(ROUNDS, json={"source": source}), status, code)["param"] == param


def test_invalid_answers_are_refused(client: TestClient, pairs: str) -> None:
    round_id = create(client, pairs)["id"]
    (item,) = client.post(f"{ROUNDS}/{round_id}/next", json={"annotator": "kim"}).json()["items"]
    path = f"{ROUNDS}/{round_id}/items/{item['id']}/answer"
    for body, pointer in (
        ({"annotator": "kim"}, "#/choice"),
        ({"annotator": "kim", "choice": "3"}, "#/choice"),
        ({"annotator": "kim", "ranks": [1, 2]}, "#/choice"),
        ({"annotator": "kim", "choice": "1", "seconds": -1}, "#/seconds"),
        ({"annotator": "kim", "choise": "1"}, "#/choise"),
        ({"annotator": " ", "choice": "1"}, "#/annotator"),
        ({"choice": "1"}, "#/annotator"),
    ):
        assert problem(client.put(path, json=body), 422, "invalid_request")["errors"][0]["pointer"] == pointer
    problem(client.put(path, json={"annotator": "lee", "choice": "1"}), 404, "not_found")
    problem(client.post(f"{ROUNDS}/{round_id}/next", json={"annotator": "kim", "limit": 11}), 422, "invalid_request")


def test_round_actions_in_the_wrong_status_are_refused(client: TestClient, pairs: str, session: Session) -> None:
    round_id = create(client, pairs)["id"]
    problem(client.post(f"{ROUNDS}/{round_id}/close", json={}), 409, "nothing_to_close")
    problem(client.post(f"{ROUNDS}/{round_id}/continue", json={"job": "job_x"}), 409, "round_open")
    problem(client.get(f"{ROUNDS}/{round_id}/continuation?job=job_x"), 409, "round_open")
    problem(client.post(f"{ROUNDS}/{round_id}/reward_model", json={"checkpoint": "ckpt_x"}), 404, "not_found")
    problem(client.post(f"{ROUNDS}/{round_id}/reward_model", json={"checkpoint": "x"}), 422, "invalid_request")
    (item, *_) = answer_all(client, round_id, "kim", "1")
    client.post(f"{ROUNDS}/{round_id}/close", json={})
    body = {"annotator": "kim", "choice": "2"}
    closed = client.put(f"{ROUNDS}/{round_id}/items/{item['id']}/answer", json=body)
    problem(closed, 409, "round_closed")
    assert closed.headers["x-should-retry"] == "false"
    problem(client.post(f"{ROUNDS}/{round_id}/undo", json={"annotator": "kim"}), 409, "round_closed")
    problem(client.patch(f"{ROUNDS}/{round_id}", json={"status": "open"}), 409, "round_closed")
    problem(client.post(f"{ROUNDS}/{round_id}/close", json={}), 409, "round_closed")
    problem(client.delete(f"{ROUNDS}/{round_id}"), 409, "round_closed")
    work()
    problem(client.post(f"{ROUNDS}/{round_id}/continue", json={"job": "job_x"}), 404, "not_found")


def test_another_key_s_round_is_as_absent_as_none(client: TestClient, session: Session) -> None:
    others = make_round(session)
    for method, path in (
        ("GET", ""), ("PATCH", ""), ("DELETE", ""), ("POST", "/next"), ("POST", "/undo"), ("GET", "/progress"),
        ("GET", "/items"), ("POST", "/close"), ("POST", "/continue"), ("PUT", "/items/item_x/answer"),
    ):  # fmt: skip
        body = {"annotator": "kim", "choice": "1"} if path.endswith("answer") else {"annotator": "kim"}
        body = {"": {}, "/close": {}, "/continue": {"job": "job_x"}}.get(path, body)
        sent = {} if method in ("GET", "DELETE") else {"json": body}
        problem(client.request(method, f"{ROUNDS}/{others.id}{path}", **sent), 404, "not_found")
    assert client.get(ROUNDS).json()["data"] == []
