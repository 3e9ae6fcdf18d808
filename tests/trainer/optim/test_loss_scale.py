"""Dynamic loss scaling by hand: the rule, gradients that float16 would lose, and planted overflows."""

import math

import pytest
import torch
from torch import Tensor, nn

from trainer.errors import Diverged
from trainer.models.heads import autocast, compute_in
from trainer.optim import loss_scale
from trainer.optim.learner import Learner
from trainer.optim.loss_scale import LossScale, backward
from trainer.spec import OptimizerSpec

SPEC = OptimizerSpec.model_validate({"learning_rate": 0.1, "lr_schedule": "constant", "warmup_ratio": 0})


class One(nn.Linear):
    """y = w·x with w = 1."""

    device = torch.device("cpu")

    def __init__(self) -> None:
        super().__init__(1, 1, bias=False)
        nn.init.constant_(self.weight, 1.0)

    def loss(self, slope: float, x: float = 1.0) -> Tensor:
        """slope·w·x, so the gradient of y is the slope, and that of w is slope·x."""
        with autocast(self):
            y = self(torch.tensor([[x]]))
        return slope * y.float().sum()


def learner_of(dtype: torch.dtype = torch.float16) -> Learner:
    return Learner(compute_in(One(), dtype), SPEC, total_steps=10_000)


def step(learner: Learner, slope: float, x: float = 1.0) -> float:
    backward(learner.model.loss(slope, x), learner.model)
    return learner.update(0)


def scale_of(learner: Learner) -> LossScale:
    assert learner.loss_scale is not None
    return learner.loss_scale


def test_scale_halves_after_an_overflow_and_doubles_in_time() -> None:
    scale = LossScale()
    for _ in range(1999):
        scale.grow()
    assert (scale.value, scale.steps) == (65536.0, 1999)
    assert scale.back_off() and (scale.value, scale.steps, scale.overflows) == (32768.0, 0, 1)
    for _ in range(2000):
        scale.grow()
    assert (scale.value, scale.steps, scale.overflows) == (65536.0, 0, 1)


def test_scale_stays_between_1_and_2_to_the_24() -> None:
    scale = LossScale(2.0**24, 1999)
    scale.grow()
    assert (scale.value, scale.steps) == (2.0**24, 0)
    low = LossScale(2.0)
    assert low.back_off() and low.value == 1.0
    assert not low.back_off() and (low.value, low.overflows) == (1.0, 1)


def test_gradient_below_the_range_of_float16_survives() -> None:
    """1e-8 is 0 in float16, whose smallest number is 6e-8. 65536 times it is 6.55e-4, with 11 bits."""
    lost = compute_in(One(), torch.float16)
    lost.loss(1e-8).backward()
    assert lost.weight.grad is not None and lost.weight.grad.item() == 0.0
    assert step(learner_of(), 1e-8) == pytest.approx(1e-8, rel=2**-10)


def test_scaling_changes_no_bit_where_nothing_is_lost() -> None:
    plain, scaled = learner_of(torch.float32), learner_of(torch.float16)
    for slope in (0.5, 0.25, -0.375):
        assert step(plain, slope) == step(scaled, slope)
    assert torch.equal(plain.model.weight, scaled.model.weight) and plain.scale_metrics == {}


def test_step_that_overflows_is_left_out_until_the_scale_fits() -> None:
    """10·s is above 65504 at s = 65536, 32768, 16384 and 8192, and 40960 at s = 4096."""
    learner = learner_of()
    for expected in (32768.0, 16384.0, 8192.0, 4096.0):
        assert step(learner, 10.0) == math.inf
        assert learner.model.weight.item() == 1.0 and learner.model.weight.grad is None
        assert scale_of(learner).value == expected
    assert step(learner, 10.0) == 10.0
    assert learner.model.weight.item() == pytest.approx(0.9, abs=1e-6)  # Adam's first step has the length of the rate
    assert learner.scale_metrics == {"loss_scale": 4096.0, "overflows": 4.0}


def test_metrics_of_a_step_left_out_have_no_norm() -> None:
    learner = learner_of()
    backward(learner.model.loss(10.0), learner.model)
    assert learner.measured_update(0) == {"loss_scale": 32768.0, "overflows": 1.0}
    backward(learner.model.loss(1.0), learner.model)
    assert learner.measured_update(1) == {"grad_norm": 1.0, "loss_scale": 32768.0, "overflows": 1.0}


def test_scale_that_collapses_is_an_error() -> None:
    """A slope of 10⁵ overflows at any scale: 16 halvings lead to 1, and the step after them is one too many."""
    learner = learner_of()
    for _ in range(16):
        assert step(learner, 1e5) == math.inf
    assert scale_of(learner).value == 1.0
    with pytest.raises(Diverged, match=r"also at a loss scale of 1\..*float32"):
        step(learner, 1e5)
    assert learner.model.weight.item() == 1.0


def test_restored_scale_counts_on_and_other_types_ignore_it() -> None:
    first = learner_of()
    step(first, 10.0), step(first, 1.0)
    again, other = learner_of(), learner_of(torch.float32)
    again.restore(first.state())
    other.restore(first.state())
    assert (scale_of(again).value, scale_of(again).steps, scale_of(again).overflows) == (32768.0, 1, 1)
    assert other.loss_scale is None and set(other.state()) == set(first.state()) - {"loss_scale"}


def test_float16_run_that_began_in_another_type_has_a_new_scale(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(loss_scale, "INITIAL", 512.0)
    before, after = learner_of(torch.bfloat16), learner_of()
    step(before, 1.0)
    after.restore(before.state())
    assert after.scale_metrics == {"loss_scale": 512.0, "overflows": 0.0}
