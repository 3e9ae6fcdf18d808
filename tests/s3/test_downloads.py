"""Downloads of checkpoint files from a bucket: the API verifies and redirects, and the key stays with the platform."""

import base64
import hashlib
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

import anyio
import httpx
import pytest
from fastapi.testclient import TestClient
from sqlalchemy.orm import Session

from core.access import keys
from core.blobs import blob_store
from core.blobs.s3 import Bucket, S3Blobs
from core.models import ApiKey, Checkpoint
from core.settings import Settings
from proximal.errors import ClientError, DamagedDownload, Unreachable
from proximal.sdk import AsyncClient, Client
from tests.api.serving import application, serving
from tests.core.factories import make_job
from worker.jobs import checkpoints

pytestmark = pytest.mark.parametrize("server", ["moto"], indirect=True)
WEIGHTS = b"weights" * 1000
PREFIX = "jobs/x/checkpoints/1-1/ppo"


@pytest.fixture
def owner(session: Session) -> tuple[ApiKey, str]:
    made = keys.create_key(session, "tester")
    session.commit()
    return made


@pytest.fixture
def platform_key(owner: tuple[ApiKey, str]) -> str:
    return owner[1]


@pytest.fixture
def used(settings: Settings, bucket: Bucket, use_bucket: Callable[[Bucket], Settings]) -> Settings:
    return use_bucket(bucket)


@pytest.fixture
def checkpoint(used: Settings, session: Session, owner: tuple[ApiKey, str], tmp_path: Path) -> Checkpoint:
    """A stored checkpoint of the key's owner."""
    folder = tmp_path / "saved"
    folder.mkdir()
    (folder / "model.safetensors").write_bytes(WEIGHTS)
    listed = {"files": [{"path": "model.safetensors", "sha256": hashlib.sha256(WEIGHTS).hexdigest()}]}
    (folder / "manifest.json").write_text(str(listed).replace("'", '"'))
    files = checkpoints.upload(blob_store(used), folder, PREFIX)
    job = make_job(session, owner[0].owner_id)
    made = Checkpoint(
        id="ckpt_1", job_id=job.id, attempt=1, stage="ppo", step=1, final=True, best=False, path="checkpoints/ppo",
        metrics={}, files=files, bytes=sum(file["bytes"] for file in files), blob_prefix=PREFIX,
    )  # fmt: skip
    session.add(made)
    session.commit()
    return made


@pytest.fixture
def http(used: Settings, platform_key: str) -> Iterator[TestClient]:
    headers = {"Authorization": f"Bearer {platform_key}"}
    with TestClient(application(used), headers=headers, follow_redirects=False) as client:
        yield client


FILE = "/v1/checkpoints/ckpt_1/files/model.safetensors"


def test_file_is_redirected_with_its_sum(http: TestClient, checkpoint: Checkpoint, bucket: Bucket) -> None:
    response = http.get(FILE)
    assert response.status_code == 307 and response.headers["Location"].startswith(bucket.endpoint)
    expected = base64.b64encode(hashlib.sha256(WEIGHTS).digest()).decode()
    assert response.headers["Repr-Digest"] == f"sha-256=:{expected}:"
    assert response.headers["Cache-Control"] == "no-store"
    fetched = httpx.get(response.headers["Location"])
    assert fetched.content == WEIGHTS and fetched.headers["Content-Disposition"] == "attachment"
    assert "stamp" not in http.get(f"/v1/jobs/{checkpoint.job_id}/checkpoints").text


