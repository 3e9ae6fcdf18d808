"""The critic card: of batches worked out by hand, of critics that are broken on purpose, and of a run."""

import json
import math
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from torch import Tensor

from tests.trainer.ppo.test_iteration_log import trained
from tests.trainer.ppo.tools import NO_CRITIC, iterate, scored_by_hand, spec_of
from tests.trainer.running import metrics_of
from tests.trainer.stage_tools import new_codec
from trainer.events.critic_card import Critic
from trainer.metrics import METRICS
from trainer.ppo.advantages import gae
from trainer.ppo.critic_card import card_metrics, critic_card
from trainer.ppo.critic_heads import HeadValues
from trainer.ppo.experience import Experience
from trainer.rollout.batch import ScoredBatch
from trainer.spec import PPOSpec

SPEC = spec_of()
CODEC = new_codec()


def experience_of(
    scored: ScoredBatch, values_BR: Tensor, lam: float = 0.95, after_B: Tensor | None = None, gamma: float = 1.0
) -> Experience:
    """The experience of a batch whose score is the only reward, for these values."""
    mask_BR, rewards_BR = scored.batch.mask_BR, torch.zeros_like(scored.reference_logprobs_BR)
    rewards_BR[torch.arange(len(mask_BR)), mask_BR.sum(1) - 1] = scored.scores_B
    advantages_BR, returns_BR = gae(rewards_BR, values_BR, mask_BR, gamma, lam, after_B)
    return Experience(scored, scored.scores_B, rewards_BR, values_BR, advantages_BR, returns_BR)


def card_of(experience: Experience, spec: PPOSpec = SPEC) -> Critic:
    card = critic_card(experience, spec, CODEC)
    assert card is not None
    return card


def small() -> Experience:
    """Scores 1 and 3 after two tokens and one: returns 1, 1 and 3. Values 2, 0 and 4."""
    scored = scored_by_hand([[0.0, 0.0], [0.0]], [1.0, 3.0], [True, True])
    return experience_of(scored, torch.tensor([[2.0, 0.0], [4.0, 77.0]]))


def test_figures_of_a_batch_by_hand() -> None:
    card = card_of(small(), spec_of(advantage={"gae_lambda": 1.0}))
    assert (card.responses, card.tokens) == (2, 3)
    assert card.value == 2.0 and card.returns == pytest.approx(5 / 3)
    assert card.returns_std == pytest.approx(math.sqrt(8 / 9))
    # G − V = −1, 1, −1 has mean −⅓, mean square 1 and variance 8/9; G = 1, 1, 3 has variance 8/9
    assert card.explained_variance == pytest.approx(0.0, abs=1e-7)
    assert card.skill == pytest.approx(-1 / 8)
    assert card.variance_removed == pytest.approx(0.0, abs=1e-7)  # λ = 1: A = G − V
    assert card.td_error == pytest.approx(4 / 3)  # δ = 0 + 0 − 2, 1 − 0, 3 − 4
    assert card.calibration_error == 1.0  # each value alone in its bin, 1 from its return
    assert card.rank_first == 1.0  # V = 2, 4 beside the scores 1, 3
    assert card.rank_middle == 1.0  # the middle of two tokens is the first
    assert card.rank_last == 1.0  # V = 0, 4


def test_tables_of_a_batch_by_hand() -> None:
    card = card_of(small())
    first, later = card.by_position  # the first token of both responses; ⌊5·1/2⌋ = 2
    assert (first.low, first.high, first.tokens, first.value, first.returns) == (0.0, 0.2, 2, 3.0, 2.0)
    assert first.explained_variance == 1.0 and first.td_error == 1.5  # G − V = −1 for both
    assert (later.low, later.high, later.tokens, later.value, later.returns) == (0.4, 0.6, 1, 0.0, 1.0)
    assert later.explained_variance is None and later.td_error == 1.0
    assert [(one.low, one.high, one.value, one.returns) for one in card.calibration] == [(0, 0, 0, 1), (2, 2, 2, 1), (4, 4, 4, 3)]  # fmt: skip
    assert [(one.low, one.high, one.responses, one.value, one.returns) for one in card.by_length] == [(1, 1, 1, 4, 3), (2, 2, 1, 1, 1)]  # fmt: skip


