"""A run whose checkpoints were damaged between two starts goes on from the newest good one, and ends with the same bits."""

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.trainer.run.tools import contents, crashing, run
from tests.trainer.running import events_of, metrics_of, tiny_spec
from tests.trainer.session.test_damaged import OPTIMIZER, WEIGHTS, flip
from trainer.distributed.cpu_threads import choose_threads
from trainer.errors import ModelError, StorageError
from trainer.events import CheckpointDamaged, RunStarted
from trainer.models import precision
from trainer.run_folder import claim
from trainer.spec import JobSpec

STAGES = ["sft", "dpo"]
CHANGES = {"sft": {"save_every": 1, "batch_size": 64}, "dpo": {"save_every": 1, "batch_size": 64}}


def damaged_in(folder: Path) -> list[tuple[str, str]]:
    found = [event for event in events_of(folder) if isinstance(event, CheckpointDamaged)]
    return [(event.path, event.remedy.split(".")[0]) for event in found]


def test_resume_with_damaged_files_ends_with_the_same_bits(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The optimizer of the newest checkpoint and the result of an earlier stage are damaged."""
    whole, broken = tmp_path / "whole", tmp_path / "broken"
    run(whole, STAGES, **CHANGES)
    with crashing(monkeypatch, "dpo", 3):
        run(broken, STAGES, **CHANGES)
    checkpoints = broken / "checkpoints"
    flip(checkpoints / "sft" / WEIGHTS)
    newest = max(path.name for path in checkpoints.glob("dpo-0*"))
    flip(checkpoints / newest / OPTIMIZER)
    run(broken, STAGES, **CHANGES)
    assert contents(broken) == contents(whole)
    assert metrics_of(broken) == metrics_of(whole)
    assert damaged_in(broken) == [
        ("checkpoints/sft", "The stage sft continues from its newest good checkpoint, or from its beginning"),
        (f"checkpoints/{newest}", "The stage dpo continues from step 1"),
    ]
    assert [event.resumed_stage for event in events_of(broken) if isinstance(event, RunStarted)] == [None, "sft"]
    flip(broken / "checkpoints" / "sft" / WEIGHTS)
    with pytest.raises(ModelError, match=r"sft is damaged: model.safetensors has the SHA-256"):
        run(tmp_path / "next", ["dpo"], model={"path": str(broken / "checkpoints" / "sft")})


@pytest.mark.parametrize(
    ("name", "read"),
    [
        ("threads", lambda folder: choose_threads("auto", 10, folder / "threads")),
        ("dtype", lambda folder: precision.recorded(folder, "cpu")),
        ("identity.json", lambda folder: claim(JobSpec.model_validate(tiny_spec()), folder)),
    ],
)
@pytest.mark.parametrize("content", [b"", b"\xff", b"1e"])
def test_damaged_record_of_a_run_is_named(
    tmp_path: Path, name: str, read: Callable[[Path], object], content: bytes
) -> None:
    """A value that is made up would change the last bits of the result, or let another spec go on."""
    read(tmp_path)
    read(tmp_path)
    (tmp_path / name).write_bytes(content)
    with pytest.raises(StorageError, match=f"{name} is damaged: "):
        read(tmp_path)
