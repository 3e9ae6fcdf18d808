"""Metrics of the prompts that PPO trains on: dynamic sampling (`ppo.rollout.refill`) and `ppo.curriculum`."""

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
        chart=Chart("Dynamic sampling", 148, "rounds", scale="right"),
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
        chart=Chart("Shortfall of prompts", 149),
    ),
    Metric(
        "ppo",
        "refill/tokens",
        "Sampled tokens",
        "tokens of all responses of the iteration",
        "All that `ppo.rollout.refill` sampled to fill the batch.",
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
    *(
        Metric(
            "ppo",
            f"curriculum/{name}",
            f"Prompts: {name}",
            formula,
            f"Training prompts {meaning}, by the success rate of their own responses so far (`ppo.curriculum`). The four shares add up to 1.",
            advice=advice,
            unit="share",
            chart=Chart("Prompts by difficulty", order, name) if order else None,
        )
        for order, name, formula, meaning, advice in (
            (None, "unseen", "prompts without a response ÷ prompts", "that were not drawn yet", ""),
            (
                161,
                "hard",
                "prompts with a success rate below ¼ ÷ prompts",
                "that the policy rarely solves",
                "Most of them, and not falling: the task is too hard, or `ppo.curriculum.above` too high.",
            ),
            (
                162,
                "medium",
                "prompts with a success rate from ¼ to ¾ ÷ prompts",
                "that the policy sometimes solves",
                "",
            ),
            (
                163,
                "easy",
                "prompts with a success rate above ¾ ÷ prompts",
                "that the policy mostly solves",
                "Most of them: little is left to learn from these prompts.",
            ),
        )
    ),
    Metric(
        "ppo",
        "curriculum/success",
        "Success rate over prompts",
        "mean over the prompts that were drawn so far of successes ÷ responses",
        "The rate on all of these prompts alike, with the discounted counts of `ppo.curriculum`. Some are older than others. The scores of a batch are those of the prompts that were chosen.",
        unit="share",
    ),
    Metric(
        "ppo",
        "curriculum/drawn_success",
        "Success rate of the drawn prompts",
        "the same mean over the prompts of this iteration, its own responses included",
        "Nearer to ½ than the rate over all prompts: the curriculum chooses those that the policy sometimes solves.",
        unit="share",
    ),
]