def test_worst_tokens_have_their_place_and_text() -> None:
    scored = scored_by_hand([[0.0] * 3, [0.0], [0.0] * 2], [1.0, 3.0, 0.0], [True] * 3)
    ids = [[CODEC.tokenizer.encode(letter)[0] for letter in word] for word in ("xyz", "a", "no")]
    responses = [replace(response, ids=own) for response, own in zip(scored.responses, ids, strict=True)]
    values = torch.tensor([[1.0, 1.5, 1.0], [3.25, 0, 0], [0.0, -9.0, 0]])
    worst = card_of(experience_of(replace(scored, responses=responses), values)).worst
    assert [(one.response, one.position) for one in worst] == [(2, 1), (0, 1), (1, 0)]
    assert [(one.before, one.text, one.after) for one in worst] == [("n", "o", ""), ("x", "y", "z"), ("", "a", "")]
    assert [(one.value, one.returns, one.score) for one in worst] == [(-9, 0, 0), (1.5, 1, 1), (3.25, 3, 3)]


def test_text_around_a_token_is_cut_and_a_broken_character_named() -> None:
    scored, letters = scored_by_hand([[0.0] * 30], [1.0], [True]), "abcdefghijklmnopqrstuvwxyzABCD"
    ids = [CODEC.tokenizer.encode(letter)[0] for letter in letters]
    values = torch.ones(1, 30)
    values[0, 20] = 9.0
    (cut,) = card_of(experience_of(replace(scored, responses=[replace(scored.responses[0], ids=ids)]), values)).worst
    assert (cut.before, cut.text, cut.after) == ("…efghijklmnopqrst", "u", "vwxyzABC…")
    ids[19:22] = CODEC.tokenizer.encode("€")  # a character of three bytes, each a token
    (cut,) = card_of(experience_of(replace(scored, responses=[replace(scored.responses[0], ids=ids)]), values)).worst
    assert cut.text == CODEC.tokenizer.convert_ids_to_tokens(ids[20]) and cut.after.endswith("wxyzABC…")


@pytest.mark.parametrize("lam", [1.0, 0.5, 0.0])
def test_returns_after_a_cut_go_on_with_the_value_there(lam: float) -> None:
    """The targets of any λ hold that value: it is 5 here, and .5² · 5 + .5 · 2 = 2.25 at the first token."""
    scored = scored_by_hand([[0.0, 0.0]], [2.0], [False])
    experience = experience_of(scored, torch.tensor([[1.0, 4.0]]), lam, torch.tensor([5.0]), gamma=0.5)
    card = card_of(experience, spec_of(advantage={"gamma": 0.5, "gae_lambda": lam}))
    assert [part.returns for part in card.by_position] == [2.25, 4.5]
    assert [part.td_error for part in card.by_position] == [1.0, 0.5]  # .5 · 4 − 1, and 2 + .5 · 5 − 4


def test_one_response_has_no_correlation_and_no_share() -> None:
    card = card_of(experience_of(scored_by_hand([[0.0]], [2.0], [True]), torch.tensor([[1.0]])))
    shares = (card.explained_variance, card.skill, card.variance_removed)
    assert shares == (card.rank_first, card.rank_middle, card.rank_last) == (None, None, None)
    assert set(card_metrics(card)) == {f"critic/{name}" for name in ("bias", "returns", "returns_std", "td_error", "calibration_error")}  # fmt: skip
    assert (card.td_error, card.calibration_error, card.tokens) == (1.0, 1.0, 1)


@pytest.mark.parametrize("bad", [math.nan, math.inf])
def test_values_that_are_no_numbers_have_no_card(bad: float) -> None:
    scored = scored_by_hand([[0.0, 0.0], [0.0]], [1.0, 3.0], [True, True])
    assert critic_card(experience_of(scored, torch.tensor([[2.0, bad], [4.0, 0.0]])), SPEC, CODEC) is None
    assert critic_card(experience_of(scored, torch.tensor([[2.0, 1.0], [4.0, bad]])), SPEC, CODEC) is not None  # a pad


def test_without_a_critic_there_is_no_card() -> None:
    spec = spec_of(advantage=NO_CRITIC)
    _, experience, _ = iterate(spec)
    assert critic_card(experience, spec, CODEC) is None and card_metrics(None) == {}


def test_responses_without_a_reward_are_left_out() -> None:
    """The second of three has none: the card is that of the others alone, which keep their places in the batch."""
    whole = scored_by_hand([[0.0, 0.0], [0.0] * 5, [0.0]], [1.0, math.nan, 3.0], [True] * 3)
    found = card_of(experience_of(whole.select([0, 2]), torch.tensor([[2.0, 0.0], [4.0, 77.0]])))
    expected = card_of(small())
    assert [one.response for one in found.worst] == [0, 2]
    assert found.model_copy(update={"worst": []}) == expected.model_copy(update={"worst": []})


