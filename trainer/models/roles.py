"""Roles: models that share a backbone, each with its own adapter and, for scores and values, its own head; saving results.

The stages use a role like any other model: they call its trunk and head, train its parameters and save it. The adapter is
active only inside those calls, and again while a layer is recomputed for the backward pass.
"""

import json
from collections.abc import Callable, Iterator
from copy import deepcopy
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn
from transformers import AutoModelForSequenceClassification

from trainer.errors import ModelError
from trainer.models import adapters
from trainer.models.adapters import Adapter
from trainer.models.backbone import Backbone
from trainer.models.heads import Model
from trainer.models.members import levels_of, members_of, set_levels
from trainer.models.step_scores import mark_steps, step_delimiter_of
from trainer.models.value_units import BIAS

_HEAD = ("score.weight", BIAS)


class Role(nn.Module):
    """`adapter`: its name on the backbone, or None for the plain backbone. `score`: the scalar head, if any.

    The parameters are only those of the adapter and the head.
    """

    backbone: Backbone

    def __init__(self, backbone: Backbone, adapter: str | None, seed: int = 0, score: nn.Linear | None = None) -> None:
        super().__init__()
        object.__setattr__(self, "backbone", backbone)  # not a submodule, because its weights are shared and frozen
        self.adapter_name = adapter
        own = {} if adapter is None else backbone.add(adapter, seed)
        self._names = tuple(own)
        self._adapter = nn.ParameterList(own.values())
        self.score = score
        self.config = deepcopy(backbone.model.config)  # a copy, because it holds the head's bias and scale

    def forward(self, **inputs: Any) -> Any:
        """The forward pass of the causal language model with this role's adapter."""
        with self.backbone.under(self.adapter_name):
            return self.backbone.model(**inputs)

    @property
    def underlying(self) -> Any:
        """The model whose trunk this role uses."""
        return self.backbone.model

    @property
    def base_model(self) -> Callable[..., Any]:
        return self._trunk

    def _trunk(self, **inputs: Any) -> Any:
        with self.backbone.under(self.adapter_name):
            return self.backbone.model.base_model(**inputs)

    def get_output_embeddings(self) -> nn.Module:
        head: nn.Module = self.backbone.model.get_output_embeddings()
        return head

    @property
    def device(self) -> torch.device:
        device: torch.device = self.backbone.model.device
        return device

    @property
    def generation_config(self) -> Any:
        return getattr(self.backbone.model, "generation_config", None)

    def named_trained(self) -> Iterator[tuple[str, nn.Parameter]]:
        """The role's own parameters. Those of the adapter have peft's names, which name the layer."""
        yield from zip(self._names, self._adapter, strict=True)
        if self.score is not None:
            yield from self.score.named_parameters(prefix="score")

    def num_parameters(self) -> int:
        """The number of the backbone's parameters. `parameters()` yields only the role's own."""
        return int(self.backbone.model.num_parameters())

    def save_pretrained(self, folder: str | Path) -> None:
        """Save the adapter and the head as an adapter folder."""
        weights: dict[str, Tensor] = dict(self._weights())
        config = self.config
        adapter = Adapter(
            weights,
            getattr(config, "score_bias", 0.0),
            getattr(config, "score_scale", 1.0),
            tuple(levels_of(config)),
            None if self.score is None else step_delimiter_of(config),
        )
        adapters.write(Path(folder), adapter, self.backbone.lora_config(), self.backbone.source)
        if self.score is None and self.generation_config is not None:
            self.generation_config.save_pretrained(folder)

    @torch.no_grad()
    def load(self, folder: Path, with_head: bool = True) -> "Role":
        """Copy the weights of an adapter folder. Without `with_head`, the head keeps its weights, and one in the folder is left out.

        Raises ModelError where layers or shapes differ.
        """
        adapter = adapters.read(folder)
        own = {name: weight for name, weight in self._weights().items() if with_head or name not in _HEAD}
        kept = {name: value for name, value in adapter.weights.items() if with_head or name not in _HEAD}
        theirs = {name: tuple(value.shape) for name, value in kept.items()}
        ours = {name: tuple(value.shape) for name, value in own.items()}
        if theirs.keys() != ours.keys():
            odd = sorted(theirs.keys() ^ ours.keys())[0]
            raise ModelError(
                f"{folder}: its adapter is not on the layers of `model.lora.target_modules` ({odd} is only on one side)."
            )
        for name, shape in ours.items():
            if theirs[name] != shape:
                raise ModelError(
                    f"{folder}: {name} has the shape {theirs[name]}, but {shape} in this run. Set `model.lora.rank` to the adapter's."
                )
            own[name].copy_(adapter.weights[name])
        if self.score is not None and with_head:
            self.config.score_bias, self.config.score_scale = adapter.score_bias, adapter.score_scale
            mark_steps(self.config, adapter.step_delimiter)
            if adapter.levels:
                set_levels(self.config, adapter.levels)
            if BIAS in adapter.weights:
                self.config.value_units = True
        return self

    def store_as_computed(self, dtype: torch.dtype) -> None:
        """Store a frozen adapter in `dtype`, the type of its products. The head stays in float32."""
        for weight in self._adapter:
            weight.data = weight.data.to(dtype)

    def _weights(self) -> dict[str, nn.Parameter]:
        own: dict[str, nn.Parameter] = dict(zip(self._names, self._adapter, strict=True))
        head = {} if self.score is None else dict(self.score.named_parameters(prefix="score"))
        return own | head


ADAPTER = "adapter"
"""The folder beside merged weights with the unmerged adapter, from which a run continues without rounding."""


def save_result(model: Model, folder: Path) -> None:
    """Save a plain transformers folder, which any tool can load.

    A role is saved with its adapter merged in, and with the adapter beside it in `adapter/`. Without `model.lora.merge`,
    or on a quantized backbone, only the adapter folder is saved.
    """
    if isinstance(model, Role) and model.backbone.spec.merge and not model.backbone.quantized:
        _save_merged(model, folder)
        model.save_pretrained(folder / ADAPTER)
    else:
        model.save_pretrained(folder)


def _save_merged(role: Role, folder: Path) -> None:
    """Save in float32. Rounded to the backbone's type, most changes of a small learning rate would be lost."""
    folder.mkdir(parents=True, exist_ok=True)
    scratch = folder / "merged.scratch"
    state, plain = role.backbone.merged(role.adapter_name, scratch), role.backbone.model
    if role.score is not None:
        plain = _empty_scorer(role)
        names = plain.state_dict().keys()
        state = {key: value for key, value in state.items() if key in names}
        state["score.weight"] = role.score.weight.detach().float()
    plain.save_pretrained(folder, state_dict={key: value.contiguous() for key, value in state.items()})
    scratch.unlink(missing_ok=True)
    path = folder / "config.json"
    path.write_text(json.dumps(json.loads(path.read_text(encoding="utf-8")) | {"dtype": "float32"}, indent=2))


def _empty_scorer(role: Role) -> Model:
    """The architecture's reward model on the meta device, for its weight names and configuration."""
    config = deepcopy(role.config)
    config.num_labels = members_of(config)
    with torch.device("meta"):
        return AutoModelForSequenceClassification.from_config(config)
