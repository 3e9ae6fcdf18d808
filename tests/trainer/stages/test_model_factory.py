"""Who plays which part in PPO, and what each begins as."""

import json
import shutil
from pathlib import Path

import pytest
import torch

from tests import tolerance
from tests.trainer.models.lora.tools import BATCH
from tests.trainer.run.tools import LENGTH, LORA, model_factory, run
from tests.trainer.running import events_of
from trainer.events import Message, Samples
from trainer.models import Model, load_policy, load_reward_model, load_stops, load_tokenizer
from trainer.models.sequences import completion_logprobs, completion_values
from trainer.session import manifest


@torch.no_grad()
def values(model: Model) -> torch.Tensor:
    return completion_values(model, BATCH)


@torch.no_grad()
def logprobs(model: Model) -> torch.Tensor:
    return completion_logprobs(model, BATCH)[0]


def test_ppo_models_critic_copies_reward_model_shared_reference(first: Path) -> None:
    with model_factory(first.parent, ["sft", "reward_model", "ppo"]) as factory:
        models = factory.ppo_models()
    assert models.critic is not None and models.reward_model is not None
    assert models.reference is models.initial and models.critic is not models.reward_model
    assert torch.equal(values(models.critic), values(load_reward_model(first / "reward_model")))
    assert torch.equal(logprobs(models.policy), logprobs(load_policy(first / "sft")))
    trains = [any(p.requires_grad for p in model.parameters()) for model in (models.policy, models.critic)]
    frozen = [any(p.requires_grad for p in model.parameters()) for model in (models.reference, models.reward_model)]
    assert (trains, frozen) == ([True, True], [False, False])


@pytest.mark.parametrize("initial", ["auto", "reward_model", "policy"])
def test_ppo_models_critic_starts_from_the_source_in_the_spec(first: Path, initial: str) -> None:
    with model_factory(first.parent, ["sft", "reward_model", "ppo"], ppo={"critic": {"initial": initial}}) as factory:
        critic = factory.ppo_models().critic
    is_reward_model = torch.equal(values(critic), values(load_reward_model(first / "reward_model")))
    assert is_reward_model == (initial != "policy")
    same_trunk = all(
        torch.equal(ours, theirs)
        for ours, theirs in zip(critic.model.parameters(), load_policy(first / "sft").model.parameters(), strict=True)
    )
    assert same_trunk == (initial == "policy")


@pytest.mark.parametrize(
    ("lora", "critic"),
    [(None, {}), (LORA, {}), (None, {"kind": "value_head"})],
    ids=["whole", "adapters", "value head"],
)
def test_a_fresh_critic_expects_nothing(
    first: Path, tmp_path: Path, lora: dict[str, int] | None, critic: dict[str, str]
) -> None:
    """Its first advantages are then the rewards to come; a random head adds values of standard deviation 1 to them."""
    model = {"path": str(first / "sft")} | ({"lora": lora} if lora else {})
    with model_factory(tmp_path, ["ppo"], model=model, rewards=[LENGTH], ppo={"critic": critic}) as factory:
        critic_ = factory.ppo_models().critic
    assert not values(critic_).any()
    assert any(p.requires_grad for p in critic_.score.parameters())


def test_ppo_models_other_reward_model_is_critic_if_tokens_match(first: Path, tmp_path: Path, pretrained: Path) -> None:
    """With another tokenizer the critic starts from the policy."""
    reward = {"type": "model", "path": str(first / "reward_model")}
    with model_factory(tmp_path, ["ppo"], model=str(first / "sft"), rewards=[LENGTH, reward]) as factory:
        assert torch.equal(values(factory.ppo_models().critic), values(load_reward_model(first / "reward_model")))
    other = {"model": str(pretrained), "rewards": [reward]}
    with model_factory(tmp_path, ["ppo"], **other) as factory:
        assert (
            factory.ppo_models().critic.config.vocab_size
            == 320
            == load_policy(factory.spec.model.path).config.vocab_size
        )


def test_without_a_critic_there_is_none(first: Path, tmp_path: Path) -> None:
    ppo = {"advantage": {"estimator": "sequence"}}
    with model_factory(tmp_path, ["ppo"], model=str(first / "sft"), rewards=[LENGTH], ppo=ppo) as factory:
        models = factory.ppo_models()
    assert models.critic is None and models.reward_model is None


def test_a_named_reference_is_loaded_beside_the_policy_as_it_was(first: Path, tmp_path: Path) -> None:
    other = next(first.glob("sft-*"))
    ppo = {"reference": {"path": str(other)}}
    with model_factory(tmp_path, ["ppo"], model=str(first / "sft"), rewards=[LENGTH], ppo=ppo) as factory:
        models = factory.ppo_models()
    assert torch.equal(logprobs(models.reference), logprobs(load_policy(other)))
    assert torch.equal(logprobs(models.initial), logprobs(load_policy(first / "sft")))


