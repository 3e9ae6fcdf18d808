"""What an iteration reports, under the names that TRL and the N+ paper use; `trainer/metrics/ppo.py` explains each."""

import math
from collections.abc import Sequence

from trainer.events import TokenRow, finite
from trainer.models.sequences import masked_sum
from trainer.ppo.advantages import explained_variance
from trainer.ppo.experience import Experience
from trainer.ppo.learners import Learners
from trainer.ppo.state import Dials
from trainer.ppo.update import UpdateResult
from trainer.rollout.batch import ScoredBatch, describe_gap
from trainer.spec import PPOSpec
from trainer.text.codec import Tokenizer

_AVERAGED = {
    "approxkl": "policy/approxkl_avg",
    "clipfrac": "policy/clipfrac_avg",
    "entropy": "policy/entropy_avg",
    "old_kl": "policy/old_kl_avg",
    "policy_loss": "loss/policy_avg",
    "kl_loss": "loss/kl_avg",
    "ptx_loss": "loss/ptx_avg",
    "value_loss": "loss/value_avg",
    "value_clipfrac": "val/clipfrac_avg",
    "ratio": "val/ratio",
    "grad_norm": "grad_norm",
    "critic_grad_norm": "critic_grad_norm",
}
"""Means over the iteration's minibatches."""


def describe(experience: Experience) -> dict[str, float]:
    """The batch's rewards and lengths, before the update. Sums per response, means over responses."""
    scored, mask_BR = experience.scored, experience.scored.batch.mask_BR
    count = len(scored.batch)
    finished = sum(response.finished for response in scored.responses)
    total = float(masked_sum(experience.rewards_BR, mask_BR)) / count
    values = {
        "objective/scores": float(scored.scores_B.mean()),
        "objective/kl": float(masked_sum(scored.kl_BR, mask_BR)) / count,
        "objective/rlhf_reward": total,
        "objective/non_score_reward": total - float(experience.shaped_B.mean()),
        "objective/entropy": float(masked_sum(-scored.logprobs_BR, mask_BR)) / count,
        "val/num_eos_tokens": finished,
        "val/eos_rate": finished / count,
        "val/response_length": float(mask_BR.sum()) / count,
    }
    if experience.values_BR is not None:
        values["val/explained_var"] = explained_variance(experience.values_BR, experience.returns_BR, mask_BR)
    if scored.sampler_logprobs_BR is not None:
        values |= describe_gap(scored.logprobs_BR, scored.sampler_logprobs_BR, mask_BR, scored.importance_BR)
    if scored.initial_logprobs_BR is not None:
        drift_BR = scored.logprobs_BR - scored.initial_logprobs_BR
        values["objective/kl_initial"] = float(masked_sum(drift_BR, mask_BR)) / count
    return values | _rewards(scored) | scored.seconds


def describe_dials(experience: Experience, spec: PPOSpec, dials: Dials, kl_coef: float) -> dict[str, float]:
    """What the options that are on say of themselves: by default, nothing."""
    values, shaping = {}, spec.shaping
    if shaping.normalize != "none" or shaping.clip or shaping.length_penalty or spec.advantage.bootstrap_truncated:
        values["objective/shaped_scores"] = float(experience.shaped_B.mean())
    if shaping.normalize == "running":
        values["objective/score_scale"] = dials.scale.deviation
    if spec.kl.controller != "fixed":
        values["objective/kl_coef"] = kl_coef
    if spec.policy_loss.old_kl_target is not None:
        values["policy/old_kl_beta"] = dials.old_kl_beta
    return values


def describe_spreads(scored: ScoredBatch, spec: PPOSpec, kl_coef: float, score_scale: float) -> dict[str, float]:
    """The mean of the raw rewards, and how far responses differ in them and in their KL penalty.

    Both are population standard deviations over responses, in the units of the raw rewards: where those are divided by
    `score_scale`, the penalty is multiplied by it.
    """
    totals_B = scored.totals_B
    values = {
        "objective/raw_scores": float(totals_B.mean()),
        "objective/raw_scores_std": float(totals_B.std(unbiased=False)),
    }
    if spec.kl.placement == "reward":
        scale = score_scale if spec.shaping.normalize == "running" else 1.0
        values["objective/kl_penalty_std"] = kl_coef * scale * float(scored.kl_per_response().std(unbiased=False))
    return values


