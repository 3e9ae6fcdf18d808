"""Validations, through the real API, the real handler and the real `python -m trainer check`."""

import signal
from pathlib import Path
from typing import Any

import pytest
from fastapi.testclient import TestClient
from sqlalchemy import delete
from transformers import LlamaConfig, LlamaForCausalLM

from core import child
from core.db import session_scope
from core.models import DataTask
from core.settings import Settings, get_settings
from tests.core.factories import jsonl
from tests.worker.tasks.tools import drain_all
from trainer.text.codec import train_tokenizer

PROMPTS = [f"what of film {n} then" for n in range(40)]
ROWS = [{"prompt": prompt, "chosen": "a good film", "rejected": "bad"} for prompt in PROMPTS]
CONFIG = {
    "vocab_size": 300,
    "hidden_size": 16,
    "intermediate_size": 24,
    "num_hidden_layers": 1,
    "num_attention_heads": 2,
    "max_position_embeddings": 64,
}


@pytest.fixture
def settings(settings: Settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Settings:
    """Jobs may read models from the folder `models` of the test."""
    monkeypatch.setenv("PROXIMAL_LOCAL_MODELS", str(tmp_path / "models"))
    get_settings.cache_clear()
    return get_settings()


@pytest.fixture
def spec(client: TestClient, tmp_path: Path) -> dict[str, Any]:
    """PPO from a tiny Llama with a context of 64 tokens. No worker runs on this machine, and no other task is queued."""
    folder = tmp_path / "models" / "tiny"
    train_tokenizer([*PROMPTS, "a good film", "bad"], 300).save_pretrained(folder)
    LlamaForCausalLM(LlamaConfig(**CONFIG)).save_pretrained(folder)
    made = client.post("/v1/datasets", files={"file": ("pairs.jsonl", jsonl(ROWS))}, data={"kind": "preferences"})
    with session_scope() as session:
        session.execute(delete(DataTask))
    return {
        "model": str(folder),
        "data": {"preferences": made.json()["id"]},
        "stages": ["reward_model", "ppo"],
        "reward_model": {"batch_size": 8},
        "ppo": {"steps": 3, "batch_size": 8, "max_new_tokens": 8},
        "runtime": {"device": "cpu"},
    }


def checked(client: TestClient, settings: Settings, spec: dict[str, Any]) -> dict[str, Any]:
    made = client.post("/v1/jobs/validate", json=spec)
    assert made.status_code == 202, made.text
    drain_all(settings)
    found: dict[str, Any] = client.get(made.headers["Location"]).json()
    return found


def test_validation_counts_steps_and_finds_long_sequences(
    client: TestClient, settings: Settings, spec: dict[str, Any]
) -> None:
    """80 new tokens do not fit into a context of 64. No path of the worker is shown, and none is left."""
    spec["ppo"]["max_new_tokens"] = 80
    found = checked(client, settings, spec)
    assert (found["status"], found["error"], found["blocked"]) == ("succeeded", None, True)
    result = found["result"]
    blocking = {(one["code"], one["pointer"]) for one in result["findings"] if one["severity"] == "blocking"}
    assert blocking == {("context", "#/ppo/max_new_tokens"), ("context", "#/evaluation/max_new_tokens")}
    assert [(stage["stage"], stage["steps"]) for stage in result["stages"]][1] == ("ppo", 3)
    assert result["model"]["context"] == 64 and result["memory"]["available"] is None
    assert {phase["phase"] for phase in result["memory"]["phases"]} >= {"reward_model", "ppo_rollout", "ppo_update"}
    assert "validation-" not in str(result)
    assert client.post("/v1/jobs", json=spec).json()["code"] == "blocked_by_validation"
    assert list((settings.data_dir / "scratch").iterdir()) == []


def test_validation_of_model_that_is_not_here_warns(
    client: TestClient, settings: Settings, spec: dict[str, Any], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """The check downloads nothing, so the hub need not be reachable."""
    monkeypatch.setenv("HF_HOME", str(tmp_path / "hub"))
    found = checked(client, settings, spec | {"model": "nobody/model-that-is-not-here"})
    (finding,) = [one for one in found["result"]["findings"] if one["code"] == "not_checked"]
    assert (finding["severity"], finding["pointer"]) == ("warning", "#/model/path")
    assert "not in the hub's cache" in finding["detail"] and found["blocked"] is False
    assert found["time"]["reason"] == "The check could not count the steps of the run."


def test_validation_of_deleted_dataset_fails_with_the_reason(
    client: TestClient, settings: Settings, spec: dict[str, Any]
) -> None:
    made = client.post("/v1/jobs/validate", json=spec)
    dataset = spec["data"]["preferences"]
    assert client.delete(f"/v1/datasets/{dataset}").status_code in (200, 204)
    drain_all(settings)
    found = client.get(made.headers["Location"]).json()
    assert (found["status"], found["error"]["code"]) == ("failed", "not_found")
    assert dataset in found["error"]["message"]


def test_cancelled_check_is_killed_at_once(
    client: TestClient, settings: Settings, spec: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The user cancels when the check has begun. Its process does not end by itself."""
    made = client.post("/v1/jobs/validate", json=spec).json()
    started: list[child.Child] = []
    begin = child.start

    def start(*arguments: Any, **options: Any) -> child.Child:
        started.append(begin(["sleep", "1000"], stdout=options["stdout"], stderr=options["stderr"]))
        assert client.post(f"/v1/jobs/validations/{made['id']}/cancel").json()["status"] == "cancelled"
        return started[0]

    monkeypatch.setattr("worker.tasks.command.child.start", start)
    drain_all(settings)
    assert started[0].poll() == -signal.SIGKILL
    found = client.get(f"/v1/jobs/validations/{made['id']}").json()
    assert (found["status"], found["error"], found["result"]) == ("cancelled", None, None)


def test_validation_that_exceeds_its_time_fails(
    client: TestClient, settings: Settings, spec: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PROXIMAL_VALIDATION_SECONDS", "0.01")
    get_settings.cache_clear()
    found = checked(client, get_settings(), spec)
    assert (found["status"], found["error"]["code"]) == ("failed", "timed_out")
    assert "0.01 s (PROXIMAL_VALIDATION_SECONDS)" in found["error"]["message"]
    monkeypatch.undo()
