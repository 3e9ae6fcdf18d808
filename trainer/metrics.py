"""Every number a run reports: what it is, how it is computed, and when it looks healthy.

One table for the docs, the API and the dashboard. Names follow TRL and the N+ implementation details paper
(Huang et al. 2024). All means over tokens are taken over response tokens only; padding never counts. Torch-free.
"""

from dataclasses import dataclass

from trainer.spec import StageName


@dataclass(frozen=True)
class Metric:
    """One metric. `healthy` is (low, high), either side None where open; None where there is no general rule."""

    stage: StageName
    name: str
    label: str
    formula: str
    meaning: str
    healthy: tuple[float | None, float | None] | None = None
    advice: str = ""


def _optimiser(stage: StageName) -> list[Metric]:
    return [
        Metric(stage, "lr", "Learning rate", "schedule(step)", "Learning rate of this step."),
        Metric(
            stage,
            "grad_norm",
            "Gradient norm",
            "‖g‖₂ before clipping",
            "Global L2 norm of the gradient, before it is clipped.",
            None,
            "A norm far above `max_grad_norm` at every step means the learning rate is set by the clipping: lower it.",
        ),
        Metric(stage, "time/step", "Seconds per step", "wall clock", "How long the step took."),
    ]


SFT = [
    Metric(
        "sft",
        "loss",
        "Loss",
        "−mean log p(completion token)",
        "Cross-entropy over completion tokens, in nats per token.",
    ),
    Metric(
        "sft",
        "eval/loss",
        "Held-out loss",
        "−mean log p(completion token)",
        "The same on prompts that were held out.",
        None,
        "Rising while the training loss falls: overfitting. Fewer epochs or a lower learning rate.",
    ),
    Metric(
        "sft",
        "time/tokens_per_second",
        "Tokens per second",
        "tokens ÷ seconds",
        "Training speed in tokens, prompts included.",
    ),
    *_optimiser("sft"),
]

REWARD_MODEL = [
    Metric(
        "reward_model",
        "loss",
        "Loss",
        "−mean log σ(r(preferred) − r(other))",
        "Bradley-Terry loss in nats per pair; a tie counts half each way. ln 2 ≈ 0.693 is a coin flip.",
    ),
    Metric(
        "reward_model",
        "accuracy",
        "Accuracy",
        "share of r(preferred) > r(other)",
        "How often the preferred answer scores higher.",
    ),
    Metric("reward_model", "margin", "Margin", "mean r(preferred) − r(other)", "How far apart the two scores are."),
    Metric(
        "reward_model",
        "eval/margin",
        "Held-out margin",
        "as margin",
        "The margin on pairs whose prompts were held out.",
    ),
    Metric("reward_model", "eval/loss", "Held-out loss", "as loss", "The loss on pairs whose prompts were held out."),
    Metric(
        "reward_model",
        "eval/accuracy",
        "Held-out accuracy",
        "as accuracy",
        "Accuracy on pairs whose prompts were held out: the figure to trust. Human labels rarely allow more than 0.65 to 0.8.",
        (0.6, 1.0),
        "Near 0.5: the reward model learnt nothing and PPO would chase noise. More pairs, or a higher learning rate.",
    ),
    *_optimiser("reward_model"),
]

