"""A platform with two keys on one machine: the victim has a private model, the attacker can only submit jobs."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from fastapi.testclient import TestClient
from safetensors.torch import load_file
from sqlalchemy.orm import Session
from torch import Tensor

from api.app import create_app
from core.access import keys
from core.blobs import LocalBlobs, blob_store
from core.jobs.checkpoints.checkpoints import CheckpointFile, checkpoint_prefix, record_checkpoint
from core.models import ApiKey
from core.settings import Settings, get_settings
from data.schema import DatasetKind
from tests.core.factories import make_dataset, make_job, running
from trainer.events import CheckpointSaved
from trainer.models import new_policy
from trainer.spec import ModelSpec
from trainer.text.codec import train_tokenizer
from worker.health import WorkerHeartbeat
from worker.jobs.claim import run_queued_jobs
from worker.jobs.context import WorkerContext
from worker.jobs.launch.local import LocalLauncher
from worker.process import StopRequest

SIZES = {
    "model_type": "llama", "hidden_size": 8, "intermediate_size": 16, "num_hidden_layers": 1,
    "num_attention_heads": 2, "num_key_value_heads": 1, "max_position_embeddings": 64,
}  # fmt: skip
SFT = {"epochs": 1, "batch_size": 3, "learning_rate": 1e-12}
"""One step that moves no weight by a visible amount: the result is the model that was read."""


def save_model(folder: Path, seed: int = 0) -> Path:
    """A small language model with its tokenizer, as transformers saves it."""
    tokenizer = train_tokenizer(["what a good film, what a bad film"] * 20, 280)
    spec = ModelSpec.model_validate({"config": SIZES, "tokenizer": {"vocab_size": 280}})
    new_policy(spec, tokenizer, seed).save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


def weights_of(folder: Path) -> dict[str, Tensor]:
    return load_file(folder / "model.safetensors")


def same(one: dict[str, Tensor], other: dict[str, Tensor]) -> bool:
    """Whether two sets of weights agree to a step of 1e-12."""
    return one.keys() == other.keys() and all(one[name].allclose(other[name], atol=1e-9) for name in one)


@dataclass(frozen=True)
class Attacker:
    """The second key, and what it does over REST."""

    client: TestClient
    dataset: str
    settings: Settings

    def body(self, model: str) -> dict[str, object]:
        stages = {"stages": ["sft"], "data": {"sft": self.dataset, "eval_fraction": 0.34}}
        return {"model": model, "sft": SFT, "runtime": {"device": "cpu"}, **stages}

    def work(self) -> None:
        """Run the queued jobs with the real trainer."""
        station = WorkerContext(get_settings(), blob_store(self.settings), LocalLauncher(), StopRequest())
        with WorkerHeartbeat(self.settings) as presence:
            run_queued_jobs(station, presence)

    def loot(self, job_id: str, folder: Path) -> dict[str, Tensor] | None:
        """The weights of the job's result, downloaded over REST; None where there is none."""
        found = self.client.get(f"/v1/jobs/{job_id}/checkpoints").json()["data"]
        if not found:
            return None
        answer = self.client.get(f"/v1/checkpoints/{found[0]['id']}/files/model.safetensors")
        folder.mkdir()
        (folder / "model.safetensors").write_bytes(answer.raise_for_status().content)
        return weights_of(folder)


@pytest.fixture
def models(tmp_path: Path, settings: Settings, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder that the operator allows."""
    folder = tmp_path / "models"
    folder.mkdir()
    monkeypatch.setenv("PROXIMAL_LOCAL_MODELS", str(folder))
    get_settings.cache_clear()
    return folder


@pytest.fixture
def private(session: Session, settings: Settings, tmp_path: Path) -> Path:
    """The folder of the victim's checkpoint among the platform's blobs."""
    source, blobs = save_model(tmp_path / "made", seed=7), blob_store(settings)
    assert isinstance(blobs, LocalBlobs)
    job = make_job(session, keys.create_key(session, "victim")[0].owner_id)
    running(session, job)
    prefix = checkpoint_prefix(job.id, 1, 0, "checkpoints/sft")
    files: list[CheckpointFile] = []
    for file in sorted(source.iterdir()):
        blobs.put_file(f"{prefix}/{file.name}", file)
        files.append({"path": file.name, "bytes": file.stat().st_size, "sha256": "0" * 64})
    saved = CheckpointSaved(stage="sft", step=1, path="checkpoints/sft", final=True)
    record_checkpoint(session, job.id, 1, saved, files, prefix)
    session.commit()
    return settings.blob_dir / prefix


@pytest.fixture
def key(session: Session) -> tuple[ApiKey, str]:
    made = keys.create_key(session, "attacker")
    session.commit()
    return made


@pytest.fixture
def attacker(models: Path, session: Session, key: tuple[ApiKey, str]) -> Iterator[Attacker]:
    dataset = make_dataset(session, key[0].owner_id, DatasetKind.SFT).id
    session.commit()
    app = create_app()
    app.state.settings = get_settings()
    with TestClient(app, headers={"Authorization": f"Bearer {key[1]}"}) as client:
        yield Attacker(client, dataset, get_settings())


Submit = Callable[[str], str]
