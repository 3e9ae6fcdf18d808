"""How often an update reads a number or a shape back from the device, and so would wait for a GPU. Counted on the CPU."""

from collections import Counter
from typing import Any

import pytest
import torch
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

from tests.trainer.ppo.tools import NO_CRITIC, PROMPTS, cast_for, spec_of
from tests.trainer.stage_tools import context_of, new_codec, respond_and_learn
from tests.trainer.tiny_models import llama, scorer
from trainer.models.attention import pack_as
from trainer.models.sequences import Batch, completion_logprobs, sequence_scores, state_values
from trainer.ppo.kl import KLCoefficients
from trainer.ppo.learners import Learners
from trainer.ppo.ptx import Pretraining
from trainer.ppo.update import update

_aten = torch.ops.aten
_WAIT = {_aten._local_scalar_dense.default, _aten.nonzero.default, _aten.masked_select.default, _aten.is_nonzero.default,
         _aten.masked_scatter_backward.default, _aten.equal.default, _aten._unique2.default, _aten.repeat_interleave.Tensor}  # fmt: skip
_INDEXING = {_aten.index.Tensor, _aten.index_put.default, _aten.index_put_.default, _aten._index_put_impl_.default}


class Synchronisations(TorchDispatchMode):
    """Counts by name the operations for which the host waits for a GPU: they read a number, or make a shape of values."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        super().__init__()
        self.found: Counter[str] = Counter()
        plain = Tensor.tolist

        def tolist(tensor: Tensor) -> Any:  # the dispatcher does not see it
            self.found["tolist"] += 1
            return plain(tensor)

        monkeypatch.setattr(Tensor, "tolist", tolist)

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        masks = func in _INDEXING and any(i is not None and i.dtype == torch.bool for i in tree_leaves(args[1]))
        sized = func is _aten.repeat_interleave.Tensor and (kwargs or {}).get("output_size") is not None
        if (func in _WAIT or masks) and not sized:
            self.found[str(func)] += 1
        return func(*args, **(kwargs or {}))


def synchronisations(monkeypatch: pytest.MonkeyPatch, packing: bool, **changes: object) -> Counter[str]:
    """Count the synchronisations of one optimizer step of a new policy."""
    spec = spec_of(**{"epochs": 1, "minibatches": 1, **changes})
    cast = cast_for(spec)
    for model in (cast.policy, cast.critic):
        if model is not None:
            pack_as(model, packing)
    experience = respond_and_learn(cast, PROMPTS, new_codec(), spec, seed=3)
    context = context_of(cast, spec)
    pretraining = Pretraining.build(context, [[3, 4, 5, 6], [7, 8], [9, 10, 11]])
    learners, coefficients = Learners.build(cast, spec), KLCoefficients(spec.kl.coef, spec.policy_loss.beta)
    with monkeypatch.context() as patch, Synchronisations(patch) as synchronised:
        update(context, experience, learners, coefficients, 0, pretraining=pretraining)
    return synchronised.found


_NUMBER = "aten._local_scalar_dense.default"
OPTIONS: dict[str, tuple[dict[str, object], dict[str, int]]] = {
    "separate critic": ({}, {"tolist": 2, _NUMBER: 2}),
    "value head": ({"critic": {"kind": "value_head"}}, {"tolist": 2, _NUMBER: 1}),
    "no critic": ({"advantage": NO_CRITIC}, {"tolist": 2, _NUMBER: 1}),
    "KL and entropy in the loss": (
        {"kl": {"placement": "loss", "estimator": "k3"}, "policy_loss": {"entropy_coef": 0.01}},
        {"tolist": 2, _NUMBER: 2},
    ),
    "every response weighs as much": ({"policy_loss": {"aggregation": "sequence_mean"}}, {"tolist": 2, _NUMBER: 2}),
    "texts beside": ({"ptx": {"batch_size": 2}}, {"tolist": 3, _NUMBER: 4}),
}
"""Values that a step reads from the device: its metrics, the loss of its texts, and a gradient norm per optimizer. From
host memory it reads the row numbers of its responses (a list) and of each text."""


@pytest.mark.parametrize(("changes", "read"), OPTIONS.values(), ids=OPTIONS)
def test_a_step_waits_for_its_metrics_and_norms_alone(
    changes: dict[str, object], read: dict[str, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever the number of micro-batches: each of them used to wait 9 to 11 times, and each metric once."""
    for micro_batch_size in (3, 2):  # two micro-batches, three
        assert synchronisations(monkeypatch, True, micro_batch_size=micro_batch_size, **changes) == read


def test_on_padded_rows_only_transformers_reads_more(monkeypatch: pytest.MonkeyPatch) -> None:
    """It looks whether the positions begin anew within a row."""
    found = synchronisations(monkeypatch, False, micro_batch_size=3)
    assert set(found) == {"tolist", _NUMBER} and found["tolist"] == 2


def test_no_forward_or_backward_pass_over_packed_rows_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    policy, critic = (pack_as(model, True) for model in (llama(), scorer()))
    batch = Batch.from_ids([[3, 4], [5, 6, 7], [8]], [[9, 10], [11, 12, 13, 14], [15]], pad_id=0)
    with monkeypatch.context() as patch, Synchronisations(patch) as synchronised:
        part = batch.select([2, 1])
        logprobs_BR, entropy_BR = completion_logprobs(policy, part, 0.7, with_entropy=True)
        assert entropy_BR is not None
        (logprobs_BR.sum() + entropy_BR.sum()).backward()
        (state_values(critic, part).sum() + sequence_scores(critic, part).sum()).backward()
    assert not synchronised.found
