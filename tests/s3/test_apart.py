"""The API, the data worker and two workers share no folder: PostgreSQL, Redis and the bucket are enough."""

import hashlib
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from typer.testing import CliRunner

from core import child
from core.blobs.s3 import Bucket, S3Blobs
from core.settings import Settings
from proximal.cli import app
from proximal.errors import ClientError
from proximal.sdk import Client
from proximal.sdk.spec_files import read_spec
from tests.s3.servers import free_ports
from tests.waiting import eventually

pytestmark = [pytest.mark.slow, pytest.mark.parametrize("server", ["moto"], indirect=True)]
TINY = Path(__file__).parents[2] / "examples" / "tiny.toml"
QUICK = {"LEASE": "3", "HEARTBEAT": "0.2", "SWEEP": "0.2"}
UPLOAD_PART = 256 * 1024
"""Bytes of a part of an upload."""


@dataclass
class Apart:
    """Processes of one platform, each with a data folder that no other process can read."""

    folder: Path
    port: int
    key: str

    def client(self, port: int | None = None) -> Client:
        """A client of the API process on a port; without one, of the first."""
        return Client(f"http://127.0.0.1:{port or self.port}", self.key)

    def start(self, name: str, *command: str) -> child.Child:
        """Start a process with a data folder of its own."""
        own = self.folder / name
        own.mkdir()
        with (self.folder / f"{name}.log").open("wb") as log:
            env = os.environ | {"PROXIMAL_DATA_DIR": str(own), "PROXIMAL_WORKER_NAME": name}
            return child.start([sys.executable, "-m", *command], stdout=log, env=env, cwd=own)

    def files(self, name: str) -> list[Path]:
        return [path for path in (self.folder / name).rglob("*") if path.is_file()]


