"""The parts of a critic that learn (`ppo.critic.train`), on a whole model or on a role with an adapter.

Parts are found by transformers' own classes, so that the same rule holds for each architecture. A layer is a
`GradientCheckpointingLayer`, and an attention module has "Attention" in its class name.
"""

from collections.abc import Iterable, Sequence

from torch import nn
from transformers.modeling_layers import GradientCheckpointingLayer

from trainer.errors import ModelError
from trainer.models.heads import Model, underlying
from trainer.models.roles import Role
from trainer.spec import CriticSpec

_HEAD = "score"


def freeze(model: Model, critic: CriticSpec) -> Model:
    """Leave gradients only to the parameters that `critic.train` names, and return the model, whose parameters all had them.

    Raises ModelError where the model lacks the parts that the section names.
    """
    match critic.train:
        case "all_but_attention":
            frozen = _attention(model)
            learning = [name for name, _ in own_parameters(model) if not _inside(name, frozen)]
            if all(_inside(name, (_HEAD,)) for name in learning):
                raise ModelError(
                    '`ppo.critic.train` = "all_but_attention": `model.lora.target_modules` adapts attention modules alone, so only '
                    'the head would learn. Name other layers there, or set `ppo.critic.train` = "last_layers".'
                )
        case "last_layers":
            kept = (_HEAD, *_last_layers(model, critic.last_layers or 0))
            learning = [name for name, _ in own_parameters(model) if _inside(name, kept)]
        case _:  # adapters are all that a role has of its own
            return model
    for name, parameter in own_parameters(model):
        parameter.requires_grad_(name in learning)
    return model


def own_parameters(model: Model) -> Iterable[tuple[str, nn.Parameter]]:
    """The parameters that a model has of its own by name: without those of a backbone."""
    named: Iterable[tuple[str, nn.Parameter]] = (
        model.named_trained() if isinstance(model, Role) else model.named_parameters()
    )
    return list(named)


def refuse_too_many_layers(critic: CriticSpec, layers: int) -> None:
    """Raise ModelError if `last_layers` is more than the model has."""
    if critic.last_layers is not None and critic.last_layers > layers:
        raise ModelError(
            f"`ppo.critic.last_layers` ({critic.last_layers}) is more than the {layers} layers of the critic. Lower it, or set "
            '`ppo.critic.train` = "all".'
        )


def _last_layers(model: Model, count: int) -> Sequence[str]:
    plain = underlying(model)
    layers = [name for name, module in plain.named_modules() if isinstance(module, GradientCheckpointingLayer)]
    if not layers:
        raise ModelError(
            f'{type(plain).__name__}: this architecture has no layers for `ppo.critic.train` = "last_layers". Set it to "all".'
        )
    refuse_too_many_layers(CriticSpec(train="last_layers", last_layers=count), len(layers))
    return layers[len(layers) - count :]


def _attention(model: Model) -> Sequence[str]:
    plain = underlying(model)
    found = [name for name, module in plain.named_modules() if "Attention" in type(module).__name__]
    if not found:
        raise ModelError(
            f"{type(plain).__name__}: no module of this architecture is an attention, for `ppo.critic.train` = "
            '"all_but_attention". Set it to "all" or "last_layers".'
        )
    return found


def _inside(name: str, modules: Iterable[str]) -> bool:
    return any(name.startswith(f"{module}.") for module in modules)
