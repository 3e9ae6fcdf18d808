"""A platform as `proximal up` runs it, without a worker, for everything that talks to one."""

import contextlib
import functools
import inspect
import json
import socket
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, get_args, get_origin, get_type_hints

import pytest
from pydantic import TypeAdapter

from core import child
from proximal.data_folder import DataFolder
from proximal.errors import ApiError, Unreachable
from proximal.sdk import Client
from tests.waiting import eventually


class CheckedClient(Client):
    """A client that raises ValidationError where a response does not fit the return type of the method."""


def _checked(method: Callable[..., Any]) -> Callable[..., Any]:
    hint = get_type_hints(method)["return"]
    is_iterator = get_origin(hint) is Iterator
    adapter = functools.cache(lambda: TypeAdapter(get_args(hint)[0] if is_iterator else hint))

    def check(value: Any) -> Any:
        adapter().validate_json(json.dumps(value), strict=True)
        return value

    @functools.wraps(method)
    def call(*args: Any, **options: Any) -> Any:
        returned = method(*args, **options)
        if is_iterator:
            return map(check, returned)
        return returned if isinstance(returned, Path) else check(returned)

    return call


for _name, _method in inspect.getmembers(Client, inspect.isfunction):
    if not _name.startswith("_"):
        setattr(CheckedClient, _name, _checked(_method))


@dataclass
class Up:
    """A `proximal up` that is ready."""

    process: child.Child
    folder: Path
    url: str
    output: Path

    def client(self) -> Client:
        key = DataFolder(self.folder).key()
        assert key is not None
        return CheckedClient(self.url, key)


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port: int = listener.getsockname()[1]
        return port


@contextlib.contextmanager
def running_up(folder: Path, *options: str) -> Iterator[Up]:
    port, output = free_port(), folder / "output"
    folder.mkdir(parents=True, exist_ok=True)
    command = [sys.executable, "-m", "proximal.cli", "up", "--data-dir", str(folder), "--port", str(port), *options]
    with output.open("wb") as file:
        process = child.start(command, stdout=file)
    up = Up(process, folder, f"http://127.0.0.1:{port}", output)
    try:
        eventually(lambda: "Proximal is running" in output.read_text() or process.poll() is not None)
        assert process.poll() is None, output.read_text()
        yield up
    finally:
        process.stop(grace=60)


@pytest.fixture(scope="package")
def up(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Up]:
    with running_up(tmp_path_factory.mktemp("up"), "--workers", "0") as up:
        yield up


@pytest.fixture
def client(up: Up) -> Iterator[Client]:
    with up.client() as client:
        yield client


def is_ready(up: Up) -> bool:
    try:
        with up.client() as client:
            client.is_ready()
    except (Unreachable, ApiError):
        return False
    return True
