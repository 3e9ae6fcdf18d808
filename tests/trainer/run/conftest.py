from pathlib import Path

import pytest

from tests.trainer.run.tools import run


@pytest.fixture(scope="session")
def first(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A finished run of SFT and reward model, for others to start from."""
    folder = tmp_path_factory.mktemp("first")
    run(folder, ["sft", "reward_model"])
    return folder / "checkpoints"
