"""Several critics: who learns from which response, their mean and disagreement, what these decide, and saved critics."""

import hashlib
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import ValidationError
from torch import Tensor

from tests.trainer.ppo.test_toy_gradient import ALL
from tests.trainer.ppo.test_toy_gradient import spec_of as toy_spec
from tests.trainer.ppo.tools import PROMPTS, cast_for, scored_by_hand, spec_of
from tests.trainer.ppo.toy import CODEC, PROMPT, REPRESENTATIVE, Table, actors, path, quarters
from tests.trainer.preflight.test_layers import blueprint
from tests.trainer.stage_tools import CPU, context_of, new_codec, respond_and_learn
from tests.trainer.tiny_models import scorer
from trainer.errors import DataError, ModelError
from trainer.models import Model, builder_for, load_reward_model
from trainer.models.sequences import Batch, completion_values, value_outputs
from trainer.models.value_heads import give_heads
from trainer.ppo.critic_card import critic_card
from trainer.ppo.critic_heads import HeadValues, highest, lowest, owner, owners, refuse_idle_heads
from trainer.ppo.experience import Experience, build_experience
from trainer.ppo.iteration_log import update_metrics
from trainer.ppo.kl import KLCoefficients
from trainer.ppo.learners import Learners
from trainer.ppo.minibatch import MicroBatch, Minibatch
from trainer.ppo.update import update
from trainer.rollout.batch import sample_and_score
from trainer.spec import CriticHeadsSpec, CriticSpec, ModelSpec, PPOSpec
from trainer.text.codec import TokenizedPrompt

MASK = torch.tensor([[True, True, True], [True, True, False]])


def test_chosen_tokens_by_hand() -> None:
    # 3, 1, 2, 5 and 4: a share of .4 is two of five
    numbers = torch.tensor([[3.0, 1.0, 2.0], [5.0, 4.0, -9.0]])
    assert lowest(numbers, MASK, 0.4).tolist() == [[False, True, True], [False, False, False]]
    assert highest(numbers, MASK, 0.4).tolist() == [[False, False, False], [True, True, False]]
    assert not lowest(numbers, MASK, 0.1).any()


def test_equal_numbers_are_chosen_together_or_not_at_all() -> None:
    numbers = torch.tensor([[1.0, 1.0, 1.0], [2.0, 0.0, 0.0]])
    assert lowest(numbers, MASK, 0.6).tolist() == [[False, False, False], [False, True, False]]
    assert not lowest(torch.zeros(2, 3), MASK, 0.6).any() and not highest(torch.zeros(2, 3), MASK, 0.6).any()


@settings(deadline=None)
@given(st.lists(st.integers(0, 9), min_size=1, max_size=12), st.floats(0.01, 0.99))
def test_chosen_tokens_equal_their_definition(numbers: list[int], share: float) -> None:
    """A token is chosen if at most ⌊share·n⌋ tokens have a number that is not higher: of its equals all have to fit."""
    row = torch.tensor([numbers], dtype=torch.float64)
    most = int(share * len(numbers))
    low = [sum(other <= one for other in numbers) <= most for one in numbers]
    high = [sum(other >= one for other in numbers) <= most for one in numbers]
    everywhere = torch.ones_like(row, dtype=torch.bool)
    assert lowest(row, everywhere, share).tolist() == [low]
    assert highest(row, everywhere, share).tolist() == [high]


@pytest.mark.parametrize(("ids", "count"), [([5], 2), ([6, 7, 8], 3), ([67, 8], 3)])
def test_owner_is_a_hash_of_the_tokens(ids: list[int], count: int) -> None:
    text = ",".join(str(token) for token in ids)
    assert owner(ids, count) == int(hashlib.sha256(text.encode()).hexdigest()[:16], 16) % count


def test_owner_of_a_prompt_is_the_same_in_any_batch() -> None:
    spec = spec_of(critic={"heads": {}}, batch_size=6)
    found = respond_and_learn(cast_for(spec), PROMPTS, new_codec(), spec, seed=3)
    turned = respond_and_learn(cast_for(spec), PROMPTS[::-1], new_codec(), spec, seed=4)
    assert found.heads is not None and turned.heads is not None
    assert found.heads.owners_B.tolist() == turned.heads.owners_B.tolist()[::-1]
    assert found.heads.owners_B.tolist() == [owner(ids, 2) for ids in PROMPTS]
    assert set(found.heads.owners_B.tolist()) == {0, 1}