PPO = [
    Metric(
        "ppo",
        "objective/scores",
        "Reward-model score",
        "mean score(prompt, response)",
        "Score of the sampled responses, missing-EOS penalty included; 0 is the mean of the SFT reference answers.",
        None,
        "Should rise. Rising while the judge or the win rate falls is over-optimisation: raise `kl_coef` or stop earlier.",
    ),
    Metric(
        "ppo",
        "objective/kl",
        "KL to the reference",
        "mean over responses of Σₜ log π(aₜ) − log π_ref(aₜ)",
        "How far the policy has moved from the SFT model, in nats per response (k1 estimator, at the sampling temperature).",
        (-0.5, 15.0),
        "Above the range: over-optimisation, raise `kl_coef`. Clearly negative: sampling and training disagree.",
    ),
    Metric(
        "ppo",
        "objective/non_score_reward",
        "KL reward",
        "mean over responses of Σₜ −β·klₜ",
        "The part of the reward that is the KL penalty.",
    ),
    Metric(
        "ppo",
        "objective/rlhf_reward",
        "Total reward",
        "score + Σₜ −β·klₜ",
        "What PPO maximises: score minus the KL penalty.",
        None,
        "Should rise. Falling: learning rate too high, or the reward model gives no signal.",
    ),
    Metric(
        "ppo",
        "objective/entropy",
        "Sampled surprise",
        "mean over responses of Σₜ −log π(aₜ)",
        "Surprise of the sampled responses, in nats per response: it shrinks with shorter and with surer answers.",
    ),
    Metric(
        "ppo",
        "policy/entropy_avg",
        "Entropy",
        "mean over tokens of −Σₐ π(a) log π(a)",
        "Entropy of the next-token distribution during the update, in nats per token.",
        None,
        "Falling to a small part of its first value: the policy collapses onto few answers.",
    ),
    Metric(
        "ppo",
        "policy/approxkl_avg",
        "KL to the previous policy",
        "½ mean (log π_new − log π_old)²",
        "How far one iteration's updates move the policy (k2 estimator), averaged over the iteration.",
        (0.0, 0.1),
        "Above 0.1: steps are too large; lower `learning_rate` or `epochs`.",
    ),
    Metric(
        "ppo",
        "policy/clipfrac_avg",
        "Clip fraction",
        "share of tokens whose clipped loss was the larger",
        "How often the clipping of the ratio was active.",
        (0.0, 0.3),
        "Above 0.3: steps are too large. Exactly 0 for long: the policy hardly moves.",
    ),
    Metric("ppo", "loss/policy_avg", "Policy loss", "mean max(−A·ratio, −A·clip(ratio))", "Clipped surrogate loss."),
    Metric(
        "ppo",
        "loss/value_avg",
        "Value loss",
        "½ mean max((V−R)², (clip(V)−R)²)",
        "Clipped squared error of the critic.",
    ),
    Metric(
        "ppo",
        "val/clipfrac_avg",
        "Value clip fraction",
        "share of tokens whose clipped error was the larger",
        "How often the value clipping was active.",
    ),
    Metric(
        "ppo",
        "val/ratio",
        "Ratio",
        "mean π_new(a) ÷ π_old(a)",
        "Probability ratio of the update; 1 on the first minibatch by construction.",
        (0.8, 1.25),
        "Far from 1: updates are too drastic.",
    ),
    Metric(
        "ppo",
        "val/ratio_var",
        "Ratio variance",
        "variance of the minibatches' mean ratio",
        "Spread of the mean ratio over the iteration's minibatches.",
    ),
    Metric(
        "ppo",
        "val/first_minibatch_ratio",
        "First-minibatch ratio",
        "mean π_new(a) ÷ π_old(a) before any update",
        "One but for rounding.",
        (0.999, 1.001),
        "Anything else is a bug, or dropout that is on.",
    ),
    Metric(
        "ppo",
        "val/first_minibatch_approxkl",
        "First-minibatch KL",
        "½ mean (log π_new − log π_old)² before any update",
        "Zero but for rounding: the update sees the log-probabilities that the rollout was scored with.",
        (0.0, 1e-4),
        "Above 1e-4 the ratio is wrong before anything was learnt: a bug, or dropout that is on.",
    ),
    Metric(
        "ppo",
        "val/explained_var",
        "Explained variance",
        "1 − Var(R − V) ÷ Var(R)",
        "How much of the returns the critic foresees; 1 is perfect, 0 no better than a constant.",
        (0.0, 1.0),
        "Below 0 for long: raise `critic_learning_rate`.",
    ),
    Metric(
        "ppo",
        "val/num_eos_tokens",
        "Finished responses",
        "responses that end with an EOS",
        "How many responses of the batch ended by themselves.",
    ),
    Metric(
        "ppo",
        "val/eos_rate",
        "Finished share",
        "finished ÷ all",
        "Share of responses that ended by themselves.",
        (0.8, 1.0),
        "Falling: raise `missing_eos_penalty` or `max_new_tokens`.",
    ),
    Metric(
        "ppo",
        "val/response_length",
        "Response length",
        "mean tokens per response",
        "Tokens per response, the EOS included.",
    ),
    Metric("ppo", "critic_lr", "Critic learning rate", "schedule(step)", "Learning rate of the critic."),
    Metric(
        "ppo",
        "critic_grad_norm",
        "Critic gradient norm",
        "‖g‖₂ before clipping",
        "Global L2 norm of the critic's gradient.",
    ),
    Metric("ppo", "episode", "Episodes", "responses so far", "Responses sampled since the stage began."),
    Metric("ppo", "time/rollout", "Seconds: rollout", "wall clock", "Sampling the responses."),
    Metric(
        "ppo",
        "time/score",
        "Seconds: score",
        "wall clock",
        "Reward model, reference, critic and old log-probabilities.",
    ),
    Metric("ppo", "time/train", "Seconds: train", "wall clock", "All epochs of updates."),
    Metric(
        "ppo",
        "eval/score",
        "Held-out score",
        "mean score on held-out prompts",
        "Reward-model score on prompts that PPO never trains on.",
    ),
    Metric(
        "ppo",
        "eval/judge",
        "Held-out judge",
        "mean judge score on held-out prompts",
        "What the installed judge thinks of the same completions: the figure the reward model stands in for.",
        None,
        "Falling while the score rises is over-optimisation (Gao et al. 2023).",
    ),
    Metric("ppo", "eval/kl", "Held-out KL", "as objective/kl", "KL to the reference on held-out prompts."),
    Metric(
        "ppo",
        "eval/response_length",
        "Held-out length",
        "mean tokens per response",
        "Response length on held-out prompts.",
    ),
    *_optimiser("ppo"),
]

