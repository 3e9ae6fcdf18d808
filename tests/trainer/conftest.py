from pathlib import Path

import pytest

SHARED_DATA = Path(__file__).parents[3] / "shared" / "data"


@pytest.fixture
def shared_data() -> Path:
    """Real models and texts that the repository does not carry."""
    if not SHARED_DATA.is_dir():
        pytest.skip("the shared models and datasets are not on this machine")
    return SHARED_DATA
