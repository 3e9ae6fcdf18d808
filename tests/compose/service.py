"""Runs the services of docker-compose.yml as processes. Only addresses, ports and folders differ."""

import os
import socket
import subprocess
from pathlib import Path
from typing import Any, Protocol

from core import child
from tests.compose.compose_file import FILLED_IN, example, services


class Image(Protocol):
    python: Path
    home: Path


class ComposedPlatform:
    """`database_url` and `redis_url` lead to real servers; every container's /blobs, /data and /models are in `folder`."""

    def __init__(self, images: dict[str, Any], database_url: str, redis_url: str, folder: Path) -> None:
        self._images, self._folder = images, folder
        self._services = services(example() | FILLED_IN)
        self._addresses = {"DATABASE_URL": database_url, "REDIS_URL": redis_url}
        self.port = free_port()
        self._running: dict[str, child.Child] = {}

    def run(self, name: str, *instead: str) -> subprocess.CompletedProcess[str]:
        """`docker compose run --rm NAME [COMMAND…]`."""
        argv = self._here(name, list(instead) or self._services[name]["command"])
        return subprocess.run(
            argv, cwd=self._home(name), env=self._env(name), capture_output=True, text=True, timeout=240
        )

    def start(self, name: str) -> None:
        """`docker compose up NAME`."""
        argv = self._here(name, self._services[name]["command"])
        with self.log(name).open("wb") as log:
            self._running[name] = child.start(argv, cwd=self._home(name), env=self._env(name), stdout=log)

    def stop(self) -> dict[str, int]:
        """`docker compose down`: SIGTERM, then the exit statuses."""
        stopped = {name: process.stop(grace=60) for name, process in self._running.items()}
        self._running.clear()
        return stopped

    def is_healthy(self, name: str) -> bool:
        kind, *argv = self._services[name]["healthcheck"]["test"]
        assert kind == "CMD"
        return self.run(name, *argv).returncode == 0

    def log(self, name: str) -> Path:
        return self._folder / f"{name}.log"

    def _here(self, name: str, argv: list[str]) -> list[str]:
        elsewhere = {"python": str(self._image(name).python), "0.0.0.0": "127.0.0.1", "8000": str(self.port)}
        return [elsewhere.get(word, word.replace("127.0.0.1:8000", f"127.0.0.1:{self.port}")) for word in argv]

    def _env(self, name: str) -> dict[str, str]:
        """The service's own and nothing else, as in a container."""
        given = {key: str(value) for key, value in self._services[name]["environment"].items() if value is not None}
        given["PROXIMAL_BLOB_URL"] = f"file://{self._folder}/blobs"
        given["PROXIMAL_DATA_DIR"] = f"{self._folder}/data-of-{name}"
        if "HF_HOME" in given:
            given["HF_HOME"] = f"{self._folder}/models"
        given |= self._addresses
        return given | {"PATH": os.environ["PATH"], "HOME": str(self._home(name))}

    def _home(self, name: str) -> Path:
        return self._image(name).home

    def _image(self, name: str) -> Image:
        folder = Path(self._services[name]["build"]["dockerfile"]).parent.name
        image: Image = self._images[folder]
        return image


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
