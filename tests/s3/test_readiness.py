"""`/readyz`, `proximal doctor` and the settings find what is wrong with a bucket, and say what to change."""

import logging
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import pytest
from fastapi.testclient import TestClient
from pydantic import SecretStr, ValidationError

from api.app import create_app
from core.blobs import blob_store
from core.blobs.s3 import Bucket
from core.errors import ImportRefused
from core.masking import MASK, Masker
from core.settings import Settings, environment_of_a_new_worker
from core.storage_probe import expected_probe, why_not_the_store
from core.uploads.fetching import checked_import_url
from proximal.commands import doctor
from proximal.sdk import Client
from tests.api.serving import application, serving
from tests.s3.faulty_proxy import FaultyProxy
from tests.s3.faulty_proxy import serving as proxying
from tests.s3.servers import Server
from worker.jobs.launch.trainer_command import environment

Use = Callable[[Bucket], Settings]


def blobs_check(settings: Settings) -> str:
    with TestClient(create_app(settings)) as client:
        response = client.get("/readyz")
    outcome: str = response.json()["checks"]["blobs"]
    assert response.status_code == (200 if outcome == "ok" else 503)
    return outcome


def test_usable_bucket_is_ready(settings: Settings, bucket: Bucket, use_bucket: Use) -> None:
    assert blobs_check(use_bucket(bucket)) == "ok"


