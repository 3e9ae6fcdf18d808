"""A batch's gradient is that of its mean loss, however it is split; and the reward model's zero is the references'."""

from pathlib import Path

import pytest
import torch
from torch import Tensor

from tests import tolerance
from tests.trainer.stage_tools import CPU, logprobs_alone, new_codec, scores_alone, session_in
from tests.trainer.tiny_models import llama, scorer
from trainer.distributed.cpu_threads import PairedExecutor
from trainer.models import Model, load_reward_model
from trainer.optim.halves import accumulate_halves, divides, halves
from trainer.spec import RewardModelSpec
from trainer.stages import sft
from trainer.stages.reward_model.pairwise import accumulate_pairs, accumulate_rankings
from trainer.stages.reward_model.train import train_on_pairs
from trainer.stages.tokenized_rows import TokenizedDemonstration, TokenizedPair, rankings

EXAMPLES = [
    TokenizedDemonstration([3, 4], [5, 1]),
    TokenizedDemonstration([6], [7, 8, 9, 10, 11, 1]),
    TokenizedDemonstration([12, 13, 14], [15, 16, 1]),
]
PAIRS = [
    TokenizedPair([3, 4], [5, 1], [6, 7, 8, 1], 1.0),
    TokenizedPair([9], [10, 11, 12, 13, 1], [14, 1], 0.0),
    TokenizedPair([15, 16, 17], [18, 1], [19, 20, 1], 0.5),
]


def gradient(model: Model) -> Tensor:
    return torch.cat([parameter.grad.flatten() for parameter in model.parameters()])


@pytest.mark.parametrize("micro_batch", [1, 2, 3])
def test_sft_weights_every_completion_token_equally(micro_batch: int) -> None:
    expected, model = llama(), llama()
    total = -torch.cat([logprobs_alone(expected, e.prompt, e.completion) for e in EXAMPLES])
    (total.sum() / 11).backward()  # 2 + 6 + 3 completion tokens
    loss = sft.accumulate(model, EXAMPLES, new_codec(), micro_batch, CPU)
    assert loss == pytest.approx(float(total.detach().mean()), rel=tolerance.largest())
    torch.testing.assert_close(gradient(model), gradient(expected), **tolerance.gradients())


def test_sft_halves_at_once_add_up_to_the_whole_batch() -> None:
    whole, divided = llama(), llama()
    expected = sft.accumulate(whole, EXAMPLES, new_codec(), None, CPU)
    with PairedExecutor(1) as pair:
        loss = sft.accumulate(divided, EXAMPLES, new_codec(), None, CPU, pair=pair)
    assert loss == pytest.approx(expected, rel=tolerance.largest())
    torch.testing.assert_close(gradient(divided), gradient(whole), **tolerance.gradients())


def test_reward_model_halves_at_once_add_up_to_the_whole_batch() -> None:
    whole, divided, spec = scorer(), scorer(), RewardModelSpec()
    together = rankings(PAIRS)
    expected = accumulate_rankings(whole, together, new_codec(), None, CPU, spec)
    with PairedExecutor(1) as pair:
        figures = accumulate_rankings(divided, together, new_codec(), None, CPU, spec, pair=pair)
    assert figures == pytest.approx(expected, rel=tolerance.largest())
    torch.testing.assert_close(gradient(divided), gradient(whole), **tolerance.gradients())


def test_halves_at_once_have_the_same_bits_each_time() -> None:
    first, again = llama(), llama()
    for model in (first, again):
        with PairedExecutor(1) as pair:
            sft.accumulate(model, EXAMPLES, new_codec(), None, CPU, pair=pair)
    assert torch.equal(gradient(first), gradient(again))


def test_halves_add_to_the_gradient_that_is_there() -> None:
    """5 + d(2w)/dw + d(3w)/dw = 10 for each weight."""
    model = llama()
    for weight in model.parameters():
        weight.grad = torch.full_like(weight, 5.0)
    both = [lambda factor=factor: (sum(factor * w.sum() for w in model.parameters()), factor) for factor in (2, 3)]
    with PairedExecutor(1) as pair:
        assert accumulate_halves(pair, model, *both) == (2, 3)
    assert gradient(model).unique().tolist() == [10.0]


def test_halves_have_like_numbers_of_tokens() -> None:
    assert halves([9, 1, 2, 8, 3]) == ([0, 1, 4], [2, 3])  # by length: rows 1, 2, 4, 3, 0


def test_batch_in_micro_batches_is_not_divided_further() -> None:
    pair = PairedExecutor(1)
    assert [divides(pair, [[0, 1]], 2), divides(pair, [[0], [1]], 2), divides(pair, [[0]], 1)] == [True, False, False]


@pytest.mark.parametrize("at_once", [1, 3])
def test_sft_held_out_loss_is_the_mean_over_completion_tokens(at_once: int) -> None:
    model = llama()
    with torch.no_grad():
        total = torch.cat([logprobs_alone(model, e.prompt, e.completion) for e in EXAMPLES]).sum()
    loss = sft.evaluate(model, EXAMPLES, new_codec(), at_once, CPU)
    assert loss == pytest.approx(-float(total) / 11, rel=tolerance.largest())  # 2 + 6 + 3 completion tokens


@pytest.mark.parametrize("micro_batch", [1, 2, 3])  # 2 leaves a micro-batch of one pair
def test_reward_model_weights_every_pair_equally(micro_batch: int) -> None:
    expected, model, losses = scorer(), scorer(), []
    for pair in PAIRS:
        sides = (scores_alone(expected, pair.prompt, side)[-1] for side in (pair.a, pair.b))
        a_wins = torch.sigmoid(next(sides) - next(sides))
        losses.append(-pair.target * a_wins.log() - (1 - pair.target) * (1 - a_wins).log())
    (sum(losses) / 3).backward()
    figures = accumulate_pairs(model, PAIRS, new_codec(), micro_batch, CPU)
    assert figures["loss"] == pytest.approx(sum(float(loss.detach()) for loss in losses) / 3, rel=tolerance.largest())
    torch.testing.assert_close(gradient(model), gradient(expected), **tolerance.gradients())


def test_after_its_training_the_references_score_0_on_average(tmp_path: Path) -> None:
    model, spec = scorer(), RewardModelSpec(batch_size=2, epochs=2, learning_rate=1e-2)
    with session_in(tmp_path) as session:
        train_on_pairs(session, spec, model, new_codec(), PAIRS, PAIRS[:1], EXAMPLES)
    saved = load_reward_model(tmp_path / "checkpoints" / "reward_model")
    for trained in (model, saved):
        with torch.no_grad():
            raw = [float(scores_alone(trained, e.prompt, e.completion)[-1]) for e in EXAMPLES]
        assert sum(raw) / 3 - trained.config.score_bias == pytest.approx(0, abs=tolerance.largest())
    assert abs(saved.config.score_bias - 0.25) > 0.01  # what it began with
