"""The demo's data and its job, brought to the platform."""

from pathlib import Path
from typing import Any

from rich.console import Console

from client.sdk import Client
from client.sdk.spec_files import read_spec
from examples.reviews import generate

SPEC = Path(generate.__file__).with_name("demo.toml")
ROLES = ("preferences", "sft", "prompts")
"""The datasets that the demo makes; each is of the kind that it is named after."""
_UNFINISHED = ("queued", "starting", "running")


def submit(client: Client, seed: int, folder: Path, console: Console) -> str:
    """Answer the job's id. A demo that was interrupted is not begun again: its job goes on where it was."""
    name = f"{read_spec(SPEC)['name']}, seed {seed}"
    for job in client.list_jobs(_UNFINISHED):
        if job["name"] == name:
            console.print("The demo of last time was saved; going on with it.")
            return job["id"]
    data = _upload(client, seed, folder, console)
    spec = _resolved(seed, name, data)
    return client.create_job(spec)["id"]


def _upload(client: Client, seed: int, folder: Path, console: Console) -> dict[str, str]:
    """Dataset ids by role; what an earlier demo of the same seed has uploaded is used again."""
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


def _resolved(seed: int, name: str, data: dict[str, str]) -> dict[str, Any]:
    spec = read_spec(SPEC)
    return {**spec, "name": name, "seed": seed, "data": {**spec["data"], **data}}
