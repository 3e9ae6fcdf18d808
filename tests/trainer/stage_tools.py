"""What a stage's test needs: a session in a folder, a codec, four models that all differ, and one sequence at a time."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import torch
from torch import Tensor

from tests.trainer.models import llama, scorer
from trainer.events import EventLog
from trainer.models import Model
from trainer.ppo.rollout import Models
from trainer.session import Session
from trainer.spec import DataSpec, JobSpec
from trainer.text import Codec, train_tokenizer

CPU = torch.device("cpu")


@contextmanager
def session_in(folder: Path, lease: Path | None = None) -> Iterator[Session]:
    """A session whose events and checkpoints land in `folder`."""
    log = EventLog(folder / "events.jsonl")
    spec = JobSpec.model_validate({"model": "unused", "data": {"preferences": "unused"}, "ppo": {}})
    try:
        yield Session(spec, folder, log, lease)
    finally:
        log.close()


def new_codec() -> Codec:
    """PAD is 0 and EOS 1, as in the small models; each of their 23 tokens has a text."""
    return Codec.of(train_tokenizer(["x"], 260), DataSpec(preferences="unused"))


def four_models() -> Models:
    return Models(llama(0), llama(2).requires_grad_(False), scorer(1).requires_grad_(False), scorer(3))


def logprobs_alone(policy: Model, prompt: list[int], response: list[int], temperature: float = 1.0) -> Tensor:
    """(R,) log-probability of each response token, by transformers' own forward pass over this one sequence."""
    logits = policy(torch.tensor([prompt + response])).logits[0, len(prompt) - 1 : -1] / temperature
    return torch.log_softmax(logits, -1)[torch.arange(len(response)), response]


def scores_alone(model: Model, prompt: list[int], response: list[int]) -> Tensor:
    """(1 + R,) raw score, bias left out, after the prompt and after each response token."""
    hidden = model.base_model(torch.tensor([prompt + response])).last_hidden_state[0, len(prompt) - 1 :]
    return model.score(hidden).squeeze(-1)
