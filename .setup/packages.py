"""The virtual environment and the Python packages in it."""

import os
import shutil
import socket
import sys
from pathlib import Path

from steps import SetupError, digest, once, output_of, run, say

GIGABYTE = 1024**3
TORCH_CPU_HOST = "download.pytorch.org"


def ensure(root: Path) -> None:
    """A venv with uv in it, then everything of pyproject.toml at the versions of constraints.txt."""
    if not (3, 11) <= sys.version_info[:2] < (3, 14):
        raise SetupError(f"Proximal needs Python 3.11, 3.12 or 3.13; this is {sys.version.split()[0]}.")
    venv = root / ".venv"
    _ensure_venv(venv)
    wanted = (root / "pyproject.toml", root / "proximal" / "pyproject.toml", root / "constraints.txt")
    key = digest(wanted, str(venv), sys.version)
    once(venv / "stamps" / "packages", key, venv / "bin" / "proximal", lambda: _install(root, venv))


def _ensure_venv(venv: Path) -> None:
    """One that was interrupted, copied here from elsewhere, or made with another Python is made anew."""
    python = venv / "bin" / "python"
    version = output_of([str(python), "-c", "import sys; print(sys.version, sys.prefix)"])
    if version == f"{sys.version} {venv}" and output_of([str(python), "-m", "pip", "--version"]):
        return
    if venv.exists():
        say("the virtual environment is not usable with this Python; making a new one")
    _require_space(venv.parent)
    run("virtual environment", [sys.executable, "-m", "venv", "--clear", str(venv)], venv.parent / ".venv-setup.log")
    (venv.parent / ".venv-setup.log").unlink()


def _require_space(folder: Path) -> None:
    free = shutil.disk_usage(folder).free
    if free < 3 * GIGABYTE:
        raise SetupError(
            f"About 3 GB are needed for the Python packages, and {folder} has {free / GIGABYTE:.1f} GB free. "
            "Free some space, or put the project on another disk."
        )


def _install(root: Path, venv: Path) -> None:
    python = str(venv / "bin" / "python")
    constraints = str(root / "constraints.txt")
    log = venv / "logs" / "packages.log"
    run("installer (uv)", [python, "-m", "pip", "install", "--quiet", "-c", constraints, "uv"], log)
    command = [str(venv / "bin" / "uv"), "pip", "install", "--python", python, "-c", constraints]
    command += ["-e", "./proximal", "-e", ".[all]", "--group", "dev"]
    env = with_pips_settings(python)
    if small_torch_is_available(env):
        try:
            return run("Python packages (1 to 3 minutes)", [*command, "--torch-backend", "cpu"], log, env, root)
        except SetupError:
            say("the CPU build of PyTorch cannot be had; taking the one of the package index")
    run("Python packages (up to some minutes the first time)", command, log, env, root)


def with_pips_settings(python: str) -> dict[str, str]:
    """uv does not read pip's configuration; hand over what decides where packages come from."""
    env = dict(os.environ)
    handed = {"find-links": "UV_FIND_LINKS", "index-url": "UV_DEFAULT_INDEX", "cert": "SSL_CERT_FILE"}
    for option, variable in handed.items():
        value = output_of([python, "-m", "pip", "config", "get", f"global.{option}"])
        if value and variable not in env:
            env[variable] = value.replace("\n", " ").strip()
    return env


def small_torch_is_available(env: dict[str, str]) -> bool:
    """On Linux the package index has PyTorch with gigabytes of CUDA; without a GPU the CPU build will do.

    Where the installer has other places for packages, those decide.
    """
    if sys.platform != "linux" or shutil.which("nvidia-smi"):
        return False
    if any(env.get(name) for name in ("UV_FIND_LINKS", "UV_DEFAULT_INDEX", "UV_TORCH_BACKEND")):
        return False
    try:
        socket.create_connection((TORCH_CPU_HOST, 443), timeout=3).close()
    except OSError:
        return False
    return True