def test_ppo_models_ema_reference_is_a_third_float32_model(first: Path, tmp_path: Path) -> None:
    model = {"path": str(first / "sft"), "dtype": "bfloat16"}
    with model_factory(
        tmp_path, ["ppo"], model=model, rewards=[LENGTH], ppo={"reference": {"update": "ema"}}
    ) as factory:
        models = factory.ppo_models()
    assert len({id(models.policy), id(models.reference), id(models.initial)}) == 3
    weights = [dict(model.named_parameters()) for model in (models.policy, models.reference, models.initial)]
    kinds = [named["model.layers.0.self_attn.q_proj.weight"].dtype for named in weights]
    assert kinds == [torch.float32, torch.float32, torch.bfloat16]
    assert torch.equal(logprobs(models.policy), logprobs(models.reference))


def test_ppo_models_lora_share_backbone_critic_from_reward_model(first: Path, tmp_path: Path) -> None:
    changes = {"model": {"path": str(first / "sft"), "lora": LORA}}
    run(tmp_path, ["reward_model"], **changes)
    with model_factory(tmp_path, ["reward_model", "ppo"], ppo={"reference": {"update": "ema"}}, **changes) as factory:
        models = factory.ppo_models()
    parts = (models.policy, models.reference, models.initial, models.critic, models.reward_model)
    assert len({id(part.backbone) for part in parts}) == 1
    assert torch.equal(values(models.critic), values(models.reward_model))
    assert torch.equal(logprobs(models.policy), logprobs(models.reference))
    assert all(
        torch.equal(a, b) for a, b in zip(models.policy.parameters(), models.reference.parameters(), strict=True)
    )


def test_ppo_models_lora_have_separate_backbones_if_spec_sets_it(first: Path, tmp_path: Path) -> None:
    model = {"path": str(first / "sft"), "lora": LORA | {"share_backbone": False}}
    with model_factory(tmp_path, ["ppo"], model=model, rewards=[LENGTH]) as factory:
        models = factory.ppo_models()
    assert len({id(part.backbone) for part in (models.policy, models.initial, models.critic)}) == 3


def test_stops_of_model_folder_end_responses_and_are_saved(tmp_path: Path, pretrained: Path) -> None:
    """A response of this model may end with its BOS, which its generation_config.json names."""
    run(
        tmp_path,
        ["ppo"],
        model=str(pretrained),
        rewards=[LENGTH],
        ppo={"steps": 1, "save_every": 1, "eval_every": 1, "stop": ["."], "log_samples": 8, "max_new_tokens": 160},
    )
    said = [event.text for event in events_of(tmp_path) if isinstance(event, Message)]
    assert 'These end a response: <s> (1), </s> (2), ".".' in said
    shown = [row for event in events_of(tmp_path) if isinstance(event, Samples) for row in event.rows]
    assert shown and any(row.finished for row in shown) and not any("." in row.response for row in shown)
    saved = tmp_path / "checkpoints" / "ppo"
    assert load_stops(load_tokenizer(saved), saved) == load_stops(load_tokenizer(pretrained), pretrained, ["."])
    adapted = tmp_path / "adapter"
    with model_factory(adapted, ["ppo"], model={"path": str(pretrained), "lora": LORA}, rewards=[LENGTH]) as factory:
        factory.ppo_models().policy.save_pretrained(adapted)
    assert load_stops(load_tokenizer(pretrained), adapted).ids == (2,), "what this model_factory's codec stops at"


@pytest.mark.parametrize("lora", [None, LORA], ids=["whole", "adapters"])
def test_the_best_checkpoint_is_evaluated_again_and_not_the_last(
    first: Path, tmp_path: Path, lora: dict[str, int] | None
) -> None:
    """Step 2 of 4 is made the best, whichever it was."""
    stages = ["ppo", "evaluation"]
    model = {"path": str(first / "sft")} | ({"lora": lora} if lora else {})
    changes = {"model": model, "rewards": [LENGTH], "ppo": {"learning_rate": 1e-2}}
    run(tmp_path, stages, **changes)
    kept, best, result = (tmp_path / "checkpoints" / name for name in ("ppo-000002", "ppo-best", "ppo/stage.json"))
    shutil.rmtree(best)
    shutil.copytree(kept, best)
    (best / "best.json").write_text(json.dumps({"step": 2, "metrics": {}}))
    stage = json.loads(result.read_text())
    stage["summary"]["best_step"] = 2.0
    result.write_text(json.dumps(stage))
    for changed in (best, result.parent):
        manifest.write(changed)
    summaries = []
    for _ in range(2):
        shutil.rmtree(tmp_path / "checkpoints" / "evaluation")
        summaries.append(run(tmp_path, stages, **changes))
    assert summaries[0] == summaries[1] and summaries[0]["best_step"] == 2
    assert 0 <= summaries[0]["best_win_rate_low"] <= summaries[0]["best_win_rate"] <= summaries[0]["best_win_rate_high"]
    with model_factory(tmp_path, stages, **changes) as factory:
        compared = factory.evaluated_models()
        assert compared.load_best is not None
        chosen, last = logprobs(compared.load_best()), logprobs(compared.models.policy)
    torch.testing.assert_close(chosen, logprobs(load_policy(kept)), **tolerance.outputs())
    assert float((chosen - last).abs().max()) > 1e-3
    assert summaries[0]["best_kl"] != summaries[0]["kl"]
    (best / "best.json").write_text(json.dumps({"step": 3, "metrics": {}}))  # another one than the run chose
    with model_factory(tmp_path, stages, **changes) as factory:
        assert factory.evaluated_models().load_best is None
