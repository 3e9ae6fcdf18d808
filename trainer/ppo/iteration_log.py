"""The metrics and token tables of one iteration, under the names that TRL and the N+ paper use.

`trainer/metrics/ppo.py` explains each metric.
"""

import math
from collections.abc import Iterator, Sequence
from itertools import chain
from typing import Any

from trainer.events import TokenRow, finite
from trainer.models.sequences import masked_mean, masked_sum
from trainer.ppo.advantages import equal_groups, explained_variance
from trainer.ppo.experience import Experience
from trainer.ppo.kl import KLCoefficients
from trainer.ppo.learners import Learners
from trainer.ppo.losses import LOSS_METRICS
from trainer.ppo.state import PPOState
from trainer.ppo.update import UpdateResult
from trainer.rewards.missing import present
from trainer.rollout.batch import ScoredBatch
from trainer.rollout.correction import gap_metrics
from trainer.sampling import Response
from trainer.spec import PPOSpec
from trainer.text.codec import Tokenizer

_AVERAGED = {
    "approxkl": "policy/approxkl_avg",
    "clipfrac": "policy/clipfrac_avg",
    "entropy": "policy/entropy_avg",
    **LOSS_METRICS,
    "policy_loss": "loss/policy_avg",
    "kl_loss": "loss/kl_avg",
    "ptx_loss": "loss/ptx_avg",
    "positive_loss": "loss/positive_avg",
    "value_loss": "loss/value_avg",
    "value_clipfrac": "val/clipfrac_avg",
    "outside_bins": "val/returns_outside_bins",
    "ratio": "val/ratio",
    "grad_norm": "grad_norm",
    "critic_grad_norm": "critic_grad_norm",
}
"""Metrics that are means over the iteration's minibatches."""
MOST_TOKEN_ROWS = 4096
"""Tokens that the tables of one step have together. A row is about 300 bytes of JSON."""
_BROKEN = "\N{REPLACEMENT CHARACTER}"


def iteration_metrics(
    result: UpdateResult,
    learners: Learners,
    state: PPOState,
    coefficients: KLCoefficients,
    spec: PPOSpec,
    iteration: int,
) -> dict[str, float]:
    """Return all metrics of an iteration (0-based) except its times, memory, evaluation and number of episodes.

    `state` is the state before it adapts to the iteration.
    """
    experience, critic_passes = result.experience, result.critic_passes
    metrics = update_metrics([*result.history, *chain(*critic_passes)]) | pass_metrics(critic_passes)
    metrics |= {"time/train": result.seconds}
    metrics |= rate_metrics(learners, result, spec, iteration) | learners.scale_metrics
    metrics |= experience_metrics(experience)
    metrics |= option_metrics(experience, spec, state, coefficients.reference)
    metrics |= spread_metrics(experience.scored, spec, coefficients.reference, state.scale.deviation)
    return metrics


def no_update_metrics(scored: ScoredBatch) -> dict[str, float]:
    """Return the metrics of an iteration in which no response had a value, so that nothing was learned."""
    return scored.rewards.figures | scored.seconds


def update_metrics(history: Sequence[dict[str, float]]) -> dict[str, float]:
    """Means over the minibatches; also the first ratio and KL, which must be 1 and 0 because no step precedes them."""
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


def pass_metrics(critic_passes: Sequence[Sequence[dict[str, float]]]) -> dict[str, float]:
    """Return the optimizer steps of a critic that learns apart, and its mean value loss in the first and the last pass.

    A pass without a step, because all were skipped, has no loss.
    """
    if not critic_passes:
        return {}
    values = {"critic_steps": float(sum(bool(entry) for steps in critic_passes for entry in steps))}
    for name, steps in (("loss/value_first_pass", critic_passes[0]), ("loss/value_last_pass", critic_passes[-1])):
        losses = [entry["value_loss"] for entry in steps if entry]
        if losses:
            values[name] = sum(losses) / len(losses)
    return values


def rate_metrics(learners: Learners, result: UpdateResult, spec: PPOSpec, iteration: int) -> dict[str, float]:
    """The learning rates of the last step; with early stopping, also the number of steps taken."""
    values = {"lr": learners.policy.lr(iteration) * result.rate_factor}
    if learners.critic is not None:
        values["critic_lr"] = learners.critic.lr(iteration) * (1.0 if result.critic_passes else result.rate_factor)
    if spec.guards.target_kl is not None:
        values["policy/optimizer_steps"] = sum(bool(entry) for entry in result.history) - result.stopped_early
    return values


