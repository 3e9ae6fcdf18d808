"""A decision process small enough to enumerate: three tokens out of two, eight responses, everything exact in float64.

The policy is a table of logits per state, the critic a table of values. Both are models to the trainer. All probabilities
are multiples of ¼. A batch drawn from the grid of `REPRESENTATIVE` numbers therefore holds each response in proportion to
its probability, and its mean is the exact expectation.
"""

import itertools
from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import torch
from safetensors.torch import save_file
from torch import Tensor, nn
from transformers import LlamaConfig

from trainer.rewards.base import RewardInput, Rewards, WeightedReward
from trainer.rollout.context import PPOModels
from trainer.text.codec import TokenizedPrompt
from trainer.text.stops import NO_STOPS

STEPS, STATES = 3, 16
RESPONSES = [list(bits) for bits in itertools.product((0, 1), repeat=STEPS)]
REPRESENTATIVE = torch.tensor(list(itertools.product((0.125, 0.375, 0.625, 0.875), repeat=STEPS)))
PROMPT = TokenizedPrompt("toy", [0])
CPU = torch.device("cpu")


class Table(nn.Module):
    """A row of numbers per state; a state is all tokens after the prompt: 1 at first, then 2·state + token."""

    def __init__(self, columns: int, seed: int | None) -> None:
        super().__init__()
        head = nn.Linear(STATES, columns, bias=False, dtype=torch.float64)
        nn.init.zeros_(head.weight)
        if seed is not None:
            head.weight.data.normal_(generator=torch.Generator().manual_seed(seed))
        self.score = head
        self.config = LlamaConfig(
            num_hidden_layers=1, hidden_size=STATES, num_attention_heads=1
        )  # for the sampler's cache
        self.device = CPU

    def get_output_embeddings(self) -> nn.Module:
        return self.score

    @property
    def base_model(self) -> Any:
        return lambda input_ids, use_cache: SimpleNamespace(last_hidden_state=_states(input_ids))

    def forward(self, input_ids: Tensor, past_key_values: Any, **_: Any) -> Any:
        """The cache keeps the tokens themselves."""
        tokens_B1T1 = input_ids[:, None, :, None].double()
        seen, _values = past_key_values.update(tokens_B1T1, tokens_B1T1, 0)
        return SimpleNamespace(logits=self.score(_states(seen[:, 0, :, 0].long())[:, -1:]))

    def save_pretrained(self, folder: Path) -> None:
        folder.mkdir(exist_ok=True)
        save_file({"score": self.score.weight.detach()}, folder / "model.safetensors")


def _states(ids_BT: Tensor) -> Tensor:
    """(B, T, STATES) one-hot; the first token is the prompt."""
    state_B, states = torch.ones_like(ids_BT[:, 0]), []
    for t in range(ids_BT.shape[1]):
        state_B = state_B if t == 0 else 2 * state_B + ids_BT[:, t]
        states.append(state_B.clamp(max=STATES - 1))
    return nn.functional.one_hot(torch.stack(states, 1), STATES).double()


class TableReward:
    """A number for each of the eight responses."""

    def __init__(self, values: Sequence[float]) -> None:
        self.values = {tuple(response): value for response, value in zip(RESPONSES, values, strict=True)}

    def score(self, answers: Sequence[RewardInput]) -> list[float]:
        return [self.values[tuple(answer.response_ids)] for answer in answers]


SCORES = [0.5, -1.0, 2.0, 0.25, -0.5, 1.5, -2.0, 3.0]


class Codec(SimpleNamespace):
    """No response ever ends by itself."""

    def response(self, ids: list[int], finished: bool) -> tuple[str, list[int]]:
        return " ".join(map(str, ids)), ids


TOKENIZER = SimpleNamespace(
    save_pretrained=lambda folder: None,
    decode=lambda ids, **options: "".join(map(str, ids)),
    convert_ids_to_tokens=str,
)
CODEC: Any = Codec(stops=NO_STOPS, pad_id=0, tokenizer=TOKENIZER)


def quarters(first: float) -> nn.Module:
    """A policy whose probabilities are multiples of ¼: token 0 has `first` in state 1, others in turn elsewhere."""
    policy = Table(2, None)
    for state in range(STATES):
        p = first if state == 1 else (0.25, 0.5, 0.75)[state % 3]
        policy.score.weight.data[:, state] = torch.tensor([p, 1 - p], dtype=torch.float64).log()
    return policy


def actors(policy: Any, critic: Any = None, reference_seed: int | None = 7) -> PPOModels:
    reference: Any = Table(2, reference_seed).requires_grad_(False)
    return PPOModels(
        policy, reference, reference, critic, Rewards([WeightedReward("table", 1.0, TableReward(SCORES))]), None
    )


def log_probabilities(policy: Any) -> Tensor:
    """(8, 3) log-probability of each token of each response, differentiable."""
    table = torch.log_softmax(policy.score.weight.T, -1)
    return torch.stack([torch.stack([table[state, token] for state, token in path(r)]) for r in RESPONSES])


def path(response: list[int]) -> list[tuple[int, int]]:
    """The states that a response goes through, each with the token chosen there."""
    state, steps = 1, []
    for token in response:
        steps.append((state, token))
        state = 2 * state + token
    return steps


def objective(policy: Any, reference: Any, beta: float) -> Tensor:
    """E[score] − β·KL(π ‖ π_ref), over all eight responses."""
    own, theirs = log_probabilities(policy).sum(1), log_probabilities(reference).sum(1)
    return (own.exp() * (torch.tensor(SCORES, dtype=torch.float64) - beta * (own - theirs))).sum()