def test_responses_of_a_group_are_dealt_to_the_heads() -> None:
    """By their places in the group, also if some have no value."""
    heads = CriticHeadsSpec(count=2, divide="responses")
    spec = spec_of(critic={"heads": heads.model_dump()}, samples_per_prompt=2)
    scored = scored_by_hand([[0.0]] * 6, [1.0] * 6, [True] * 6)
    assert owners(scored, spec, heads).tolist() == [0, 1, 0, 1, 0, 1]
    assert owners(scored.select([1, 4, 5]), spec, heads).tolist() == [1, 0, 1]


def heads_by_hand() -> HeadValues:
    """Two responses of two tokens and one; the first belongs to head 1."""
    values = torch.tensor([[[1.0, 3.0], [2.0, 2.0]], [[0.0, 4.0], [0.0, 0.0]]])
    return HeadValues(values, torch.tensor([1, 0]))


def test_mean_own_value_and_disagreement_by_hand() -> None:
    heads = heads_by_hand()
    assert heads.mean_BR.tolist() == [[2.0, 2.0], [2.0, 0.0]]
    assert heads.own_BR.tolist() == [[3.0, 2.0], [0.0, 0.0]]
    assert heads.disagreement_BR.tolist() == [[1.0, 0.0], [2.0, 0.0]]


def differing(spec: PPOSpec) -> Any:
    """A cast whose heads give different values."""
    cast = cast_for(spec)
    assert spec.critic.heads is not None
    give_heads(cast.critic, spec.critic.heads.count)
    cast.critic.score.weight.data += torch.randn(
        cast.critic.score.weight.shape, generator=torch.Generator().manual_seed(9)
    )
    return cast


@pytest.mark.parametrize("bootstraps", [False, True])
def test_advantages_are_those_of_the_mean_and_masked(bootstraps: bool) -> None:
    """Against the double sum over later tokens, with values from a pass of each row by itself."""
    advantage = {"normalize": "none", "gamma": 0.9, "gae_lambda": 0.8, "bootstrap_truncated": bootstraps}
    options = {"count": 3, "mask_advantages": 0.3, "filter_entropy": 0.25}
    spec = spec_of(critic={"heads": options}, advantage=advantage, policy_loss={"entropy_coef": 0.1}, max_new_tokens=5)
    cast = differing(spec)
    experience = respond_and_learn(cast, PROMPTS, new_codec(), spec, seed=3)
    mask, lengths = experience.scored.batch.mask_BR, experience.scored.batch.completion_lengths
    heads = alone(cast.critic, experience)
    spread = {
        (row, t): float(values[t].std(unbiased=False)) for row, values in enumerate(heads) for t in range(lengths[row])
    }
    ordered = sorted(spread.values())
    floor, ceiling = ordered[int(0.3 * len(ordered))], ordered[::-1][int(0.25 * len(ordered))]
    assert experience.entropy_kept_BR is not None and experience.values_BR is not None
    for (row, t), disagreement in spread.items():
        mean = [float(one.mean()) for one in heads[row]]
        finished, rewards = experience.scored.responses[row].finished, experience.rewards_BR[row].tolist()
        mean[lengths[row]] = 0.0 if finished or not bootstraps else mean[lengths[row]]
        exact = sum((0.9 * 0.8) ** (k - t) * (rewards[k] + 0.9 * mean[k + 1] - mean[k]) for k in range(t, lengths[row]))
        assert float(experience.values_BR[row, t]) == pytest.approx(mean[t], abs=1e-5)
        masked = disagreement < floor
        assert float(experience.advantages_BR[row, t]) == pytest.approx(0.0 if masked else exact, abs=1e-5)
        assert bool(experience.entropy_kept_BR[row, t]) == (disagreement <= ceiling)
    assert not all(response.finished for response in experience.scored.responses)
    shares = experience.disagreement_shares
    assert shares["policy/masked_advantages"] == pytest.approx(int(0.3 * len(ordered)) / len(ordered))
    assert shares["policy/filtered_entropy"] == pytest.approx(int(0.25 * len(ordered)) / len(ordered))
    assert int(mask.sum()) == len(ordered)


def alone(critic: Model, experience: Experience) -> list[list[Tensor]]:
    """The values of all heads in each state of each response, from the weights of the head."""
    found = []
    batch = experience.scored.batch
    for row, (before, after) in enumerate(zip(batch.prompt_lengths, batch.completion_lengths, strict=True)):
        ids = batch.input_ids_BT[row : row + 1, : before + after]
        hidden = critic.base_model(input_ids=ids).last_hidden_state[0].detach()
        raw = hidden @ critic.score.weight.detach().T - critic.config.score_bias
        found.append(list(raw[before - 1 :]))
    return found


