"""docker-compose.yml, translated to Podman: a container for each service, with every key that the file uses.

Two things differ from Compose. All containers share one network namespace, so a service's name leads to 127.0.0.1 and no port
is published. Health checks are run by the tests, because Podman leaves them to systemd.
"""

import subprocess
from collections.abc import Collection
from pathlib import Path
from typing import Any

from tests.compose.compose_file import services
from tests.waiting import eventually

_NOT_TRANSLATED = {"image", "build", "command", "depends_on", "healthcheck", "profiles", "ports"}
"""Keys that are read elsewhere in this file; `ports` has no meaning here."""
_LIMITS = ["--ulimit", "nofile=20000:20000", "--ulimit", "nproc=1000:1000"]
"""Podman's own defaults are above what a sandbox may set."""

_AS_DOCKER = "rw,noexec,nosuid,nodev,notmpcopyup"
"""Docker mounts a tmpfs so. Podman would keep what the image has in that folder."""


class Composition:
    """The services of a profile. `env` is .env; `podman` the command that containers are run with."""

    def __init__(self, podman: list[str], env: dict[str, str], prefix: str = "proximal-test") -> None:
        self.podman, self._prefix = podman, prefix
        profile = env["COMPOSE_PROFILES"]
        self.services = {
            name: service for name, service in services(env).items() if profile in service.get("profiles", [profile])
        }

    def up(self) -> None:
        """`docker compose up --wait`: each service after those that it depends on, until all are healthy."""
        self._podman_run("rm", "--force", "--ignore", *map(self.container, self.services))
        started: set[str] = set()
        while waiting := self.services.keys() - started:
            for name in sorted(waiting):
                needed: dict[str, Any] = self.services[name].get("depends_on", {})
                if needed.keys() <= started:
                    for other, how in needed.items():
                        self._await(other, how["condition"])
                    self.start(name)
                    started.add(name)
        for name in self.services.keys() - {"migrate"}:
            eventually(lambda name=name: self.is_healthy(name))

    def down(self) -> None:
        """`docker compose down --volumes`."""
        for name in reversed(self.services):
            self._podman_run("rm", "--force", "--ignore", "--time", "60", self.container(name))
        volumes = self._podman_run("volume", "ls", "--quiet", "--filter", f"name={self._prefix}-").split()
        self._podman_run("volume", "rm", "--force", *volumes)

    def start(self, name: str) -> None:
        command = self.services[name].get("command", [])
        self._podman_run("run", "--detach", "--name", self.container(name), *self._options(name), *command)

    def run(self, name: str, *command: str) -> str:
        """`docker compose run --rm NAME COMMAND…`. Returns the standard output."""
        return self._podman_run("run", "--rm", *self._options(name, left_out={"restart"}), *command)

    def restart(self, name: str) -> None:
        """`docker compose restart NAME`."""
        seconds = _seconds(self.services[name].get("stop_grace_period", "10s"))
        self._podman_run("restart", "--time", str(seconds), self.container(name))

    def exec(self, name: str, *command: str) -> "subprocess.CompletedProcess[str]":
        argv = [*self.podman, "exec", self.container(name), *command]
        return subprocess.run(argv, capture_output=True, text=True, check=False)

    def is_healthy(self, name: str) -> bool:
        kind, *test = self.services[name]["healthcheck"]["test"]
        return self.exec(name, *(["sh", "-c", *test] if kind == "CMD-SHELL" else test)).returncode == 0

    def inspect(self, name: str, template: str) -> str:
        """A field of a container, by a Go template."""
        return self._podman_run("inspect", "--format", template, self.container(name)).strip()

    def logs(self, folder: Path) -> None:
        """Write what each container has printed into `folder`."""
        folder.mkdir(parents=True, exist_ok=True)
        for name in self.services:
            with (folder / f"{name}.log").open("wb") as log:
                subprocess.run([*self.podman, "logs", self.container(name)], stdout=log, stderr=log, check=False)

    def container(self, name: str) -> str:
        return f"{self._prefix}-{name}"

    def _await(self, name: str, condition: str) -> None:
        match condition:
            case "service_healthy":
                eventually(lambda: self.is_healthy(name))
            case "service_completed_successfully":
                status = self._podman_run("wait", self.container(name)).strip()
                assert status == "0", f"{name} ended with status {status}: see `podman logs {self.container(name)}`"
            case _:
                raise NotImplementedError(f"depends_on.condition: {condition}")

    def _options(self, name: str, left_out: Collection[str] = ()) -> list[str]:
        """Options of `podman run`, then the image. `left_out` are keys of the service."""
        options = ["--network", "host", "--hostname", name, *_LIMITS, "--no-healthcheck"]
        options += [part for other in self.services for part in ("--add-host", f"{other}:127.0.0.1")]
        for key, value in self.services[name].items():
            if key not in _NOT_TRANSLATED and key not in left_out:
                options += self._option(key, value)
        return [*options, self.services[name]["image"]]

    def _option(self, key: str, value: Any) -> list[str]:
        match key, value:
            case "restart" | "shm_size", str():
                return [f"--{key.replace('_', '-')}", value]
            case "stop_grace_period", str():
                return ["--stop-timeout", str(_seconds(value))]
            case "init", True:
                return ["--init"]
            case "read_only", True:
                return ["--read-only", "--read-only-tmpfs=false"]
            case "cap_drop" | "security_opt", list():
                return [part for one in value for part in (f"--{key.replace('_', '-')}", one.replace(":true", ""))]
            case "tmpfs", list():
                return [part for one in value for part in ("--tmpfs", one + ("," if ":" in one else ":") + _AS_DOCKER)]
            case "volumes", list():
                return [part for one in value for part in ("--volume", f"{self._prefix}-{one}")]
            case "environment", dict():
                return [part for name, one in value.items() if one is not None for part in ("--env", f"{name}={one}")]
        raise NotImplementedError(f"{key}: {value}")

    def _podman_run(self, *arguments: str) -> str:
        done = subprocess.run([*self.podman, *arguments], capture_output=True, text=True, check=False)
        assert done.returncode == 0, f"podman {' '.join(arguments)}\n{done.stdout}{done.stderr}"
        return done.stdout


def _seconds(text: str) -> int:
    return int(text[:-1]) * {"s": 1, "m": 60}[text[-1]]
