"""`ppo.critic.train`: which parameters of a critic learn, by the names of the parameters, and what the others keep."""

from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor
from transformers import AutoModelForSequenceClassification

from tests.trainer.ppo.tools import cast_for, iterate, spec_of
from tests.trainer.preflight.test_layers import config_of
from tests.trainer.stage_tools import CPU
from tests.trainer.tiny_models import gpt2_scorer, llama, scorer
from trainer.errors import ModelError
from trainer.models import Model, builder_for, has_linear_score
from trainer.models.frozen import freeze, own_parameters
from trainer.models.roles import Role
from trainer.ppo.learners import Learners
from trainer.spec import CriticSpec, ModelSpec
from trainer.spec.architectures import ARCHITECTURES

ATTENTION = {f"model.layers.{n}.self_attn.{part}_proj.weight" for n in (0, 1) for part in "qkvo"}
LAST_LAYER = {
    *(f"model.layers.1.self_attn.{part}_proj.weight" for part in "qkvo"),
    *(f"model.layers.1.mlp.{part}_proj.weight" for part in ("gate", "up", "down")),
    "model.layers.1.input_layernorm.weight",
    "model.layers.1.post_attention_layernorm.weight",
}
EVERYTHING = {name for name, _ in scorer().named_parameters()}
LEARNING: list[tuple[dict[str, Any], set[str]]] = [
    ({}, EVERYTHING),
    ({"train": "all_but_attention"}, EVERYTHING - ATTENTION),
    ({"train": "last_layers", "last_layers": 1}, LAST_LAYER | {"score.weight"}),
    ({"train": "last_layers", "last_layers": 0}, {"score.weight"}),
]


def weights_of(model: Model) -> dict[str, Tensor]:
    return {name: weight.detach().clone() for name, weight in own_parameters(model)}


def moved(before: dict[str, Tensor], after: dict[str, Tensor]) -> set[str]:
    return {name for name, weight in after.items() if not torch.equal(weight, before[name])}


def updated(**critic: Any) -> tuple[dict[str, Tensor], dict[str, Tensor]]:
    """The critic's weights before and after one update of one step, without clipping."""
    spec = spec_of(epochs=1, minibatches=1, max_grad_norm=1e9, critic=critic)
    cast = cast_for(spec)
    assert cast.critic is not None
    freeze(cast.critic, spec.critic)
    before = weights_of(cast.critic)
    iterate(spec, cast)
    return before, weights_of(cast.critic)


