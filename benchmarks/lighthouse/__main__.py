"""The command: `python -m benchmarks.lighthouse --json FILE`, or `make lighthouse JSON=FILE`.

It starts a platform with stored runs, signs in to its built dashboard, and lets Lighthouse rate three pages on a phone and on
a desktop computer. A score is the median of some measurements. A busy machine lowers the performance scores.
"""

import argparse
import json
import os
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from statistics import median
from typing import Any

import httpx
from playwright.sync_api import sync_playwright

from benchmarks.measuring.browser import OPTIONS, chromium
from benchmarks.measuring.places import ROOT, cores, path, processor, say, write_json
from benchmarks.platform_suite.local_platform import LocalPlatform, local_platform
from benchmarks.platform_suite.reading import store_steps
from benchmarks.platform_suite.stored_runs import running_job
from core.db import session_scope
from core.jobs.lifecycle import attempts
from core.models.jobs import JobStatus
from trainer.metrics import METRICS

PROGRAM = ROOT / "benchmarks" / "lighthouse" / "node_modules" / "lighthouse" / "cli" / "index.js"
RUNS, STEPS = 20, 1000
"""The program that stores steps needs 1000 or more."""
NAMES = [one.name for one in METRICS if one.stage == "ppo" and one.chart and "<" not in one.name]
FORMS = {"desktop": ("--preset=desktop",), "mobile": ("--form-factor=mobile",)}
GOAL = 0.95
TIMEOUT_S = 180

Scores = dict[str, float]


def measure(folder: Path, repeats: int, reports: Path) -> dict[str, Scores]:
    """Scores from 0 to 1 by category, by `<page>-<form>`. Every report of Lighthouse is kept in the folder `reports`."""
    reports.mkdir(parents=True, exist_ok=True)
    with local_platform(folder / "platform") as platform, platform.api() as client:
        pages = _pages(platform)
        with _signed_in(client, platform, folder / "profile") as port:
            return {
                f"{page}-{form}": _scores(
                    f"{client.base_url}{address}", port, form, repeats, reports / f"{page}-{form}"
                )
                for page, address in pages.items()
                for form in FORMS
            }


def _pages(platform: LocalPlatform) -> dict[str, str]:
    """Addresses of the list, of a run and of a comparison of three runs."""
    say(f"storing {RUNS} runs of {STEPS} steps")
    jobs = []
    for _ in range(RUNS):
        with session_scope() as session:
            claim = running_job(session, platform.owner_id, STEPS)
        store_steps(claim, STEPS, NAMES)
        with session_scope() as session:
            attempts.finish(session, claim.job_id, claim.attempt, JobStatus.SUCCEEDED, "The run has ended.")
        jobs.append(claim.job_id)
    return {
        "list": "/",
        "run": f"/jobs/{jobs[0]}?stage=ppo",
        "compare": f"/compare?runs={','.join(jobs[:3])}&stage=ppo",
    }


@contextmanager
def _signed_in(client: httpx.Client, platform: LocalPlatform, profile: Path) -> Iterator[int]:
    """Start a browser whose own profile holds the session's cookie. Yields its debugging port."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = int(listener.getsockname()[1])
    with sync_playwright() as playwright:
        options = [*OPTIONS, f"--remote-debugging-port={port}"]
        context = playwright.chromium.launch_persistent_context(profile, executable_path=chromium(), args=options)
        try:
            reply = context.request.post(f"{client.base_url}/v1/session", data={"token": platform.key})
            if not reply.ok:
                sys.exit(f"The sign-in to the platform failed: {reply.status} {reply.text()}")
            yield port
        finally:
            context.close()


def _scores(url: str, port: int, form: str, repeats: int, report: Path) -> Scores:
    found = []
    for number in range(1, repeats + 1):
        file = report.with_name(f"{report.name}-{number}.json")
        found.append(categories(_lighthouse(url, port, form, file)))
        say(f"{file.stem}: {found[-1]}  (load {os.getloadavg()[0]:.1f})")
    return {category: median(one[category] for one in found) for category in found[0]}


def _lighthouse(url: str, port: int, form: str, file: Path) -> dict[str, Any]:
    """One report. Ends the program if Lighthouse fails."""
    # It empties the cache before a measurement, but keeps cookies. Unasked, it asks whether it may report its own errors.
    options = [f"--port={port}", "--no-enable-error-reporting", "--quiet", *FORMS[form]]
    command = ["node", str(PROGRAM), url, *options, "--output=json", f"--output-path={file}"]
    done = subprocess.run(command, env=_environment(), capture_output=True, text=True, timeout=TIMEOUT_S, check=False)
    report: dict[str, Any] = json.loads(file.read_text()) if file.exists() else {}
    error = report.get("runtimeError", {}).get("message") or (done.returncode and done.stderr.strip()[-2000:])
    if error or not report:
        sys.exit(f"Lighthouse could not rate {url}: {error or 'it wrote no report'}")
    return report


def _environment() -> Mapping[str, str]:
    """The environment with the Node that the set-up may have put into the virtual environment."""
    own = ROOT / ".venv" / "node" / "bin"
    return {**os.environ, "PATH": os.pathsep.join([str(own), os.environ.get("PATH", "")])}


def categories(report: Mapping[str, Any]) -> Scores:
    """The scores of the categories. A category that Lighthouse could not rate counts as 0."""
    return {name: float(category["score"] or 0) for name, category in report["categories"].items()}


def failed_audits(report: Mapping[str, Any]) -> dict[str, str]:
    """Titles of the weighted audits that score less than 0.9, by name."""
    weighted = {
        audit["id"] for category in report["categories"].values() for audit in category["auditRefs"] if audit["weight"]
    }
    found = {name: audit for name, audit in report["audits"].items() if name in weighted}
    return {
        name: f"{audit['title']} {audit.get('displayValue', '')}".strip()
        for name, audit in found.items()
        if audit["score"] is not None and audit["score"] < 0.9
    }


def main() -> None:
    """Rate the pages, write the scores to the file, and list the failed audits of pages below the goal on stderr."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.lighthouse", description=__doc__)
    parser.add_argument("--json", type=path, required=True, help="write the scores to this file")
    parser.add_argument("--repeats", type=int, default=3, help="measurements of each page (default 3)")
    arguments = parser.parse_args()
    if not PROGRAM.exists():
        sys.exit(
            "Lighthouse is not installed. Run `make lighthouse`, or `python3 .setup lighthouse` before this command."
        )
    reports = arguments.json.with_name(f"{arguments.json.stem}-reports")
    with tempfile.TemporaryDirectory(prefix="lighthouse-") as folder:
        scores = measure(Path(folder), arguments.repeats, reports)
    write_json(scores, arguments.json)
    say(f"{cores()} cores, {processor()}; the reports are in {reports}")
    for name, found in scores.items():
        say(f"{name}: {found}")
        if min(found.values()) < GOAL:
            for audit, title in failed_audits(json.loads((reports / f"{name}-1.json").read_text())).items():
                say(f"  {audit}: {title}")


if __name__ == "__main__":
    main()
