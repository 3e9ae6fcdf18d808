"""Roles on one backbone: each computes as a model of its own would, and all together weigh little more than one."""

from itertools import chain
from pathlib import Path

import pytest
import torch
from peft import AutoPeftModelForCausalLM, PeftModel
from transformers import AutoModelForSequenceClassification

from tests import tolerance
from tests.trainer.models.lora.tools import BATCH, maker, policy_in, stir
from trainer.errors import ModelError
from trainer.models import Model, autocast, load_policy, load_reward_model, save_result
from trainer.models.sequences import completion_logprobs, completion_values, sequence_scores
from trainer.ppo.state import move_reference
from trainer.sampling import SamplingOptions, sample
from trainer.spec import ReferenceSpec
from trainer.text.stops import Stops


def four(folder: Path) -> tuple[Model, Model, Model, Model]:
    """Policy, reference, critic and reward model, all different, on one backbone."""
    make = maker(folder)
    policy = stir(make.policy("policy", folder, "trained"), 1)
    reference = make.policy("reference", folder, "frozen")
    critic = stir(make.scorer("critic", folder, "trained", fresh_head=7), 2)
    return policy, reference, critic, stir(make.scorer("reward_model", folder, "moving", fresh_head=8), 3)


@pytest.mark.parametrize("kind", ["llama", "gpt2"])
def test_each_role_computes_what_its_merged_model_does(tmp_path: Path, kind: str) -> None:
    policy, reference, critic, scorer = four(policy_in(tmp_path / "base", kind))
    for name, role in (("policy", policy), ("critic", critic), ("scorer", scorer)):
        save_result(role, tmp_path / name)
    merged, start = load_policy(tmp_path / "policy"), load_policy(tmp_path / "base")
    with torch.no_grad():
        for role, alone in ((policy, merged), (reference, start)):
            ours, theirs = completion_logprobs(role, BATCH)[0], completion_logprobs(alone, BATCH)[0]
            assert torch.allclose(ours, theirs, atol=tolerance.largest())
        assert not torch.allclose(completion_logprobs(policy, BATCH)[0], completion_logprobs(start, BATCH)[0], atol=0.1)
        values = completion_values(load_reward_model(tmp_path / "critic"), BATCH)
        assert torch.allclose(completion_values(critic, BATCH), values, atol=tolerance.largest())
        scores = sequence_scores(load_reward_model(tmp_path / "scorer"), BATCH)
        assert torch.allclose(sequence_scores(scorer, BATCH), scores, atol=tolerance.largest())


def test_four_roles_weigh_about_one_model(tmp_path: Path) -> None:
    folder = policy_in(tmp_path)
    roles = four(folder)
    own = {id(p): p.numel() for p in chain.from_iterable(role.parameters() for role in roles)}
    everything = {id(p): p.numel() for role in roles for p in (*role.parameters(), *role.backbone.model.parameters())}
    alone = sum(p.numel() for p in load_policy(folder).parameters())
    assert len({id(role.backbone) for role in roles}) == 1
    assert sum(everything.values()) - sum(own.values()) == alone
    assert [len(list(role.parameters())) for role in roles] == [
        28,
        0,
        29,
        29,
    ]  # 2 layers × 7 linear × (A, B), and a head
    assert [sum(p.requires_grad for p in role.parameters()) for role in roles] == [28, 0, 29, 0]


def test_without_sharing_each_has_a_backbone(tmp_path: Path) -> None:
    folder = policy_in(tmp_path)
    make = maker(folder, lora={"rank": 2, "share_backbone": False})
    policy, reference = make.policy("policy", folder, "trained"), make.policy("reference", folder, "frozen")
    assert policy.backbone is not reference.backbone


