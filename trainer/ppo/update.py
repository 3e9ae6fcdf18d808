"""PPO's update: several passes over one batch of experience, in minibatches."""

import torch
from torch import Tensor

from trainer.learner import Learner, require_finite
from trainer.ppo.experience import Experience
from trainer.ppo.losses import policy_loss, value_loss
from trainer.randomness import generator
from trainer.sequences import completion_logprobs, completion_values
from trainer.spec import PPOSpec


def update(
    experience: Experience, policy: Learner, critic: Learner, spec: PPOSpec, iteration: int, seed: int
) -> dict[str, float]:
    """Train policy and critic on the batch; return the metrics averaged over all minibatches."""
    count = len(experience.scored.batch)
    history = []
    for epoch in range(spec.epochs):
        order = torch.randperm(count, generator=generator(seed, "minibatches", iteration, epoch))
        for rows in order.split(count // spec.minibatches):
            sums = _accumulate(experience, rows, policy, critic, spec)
            norms = {"grad_norm": policy.update(iteration), "critic_grad_norm": critic.update(iteration)}
            history.append({name: float(value) for name, value in sums.items()} | norms)
    return _summarise(history)


def _accumulate(
    experience: Experience, rows: Tensor, policy: Learner, critic: Learner, spec: PPOSpec
) -> dict[str, Tensor]:
    """Add the gradients of one minibatch, micro-batch by micro-batch; return its metrics.

    Every sum is divided by the minibatch's token count, so the split changes nothing but rounding.
    """
    batch = experience.scored.batch
    rows = rows.to(batch.input_ids_BT.device)
    tokens = batch.completion_lengths_B[rows].sum()
    sums: dict[str, Tensor] = {}
    for part in rows.split(spec.micro_batch_size or len(rows)):
        for name, value in _micro_batch(experience, part, policy, critic, spec, tokens).items():
            sums[name] = sums[name] + value if name in sums else value
    return sums


def _micro_batch(
    experience: Experience, rows: Tensor, policy: Learner, critic: Learner, spec: PPOSpec, tokens: Tensor
) -> dict[str, Tensor]:
    part = experience.scored.batch.select(rows)
    mask_BR = part.mask_BR

    def cut(values_BR: Tensor) -> Tensor:
        return values_BR[rows, : mask_BR.shape[1]]

    logprobs_BR, entropy_BR = completion_logprobs(policy.model, part, spec.temperature, with_entropy=True)
    loss, metrics = policy_loss(
        logprobs_BR,
        cut(experience.scored.logprobs_BR),
        cut(experience.advantages_BR),
        mask_BR,
        spec.policy_loss.clip_range,
        tokens,
    )
    require_finite(loss, "policy loss")
    loss.backward()

    values_BR = completion_values(critic.model, part)
    loss, value_metrics = value_loss(
        values_BR, cut(experience.values_BR), cut(experience.returns_BR), mask_BR, spec.critic.value_clip_range, tokens
    )
    require_finite(loss, "value loss")
    loss.backward()
    assert entropy_BR is not None  # asked for above
    return metrics | value_metrics | {"entropy": entropy_BR.sum() / tokens}


def _summarise(history: list[dict[str, float]]) -> dict[str, float]:
    """Means over the minibatches, under the names that TRL and the N+ paper use."""

    def mean(name: str) -> float:
        return sum(entry[name] for entry in history) / len(history)

    ratio = mean("ratio")
    return {
        "policy/approxkl_avg": mean("approxkl"),
        "policy/clipfrac_avg": mean("clipfrac"),
        "policy/entropy_avg": mean("entropy"),
        "loss/policy_avg": mean("policy_loss"),
        "loss/value_avg": mean("value_loss"),
        "val/clipfrac_avg": mean("value_clipfrac"),
        "val/ratio": ratio,
        "val/ratio_var": sum((entry["ratio"] - ratio) ** 2 for entry in history) / len(history),
        "val/first_minibatch_ratio": history[0]["ratio"],
        "val/first_minibatch_approxkl": history[0]["approxkl"],
        "grad_norm": mean("grad_norm"),
        "critic_grad_norm": mean("critic_grad_norm"),
    }
