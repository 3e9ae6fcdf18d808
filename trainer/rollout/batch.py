"""One batch of responses: sampled, scored, and measured against the reference.

Shapes: B responses, R response positions.
"""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from trainer.distributed import SINGLE, World
from trainer.models import Model, present
from trainer.models.sequences import Batch, completion_logprobs
from trainer.optim.micro_batches import AtOnce, Limits, limits
from trainer.rewards.base import RewardInput, Scores
from trainer.rollout.context import PPOModels
from trainer.rollout.shaping import missing_eos
from trainer.sampling import BUILT_IN, Response, Sampler, uniforms
from trainer.spec import PPOSpec
from trainer.text.codec import Codec, TokenizedPrompt


@dataclass(frozen=True)
class ScoredBatch:
    """Responses with their scores and their distance from the reference."""

    batch: Batch
    responses: list[Response]
    answers: list[RewardInput]
    """The same responses as text, as rewards and judges see them."""
    old_logprobs_BR: Tensor | None
    """See `logprobs_BR`; None until the update's own forward pass has worked them out."""
    reference_logprobs_BR: Tensor
    initial_logprobs_BR: Tensor | None
    """Under the policy as it started, where that is not the reference."""
    rewards: Scores
    """What each reward said, and their weighted sum."""
    scores_B: Tensor
    """The weighted sum, with the rule for a missing EOS applied."""
    seconds: dict[str, float]
    sampler_logprobs_BR: Tensor | None = None
    """As the sampler drew each token, where it says so and `logprobs_BR` are not these."""
    importance_cap: float | None = None
    """None: tokens are not weighed."""

    @property
    def logprobs_BR(self) -> Tensor:
        """Under the policy before its update (π_old) at the sampling temperature, by the training forward pass or
        (`ppo.rollout.logprobs`) as it was sampled; 0 outside the mask."""
        assert self.old_logprobs_BR is not None  # the update has run, or the spec asks for a pass before it
        return self.old_logprobs_BR

    @property
    def importance_BR(self) -> Tensor | None:
        """What each token's policy loss, and its KL in the loss, is multiplied by, where they are weighed."""
        if self.importance_cap is None or self.sampler_logprobs_BR is None:
            return None
        return importance_weights(self.logprobs_BR, self.sampler_logprobs_BR, self.importance_cap)

    @property
    def kl_BR(self) -> Tensor:
        """k1 estimate of KL(π ‖ π_ref) at each token, 0 outside the mask."""
        return self.logprobs_BR - self.reference_logprobs_BR

    @property
    def finished_B(self) -> Tensor:
        """(B,) True where a response ended with a stop; False where it was cut off."""
        return torch.tensor(
            [response.finished for response in self.responses], device=self.reference_logprobs_BR.device
        )

    @property
    def ends_B(self) -> Tensor:
        """(B,) of the weighted sum, as it came, what is earned by the last token: all that no reward put on a token."""
        dense = self.rewards.dense
        return self.totals_B if dense is None else self.reference_logprobs_BR.new_tensor(dense.ends)

    @property
    def tokens_BR(self) -> Tensor | None:
        """(B, R) the weighted sum of the rewards that stand on tokens, as they came; None where no reward gave any."""
        dense, width = self.rewards.dense, self.batch.mask_BR.shape[1]
        if dense is None:
            return None
        return self.reference_logprobs_BR.new_tensor([own + [0.0] * (width - len(own)) for own in dense.tokens])

    @property
    def totals_B(self) -> Tensor:
        """(B,) the rewards' weighted sum, as it came."""
        return self.reference_logprobs_BR.new_tensor(self.rewards.totals)

    def kl_per_response(self) -> Tensor:
        """(B,) the k1 estimate summed over each response, in nats."""
        return torch.where(self.batch.mask_BR, self.kl_BR, torch.zeros_like(self.kl_BR)).sum(1)


