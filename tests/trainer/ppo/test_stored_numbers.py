"""The formats of the numbers in PPO's checkpoints."""

from pathlib import Path
from typing import Any

import pytest

from trainer.errors import StorageError
from trainer.ppo.stored_numbers import in_present_format

FOLDER = Path("checkpoints/ppo-000004")
OLD: dict[str, Any] = {
    "dials": {"kl_coef": 0.19, "old_kl_beta": 0.5, "cut_steps_left": 2},
    "course": {"rate_factor": 0.5},
    "began_with": {"kl_coef": 0.05, "old_kl_beta": 1.0},
    "step": 4,
    "knobs": {},
}


def test_format_1_coefficients_come_from_the_spec() -> None:
    assert in_present_format(OLD, FOLDER) == {
        "format": 2,
        "state": {
            "kl_coef": {"value": 0.19, "origin": {"value": 0.05, "step": None}},
            "old_kl_beta": {"value": 0.5, "origin": {"value": 1.0, "step": None}},
            "cut_steps_left": 2,
        },
        "history": {"rate_factor": 0.5},
        "step": 4,
        "knobs": {},
    }


def test_format_1_coefficient_set_live_comes_from_the_knob() -> None:
    knobs = {"kl_coef": {"value": 0.2, "replaced": 0.05, "step": 3}}
    kept = in_present_format(OLD | {"knobs": knobs}, FOLDER)["state"]["kl_coef"]
    assert kept == {"value": 0.19, "origin": {"value": 0.2, "step": 3}}
    rolled_back = in_present_format(OLD | {"knobs": knobs, "kl_coef": 0.2}, FOLDER)["state"]["kl_coef"]
    assert rolled_back == {"value": 0.2, "origin": {"value": 0.2, "step": 3}}


def test_later_format_is_refused() -> None:
    with pytest.raises(StorageError, match=r"ppo-000004 was saved by a later release of Proximal: its format is 3"):
        in_present_format({"format": 3}, FOLDER)