def test_known_file_is_redirected_without_a_read(
    http: TestClient, checkpoint: Checkpoint, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(S3Blobs, "open", None)
    assert http.get(FILE).status_code == 307


@pytest.mark.parametrize("same_size", [True, False])
def test_replaced_object_is_refused_and_recorded(
    http: TestClient, checkpoint: Checkpoint, used: Settings, session: Session, tmp_path: Path, same_size: bool
) -> None:
    (tmp_path / "other").write_bytes(WEIGHTS.upper() if same_size else b"short")
    blob_store(used).put_file(f"{PREFIX}/model.safetensors", tmp_path / "other")
    response = http.get(FILE)
    assert (response.status_code, response.json()["code"]) == (409, "checkpoint_damaged")
    session.refresh(checkpoint)
    assert checkpoint.damage is not None and "model.safetensors has" in checkpoint.damage
    assert http.get("/v1/checkpoints/ckpt_1/download").status_code == 409


def test_old_checkpoint_without_stamps_is_read_once(http: TestClient, checkpoint: Checkpoint, session: Session) -> None:
    checkpoint.files = [{name: file[name] for name in ("path", "bytes", "sha256")} for file in checkpoint.files]
    session.commit()
    assert http.get(FILE).status_code == 307


def test_zip_is_sent_by_the_api(http: TestClient, checkpoint: Checkpoint) -> None:
    response = http.get("/v1/checkpoints/ckpt_1/download")
    assert response.status_code == 200 and WEIGHTS in response.content


def test_redirects_that_are_off_send_the_file(
    settings: Settings, checkpoint: Checkpoint, used: Settings, platform_key: str
) -> None:
    off = used.model_copy(update={"blob_redirects": False})
    with TestClient(application(off), headers={"Authorization": f"Bearer {platform_key}"}) as client:
        response = client.get(FILE)
    assert response.status_code == 200 and response.content == WEIGHTS and response.history == []


def test_store_that_is_away_is_503(checkpoint: Checkpoint, used: Settings, platform_key: str) -> None:
    away = used.model_copy(update={"blob_endpoint": "http://127.0.0.1:9"})
    with TestClient(application(away), headers={"Authorization": f"Bearer {platform_key}"}) as client:
        response = client.get(FILE)
    assert (response.status_code, response.json()["code"]) == (503, "store_failed")
    assert "PROXIMAL_BLOB_ENDPOINT" in response.json()["detail"]


def test_sdk_follows_and_verifies(checkpoint: Checkpoint, used: Settings, platform_key: str, tmp_path: Path) -> None:
    with serving(application(used)) as port:
        url = f"http://127.0.0.1:{port}"
        with Client(url, platform_key) as client:
            got = client.download_checkpoint_file("ckpt_1", "model.safetensors", tmp_path / "one")
        anyio.run(_download_async, url, platform_key, tmp_path / "two")
    assert got.read_bytes() == (tmp_path / "two").read_bytes() == WEIGHTS


async def _download_async(url: str, key: str, target: Path) -> None:
    async with AsyncClient(url, key) as client:
        await client.download_checkpoint_file("ckpt_1", "model.safetensors", target)


class Elsewhere:
    """Another host that records the headers of its requests."""

    def __init__(self, status: int, body: bytes) -> None:
        self.status, self.body = status, body
        self.headers: list[dict[str, str]] = []


@pytest.fixture
def elsewhere(monkeypatch: pytest.MonkeyPatch) -> Iterator[Elsewhere]:
    """The host to which the API redirects in place of the bucket."""
    found = Elsewhere(200, WEIGHTS)

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            found.headers.append(dict(self.headers.items()))
            self.send_response(found.status)
            self.send_header("Content-Length", str(len(WEIGHTS)))
            self.end_headers()
            self.wfile.write(found.body)

        def log_message(self, format: str, *args: object) -> None:
            pass

    host = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = Thread(target=host.serve_forever)
    thread.start()
    url = f"http://127.0.0.1:{host.server_address[1]}/file?X-Amz-Signature=secret"
    monkeypatch.setattr(S3Blobs, "download_url", lambda blobs, key: url)
    yield found
    host.shutdown()
    thread.join()
    host.server_close()


def test_sdk_sends_no_key_to_the_other_host(
    checkpoint: Checkpoint, used: Settings, platform_key: str, tmp_path: Path, elsewhere: Elsewhere
) -> None:
    with serving(application(used)) as port:
        url = f"http://127.0.0.1:{port}"
        with Client(url, platform_key) as client:
            client.download_checkpoint_file("ckpt_1", "model.safetensors", tmp_path / "one")
        anyio.run(_download_async, url, platform_key, tmp_path / "two")
    assert len(elsewhere.headers) == 2
    for headers in elsewhere.headers:
        assert {"authorization", "cookie"}.isdisjoint(name.lower() for name in headers)
        assert platform_key not in str(headers)


@pytest.mark.parametrize(
    ("status", "body", "error"),
    [
        (200, WEIGHTS.upper(), DamagedDownload),
        (200, WEIGHTS[:100], Unreachable),
        (403, b"<Error/>", Unreachable),
        (503, b"", Unreachable),
    ],
)
def test_sdk_refuses_what_the_other_host_should_not_send(
    checkpoint: Checkpoint,
    used: Settings,
    platform_key: str,
    tmp_path: Path,
    elsewhere: Elsewhere,
    status: int,
    body: bytes,
    error: type[ClientError],
) -> None:
    elsewhere.status, elsewhere.body = status, body
    with (
        serving(application(used)) as port,
        Client(f"http://127.0.0.1:{port}", platform_key) as client,
        pytest.raises(error) as raised,
    ):
        client.download_checkpoint_file("ckpt_1", "model.safetensors", tmp_path / "one")
    assert not (tmp_path / "one").exists() and "X-Amz" not in str(raised.value)
