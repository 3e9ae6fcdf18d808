"""A checkpoint whose files are not those that were saved is never used, and is named."""

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.trainer.session.test_checkpoint import TOKENIZER, state
from tests.trainer.tiny_models import llama
from trainer.errors import ModelError, StorageError
from trainer.events import CheckpointDamaged, Event
from trainer.session import manifest
from trainer.session.checkpoint import Checkpoints, StageResult, load_numbers
from trainer.session.damaged import refuse_damaged_model

WEIGHTS, OPTIMIZER = "model.safetensors", "trainer_state/optimizer.safetensors"


def flip(file: Path, count: int = 64) -> None:
    """Invert bytes in the last part of a file, which keeps its size and its header."""
    content = bytearray(file.read_bytes())
    start = max(0, len(content) - 2 * count)
    content[start : start + count] = bytes(255 - byte for byte in content[start : start + count])
    file.write_bytes(content)


def cut(file: Path) -> None:
    file.write_bytes(file.read_bytes()[:-10])


def loop(file: Path) -> None:
    """Replace a file by a link to itself."""
    file.unlink()
    file.symlink_to(file.name)


def write_list(file: Path, files: list[dict[str, Any]]) -> None:
    file.write_text(json.dumps({"version": 1, "files": files}))


def two_saved(folder: Path, events: list[Event] | None = None) -> Checkpoints:
    """Checkpoints of the steps 1 and 2, as a process that has just started finds them."""
    made = Checkpoints(folder, keep_last=2)
    for step in (1, 2):
        made.save("ppo", step, llama(), TOKENIZER, state(step))
    return Checkpoints(folder, keep_last=2, emit=[].append if events is None else events.append)


@pytest.mark.parametrize(
    ("damage", "file", "reason"),
    [
        (cut, WEIGHTS, "model.safetensors has "),
        (flip, WEIGHTS, "model.safetensors has the SHA-256 "),
        (flip, OPTIMIZER, "trainer_state/optimizer.safetensors has the SHA-256 "),
        (flip, "trainer_state/critic/model.safetensors", "trainer_state/critic/model.safetensors has the SHA-256 "),
        (Path.unlink, WEIGHTS, "model.safetensors is missing"),
        (Path.unlink, "trainer_state/state.json", "trainer_state/state.json is missing"),
        (cut, manifest.NAME, "manifest.json is not readable: "),
        (Path.unlink, manifest.NAME, "manifest.json is missing"),
        (lambda file: file.write_text("[" * 100_000), manifest.NAME, "manifest.json is not readable: "),
        (lambda file: write_list(file, []), manifest.NAME, "config.json is not one of the files that were saved"),
        (loop, WEIGHTS, "model.safetensors is missing"),
    ],
)
def test_newest_damaged_is_named_and_the_one_before_used(
    tmp_path: Path, damage: Callable[[Path], object], file: str, reason: str
) -> None:
    events: list[Event] = []
    checkpoints = two_saved(tmp_path, events)
    damage(tmp_path / "ppo-000002" / file)
    assert checkpoints.newest("ppo") == (tmp_path / "ppo-000001", 1)
    assert checkpoints.newest("ppo") == (tmp_path / "ppo-000001", 1)
    (event,) = events
    assert isinstance(event, CheckpointDamaged)
    assert (event.stage, event.step, event.final, event.best) == ("ppo", 2, False, False)
    assert event.path.endswith("/ppo-000002") and event.reason.startswith(reason)
    assert event.remedy.startswith("The stage ppo continues from step 1. ")
    assert (tmp_path / "damaged-ppo-000002").is_dir() and not (tmp_path / "ppo-000002").exists()


def test_newest_all_damaged_begins_the_stage_anew(tmp_path: Path) -> None:
    events: list[Event] = []
    checkpoints = two_saved(tmp_path, events)
    for step in (1, 2):
        flip(tmp_path / f"ppo-00000{step}" / WEIGHTS)
    assert checkpoints.newest("ppo") is None
    assert [(e.step, e.remedy.split(". ")[0]) for e in events if isinstance(e, CheckpointDamaged)] == [
        (2, "The stage ppo begins anew"),
        (1, "The stage ppo begins anew"),
    ]


def test_save_after_damaged_one_keeps_the_good_ones(tmp_path: Path) -> None:
    """The damaged folder does not count as one of those that are kept, and its step can be saved again."""
    checkpoints = two_saved(tmp_path)
    flip(tmp_path / "ppo-000002" / WEIGHTS)
    checkpoints.newest("ppo")
    checkpoints.save("ppo", 2, llama(), TOKENIZER, state(2))
    names = sorted(path.name for path in tmp_path.iterdir())
    assert names == ["damaged-ppo-000002", "ppo-000001", "ppo-000002"]
    assert Checkpoints(tmp_path, keep_last=2).newest("ppo") == (tmp_path / "ppo-000002", 2)


def test_result_damaged_is_no_result(tmp_path: Path) -> None:
    events: list[Event] = []
    Checkpoints(tmp_path, 2).save_final("sft", llama(), TOKENIZER, StageResult(5, 1.0, {}))
    flip(tmp_path / "sft" / WEIGHTS)
    checkpoints = Checkpoints(tmp_path, 2, emit=events.append)
    assert checkpoints.result("sft") is None and checkpoints.result("sft") is None
    (event,) = events
    assert isinstance(event, CheckpointDamaged) and event.final and event.step is None
    assert event.remedy.startswith("The stage sft continues from its newest good checkpoint, or from its beginning.")


