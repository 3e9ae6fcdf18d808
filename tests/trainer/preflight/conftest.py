"""The checks of this folder take the passes by a formula, unless a test needs the counts."""

import pytest

from tests.trainer.preflight.checked_jobs import ByFormula


@pytest.fixture
def counted() -> None:
    """For tests that need the counted passes."""


@pytest.fixture(autouse=True)
def _by_formula(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Count no pass. Other files test the counts."""
    if "counted" not in request.fixturenames:
        monkeypatch.setattr("trainer.preflight.check.Passes", ByFormula)
