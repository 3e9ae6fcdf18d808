"""LoRA: one frozen transformer in memory with any number of low-rank adapters (Hu et al. 2021), by peft.

peft takes two seconds to import, so it is imported inside the functions that use it.
"""

import warnings
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor, nn

from trainer.errors import ModelError
from trainer.models.gradient_checkpointing import recompute_layers
from trainer.models.heads import Model
from trainer.spec import LoraSpec

if TYPE_CHECKING:
    from peft import LoraConfig

LAYER_PARTS = ("lora_A", "lora_B")


class Backbone:
    """A frozen model whose linear layers carry named adapters, of which one at most is active."""

    def __init__(self, model: Model, source: str | Path, spec: LoraSpec, recompute: bool = False) -> None:
        self.model = model.requires_grad_(False).eval()
        self.source = str(source)
        """The folder or hub id of its weights, which an adapter folder names as its base."""
        self.spec = spec
        self.active: str | None = None
        self._layers: dict[str, Any] = {}  # peft's LoraLayer by path
        if recompute:
            recompute_layers(self.model.base_model, self._current)

    def add(self, name: str, seed: int) -> dict[str, nn.Parameter]:
        """A fresh adapter's parameters in fp32, by peft's names: A as peft draws it, but from `seed`; B zero.

        Raises ModelError for layers that the model does not have.
        """
        from peft import inject_adapter_in_model
        from peft.tuners.lora import LoraLayer

        trunk = self.model.base_model
        trained = {weight: weight.requires_grad for weight in trunk.parameters()}
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", message="Already found a `peft_config`")  # several adapters are intended
            warnings.filterwarnings("ignore", message="fan_in_fan_out is set")  # GPT-2's layers; peft sets it right
            try:
                inject_adapter_in_model(self.lora_config(), trunk, name)
            except ValueError as error:
                raise ModelError(f"`model.lora.target_modules` does not fit {self.source}: {error}") from error
        for weight, before in trained.items():
            weight.requires_grad_(before)  # peft changes which weights take gradients
        self._layers = {path: layer for path, layer in trunk.named_modules() if isinstance(layer, LoraLayer)}
        self._refuse_unmatched()
        for layer in self._layers.values():
            if _is_linear(layer):
                layer.forward = partial(_adapted, layer)  # a partial, so that a deep copy refers to its own layers
        self._activate(None)
        parameters = {
            f"{self.model.base_model_prefix}.{path}.{part}": getattr(layer, part)[name].weight
            for path, layer in self._layers.items()
            for part in LAYER_PARTS
        }
        _draw(parameters, seed)
        return parameters

    def under(self, name: str | None) -> AbstractContextManager[None]:
        """While inside, the named adapter is active; with None, no adapter is."""
        return self._under(name)

    @property
    def quantized(self) -> bool:
        return getattr(self.model, "hf_quantizer", None) is not None

    @torch.no_grad()
    def merged(self, name: str | None, scratch: Path) -> dict[str, Tensor]:
        """The whole model's weights in fp32 with the adapter added to them, under their plain names; tied ones once.

        Weights that differ from those in memory are mapped from the file `scratch` and computed one after the other. A
        second model in memory, twice as large as a bfloat16 backbone, might not fit.
        """
        state, adapted = self._plain_weights(), self._adapted_by(name)
        made = [key for key, value in state.items() if key in adapted or _differs(value)]
        count = sum(state[key].numel() for key in made)
        room = torch.from_file(str(scratch), shared=True, size=count, dtype=torch.float32) if made else torch.empty(0)
        for key, place in zip(made, room.split([state[key].numel() for key in made]), strict=True):
            place = place.view(state[key].shape)
            place.copy_(state[key])
            if key in adapted:
                place += adapted[key].get_delta_weight(name).float().to(place.device)
            state[key] = place
        return state

    @torch.no_grad()
    def merged_in_turn(self, name: str | None) -> Iterator[tuple[str, Tensor]]:
        """Yield the weights one by one, on the backbone's device and in its type, tied ones under each of their names.

        The caller copies each at once.
        """
        adapted = self._adapted_by(name)
        for key, value in self._named_weights():
            if key in adapted:
                value = (value.float() + adapted[key].get_delta_weight(name).float()).to(value.dtype)
            yield key, value

    def _adapted_by(self, name: str | None) -> dict[str, Any]:
        """The layers with an adapter, by the names of their weights; empty for None."""
        paths = self._layers if name is not None else {}
        return {f"{self.model.base_model_prefix}.{path}.weight": layer for path, layer in paths.items()}

    def _plain_weights(self) -> dict[str, Tensor]:
        """The backbone's own weights by the names that they had before adapters were added; tied ones once."""
        state: dict[str, Tensor] = {}
        seen: set[int] = set()
        for key, value in self._named_weights():
            if value.data_ptr() not in seen:
                seen.add(value.data_ptr())
                state[key] = value
        return state

    def _named_weights(self) -> Iterator[tuple[str, Tensor]]:
        for key, value in self.model.state_dict().items():
            if ".lora_" not in key:
                yield key.replace(".base_layer.", "."), value

    @contextmanager
    def _under(self, name: str | None) -> Iterator[None]:
        before = self.active
        self._activate(name)
        try:
            yield
        finally:
            self._activate(before)

    def _current(self) -> AbstractContextManager[None]:
        return self._under(self.active)

    def _activate(self, name: str | None) -> None:
        """Make an adapter active. peft's `set_adapter` would also change which weights take gradients."""
        if name != self.active or name is None:
            for layer in self._layers.values():
                layer._active_adapter = [] if name is None else [name]
        self.active = name

    def lora_config(self) -> "LoraConfig":
        from peft import LoraConfig

        targets = self.spec.target_modules
        return LoraConfig(
            r=self.spec.rank,
            lora_alpha=self.spec.alpha,  # type: ignore[arg-type]  # it takes a float too
            target_modules=targets if isinstance(targets, str) else list(targets),
            lora_dropout=0.0,
        )

    def _refuse_unmatched(self) -> None:
        """Raise ModelError for a name that matches no layer. peft requires only that one of the names matches."""
        names = self.spec.target_modules
        for name in names if isinstance(names, list) else ():
            if not any(path == name or path.endswith(f".{name}") for path in self._layers):
                raise ModelError(f"`model.lora.target_modules`: {self.source} has no linear layer {name!r} to adapt.")


