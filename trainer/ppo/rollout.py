"""One batch of experience: sampled responses, scored, with everything the update needs.

Shapes: B responses, R response positions.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor

from trainer.masking import masked_whiten
from trainer.models import Model
from trainer.ppo.advantages import gae
from trainer.ppo.rewards import kl_k1, penalise_missing_eos, token_rewards
from trainer.ppo.sampling import Response, sample
from trainer.sequences import Batch, completion_logprobs, completion_values, sequence_scores
from trainer.spec import PPOSpec
from trainer.text import Codec


@dataclass(frozen=True)
class Models:
    """The four models of PPO. The reference and the reward model are frozen."""

    policy: Model
    reference: Model
    reward_model: Model
    critic: Model


@dataclass(frozen=True)
class Scored:
    """Responses with their scores and their distance from the reference."""

    batch: Batch
    responses: list[Response]
    logprobs_BR: Tensor
    """Under the policy, by the training forward pass, at the sampling temperature."""
    kl_BR: Tensor
    """k1 estimate per token, 0 outside the mask."""
    scores_B: Tensor
    """Reward-model score at the last token, missing-EOS penalty included."""
    seconds: dict[str, float]

    def kl_per_response(self) -> Tensor:
        """(B,) the k1 estimate summed over each response, in nats."""
        return torch.where(self.batch.mask_BR, self.kl_BR, torch.zeros_like(self.kl_BR)).sum(1)


@dataclass(frozen=True)
class Experience:
    """What one PPO iteration learns from."""

    scored: Scored
    values_BR: Tensor
    rewards_BR: Tensor
    advantages_BR: Tensor
    returns_BR: Tensor


@torch.no_grad()
def respond_and_score(
    models: Models,
    prompts: list[list[int]],
    codec: Codec,
    spec: PPOSpec,
    generator: torch.Generator,
    device: torch.device,
    temperature: float | None = None,
) -> Scored:
    """Sample one response per prompt from the policy and score it."""
    temperature = spec.temperature if temperature is None else temperature
    began = time.perf_counter()
    responses = sample(
        models.policy,
        prompts,
        eos_id=codec.eos_id,
        pad_id=codec.pad_id,
        max_new_tokens=spec.max_new_tokens,
        temperature=temperature,
        generator=generator,
        device=device,
    )
    sampled = time.perf_counter()
    batch = Batch.of(prompts, [response.ids for response in responses], codec.pad_id).to(device)
    rows = torch.arange(len(batch), device=device).split(spec.micro_batch_size or len(batch))
    logprobs_BR = _in_parts(lambda part: completion_logprobs(models.policy, part, temperature)[0], batch, rows)
    reference_BR = _in_parts(lambda part: completion_logprobs(models.reference, part, temperature)[0], batch, rows)
    raw_B = torch.cat([sequence_scores(models.reward_model, batch.select(part)) for part in rows])
    finished_B = torch.tensor([response.finished for response in responses], device=device)
    return Scored(
        batch,
        responses,
        logprobs_BR,
        kl_k1(logprobs_BR, reference_BR),
        penalise_missing_eos(raw_B, finished_B, spec.shaping.missing_eos_penalty),
        {"time/rollout": sampled - began, "time/score": time.perf_counter() - sampled},
    )


@torch.no_grad()
def collect(
    models: Models,
    prompts: list[list[int]],
    codec: Codec,
    spec: PPOSpec,
    generator: torch.Generator,
    device: torch.device,
) -> Experience:
    """Sample, score, and work out rewards, advantages and returns."""
    scored = respond_and_score(models, prompts, codec, spec, generator, device)
    began = time.perf_counter()
    batch, mask_BR = scored.batch, scored.batch.mask_BR
    rows = torch.arange(len(batch), device=device).split(spec.micro_batch_size or len(batch))
    values_BR = _in_parts(lambda part: completion_values(models.critic, part), batch, rows)
    rewards_BR = token_rewards(scored.scores_B, scored.kl_BR, mask_BR, spec.kl.coef)
    advantages_BR, returns_BR = gae(rewards_BR, values_BR, mask_BR, spec.advantage.gamma, spec.advantage.gae_lambda)
    if spec.advantage.normalize == "whiten":
        advantages_BR = masked_whiten(advantages_BR, mask_BR)
    scored.seconds["time/score"] += time.perf_counter() - began
    return Experience(scored, values_BR, rewards_BR, advantages_BR, returns_BR)


def _in_parts(forward: Callable[[Batch], Tensor], batch: Batch, rows: tuple[Tensor, ...]) -> Tensor:
    """Run `forward` on parts of the batch, each as narrow as its longest row, and lay the results side by side."""
    width = batch.mask_BR.shape[1]
    parts = [forward(batch.select(part)) for part in rows]
    return torch.cat([torch.nn.functional.pad(part, (0, width - part.shape[1])) for part in parts])