@pytest.mark.slow
def test_settings_win_over_variables_of_other_buckets(
    settings: Settings, swift_bucket: Bucket, use_bucket: Use, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert swift_bucket.access_key_id and swift_bucket.secret_access_key
    use_bucket(swift_bucket)
    own = {"ACCESS_KEY_ID": swift_bucket.access_key_id, "SECRET_ACCESS_KEY": swift_bucket.secret_access_key}
    for name, secret in own.items():
        monkeypatch.setenv(f"PROXIMAL_BLOB_{name}", secret.get_secret_value())
        monkeypatch.setenv(f"AWS_{name}", "of-another-bucket")
    monkeypatch.setenv("AWS_ENDPOINT_URL_S3", "http://127.0.0.1:9")
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:9")
    assert blobs_check(Settings()) == "ok"


def test_absent_bucket_is_named(settings: Settings, bucket: Bucket, use_bucket: Use) -> None:
    found = blobs_check(use_bucket(replace(bucket, name="no-such-bucket")))
    assert found.startswith("not usable. The bucket of PROXIMAL_BLOB_URL does not exist. Create it")
    assert "no-such-bucket" not in found and bucket.endpoint not in found


@pytest.mark.parametrize("endpoint", ["http://127.0.0.1:9", "http://nowhere.invalid"])
def test_wrong_endpoint_is_named(settings: Settings, bucket: Bucket, use_bucket: Use, endpoint: str) -> None:
    found = blobs_check(use_bucket(replace(bucket, endpoint=endpoint)))
    assert "does not respond" in found and "PROXIMAL_BLOB_ENDPOINT" in found


def test_server_without_s3_is_named(settings: Settings, bucket: Bucket, use_bucket: Use) -> None:
    with serving(application(settings)) as port:
        found = blobs_check(use_bucket(replace(bucket, endpoint=f"http://127.0.0.1:{port}")))
    assert "PROXIMAL_BLOB_ENDPOINT" in found


@pytest.mark.parametrize(
    ("changed", "advice"),
    [
        ({"secret_access_key": SecretStr("wrong")}, "PROXIMAL_BLOB_SECRET_ACCESS_KEY"),
        ({"access_key_id": SecretStr("wrong")}, "PROXIMAL_BLOB_ACCESS_KEY_ID"),
        ({"region": "us-west-1"}, "PROXIMAL_BLOB_REGION"),
    ],
)
@pytest.mark.slow
def test_wrong_key_or_region_is_named(
    settings: Settings, swift_bucket: Bucket, use_bucket: Use, changed: dict[str, Any], advice: str
) -> None:
    found = blobs_check(use_bucket(replace(swift_bucket, **changed)))
    assert found.startswith("not usable. The ") and advice in found and swift_bucket.endpoint not in found


@pytest.fixture
def read_only(moto: Server, bucket: Bucket) -> Iterator[Bucket]:
    """A bucket that takes no object: each write meets the response of a key that may only read."""
    proxy = FaultyProxy(moto.url, lambda: None, refused=("PUT", "POST"))
    with proxying(proxy) as url:
        yield replace(bucket, endpoint=url)


def test_bucket_that_is_not_writable_is_named(settings: Settings, read_only: Bucket, use_bucket: Use) -> None:
    found = blobs_check(use_bucket(read_only))
    assert "The credentials may not use the bucket. Allow them s3:ListBucket" in found and "s3:PutObject" in found


def doctor_on(settings: Settings) -> doctor.Check:
    """The check of the services."""
    with serving(application(settings)) as port:

        class Target:
            def client(self) -> Client:
                return Client(f"http://127.0.0.1:{port}", "no key")

        return next(check for check in doctor.checks(Target()) if check["check"] == "services")


NOTE = "The S3 server takes no conditional writes."


@pytest.mark.parametrize("ignores", [False, True])
def test_doctor_notes_a_server_that_ignores_conditions(
    settings: Settings, moto: Server, bucket: Bucket, use_bucket: Use, ignores: bool
) -> None:
    proxy = FaultyProxy(moto.url, lambda: None)
    proxy.ignores_conditions = ignores
    with proxying(proxy) as url:
        services = doctor_on(use_bucket(replace(bucket, endpoint=url)))
    assert services["ok"] and (NOTE in services["detail"]) is ignores


@pytest.mark.slow
def test_doctor_notes_a_server_that_refuses_conditions(
    settings: Settings, swift_bucket: Bucket, use_bucket: Use
) -> None:
    services = doctor_on(use_bucket(swift_bucket))
    assert services["ok"] and NOTE in services["detail"]


def test_doctor_reports_the_bucket(settings: Settings, bucket: Bucket, use_bucket: Use) -> None:
    services = doctor_on(use_bucket(replace(bucket, name="no-such-bucket")))
    assert not services["ok"] and "The bucket of PROXIMAL_BLOB_URL does not exist." in services["detail"]


@pytest.mark.parametrize(
    ("variable", "value", "message"),
    [
        ("PROXIMAL_BLOB_URL", "gs://bucket", "must be a folder, as file:///some/folder, or a bucket"),
        ("PROXIMAL_BLOB_URL", "s3://Bucket_", "is no name of a bucket"),
        ("PROXIMAL_BLOB_URL", "s3://key:secret@bucket", "is no name of a bucket"),
        ("PROXIMAL_BLOB_URL", "s3://bucket/a/../b", "the prefix may have letters"),
        ("PROXIMAL_BLOB_ENDPOINT", "minio:9000", "must be an address without a key"),
        ("PROXIMAL_BLOB_ENDPOINT", "http://key:secret@minio:9000", "must be an address without a key"),
        ("AWS_SECRET_ACCESS_KEY", "", "PROXIMAL_BLOB_SECRET_ACCESS_KEY is missing"),
        ("AWS_ACCESS_KEY_ID", "", "PROXIMAL_BLOB_ACCESS_KEY_ID is missing"),
    ],
)
def test_wrong_setting_is_refused_with_the_reason(
    settings: Settings,
    bucket: Bucket,
    use_bucket: Use,
    monkeypatch: pytest.MonkeyPatch,
    variable: str,
    value: str,
    message: str,
) -> None:
    use_bucket(bucket)
    monkeypatch.setenv(variable, value)
    with pytest.raises(ValidationError, match=message):
        Settings()


def test_import_from_the_platforms_own_bucket_is_refused(
    settings: Settings, bucket: Bucket, use_bucket: Use, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PROXIMAL_IMPORT_URLS", "any")
    used = use_bucket(bucket)
    with pytest.raises(ImportRefused, match="stores its own files in this bucket"):
        checked_import_url(f"s3://{bucket.name}/{bucket.prefix}/uploads/up_x/000001", used)
    assert checked_import_url("s3://other/rows.jsonl", used).name == "rows.jsonl"


def test_joining_worker_gets_the_bucket_and_its_key(
    settings: Settings, bucket: Bucket, use_bucket: Use, monkeypatch: pytest.MonkeyPatch
) -> None:
    used = use_bucket(bucket)
    found = environment_of_a_new_worker(used)
    assert found["PROXIMAL_BLOB_URL"] == f"s3://{bucket.name}/{bucket.prefix}"
    assert found["PROXIMAL_BLOB_ENDPOINT"] == bucket.endpoint and {"AWS_ACCESS_KEY_ID", "AWS_REGION"} <= found.keys()
    assert why_not_the_store(blob_store(used), expected_probe(blob_store(used))) is None
    absent = use_bucket(replace(bucket, name="no-such-bucket"))
    assert "does not exist. Create it" in str(why_not_the_store(blob_store(absent), None))
    monkeypatch.delenv("PROXIMAL_BLOB_URL")
    assert not any(name.startswith("AWS_") for name in environment_of_a_new_worker(Settings()))


def test_secrets_stay_out_of_trainers_logs_and_texts(
    settings: Settings, bucket: Bucket, use_bucket: Use, caplog: pytest.LogCaptureFixture
) -> None:
    used = use_bucket(bucket)
    assert bucket.secret_access_key is not None and bucket.access_key_id is not None
    secrets = [bucket.secret_access_key.get_secret_value(), bucket.access_key_id.get_secret_value()]
    assert not any(name.startswith("AWS_") for name in environment())
    with caplog.at_level(logging.DEBUG):
        blobs_check(use_bucket(replace(bucket, name="no-such-bucket")))
    for text in (repr(used), repr(bucket), caplog.text):
        assert not any(secret in text for secret in secrets)
    masked = Masker({"AWS_SECRET_ACCESS_KEY": secrets[0], "AWS_ACCESS_KEY_ID": secrets[1]}).mask(" ".join(secrets))
    assert masked == f"{MASK} {MASK}"
