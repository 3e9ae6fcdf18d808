"""A model's trunk and its heads. The trunk runs over every position, and a head only over the positions that need it.

Shapes: N positions, H hidden size, V vocabulary.
"""

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from functools import partial
from types import SimpleNamespace
from typing import Any, TypeVar

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from transformers.pytorch_utils import Conv1D

from trainer.errors import ModelError
from trainer.models.members import levelled, members_of
from trainer.models.value_bins import bin_values, bins_of
from trainer.models.value_heads import heads_of

T = TypeVar("T")
Model = Any  # transformers' models, and the roles on a shared backbone: callables with a config


def compute_in(model: Model, dtype: torch.dtype) -> Model:
    """Set the type in which the model's forward passes compute, whatever its weights are stored in; return the model."""
    model.compute_dtype = dtype
    return model


class Float32Output(nn.Linear):
    """An output layer that multiplies in float32 at least, also under autocast (MiniMax 2025, arXiv 2506.13585, §3.2).

    Logits in bfloat16 have 8 bits, so rounding moves a logit of 16 by up to 0.06. The sampler and the trainer round sums that
    were taken in another order.
    """

    def forward(self, input: Tensor) -> Tensor:
        wide = torch.promote_types(self.weight.dtype, torch.float32)
        with torch.autocast(input.device.type, enabled=False):
            return F.linear(input.to(wide), self.weight.to(wide), None if self.bias is None else self.bias.to(wide))


def output_in_float32(model: Model) -> Model:
    """Let the model's output layer compute in float32, in place; return the model. Its weights keep their type.

    Raises ModelError for an output layer that is no plain linear layer.
    """
    head = model.get_output_embeddings()
    if type(head) not in (nn.Linear, Float32Output):
        raise ModelError(
            f'`model.output_layer` = "float32" needs a linear output layer, and this model has a {type(head).__name__}: leave it out.'
        )
    head.__class__ = Float32Output
    return model


def store_as_computed(model: Model, dtype: torch.dtype) -> Model:
    """Store the linear layers of a frozen model in `dtype`, the type in which autocast multiplies their weights.

    The model then computes the same bits as one that is trained under autocast. Embeddings, norms and the residual stream
    keep their type, and so does a head that computes in float32. Another output layer that is tied to the embedding gets its
    own weights.
    """
    if dtype == torch.float32:
        return model
    tables = {id(module.weight) for module in model.modules() if isinstance(module, nn.Embedding)}
    for module in model.modules():
        if not isinstance(module, nn.Linear | Conv1D) or module is getattr(model, "score", None):
            continue
        if isinstance(module, Float32Output):
            continue
        for name, weight in module.named_parameters(recurse=False):
            if id(weight) in tables:
                setattr(module, name, nn.Parameter(weight.detach().to(dtype), requires_grad=False))
            elif weight.is_floating_point():
                weight.data = weight.data.to(dtype)
    return model


def underlying(model: Model) -> Model:
    """The transformers model below a role on a backbone, or below a head on another model's trunk."""
    while (inner := getattr(model, "underlying", None)) is not None:
        model = inner
    return model


def autocast(model: Model) -> AbstractContextManager[object]:
    """The context in which forward passes of `model` compute in the type set by `compute_in`.

    The functions below enter it. Around many passes without gradients, an outer context casts the weights only once.
    """
    dtype = getattr(model, "compute_dtype", torch.float32)
    return nullcontext() if dtype == torch.float32 else torch.autocast(model.device.type, dtype=dtype)


def has_linear_score(model: Model) -> bool:
    head = getattr(model, "score", None)
    return isinstance(head, nn.Linear) and head.out_features == 1


def trunk(model: Model) -> Callable[..., Any]:
    """The transformer without its head, as a function of `input_ids` and further keyword arguments."""
    return partial(_run_trunk, model)


def inside(model: Model, work: Callable[[Model], T]) -> T:
    """`work(model)`, inside which a sharded model's weights are gathered. All use of a model's weights goes through here."""
    run: Callable[[Callable[[Model], T]], T] | None = getattr(model, "run_inside", None)
    return work(model) if run is None else run(work)


