"""The run's models as fake ones: built by the trainer's own code, without their memory.

Weights of a model with N parameters, in bytes:

- Trained: 4·N or 2·N by `model.trained_weights`. trainer/preflight/memory/processes.py adds gradients and optimizer.
- Frozen: 4·N or 2·N, by `model.dtype` for linear layers and by `model.trained_weights` for the rest.
- A backbone under adapters: 4·N or 2·N by `model.dtype`. Its linear layers take N in 8 bits, and in 4 bits N/2 plus
  0.127 bits of scales per parameter (Dettmers et al. 2023, "QLoRA", §3).
"""

import copy
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any, Literal

import torch
from torch import Tensor, nn
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.utils._mode_utils import no_dispatch
from transformers import AutoModelForCausalLM, AutoModelForSequenceClassification

from trainer.models import precision
from trainer.models.attention import Packing
from trainer.models.backbone import Backbone
from trainer.models.builders import Head
from trainer.models.frozen import freeze, own_parameters, refuse_too_many_layers
from trainer.models.gradient_checkpointing import recompute_layers
from trainer.models.heads import Model, compute_in, output_in_float32, store_as_computed
from trainer.models.roles import Role
from trainer.models.sequences import Batch
from trainer.models.value_bins import give_bins
from trainer.models.value_heads import give_heads
from trainer.models.value_units import give_units
from trainer.preflight.memory import layers
from trainer.preflight.memory.live_bytes import assume_packs, attention_for
from trainer.spec import CriticSpec, ModelSpec

_aten = torch.ops.aten
_FACTORIES = {
    _aten.arange.default, _aten.arange.start, _aten.arange.start_step,
    _aten.full.default, _aten.ones.default, _aten.zeros.default,
}  # fmt: skip
_LARGEST = 1 << 24
"""Largest number of elements in a tensor whose values are kept."""


