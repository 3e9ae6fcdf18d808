"""The demo, from the first process to the last."""

import time
from pathlib import Path

from rich.console import Console
from rich.markup import escape

from client.demo import job, report
from client.demo.platform import Platform, platform
from client.demo.progress import Watcher
from client.local.options import Options

_POLL_SECONDS = 0.2


def tell(options: Options, seed: int, json_file: Path | None, *, leave: bool) -> int:
    """Answer the exit status: 0 if it learnt, or was left by Ctrl-C after the run."""
    console = Console(highlight=False)
    try:
        with platform(options, console) as here:
            learnt = _run(here, options, seed, json_file, console)
            if not leave:
                _stay(here, console)
    except KeyboardInterrupt:
        console.print("\nInterrupted. The run is saved; the same command goes on with it.")
        return 130
    return 0 if learnt else 1


def _run(here: Platform, options: Options, seed: int, json_file: Path | None, console: Console) -> bool:
    console.print(f"\n  Dashboard  {here.link()}\n", soft_wrap=True)
    began = time.monotonic()
    job_id = job.submit(here.client, seed, options.folder.path / "demo" / f"seed-{seed}", console)
    console.print(f"  This run   {here.link(f'jobs/{job_id}')}\n", soft_wrap=True)
    with Watcher(console) as watcher:
        for event in here.client.stream_job_events(job_id):
            watcher.see(event)
    ended = here.client.get_job(job_id)
    if ended["status"] != "succeeded":
        error = ended["error"] or {"code": ended["status"], "message": ended["status_reason"]}
        console.print(f"[red]The run did not succeed[/red] ({error['code']}): {escape(error['message'])}")
        return False
    found = report.figures(here.client, job_id, seed, time.monotonic() - began, watcher.stage_seconds)
    report.show(found, here.client.list_job_samples(job_id, "evaluation"), console)
    if json_file is not None:
        found.write(json_file)
    return found.learnt


def _stay(here: Platform, console: Console) -> None:
    """Until Ctrl-C, which is the way out and no interruption."""
    if here.child is None:
        return
    console.print(
        f"\nThe platform stays up: {here.link()}\nCtrl-C stops it and every process it started.", soft_wrap=True
    )
    try:
        while here.child.poll() is None:
            time.sleep(_POLL_SECONDS)
        console.print("[red]The platform has ended by itself[/red]; its log is up.log in the data folder.")
    except KeyboardInterrupt:
        console.print()