def test_each_head_learns_from_its_own_responses() -> None:
    """The gradient of each head by a sum over the tokens of its responses, in float64."""
    heads = {"count": 2, "divide": "responses"}
    critic = give_heads(Table(1, 5), 2)
    critic.score.weight.data += torch.arange(2, dtype=torch.float64)[:, None]
    advantage = {"normalize": "none", "gamma": 0.6, "critic_lambda": 1.0}
    spec = toy_spec(
        advantage=advantage, critic={"heads": heads, "value_clip_range": None}, kl={"coef": 0.0}, samples_per_prompt=2
    )
    cast = actors(quarters(0.75), critic)
    context = context_of(cast, spec, CODEC)
    scored = sample_and_score(context, [PROMPT] * ALL, REPRESENTATIVE)
    experience = build_experience(context, scored, kl_coef=0.0)
    Minibatch.select(experience, list(range(ALL)), spec, KLCoefficients(0.0, 1.0)).accumulate(
        Learners.build(cast, spec), only_critic=False
    )
    exact, tokens = torch.zeros_like(critic.score.weight), sum(len(one.ids) for one in scored.responses)
    for row, response in enumerate(scored.responses):
        own, visited = row % 2, path(response.ids)
        for t, (state, _) in enumerate(visited):
            target = 0.6 ** (len(visited) - 1 - t) * float(scored.scores_B[row])
            exact[own, state] += (critic.score.weight[own, state].detach() - target) / tokens
    assert critic.score.weight.grad is not None
    torch.testing.assert_close(critic.score.weight.grad, exact, rtol=0, atol=1e-6)
    assert exact[0].any() and exact[1].any()


def small(**options: Any) -> tuple[Minibatch, MicroBatch, Experience]:
    """Two responses with returns 4, and the values of `heads_by_hand`."""
    spec = spec_of(critic={"heads": {}, "value_clip_range": 0.5}, batch_size=2, minibatches=2, **options)
    scored = scored_by_hand([[0.0, 0.0], [0.0]], [1.0, 3.0], [True, True])
    like, heads = scored.reference_logprobs_BR, heads_by_hand()
    experience = Experience(
        scored, scored.scores_B, like, heads.mean_BR, torch.zeros_like(like), torch.full_like(like, 4.0), heads
    )
    minibatch = Minibatch.select(experience, [0, 1], spec, KLCoefficients(0.0, 1.0))
    return minibatch, MicroBatch.select(experience, [0, 1]), experience


def test_clipping_compares_the_own_head_with_itself() -> None:
    # Own old values 3, 2 and 0. The new ones 5, 2 and 4 count as 3½, 2 and ½: errors 1, 4 and 12¼, halved, over 3 tokens
    minibatch, part, _ = small()
    outputs = torch.tensor([[[9.0, 5.0], [9.0, 2.0]], [[4.0, 9.0], [9.0, 9.0]]])
    loss, metrics = minibatch._value_terms(outputs, part, torch.tensor([0, 1]))
    assert float(loss) == pytest.approx((1 + 4 + 12.25) / 6)
    assert float(metrics["value_clipfrac"]) == pytest.approx(1 / 3)


def test_entropy_bonus_leaves_out_filtered_tokens() -> None:
    minibatch, _, experience = small(policy_loss={"entropy_coef": 0.5})
    kept = torch.tensor([[True, False], [True, False]])
    filtered = MicroBatch.select(replace(experience, entropy_kept_BR=kept), [0, 1])
    entropy, zeros = torch.tensor([[1.0, 2.0], [4.0, 8.0]]), torch.zeros(2, 2)
    filtered = replace(filtered, old_logprobs_BR=zeros, reference_logprobs_BR=zeros)
    loss, *_ = minibatch._policy_terms(zeros, entropy, filtered, torch.tensor([0, 1]))
    assert float(loss) == pytest.approx(-0.5 * (1 + 4) / 3)


def test_update_moves_the_heads_apart() -> None:
    spec = spec_of(critic={"heads": {"count": 2}, "epochs": 3})
    cast = cast_for(spec)
    give_heads(cast.critic, 2)
    experience = respond_and_learn(cast, PROMPTS, new_codec(), spec, seed=3)
    assert experience.heads is not None and not experience.heads.disagreement_BR.any()
    result = update(context_of(cast, spec), experience, Learners.build(cast, spec), KLCoefficients(0.05, 1.0), 0)
    one, other = cast.critic.score.weight.detach()
    assert not torch.allclose(one, other)
    assert update_metrics([*result.history, *result.critic_passes[0]])["loss/value_avg"] > 0


