"""The reference of formats, and exports, over HTTP."""

import io
import json

import pyarrow.parquet as parquet
import pytest
from fastapi.testclient import TestClient
from sqlalchemy.orm import Session

from core.models import ApiKey, Dataset
from data.formats import FORMATS
from tests.api.problem_checks import problem
from tests.core.factories import make_dataset, make_key, make_version


def test_formats_list_has_example_and_rows_for_every_format(client: TestClient) -> None:
    answer = client.get("/v1/reference/formats").json()
    assert [one["id"] for one in answer["data"]] == list(FORMATS)
    first = answer["data"][0]
    assert first == {
        "object": "dataset.format",
        "id": "trl_explicit",
        "title": "TRL, explicit prompt",
        "kinds": ["preferences"],
        "about": FORMATS["trl_explicit"].about,
        "source": "https://huggingface.co/docs/trl/dataset_formats",
        "example": [{"prompt": "The sky is", "chosen": " blue.", "rejected": " green."}],
        "mapping": None,
        "becomes": [{"prompt": "The sky is", "a": " blue.", "b": " green.", "label": "a"}],
    }
    assert all(one["becomes"] and one["example"] for one in answer["data"])


def test_reference_requires_a_key(anonymous: TestClient) -> None:
    problem(anonymous.get("/v1/reference/formats"), 401, "not_signed_in")


@pytest.mark.parametrize(
    ("format", "first"),
    [
        ("trl", {"prompt": "p0", "chosen": "good", "rejected": "bad"}),
        ("rows", {"prompt": "p0", "a": "good", "b": "bad", "label": "a"}),
        (
            "openai",
            {
                "input": {"messages": [{"role": "user", "content": "p0"}], "tools": [], "parallel_tool_calls": True},
                "preferred_output": [{"role": "assistant", "content": "good"}],
                "non_preferred_output": [{"role": "assistant", "content": "bad"}],
            },
        ),
        ("openrlhf", {"prompt": "p0", "chosen": "good", "rejected": "bad"}),
        (
            "llama_factory",
            {
                "conversations": [{"from": "human", "value": "p0"}],
                "chosen": {"from": "gpt", "value": "good"},
                "rejected": {"from": "gpt", "value": "bad"},
            },
        ),
    ],
)
def test_a_dataset_is_exported_as_a_file(client: TestClient, dataset: Dataset, format: str, first: object) -> None:
    answer = client.get(f"/v1/datasets/{dataset.id}/export", params={"format": format})
    assert json.loads(answer.text.splitlines()[0]) == first
    assert answer.headers["content-disposition"] == f'attachment; filename="{dataset.id}-1-{format}.jsonl"'
    assert answer.headers["x-proximal-left-out"] == "0"


def test_parquet_can_be_uploaded_again(client: TestClient, dataset: Dataset) -> None:
    content = client.get(f"/v1/datasets/{dataset.id}/export", params={"format": "parquet", "version": 1}).content
    assert parquet.read_table(io.BytesIO(content)).num_rows == 3
    again = client.post("/v1/datasets", files={"file": ("again.parquet", content)}, data={"kind": "preferences"}).json()
    assert (again["status"], again["rows"]) == ("ready", 3)
    assert again["sha256"] == client.get(f"/v1/datasets/{dataset.id}").json()["sha256"]


def test_ties_have_no_place_in_trls_format_and_are_counted(
    client: TestClient, session: Session, owner: tuple[ApiKey, str]
) -> None:
    rows = b'{"prompt": "p", "a": "x", "b": "y", "label": "tie"}\n{"prompt": "p", "a": "x", "b": "z", "label": "b"}\n'
    made = make_version(session, owner[0].owner_id, content=rows)
    session.commit()
    answer = client.get(f"/v1/datasets/{made.dataset_id}/export")
    assert (answer.headers["x-proximal-left-out"], answer.headers["x-proximal-not-carried"]) == ("1", "ties=1")
    assert json.loads(answer.text) == {"prompt": "p", "chosen": "z", "rejected": "x"}


def test_what_cannot_be_exported_is_refused(client: TestClient, session: Session, dataset: Dataset) -> None:
    problem(client.get(f"/v1/datasets/{dataset.id}/export?format=xml"), 422, "invalid_request")
    problem(client.get(f"/v1/datasets/{dataset.id}/export?version=2"), 404, "not_found")
    other = make_dataset(session, make_key(session).owner_id)
    session.commit()
    problem(client.get(f"/v1/datasets/{other.id}/export"), 404, "not_found")
