"""The exact value of every state of a policy, and the error of a critic against it.

A state is a prompt and the tokens so far. With n letters and T tokens there are nᵀ responses. The policy's probability of each
is computed, and V(s) = Σ over the next letter π(x | s)·V(s, x), from the scores at the end backwards. No state is sampled.

Legend: N all responses of a prompt in lexicographic order, T tokens.
"""

import itertools
import json
from collections.abc import Iterator, Sequence
from pathlib import Path

import torch
from torch import Tensor
from transformers import AutoTokenizer

from benchmarks.critic import starts
from benchmarks.critic.tasks import MAKERS, Task
from trainer.models import Model, load_policy, load_reward_model
from trainer.models.sequences import Batch, completion_logprobs, completion_values
from trainer.session.manifest import STATE

ROWS = 1024
"""Responses per forward pass."""
PROMPTS = 4
"""Held-out prompts over whose states the error is a mean."""
ERRORS = "critic_errors.json"


def exact_values(logprobs_NT: Tensor, scores_N: Tensor, letters: int) -> Tensor:
    """V of the state before each token, (N, T), from log π of each token of all `letters`ᵀ responses.

    Probabilities are divided by their sum over the letters, which the other tokens keep below 1 by less than 1e-6.
    """
    values_N, found = scores_N.double(), list[Tensor]()
    for step in reversed(range(logprobs_NT.shape[1])):
        probabilities_PX = _states(logprobs_NT, step, letters).exp()
        values_PX = values_N.view_as(probabilities_PX)
        values_N = (probabilities_PX * values_PX).sum(1) / probabilities_PX.sum(1)
        found.append(values_N.repeat_interleave(len(logprobs_NT) // len(values_N)))
    return torch.stack(found[::-1], 1)


def squared_error(values_NT: Tensor, exact_NT: Tensor, logprobs_NT: Tensor) -> float:
    """Mean of (V̂ − V)² over the T positions, each over the states by how often the policy visits them."""
    weights_N = logprobs_NT.double().sum(1).exp()
    squares_T = (weights_N[:, None] * (values_NT.double() - exact_NT) ** 2).sum(0) / weights_N.sum()
    return float(squares_T.mean())


def _states(logprobs_NT: Tensor, step: int, letters: int) -> Tensor:
    """log π of each letter in each state before token `step`, (states, letters), from the first response with each."""
    after = letters ** (logprobs_NT.shape[1] - step - 1)
    return logprobs_NT[::after, step].double().view(-1, letters)


@torch.no_grad()
def critic_error(policy: Model, critic: Model, tokenizer: object, task: Task, prompts: Sequence[str]) -> float:
    """Root of the mean squared error of the critic's values against the policy's, over all states of the prompts."""
    texts = ["".join(letters) for letters in itertools.product(task.letters, repeat=task.tokens)]
    responses = [_ids(tokenizer, text) for text in texts]
    squares = []
    for prompt in prompts:
        batches = list(_batches(_ids(tokenizer, prompt), responses))
        logprobs_NT = torch.cat([completion_logprobs(policy, batch)[0] for batch in batches])
        values_NT = torch.cat([completion_values(critic, batch) for batch in batches])
        scores_N = torch.tensor([task.score(prompt, text) for text in texts])
        exact_NT = exact_values(logprobs_NT, scores_N, len(task.letters))
        squares.append(squared_error(values_NT, exact_NT, logprobs_NT))
    return float((sum(squares) / len(squares)) ** 0.5)


def write_errors(run: Path, name: str, letters: int, tokens: int) -> None:
    """Write the errors of the critics in the intermediate checkpoints of a run to `ERRORS` in its folder, by step."""
    task, found = MAKERS[name](letters, tokens), {}
    _, held_out = task.prompts(starts.PROMPTS, PROMPTS)
    for checkpoint in sorted((run / "checkpoints").glob("ppo-0*")):
        tokenizer = AutoTokenizer.from_pretrained(str(checkpoint))
        critic = load_reward_model(checkpoint / STATE / "critic")
        found[int(checkpoint.name.removeprefix("ppo-"))] = critic_error(
            load_policy(checkpoint), critic, tokenizer, task, held_out
        )
    (run / ERRORS).write_text(json.dumps(found))


def _batches(prompt: list[int], responses: Sequence[list[int]]) -> Iterator[Batch]:
    for first in range(0, len(responses), ROWS):
        some = responses[first : first + ROWS]
        yield Batch.from_ids([prompt] * len(some), some, 0)


def _ids(tokenizer: object, text: str) -> list[int]:
    return list(tokenizer(text)["input_ids"])  # type: ignore[operator]  # transformers has no type for it
