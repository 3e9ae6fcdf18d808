"""A part played on a shared backbone: an adapter of its own, and for scores and values a head of its own.

To the stages a role is a model like any other: they call its trunk and its head, train its parameters and save it. The
adapter is active only inside those calls, and again while a layer is recomputed for the backward pass.
"""

import json
from collections.abc import Callable
from copy import deepcopy
from pathlib import Path
from typing import Any, cast

import torch
from torch import Tensor, nn
from transformers import AutoModelForSequenceClassification

from trainer.errors import ModelError
from trainer.models import adapters
from trainer.models.adapters import Adapter
from trainer.models.backbone import Backbone
from trainer.models.heads import Model


class Role(nn.Module):
    """`adapter`: its name on the backbone, or None for the backbone as it is. `score`: the scalar head, if it has one.

    Its parameters are the adapter's and the head's alone.
    """

    backbone: Backbone

    def __init__(self, backbone: Backbone, adapter: str | None, seed: int = 0, score: nn.Linear | None = None) -> None:
        super().__init__()
        object.__setattr__(self, "backbone", backbone)  # no submodule: its weights are everybody's, and frozen
        self.adapter_name = adapter
        own = {} if adapter is None else backbone.add(adapter, seed)
        self._names = tuple(own)
        self._adapter = nn.ParameterList(own.values())
        self.score = score
        self.config = deepcopy(backbone.model.config)  # a copy, as a head's bias and scale are noted in it

    def forward(self, **inputs: Any) -> Any:
        """As the causal language model's own: logits, with a cache where one is given."""
        with self.backbone.under(self.adapter_name):
            return self.backbone.model(**inputs)

    @property
    def underlying(self) -> Any:
        """The model whose trunk this is."""
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

    def num_parameters(self) -> int:
        """The backbone's: what a forward pass goes through. Its own are `parameters()`."""
        return int(self.backbone.model.num_parameters())

    def save_pretrained(self, folder: str | Path) -> None:
        """The adapter and the head alone, as an adapter folder."""
        weights: dict[str, Tensor] = dict(self._weights())
        config = self.config
        adapter = Adapter(weights, getattr(config, "score_bias", 0.0), getattr(config, "score_scale", 1.0))
        adapters.write(Path(folder), adapter, self.backbone.lora_config(), self.backbone.source)
        if self.score is None and self.generation_config is not None:
            self.generation_config.save_pretrained(folder)

    @torch.no_grad()
    def load(self, folder: Path, with_head: bool = True) -> "Role":
        """Take over an adapter folder's weights, exactly; without the head where a policy's adapter is to begin with.

        Raises ModelError where they are of another shape.
        """
        found = adapters.read(folder)
        own = {name: weight for name, weight in self._weights().items() if with_head or name != "score.weight"}
        theirs = {name: tuple(value.shape) for name, value in found.weights.items()}
        ours = {name: tuple(value.shape) for name, value in own.items()}
        if theirs.keys() != ours.keys():
            odd = sorted(theirs.keys() ^ ours.keys())[0]
            raise ModelError(
                f"{folder}: its adapter is not on the layers of `model.lora.target_modules` ({odd} is on one side only)."
            )
        for name, shape in ours.items():
            if theirs[name] != shape:
                raise ModelError(
                    f"{folder}: {name} has the shape {theirs[name]}, this run's {shape}. Give `model.lora.rank` the adapter's."
                )
            own[name].copy_(found.weights[name])
        if self.score is not None and with_head:
            self.config.score_bias, self.config.score_scale = found.score_bias, found.score_scale
        return self

    def store_as_computed(self, dtype: torch.dtype) -> None:
        """Store an adapter that learns no more in `dtype`, in which it is multiplied; the head stays in float32."""
        for weight in self._adapter:
            weight.data = weight.data.to(dtype)

    def _weights(self) -> dict[str, nn.Parameter]:
        own: dict[str, nn.Parameter] = dict(zip(self._names, self._adapter, strict=True))
        return own if self.score is None else {**own, "score.weight": cast(nn.Parameter, self.score.weight)}


ADAPTER = "adapter"
"""Folder beside merged weights with the adapter that was merged into them: with it the run goes on without rounding."""


def save_result(model: Model, folder: Path) -> None:
    """Save a plain transformers folder. Of a role the adapter is merged in, and kept beside it in `adapter/`; without
    `model.lora.merge`, and on a quantized backbone, where nothing can be merged, the folder is the adapter's."""
    if isinstance(model, Role) and model.backbone.spec.merge and not model.backbone.quantized:
        _save_merged(model, folder)
        model.save_pretrained(folder / ADAPTER)
    else:
        model.save_pretrained(folder)


def _save_merged(role: Role, folder: Path) -> None:
    """In float32: rounded to the backbone's type, most of what a small learning rate taught would be gone."""
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
    """The architecture's reward model, without memory: it lends its names and its configuration."""
    config = deepcopy(role.config)
    config.num_labels = 1
    with torch.device("meta"):
        return AutoModelForSequenceClassification.from_config(config)