def test_card_has_the_agreement_of_the_critics() -> None:
    # over the three tokens 1, 2, 0 and 3, 2, 4: ranks 2, 3, 1 and 2, 1, 3, whose correlation is −1
    _, _, experience = small()
    spec = spec_of(critic={"heads": {}})
    card = critic_card(experience, spec, new_codec())
    assert card is not None and card.agreement == pytest.approx(-1) and card.disagreement == pytest.approx(1)
    single = critic_card(replace(experience, heads=None), spec, new_codec())
    assert single is not None and single.agreement is None and single.disagreement is None


LORA = ModelSpec.model_validate({"path": "unused", "lora": {"rank": 2}})
BATCH = Batch.from_ids([[5], [6, 7, 8]], [[3, 4, 2], [9, 2]], 0)


def critic_in(folder: Path, model: ModelSpec, saved: Path | None = None, count: int = 3, **more: Any) -> Model:
    """The critic that a run builds on the reward model in `folder`."""
    critic = CriticSpec.model_validate({"heads": {"count": count}} | more)
    return builder_for(model, CPU, lambda part: 7).scorer("critic", folder, "trained", saved, None, critic)


@pytest.mark.parametrize("more", [{}, {"normalization": {}}], ids=["plain", "normalised"])
@pytest.mark.parametrize("model", [ModelSpec(path="unused"), LORA], ids=["whole", "lora"])
def test_critics_on_a_reward_model_are_saved(tmp_path: Path, model: ModelSpec, more: dict[str, Any]) -> None:
    """They all begin with its values, and a checkpoint has the bits of each."""
    reward_model = scorer(1)
    reward_model.config.score_bias, reward_model.config.score_scale = 0.7, 2.5
    reward_model.save_pretrained(tmp_path / "rm")
    critic = critic_in(tmp_path / "rm", model, **more)
    first = completion_values(reward_model, BATCH)
    torch.testing.assert_close(completion_values(critic, BATCH), first)
    torch.testing.assert_close(value_outputs(critic, BATCH), first[..., None].expand(-1, -1, 3))
    critic.score.weight.data += torch.randn(critic.score.weight.shape, generator=torch.Generator().manual_seed(3))
    critic.save_pretrained(tmp_path / "critic")
    back = critic_in(tmp_path / "rm", model, tmp_path / "critic", **more)
    assert torch.equal(value_outputs(back, BATCH), value_outputs(critic, BATCH))
    torch.testing.assert_close(completion_values(back, BATCH), value_outputs(critic, BATCH).mean(-1))
    with pytest.raises(ModelError, match=r"has 3 outputs, but `ppo\.critic\.heads\.count` is 2"):
        critic_in(tmp_path / "rm", model, tmp_path / "critic", count=2, **more)


def test_saved_critics_are_no_reward_model(tmp_path: Path) -> None:
    give_heads(scorer(1), 3).save_pretrained(tmp_path)
    with pytest.raises(ModelError, match=r"needs a `score` head with one output\. This one has 3"):
        load_reward_model(tmp_path)


def test_memory_of_several_critics_counts_their_heads() -> None:
    plain = blueprint("gpt2")
    critic = plain.for_critic(CriticSpec.model_validate({"heads": {"count": 5}}))
    assert critic.trained_bytes("scalar") == plain.trained_bytes("scalar") + 4 * 4 * plain.hidden_size


def test_head_without_a_prompt_is_refused() -> None:
    prompts = [TokenizedPrompt("same", [5, 6])] * 9
    with pytest.raises(DataError, match=r"1 of the 2 heads of .* would learn from none of the 9 prompts"):
        refuse_idle_heads(prompts, CriticHeadsSpec())
    refuse_idle_heads(prompts, CriticHeadsSpec(divide="responses"))
    refuse_idle_heads([TokenizedPrompt("", ids) for ids in PROMPTS], CriticHeadsSpec())


@pytest.mark.parametrize(
    ("ppo", "said"),
    [
        ({"critic": {"heads": {}, "kind": "value_head"}}, 'needs `critic.kind` = "separate"'),
        ({"critic": {"heads": {}, "classification": {"low": -1, "high": 1}}}, "the bins of one critic"),
        ({"critic": {"heads": {"divide": "responses"}}}, r"needs a `samples_per_prompt` \(1\)"),
        ({"critic": {"heads": {"filter_entropy": 0.2}}}, "no effect without `policy_loss.entropy_coef`"),
        ({"critic": {"heads": {"count": 1}}}, "greater than or equal to 2"),
        ({"critic": {"heads": {"mask_advantages": 1.0}}}, "less than 1"),
        ({"critic": {"heads": {}}, "advantage": {"estimator": "sequence"}}, "`critic` has no effect"),
    ],
)
def test_heads_that_cannot_be_are_refused(ppo: dict[str, Any], said: str) -> None:
    with pytest.raises(ValidationError, match=said):
        PPOSpec.model_validate(ppo)