@pytest.mark.parametrize(("critic", "learning"), LEARNING, ids=[str(critic) for critic, _ in LEARNING])
def test_one_update_moves_the_named_parameters_alone(critic: dict[str, Any], learning: set[str]) -> None:
    """Those that learn take the step of a critic of which all learn: their gradient does not depend on the others'."""
    before, after = updated(**critic)
    _, whole = updated()
    assert moved(before, after) == learning
    for name in learning:
        torch.testing.assert_close(after[name], whole[name], rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize(("critic", "learning"), LEARNING, ids=[str(critic) for critic, _ in LEARNING])
def test_optimizer_holds_moments_of_the_named_parameters(critic: dict[str, Any], learning: set[str]) -> None:
    spec = spec_of(critic=critic | {"epochs": 2})
    cast = cast_for(spec)
    assert cast.critic is not None
    freeze(cast.critic, spec.critic)
    learners = Learners.build(cast, spec)
    assert learners.critic is not None
    groups = learners.critic.optimizer.param_groups
    assert sum(len(group["params"]) for group in groups) == len(learning)
    frozen = [weight for name, weight in own_parameters(cast.critic) if name not in learning]
    assert not any(weight.requires_grad for weight in frozen)


def test_attention_of_gpt2_is_frozen_with_its_biases() -> None:
    critic = freeze(gpt2_scorer(), CriticSpec(train="all_but_attention"))
    frozen = {name for name, weight in critic.named_parameters() if not weight.requires_grad}
    assert frozen == {
        f"transformer.h.{n}.attn.{part}.{kind}"
        for n in (0, 1)
        for part in ("c_attn", "c_proj")
        for kind in ("weight", "bias")
    }


@pytest.mark.parametrize("kind", sorted(ARCHITECTURES))
def test_every_architecture_has_attention_to_freeze(kind: str) -> None:
    """Each of 13 layers has a frozen part, and the last two learn."""
    config = config_of(kind)
    config.num_labels = 1
    try:
        with torch.device("meta"):
            model = AutoModelForSequenceClassification.from_config(config)
    except ValueError:
        pytest.skip(f"transformers has no sequence classifier for {kind}, so it can be no critic")
    if not has_linear_score(model):
        pytest.skip(f"the classifier of {kind} has no linear head, so it can be no critic")

    def learning(critic: CriticSpec) -> set[str]:
        freeze(model, critic)
        found = {name for name, weight in model.named_parameters() if weight.requires_grad}
        model.requires_grad_(True)
        return found

    everything = learning(CriticSpec())
    frozen = everything - learning(CriticSpec(train="all_but_attention"))
    assert {int(name.split(".")[position_of(name)]) for name in frozen} == set(range(13))
    assert all("attn" in name or "attention" in name for name in frozen)
    last = learning(CriticSpec(train="last_layers", last_layers=2)) - {"score.weight"}
    assert {int(name.split(".")[position_of(name)]) for name in last} == {11, 12}


def position_of(name: str) -> int:
    """The place of the layer's number in a parameter's name."""
    return next(n for n, part in enumerate(name.split(".")) if part.isdigit())


def test_more_layers_than_the_critic_has_are_refused() -> None:
    with pytest.raises(ModelError, match=r"`ppo.critic.last_layers` \(3\) is more than the 2 layers"):
        freeze(scorer(), CriticSpec(train="last_layers", last_layers=3))


@pytest.fixture
def policy(tmp_path: Path) -> Path:
    llama(0).save_pretrained(tmp_path / "policy")
    return tmp_path / "policy"


def lora_critic(policy: Path, critic: CriticSpec, targets: Any = "all-linear") -> Role:
    """The critic beside a LoRA policy on the same backbone."""
    lora = {"rank": 2, "target_modules": targets}
    builder = builder_for(ModelSpec.model_validate({"path": str(policy), "lora": lora}), CPU, lambda part: 7)
    builder.policy("policy", policy, "trained")
    role = builder.scorer("critic", policy, "trained", fresh_head="zero", critic=critic)
    assert isinstance(role, Role)
    return role


def test_adapters_on_a_shared_backbone_learn_in_part(policy: Path) -> None:
    def learning(**critic: Any) -> set[str]:
        named = lora_critic(policy, CriticSpec(**critic)).named_trained()
        return {name.rsplit(".", 1)[0] for name, weight in named if weight.requires_grad}

    mlp = {f"model.layers.{n}.mlp.{part}_proj" for n in (0, 1) for part in ("gate", "up", "down")}
    attention = {f"model.layers.{n}.self_attn.{part}_proj" for n in (0, 1) for part in "qkvo"}
    assert learning() == mlp | attention | {"score"}
    assert learning(train="all_but_attention") == mlp | {"score"}
    last = {name for name in mlp | attention if ".1." in name}
    assert learning(train="last_layers", last_layers=1) == last | {"score"}


def test_adapters_on_attention_alone_cannot_be_frozen(policy: Path) -> None:
    with pytest.raises(ModelError, match="adapts attention modules alone, so only the head would learn"):
        lora_critic(policy, CriticSpec(train="all_but_attention"), ["q_proj", "v_proj"])


def test_adapters_of_the_critic_leave_its_backbone_as_it_is(policy: Path) -> None:
    """Beside a whole policy: B of each adapter and the head move first, because A has no gradient while B is 0."""
    critic = CriticSpec.model_validate({"train": "adapters", "adapters": {"rank": 2, "target_modules": ["q_proj"]}})
    model = ModelSpec.model_validate({"path": str(policy), "dtype": "float32"})
    builder = builder_for(critic.adapted(model), CPU, lambda part: 7)
    role = builder.scorer("critic", policy, "trained", fresh_head=3, critic=critic)
    backbone = {name: weight.clone() for name, weight in role.backbone.model.state_dict().items()}
    before = weights_of(role)
    spec = spec_of(epochs=1, minibatches=1, critic={"train": "adapters"})
    cast = cast_for(spec)
    iterate(spec, type(cast)(**{**vars(cast), "critic": role}))
    layers = [f"model.layers.{n}.self_attn.q_proj" for n in (0, 1)]
    assert before.keys() == {f"{layer}.lora_{part}" for layer in layers for part in "AB"} | {"score.weight"}
    assert moved(before, weights_of(role)) == {f"{layer}.lora_B" for layer in layers} | {"score.weight"}
    after = role.backbone.model.state_dict()
    assert all(torch.equal(after[name], weight) for name, weight in backbone.items() if ".lora_" not in name)
