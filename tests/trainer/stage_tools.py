"""Tools for the tests of stages: a session in a folder, a codec, four models that all differ, and one sequence at a time."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from tests.trainer.tiny_models import llama, scorer
from trainer.events import EventLog
from trainer.models import Model
from trainer.ppo.experience import Experience, build_experience
from trainer.ppo.loop import train
from trainer.ppo.stage import PPOData
from trainer.rewards.base import Rewards, WeightedReward
from trainer.rewards.models import TokenScorer
from trainer.rollout.batch import sample_and_score
from trainer.rollout.context import PPOContext, PPOModels
from trainer.sampling import uniforms
from trainer.session.checkpoint import StageResult
from trainer.session.session import Session
from trainer.spec import DataSpec, JobSpec, PPOSpec, StageName
from trainer.stages.evaluation import HeldOut
from trainer.text.codec import Codec, TokenizedPrompt, train_tokenizer

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
    return Codec.for_tokenizer(train_tokenizer(["x"], 260), DataSpec(preferences="unused"))


def context_of(models: PPOModels, spec: PPOSpec, codec: Codec | None = None, seed: int = 0) -> PPOContext:
    return PPOContext(models, spec, codec or new_codec(), CPU, seed)


def respond_and_learn(
    models: PPOModels, prompts: list[list[int]], codec: Codec, spec: PPOSpec, seed: int
) -> Experience:
    """One batch of experience, as the loop collects it; V* is ¼ of each prompt's number, where it is the baseline."""
    context, draws = context_of(models, spec, codec), torch.Generator().manual_seed(seed)
    encoded = [TokenizedPrompt(f"prompt {n}", ids) for n, ids in enumerate(prompts)]
    scored = sample_and_score(context, encoded, uniforms(draws, len(encoded), spec.max_new_tokens))
    best = [n / 4 for n in range(len(prompts))] if spec.advantage.baseline == "optimal_value" else None
    return build_experience(context, scored, kl_coef=spec.kl.coef, optimal_values=best)


def train_ppo(
    session: Session,
    spec: PPOSpec,
    models: PPOModels,
    prompts: list[TokenizedPrompt],
    held_out: HeldOut,
    codec: Codec | None = None,
    **data: Any,
) -> StageResult:
    """Run the PPO stage."""
    context = PPOContext.from_session(session, models, codec or new_codec(), spec)
    return train(session, context, PPOData(prompts, held_out, **data))


def scored_by(model: Model) -> Rewards:
    """That reward model as the only reward."""
    return Rewards([WeightedReward("model", 1.0, TokenScorer(model, pad_id=0, batch_size=None))])


def four_models() -> PPOModels:
    """A policy, reference, reward model and critic that all differ."""
    reference, reward_model = llama(2).requires_grad_(False), scorer(1).requires_grad_(False)
    return PPOModels(llama(0), reference, reference, scorer(3), scored_by(reward_model), reward_model)


def logprobs_alone(policy: Model, prompt: list[int], response: list[int], temperature: float = 1.0) -> Tensor:
    """(R,) log-probability of each response token, by transformers' own forward pass over this one sequence."""
    logits = policy(input_ids=torch.tensor([prompt + response])).logits[0, len(prompt) - 1 : -1] / temperature
    return torch.log_softmax(logits, -1)[torch.arange(len(response)), response]


def scores_alone(model: Model, prompt: list[int], response: list[int]) -> Tensor:
    """(1 + R,) raw score, bias left out, after the prompt and after each response token."""
    hidden = model.base_model(torch.tensor([prompt + response])).last_hidden_state[0, len(prompt) - 1 :]
    return model.score(hidden).squeeze(-1)


def stop_after(session: Session, step: int | None) -> None:
    """Act like a signal during that step: the run saves at its end, and stops."""
    report = session.report

    def watched(stage: StageName, done: int, total: int, values: dict[str, float]) -> None:
        report(stage, done, total, values)
        session._stop_asked = session._stop_asked or done == step

    session.report = watched  # type: ignore[method-assign]
