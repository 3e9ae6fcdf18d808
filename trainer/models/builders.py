"""Builders of a stage's models: whole models, or roles on shared backbones.

`part` is the role of a model in its stage, such as "policy" or "critic". `start` is the model folder or hub id that its
weights come from. `saved` is a checkpoint of that part or the result of the stage that trained it, and replaces `start`.
"""

from collections.abc import Callable
from pathlib import Path
from typing import Literal, Protocol

import torch
from torch import nn

from trainer.errors import ModelError
from trainer.models import adapters, precision
from trainer.models.attention import pack_as
from trainer.models.backbone import Backbone
from trainer.models.folders import located
from trainer.models.frozen import freeze
from trainer.models.gradient_checkpointing import recompute_layers
from trainer.models.heads import Model, ValueHead, compute_in, output_in_float32, store_as_computed
from trainer.models.loading import FreshHead, load_policy, load_reward_model, new_policy, new_reward_model, set_fresh
from trainer.models.members import forget_members, members_of, set_levels, with_members
from trainer.models.offload import place_frozen
from trainer.models.precision import quantization_options
from trainer.models.roles import ADAPTER, Role
from trainer.models.value_bins import give_bins, has_bins
from trainer.models.value_heads import give_heads
from trainer.models.value_units import give_units
from trainer.spec import CriticSpec, LoraSpec, ModelSpec, RuntimeSpec
from trainer.text.codec import Tokenizer

Start = str | Path
Head = Literal["policy", "scalar"]
"""The output of a model: token logits, or one number for each token."""
WeightUse = Literal["trained", "moving", "exact", "frozen"]
"""How the weights of a model are used, which decides their types.

`trained`: they take gradients and have the type `model.trained_weights`.
`moving`: float32, changed in other ways, such as a reference that follows the policy.
`frozen`: unchanged. Linear layers have the type `model.dtype` and other weights the type `model.trained_weights`, so that
the model computes the same bits as a trained one.
`exact`: like `frozen`, and never offloaded to host memory."""
_DTYPES = {"float32": torch.float32, "bfloat16": torch.bfloat16, "float16": torch.float16}


DEFAULT_RUNTIME = RuntimeSpec()


def dtype_of(spec: ModelSpec) -> torch.dtype:
    """The torch type of `model.dtype`, which must be resolved from "auto" before."""
    return _DTYPES[spec.dtype]


class ModelBuilder(Protocol):
    """Builds the models of one stage, in eval mode, on the run's device."""

    def new(self, tokenizer: Tokenizer, seed: int, use: WeightUse) -> Model:
        """A new policy with random weights from `model.config`."""
        ...

    def policy(self, part: str, start: Start, use: WeightUse, saved: Path | None = None) -> Model: ...

    def scorer(
        self,
        part: str,
        start: Start,
        use: WeightUse,
        saved: Path | None = None,
        fresh_head: FreshHead | None = None,
        critic: CriticSpec | None = None,
        members: int | None = None,
    ) -> Model:
        """A model with a scalar head. With `fresh_head`, `start` is a policy; without, `start` has a head.

        `critic`: the section that names the parameters that learn, the bins, heads and units; None: all learn, and there are
        none. A critic with bins has a new head unless `saved` has its bins. Several heads begin as copies of the first.

        `members`: those of an ensemble of reward models; see `with_members`. None: as many as the weights have.
        """
        ...


def builder_for(
    spec: ModelSpec,
    device: torch.device,
    seed: Callable[[str], int],
    runtime: RuntimeSpec = DEFAULT_RUNTIME,
    offload_frozen: bool = False,
    shard: Callable[[Model], Model] | None = None,
) -> ModelBuilder:
    """The builder that the spec asks for.

    `seed(part)`: the seed of a new adapter. `offload_frozen`: keep frozen whole models in host memory; it has no effect on
    a backbone under adapters. `shard`: reduces a whole model in host memory to the slice of this process on the device.
    """
    spec = precision.resolved(spec, device.type)
    if spec.lora is None:
        return WholeModelBuilder(spec, device, runtime, offload_frozen, shard)
    return AdapterBuilder(spec, spec.lora, device, seed, runtime)


