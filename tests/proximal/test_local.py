"""`proximal up` restarts processes that die, stops all of them, and reports why it cannot start."""

import os
import shlex
import signal
import socket
import subprocess
import sys
from pathlib import Path

import httpx
import pytest

from proximal.data_folder import DataFolder, Running, UpError
from proximal.local.options import Options
from proximal.local.platform import _welcome
from tests.processes import alive, children
from tests.proximal.conftest import Up, free_port, is_ready, running_up
from tests.waiting import eventually

PARTS = {
    "PostgreSQL": "bin/postgres -D",
    "Redis": "valkey-server",
    "api": "-m api",
    "worker": "-m worker",
    "data-worker": "-m worker background",
}


def parts(up: Up) -> dict[str, int]:
    """Process ids of the platform's parts, by name."""
    found = {}
    for pid, command in children(up.process.pid).items():
        for name, sign in PARTS.items():
            if command.endswith(sign) or (sign in command and name in ("PostgreSQL", "Redis", "api")):
                found[name] = pid
    return found


@pytest.mark.slow
def test_kill_9_on_each_process_in_turn_heals(tmp_path: Path) -> None:
    with running_up(tmp_path / "data") as up:
        for name in PARTS:
            before = parts(up)
            os.kill(before[name], signal.SIGKILL)
            eventually(lambda name=name, old=before[name]: parts(up).get(name, old) != old)
            eventually(lambda: is_ready(up))
            with up.client() as client:
                eventually(lambda client=client: client.list_workers())
        assert up.output.read_text().count("killed by SIGKILL") == len(PARTS)


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_ended_up_leaves_no_process_and_keeps_key_and_data(number: signal.Signals, tmp_path: Path) -> None:
    with running_up(tmp_path / "data") as up, up.client() as client:
        (tmp_path / "p.jsonl").write_text('{"prompt": "p"}\n')
        dataset = client.upload_dataset(tmp_path / "p.jsonl", "prompts")
        key = (up.folder / "api_key").read_text()
        assert (up.folder / "api_key").stat().st_mode & 0o077 == 0
        pids = parts(up)
        assert set(pids) == set(PARTS)
        assert up.process.stop(grace=60, number=number) == (-9 if number is signal.SIGKILL else 0)
        eventually(lambda: not any(alive(pid) for pid in pids.values()))
    with running_up(tmp_path / "data", "--workers", "0") as up, up.client() as client:
        assert (up.folder / "api_key").read_text() == key
        kept = client.get_dataset(dataset["id"])
        assert (kept["name"], kept["sha256"]) == (dataset["name"], dataset["sha256"])


def test_a_second_one_on_the_same_folder_is_refused(up: Up) -> None:
    failed = refused("--data-dir", str(up.folder), "--port", str(free_port()))
    assert f"already running on {up.folder}" in failed
    assert up.url in failed


def test_supervisor_imports_no_large_package() -> None:
    """It runs as long as the platform. Each of these takes 5 to 20 MiB."""
    code = "import sys, proximal.cli, proximal.local.platform; print(*sys.modules)"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    assert {"pydantic", "sqlalchemy", "httpx", "proximal.sdk"}.isdisjoint(loaded)