def _run_trunk(model: Model, **inputs: Any) -> Any:
    with autocast(model):
        return model.base_model(**inputs)


def head_logits(model: Model, hidden_NH: Tensor) -> Tensor:
    """Logits (N, V) from last hidden states, as the model's own forward pass would compute them."""
    with autocast(model):
        logits: Tensor = model.get_output_embeddings()(hidden_NH)
    cap = getattr(model.config, "final_logit_softcapping", None)
    return logits if cap is None else torch.tanh(logits / cap) * cap


def scalar_head(model: Model, hidden_NH: Tensor) -> Tensor:
    """Scores (N,) in fp32 from last hidden states: (the head's output − `config.score_bias`) ÷ `config.score_scale`.

    With bins (trainer/models/value_bins.py) it is the mean of the distribution over them. With several heads
    (trainer/models/value_heads.py), or members of an ensemble (trainer/models/members.py), it is the mean of theirs.

    The bias is the mean raw score of the SFT reference answers, so that their mean score is 0 (Stiennon et al. 2020, Huang
    et al. 2024). The scale is their standard deviation if the spec asks for it. The defaults are 0 and 1. Those of a critic may
    be the units in which it learns (trainer/models/value_units.py). The head always computes in fp32: it costs little, and
    8 bits of mantissa are too few for a score.
    """
    raw = head_outputs(model, hidden_NH)
    if (bins := bins_of(model.config)) is not None:
        return bin_values(raw, bins)
    if members_of(model.config) > 1:
        return levelled(model.config, raw).mean(-1)
    scores = _levelled(model, raw)
    return scores.squeeze(-1) if heads_of(model.config) == 1 else scores.mean(-1)


def member_heads(model: Model, hidden_NH: Tensor) -> Tensor:
    """Scores (N, M) in fp32 of the members of a reward model; M is 1 for a scalar head."""
    if members_of(model.config) > 1:
        return levelled(model.config, head_outputs(model, hidden_NH))
    return scalar_head(model, hidden_NH)[:, None]


def _levelled(model: Model, raw: Tensor) -> Tensor:
    bias, scale = getattr(model.config, "score_bias", 0.0), getattr(model.config, "score_scale", 1.0)
    return (raw - float(bias)) / float(scale)


def head_outputs(model: Model, hidden_NH: Tensor) -> Tensor:
    """The raw outputs (N, 1) of a scalar head in fp32, (N, heads) of several or (N, members), or the logits (N, bins) of one with bins."""
    head = model.score
    with torch.autocast(hidden_NH.device.type, enabled=False):
        return F.linear(hidden_NH.float(), head.weight.float(), None if head.bias is None else head.bias.float())


def learned_outputs(critic: Model, hidden_NH: Tensor) -> Tensor:
    """The outputs that the value loss reads: the values (N,) of a scalar head, (N, heads) of several, or the logits (N, bins) of bins."""
    if bins_of(critic.config) is not None:
        return head_outputs(critic, hidden_NH)
    several = heads_of(critic.config) > 1
    return _levelled(critic, head_outputs(critic, hidden_NH)) if several else scalar_head(critic, hidden_NH)


class ValueHead(nn.Module):
    """A critic that is a linear head on the policy's last hidden states. Its parameters are only the head's."""

    def __init__(self, policy: Model) -> None:
        """A new head has zero weights, so all values are 0."""
        super().__init__()
        hidden = int(policy.config.get_text_config().hidden_size)
        self.score = nn.Linear(hidden, 1)
        nn.init.zeros_(self.score.weight)
        nn.init.zeros_(self.score.bias)
        self.score.to(next(iter(policy.parameters())).device)
        self.config = SimpleNamespace(score_bias=0.0, score_scale=1.0)
        self._policy = (policy,)  # in a tuple, so that the policy is not registered as a submodule

    @property
    def underlying(self) -> Model:
        """The model whose trunk this is."""
        return self._policy[0]

    @property
    def base_model(self) -> Callable[..., Any]:
        return trunk(self._policy[0])
