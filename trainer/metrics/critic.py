"""The figures of the critic card (docs/explanation/critic-card.md), which PPO reports in every iteration with a critic.

V is the value before a token, G the Monte-Carlo return from the token on. Both are those before the critic learned from
the batch. Means are over the tokens of the batch.
"""

from trainer.metrics.metric import Chart, Metric
from trainer.metrics.ppo import RULES, reported

CRITIC = [
    Metric(
        "ppo",
        "critic/skill",
        "Skill of the critic",
        "1 − mean (G − V)² ÷ Var(G)",
        "Share of the squared error of the mean return that the critic avoids: 1 is perfect, 0 as good as the mean return. A constant bias lowers it.",
        healthy=(RULES.critic_worse_than_mean.limit, 1.0),
        advice=f"Below {RULES.critic_worse_than_mean.limit:g} the mean return is a better guess: set `ppo.critic.pretraining`, or raise `ppo.critic.learning_rate`. {reported('critic_worse_than_mean')}",
        unit="share",
        chart=Chart("Critic against the returns", 123, "skill"),
    ),
    Metric(
        "ppo",
        "critic/explained_var",
        "Explained variance of the returns",
        "1 − Var(G − V) ÷ Var(G)",
        "How much of the Monte-Carlo returns the critic foresees. A constant bias does not change it. `val/explained_var` measures against the critic's targets instead, which hold the critic's own values unless their λ is 1.",
        advice="Much below `val/explained_var`: the critic foresees its own values, and not the returns. Set `ppo.advantage.critic_lambda` = 1.",
        unit="share",
        chart=Chart("Critic against the returns", 124, "explained variance"),
    ),
    Metric(
        "ppo",
        "critic/bias",
        "Bias of the critic",
        "mean V − mean G",
        "How far the values lie above the returns.",
        advice="Below 0 while the returns rise: the critic lags, so raise `ppo.critic.epochs`. The health rule `critic_lags` reports it "
        f"after {RULES.critic_lags.patience} steps in a row.",
        unit="score",
    ),
    Metric(
        "ppo", "critic/returns", "Mean return", "mean G", "The mean of what the critic should foresee.", unit="score"
    ),
    Metric(
        "ppo",
        "critic/returns_std",
        "Spread of the returns",
        "standard deviation of G",
        "The scale of the critic's errors.",
        unit="score",
    ),
    Metric(
        "ppo",
        "critic/td_error",
        "TD error",
        "mean |r + γ·V(next) − V|",
        "Error of one-step temporal differences. The value after the last token is 0, or that of the state after a cut with `ppo.advantage.bootstrap_truncated`.",
        unit="score",
    ),
    Metric(
        "ppo",
        "critic/calibration_error",
        "Calibration error of the critic",
        "Σ over bins of V of tokens ÷ all tokens · |mean V − mean G|",
        "How far values and returns lie apart in ten bins of the values.",
        advice="Compare it with `critic/returns_std`.",
        unit="score",
    ),
    Metric(
        "ppo",
        "critic/variance_removed",
        "Variance that the critic removes",
        "1 − Var(A) ÷ Var(A₀), A before `ppo.advantage.normalize`, A₀ with the mean return as every value",
        "Share of the advantages' variance that is gone because of the critic. Below 0 the critic adds variance.",
        advice="Below 0: a constant gives better advantages than the critic.",
        unit="share",
    ),
    Metric(
        "ppo",
        "critic/disagreement",
        "Disagreement of the critics",
        "mean over tokens of the standard deviation over the heads",
        "How far the values of several critics lie apart (`ppo.critic.heads`).",
        advice="0 after some iterations: the heads have learned the same, so masking by their disagreement chooses nothing.",
        unit="score",
    ),
    Metric(
        "ppo",
        "critic/agreement",
        "Agreement of the critics",
        "mean over pairs of heads of Spearman's ρ of their values over the tokens",
        "Whether several critics rank the states alike, although each learned from other prompts.",
        advice="Near 0: they have learned nothing that holds beyond their own prompts.",
        unit="correlation",
    ),
    *(
        Metric(
            "ppo",
            f"critic/rank_correlation/{place}",
            f"Rank correlation, {words}",
            f"Spearman's ρ over responses of V at the {words} and the score",
            f"Whether the critic ranks the responses as their scores do, from the {words} on.",
            advice="At the last token the whole response is known, so it should be near 1. Near 0 there: the critic does not see what the reward sees."
            if place == "last"
            else "",
            unit="correlation",
        )
        for place, words in (("first", "first token"), ("middle", "middle token"), ("last", "last token"))
    ),
]
