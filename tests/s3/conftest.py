"""S3 servers for the tests: moto, and OpenStack Swift in slow tests (`make test-s3`)."""

import itertools
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from pydantic import SecretStr

from core.blobs import LocalBlobs
from core.blobs.s3 import Bucket, S3Blobs
from core.settings import Settings, get_settings
from tests.s3 import servers, swift_server
from tests.s3.servers import Server

NAME = "proximal-tests"
BOTH = ["moto", pytest.param("swift", marks=pytest.mark.slow)]
"""The servers, as values of `server`."""
_prefixes = (f"platform-{number}" for number in itertools.count(1))


@pytest.fixture(scope="session")
def moto(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with servers.moto(tmp_path_factory.mktemp("moto")) as server:
        server.make_bucket(NAME)
        yield server


@pytest.fixture(scope="session")
def swift(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    if not swift_server.is_installed():
        pytest.skip(
            "Swift is missing: apt-get install swift-proxy swift-account swift-container swift-object memcached"
        )
    with swift_server.swift(tmp_path_factory.mktemp("swift")) as server:
        server.make_bucket(NAME)
        yield server


@pytest.fixture(scope="session")
def s3_servers() -> None:
    """Requested by the fixtures that choose a server, so that no test with one counts as a unit test."""


@pytest.fixture(params=BOTH)
def server(request: pytest.FixtureRequest, s3_servers: None) -> Any:
    return request.getfixturevalue(request.param)


@pytest.fixture
def bucket(server: Server) -> Bucket:
    """An empty prefix of the server's bucket."""
    return bucket_of(server)


@pytest.fixture
def swift_bucket(swift: Server) -> Bucket:
    return bucket_of(swift)


def bucket_of(server: Server, **changed: Any) -> Bucket:
    fields = {"name": NAME, "prefix": next(_prefixes), "endpoint": server.url, "region": server.region}
    keys = {"access_key_id": SecretStr(server.key), "secret_access_key": SecretStr(server.secret)}
    return Bucket(**(fields | keys | changed))


@pytest.fixture
def stored(bucket: Bucket, tmp_path: Path) -> S3Blobs:
    return S3Blobs(bucket, tmp_path / "scratch")


@pytest.fixture(params=["folder", *BOTH])
def blobs(request: pytest.FixtureRequest, tmp_path: Path, s3_servers: None) -> LocalBlobs | S3Blobs:
    """Each store, empty."""
    if request.param == "folder":
        return LocalBlobs(tmp_path / "blobs")
    return S3Blobs(bucket_of(request.getfixturevalue(request.param)), tmp_path / "scratch")


@pytest.fixture
def use_bucket(monkeypatch: pytest.MonkeyPatch) -> Callable[[Bucket], Settings]:
    """Set the settings to a bucket, for this process and those that it starts."""

    def use(bucket: Bucket) -> Settings:
        secrets = {"ACCESS_KEY_ID": bucket.access_key_id, "SECRET_ACCESS_KEY": bucket.secret_access_key}
        for name, secret in secrets.items():
            assert secret is not None
            monkeypatch.setenv(f"AWS_{name}", secret.get_secret_value())
        monkeypatch.setenv("AWS_REGION", bucket.region)
        monkeypatch.setenv("PROXIMAL_BLOB_URL", f"s3://{bucket.name}/{bucket.prefix}")
        monkeypatch.setenv("PROXIMAL_BLOB_ENDPOINT", bucket.endpoint)
        get_settings.cache_clear()
        return get_settings()

    return use
