"""The wheels of `make wheels`: the client alone in an empty environment, and the platform with its dashboard."""

import os
import subprocess
import sys
import venv
import zipfile
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.compose import packages
from tests.compose.compose_file import ROOT
from tests.proximal.conftest import Up

HOSTILE = ("api", "client", "core", "data", "examples", "sdk", "trainer", "worker")
"""Names that a user may have given to folders or packages."""
DATASET = '{"prompt": "2 + 2 =", "completion": " 4"}\n{"prompt": "3 + 3 =", "completion": " 6"}\n'
JOB = """
model = "gpt2"
stages = ["sft"]
[data]
sft = "rows.jsonl"
[ppo.critic]
value_clip_range = { null = true }
"""


@pytest.fixture(scope="module")
def wheels(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of both wheels."""
    out = tmp_path_factory.mktemp("dist")
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(ROOT / ".setup"))
        import wheels

        wheels.build(ROOT, out)
    return out


@dataclass
class Installed:
    """The client in an environment of its own, in a folder with hostile names."""

    bin: Path
    folder: Path

    def run(self, *command: str, status: int = 0, **variables: str) -> str:
        """Run `proximal`. Returns what it printed."""
        found = subprocess.run(
            [self.bin / "proximal", *command],
            cwd=self.folder,
            env=variables,
            capture_output=True,
            text=True,
            check=False,
        )
        assert found.returncode == status, found.stdout + found.stderr
        return found.stdout + found.stderr


@pytest.fixture(scope="module")
def installed(wheels: Path, tmp_path_factory: pytest.TempPathFactory) -> Installed:
    environment, folder = tmp_path_factory.mktemp("environment"), tmp_path_factory.mktemp("user")
    venv.create(environment, symlinks=True, with_pip=False)
    (site,) = environment.glob("lib/python*/site-packages")
    packages.link([], site, ROOT / "proximal")
    (wheel,) = wheels.glob("*client*.whl")
    command = [sys.executable, "-m", "uv", "pip", "install", "--offline", "--no-deps", "--quiet"]
    subprocess.run([*command, "--python", environment / "bin" / "python", wheel], check=True)
    for name in HOSTILE:
        for place in (site, folder):
            (place / name).mkdir()
            (place / name / "__init__.py").write_text("raise SystemExit('the wrong package was imported')")
    return Installed(environment / "bin", folder)


def names(wheel: Path) -> list[str]:
    with zipfile.ZipFile(wheel) as file:
        return file.namelist()


def test_client_needs_at_most_fifteen_packages() -> None:
    assert len(packages.closure([], ROOT / "proximal")) <= 15


def test_wheel_of_the_client_is_one_typed_package(wheels: Path) -> None:
    (wheel,) = wheels.glob("*client*.whl")
    found = names(wheel)
    assert {name.partition("/")[0].partition("-")[0] for name in found} == {"proximal", "proximal_rlhf_client"}
    assert "proximal/py.typed" in found
    assert not [name for name in found if name.startswith(("proximal/local/", "proximal/demo/"))]


def test_wheel_of_the_platform_holds_the_dashboard(wheels: Path, tmp_path: Path) -> None:
    (wheel,) = wheels.glob("proximal_rlhf-*.whl")
    with zipfile.ZipFile(wheel) as file:
        file.extractall(tmp_path)
    assert not (tmp_path / "proximal" / "__init__.py").exists()  # the client's
    code = "from core.settings import Settings; print(Settings.model_fields['dashboard_dir'].default / 'index.html')"
    command = [sys.executable, "-c", code]
    page = subprocess.run(
        command,
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(tmp_path)},
        capture_output=True,
        text=True,
        check=True,
    ).stdout.strip()
    assert Path(page) == tmp_path / "api" / "static" / "index.html" and Path(page).is_file()


def test_wheel_without_a_dashboard_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(ROOT / ".setup"))
    import steps
    import wheels

    with pytest.raises(steps.SetupError, match="make setup"):
        wheels.build(tmp_path, tmp_path / "dist")
    assert not (tmp_path / "dist").exists()


def test_client_alone_submits_and_reads_beside_hostile_names(installed: Installed, up: Up) -> None:
    (installed.folder / "rows.jsonl").write_text(DATASET)
    (installed.folder / "job.toml").write_text(JOB)
    key = (up.folder / "api_key").read_text().strip()

    def run(*command: str) -> str:
        return installed.run(*command, PROXIMAL_URL=up.url, PROXIMAL_API_KEY=key).strip()

    dataset = run("--quiet", "datasets", "upload", "rows.jsonl", "--kind", "sft")
    assert dataset.startswith("ds_") and "rows" in run("datasets", "list")
    job = run("--quiet", "jobs", "submit", "job.toml", "--force")
    assert '"value_clip_range": null' in run("--output", "json", "jobs", "show", job)
    run("jobs", "cancel", job)
    for command in (
        ["jobs", "list"],
        ["jobs", "metrics", job],
        ["jobs", "logs", job],
        ["workers", "list"],
        ["usage"],
        ["templates", "list"],
        ["groups", "list"],
        ["annotate", "list"],
        ["open", "--no-browser"],
    ):
        run(*command)


@pytest.mark.parametrize("command", [["up"], ["demo"], ["doctor", "--blobs"]])
def test_commands_of_the_platform_say_that_it_is_absent(installed: Installed, command: list[str]) -> None:
    said = installed.run(*command, status=2)
    assert "needs the platform on this machine, and only the client is installed here" in said


def test_package_exports_the_clients(installed: Installed) -> None:
    code = "from proximal import ApiError, AsyncClient, Client; print(Client.__name__, ApiError.__mro__[1].__name__)"
    found = subprocess.run(
        [installed.bin / "python", "-c", code], capture_output=True, text=True, env={}, cwd=installed.bin
    )
    assert found.stdout == "Client ClientError\n", found.stderr