def test_best_damaged_is_left_out(tmp_path: Path) -> None:
    events: list[Event] = []
    Checkpoints(tmp_path, 2).save_best("ppo", 10, llama(), TOKENIZER, {"win_rate": 0.7}, None)
    flip(tmp_path / "ppo-best" / WEIGHTS)
    assert Checkpoints(tmp_path, 2, emit=events.append).best("ppo") is None
    assert [(event.type, getattr(event, "best", None)) for event in events] == [("checkpoint_damaged", True)]


def test_verify_again_finds_one_damaged_since(tmp_path: Path) -> None:
    """Each use at the start of a run verifies once. A roll-back verifies again, hours later."""
    checkpoints = two_saved(tmp_path)
    assert checkpoints.newest("ppo") == (tmp_path / "ppo-000002", 2)
    flip(tmp_path / "ppo-000002" / WEIGHTS)
    assert checkpoints.newest("ppo") == (tmp_path / "ppo-000002", 2)
    checkpoints.verify_again()
    assert checkpoints.newest("ppo") == (tmp_path / "ppo-000001", 1)


def test_restore_gives_the_copy_its_own_manifest(tmp_path: Path) -> None:
    """The manifest of the copy lists its own numbers, and that of the original is unchanged."""
    checkpoints = Checkpoints(tmp_path, keep_last=1)
    best = checkpoints.save_best("ppo", 10, llama(), TOKENIZER, {"win_rate": 0.7}, state(10))
    path = checkpoints.restore("ppo", best, 34, {"step": 34})
    again = Checkpoints(tmp_path, keep_last=1)
    assert again.newest("ppo") == (path, 34) and again.best("ppo") == (best, 10)
    assert load_numbers(path) == {"step": 34}


@pytest.mark.parametrize(
    "name",
    [
        "model-00002-of-00002.safetensors",
        "model.safetensors.index.json",
        "adapter_config.json",
        "trainer_state/optimizer-00001-of-00002.safetensors",
    ],
)
def test_file_beside_the_saved_ones_counts_as_damaged(tmp_path: Path, name: str) -> None:
    """A loader would read it. A file that no loader reads, or a hidden one, does no harm."""
    checkpoints = two_saved(tmp_path)
    newest = tmp_path / "ppo-000002"
    for harmless in (".nfs0001", "README.md"):
        (newest / harmless).write_text("-")
    assert checkpoints.newest("ppo") == (newest, 2)
    (newest / name).write_text("{}")
    assert Checkpoints(tmp_path, keep_last=2).newest("ppo") == (tmp_path / "ppo-000001", 1)


@pytest.mark.parametrize("path", ["../sft/stage.json", "/etc/passwd", "a\0b", "", "a" * 5000])
def test_manifest_that_leads_elsewhere_is_damaged(tmp_path: Path, path: str) -> None:
    folder = tmp_path / "ppo-000001"
    folder.mkdir()
    write_list(folder / manifest.NAME, [{"path": path, "bytes": 0, "sha256": "0"}])
    found = manifest.damage(folder)
    assert found is not None and found.startswith(("manifest.json is not readable: ", f"{path} is missing"))


def test_unreadable_checkpoint_is_not_called_damaged(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The disk may work again, so the folder stays where it is."""
    checkpoints = two_saved(tmp_path)

    def fail(path: Path) -> str:
        raise OSError(5, os.strerror(5), str(path))

    with monkeypatch.context() as patch:
        patch.setattr(manifest, "_sha256", fail)
        with pytest.raises(
            StorageError, match=r"ppo-000002 cannot be read: Input/output error. Its content may be good"
        ):
            checkpoints.newest("ppo")
    assert checkpoints.newest("ppo") == (tmp_path / "ppo-000002", 2)


def test_manifest_lists_every_file_of_sharded_saves(tmp_path: Path) -> None:
    """The main process writes it after the others have written their parts."""
    (tmp_path / "part").mkdir()
    (tmp_path / "model-00002-of-00002.safetensors").write_bytes(b"abc")
    (tmp_path / "part" / "x").write_bytes(b"")
    manifest.write(tmp_path)
    listed = json.loads((tmp_path / manifest.NAME).read_text())["files"]
    # echo -n abc | sha256sum, and of nothing
    assert listed == [
        {
            "path": "model-00002-of-00002.safetensors",
            "bytes": 3,
            "sha256": "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad",
        },
        {
            "path": "part/x",
            "bytes": 0,
            "sha256": "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
        },
    ]


def test_model_of_damaged_checkpoint_is_refused(tmp_path: Path) -> None:
    """The state for a resume is not looked at: the platform fetches a model without it."""
    two_saved(tmp_path)
    flip(tmp_path / "ppo-000001" / OPTIMIZER)
    refuse_damaged_model(tmp_path / "ppo-000001")
    flip(tmp_path / "ppo-000001" / WEIGHTS)
    with pytest.raises(ModelError, match=r"ppo-000001 is damaged: model.safetensors has the SHA-256 "):
        refuse_damaged_model(tmp_path / "ppo-000001")
