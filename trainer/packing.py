"""Several examples end to end in one row, each seeing only itself: no work on padding.

transformers reads the borders off the position ids: where they do not go up by one, a new sequence begins, and a causal
mask per sequence is made of that (masking_utils.find_packed_sequence_indices). What an architecture really does with them
is tried before it is trusted.

Shapes: B rows, T positions, N completion tokens of all examples, H hidden size, S positions of a probe.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from trainer.errors import ModelError
from trainer.logprobs import selected_logprobs
from trainer.models import Model, head_logits, trunk

_PROBE = ([3, 1, 4, 1, 5, 9, 2, 6, 5, 3, 5, 8, 9], [2, 7, 1, 8, 2, 8, 1], [1, 4, 1, 4, 2, 1])
"""The first fills a row; the other two share one."""
_NEIGHBOUR = [6, 6, 2, 6, 0, 7, 0]


@dataclass(frozen=True)
class Packed:
    """Examples laid into rows as long as the longest of them. The pads at a row's end are a sequence of their own."""

    input_ids_BT: Tensor
    position_ids_BT: Tensor
    sources_N: Tensor
    """Where each completion token is predicted, in the rows laid end to end; example by example, as they came."""
    targets_N: Tensor
    """The completion tokens."""

    @classmethod
    def of(cls, prompts: Sequence[list[int]], completions: Sequence[list[int]], pad_id: int) -> "Packed":
        sequences = [p + c for p, c in zip(prompts, completions, strict=True)]
        width = max(map(len, sequences))
        rows = _first_fit([len(sequence) for sequence in sequences], width)
        ids: list[list[int]] = []
        positions: list[list[int]] = []
        starts: dict[int, int] = {}
        for number, row in enumerate(rows):
            ids.append([])
            positions.append([])
            for example in row:
                starts[example] = number * width + len(ids[-1])
                ids[-1] += sequences[example]
                positions[-1] += range(len(sequences[example]))
            free = width - len(ids[-1])
            ids[-1] += [pad_id] * free
            positions[-1] += range(free)
        sources = [
            starts[example] + position - 1
            for example, (prompt, completion) in enumerate(zip(prompts, completions, strict=True))
            for position in range(len(prompt), len(prompt) + len(completion))
        ]
        targets = [token for completion in completions for token in completion]
        return cls(*(torch.tensor(values) for values in (ids, positions, sources, targets)))

    def to(self, device: torch.device) -> "Packed":
        return Packed(
            self.input_ids_BT.to(device),
            self.position_ids_BT.to(device),
            self.sources_N.to(device),
            self.targets_N.to(device),
        )


def packed_logprobs(model: nn.Module, packed: Packed) -> Tensor:
    """Log-probability of every completion token, (N,) fp32, example by example."""
    hidden_NH = _hidden(model, packed).flatten(0, 1).index_select(0, packed.sources_N)
    return selected_logprobs(head_logits(model, hidden_NH), packed.targets_N)


@torch.no_grad()
def check_packing(model: Model) -> None:
    """Raise ModelError where an example in a packed row is not computed as it is alone.

    What stands before it in its row must change nothing, and it must say what it says in a row of its own.
    """
    kind, vocabulary = model.config.model_type, model.config.get_text_config().vocab_size
    filling, first, second = ([token % vocabulary for token in ids] for ids in _PROBE)
    other = [token % vocabulary for token in _NEIGHBOUR]
    try:
        together, beside = (_second_of(model, filling, one, second) for one in (first, other))
        alone = trunk(model)(input_ids=torch.tensor([second], device=model.device), use_cache=False).last_hidden_state[
            0
        ]
    except (TypeError, AttributeError, ValueError, RuntimeError, IndexError) as error:
        raise ModelError(f"{kind}: this architecture cannot be packed: {error}. Set `sft.packing` to false.") from error
    exact = together.dtype == getattr(model, "compute_dtype", torch.float32) == torch.float32
    slack = 1e-3 if exact else 5e-2
    if not torch.allclose(together, beside, rtol=1e-5, atol=1e-6):
        raise ModelError(
            f"{kind}: in a packed row of this architecture, examples see each other. Set `sft.packing` to false."
        )
    if not torch.allclose(together, alone, rtol=slack, atol=slack):
        raise ModelError(f"{kind}: packed, this architecture computes something else. Set `sft.packing` to false.")


def _second_of(model: Model, filling: list[int], first: list[int], second: list[int]) -> Tensor:
    """(S, H) hidden states of `second` in a row behind `first`."""
    packed = Packed.of([filling, first, second], [[], [], []], 0).to(model.device)
    return _hidden(model, packed)[1, len(first) :]


def _hidden(model: nn.Module, packed: Packed) -> Tensor:
    """(B, T, H) last hidden states."""
    hidden_BTH: Tensor = trunk(model)(
        input_ids=packed.input_ids_BT, position_ids=packed.position_ids_BT, use_cache=False
    ).last_hidden_state
    return hidden_BTH


def _first_fit(lengths: Sequence[int], width: int) -> list[list[int]]:
    """Which examples share a row: the longest first, each into the first row with room for it."""
    rows: list[list[int]] = []
    room: list[int] = []
    for example in sorted(range(len(lengths)), key=lambda at: -lengths[at]):
        row = next((at for at, free in enumerate(room) if free >= lengths[example]), len(rows))
        if row == len(rows):
            rows.append([])
            room.append(width)
        rows[row].append(example)
        room[row] -= lengths[example]
    return rows
