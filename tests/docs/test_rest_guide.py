"""Every command of docs/how-to/use-the-rest-api.md, typed as it stands, against the API as a process."""

import hashlib
import json
import re
import shutil
import socket
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import select
from sqlalchemy.orm import Session

from core import child
from core.access import keys
from core.blobs import blob_store
from core.jobs.checkpoints.checkpoints import checkpoint_prefix, record_checkpoint
from core.jobs.run.events import append_events
from core.models import DatasetVersion, Job
from core.settings import Settings
from tests.core.factories import make_index, running, step
from tests.waiting import eventually
from trainer.events import CheckpointSaved, Sample, Samples

ROOT = Path(__file__).parents[2]
BLOCK = re.compile(
    r"^```(?P<language>\w*)\n(?P<text>.*?)^```\n(?=(?:```json\n(?P<shown>.*?)^```)?)", re.MULTILINE | re.DOTALL
)
PLACEHOLDER = re.compile(r"^\w+=(?P<prefix>[a-z]+_)…$", re.MULTILINE)
# A stream of a running job has no end; its status is known by then.
CURL = "curl() { command curl --max-time 2 -w '%{stderr}%{http_code}\\n' \"$@\"; }\n"


@dataclass
class Reader:
    """Types the page's commands into a shell, with ids from earlier responses in place of `ds_…`."""

    folder: Path
    address: str
    variables: str = ""
    said: str = ""
    statuses: list[int] = field(default_factory=list)

    def type(self, block: str) -> str:
        text = PLACEHOLDER.sub(self._id, block).replace("http://127.0.0.1:8000", self.address)
        script = CURL + self.variables + text
        done = subprocess.run(["bash", "-c", script], cwd=self.folder, capture_output=True, text=True, check=False)
        self.variables += "".join(line + "\n" for line in text.splitlines() if re.match(r"[A-Z]+=", line))
        self.statuses += [int(line) for line in done.stderr.split() if line.isdecimal() and len(line) == 3]
        self.said += done.stdout
        return done.stdout

    def _id(self, match: re.Match[str]) -> str:
        return match[0].replace(match["prefix"] + "…", self.last(match["prefix"]))

    def last(self, prefix: str) -> str:
        return re.findall(rf"\"({prefix}[a-z0-9]{{24}})\"", self.said)[-1]


@pytest.fixture
def reader(settings: Settings, session: Session, tmp_path: Path) -> Iterator[Reader]:
    """A folder with the examples, and a key where the page expects it."""
    (tmp_path / ".proximal").mkdir()
    (tmp_path / ".proximal" / "api_key").write_text(keys.create_key(session, "local")[1] + "\n")
    session.commit()
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    with (tmp_path / "api.log").open("wb") as log:
        api = child.start([sys.executable, "-m", "api", "--port", str(port)], stdout=log)
    address = f"http://127.0.0.1:{port}"
    try:
        eventually(lambda: responds(f"{address}/readyz"))
        yield Reader(tmp_path, address)
    finally:
        api.stop(grace=60)


@pytest.mark.skipif(shutil.which("curl") is None, reason="the page is about curl, which this machine does not have")
def test_the_tour_can_be_followed(reader: Reader, settings: Settings, session: Session) -> None:
    page = (ROOT / "docs" / "how-to" / "use-the-rest-api.md").read_text()
    for block in BLOCK.finditer(page):
        if block["language"] != "bash":
            continue
        if "DATASET=ds_…" in block["text"]:
            index(session, reader.last("ds_"))
        if "JOB=job_…" in block["text"]:
            work_on(session, settings, reader.last("job_"))
        said = reader.type(block["text"])
        if block["shown"]:
            assert json.loads(block["shown"]).keys() <= answers(said)[-1].keys()
    refused = [status for status in reader.statuses if status >= 400]
    assert refused == [412, 422], "the examples of errors, and nothing else"
    assert len(reader.statuses) == len(re.findall("^curl ", page, re.MULTILINE))


def index(session: Session, dataset_id: str) -> None:
    """Index the dataset as a data worker does."""
    make_index(session, session.scalars(select(DatasetVersion).filter_by(dataset_id=dataset_id)).one())
    session.commit()


def work_on(session: Session, settings: Settings, job_id: str) -> None:
    """Write the steps, the completions and the checkpoint that a worker would write."""
    job = session.get_one(Job, job_id)
    attempt = running(session, job)
    completions = Samples(stage="ppo", step=120, rows=[Sample(prompt="Say", response="yes")] * 4)
    append_events(session, job_id, attempt, [*(step(number) for number in (1, 2, 3)), completions])
    saved = CheckpointSaved(stage="sft", step=10, path="checkpoints/sft", final=True)
    prefix = checkpoint_prefix(job_id, attempt, 1, saved.path)
    content = settings.data_dir / "config.json"
    content.write_text("{}")
    sha256 = hashlib.sha256(b"{}").hexdigest()
    blob_store(settings).put_file(f"{prefix}/config.json", content)
    record_checkpoint(session, job_id, attempt, saved, [{"path": "config.json", "bytes": 2, "sha256": sha256}], prefix)
    session.commit()


def answers(said: str) -> list[dict[str, Any]]:
    """The JSON documents in what curl printed, one after the other."""
    found = []
    while said := said.lstrip():
        document, end = json.JSONDecoder().raw_decode(said)
        found.append(document)
        said = said[end:]
    return found


def responds(url: str) -> bool:
    try:
        with urllib.request.urlopen(url, timeout=5) as answer:
            return bool(answer.status == 200)
    except OSError:
        return False
