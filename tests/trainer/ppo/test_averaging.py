import pytest
import torch

from trainer.ppo.averaging import StepMean

LENGTHS = torch.tensor([1, 3])
LOSSES = torch.tensor([[2.0, 9.0, 9.0], [1.0, 4.0, 7.0]])
MASK = torch.tensor([[True, False, False], [True, True, True]])


@pytest.mark.parametrize(
    ("kind", "mean"),
    [
        ("token_mean", 3.5),  # (2 + 1 + 4 + 7) / 4
        ("sequence_mean", 3.0),  # (2 + (1 + 4 + 7) / 3) / 2
        ("fixed_length", 0.7),  # (2 + 1 + 4 + 7) / (2 · 10)
    ],
)
def test_each_average_by_hand_whole_and_in_parts(kind: str, mean: float) -> None:
    average = StepMean.over(LENGTHS, kind, max_new_tokens=10)  # type: ignore[arg-type]
    assert float(average.share(LOSSES, MASK, slice(0, 2))) == pytest.approx(mean)
    parts = [average.share(LOSSES[:1, :1], MASK[:1, :1], slice(0, 1)), average.share(LOSSES[1:], MASK[1:], slice(1, 2))]
    assert float(sum(parts)) == pytest.approx(mean)