class KnownNumbers(FakeTensorMode):
    """A fake tensor mode in which integers and booleans on the CPU keep their values.

    The trainer's forward passes branch on lengths, masks and positions, never on a model's outputs. Its own code therefore
    runs unchanged on fake floating-point tensors and known small integer tensors.
    """

    def may_turn_const(self, t: Tensor) -> bool:
        """Override torch's own rule, by which a single number may be kept."""
        return self._may_be_kept(t) or super().may_turn_const(t)

    def _may_be_kept(self, tensor: Tensor) -> bool:
        whole = not (tensor.is_floating_point() or tensor.is_complex())
        return whole and tensor.device.type == "cpu" and tensor.numel() < _LARGEST and not self.is_our_fake(tensor)

    def dispatch(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        if func in _FACTORIES and not kwargs.get("pin_memory"):
            with no_dispatch():
                made = func(*args, **kwargs)
            return self.known(made) if self._may_be_kept(made) else self.from_tensor(made)
        if func is _aten.count_nonzero.default and getattr(args[0], "constant", None) is None:
            with no_dispatch():
                everyone = torch.tensor(args[0].numel())
            return self.known(everyone)  # the drawn tokens are unknown: all rows go on
        return super().dispatch(func, types, args, kwargs)

    def known(self, real: Tensor) -> Tensor:
        """A fake tensor with these values."""
        fake: Tensor = self.fake_tensor_converter.from_real_tensor(self, real, make_constant=True)
        return fake

    def batch(self, prompts: tuple[int, ...], completions: tuple[int, ...]) -> Batch:
        """A batch of sequences of these lengths."""
        real = Batch.from_ids([[0] * n for n in prompts], [[0] * n for n in completions], pad_id=0)
        batch = Batch(self.known(real.input_ids_BT), prompts, completions)
        for name in ("prompt_lengths_B", "completion_lengths_B"):
            vars(batch)[name] = self.known(getattr(real, name))
        return batch


_QUANTIZED = {"8bit": 1.0, "4bit": 0.5 + 0.127 / 8}


@dataclass(frozen=True)
class Weight:
    """A weight of a model, and how many layers have an equal one."""

    name: str
    numel: int
    dtype: torch.dtype
    dimensions: int
    trained: bool
    count: int

    @property
    def nbytes(self) -> int:
        """Bytes of one of them."""
        return self.numel * self.dtype.itemsize


class Blueprint:
    """Fake models of one architecture on one kind of device. Each is built once.

    Figures of the weights come from a model with one layer of each kind (trainer/preflight/memory/layers.py), and are exact.
    """

    def __init__(
        self,
        config: Any,
        spec: ModelSpec,
        device: Literal["cpu", "cuda"],
        packing: Packing = "auto",
        critic: CriticSpec | None = None,
    ) -> None:
        """`critic`: the section that names which parameters of the scalar model learn, and its bins; None: all, and none."""
        self.spec, self.device, self.packing = precision.resolved(spec, device), device, packing
        self.critic = critic
        self.dtype: torch.dtype = getattr(torch, self.spec.dtype)
        self.config = copy.deepcopy(config)
        self.config._attn_implementation = attention_for(device, self.dtype, config.get_text_config())
        self.fake = KnownNumbers()
        self.trained = lru_cache(maxsize=None)(self._trained)
        self.frozen = lru_cache(maxsize=None)(self._frozen)
        self.own_weights = lru_cache(maxsize=None)(self._own_weights)
        self._critics: dict[str, Blueprint] = {}
        self._teachers: dict[str, Blueprint] = {}
        self.parameters = lru_cache(maxsize=None)(self._parameters)
        self.frozen_bytes = lru_cache(maxsize=None)(self._frozen_bytes)

    @property
    def layers(self) -> int:
        return int(self.config.get_text_config().num_hidden_layers)

    @property
    def frozen_as_trained(self) -> bool:
        """Whether a frozen copy runs the same operations on the same types as the trained model, without gradients."""
        spec = self.spec
        return spec.lora is None and not spec.gradient_checkpointing and self.dtype == torch.float32

    @cached_property
    def shortened(self) -> "Blueprint":
        """The same architecture with one layer of each kind; itself if that is all it has."""
        chosen = layers.fewer_layers(self.config, self.frozen_layers)
        return self if chosen is None else self.with_layers(chosen)

    @cached_property
    def layer_counts(self) -> list[int]:
        """For each layer of `shortened`, the number of layers that it stands for."""
        return layers.layer_counts(self.config, self.frozen_layers)

    @property
    def frozen_layers(self) -> int:
        """The number of first layers of the scalar model that do not learn."""
        learning = None if self.critic is None else self.critic.last_layers
        return 0 if learning is None else self.layers - learning

    def with_layers(self, chosen: Sequence[int]) -> "Blueprint":
        """The same architecture with these layers of it."""
        critic = self.critic
        if critic is not None and critic.last_layers is not None:
            learning = sum(layer >= self.frozen_layers for layer in chosen)
            critic = critic.model_copy(update={"last_layers": learning})
        return Blueprint(layers.with_layers(self.config, chosen), self.spec, self.device, self.packing, critic)

    def for_critic(self, critic: CriticSpec | None) -> "Blueprint":
        """The blueprint of a critic with the bins and the learning parameters that the section names; itself for None.

        Raises ModelError where the architecture lacks the parts that the section names.
        """
        if critic is None:
            return self
        key = critic.model_dump_json()
        if key not in self._critics:
            refuse_too_many_layers(critic, self.layers)
            spec = critic.adapted(self.spec) if critic.train == "adapters" else self.spec
            found = Blueprint(self.config, spec, self.device, self.packing, critic)
            found.shortened.trained("scalar")
            self._critics[key] = found
        return self._critics[key]

    def of_teacher(self, config: Any) -> "Blueprint":
        """The blueprint of a frozen model of another architecture, held and computed in the types of this one."""
        key = str(config.to_dict())
        if key not in self._teachers:
            self._teachers[key] = Blueprint(config, self.spec, self.device, self.packing)
        return self._teachers[key]

    def _trained(self, head: Head) -> Model:
        """The model that is trained, or its adapter on a backbone."""
        lora, recompute = self.spec.lora, self.spec.gradient_checkpointing
        if lora is None:
            model = compute_in(self._plain(head, getattr(torch, self.spec.trained_weights)), self.dtype)
            if recompute:
                recompute_layers(model.base_model)
            return self._faked(self._as_critic(model, head))
        backbone = Backbone(self._plain("policy", self.dtype), "the model", lora, recompute)
        score = nn.Linear(self.hidden_size, 1, bias=False, device="meta") if head == "scalar" else None
        role = compute_in(Role(backbone, head, score=score), self.dtype)
        return self._faked(self._as_critic(role, head))

    def _as_critic(self, model: Model, head: Head) -> Model:
        if self.critic is None or head == "policy":
            return model
        model = give_heads(give_bins(model, self.critic.classification), self.critic.count)
        return freeze(give_units(model, self.critic.normalization is not None), self.critic)

    def _frozen(self, head: Head) -> Model:
        if self.spec.lora is not None:
            return self._faked(compute_in(self._plain(head, self.dtype).requires_grad_(False), self.dtype))
        model = self._plain(head, getattr(torch, self.spec.trained_weights)).requires_grad_(False)
        return self._faked(compute_in(store_as_computed(model, self.dtype), self.dtype))

    def _plain(self, head: Head, dtype: torch.dtype) -> Model:
        """The model on the meta device, where weights have no memory."""
        config = copy.deepcopy(self.config)
        config.num_labels = 1
        kind = AutoModelForCausalLM if head == "policy" else AutoModelForSequenceClassification
        with torch.device("meta"):
            model = kind.from_config(config, dtype=dtype).eval()  # type: ignore[no-untyped-call]
        if head == "policy" and self.spec.output_layer == "float32":
            output_in_float32(model)
        assume_packs(model, self.packing)
        return model

    def _faked(self, model: Model) -> Model:
        """Replace meta tensors by fake ones. A tensor that several modules share stays shared."""
        fakes: dict[torch.Tensor, torch.Tensor] = {}
        holders: list[dict[str, Any]] = []
        for module in (model, *_backbone(model)):
            holders += [held for part in module.modules() for held in (part._parameters, part._buffers)]
        for held in holders:
            for name, tensor in held.items():
                if tensor is not None:
                    held[name] = fakes.setdefault(tensor, self._fake_of(tensor))
        return model

    def _fake_of(self, tensor: torch.Tensor) -> torch.Tensor:
        with self.fake:
            fake = torch.empty(tensor.shape, dtype=tensor.dtype)
            return nn.Parameter(fake, tensor.requires_grad) if isinstance(tensor, nn.Parameter) else fake

    @property
    def hidden_size(self) -> int:
        return int(self.config.get_text_config().hidden_size)

    def _own_weights(self, head: Head) -> list[Weight]:
        """The weights of the trained model, without those of its backbone. A critic has frozen ones among them."""
        return list(self._weights(own_parameters(self.shortened.trained(head))))

    def trained_weights(self, head: Head) -> list[Weight]:
        """Those of them that learn."""
        return [weight for weight in self.own_weights(head) if weight.trained]

    def _weights(self, named: Iterable[tuple[str, Tensor]]) -> Iterator[Weight]:
        for name, weight in named:
            at = layers.layer_of(name)
            count = 1 if at is None else self.layer_counts[at]
            yield Weight(name, int(weight.numel()), weight.dtype, weight.ndim, weight.requires_grad, count)

    def trained_parameters(self, head: Head) -> int:
        return sum(weight.numel * weight.count for weight in self.trained_weights(head))

    def _parameters(self, head: Head) -> int:
        model = self.shortened._plain(head, self.dtype)
        return sum(weight.numel * weight.count for weight in self._weights(model.named_parameters()))

    def _frozen_bytes(self, head: Head) -> int:
        """Bytes of a frozen model's weights without buffers. Only matrices inside the layers are quantized."""
        weights = list(self._weights(self.shortened.frozen(head).named_parameters()))
        if self.spec.quantization is None:
            return sum(weight.nbytes * weight.count for weight in weights)
        small = _QUANTIZED[self.spec.quantization]
        return sum(
            weight.count * (int(weight.numel * small) if is_linear(weight.name, weight.dimensions) else weight.nbytes)
            for weight in weights
        )

    def trained_bytes(self, head: Head) -> int:
        """Bytes of the weights that learn."""
        return sum(weight.nbytes * weight.count for weight in self.trained_weights(head))

    def own_bytes(self, head: Head) -> int:
        """Bytes of the weights of the trained model, without those of its backbone."""
        return sum(weight.nbytes * weight.count for weight in self.own_weights(head))


def is_linear(name: str, dimensions: int) -> bool:
    """Whether the weight is a matrix inside the layers, by its name."""
    return dimensions == 2 and not any(part in name for part in ("embed", "lm_head", "wte", "wpe", "score"))


def tensors_of(model: Model) -> Iterator[torch.Tensor]:
    """Weights and buffers of a model, and those of its backbone."""
    for module in (model, *_backbone(model)):
        yield from module.parameters()
        yield from module.buffers()


def _backbone(model: Model) -> list[nn.Module]:
    return [model.backbone.model] if isinstance(model, Role) else []