class WholeModelBuilder:
    """Full fine-tuning: each part is a whole model."""

    def __init__(
        self,
        spec: ModelSpec,
        device: torch.device,
        runtime: RuntimeSpec = DEFAULT_RUNTIME,
        offload_frozen: bool = False,
        shard: Callable[[Model], Model] | None = None,
    ) -> None:
        self.spec = spec
        self.device = device
        self.runtime = runtime
        self.offload_frozen = offload_frozen
        self.shard = shard

    def new(self, tokenizer: Tokenizer, seed: int, use: WeightUse) -> Model:
        return self._ready(_with_output(new_policy(self.spec, tokenizer, seed, self._dtype(use)), self.spec), use)

    def policy(self, part: str, start: Start, use: WeightUse, saved: Path | None = None) -> Model:
        return self._ready(_with_output(load_policy(saved or start, self._dtype(use)), self.spec), use)

    def scorer(
        self,
        part: str,
        start: Start,
        use: WeightUse,
        saved: Path | None = None,
        fresh_head: FreshHead | None = None,
        critic: CriticSpec | None = None,
        members: int | None = None,
    ) -> Model:
        if saved is None and fresh_head is not None:
            return self._ready(new_reward_model(start, fresh_head, self._dtype(use), members or 1), use, critic)
        several = critic is not None and (critic.classification is not None or critic.heads is not None)
        return self._ready(
            with_members(load_reward_model(saved or start, self._dtype(use), several), members), use, critic
        )

    def _ready(self, model: Model, use: WeightUse, critic: CriticSpec | None = None) -> Model:
        if use in ("exact", "frozen"):
            store_as_computed(model, dtype_of(self.spec))
        # A model that is sliced stays in host memory: `shard` takes it to the device layer by layer.
        device = self.device if self.shard is None else torch.device("cpu")
        model = _run_as(self.runtime, place_frozen(model, device, self.offload_frozen and use == "frozen"))
        if use == "trained" and self.spec.gradient_checkpointing:
            recompute_layers(model)
        model = _settled(model, use, self.spec, critic)
        return model if self.shard is None else self.shard(model)

    def _dtype(self, use: WeightUse) -> torch.dtype:
        return torch.float32 if use == "moving" else _DTYPES[self.spec.trained_weights]


