"""Metrics of the prompts that PPO trains on: dynamic sampling (`ppo.rollout.refill`)."""

from trainer.metrics.metric import Chart, Metric
from trainer.metrics.ppo import RULES, reported

PPO_PROMPTS = [
    Metric(
        "ppo",
        "refill/rounds",
        "Rounds of sampling",
        "rounds of this iteration",
        "Rounds that `ppo.rollout.refill` sampled, the batch itself included: 1 if the responses to every prompt differed in their scores.",
        unit="rounds",
        chart=Chart("Dynamic sampling", 149, "rounds", scale="right"),
    ),
    Metric(
        "ppo",
        "refill/dropped",
        "Dropped prompts",
        "prompts whose responses have no difference in their scores",
        "Prompts that `ppo.rollout.refill` replaced by further ones, or that a batch with a shortfall learns nothing from.",
        advice="Many more than a batch has: most samples are thrown away. Choose prompts that the policy sometimes solves, or raise `ppo.samples_per_prompt`.",
        unit="prompts",
        chart=Chart("Dynamic sampling", 147, "dropped"),
    ),
    Metric(
        "ppo",
        "refill/missing",
        "Dropped prompts without values",
        "prompts with fewer than two responses that have a value",
        "Those of the dropped prompts whose rewards failed. They are no sign of a prompt that is too easy or too hard.",
        unit="prompts",
    ),
    Metric(
        "ppo",
        "refill/shortfall",
        "Shortfall of prompts",
        "prompts that the batch lacks ÷ prompts of a batch",
        "The iteration learned from so much less than a batch, because the rounds of `ppo.rollout.refill` found no further prompts. 1: it learned nothing.",
        (None, RULES.refill_short.limit),
        f"Raise `ppo.rollout.refill.max_rounds` or `ppo.samples_per_prompt`, or choose other prompts. {reported('refill_short')}",
        unit="share",
        chart=Chart("Dynamic sampling", 148, "shortfall", scale="right"),
    ),
    Metric(
        "ppo",
        "refill/tokens",
        "Sampled tokens",
        "tokens of all responses of the iteration",
        "What `ppo.rollout.refill` sampled to fill the batch.",
        unit="tokens",
    ),
    Metric(
        "ppo",
        "refill/tokens_dropped",
        "Tokens thrown away",
        "tokens of the responses to prompts that are not learned from",
        "Those of dropped prompts, and of prompts that were sampled in the last round and not needed.",
        unit="tokens",
    ),
    Metric(
        "ppo",
        "refill/batch_scores",
        "Raw score of the batch",
        "mean over the responses learned from of Σᵢ wᵢ·rewardᵢ",
        "With `ppo.rollout.refill`, `objective/scores`, `objective/raw_scores`, their spread and `reward/<name>` are those of all sampled responses. This is the mean of the chosen ones, which stays near the middle of the range.",
        unit="score",
    ),
]
