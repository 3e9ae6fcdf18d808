"""The numbers of PPO's checkpoints (`trainer_state/state.json`), and how those of an earlier format are read.

    format     2
    state      PPOState: coefficients with the setting that they were adapted from, running scale, V*, labelled pairs
    history    RunHistory: health rules, best checkpoint, curve, value pretraining, responses without a value
    knobs      the live knobs: value, value of the spec that it replaced, step
    commands   ids of the commands that were carried out after the checkpoint's step
    step, seconds, score_level

Format 1 had no number. It named `state` `dials`, `history` `course`, and stored no setting with a coefficient.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from trainer.errors import StorageError

FORMAT = 2


def in_present_format(numbers: Mapping[str, Any], checkpoint: Path) -> dict[str, Any]:
    """The numbers in the present format. Raises StorageError for a later one; `checkpoint` is named there."""
    stored = numbers.get("format", 1)
    if stored > FORMAT:
        raise StorageError(
            f"The checkpoint {checkpoint} was saved by a later release of Proximal: its format is {stored}, and this release "
            f"reads formats up to {FORMAT}. Resume the run with that release, or delete the folder to go on from an earlier one."
        )
    return dict(numbers) if stored == FORMAT else _from_format_1(numbers)


def _from_format_1(numbers: Mapping[str, Any]) -> dict[str, Any]:
    """`began_with` had the coefficients of the spec. A live knob replaced the first one, also if a roll-back went further back."""
    old = {name: value for name, value in numbers.items() if name not in ("dials", "course", "began_with", "kl_coef")}
    state, began, knob = dict(numbers["dials"]), numbers["began_with"], numbers.get("knobs", {}).get("kl_coef")
    coef = {"value": began["kl_coef"], "step": None}
    if knob is not None:
        coef = {"value": knob["value"], "step": knob["step"]}
    state["kl_coef"] = {"value": numbers.get("kl_coef", state["kl_coef"]), "origin": coef}
    state["old_kl_beta"] = {"value": state["old_kl_beta"], "origin": {"value": began["old_kl_beta"], "step": None}}
    return old | {"format": FORMAT, "state": state, "history": numbers["course"]}
