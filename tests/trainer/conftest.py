from collections.abc import Iterator
from pathlib import Path

import pytest
import torch

SHARED_DATA = Path(__file__).parents[3] / "shared" / "data"


@pytest.fixture(autouse=True, scope="package")
def _one_thread() -> Iterator[None]:
    """Models this small are only slowed down by more, on a busy machine fourfold."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@pytest.fixture
def shared_data() -> Path:
    """Real models and texts that the repository does not carry."""
    if not SHARED_DATA.is_dir():
        pytest.skip("the shared models and datasets are not on this machine")
    return SHARED_DATA
