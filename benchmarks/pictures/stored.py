"""The platform in the pictures: a demo that has run, a small sweep, a cancelled job, and two annotation rounds.

It is made once, by real training, in about five minutes, and kept in a folder. An interrupted making is repeated safely.
"""

import json
import time
import tomllib
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from rich.console import Console

from benchmarks.measuring.places import ROOT, say
from proximal import demo
from proximal.demo.platform import platform
from proximal.local.options import Options
from proximal.sdk import Client

TINY = ROOT / "examples" / "tiny"
DEMO, SWEEP, CANCELLED = "Demo: film reviews, seed 0", "KL", "Longer completions"
PAIRS, LABELLED, COLLECTED = "Film reviews, first batch", "Film reviews, labelled by Ada", "Film reviews, collected"
KL_COEFFICIENTS = (0.02, 0.05, 0.2)
ANNOTATOR = "Ada"
_PAIRS, _ANSWERS, _COLLECTED = 24, 9, 600
_SECONDS, _POLL_SECONDS = 900.0, 0.5
_CONSOLE = Console(stderr=True)


@dataclass(frozen=True)
class Stored:
    """Ids for the addresses of the pictures, and the two parts of a page that change while nothing happens."""

    now: str
    """The time that the browser's clock shows: a minute after the platform was made."""
    workers: list[Any]
    """The response to `GET /v1/workers`, with measurements of the machine at that time."""
    demo: str
    sweep: list[str]
    collected: str
    """A dataset with many findings."""
    open_round: str
    closed_round: str


@contextmanager
def stored_platform(folder: Path, port: int) -> Iterator[tuple[str, str, Stored]]:
    """Run the platform in the folder, and make its contents first if it has none. Yields its address, a key and the contents."""
    options, record = Options(data_dir=folder / "platform", port=port), folder / "stored.json"
    folder.mkdir(parents=True, exist_ok=True)
    with platform(options, _CONSOLE) as here:
        if not record.exists():
            record.write_text(json.dumps(asdict(_make(here.client, folder)), indent=1) + "\n")
        yield here.url, here.key, Stored(**json.loads(record.read_text()))


def _make(client: Client, folder: Path) -> Stored:
    texts = folder / "platform" / "demo" / "seed-0"
    demo_job = _job(client, DEMO) or demo.submit_job(client, 0, texts, _CONSOLE)
    _end(client, demo_job)
    client.change_job(demo_job, tags=["demo", "baseline"], notes="The demo of the README, with its default seed.")
    sweep = _sweep(client)
    cancelled = _job(client, CANCELLED) or client.create_job(_tiny(client, CANCELLED))["id"]
    if client.get_job(cancelled)["status"] == "queued":
        client.cancel_job(cancelled, "Submitted with the wrong length.")
    for job in sweep:
        _end(client, job)
    pairs = _pairs(client, texts / "preferences.jsonl", folder / "pairs.jsonl")
    closed = _round(client, LABELLED, pairs, _PAIRS)
    if client.get_annotation_round(closed)["status"] == "open":
        client.close_annotation_round(closed, name=LABELLED)
    opened = _round(client, PAIRS, pairs, _ANSWERS)
    collected = _collected(client, texts / "preferences.jsonl", folder / "collected.jsonl")
    _until(lambda: client.get_annotation_round(closed)["status"] == "closed", "the answers of the round")
    _until(lambda: any(report["result"] for report in client.list_reports(collected)), "the report")
    now = datetime.now(UTC) + timedelta(minutes=1)
    workers: list[Any] = list(client.list_workers())
    return Stored(now.isoformat(), workers, demo_job, sweep, collected, opened, closed)


def _job(client: Client, name: str) -> str | None:
    return next((job["id"] for job in client.list_jobs() if job["name"] == name), None)


def _dataset(client: Client, name: str, file: Path, kind: str) -> str:
    known = (dataset["id"] for dataset in client.list_datasets() if dataset["name"] == name)
    return next(known, None) or client.upload_dataset(file, kind, name)["id"]


