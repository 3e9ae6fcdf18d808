from pathlib import Path

import pytest
from redis import Redis as Client
from redis.exceptions import AuthenticationError

from core.embedded.redis import Redis


def test_data_and_address_outlive_a_killed_server(tmp_path: Path) -> None:
    server = Redis(tmp_path, tmp_path / "log")
    running = server.start()
    with Client.from_url(server.url) as client:
        client.set("greeting", "hello")
        running.kill()
        running = server.start()
        assert client.get("greeting") == b"hello"
    assert server.stop(running) == 0


def test_redis_without_password_is_refused(tmp_path: Path) -> None:
    server = Redis(tmp_path, tmp_path / "log")
    running = server.start()
    try:
        with (
            Client.from_url(server.url.replace("redis://:", "redis://:not-")) as client,
            pytest.raises(AuthenticationError),
        ):
            client.ping()
        assert (tmp_path / "valkey.conf").stat().st_mode & 0o077 == 0
    finally:
        server.stop(running)