def experience_metrics(experience: Experience) -> dict[str, float]:
    """Rewards, KL and lengths of the batch before the update. Sums per response, means over the responses learned from."""
    scored, mask_BR = experience.scored, experience.scored.batch.mask_BR
    count = len(scored.batch)
    finished = sum(response.finished for response in scored.responses)
    total = float(masked_sum(experience.rewards_BR, mask_BR)) / count
    values = {} if scored.is_unscored else {"objective/scores": float(scored.scores_B.mean())}
    values |= {
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
        values |= gap_metrics(
            scored.logprobs_BR, scored.sampler_logprobs_BR, mask_BR, scored.correction, scored.rounding
        )
    if scored.initial_logprobs_BR is not None:
        drift_BR = scored.logprobs_BR - scored.initial_logprobs_BR
        values["objective/kl_initial"] = float(masked_sum(drift_BR, mask_BR)) / count
    if (teacher_kl_BR := scored.teacher_kl_BR) is not None:
        values["objective/teacher_kl"] = float(masked_mean(teacher_kl_BR, mask_BR))
    parts = {name: present(part) for name, part in scored.rewards.parts.items()}
    means = {f"reward/{name}": math.fsum(part) / len(part) for name, part in parts.items() if part}
    spreads = {name: [*filter(math.isfinite, one)] for name, one in scored.rewards.disagreement.items()}
    apart = {f"reward/{name}/disagreement": math.fsum(one) / len(one) for name, one in spreads.items() if one}
    return values | means | apart | scored.rewards.figures | scored.seconds


def option_metrics(experience: Experience, spec: PPOSpec, state: PPOState, kl_coef: float) -> dict[str, float]:
    """Metrics of options that are off by default: shaping, KL controllers and the KL to the old policy."""
    values, shaping = {}, spec.shaping
    penalised = shaping.length_penalty or shaping.overlong_tokens
    if shaping.normalize != "none" or shaping.clip or penalised or spec.advantage.bootstrap_truncated:
        values["objective/shaped_scores"] = float(experience.shaped_B.mean())
    if shaping.normalize == "running":
        values["objective/score_scale"] = state.scale.deviation
    if experience.heads is not None:
        values |= experience.disagreement_shares
    if spec.normalizes_values:
        values |= {"val/target_mean": state.value_units.mean, "val/target_std": state.value_units.deviation}
    if spec.kl.controller != "fixed":
        values["objective/kl_coef"] = kl_coef
    if (positive := spec.positive_examples) is not None:
        values["objective/positive_rate"] = float((experience.scored.totals_B > positive.above).float().mean())
    if spec.policy_loss.old_kl_target is not None:
        values["policy/old_kl_beta"] = state.old_kl_beta.value
    return values


def spread_metrics(scored: ScoredBatch, spec: PPOSpec, kl_coef: float, score_scale: float) -> dict[str, float]:
    """The mean of the raw rewards, how far responses differ in them and in their KL penalty, and the groups without a difference.

    Both spreads are population standard deviations over responses, in the units of the raw rewards. If rewards are divided
    by `score_scale`, the penalty is multiplied by it. {} for a run without rewards.
    """
    if scored.is_unscored:
        return {}
    totals_B = scored.totals_B
    values = {
        "objective/raw_scores": float(totals_B.mean()),
        "objective/raw_scores_std": float(totals_B.std(unbiased=False)),
    }
    if spec.rollout.refill is not None:
        values["refill/batch_scores"] = values["objective/raw_scores"]
    if spec.compares_in_groups:
        values["objective/equal_groups"] = equal_groups(totals_B.cpu(), spec.samples_per_prompt, scored.rows)
    if spec.kl.placement == "reward":
        scale = score_scale if spec.shaping.normalize == "running" else 1.0
        values["objective/kl_penalty_std"] = kl_coef * scale * float(scored.kl_per_response().std(unbiased=False))
    return values


def token_tables(result: UpdateResult, tokenizer: Tokenizer, spec: PPOSpec) -> list[list[TokenRow]]:
    """Return one table for each of the first `log_token_tables` responses learned from, with a row per token.

    Tables end before the response with which they would exceed `MOST_TOKEN_ROWS`.
    """
    experience, scored, last = result.experience, result.experience.scored, result.last_pass
    columns = {
        "logprob": scored.logprobs_BR,
        "reference_logprob": scored.reference_logprobs_BR,
        "kl": scored.kl_BR,
        "value": experience.values_BR,
        "advantage": experience.advantages_BR,
        "reward": experience.rewards_BR,
        "sampler_gap": scored.sampler_gap_BR,
        "teacher_logprob": scored.teacher_logprobs_BR,
    }
    if last is not None:
        columns |= {"entropy": last.entropy_BR, "ratio": (last.logprobs_BR - last.old_logprobs_BR).exp()}
        columns["clipped"] = last.clipped_BR if spec.policy_loss.traits.clips else None
    tables, special = [], set(tokenizer.all_special_ids)
    for row, response in enumerate(_within(scored.responses[: spec.log_token_tables])):
        numbers = {name: values_BR[row].tolist() for name, values_BR in columns.items() if values_BR is not None}
        numbers["special"] = [token in special for token in response.ids]
        texts = token_texts(tokenizer, response.ids)
        tables.append([_row(text, numbers, position) for position, text in enumerate(texts)])
    return tables


def _within(responses: Sequence[Response]) -> Iterator[Response]:
    """The first responses that together have at most `MOST_TOKEN_ROWS` tokens."""
    left = MOST_TOKEN_ROWS
    for response in responses:
        left -= len(response.ids)
        if left < 0:
            return
        yield response


def _row(text: str, numbers: dict[str, list[Any]], position: int) -> TokenRow:
    return TokenRow.model_validate(
        {"text": text} | finite({name: values[position] for name, values in numbers.items()})
    )


def token_texts(tokenizer: Tokenizer, ids: list[int]) -> list[str]:
    """The text that each token adds. A token that is only a part of a character is shown by its name in the vocabulary."""
    texts, before = [], ""
    for end, token in enumerate(ids, 1):
        text = tokenizer.decode(ids[:end], skip_special_tokens=False, clean_up_tokenization_spaces=False)
        added = text[len(before) :] if text.startswith(before) else ""
        if not added or _BROKEN in added:
            added = tokenizer.convert_ids_to_tokens(token) or f"<{token}>"
        texts.append(added)
        before = text
    return texts