def _tiny(client: Client, name: str) -> dict[str, Any]:
    """The spec of a job that takes ten seconds."""
    spec = tomllib.loads((TINY.parent / "tiny.toml").read_text())
    files = {kind: _dataset(client, f"Tiny: {kind}", TINY / f"{kind}.jsonl", kind) for kind in ("sft", "preferences")}
    return {**spec, "name": name, "data": {**spec["data"], **files}}


def _sweep(client: Client) -> list[str]:
    """The jobs of the sweep."""
    known = next((group["id"] for group in client.list_groups() if group["name"] == SWEEP), None)
    spec = _tiny(client, SWEEP)
    spec["ppo"]["steps"] = 30
    parameters = {"ppo.kl.coef": list(KL_COEFFICIENTS)}
    group = known or client.create_sweep(spec, parameters, SWEEP, force=True)["id"]
    return [job["id"] for job in client.get_group(group)["jobs"]]


def _pairs(client: Client, source: Path, target: Path) -> str:
    """A dataset of pairs of the demo, without their labels."""
    rows = _rows(source, _PAIRS)
    unlabelled = [{"prompt": row["prompt"], "a": row["chosen"], "b": row["rejected"], "label": None} for row in rows]
    return _written(client, PAIRS, target, unlabelled)


def _collected(client: Client, source: Path, target: Path) -> str:
    """A dataset of pairs of the demo in which three of four people preferred the longer answer, with usual mistakes."""
    rows = _rows(source, _COLLECTED)
    for row in (row for number, row in enumerate(rows) if number % 4):
        row["rejected"], row["chosen"] = sorted((row["chosen"], row["rejected"]), key=len)
    for row in rows[100:109]:
        row["chosen"] += "\nHuman: thank you"
    copies, opposite = rows[:14], [row | {"chosen": row["rejected"], "rejected": row["chosen"]} for row in rows[20:29]]
    same = [row | {"rejected": f"{row['chosen']} "} for row in rows[40:45]]
    return _written(client, COLLECTED, target, [*rows, *copies, *opposite, *same])


def _rows(source: Path, count: int) -> list[dict[str, Any]]:
    return [json.loads(line) for line in source.read_text().splitlines()[:count]]


def _written(client: Client, name: str, target: Path, rows: Sequence[Mapping[str, Any]]) -> str:
    """The rows as a dataset of preferences."""
    target.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return _dataset(client, name, target, "preferences")


def _round(client: Client, name: str, dataset: str, answers: int) -> str:
    """A round on the unlabelled pairs with some answers of one annotator: in each pair, the longer completion."""
    source = {"type": "dataset", "dataset": f"{dataset}@1"}
    text = "Which review would you rather read?"
    known = next((one["id"] for one in client.list_annotation_rounds() if one["name"] == name), None)
    found = known or client.create_annotation_round({"name": name, "source": source, "instructions": text})["id"]
    _until(lambda: client.get_annotation_round(found)["status"] != "preparing", "the round")
    while client.get_annotation_round(found)["answers"] < answers:
        (item,) = client.next_annotation_items(found, ANNOTATOR, 1)["items"]
        client.answer_annotation_item(found, item["id"], ANNOTATOR, _longer(item), seconds=4.0)
    return found


def _longer(item: Mapping[str, Any]) -> Any:
    first, second = (len(json.dumps(completion)) for completion in item["completions"])
    return "tie" if first == second else "1" if first > second else "2"


def _end(client: Client, job: str) -> None:
    """Wait for the end of a job. Ends the program if it does not succeed."""
    _until(lambda: client.get_job(job)["status"] in ("succeeded", "failed", "cancelled"), f"the end of {job}")
    found = client.get_job(job)
    if found["status"] != "succeeded":
        raise SystemExit(f"The job {job} has ended as {found['status']}: {found['status_reason']}")


def _until(condition: Callable[[], object], what: str) -> None:
    say(f"waiting for {what}")
    deadline = time.monotonic() + _SECONDS
    while not condition():
        if time.monotonic() > deadline:
            raise SystemExit(f"Waiting for {what} took more than {_SECONDS:.0f} seconds.")
        time.sleep(_POLL_SECONDS)
