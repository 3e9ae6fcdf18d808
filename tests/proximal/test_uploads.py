"""Large files by SDK and command line, to a real platform: in parts, interrupted, and gone on with."""

import hashlib
import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from unittest.mock import Mock

import pytest

from proximal.errors import ApiError, ClientError, Unreachable
from proximal.sdk import Client, multipart, uploads
from proximal.sdk.types import Upload
from tests.proximal.conftest import Up, is_ready
from tests.proximal.test_local import parts
from tests.waiting import eventually

MIB = 1024 * 1024
SIZE = 40 * MIB
"""Two parts of 16 MiB, and one of 8."""


@pytest.fixture
def large(tmp_path: Path) -> Path:
    """A file of three parts, none of which is like another."""
    file = tmp_path / f"{tmp_path.name}.bin"
    file.write_bytes(b"".join(bytes([n]) * MIB for n in range(SIZE // MIB)))
    return file


@pytest.fixture
def one_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(multipart, "PARALLEL", 1)


class Hangs(Exception):
    """Ends an upload in these tests."""


def interrupt(client: Client, file: Path, after: int) -> None:
    """Send a file until more than so many bytes are on their way."""

    def stop(sent: int, total: int) -> None:
        if sent > after:
            raise Hangs

    with pytest.raises(Hangs):
        client.upload_file(file, stop)


def sha256(file: Path) -> str:
    return hashlib.sha256(file.read_bytes()).hexdigest()


def test_a_large_file_arrives_whole(client: Client, large: Path) -> None:
    told: list[tuple[int, int]] = []
    upload = client.upload_file(large, lambda sent, total: told.append((sent, total)))
    assert (upload["status"], upload["sha256"], upload["parts"]) == ("complete", sha256(large), 3)
    assert told[0] == (0, SIZE) and told[-1] == (SIZE, SIZE) and told == sorted(told)
    client.delete_upload(upload["id"])


def test_sdk_interrupted_upload_resumes(client: Client, large: Path, one_at_a_time: None) -> None:
    interrupt(client, large, after=33 * MIB)
    (begun,) = [upload for upload in client.list_uploads(status="open") if upload["filename"] == large.name]
    assert begun["received"] == [1, 2]
    told: list[int] = []
    upload = client.upload_file(large, lambda sent, total: told.append(sent))
    assert (upload["id"], upload["sha256"]) == (begun["id"], sha256(large))
    assert told[0] == 32 * MIB
    client.delete_upload(upload["id"])


def test_another_file_of_the_same_name_and_size_is_not_mixed_in(
    client: Client, large: Path, one_at_a_time: None
) -> None:
    interrupt(client, large, after=17 * MIB)
    (begun,) = [upload for upload in client.list_uploads(status="open") if upload["filename"] == large.name]
    with large.open("r+b") as file:
        file.seek(5 * MIB)
        file.write(b"changed")
    upload = client.upload_file(large)
    assert upload["id"] != begun["id"] and upload["sha256"] == sha256(large)
    for made in (upload, begun):
        client.delete_upload(made["id"])


def test_sdk_file_that_shrinks_during_upload_is_reported(client: Client, large: Path, one_at_a_time: None) -> None:
    def cut(sent: int, total: int) -> None:
        os.truncate(large, 20 * MIB)

    with pytest.raises(ClientError, match="became shorter"):
        client.upload_file(large, cut)


def test_an_upload_outlives_the_death_of_the_api(
    up: Up, client: Client, large: Path, one_at_a_time: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(multipart, "TRIES", 12)  # the start of an API takes long on a busy machine
    killed: list[int] = []

    def kill(sent: int, total: int) -> None:
        if sent > 17 * MIB and not killed:
            killed.append(parts(up)["api"])
            os.kill(killed[0], signal.SIGKILL)

    upload = client.upload_file(large, kill)
    assert killed and upload["sha256"] == sha256(large)
    eventually(lambda: is_ready(up))
    client.delete_upload(upload["id"])


def test_sdk_complete_is_retried_while_the_platform_is_busy(
    client: Client, large: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(multipart, "_FIRST_PAUSE", 0.01)
    troubles: list[Exception] = [Unreachable("gone"), ApiError(503, {})]
    complete = client.complete_upload

    def busy(upload_id: str, sha256: str | None = None) -> Upload:
        if troubles:
            raise troubles.pop()
        return complete(upload_id, sha256)

    monkeypatch.setattr(client, "complete_upload", busy)
    upload = client.upload_file(large)
    assert (upload["status"], troubles) == ("complete", [])
    client.delete_upload(upload["id"])


def test_a_file_that_has_been_sent_is_not_sent_again(client: Client, large: Path) -> None:
    first = client.upload_file(large)
    told: list[int] = []
    second = client.upload_file(large, lambda sent, total: told.append(sent))
    assert (second["id"], told) == (first["id"], [SIZE])
    client.delete_upload(first["id"])


def pairs(file: Path, rows: int, bad: int | None = None) -> Path:
    lines = [json.dumps({"prompt": f"p{n}", "chosen": "good", "rejected": "bad"}) for n in range(1, rows + 1)]
    if bad is not None:
        lines[bad - 1] = lines[bad - 1].replace("good", "bad")
    file.write_text("\n".join(lines) + "\n")
    return file


def test_a_large_file_becomes_a_dataset(client: Client, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(uploads, "SMALL", 0)
    dataset = client.upload_dataset(pairs(tmp_path / "pairs.jsonl", 50), name="mine")
    assert (dataset["status"], dataset["rows"], dataset["name"], dataset["kind"]) == (
        "ready",
        50,
        "mine",
        "preferences",
    )
    assert [upload for upload in client.list_uploads() if upload["dataset"] == dataset["id"]] == []


def test_sdk_repeated_upload_resumes_the_same_dataset(
    client: Client, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(uploads, "SMALL", 0)
    file = pairs(tmp_path / "again.jsonl", 40)
    begun = client.import_upload(client.upload_file(file)["id"], bad_rows="refuse")
    other = client.upload_dataset(file, name="another")
    assert other["id"] != begun["id"] and other["name"] == "another"
    upload = client.upload_file(file)
    begun = client.import_upload(upload["id"], kind="preferences", bad_rows="refuse")
    again = client.upload_dataset(file, "preferences")
    assert (again["id"], again["status"], again["name"]) == (begun["id"], "ready", "again.jsonl")


def test_sdk_resumed_dataset_matches_encoding_under_any_alias(
    client: Client, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(uploads, "SMALL", 0)
    file = pairs(tmp_path / "encoded.jsonl", 40)
    begun = client.import_upload(client.upload_file(file)["id"], bad_rows="refuse", encoding="latin1")
    assert client.upload_dataset(file, encoding="ISO-8859-1")["id"] == begun["id"]


@pytest.mark.parametrize("meanwhile", ["removed", "in use"])
def test_sdk_dataset_is_ready_if_its_upload_cannot_be_deleted(
    client: Client, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, meanwhile: str
) -> None:
    monkeypatch.setattr(uploads, "SMALL", 0)
    delete = client.delete_upload

    def too_late(upload_id: str) -> None:
        if meanwhile == "in use":
            raise ApiError(409, {"code": "upload_in_use"})
        delete(upload_id)
        delete(upload_id)

    monkeypatch.setattr(client, "delete_upload", too_late)
    assert client.upload_dataset(pairs(tmp_path / f"{meanwhile}.jsonl", 30))["status"] == "ready"


def test_sdk_failed_version_does_not_delete_older_ones(
    client: Client, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = client.upload_dataset(pairs(tmp_path / "old.jsonl", 3))
    failed = {**made, "version": 2, "status": "failed", "error": {"code": "x", "message": "It broke."}}
    with monkeypatch.context() as patched:
        patched.setattr(client, "get_dataset", lambda dataset_id: failed)
        with pytest.raises(ApiError, match="It broke"):
            client.wait_for_dataset(made["id"])
    assert client.get_dataset(made["id"])["status"] == "ready"


def test_a_bad_row_of_a_large_file_is_named_and_nothing_stays(
    client: Client, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(uploads, "SMALL", 0)
    before = {dataset["id"] for dataset in client.list_datasets()}
    with pytest.raises(ApiError, match="Line 7") as caught:
        client.upload_dataset(pairs(tmp_path / "bad.jsonl", 9, bad=7), "preferences")
    assert (caught.value.status, caught.value.code) == (422, "invalid_dataset")
    assert {dataset["id"] for dataset in client.list_datasets()} == before


def proximal(up: Up, *arguments: str) -> "subprocess.Popen[str]":
    """The command, as a process of its own."""
    environment = os.environ | {"PROXIMAL_DATA_DIR": str(up.folder)}
    command = [sys.executable, "-m", "proximal.cli", *arguments]
    return subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def test_sdk_open_upload_resumes_before_the_file_is_hashed(tmp_path: Path) -> None:
    """The upload has no checksum to compare with, so a long file is not read to its end first."""
    file = tmp_path / "long.jsonl"
    file.write_bytes(b"ab")
    upload = {"id": "upl_1", "filename": file.name, "bytes": 2, "sha256": None, "part_bytes": 1, "received": [1]}
    platform = Mock()
    platform.list_uploads = lambda status: [upload] if status == "open" else []
    platform.get_upload_part.return_value = {"sha256": hashlib.sha256(b"a").hexdigest()}
    whole = Mock()
    assert multipart.MultipartUpload(platform, file)._resumable(whole) == upload
    whole.result.assert_not_called()


def test_cli_ctrl_c_ends_quickly_and_same_command_resumes(up: Up, client: Client, tmp_path: Path) -> None:
    file = tmp_path / "interrupted.jsonl"
    with file.open("wb") as content:
        content.truncate(6144 * MIB)  # so long that neither call ends before its signal
    found: list[str] = []

    def arrives() -> bool:
        mine = [upload for upload in client.list_uploads(status="open") if upload["filename"] == file.name]
        found[:] = [upload["id"] for upload in mine if upload["received"]]
        return bool(found)

    first = proximal(up, "datasets", "upload", str(file), "--kind", "sft")
    eventually(arrives)
    first.send_signal(signal.SIGINT)
    _, told = first.communicate(timeout=240)
    assert (first.returncode, told) == (130, "Interrupted. Repeat the command to resume.\n")
    arrived = client.get_upload(found[0])["received"]
    second = proximal(up, "datasets", "upload", str(file), "--kind", "sft")
    eventually(lambda: len(client.get_upload(found[0])["received"]) > len(arrived))
    second.send_signal(signal.SIGINT)
    second.communicate(timeout=240)
    client.delete_upload(found[0])


def test_columns_are_mapped_on_the_command_line(up: Up, client: Client, tmp_path: Path) -> None:
    file = tmp_path / "odd.csv"
    file.write_text("question,left,right,winner\nWhy?,Because.,No idea.,model_b\n")
    fields = ("prompt=question", "a=left", "b=right", "label=winner")
    options = [word for field in fields for word in ("--map", field)]
    done = proximal(up, "datasets", "upload", str(file), *options, "--label", "model_b=b", "--label", "tie=")
    told, error = done.communicate(timeout=240)
    assert done.returncode == 0, error
    made = told.split()[0]
    (row,) = client.list_dataset_rows(made)
    assert row["row"] == {"prompt": "Why?", "a": "Because.", "b": "No idea.", "label": "b"}
    assert client.get_dataset(made)["origin"]["mapping"]["labels"] == {"model_b": "b", "tie": None}


def test_cli_import_url_not_allowed_names_the_setting(up: Up) -> None:
    done = proximal(up, "datasets", "import", "https://data.example/pairs.jsonl")
    _, error = done.communicate(timeout=240)
    assert done.returncode == 1 and "PROXIMAL_IMPORT_URLS" in error.replace("\n", " ")


def test_cli_misspelt_mapping_is_reported(up: Up, tmp_path: Path) -> None:
    file = pairs(tmp_path / "pairs.jsonl", 1)
    done = proximal(up, "datasets", "upload", str(file), "--map", "prompt")
    _, error = done.communicate(timeout=240)
    assert done.returncode == 1 and "write name=value" in error