def test_lora_fresh_policy_equals_reference_and_follows_seed(tmp_path: Path) -> None:
    """The logprobs have the same bits, and the seed alone determines the adapter."""
    folder = policy_in(tmp_path)
    make = maker(folder)
    policy, reference = make.policy("policy", folder, "trained"), make.policy("reference", folder, "frozen")
    with torch.no_grad():
        assert torch.equal(completion_logprobs(policy, BATCH)[0], completion_logprobs(reference, BATCH)[0])
    again = list(maker(folder).policy("policy", folder, "trained").parameters())
    assert all(torch.equal(a, b) for a, b in zip(again, policy.parameters(), strict=True))
    assert any(weight.any() for weight in again) and not all(weight.any() for weight in again)  # A drawn, B zero


def test_learning_moves_only_the_role_that_learns(tmp_path: Path) -> None:
    policy, _, critic, scorer = four(policy_in(tmp_path))
    before = [p.clone() for p in chain(policy.parameters(), scorer.parameters())]
    completion_logprobs(policy, BATCH)[0].sum().backward()
    gradients = [p.grad.clone() for p in policy.parameters()]
    completion_values(critic, BATCH).sum().backward()
    assert all(torch.equal(a, p.grad) for a, p in zip(gradients, policy.parameters(), strict=True))
    assert all(p.grad is not None and p.grad.any() for p in critic.parameters())
    assert all(p.grad is None for p in scorer.parameters())
    torch.optim.SGD(critic.parameters(), lr=1.0).step()
    after = chain(policy.parameters(), scorer.parameters())
    assert all(torch.equal(a, b) for a, b in zip(before, after, strict=True))


def test_a_role_samples_with_a_cache_as_its_merged_model_does(tmp_path: Path) -> None:
    policy, *_ = four(policy_in(tmp_path / "base"))
    save_result(policy, tmp_path / "merged")
    options = SamplingOptions(Stops((1,)), 0, 1.0, torch.device("cpu"))
    prompts = [[5], [6, 7, 8]]
    ours = sample(policy, prompts, options, 8, torch.Generator().manual_seed(3))
    theirs = sample(load_policy(tmp_path / "merged"), prompts, options, 8, torch.Generator().manual_seed(3))
    assert [response.ids for response in ours] == [response.ids for response in theirs]


def test_lora_checkpoint_of_adapter_and_head_restores_same_bits(tmp_path: Path) -> None:
    folder = policy_in(tmp_path / "base")
    _, _, critic, _ = four(folder)
    critic.config.score_bias, critic.config.score_scale = 0.5, 2.0
    critic.save_pretrained(tmp_path / "critic")
    assert sorted(path.name for path in (tmp_path / "critic").iterdir()) == [
        "adapter_config.json",
        "adapter_model.safetensors",
        "role.json",
    ]
    back = maker(folder).scorer("critic", folder, "trained", saved=tmp_path / "critic", fresh_head=99)
    with torch.no_grad():
        assert torch.equal(completion_values(back, BATCH), completion_values(critic, BATCH))
    other = stir(maker(folder).scorer("critic", folder, "trained", fresh_head=99), 5)
    other.load(tmp_path / "critic")
    assert all(torch.equal(a, b) for a, b in zip(other.parameters(), critic.parameters(), strict=True))
    assert (other.config.score_bias, other.config.score_scale) == (0.5, 2.0)


@pytest.mark.filterwarnings("ignore:`is_gradient_checkpointing` is deprecated")
def test_peft_reads_the_checkpoints(tmp_path: Path) -> None:
    folder = policy_in(tmp_path / "base")
    policy, _, _, scorer = four(folder)
    policy.save_pretrained(tmp_path / "policy")
    scorer.save_pretrained(tmp_path / "scorer")
    theirs = AutoPeftModelForCausalLM.from_pretrained(tmp_path / "policy").eval()
    ids = BATCH.input_ids_BT[1:]
    head = AutoModelForSequenceClassification.from_pretrained(folder, num_labels=1)
    scoring = PeftModel.from_pretrained(head, tmp_path / "scorer").eval()
    with torch.no_grad():
        assert torch.allclose(theirs(ids).logits, policy(input_ids=ids).logits, atol=tolerance.largest())
        ones = torch.ones_like(ids)
        expected = scoring(ids, attention_mask=ones).logits.squeeze()
        assert torch.allclose(sequence_scores(scorer, BATCH)[1], expected, atol=tolerance.largest())


