"""`proximal demo`: starts a platform, runs a small job on it over REST, and shows its results."""

import time
from pathlib import Path
from typing import Any, Final

from rich.console import Console
from rich.markup import escape

from examples.reviews import generate
from proximal.demo import report
from proximal.demo.platform import Platform, platform
from proximal.demo.progress import Watcher
from proximal.local.options import Options
from proximal.sdk import Client
from proximal.sdk.spec_files import read_spec

_POLL_SECONDS = 0.2
SPEC = Path(generate.__file__).with_name("demo.toml")
ROLES = ("preferences", "sft", "prompts")
"""The roles of the demo's datasets. Each role is also the dataset's kind."""
_UNFINISHED: Final = ("queued", "starting", "running")


def run(options: Options, seed: int, json_file: Path | None, *, leave: bool) -> int:
    """Return the exit status: 0 if the model improved, 1 if not, 130 if the run was interrupted."""
    console = Console(highlight=False)
    try:
        with platform(options, console) as here:
            learnt = _run(here, options, seed, json_file, console)
            if not leave:
                _stay(here, console)
    except KeyboardInterrupt:
        console.print("\nInterrupted. The run is saved. Repeat the command to resume it.")
        return 130
    return 0 if learnt else 1


def _run(here: Platform, options: Options, seed: int, json_file: Path | None, console: Console) -> bool:
    console.print(f"\n  Dashboard  {here.link()}\n", soft_wrap=True)
    began = time.monotonic()
    job_id = submit_job(here.client, seed, options.folder.path / "demo" / f"seed-{seed}", console)
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
    report.show(found, here.client.list_job_samples(job_id, stage="evaluation"), console)
    if json_file is not None:
        found.write(json_file)
    return found.learnt


def _stay(here: Platform, console: Console) -> None:
    """Wait for Ctrl-C, which ends the demo normally."""
    if here.child is None:
        return
    console.print(
        f"\nThe platform keeps running: {here.link()}\nCtrl-C stops it with all its processes.", soft_wrap=True
    )
    try:
        while here.child.poll() is None:
            time.sleep(_POLL_SECONDS)
        console.print("[red]The platform has stopped unexpectedly.[/red] Its log is up.log in the data folder.")
    except KeyboardInterrupt:
        console.print()


def submit_job(client: Client, seed: int, folder: Path, console: Console) -> str:
    """Submit the demo's job and return its id. An unfinished job of an interrupted demo is continued instead."""
    name = f"{read_spec(SPEC)['name']}, seed {seed}"
    for job in client.list_jobs(status=_UNFINISHED):
        if job["name"] == name:
            console.print("Resuming the demo that was interrupted.")
            return job["id"]
    data = _upload(client, seed, folder, console)
    spec = _spec(seed, name, data)
    return client.create_job(spec)["id"]


def _upload(client: Client, seed: int, folder: Path, console: Console) -> dict[str, str]:
    """Dataset ids by role. Datasets of an earlier demo with the same seed are reused."""
    names = {role: f"Demo: {role}, seed {seed}" for role in ROLES}
    known = {(dataset["name"], str(dataset["kind"])): dataset["id"] for dataset in client.list_datasets()}
    found = {role: known[name, role] for role, name in names.items() if (name, role) in known}
    if len(found) == len(ROLES):
        return found
    console.print("Generating film reviews and noisy preferences, and uploading them …")
    files = generate.write(folder, seed)
    return found | {
        role: client.upload_dataset(files[role], role, name)["id"] for role, name in names.items() if role not in found
    }


def _spec(seed: int, name: str, data: dict[str, str]) -> dict[str, Any]:
    spec = read_spec(SPEC)
    return {**spec, "name": name, "seed": seed, "data": {**spec["data"], **data}}