EVALUATION = [
    Metric(
        "evaluation",
        "score_before",
        "Score, SFT",
        "mean score",
        "Reward-model score of the SFT policy on held-out prompts.",
    ),
    Metric(
        "evaluation",
        "score_after",
        "Score, PPO",
        "mean score",
        "Reward-model score of the trained policy on held-out prompts.",
    ),
    Metric("evaluation", "judge_before", "Judge, SFT", "mean judge score", "The judge's score of the SFT policy."),
    Metric("evaluation", "judge_after", "Judge, PPO", "mean judge score", "The judge's score of the trained policy."),
    Metric(
        "evaluation",
        "win_rate",
        "Win rate",
        "(wins + ½ ties) ÷ prompts",
        "How often the trained policy beats SFT on the same prompt, by the judge where there is one, else by the reward model.",
        (0.5, 1.0),
    ),
    Metric("evaluation", "win_rate_low", "Win rate, low", "Wilson 95 % interval", "Lower end of the 95 % interval."),
    Metric("evaluation", "win_rate_high", "Win rate, high", "Wilson 95 % interval", "Upper end of the 95 % interval."),
    Metric(
        "evaluation",
        "rm_win_rate",
        "Win rate by reward model",
        "(wins + ½ ties) ÷ prompts",
        "The same, judged by the reward model, missing-EOS penalty included.",
    ),
    Metric(
        "evaluation",
        "kl",
        "KL to the reference",
        "mean over responses of Σₜ log π(aₜ) − log π_ref(aₜ)",
        "How far the trained policy is from SFT on held-out prompts, in nats per response.",
        (-0.5, 15.0),
    ),
    Metric(
        "evaluation",
        "reward_model_accuracy",
        "Reward-model accuracy",
        "share of held-out pairs",
        "Held-out pair accuracy of the reward model.",
    ),
    Metric("evaluation", "length_before", "Length, SFT", "mean tokens", "Response length of the SFT policy."),
    Metric("evaluation", "length_after", "Length, PPO", "mean tokens", "Response length of the trained policy."),
]

METRICS: tuple[Metric, ...] = (*SFT, *REWARD_MODEL, *PPO, *EVALUATION)
