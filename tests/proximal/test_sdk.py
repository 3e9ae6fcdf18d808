"""The SDK against a real platform."""

import json
import os
import shutil
import signal
from pathlib import Path

import pytest

from data.schema import DatasetKind
from proximal.errors import ApiError, ClientError, Unreachable
from proximal.sdk import Client
from proximal.sdk.spec_files import read_spec, with_uploads
from tests.core.factories import ROWS, jsonl
from tests.proximal.conftest import Up, free_port, is_ready
from tests.proximal.test_local import parts
from tests.waiting import eventually
from tests.worker.conftest import meanwhile
from trainer.spec import DATASETS

PAIR = {"prompt": "p", "chosen": "good", "rejected": "bad"}


@pytest.fixture
def pairs(tmp_path: Path) -> Path:
    file = tmp_path / "pairs.jsonl"
    file.write_text("".join(json.dumps({**PAIR, "prompt": f"p{n}"}) + "\n" for n in range(3)))
    return file


def spec(dataset_id: str) -> dict[str, object]:
    return {"model": "some/model", "data": {"preferences": dataset_id}, "ppo": {}}


def test_client_reads_certificates_for_https_only(monkeypatch: pytest.MonkeyPatch) -> None:
    def read(**options: str) -> None:
        raise PermissionError("the certificates were read")

    monkeypatch.setattr("ssl.create_default_context", read)
    Client("http://localhost:8000", "prx_x").close()
    with pytest.raises(PermissionError):
        Client("https://localhost:8000", "prx_x")


def test_sdk_dataset_download_equals_the_upload(client: Client, pairs: Path) -> None:
    dataset = client.upload_dataset(pairs, "preferences", "mine")
    assert (dataset["name"], dataset["rows"]) == ("mine", 3)
    assert client.get_dataset(dataset["id"])["sha256"] == dataset["sha256"]
    assert [row["row"]["prompt"] for row in client.list_dataset_rows(dataset["id"], after=1)] == ["p1", "p2"]
    client.delete_dataset(dataset["id"])
    assert dataset["id"] not in {found["id"] for found in client.list_datasets(kind="preferences")}


def test_sdk_takes_the_path_of_a_file_as_text(client: Client, pairs: Path) -> None:
    target = str(pairs.with_name("rows.jsonl"))
    dataset = client.upload_dataset(str(pairs), "preferences")
    assert client.upload_file(str(pairs))["bytes"] == pairs.stat().st_size
    client.export_dataset(dataset["id"], target, "rows")
    assert Path(target).stat().st_size > 0
    client.delete_dataset(dataset["id"])


def test_a_bad_row_is_named_with_its_line(client: Client, tmp_path: Path) -> None:
    file = tmp_path / "bad.jsonl"
    file.write_text(json.dumps(PAIR) + "\n" + '{"prompt": "p", "chosen": \n')
    with pytest.raises(ApiError, match=r"line 2, column \d+: ") as caught:
        client.upload_dataset(file, "preferences")
    assert (caught.value.status, caught.value.code) == (422, "invalid_dataset")


def test_sdk_misspelt_field_error_names_the_nearest(client: Client, pairs: Path) -> None:
    dataset = client.upload_dataset(pairs, "preferences")
    with pytest.raises(ApiError, match="coef"):
        client.create_job({**spec(dataset["id"]), "ppo": {"kl": {"coeff": 0.1}}})


def test_a_job_is_submitted_listed_watched_and_cancelled(client: Client, pairs: Path) -> None:
    job = client.create_job(spec(client.upload_dataset(pairs, "preferences")["id"]))
    assert job["queue_reason"] is not None
    assert "No worker is online" in job["queue_reason"]
    assert job["id"] in {found["id"] for found in client.list_jobs(status=["queued"])}
    assert client.cancel_job(job["id"])["status"] == "cancelled"
    streamed = list(client.stream_job_events(job["id"]))
    assert [event["data"]["to"] for event in streamed] == ["queued", "cancelled"]
    assert streamed == list(client.list_job_events(job["id"]))
    assert list(client.stream_job_events(job["id"], after=streamed[-1]["seq"])) == []


