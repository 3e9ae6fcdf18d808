"""Titles of the health rules for people. The console, the API and the dashboard take them from here."""

RULE_TITLES: dict[str, str] = {
    "kl_blow_up": "KL too large",
    "negative_kl": "KL below zero",
    "entropy_collapse": "Entropy collapsed",
    "approxkl_high": "Updates too large",
    "approxkl_jump": "Policy replaced by one update",
    "clipfrac_high": "Too much clipping",
    "clipfrac_zero": "No clipping",
    "policy_still": "Policy does not move",
    "reward_collapse": "Reward collapsed",
    "negative_explained_variance": "Critic worse than a constant",
    "over_optimisation": "Reward over-optimised",
    "length_explosion": "Score raised by length",
    "length_collapse": "Score raised by short responses",
    "ensemble_disagreement": "Reward models disagree",
    "truncation": "Responses cut off",
    "kl_outweighs_reward": "KL penalty outweighs the reward",
    "value_loss_spike": "Value loss jumped",
    "critic_worse_than_mean": "Critic worse than the mean return",
    "critic_lags": "Critic lags behind the policy",
    "critic_noise_whitened": "Errors of the critic are whitened",
    "returns_outside_bins": "Returns outside the critic's bins",
    "sampler_gap": "Sampler far from the policy",
    "sampler_differs": "Sampler computes something else",
    "refill_short": "Too few prompts that teach",
    "teacher_kl_rises": "Policy moves away from its teacher",
    "not_finite": "Numbers not finite",
}
"""By the name of the rule in `HealthSpec`."""


def rule_title(rule: str) -> str:
    """The title for people. A rule of another release gets its name in words."""
    return RULE_TITLES.get(rule) or rule.replace("_", " ").capitalize()
