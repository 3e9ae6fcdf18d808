"""Damaged checkpoints and rows over REST: refused with the reason, marked, and named."""

import hashlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from fastapi.testclient import TestClient
from sqlalchemy import select
from sqlalchemy.orm import Session

from core.blobs import LocalBlobs, blob_store
from core.datasets import number_files, reports, row_store, rows, u64
from core.jobs.checkpoints.checkpoints import CheckpointFile, record_checkpoint
from core.jobs.lifecycle import attempts
from core.models import ApiKey, Checkpoint, DatasetReport, DatasetVersion, Job
from core.models.jobs import JobStatus
from core.settings import Settings
from data.schema import DatasetKind
from tests.api.problem_checks import problem
from tests.core.factories import make_dataset, make_job, make_version, running
from trainer.events import CheckpointSaved

FILES = {"config.json": b"{}", "model.safetensors": b"w" * 300_000, "trainer_state/state.json": b"{}"}
FLIPPED = "model.safetensors has the SHA-256 "


@pytest.fixture
def job(session: Session, settings: Settings, owner: tuple[ApiKey, str]) -> Job:
    """A failed job with the results of SFT and of the reward model, two states of PPO and its best checkpoint."""
    made = make_job(session, owner[0].owner_id)
    attempt = running(session, made)
    for stage, step, more in (
        ("sft", 3, {"final": True}),
        ("reward_model", 3, {"final": True}),
        ("ppo", 10, {}),
        ("ppo", 20, {}),
        ("ppo", 20, {"best": True}),
    ):
        save(session, settings, made, attempt, stage, step, **more)
    error = {"code": "diverged", "message": "-"}
    attempts.finish(session, made.id, attempt, JobStatus.FAILED, "-", error=error)
    session.commit()
    return made


def save(
    session: Session, settings: Settings, job: Job, attempt: int, stage: str, step: int, **more: Any
) -> Checkpoint:
    best = more.get("best", False)
    path = f"checkpoints/{stage}" + ("" if more.get("final") else "-best" if best else f"-{step:06d}")
    files: list[CheckpointFile] = []
    for name, content in FILES.items():
        if best and name.startswith("trainer_state"):
            continue
        with blob_store(settings).draft(f"{job.id}/{path}/{name}") as draft:
            draft.write(content)
            draft.keep()
        files.append({"path": name, "bytes": len(content), "sha256": hashlib.sha256(content).hexdigest()})
    event = {"stage": stage, "step": step, "path": path, "final": False} | more
    saved = CheckpointSaved.model_validate(event)
    return record_checkpoint(session, job.id, attempt, saved, files, f"{job.id}/{path}")


def listed(client: TestClient, job: Job) -> dict[str, dict[str, Any]]:
    """The checkpoints by stage, step and kind."""
    rows = client.get(f"/v1/jobs/{job.id}/checkpoints").json()["data"]
    return {f"{row['stage']} {row['step']}{' best' if row['best'] else ''}": row for row in rows}


def flip(settings: Settings, job: Job, folder: str, name: str = "model.safetensors") -> None:
    file = settings.blob_dir / job.id / "checkpoints" / folder / name
    content = bytearray(file.read_bytes())
    content[-64:] = bytes(255 - byte for byte in content[-64:])
    file.write_bytes(content)


@pytest.mark.parametrize("headers", [{}, {"Range": "bytes=0-99"}])
@pytest.mark.parametrize("route", ["download", "files/model.safetensors"])
def test_download_of_damaged_checkpoint_is_refused_and_marks_it(
    client: TestClient, job: Job, settings: Settings, route: str, headers: dict[str, str]
) -> None:
    id_ = listed(client, job)["ppo 20"]["id"]
    flip(settings, job, "ppo-000020")
    for _ in range(2):
        body = problem(client.get(f"/v1/checkpoints/{id_}/{route}", headers=headers), 409, "checkpoint_damaged")
        assert FLIPPED in body["detail"] and body["checkpoint"] == id_
    row = listed(client, job)["ppo 20"]
    assert row["damage"].startswith(FLIPPED) and row["damaged_at"] is not None and row["can_branch"] is False
    assert listed(client, job)["ppo 10"]["damage"] is None
    (event,) = client.get(f"/v1/jobs/{job.id}/events?types=checkpoint_damaged").json()["data"]
    assert (event["step"], event["data"]["checkpoint"]) == (20, id_) and event["data"]["reason"] == row["damage"]


def test_download_of_missing_file_names_it_as_damaged(client: TestClient, job: Job, settings: Settings) -> None:
    id_ = listed(client, job)["ppo 10"]["id"]
    (settings.blob_dir / job.id / "checkpoints" / "ppo-000010" / "config.json").unlink()
    body = problem(client.get(f"/v1/checkpoints/{id_}/download"), 409, "checkpoint_damaged")
    assert "config.json is missing" in body["detail"]


