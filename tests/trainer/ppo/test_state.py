import pytest
import torch
from torch import nn

from trainer.errors import ModelError
from trainer.ppo.state import move_reference
from trainer.spec import ReferenceSpec


def moved(spec: dict[str, object], iterations: int, dtype: torch.dtype = torch.float32) -> list[float]:
    """The reference's one weight after each iteration; the policy's goes 1, 2, 3, …, the reference begins at 0."""
    reference, policy, seen = nn.Linear(1, 1, bias=False, dtype=dtype), nn.Linear(1, 1, bias=False), []
    nn.init.zeros_(reference.weight)
    for iteration in range(iterations):
        nn.init.constant_(policy.weight, iteration + 1.0)
        move_reference(reference, policy, ReferenceSpec.model_validate(spec), iteration)
        seen.append(reference.weight.item())
    return seen


def test_a_fixed_one_stays() -> None:
    assert moved({}, 3) == [0, 0, 0]


def test_a_reanchored_one_is_a_copy_every_so_many_iterations() -> None:
    assert moved({"update": "reanchored"}, 3) == [1, 2, 3]
    assert moved({"update": "reanchored", "every": 2}, 5) == [0, 2, 2, 4, 4]


def test_a_moving_average_by_hand() -> None:
    # .75·0 + .25·1, .75·.25 + .25·2, .75·.6875 + .25·3
    assert moved({"update": "ema", "decay": 0.75}, 3) == pytest.approx([0.25, 0.6875, 1.265625])


def test_a_moving_average_too_coarse_to_move_is_refused() -> None:
    with pytest.raises(ModelError, match="float32"):
        moved({"update": "ema"}, 1, torch.bfloat16)


def test_a_copy_does_not_follow_the_policy_afterwards() -> None:
    reference, policy = nn.Linear(1, 1), nn.Linear(1, 1)
    move_reference(reference, policy, ReferenceSpec(update="reanchored"), 0)
    before = reference.weight.item()
    nn.init.constant_(policy.weight, 9.0)
    assert reference.weight.item() == before != 9.0


def test_another_architecture_is_refused() -> None:
    with pytest.raises(ModelError, match="own architecture"):
        move_reference(nn.Linear(2, 1), nn.Linear(1, 1), ReferenceSpec(update="ema"), 0)