def respond_and_score(
    actors: PPOModels,
    prompts: Sequence[TokenizedPrompt],
    codec: Codec,
    spec: PPOSpec,
    generator: torch.Generator,
    device: torch.device,
    temperature: float | None = None,
    max_new_tokens: int | None = None,
) -> ScoredBatch:
    """Sample one response per prompt from the policy and score it. Raises RewardError where a reward cannot say."""
    draws_BR = uniforms(generator, len(prompts), max_new_tokens or spec.max_new_tokens)
    return respond_with(actors, prompts, codec, spec, draws_BR, device, temperature)


@torch.no_grad()
def respond_with(
    actors: PPOModels,
    prompts: Sequence[TokenizedPrompt],
    codec: Codec,
    spec: PPOSpec,
    draws_BR: Tensor,
    device: torch.device,
    temperature: float | None = None,
) -> ScoredBatch:
    """As `respond_and_score`, the uniform number behind each token given: (B, `max_new_tokens`), in [0, 1)."""
    temperature = spec.temperature if temperature is None else temperature
    responses = sampled_from(actors.policy, prompts, codec, draws_BR, temperature, device, actors.world, actors.sampler)
    return score(actors, prompts, responses, codec, spec, device, temperature)


@torch.no_grad()
def score(
    actors: PPOModels,
    prompts: Sequence[TokenizedPrompt],
    responses: list[Response],
    codec: Codec,
    spec: PPOSpec,
    device: torch.device,
    temperature: float,
    with_policy: bool = True,
) -> ScoredBatch:
    """What was sampled, scored and measured against the reference, the policy being as it is now.

    Without `with_policy` the policy makes no forward pass: the update's own gives its log-probabilities.
    """
    began = time.perf_counter()
    answers = answers_of(prompts, responses, codec)
    batch = Batch.from_ids([p.ids for p in prompts], [response.ids for response in responses], codec.pad_id).to(device)

    def logprobs(model: Model) -> Tensor:
        return logprobs_of(model, batch, temperature, spec, actors.world)

    reference_BR = logprobs(actors.reference)
    sampler_BR = sampler_logprobs(responses, reference_BR)
    own_BR: Tensor | None = None
    if spec.rollout.logprobs == "sampler" and sampler_BR is not None:
        own_BR, sampler_BR = sampler_BR, None
    elif with_policy:
        own_BR = logprobs(actors.policy)
    initial_BR = None if actors.initial is actors.reference else logprobs(actors.initial)
    said = actors.rewards.score(answers)
    finished_B = torch.tensor([response.finished for response in responses], device=device)
    scores_B = missing_eos(reference_BR.new_tensor(said.totals), finished_B, spec.shaping)
    seconds = {"time/score": time.perf_counter() - began}
    cap = spec.rollout.cap
    return ScoredBatch(
        batch, responses, answers, own_BR, reference_BR, initial_BR, said, scores_B, seconds, sampler_BR, cap
    )


@torch.no_grad()
def logprobs_of(model: Model, batch: Batch, temperature: float, spec: PPOSpec, world: World) -> Tensor:
    """Log-probability of every completion token, (B, R), by a forward pass without gradients over all rows."""
    with present(model):
        return in_parts(
            lambda part: completion_logprobs(model, part, temperature)[0], batch, Limits.from_spec(spec), world
        )


@torch.no_grad()
def respond(
    model: Model,
    prompts: Sequence[TokenizedPrompt],
    codec: Codec,
    draws_BR: Tensor,
    temperature: float,
    device: torch.device,
    world: World = SINGLE,
    sampler: Sampler = BUILT_IN,
) -> tuple[list[Response], list[RewardInput]]:
    """One response of `model` to each prompt, as token ids and as rewards see it."""
    responses = sampled_from(model, prompts, codec, draws_BR, temperature, device, world, sampler)
    return responses, answers_of(prompts, responses, codec)


@torch.no_grad()
def sampled_from(
    model: Model,
    prompts: Sequence[TokenizedPrompt],
    codec: Codec,
    draws_BR: Tensor,
    temperature: float,
    device: torch.device,
    world: World = SINGLE,
    sampler: Sampler = BUILT_IN,
) -> list[Response]:
    """One response of `model` to each prompt; each process samples its block of them."""
    own = sample_mine(model, prompts, codec, draws_BR, temperature, device, world=world, sampler=sampler)
    return world.gather_objects(own, world.local_rows(len(prompts)), len(prompts))