@pytest.fixture
def apart(
    settings: Settings,
    bucket: Bucket,
    use_bucket: Callable[[Bucket], Settings],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> Iterator[Apart]:
    use_bucket(bucket)
    for name, seconds in QUICK.items():
        monkeypatch.setenv(f"PROXIMAL_{name}_SECONDS", seconds)
    monkeypatch.setenv("PROXIMAL_UPLOAD_PART_BYTES", str(UPLOAD_PART))
    monkeypatch.setenv("PYTHONPATH", str(Path(__file__).parents[2]))
    made = subprocess.run(
        [sys.executable, "-m", "core", "keys", "create", "tester"], check=True, capture_output=True, text=True
    )
    platform = Apart(tmp_path, free_ports(1)[0], made.stdout.strip())
    started = [
        platform.start("api", "api", "--port", str(platform.port)),
        platform.start("data", "worker", "background"),
    ]
    eventually(lambda: is_ready(platform))
    yield platform
    for process in started:
        process.stop(grace=60)


def is_ready(platform: Apart, port: int | None = None) -> bool:
    try:
        with platform.client(port) as client:
            return client.is_ready()["status"] == "ok"
    except ClientError:
        return False


def submit(client: Client, data: dict[str, str]) -> str:
    return str(client.create_job(read_spec(TINY) | {"data": data})["id"])


def upload(client: Client) -> dict[str, str]:
    """Import both datasets of the tiny job by uploads in parts, which the data worker reads."""
    data = {}
    for name in ("sft", "preferences"):
        upload = client.upload_file(TINY.parent / "tiny" / f"{name}.jsonl")
        dataset = client.import_upload(upload["id"], kind=name)
        eventually(lambda dataset=dataset: client.get_dataset(dataset["id"])["status"] != "importing")
        assert client.get_dataset(dataset["id"])["status"] == "ready"
        data[name] = dataset["id"]
    return data


def weights(client: Client, job: str) -> dict[str, str]:
    """The SHA-256 of the files of each stage's result."""
    return {
        f"{one['stage']}/{file['path']}": file["sha256"]
        for one in client.list_job_checkpoints(job, final=True)
        for file in one["files"]
        if file["path"].endswith(".safetensors")
    }


def test_job_resumes_on_another_machine_bit_for_bit(apart: Apart, tmp_path: Path, bucket: Bucket) -> None:
    with apart.client() as client:
        data = upload(client)
        first, plain = submit(client, data), submit(client, data)
        worker = apart.start("worker-1", "worker")
        eventually(lambda: any(one["stage"] == "ppo" for one in client.list_job_checkpoints(first)))
        worker.send(signal.SIGKILL)
        worker.wait()
        shutil.rmtree(apart.folder / "worker-1")
        assert client.get_job(first)["status"] not in ("succeeded", "failed")
        other = apart.start("worker-2", "worker")
        for job in (first, plain):
            eventually(lambda job=job: client.get_job(job)["finished_at"])
            assert client.get_job(job)["status"] == "succeeded", client.get_job(job)["error"]
        other.stop(grace=60)
        starts = [event["data"] for event in client.list_job_events(first) if event["type"] == "run_started"]
        assert len(starts) == 2 and starts[1]["resumed_stage"] == "ppo"
        assert weights(client, first) == weights(client, plain) != {}

        for job in (first, plain):
            options = ["--url", client.url, "--key", apart.key, "jobs", "download", job, "--to", str(tmp_path / job)]
            done = CliRunner().invoke(app, options)
            assert done.exit_code == 0, done.output
        stored = next(one for one in client.list_job_checkpoints(first, final=True) if one["stage"] == "ppo")
        for file in stored["files"]:
            found = hashlib.sha256((tmp_path / first / file["path"]).read_bytes()).hexdigest()
            assert found == file["sha256"]
        for job in (first, plain):
            client.delete_job(job)
    assert not any(path.suffix == ".safetensors" for name in ("api", "data") for path in apart.files(name))


def test_upload_goes_on_at_another_api_process(apart: Apart, tmp_path: Path, bucket: Bucket) -> None:
    file = tmp_path / "many.jsonl"
    line = '{{"prompt": "p {0}", "chosen": "yes {0}", "rejected": "no {0}"}}\n'
    file.write_text("".join(line.format(number) for number in range(25_000)))
    data = file.read_bytes()
    other_port = free_ports(1)[0]
    dying = apart.start("api-2", "api", "--port", str(other_port))
    eventually(lambda: is_ready(apart, other_port))

    def half() -> Iterator[bytes]:
        """The third part. The process that receives it is killed in its middle."""
        yield data[2 * UPLOAD_PART : 2 * UPLOAD_PART + UPLOAD_PART // 2]
        dying.send(signal.SIGKILL)
        dying.wait()
        yield data[2 * UPLOAD_PART + UPLOAD_PART // 2 : 3 * UPLOAD_PART]

    with apart.client(other_port) as client, apart.client() as other:
        upload = client.create_upload(file.name, len(data))
        client.put_upload_part(upload["id"], 2, data[UPLOAD_PART : 2 * UPLOAD_PART])
        other.put_upload_part(upload["id"], 1, data[:UPLOAD_PART])
        with pytest.raises(ClientError):
            client.put_upload_part(upload["id"], 3, half(), UPLOAD_PART)
        assert other.get_upload(upload["id"])["received"] == [1, 2]
        sent: list[int] = []
        done = other.upload_file(file, lambda bytes, total: sent.append(bytes))
        assert (done["id"], done["sha256"]) == (upload["id"], hashlib.sha256(data).hexdigest())
        assert sent[0] == 2 * UPLOAD_PART and sent[-1] == len(data)
        dataset = other.wait_for_dataset(other.import_upload(done["id"], kind="preferences")["id"])
        assert (dataset["status"], dataset["rows"]) == ("ready", 25_000)
    found = server_keys(bucket)
    assert not any(key.startswith(".incoming/") for key in found)
    assert [key for key in found if key.startswith("uploads/")] == [
        f"uploads/{upload['id']}/{number:06d}" for number in range(1, -(-len(data) // UPLOAD_PART) + 1)
    ]


def server_keys(bucket: Bucket) -> list[str]:
    blobs = S3Blobs(bucket, Path())
    return [key for folder in (".incoming", "uploads") for key in blobs.list(folder)]