def test_sdk_stream_resumes_after_an_outage_with_a_warning(
    up: Up, client: Client, pairs: Path, caplog: pytest.LogCaptureFixture
) -> None:
    job_id = client.create_job(spec(client.upload_dataset(pairs, "preferences")["id"]))["id"]
    stream = client.stream_job_events(job_id)
    assert next(stream)["data"]["to"] == "queued"

    def cancel() -> None:
        eventually(lambda: "No answer from the platform" in caplog.text)
        eventually(lambda: is_ready(up))
        with up.client() as other:
            other.cancel_job(job_id)

    os.kill(parts(up)["api"], signal.SIGKILL)
    with meanwhile(cancel):
        assert [event["data"]["to"] for event in stream] == ["cancelled"]
    assert caplog.text.count("Retrying until the platform responds") == 1


def test_a_stream_from_nowhere_is_refused_at_once() -> None:
    with Client(f"http://127.0.0.1:{free_port()}", "prx_any") as client, pytest.raises(Unreachable):
        next(client.stream_job_events("job_any"))


def test_lists_are_followed_over_their_pages(client: Client, pairs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("proximal.sdk.connection._PAGE", 2)
    made = [client.upload_dataset(pairs, "preferences")["id"] for _ in range(5)]
    assert [dataset["id"] for dataset in client.list_datasets()][:5] == made[::-1]


def test_sdk_spec_file_uploads_its_data(client: Client, pairs: Path) -> None:
    file = pairs.with_name("job.toml")
    file.write_text('model = "some/model"\n[data]\npreferences = "pairs.jsonl"\n[ppo]\n')
    resolved = with_uploads(client, read_spec(file), file.parent)
    assert client.get_dataset(resolved["data"]["preferences"])["rows"] == 3
    assert with_uploads(client, resolved, file.parent) == resolved


def test_sdk_every_data_field_uploads_its_file(client: Client, tmp_path: Path) -> None:
    data = {name: f"{name}.jsonl" for name in DATASETS}
    for name, kind in DATASETS.items():
        (tmp_path / data[name]).write_bytes(jsonl(ROWS[DatasetKind(kind)]))
    resolved = with_uploads(client, {"data": {**data, "eval_fraction": 0.2}}, tmp_path)["data"]
    assert {name: client.get_dataset(resolved[name])["kind"] for name in DATASETS} == DATASETS
    assert resolved["eval_fraction"] == 0.2


def test_a_model_folder_beside_the_spec_is_named_whole(client: Client, up: Up, pairs: Path) -> None:
    folder = up.folder.parent / "models" / "beside"  # where `proximal up` lets jobs read
    (folder / "model").mkdir(parents=True)
    shutil.copy(pairs, folder / "pairs.jsonl")
    (folder / "words.txt").write_text("good\t1\n")
    rewards = [{"type": "lexicon", "path": "words.txt"}, {"type": "model", "path": "owner/elsewhere"}]
    raw = {"model": "model", "data": {"preferences": "pairs.jsonl"}, "rewards": rewards}
    resolved = with_uploads(client, raw, folder)
    assert resolved["model"]["path"] == str((folder / "model").resolve())
    assert [reward["path"] for reward in resolved["rewards"]] == [
        str((folder / "words.txt").resolve()),
        "owner/elsewhere",
    ]
    assert client.create_job(resolved)["spec"]["model"]["path"] == resolved["model"]["path"]


def test_a_data_file_that_is_not_there_is_named(client: Client, tmp_path: Path) -> None:
    with pytest.raises(ClientError, match=r"There is no file .*gone\.jsonl"):
        with_uploads(client, spec("gone.jsonl"), tmp_path)


def test_sdk_returns_platform_status_and_references(client: Client) -> None:
    assert client.is_alive() == {"status": "ok", "version": "0.1.0"}
    assert client.is_ready()["checks"] == {"database": "ok", "migrations": "ok", "redis": "ok", "blobs": "ok"}
    assert client.who_am_i()["key"]["name"] == "local"
    assert client.list_workers() == []
    assert "ppo" in client.get_job_schema()["properties"]
    presets = {preset["name"]: preset for preset in client.list_presets()}
    assert presets["verifiable_from_scratch"]["spec"]["ppo"]["kl"] == {"coef": 0.01}
    assert {"objective/kl", "win_rate"} <= {metric["name"] for metric in client.list_metric_meanings()}


def test_sdk_wrong_key_and_wrong_address_have_different_errors(up: Up) -> None:
    with Client(up.url, "prx_wrong") as client, pytest.raises(ApiError, match="unknown or revoked"):
        client.who_am_i()
    with Client(f"http://127.0.0.1:{free_port()}", "prx_any") as client, pytest.raises(Unreachable):
        client.is_alive()
