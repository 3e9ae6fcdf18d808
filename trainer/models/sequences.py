"""Batches of token sequences, and the forward passes over them.

Shapes: B sequences, T positions, N counted tokens of the whole batch laid end to end, H hidden size, V vocabulary.

No forward or backward pass here waits for the device. Lengths are in host memory, and every shape follows from them.

Sequences are padded at the right. Under causal attention a real token then never attends to a pad, so no attention mask is
needed and the ids of the pads do not matter. Lengths decide which positions count, never token ids, so a model whose PAD
is its EOS needs no special case.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property

import torch
from torch import Tensor, nn

from trainer.models import member_heads, scalar_head, trunk
from trainer.models.attention import Layout, packing_of, packs, reach, run_packed
from trainer.models.heads import inside, learned_outputs
from trainer.models.output_layer import token_logprobs

_NEARLY_FULL = 0.98
"""The share of real tokens above which padded rows are faster than packed ones."""


@dataclass(frozen=True)
class Batch:
    """Prompts followed by completions, right-padded. Lengths are in tokens."""

    input_ids_BT: Tensor
    prompt_lengths: tuple[int, ...]
    completion_lengths: tuple[int, ...]

    @classmethod
    def from_ids(cls, prompts: Sequence[list[int]], completions: Sequence[list[int]], pad_id: int) -> "Batch":
        rows = [p + c for p, c in zip(prompts, completions, strict=True)]
        width = max(len(row) for row in rows)
        return cls(
            torch.tensor([row + [pad_id] * (width - len(row)) for row in rows]),
            tuple(len(p) for p in prompts),
            tuple(len(c) for c in completions),
        )

    def __len__(self) -> int:
        return len(self.input_ids_BT)

    def to(self, device: torch.device) -> "Batch":
        if device == self._device:
            return self
        return Batch(self.input_ids_BT.to(device), self.prompt_lengths, self.completion_lengths)

    def select(self, rows: Sequence[int]) -> "Batch":
        """A batch of these rows, cut to the longest of them."""
        width = max(self.lengths[row] for row in rows)
        return Batch(
            self.input_ids_BT[on_device(rows, self._device), :width],
            tuple(self.prompt_lengths[row] for row in rows),
            tuple(self.completion_lengths[row] for row in rows),
        )

    @cached_property
    def lengths(self) -> tuple[int, ...]:
        """The length of each prompt with its completion."""
        return tuple(p + c for p, c in zip(self.prompt_lengths, self.completion_lengths, strict=True))

    @cached_property
    def prompt_lengths_B(self) -> Tensor:
        return on_device(self.prompt_lengths, self._device)

    @cached_property
    def completion_lengths_B(self) -> Tensor:
        return on_device(self.completion_lengths, self._device)

    @cached_property
    def mask_BR(self) -> Tensor:
        """(B, R) True where a completion token exists; R is the longest completion."""
        return self._steps_R < self.completion_lengths_B[:, None]

    @cached_property
    def places_N(self) -> Tensor:
        """Indices of the completion tokens in a flattened (B, R), row by row."""
        return _places(self.mask_BR, sum(self.completion_lengths))

    @cached_property
    def positions_BR(self) -> Tensor:
        """(B, R) position of each completion token in its row. Outside the mask it is a valid index without meaning."""
        return (self.prompt_lengths_B[:, None] + self._steps_R).clamp(max=self.input_ids_BT.shape[1] - 1)

    @property
    def last_positions_B(self) -> Tensor:
        """(B,) position of the last token, which is the EOS of a whole completion."""
        return self.prompt_lengths_B + self.completion_lengths_B - 1

    @cached_property
    def targets_N(self) -> Tensor:
        """The completion tokens, row by row."""
        return self.tokens_BR().flatten().index_select(0, self.places_N)

    @cached_property
    def layout(self) -> Layout:
        return Layout(self.lengths, self._device)

    @cached_property
    def row_1N(self) -> Tensor:
        """All sequences end to end in one row, without the pads."""
        real_BT = torch.arange(self.input_ids_BT.shape[1], device=self._device) < self._ends_B1
        return self.input_ids_BT.flatten().index_select(0, _places(real_BT, sum(self.lengths)))[None]

    @property
    def fill(self) -> float:
        """The share of positions that are not padding."""
        return sum(self.lengths) / (len(self) * max(self.lengths))

    def tokens_BR(self) -> Tensor:
        return self.input_ids_BT.gather(1, self.positions_BR)

    @cached_property
    def _steps_R(self) -> Tensor:
        return torch.arange(max(self.completion_lengths), device=self._device)

    @property
    def _ends_B1(self) -> Tensor:
        return (self.prompt_lengths_B + self.completion_lengths_B)[:, None]

    @property
    def _device(self) -> torch.device:
        return self.input_ids_BT.device


def completion_logprobs(
    model: nn.Module, batch: Batch, temperature: float = 1.0, with_entropy: bool = False
) -> tuple[Tensor, Tensor | None]:
    """Log-probability of every completion token, (B, R) fp32 with 0 outside the mask, and, if asked, the entropies.

    The output layer computes only the positions that predict a completion token.
    """

    def work(model: nn.Module) -> tuple[Tensor, Tensor | None]:
        hidden_NH = _hidden_at(model, batch, batch.positions_BR - 1, batch.places_N)
        return _logprobs(model, hidden_NH, batch, temperature, with_entropy)

    return inside(model, work)


def completion_logprobs_and_values(
    model: nn.Module, value_head: nn.Module, batch: Batch, temperature: float = 1.0
) -> tuple[Tensor, Tensor, Tensor]:
    """Log-probabilities and entropies, (B, R), and `value_outputs` of every completion token from one pass of the trunk."""
    hidden_NH = _hidden_at(model, batch, batch.positions_BR - 1, batch.places_N)
    logprobs_BR, entropy_BR = _logprobs(model, hidden_NH, batch, temperature, with_entropy=True)
    assert entropy_BR is not None  # asked for
    return logprobs_BR, entropy_BR, _spread(learned_outputs(value_head, hidden_NH), batch.places_N, batch.mask_BR)


def _logprobs(
    model: nn.Module, hidden_NH: Tensor, batch: Batch, temperature: float, with_entropy: bool
) -> tuple[Tensor, Tensor | None]:
    logprobs_N, entropy_N = token_logprobs(model, hidden_NH, batch.targets_N, temperature, with_entropy)
    places_N, mask_BR = batch.places_N, batch.mask_BR
    return _spread(logprobs_N, places_N, mask_BR), None if entropy_N is None else _spread(entropy_N, places_N, mask_BR)


def completion_values(critic: nn.Module, batch: Batch) -> Tensor:
    """Value of the state before each completion token, (B, R) fp32 with 0 outside the mask."""
    return _of_states(critic, batch, scalar_head, trunk_learns=True)


def value_outputs(critic: nn.Module, batch: Batch, trunk_learns: bool = True) -> Tensor:
    """The outputs that the value loss reads before each completion token, fp32 with 0 outside the mask.

    They are the values (B, R), those of each of several heads (B, R, heads), or with bins their logits (B, R, bins). Without `trunk_learns`, only the head gets a gradient.
    """
    return _of_states(critic, batch, learned_outputs, trunk_learns)


def _of_states(
    critic: nn.Module, batch: Batch, head: Callable[[nn.Module, Tensor], Tensor], trunk_learns: bool
) -> Tensor:
    def work(critic: nn.Module) -> Tensor:
        with torch.set_grad_enabled(torch.is_grad_enabled() and trunk_learns):
            hidden_NH = _hidden_at(critic, batch, batch.positions_BR - 1, batch.places_N)
        return _spread(head(critic, hidden_NH), batch.places_N, batch.mask_BR)

    return inside(critic, work)


def state_values(critic: nn.Module, batch: Batch, head: Callable[[nn.Module, Tensor], Tensor] = scalar_head) -> Tensor:
    """Value of the state before each completion token and of the one after the last, (B, R + 1) fp32, else 0.

    `head`: another function of the last hidden states, such as `learned_outputs`. Column t is the state before token t, column `completion_lengths_B` the state after the last token.
    """
    steps_S = torch.arange(max(batch.completion_lengths) + 1, device=batch.input_ids_BT.device)
    mask_BS = steps_S <= batch.completion_lengths_B[:, None]
    positions_BS = (batch.prompt_lengths_B[:, None] - 1 + steps_S).clamp(max=batch.input_ids_BT.shape[1] - 1)
    places_N = _places(mask_BS, sum(batch.completion_lengths) + len(batch))

    def work(critic: nn.Module) -> Tensor:
        return _spread(head(critic, _hidden_at(critic, batch, positions_BS, places_N)), places_N, mask_BS)

    return inside(critic, work)


def sequence_scores(reward_model: nn.Module, batch: Batch) -> Tensor:
    """Score of each sequence at its last token (the EOS of a whole completion), (B,) fp32."""
    return _at_the_end(reward_model, batch, scalar_head)


def member_scores(reward_model: nn.Module, batch: Batch) -> Tensor:
    """Score of each sequence by each member of the reward model, (B, M) fp32. M is 1 for a scalar head."""
    return _at_the_end(reward_model, batch, member_heads)


def scores_at(reward_model: nn.Module, batch: Batch, places: Sequence[Sequence[int]]) -> Tensor:
    """Score at the tokens `places` of each completion, counted from 0, (N,) fp32, row after row. Each row has one or more."""
    width = max(map(len, places))
    filled = [[*own, *[own[-1]] * (width - len(own))] for own in places]
    positions_BX = batch.prompt_lengths_B[:, None] + on_device(filled, batch.input_ids_BT.device)
    counted = [row * width + at for row, own in enumerate(places) for at in range(len(own))]
    places_N = on_device(counted, batch.input_ids_BT.device)
    return inside(reward_model, lambda model: scalar_head(model, _hidden_at(model, batch, positions_BX, places_N)))


def _at_the_end(reward_model: nn.Module, batch: Batch, head: Callable[[nn.Module, Tensor], Tensor]) -> Tensor:
    """`head` of the last hidden state of each sequence."""
    everyone = torch.arange(len(batch), device=batch.input_ids_BT.device)
    last_B1 = batch.last_positions_B[:, None]
    return inside(reward_model, lambda model: head(model, _hidden_at(model, batch, last_B1, everyone)))


def _hidden_at(model: nn.Module, batch: Batch, positions_BX: Tensor, places_N: Tensor) -> Tensor:
    """(N, H) last hidden states at the positions that `places_N` selects from the flattened (B, X)."""
    if _packed(model, batch):
        hidden_NH = run_packed(model, batch.row_1N, batch.layout)
        starts_B = batch.layout.borders[:-1].long()
    else:
        hidden_BTH: Tensor = trunk(model)(input_ids=batch.input_ids_BT, use_cache=False).last_hidden_state
        hidden_NH = hidden_BTH.flatten(0, 1)
        starts_B = torch.arange(len(batch), device=positions_BX.device) * hidden_BTH.shape[1]
    return hidden_NH.index_select(0, (starts_B[:, None] + positions_BX).flatten().index_select(0, places_N))


def _packed(model: nn.Module, batch: Batch) -> bool:
    """Whether to pack. Depends only on the model and the lengths, so that a resumed run decides the same."""
    setting = packing_of(model)
    if setting is False or len(batch) == 1 or (setting == "auto" and batch.fill > _NEARLY_FULL):
        return False
    furthest = reach(model)
    return packs(model) and (furthest is None or max(batch.lengths) <= furthest)


def _spread(values_N: Tensor, places_N: Tensor, like_BX: Tensor) -> Tensor:
    """(B, X) with the N values at these flattened indices, and 0 elsewhere. Values may be vectors."""
    size = values_N.shape[1:]
    return values_N.new_zeros(like_BX.numel(), *size).index_copy(0, places_N, values_N).view(*like_BX.shape, *size)


def _places(mask_BX: Tensor, count: int) -> Tensor:
    """Flattened indices of the `count` True entries of a mask. A boolean index would wait for the device to count them."""
    return torch.nonzero_static(mask_BX.flatten(), size=count).squeeze(1)


def on_device(numbers: Sequence[int] | Sequence[Sequence[int]], device: torch.device) -> Tensor:
    """The numbers as a tensor on the device. The copy is asynchronous, so the host does not wait for earlier work."""
    return torch.tensor(numbers, dtype=torch.long).to(device, non_blocking=True)


def masked_mean(values: Tensor, mask: Tensor) -> Tensor:
    """Mean of `values` where `mask` is True (same shape), 0 for an empty mask. NaNs outside the mask have no effect."""
    return masked_sum(values, mask) / mask.sum().clamp(min=1)


def masked_sum(values: Tensor, mask: Tensor) -> Tensor:
    """Sum of `values` where `mask` is True (same shape). NaNs outside the mask affect neither it nor the gradient."""
    return torch.where(mask, values, torch.zeros_like(values)).sum()


def masked_whiten(values: Tensor, mask: Tensor, floor: float = 0.0) -> Tensor:
    """`values` shifted to mean 0 over the True positions and divided by their standard deviation there, and 0 elsewhere.

    `floor`: the smallest divisor.
    """
    mean = masked_mean(values, mask)
    variance = masked_mean((values - mean) ** 2, mask).clamp(min=floor**2)
    return torch.where(mask, (values - mean) * torch.rsqrt(variance + 1e-8), torch.zeros_like(values))
