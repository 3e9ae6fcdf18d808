"""Builds the two wheels: the client's, and that of the platform with the built dashboard."""

import shutil
import tempfile
from pathlib import Path

from steps import SetupError, run, say

PLATFORM = ("api", "core", "data", "worker", "trainer", "migrations", "examples", "proximal/local", "proximal/demo")
"""The folders of the platform's wheel. The rest of `proximal` is the client's, on which the extra `client` depends."""
FILES = ("pyproject.toml", "README.md", "LICENSE")
_NOT_COPIED = ("__pycache__", "*.egg-info", "build")


def build(root: Path, out: Path) -> None:
    """Write both wheels into `out`. Raises SetupError without a built dashboard."""
    dashboard = root / "frontend" / "dist"
    if not (dashboard / "index.html").exists():
        raise SetupError("The dashboard is not built, and the platform's wheel has it: run `make setup` first.")
    with tempfile.TemporaryDirectory() as name:
        client, platform = Path(name, "client"), Path(name, "platform")
        shutil.copytree(
            root / "proximal", client, ignore=shutil.ignore_patterns(*_NOT_COPIED, "local", "demo", "generate.py")
        )
        for folder in PLATFORM:
            shutil.copytree(root / folder, platform / folder, ignore=shutil.ignore_patterns(*_NOT_COPIED))
        for file in FILES:
            shutil.copy(root / file, platform / file)
        shutil.copytree(dashboard, platform / "api" / "static")
        for what, source in (("client", client), ("platform", platform)):
            _wheel(root, what, source, out)
    say(f"Both wheels are in {out}.")


def _wheel(root: Path, what: str, source: Path, out: Path) -> None:
    """Build with the installed setuptools, so that nothing is downloaded."""
    venv = root / ".venv"
    command = [str(venv / "bin" / "uv"), "build", "--wheel", "--no-build-isolation", "--out-dir", str(out)]
    command += ["--python", str(venv / "bin" / "python"), str(source)]
    run(f"wheel of the {what}", command, venv / "logs" / f"wheel-{what}.log")