def test_lora_adapter_folder_loads_after_the_run_folder_moved(tmp_path: Path) -> None:
    policy, _, _, scorer = four(policy_in(tmp_path / "here" / "sft"))
    policy.save_pretrained(tmp_path / "here" / "ppo")
    scorer.config.score_bias = 0.5
    scorer.save_pretrained(tmp_path / "here" / "reward_model")
    with torch.no_grad():
        expected = completion_logprobs(policy, BATCH)[0], sequence_scores(scorer, BATCH)
        (tmp_path / "here").rename(tmp_path / "there")
        model, reward = load_policy(tmp_path / "there" / "ppo"), load_reward_model(tmp_path / "there" / "reward_model")
        assert torch.allclose(completion_logprobs(model, BATCH)[0], expected[0], atol=tolerance.largest())
        assert torch.allclose(sequence_scores(reward, BATCH), expected[1], atol=tolerance.largest())
    (tmp_path / "there" / "sft").rename(tmp_path / "gone")
    with pytest.raises(ModelError, match="there is no such folder"):
        load_policy(tmp_path / "there" / "ppo")


def test_an_adapter_of_another_shape_is_refused(tmp_path: Path) -> None:
    folder = policy_in(tmp_path / "base")
    four(folder)[0].save_pretrained(tmp_path / "policy")
    with pytest.raises(ModelError, match=r"Set `model.lora.rank` to the adapter's"):
        maker(folder, lora={"rank": 3}).policy("policy", folder, "trained", saved=tmp_path / "policy")
    with pytest.raises(ModelError, match=r"not on the layers of `model.lora.target_modules`"):
        maker(folder, lora={"rank": 2, "target_modules": ["q_proj"]}).policy(
            "policy", folder, "trained", saved=tmp_path / "policy"
        )


def test_layers_that_are_not_there_are_refused_by_name(tmp_path: Path) -> None:
    folder = policy_in(tmp_path)
    for targets, said in ((["nowhere"], "does not fit"), (["q_proj", "lm_head"], "no linear layer 'lm_head'")):
        with pytest.raises(ModelError, match=said):
            maker(folder, lora={"target_modules": targets}).policy("policy", folder, "trained")


def test_lora_moving_reference_has_a_separate_adapter(tmp_path: Path) -> None:
    folder = policy_in(tmp_path)
    make = maker(folder)
    policy = stir(make.policy("policy", folder, "trained"), 1)
    reference = make.policy("reference", folder, "moving")
    move_reference(reference, policy, ReferenceSpec(update="reanchored"), iteration=0)
    with torch.no_grad():
        assert torch.equal(completion_logprobs(reference, BATCH)[0], completion_logprobs(policy, BATCH)[0])
    assert not any(p.requires_grad for p in reference.parameters())


@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
def test_an_adapted_layer_computes_what_pefts_own_forward_does(tmp_path: Path, dtype: str) -> None:
    role = stir(maker(policy_in(tmp_path), dtype=dtype).policy("policy", tmp_path, "trained"), 1)
    layer = role.backbone.model.model.layers[0].mlp.down_proj
    assert type(layer).forward is not layer.forward.func
    x = torch.randn(2, 3, layer.in_features, generator=torch.Generator().manual_seed(5)).to(getattr(torch, dtype))
    adapters = [layer.lora_A["policy"].weight, layer.lora_B["policy"].weight]
    found = []
    with role.backbone.under("policy"), autocast(role):
        for forward in (layer, lambda x: type(layer).forward(layer, x)):
            result = forward(x)
            found.append((result, *torch.autograd.grad(result.float().square().sum(), adapters)))
    slack = 1e-5 if dtype == "float32" else 2e-2
    for ours, theirs in zip(*found, strict=True):
        assert ours.dtype == theirs.dtype and ours.shape == theirs.shape
        assert ((ours - theirs).float().norm() / theirs.float().norm()).item() < slack