def long_batch() -> tuple[ScoredBatch, Tensor]:
    """Random scores and lengths, and a good critic: the score, seen more clearly from token to token."""
    draw = torch.Generator().manual_seed(5)
    lengths = torch.randint(4, 30, (64,), generator=draw).tolist()
    scores = torch.randn(64, generator=draw)
    scored = scored_by_hand([[0.0] * length for length in lengths], scores.tolist(), [True] * 64)
    mask_BR = scored.batch.mask_BR
    clear_BR = (torch.arange(mask_BR.shape[1]) + 1) / mask_BR.sum(1)[:, None]
    return scored, torch.where(mask_BR, scores[:, None] * clear_BR.clamp(max=1), 0.0)


def noise(values_BR: Tensor) -> Tensor:
    return 2 * torch.randn(values_BR.shape, generator=torch.Generator().manual_seed(6))


BROKEN: dict[str, Callable[[Tensor], Tensor]] = {
    "noise": noise,
    "the wrong sign": torch.neg,
    "values of other responses": lambda values_BR: values_BR.roll(1, 0),
    "far too high": lambda values_BR: values_BR + 3,
    "constant": lambda values_BR: torch.full_like(values_BR, 5.0),
}


def test_a_good_critic_looks_good() -> None:
    scored, values_BR = long_batch()
    card = card_of(experience_of(scored, values_BR))
    assert card.skill is not None and card.skill > 0.6
    assert card.variance_removed is not None and card.variance_removed > 0.5
    assert card.rank_last == 1.0 and card.rank_first is not None and card.rank_first > 0.9
    ratios = [part.explained_variance for part in card.by_position]
    assert all(ratio is not None for ratio in ratios) and ratios == sorted(ratios, key=lambda ratio: ratio or 0)


@pytest.mark.parametrize("name", BROKEN)
def test_a_critic_broken_on_purpose_looks_broken(name: str) -> None:
    """Whatever λ makes of its targets: those of a small λ are the critic's own values, which it foresees well."""
    scored, values_BR = long_batch()
    card = card_of(experience_of(scored, BROKEN[name](values_BR), lam=0.1))
    assert card.skill is not None and card.skill < -0.05
    assert card.calibration_error > 0.3 * card.returns_std
    if name != "far too high":  # its ranks and its variance are those of the good critic
        assert card.rank_last is None or card.rank_last < 0.3
        assert all((part.explained_variance or 0) < 0.05 for part in card.by_position)


def test_a_bias_by_length_is_seen() -> None:
    scored, values_BR = long_batch()
    longer_BR = values_BR + 0.1 * scored.batch.mask_BR.sum(1)[:, None]
    bins = card_of(experience_of(scored, longer_BR)).by_length
    biases = [one.value - one.returns for one in bins]
    assert len(bins) == 4 and sum(one.responses for one in bins) == 64
    assert biases == sorted(biases) and biases[-1] - biases[0] > 1.5
    assert [one.low for one in bins[1:]] > [one.high for one in bins[:-1]]


def test_every_figure_is_a_metric_with_a_meaning() -> None:
    scored, values_BR = long_batch()
    experience = experience_of(scored, values_BR)
    two = HeadValues(torch.stack([values_BR, 2 * values_BR], -1), torch.zeros(len(values_BR), dtype=torch.long))
    card = card_of(replace(experience, heads=two))
    found = card_metrics(card)
    assert found["critic/bias"] == pytest.approx(card.value - card.returns)
    assert found.keys() == {metric.name for metric in METRICS if metric.name.startswith("critic/")}


def test_a_run_reports_a_card_for_each_iteration(tmp_path: Path) -> None:
    trained(tmp_path, steps=2, critic={"pretraining": {"iterations": 1}}, save_every=100)
    events = [json.loads(line) for line in (tmp_path / "events.jsonl").read_text().splitlines()]
    cards = {event["step"]: Critic.model_validate(event["card"]) for event in events if event["type"] == "critic_card"}
    metrics = metrics_of(tmp_path)
    assert list(cards) == [1, 2, 3]  # one of value pretraining, two of PPO
    for step, card in cards.items():
        assert card.responses == 4 and len(card.worst) == 4
        reported = {name: value for name, value in metrics["ppo", step].items() if name.startswith("critic/")}
        assert reported == pytest.approx(card_metrics(card))


def test_a_critic_that_learns_nothing_has_a_finding(tmp_path: Path) -> None:
    """Its weights are random, and its learning rate leaves them so."""
    trained(tmp_path, steps=21, critic={"learning_rate": 1e-12}, save_every=100, eval_every=100)
    events = [json.loads(line) for line in (tmp_path / "events.jsonl").read_text().splitlines()]
    found = [event for event in events if event["type"] == "health" and event["rule"] == "critic_worse_than_mean"]
    assert [event["step"] for event in found] == [20]
    assert "the critic is worse than the mean return would be" in found[0]["cause"]
    assert "`ppo.critic.pretraining`" in found[0]["suggestion"]
