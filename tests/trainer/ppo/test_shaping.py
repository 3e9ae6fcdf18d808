import torch

from trainer.masking import masked_mean, masked_whiten
from trainer.ppo.kl import kl_estimate
from trainer.ppo.shaping import missing_eos, token_rewards
from trainer.spec import ShapingSpec


def test_the_score_lands_on_the_last_token_and_the_kl_on_every_one() -> None:
    mask = torch.tensor([[True, True, True], [True, False, False]])
    kl = torch.tensor([[0.1, -0.2, 0.3], [0.5, 7.0, 7.0]])
    rewards = token_rewards(torch.tensor([2.0, -1.0]), kl, mask, kl_coef=0.5)
    torch.testing.assert_close(rewards, torch.tensor([[-0.05, 0.1, 1.85], [-1.25, 0.0, 0.0]]))


def test_only_unfinished_responses_are_penalised() -> None:
    scores = missing_eos(torch.tensor([1.0, 1.0]), torch.tensor([True, False]), ShapingSpec(missing_eos_penalty=1.5))
    assert scores.tolist() == [1.0, -0.5]


def test_k1_averages_to_the_exact_kl() -> None:
    policy, reference = torch.tensor([0.5, 0.3, 0.2]), torch.tensor([0.2, 0.2, 0.6])
    exact = (
        0.5 * torch.log(torch.tensor(2.5)) + 0.3 * torch.log(torch.tensor(1.5)) + 0.2 * torch.log(torch.tensor(1 / 3))
    )
    torch.testing.assert_close((policy * kl_estimate("k1", policy.log(), reference.log())).sum(), exact)


def test_masked_mean_counts_only_what_counts() -> None:
    assert float(masked_mean(torch.tensor([1.0, 3.0, torch.nan]), torch.tensor([True, True, False]))) == 2.0


def test_whitening_has_mean_0_and_variance_1_over_the_mask_only() -> None:
    mask = torch.tensor([[True, True, False], [True, True, False]])
    white = masked_whiten(torch.tensor([[1.0, 2.0, 500.0], [3.0, 6.0, -500.0]]), mask)
    inside = white[mask]
    torch.testing.assert_close(inside.mean(), torch.tensor(0.0))
    torch.testing.assert_close(inside.var(unbiased=False), torch.tensor(1.0))
    assert not white[~mask].any()