def test_unreadable_disk_is_not_called_damaged(client: TestClient, job: Job, monkeypatch: pytest.MonkeyPatch) -> None:
    id_ = listed(client, job)["ppo 10"]["id"]

    def fail(*_: object) -> None:
        raise PermissionError(13, "Permission denied")

    with monkeypatch.context() as patch:
        patch.setattr(LocalBlobs, "stamp", fail)
        body = problem(client.get(f"/v1/checkpoints/{id_}/download"), 503, "storage_unreadable")
        assert body["detail"].endswith("cannot be read: Permission denied.")
    assert listed(client, job)["ppo 10"]["damage"] is None
    assert client.get(f"/v1/checkpoints/{id_}/download").status_code == 200


SPEC: dict[str, Any] = {"stages": ["ppo"], "rewards": [{"type": "length", "target": 3}]}


@pytest.mark.parametrize("damaged", ["ppo-000020", "sft"])
def test_branch_from_damaged_checkpoint_is_refused(
    client: TestClient, job: Job, settings: Settings, damaged: str
) -> None:
    """A branch needs the state of its step and the results of the stages before it."""
    flip(settings, job, damaged)
    body = problem(
        client.post(f"/v1/jobs/{job.id}/branch", json={"stage": "ppo", "step": 20}), 409, "checkpoint_damaged"
    )
    assert FLIPPED in body["detail"] and body["param"] == "checkpoint"
    assert len(client.get("/v1/jobs").json()["data"]) == 1
    marked = [name for name, row in listed(client, job).items() if row["damage"]]
    assert marked == [{"sft": "sft 3", "ppo-000020": "ppo 20"}[damaged]]


def test_job_with_damaged_checkpoint_as_model_is_refused(
    client: TestClient, job: Job, settings: Settings, session: Session
) -> None:
    prompts = make_dataset(session, job.owner_id, DatasetKind.PROMPTS).id
    session.commit()
    spec = SPEC | {"model": listed(client, job)["sft 3"]["id"], "data": {"prompts": prompts}}
    assert client.post("/v1/jobs", json=spec).status_code == 201
    flip(settings, job, "sft")
    body = problem(client.post("/v1/jobs", json=spec), 409, "checkpoint_damaged")
    assert FLIPPED in body["detail"] and body["param"] == "model.path"


def test_round_with_damaged_reward_model_is_refused(
    client: TestClient, job: Job, version: DatasetVersion, settings: Settings
) -> None:
    scorer = listed(client, job)["reward_model 3"]["id"]
    flip(settings, job, "reward_model")
    asked = {"source": {"type": "dataset", "dataset": version.dataset_id, "rows": "all"}, "reward_model": scorer}
    body = problem(client.post("/v1/annotation/rounds", json=asked), 409, "checkpoint_damaged")
    assert body["param"] == "reward_model" and body["checkpoint"] == scorer
    assert listed(client, job)["reward_model 3"]["damage"].startswith(FLIPPED)


def test_branch_from_step_with_damaged_best_goes_without_it(client: TestClient, job: Job, settings: Settings) -> None:
    """The best checkpoint is not needed to continue."""
    best = listed(client, job)["ppo 20 best"]
    flip(settings, job, "ppo-best")
    problem(client.get(f"/v1/checkpoints/{best['id']}/download"), 409, "checkpoint_damaged")
    made = client.post(f"/v1/jobs/{job.id}/branch", json={"stage": "ppo", "step": 20})
    assert made.status_code == 201


def test_list_says_which_checkpoints_a_branch_can_start_from(client: TestClient, job: Job) -> None:
    """A best checkpoint may hold a model without the state of its run."""
    found = {name: row["can_branch"] for name, row in listed(client, job).items()}
    assert found == {"sft 3": True, "reward_model 3": True, "ppo 10": True, "ppo 20": True, "ppo 20 best": False}


@pytest.fixture
def version(session: Session, owner: tuple[ApiKey, str]) -> DatasetVersion:
    found = make_version(session, owner[0].owner_id)
    session.commit()
    return found


def rows_file(settings: Settings, version: DatasetVersion) -> Path:
    assert version.content is not None
    return settings.blob_dir / version.content.blob_key