def _is_linear(layer: Any) -> bool:
    """Whether the layer adapts a plain linear layer. Quantized layers and embeddings use peft's own forward."""
    from peft.tuners.lora import Linear

    return type(layer) is Linear and type(layer.base_layer) is nn.Linear


def _adapted(layer: Any, x: Tensor) -> Tensor:
    """W·x + α/r · B·A·x, where one product adds to W·x in place.

    peft computes a product, a multiple and a sum, each as wide as the layer, and casts the input to the adapter's type.
    """
    if not layer._active_adapter:
        result: Tensor = layer.base_layer(x)
        return result
    (name,) = layer._active_adapter
    wide_NO: Tensor = layer.base_layer(x.flatten(0, -2))
    narrow_NR = layer.lora_A[name](x.flatten(0, -2))
    up = layer.lora_B[name].weight.to(wide_NO.dtype)
    wide_NO.addmm_(narrow_NR.to(wide_NO.dtype), up.T, alpha=layer.scaling[name])
    return wide_NO.view(*x.shape[:-1], wide_NO.shape[-1])


def _differs(value: Tensor) -> bool:
    """Whether the weight must be converted for saving, which needs fp32 on the CPU."""
    return value.is_floating_point() and (value.dtype != torch.float32 or value.device.type != "cpu")


@torch.no_grad()
def _draw(parameters: dict[str, nn.Parameter], seed: int) -> None:
    """peft's default from a given seed, equal on every device: A uniform in ±1/√fan-in, B zero."""
    draws = torch.Generator().manual_seed(seed)
    for key, weight in parameters.items():
        values = torch.zeros(weight.shape)
        if key.endswith("lora_A"):
            nn.init.kaiming_uniform_(values, a=5**0.5, generator=draws)
        weight.data = values.to(weight.device)
