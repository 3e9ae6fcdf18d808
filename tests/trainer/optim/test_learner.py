import pytest
import torch
from torch import nn

from trainer.errors import Diverged
from trainer.optim.learner import Learner, schedule_factor
from trainer.spec import OptimizerSpec


@pytest.mark.parametrize(
    ("shape", "expected"),
    [
        ("constant", [0.5, 1.0, 1.0, 1.0, 1.0, 1.0]),
        ("linear", [0.5, 1.0, 1.0, 0.75, 0.5, 0.25]),
        ("cosine", [0.5, 1.0, 1.0, 0.853553, 0.5, 0.146447]),
    ],
)
def test_schedules_by_hand(shape: str, expected: list[float]) -> None:
    factors = [schedule_factor(shape, step, 6, warmup_ratio=1 / 3) for step in range(6)]  # type: ignore[arg-type]
    assert factors == pytest.approx(expected, abs=1e-6)


def learner_of(weight: float, **changes: object) -> Learner:
    model = nn.Linear(1, 1, bias=False)
    nn.init.constant_(model.weight, weight)
    spec = OptimizerSpec.model_validate({"learning_rate": 0.1, "lr_schedule": "constant", "warmup_ratio": 0, **changes})
    return Learner(model, spec, total_steps=10)


def test_learner_update_returns_unclipped_norm_and_moves_by_lr() -> None:
    learner = learner_of(1.0)
    (learner.model(torch.tensor([[8.0]]))).sum().backward()
    assert learner.update(0) == pytest.approx(8.0)
    assert learner.model.weight.item() == pytest.approx(0.9, abs=1e-6)  # Adam's first step has the length of the rate


def test_a_live_learning_rate_holds_from_the_next_step_on() -> None:
    learner = learner_of(1.0, lr_schedule="linear")
    assert learner.retune("learning_rate", OptimizerSpec(learning_rate=0.02)) == 0.1
    assert learner.lr(5) == pytest.approx(0.01)  # half of the way down
    learner.model(torch.tensor([[8.0]])).sum().backward()
    learner.update(0)
    assert learner.model.weight.item() == pytest.approx(0.98, abs=1e-6)


def test_a_gradient_that_is_not_finite_leaves_the_weights_alone() -> None:
    learner = learner_of(1.0)
    (learner.model(torch.tensor([[torch.inf]]))).sum().backward()
    with pytest.raises(Diverged, match="gradient is not finite"):
        learner.update(0)
    assert learner.model.weight.item() == 1.0


def test_a_restored_optimizer_goes_on_with_the_same_bits() -> None:
    def advance(learner: Learner, steps: range) -> None:
        for step in steps:
            (learner.model(torch.tensor([[1.0 + step]])) ** 2).sum().backward()
            learner.update(step)

    whole, first = learner_of(1.0), learner_of(1.0)
    advance(whole, range(6))
    advance(first, range(3))
    second = learner_of(first.model.weight.item())
    second.restore(first.state())
    advance(second, range(3, 6))
    assert torch.equal(whole.model.weight, second.model.weight)
    forgetful = learner_of(first.model.weight.item())
    advance(forgetful, range(3, 6))
    assert not torch.equal(whole.model.weight, forgetful.model.weight)


def test_decay_touches_matrices_only() -> None:
    model = nn.Linear(2, 2)
    learner = Learner(model, OptimizerSpec(weight_decay=0.5), 1)
    decayed, plain = learner.optimizer.param_groups
    assert [p is model.weight for p in decayed["params"]] == [True] and decayed["weight_decay"] == 0.5
    assert [p is model.bias for p in plain["params"]] == [True] and plain["weight_decay"] == 0.0


@pytest.mark.parametrize(
    ("ratio", "expected"),
    [
        (0.25, [0.5, 1.0, 1.0, 0.75, 0.5, 0.25]),  # 1.5 of 6 steps: 2
        (0.01, [1.0, 1.0, 0.8, 0.6, 0.4, 0.2]),  # .06 of a step: 1
        (0.0, [1.0, 5 / 6, 4 / 6, 3 / 6, 2 / 6, 1 / 6]),
    ],
)
def test_part_of_a_warm_up_step_is_a_whole_one(ratio: float, expected: list[float]) -> None:
    assert [schedule_factor("linear", step, 6, ratio) for step in range(6)] == pytest.approx(expected)
