"""torch's own AdamW."""

from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor


class PlainAdamW(torch.optim.AdamW):
    """fp32 weights, their moments beside them."""

    def tensors(self) -> dict[str, Tensor]:
        return flat(self.state_dict()["state"])

    def put_back(self, tensors: dict[str, Tensor]) -> None:
        self.load_state_dict({"state": nested(tensors), "param_groups": self.state_dict()["param_groups"]})


def flat(state: Mapping[int, Mapping[str, Any]]) -> dict[str, Tensor]:
    """By `<parameter's number>.<name>`."""
    return {f"{index}.{name}": value for index, entry in state.items() for name, value in entry.items()}


def nested(tensors: Mapping[str, Tensor]) -> dict[int, dict[str, Tensor]]:
    """What `flat` made flat."""
    state: dict[int, dict[str, Tensor]] = {}
    for key, value in tensors.items():
        index, name = key.split(".", 1)
        state.setdefault(int(index), {})[name] = value
    return state