def describe_rates(learners: Learners, updated: UpdateResult, spec: PPOSpec, iteration: int) -> dict[str, float]:
    """The learning rates as the last step took them, and how many steps there were where a guard decides."""
    values = {"lr": learners.policy.lr(iteration) * updated.rate_factor}
    if learners.critic is not None:
        values["critic_lr"] = learners.critic.lr(iteration) * updated.rate_factor
    if spec.guards.target_kl is not None:
        values["policy/optimizer_steps"] = sum(bool(entry) for entry in updated.history) - updated.stopped_early
    return values


def summarise(history: Sequence[dict[str, float]]) -> dict[str, float]:
    """Means over the minibatches, and what must be 1 and 0 on the first, before any of them stepped."""
    values = {}
    for short, name in _AVERAGED.items():
        found = [entry[short] for entry in history if short in entry]
        if found:
            values[name] = sum(found) / len(found)
    if "ratio" in history[0]:
        mean = values["val/ratio"]
        ratios = [entry["ratio"] for entry in history if "ratio" in entry]
        values["val/ratio_var"] = sum((ratio - mean) ** 2 for ratio in ratios) / len(ratios)
        values["val/first_minibatch_ratio"] = history[0]["ratio"]
        values["val/first_minibatch_approxkl"] = history[0]["approxkl"]
    return values


def _rewards(scored: ScoredBatch) -> dict[str, float]:
    """Each reward by itself, unweighted, and what it says of how the asking went."""
    means = {f"reward/{name}": math.fsum(part) / len(part) for name, part in scored.rewards.parts.items()}
    return means | scored.rewards.figures


# Completions token by token, for people who want to see where the reward came from and what the update did with it.
# Shapes: B responses, R response positions.
_BROKEN = "\N{REPLACEMENT CHARACTER}"


def token_tables(
    experience: Experience, updated: UpdateResult, tokenizer: Tokenizer, spec: PPOSpec, iteration: int
) -> list[list[TokenRow]]:
    """One table for each of the first `log_token_tables` responses, a row per token."""
    warming_up = spec.uses_critic and iteration < spec.critic.warmup_steps
    scored = experience.scored
    columns = {
        "logprob": scored.logprobs_BR,
        "reference_logprob": scored.reference_logprobs_BR,
        "kl": scored.kl_BR,
        "value": experience.values_BR,
        "advantage": experience.advantages_BR,
        "reward": experience.rewards_BR,
        "clipped": None if warming_up or spec.policy_loss.kind != "clipped" else updated.clipped_BR,
    }
    tables = []
    for row, response in enumerate(scored.responses[: spec.log_token_tables]):
        numbers = {name: values_BR[row].tolist() for name, values_BR in columns.items() if values_BR is not None}
        texts = token_texts(tokenizer, response.ids)
        tables.append([_row(text, numbers, position) for position, text in enumerate(texts)])
    return tables


def _row(text: str, numbers: dict[str, list[float]], position: int) -> TokenRow:
    return TokenRow.model_validate(
        {"text": text} | finite({name: values[position] for name, values in numbers.items()})
    )


def token_texts(tokenizer: Tokenizer, ids: list[int]) -> list[str]:
    """What each token adds to the text; the vocabulary's own name for one that is only a part of a character."""
    texts, before = [], ""
    for end, token in enumerate(ids, 1):
        text = tokenizer.decode(ids[:end], skip_special_tokens=False, clean_up_tokenization_spaces=False)
        added = text[len(before) :] if text.startswith(before) else ""
        if not added or _BROKEN in added:
            added = tokenizer.convert_ids_to_tokens(token) or f"<{token}>"
        texts.append(added)
        before = text
    return texts