class AdapterBuilder:
    """LoRA: parts with the same `start` share a backbone, unless `model.lora.share_backbone` is false."""

    def __init__(
        self,
        spec: ModelSpec,
        lora: LoraSpec,
        device: torch.device,
        seed: Callable[[str], int],
        runtime: RuntimeSpec = DEFAULT_RUNTIME,
    ) -> None:
        self.spec = spec
        self.lora = lora
        self.device = device
        self.seed = seed
        self.runtime = runtime
        self._backbones: dict[str, Backbone] = {}

    def new(self, tokenizer: Tokenizer, seed: int, use: WeightUse) -> Model:
        raise ModelError("`model.lora` adapts a pretrained model: it needs `model.path`, not `model.config`.")

    def policy(self, part: str, start: Start, use: WeightUse, saved: Path | None = None) -> Model:
        backbone, first = self._ground(part, start, load_policy)
        return self._role(part, backbone, use, _adapter_in(saved) or first)

    def scorer(
        self,
        part: str,
        start: Start,
        use: WeightUse,
        saved: Path | None = None,
        fresh_head: FreshHead | None = None,
        critic: CriticSpec | None = None,
        members: int | None = None,
    ) -> Model:
        backbone, first = self._ground(part, start, load_reward_model if fresh_head is None else load_policy)
        origin, bins = _adapter_in(saved) or first, None if critic is None else critic.classification
        outputs, hidden = 1 if bins is None else bins.bins, backbone.model.config.get_text_config().hidden_size
        with_head = saved is not None or fresh_head is None  # the adapter of a policy has no head
        loads, ensemble = origin is not None and with_head, members or 1
        if loads:
            assert origin is not None
            ensemble = len(adapters.read(origin).levels) or 1
        elif fresh_head is None:
            ensemble = members_of(backbone.model.config)
        if bins is None and ensemble > 1:
            outputs = ensemble
        elif critic is not None and critic.heads is not None and origin is not None:
            outputs = adapters.outputs_of(origin) or 1
        normalized = critic is not None and critic.normalization is not None
        biased = normalized and origin is not None and adapters.has_bias(origin)
        learned = biased or (bins is None and outputs > 1 and loads)  # a head that is loaded below
        begun = getattr(backbone.model, "score", None) if fresh_head is None and first is None and not learned else None
        has_bias = biased or getattr(begun, "bias", None) is not None
        head = nn.Linear(hidden, outputs, bias=has_bias, device=self.device)
        if bins is not None:
            set_fresh(head, "zero")
        elif fresh_head is not None:
            set_fresh(head, fresh_head)
        elif begun is not None:
            head.load_state_dict({name: weight.float() for name, weight in begun.state_dict().items()})
        if bins is not None:  # that of a reward model has a scalar one, or one of an ensemble
            with_head = origin is not None and ensemble == 1 and has_bins(adapters.outputs_of(origin) or 1, bins)
            ensemble = 1
        return self._role(part, backbone, use, origin, head, with_head, critic, (ensemble, members))

    def _ground(self, part: str, start: Start, load: Callable[..., Model]) -> tuple[Backbone, Path | None]:
        """The backbone for `start`, and the adapter folder to begin with.

        The second is None except for an adapter on a quantized backbone, into which it cannot be merged.
        """
        first = located(start) if self.spec.quantization is not None and adapters.is_adapter(start) else None
        source, load = (str(start), load) if first is None else (adapters.base_of(first), load_policy)
        where = str(Path(source).resolve()) if Path(source).is_dir() else source
        key = where if self.lora.share_backbone else part
        if key not in self._backbones:
            dtype = dtype_of(self.spec)
            options = quantization_options(self.spec, dtype, self.device)
            model = load(source, dtype, **options)
            model = _with_output(model, self.spec) if load is load_policy else model
            model = _run_as(self.runtime, model if options else model.to(self.device))
            self._backbones[key] = Backbone(model, where, self.lora, self.spec.gradient_checkpointing)
        return self._backbones[key], first

    def _role(
        self,
        part: str,
        backbone: Backbone,
        use: WeightUse,
        origin: Path | None,
        head: nn.Linear | None = None,
        with_head: bool = True,
        critic: CriticSpec | None = None,
        members: tuple[int, int | None] = (1, None),
    ) -> Model:
        """A role with an adapter, loaded from `origin` or new. A part that never differs from the backbone gets none.

        `members`: those of the ensemble that `head` has, and those that the role is to have (`with_members`).
        """
        name = part if origin is not None or use in ("trained", "moving") else None
        role = Role(backbone, name, self.seed(part), head).eval()
        role.config.score_bias = getattr(backbone.model.config, "score_bias", 0.0)
        role.config.score_scale = getattr(backbone.model.config, "score_scale", 1.0)
        found, wanted = members
        if found == 1:
            forget_members(role.config)
        elif found != members_of(role.config):
            set_levels(role.config, [(0.0, 1.0)] * found)
        if origin is not None:
            role.load(origin, with_head)
        if head is not None:
            with_members(role, wanted)
        if use in ("exact", "frozen"):
            role.store_as_computed(dtype_of(self.spec))
        return _settled(role, use, self.spec, critic)


def new_value_head(policy: Model, critic: CriticSpec) -> ValueHead:
    """A new head on the policy's trunk, with the bins or the units that the section asks for."""
    head: ValueHead = give_units(give_bins(ValueHead(policy), critic.classification), critic.normalization is not None)
    return head


def _with_output(policy: Model, spec: ModelSpec) -> Model:
    """The policy with the output layer that `model.output_layer` asks for."""
    return policy if spec.output_layer == "dtype" else output_in_float32(policy)


def _run_as(runtime: RuntimeSpec, model: Model) -> Model:
    """Apply the settings of `runtime` to the model. Raises ModelError where they do not fit it."""
    return pack_as(model, runtime.packing)


def _settled(model: Model, use: WeightUse, spec: ModelSpec, critic: CriticSpec | None = None) -> Model:
    """Set which weights take gradients, and the type of the passes.

    A `moving` model may be trained for a while, such as a reward model between online rounds.
    """
    model = give_bins(model, None if critic is None else critic.classification)
    model = give_heads(model, 1 if critic is None else critic.count)
    model = give_units(model, critic is not None and critic.normalization is not None)
    model.requires_grad_(use in ("trained", "moving"))
    model = compute_in(model, dtype_of(spec)).requires_grad_(use == "trained")
    return model if critic is None else freeze(model, critic)


def _adapter_in(saved: Path | None) -> Path | None:
    """The adapter folder of a checkpoint, or of a result beside its merged weights. Raises ModelError where there is none."""
    if saved is None:
        return None
    adapter = next((folder for folder in (saved / ADAPTER, saved) if adapters.is_adapter(folder)), None)
    if adapter is None:
        raise ModelError(f"{saved} holds no adapter: it was not trained with `model.lora`.")
    return adapter