@pytest.mark.parametrize("route", ["rows", "export?format=rows"])
def test_damaged_rows_are_refused_and_marked(
    client: TestClient, version: DatasetVersion, settings: Settings, route: str
) -> None:
    file = rows_file(settings, version)
    good = file.read_bytes()
    file.write_bytes(good[:20] + bytes([good[20] ^ 1]) + good[21:])
    body = problem(client.get(f"/v1/datasets/{version.dataset_id}/{route}"), 409, "dataset_damaged")
    assert "rows.jsonl has the SHA-256 " in body["detail"] and "Import the same file again" in body["detail"]
    shown = client.get(f"/v1/datasets/{version.dataset_id}").json()
    assert shown["damage"].startswith("has the SHA-256 ")
    spec = {"model": "gpt2", "stages": ["reward_model"], "data": {"preferences": version.dataset_id}}
    problem(client.post("/v1/jobs", json=spec), 409, "dataset_damaged")


def test_damaged_rows_are_healed_by_the_same_rows(
    client: TestClient, version: DatasetVersion, settings: Settings, session: Session, owner: tuple[ApiKey, str]
) -> None:
    """Both datasets hold one blob: both are damaged, and both are good again."""
    other = make_version(session, owner[0].owner_id)
    session.commit()
    assert other.sha256 == version.sha256
    file = rows_file(settings, version)
    good = file.read_bytes()
    file.write_bytes(good[:-5])
    for one in (version, other):
        problem(client.get(f"/v1/datasets/{one.dataset_id}/rows"), 409, "dataset_damaged")
    make_version(session, owner[0].owner_id)
    session.commit()
    assert file.read_bytes() == good
    for one in (version, other):
        assert client.get(f"/v1/datasets/{one.dataset_id}/rows").status_code == 200
        assert client.get(f"/v1/datasets/{one.dataset_id}").json()["damage"] is None


def flip_byte(file: Path) -> None:
    content = file.read_bytes()
    file.write_bytes(bytes([content[0] ^ 1]) + content[1:])


DAMAGES = [Path.unlink, flip_byte, lambda file: file.write_bytes(b""), lambda file: file.write_bytes(bytes(24))]
SPACED = b"\n\n".join(b'{"prompt": "p%d", "chosen": "a", "rejected": "b"}' % number for number in range(3))


@pytest.fixture
def spaced(session: Session, owner: tuple[ApiKey, str]) -> DatasetVersion:
    """A version whose rows are not the lines of their source."""
    made = make_version(session, owner[0].owner_id, content=SPACED)
    session.commit()
    return made


@pytest.mark.parametrize("old", [False, True])
@pytest.mark.parametrize("damage", DAMAGES)
def test_damaged_offsets_give_the_right_rows(  # fixtures
    client: TestClient,
    spaced: DatasetVersion,
    settings: Settings,
    session: Session,
    damage: Callable[[Path], object],
    old: bool,
) -> None:
    """An old content has no hash of its offsets."""
    assert spaced.content is not None
    if old:
        spaced.content.number_files = None
        session.commit()
    route = f"/v1/datasets/{spaced.dataset_id}/rows?after=1"
    good = client.get(route).json()["data"]
    assert spaced.sha256 is not None and [row["line"] for row in good] == [3, 5]
    damage(settings.blob_dir / row_store.index_key(spaced.sha256))
    assert client.get(route).json()["data"] == good
    assert len(client.get(f"/v1/datasets/{spaced.dataset_id}/export?format=rows").text.splitlines()) == 3


@pytest.mark.parametrize("damage", DAMAGES)
def test_damaged_line_numbers_are_refused(
    client: TestClient, spaced: DatasetVersion, settings: Settings, damage: Callable[[Path], object]
) -> None:
    damage(settings.blob_dir / rows.lines_key(spaced.id))
    body = problem(client.get(f"/v1/datasets/{spaced.dataset_id}/rows"), 409, "dataset_damaged")
    assert "lines.u64 is damaged: it " in body["detail"] and "import the data as a new version" in body["detail"]


@pytest.mark.parametrize("damage", DAMAGES)
def test_damaged_rows_of_a_finding_are_refused(
    client: TestClient, spaced: DatasetVersion, settings: Settings, session: Session, damage: Callable[[Path], object]
) -> None:
    report = session.scalars(select(DatasetReport).filter_by(version_id=spaced.id)).one()
    source, key = settings.data_dir / "rows", reports.rows_key(report.id, "empty")
    source.write_bytes(u64.packed([1, 3]))
    report.result, report.number_files = (
        {"findings": []},
        {"empty": number_files.put(blob_store(settings), key, source)},
    )
    session.commit()
    route = f"/v1/datasets/{spaced.dataset_id}/rows?finding=empty"
    assert [row["line"] for row in client.get(route).json()["data"]] == [1, 5]
    damage(settings.blob_dir / key)
    problem(client.get(route), 409, "dataset_damaged")
