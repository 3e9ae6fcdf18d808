"""A worker of a platform elsewhere: it joins with a token, keeps the settings in its data folder, and starts with them."""

import json
import os
import subprocess
from collections.abc import Callable
from dataclasses import asdict, dataclass
from importlib.metadata import version
from urllib.parse import urlsplit

from proximal.data_folder import DataFolder, UpError
from proximal.local.services import python
from proximal.sdk import Client

Environment = dict[str, str]


@dataclass(frozen=True)
class _Kept:
    """The content of `worker.json`."""

    platform: str
    storage_probe: str
    environment: Environment


def join(folder: DataFolder, url: str, token: str, own: Environment, say: Callable[[str], None]) -> None:
    """Exchange the token for the settings of a worker, and keep them with `own`, the settings of this machine.

    Raises ApiError for a token that is not valid or another version, and UpError for a folder that has joined a platform.
    """
    kept = folder.worker_file
    if kept.exists():
        raise UpError(
            f"The worker of {folder.path} has joined {_read(folder).platform} already. Start it with `proximal worker start`, choose "
            f"another folder with --data-dir, or delete {kept} to join anew."
        )
    if urlsplit(url).scheme == "http" and urlsplit(url).hostname not in ("127.0.0.1", "localhost", "::1"):
        say(
            "Warning: the settings, with the database's password, travel without encryption. Prefer an https:// address."
        )
    try:
        folder.prepare()  # before the token is used up
    except OSError as error:
        raise UpError(
            f"{folder.path} cannot be written: {error.strerror}. Choose another one with --data-dir."
        ) from error
    with Client(url, token) as client:
        joined = client.join_worker(version=version("proximal-rlhf"))
    environment = joined["environment"] | {"PROXIMAL_DATA_DIR": str(folder.path)} | own
    folder.keep_worker(asdict(_Kept(url, joined["storage_probe"], environment)))
    say(f"Joined {url}. The settings are in {kept}.")


def start(folder: DataFolder, say: Callable[[str], None], *, check_only: bool = False) -> int:
    """Check this machine, then become the worker. Returns an exit status only if a check fails, or with `check_only`."""
    if not folder.worker_file.exists():
        raise UpError(
            f"{folder.path} has not joined a platform. An operator creates a token with `proximal workers token`, and "
            "`proximal worker join URL --token …` uses it here."
        )
    kept = _read(folder)
    environment = _environment(kept.environment, say)
    inspection = subprocess.run(
        python("worker", "inspect", "--probe", kept.storage_probe), env=environment, check=False
    )
    if inspection.returncode:
        say("The worker does not start. Repair what failed, then run `proximal worker start`.")
    if inspection.returncode or check_only:
        return inspection.returncode
    say("The worker starts. Ctrl-C saves its job and stops it.")
    command = python("worker")
    os.execve(command[0], command, environment)


def _read(folder: DataFolder) -> _Kept:
    """Raises UpError for a file that is damaged."""
    try:
        return _Kept(**json.loads(folder.worker_file.read_text()))
    except (ValueError, TypeError, OSError) as error:
        raise UpError(
            f"{folder.worker_file} cannot be read ({error}). Delete it, and join anew with another token."
        ) from error


def _environment(kept: Environment, say: Callable[[str], None]) -> Environment:
    """The variables of this process with the kept ones, which take precedence."""
    differ = [name for name, value in kept.items() if os.environ.get(name, value) != value]
    if differ:
        say(
            f"These variables of the environment are not used, since the kept settings have others: {', '.join(differ)}"
        )
    return {**os.environ, **kept}