@torch.no_grad()
def sample_mine(
    model: Model,
    prompts: Sequence[TokenizedPrompt],
    codec: Codec,
    draws_BR: Tensor,
    temperature: float,
    device: torch.device,
    *,
    world: World,
    sampler: Sampler,
) -> list[Response]:
    """This process's block of the responses; the others are not waited for."""
    mine = world.local_rows(len(prompts))
    with present(model):  # for which a sharded model needs everyone, also who has no rows
        if not mine:
            return []
        return sampler.sample(
            model,
            [prompts[row].ids for row in mine],
            draws_BR[mine],
            stops=codec.stops,
            pad_id=codec.pad_id,
            temperature=temperature,
            device=device,
        )


def answers_of(prompts: Sequence[TokenizedPrompt], responses: Sequence[Response], codec: Codec) -> list[RewardInput]:
    """The responses as rewards see them."""
    answers = []
    for prompt, response in zip(prompts, responses, strict=True):
        text, closed = codec.response(response.ids, response.finished)
        answers.append(
            RewardInput(prompt.prompt, prompt.ids, response.ids, text, response.finished, prompt.answer, closed)
        )
    return answers


def in_parts(forward: Callable[[Batch], Tensor], batch: Batch, at_once: AtOnce, world: World = SINGLE) -> Tensor:
    """Run `forward` on so many rows at a time, each part as narrow as its longest row, and put them together in order.

    Each process does so with its share of the rows, and gets all of them.
    """
    width, device = batch.mask_BR.shape[1], batch.input_ids_BT.device
    mine = world.balanced_rows(batch.lengths)
    found: list[Tensor] = [batch.prompt_lengths_B] * len(mine)  # to be replaced, row by row
    for rows in limits(at_once).split([batch.lengths[row] for row in mine]):
        part = batch.select([mine[at] for at in rows])
        values = torch.nn.functional.pad(forward(part), (0, width - part.mask_BR.shape[1]))
        for at, row_R in zip(rows, values, strict=True):
            found[at] = row_R
    return world.gather_rows(torch.stack(found) if found else None, mine, len(batch), device)


# Responses of a sampler that is not quite the policy which learns from them: how far apart, and how each token is weighed.
# Shapes: B responses, R response positions. π_old: the policy right before its update, by the trainer's own forward pass;
# μ: the sampler.
def sampler_logprobs(responses: Sequence[Response], like_BR: Tensor) -> Tensor | None:
    """log μ of each token, 0 outside the mask; None where the sampler does not say."""
    said = [response.logprobs for response in responses]
    if any(row is None for row in said):
        return None
    width = like_BR.shape[1]
    return torch.tensor([(row or []) + [0.0] * (width - len(row or [])) for row in said]).to(like_BR)


def importance_weights(logprobs_BR: Tensor, sampler_logprobs_BR: Tensor, cap: float) -> Tensor:
    """min(π_old/μ, cap) of each token: what makes a mean over μ's tokens one over π_old's, but for the cap, which bounds its
    variance (truncated importance sampling: Ionides 2008; for samplers of another precision: Yao et al. 2025). Exactly 1
    where the two are equal, and outside the mask.
    """
    return (logprobs_BR - sampler_logprobs_BR).exp().clamp(max=cap)


def describe_gap(
    logprobs_BR: Tensor, sampler_logprobs_BR: Tensor, mask_BR: Tensor, weights_BR: Tensor | None
) -> dict[str, float]:
    """|log π_old − log μ| over the tokens, and the weights as the loss has them."""
    gaps = (logprobs_BR - sampler_logprobs_BR).abs()[mask_BR]
    figures = {"sampling/logp_difference/mean": float(gaps.mean()), "sampling/logp_difference/max": float(gaps.max())}
    if weights_BR is None:
        return figures
    weights = weights_BR[mask_BR]
    named = {"min": weights.min(), "mean": weights.mean(), "max": weights.max()}
    return figures | {f"sampling/importance_sampling_ratio/{name}": float(value) for name, value in named.items()}
