"""A checkpoint that is saved as a folder has the bytes that the platform lists."""

import hashlib
from pathlib import Path
from typing import Any

import pytest

from proximal.commands import checkpoints
from proximal.errors import DamagedDownload
from proximal.sdk.checkpoint_files import save_checkpoint
from proximal.sdk.types import Checkpoint

FILES = {"config.json": b"{}", "trainer_state/state.json": b"[]"}


class Platform:
    """Serves files, some of them with other bytes."""

    def __init__(self, served: dict[str, bytes] | None = None) -> None:
        self.served = FILES | (served or {})
        self.asked: list[str] = []

    def __enter__(self) -> "Platform":
        return self

    def __exit__(self, *_: object) -> None:
        return None

    def list_job_checkpoints(self, job_id: str) -> list[Checkpoint]:
        return [
            checkpoint(stage="sft"),
            checkpoint(id="ckpt_2"),
            checkpoint(id="ckpt_3", final=False, damage="x is missing"),
        ]

    def download_checkpoint_file(self, checkpoint_id: str, path: str, target: Path) -> Path:
        self.asked.append(path)
        target.write_bytes(self.served[path])
        return target


def checkpoint(paths: tuple[str, ...] = tuple(FILES), **fields: Any) -> Checkpoint:
    files = [{"path": path, "bytes": 2, "sha256": hashlib.sha256(FILES.get(path, b"")).hexdigest()} for path in paths]
    row: dict[str, Any] = {"id": "ckpt_1", "stage": "ppo", "step": 7, "seed": None, "final": True, "best": False}
    row |= {"bytes": 4, "files": files, "can_branch": True, "damage": None}
    return row | fields  # type: ignore[return-value]


def test_save_checkpoint_writes_every_file(tmp_path: Path) -> None:
    save_checkpoint(Platform(), checkpoint(), tmp_path / "model")
    assert {path: (tmp_path / "model" / path).read_bytes() for path in FILES} == FILES


def test_save_checkpoint_damaged_on_its_way_is_refused(tmp_path: Path) -> None:
    """The wrong file is removed. The next try downloads only what is missing."""
    platform = Platform({"trainer_state/state.json": b"{]"})
    with pytest.raises(
        DamagedDownload, match=r"trainer_state/state.json of ckpt_1 arrived with the SHA-256 \w{64} instead"
    ):
        save_checkpoint(platform, checkpoint(), tmp_path)
    assert not (tmp_path / "trainer_state/state.json").exists()
    again = Platform()
    save_checkpoint(again, checkpoint(), tmp_path)
    assert again.asked == ["trainer_state/state.json"]


@pytest.mark.parametrize("path", ["../x", "/x", "a/../../x", "a\\x", ""])
def test_save_checkpoint_outside_its_folder_is_refused(tmp_path: Path, path: str) -> None:
    platform = Platform()
    with pytest.raises(DamagedDownload, match="outside the folder"):
        save_checkpoint(platform, checkpoint((path,)), tmp_path / "model")
    assert not platform.asked


def test_download_command_takes_the_last_policy() -> None:
    chosen = checkpoints._chosen(Platform(), "job_1", None)  # type: ignore[arg-type]
    assert chosen["id"] == "ckpt_2"


def test_checkpoints_command_shows_damaged_ones() -> None:
    platform = Platform()
    shown = {name: column(platform.list_job_checkpoints("job_1")[2]) for name, column in checkpoints.COLUMNS.items()}
    assert shown == {
        "stage": "ppo", "step": 7, "seed": "", "kind": "state", "branch": "yes", "GiB": "3.73e-09", "damage": "x is missing"
    }  # fmt: skip
