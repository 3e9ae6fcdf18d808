"""Every service's command and health check, as written in docker-compose.yml, against real servers."""

import signal
import subprocess
import tomllib
from pathlib import Path

import pytest
import redis
from sqlalchemy.engine import make_url

from core import child
from core.embedded.server import postgres_program, valkey_program
from proximal.errors import ClientError
from proximal.sdk import Client
from tests.compose.compose_file import FILLED_IN, ROOT, example, services
from tests.compose.service import ComposedPlatform, free_port
from tests.waiting import eventually


def client(composed: ComposedPlatform) -> Client:
    """A client with a key that is created as docs/how-to/deploy.md describes."""
    key = composed.run("api", "python", "-m", "core", "keys", "create", "admin").stdout.strip()
    return Client(f"http://127.0.0.1:{composed.port}", key)


def is_ready(composed: ComposedPlatform) -> bool:
    try:
        with Client(f"http://127.0.0.1:{composed.port}", key="nobody") as anybody:
            return anybody.is_ready()["status"] == "ok"
    except ClientError:
        return False


def test_migrate_may_run_twice(composed: ComposedPlatform) -> None:
    for _ in range(2):
        done = composed.run("migrate")
        assert done.returncode == 0, done.stderr


@pytest.mark.slow
def test_compose_services_start_become_healthy_and_stop(composed: ComposedPlatform) -> None:
    assert composed.run("migrate").returncode == 0
    for name in ("api", "sweeper", "worker", "data-worker"):
        assert not composed.is_healthy(name), f"{name} is called healthy before it has started"
        composed.start(name)
    eventually(lambda: is_ready(composed))
    with client(composed) as platform:
        eventually(platform.list_workers)
    for name in ("api", "sweeper", "worker", "data-worker"):
        eventually(lambda name=name: composed.is_healthy(name))  # type: ignore[misc]
    # uvicorn closes everything in order and then sends itself the signal once more.
    assert composed.stop() == {"api": -signal.SIGTERM, "sweeper": 0, "worker": 0, "data-worker": 0}
    assert "Application shutdown complete" in composed.log("api").read_text()
    assert not composed.is_healthy("worker")


@pytest.mark.slow
def test_a_job_goes_from_the_api_to_a_trainer_and_back(composed: ComposedPlatform) -> None:
    """With no package but those that each image has."""
    composed.run("migrate")
    composed.start("api")
    composed.start("worker")
    eventually(lambda: is_ready(composed))
    with client(composed) as platform:
        spec = tomllib.loads((ROOT / "examples" / "tiny.toml").read_text())
        dataset = platform.upload_dataset(ROOT / "examples" / "tiny" / "preferences.jsonl", "preferences")
        spec["data"] = {"preferences": dataset["id"]}
        spec["sft"] |= {"epochs": 1, "batch_size": 64}
        spec["ppo"] |= {"steps": 1}
        spec["evaluation"] |= {"judge": "reviews"}
        job = platform.create_job(spec)["id"]
        eventually(lambda: platform.get_job(job)["finished_at"])
        ended = platform.get_job(job)
        assert ended["status"] == "succeeded", ended["error"]
        assert ended["summary"] is not None and "judge_after" in ended["summary"]
        assert {checkpoint["stage"] for checkpoint in platform.list_job_checkpoints(job)} == {
            "sft",
            "reward_model",
            "ppo",
        }


def test_the_health_check_of_postgres(postgres_url: str) -> None:
    kind, program, *arguments = services(example() | FILLED_IN)["postgres"]["healthcheck"]["test"]
    assert kind == "CMD"
    # The tests' server listens on a socket in this folder.
    socket_folder = str(make_url(postgres_url).query["host"])
    argv = [str(postgres_program(program)), *(socket_folder if word == "127.0.0.1" else word for word in arguments)]
    assert subprocess.run(argv, check=False).returncode == 0
    away = [word if word != socket_folder else "/nowhere" for word in argv]
    assert subprocess.run(away, check=False).returncode != 0


def test_the_command_of_redis(tmp_path: Path) -> None:
    """Its health check needs valkey-cli, which the wheel does not bring: not run here."""
    program, *arguments = services(example() | FILLED_IN)["redis"]["command"]
    assert program == "valkey-server"
    port = free_port()
    here = ["--port", str(port), "--bind", "127.0.0.1"]
    server = child.start([str(valkey_program()), *arguments, *here], cwd=tmp_path, stdout=subprocess.DEVNULL)
    try:
        with redis.Redis(port=port) as client:
            eventually(lambda: _pings(client))
            assert client.config_get("save") == {"save": ""}
    finally:
        assert server.stop(grace=60) == 0
    assert list(tmp_path.iterdir()) == []


def _pings(client: redis.Redis) -> bool:
    try:
        return bool(client.ping())
    except redis.ConnectionError:
        return False


@pytest.mark.parametrize("name", ["worker", "worker-gpu"])
def test_both_workers_run_the_same(name: str) -> None:
    worker = services(example() | FILLED_IN)[name]
    assert worker["command"] == ["python", "-m", "worker"]
    assert worker["healthcheck"]["test"] == ["CMD", "python", "-m", "worker", "check"]


@pytest.mark.parametrize("name", ["data-worker", "data-worker-gpu"])
def test_both_data_workers_run_the_same(name: str) -> None:
    worker = services(example() | FILLED_IN)[name]
    assert worker["command"] == ["python", "-m", "worker", "data"]
    assert worker["healthcheck"]["test"] == ["CMD", "python", "-m", "worker", "check-data"]