def test_port_in_use_error_names_the_remedy(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
        failed = refused("--data-dir", str(tmp_path), "--port", str(port))
    assert f"Cannot listen at 127.0.0.1:{port}: Address already in use." in failed
    assert f"--port {port + 1}" in failed


def test_data_folder_is_readable_by_its_owner_only(tmp_path: Path) -> None:
    folder = DataFolder(tmp_path / "data")
    folder.logs.mkdir(parents=True)
    with folder.hold(Running(1, "")):
        assert {path.stat().st_mode & 0o077 for path in (folder.path, folder.logs)} == {0}


def test_data_folder_with_a_file_named_models_is_usable(tmp_path: Path) -> None:
    (tmp_path / "models").write_text("mine")
    folder = DataFolder(tmp_path / "data")
    folder.prepare()
    assert folder.model_folders == [] and (tmp_path / "models").read_text() == "mine"


def test_model_folders_are_beside_the_data_folder_or_added(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """And from those that the operator adds, but never from the data folder."""
    monkeypatch.setenv("PROXIMAL_LOCAL_MODELS", f"{tmp_path}/more:{tmp_path}/yet more")
    options = Options(tmp_path / "data")
    options.folder.prepare()
    folders = [tmp_path / "models", tmp_path / "more", tmp_path / "yet more"]
    assert options.model_folders == folders and (tmp_path / "models").is_dir()
    assert f"Models      {tmp_path}/models, {tmp_path}/more, " in _welcome(options, None)
    DataFolder(tmp_path / "models").prepare()
    assert DataFolder(tmp_path / "models").model_folders == []
    (tmp_path / "a:b" / "models").mkdir(parents=True)
    assert DataFolder(tmp_path / "a:b" / "data").model_folders == []  # a list of folders cannot hold it
    monkeypatch.setenv("PROXIMAL_LOCAL_MODELS", "any")
    with pytest.raises(UpError, match="PROXIMAL_LOCAL_MODELS"):
        _ = options.model_folders


def test_folder_readable_by_all_keeps_its_mode(tmp_path: Path) -> None:
    tmp_path.chmod(0o1777)
    with DataFolder(tmp_path).hold(Running(1, "")):
        assert tmp_path.stat().st_mode & 0o7777 == 0o1777


def test_up_shows_a_link_on_a_terminal_and_no_key_in_logs(up: Up, tmp_path: Path) -> None:
    key = DataFolder(up.folder).key() or "no key"
    output = up.output.read_text()
    assert key not in output and "?code=" not in output
    assert f"{up.url}/\n" in output and "proximal open" in output
    assert "Dashboard   http://a/?code=b\n" in _welcome(Options(tmp_path), "http://a/?code=b")


@pytest.mark.parametrize("path", ["", os.environ["PATH"]])
def test_printed_command_has_absolute_paths(path: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Another terminal has neither the data folder of the environment nor the programs of an active virtual environment."""
    monkeypatch.setenv("PROXIMAL_DATA_DIR", str(tmp_path / "my data"))
    monkeypatch.setenv("PATH", f"{Path(sys.executable).parent}:{path}" if path else "")
    command = _printed_command(_welcome(Options(port=8123), None))
    assert command[-3:] == ["open", "--data-dir", str(tmp_path / "my data")]
    assert Path(command[0]).is_absolute() and Path(command[0]).exists()


def test_printed_command_signs_in_from_another_terminal(up: Up, tmp_path: Path) -> None:
    """It is in another folder, and has the variables of another platform."""
    others = {"PROXIMAL_URL": "http://127.0.0.1:1", "PROXIMAL_API_KEY": "px_other", "PROXIMAL_DATA_DIR": str(tmp_path)}
    command = [*_printed_command(up.output.read_text()), "--no-browser"]
    done = subprocess.run(
        command, env=os.environ | others, cwd=tmp_path, capture_output=True, text=True, timeout=240, check=True
    )
    address, _, code = done.stdout.strip().partition("?code=")
    assert address == f"{up.url}/"
    assert httpx.post(f"{up.url}/v1/session", json={"code": code}).status_code == 200


def test_open_names_the_folder_without_a_platform(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "proximal.cli", "open", "--no-browser", "--data-dir", str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=240, check=False)
    assert done.returncode == 1 and f"No platform runs on {tmp_path}. " in done.stderr


def _printed_command(output: str) -> list[str]:
    """The words of the command that signs in."""
    (line,) = (one for one in output.splitlines() if one.startswith("  Sign in "))
    return shlex.split(line.removeprefix("  Sign in "))


def test_open_prints_a_link_that_signs_in_once(up: Up) -> None:
    command = [sys.executable, "-m", "proximal.cli", "open", "jobs", "--no-browser"]
    environment = os.environ | {"PROXIMAL_DATA_DIR": str(up.folder)}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=240, check=True)
    address, _, code = done.stdout.strip().partition("?code=")
    assert address == f"{up.url}/jobs"
    statuses = [httpx.post(f"{up.url}/v1/session", json={"code": code}).status_code for _ in range(2)]
    assert statuses == [200, 401]


def refused(*options: str) -> str:
    """The error message of a start that fails."""
    command = [sys.executable, "-m", "proximal.cli", "up", *options]
    done = subprocess.run(command, capture_output=True, text=True, timeout=240, check=False)
    assert done.returncode == 1
    return " ".join(done.stderr.split())
