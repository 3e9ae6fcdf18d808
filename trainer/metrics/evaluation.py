"""Metrics on held-out prompts: those that PPO reports in its loop, and those of the evaluation stage.

`before` is the policy that the evaluation compares with, `after` the trained one.
"""

from trainer.metrics.metric import Chart, Metric

SELECTION = "(eval/win_rate, eval/judge, eval/score, −eval/kl), compared in this order; the earliest of equal ones"
"""The order of `trainer/selection.py`."""


def _both(name: str, label: str, formula: str, meaning: str, unit: str) -> list[Metric]:
    """A figure of the two sides."""
    sides = ("before", "policy compared with"), ("after", "trained policy")
    return [
        Metric("evaluation", f"{name}_{side}", f"{label}, {side}", formula, f"{meaning} of the {policy}.", unit=unit)
        for side, policy in sides
    ]


def _best(name: str, label: str, of: str, unit: str) -> Metric:
    meaning = f"`{of}` of the best checkpoint, from the same draws as `best_win_rate`."
    return Metric("evaluation", f"best_{name}", f"Best checkpoint: {label}", f"as {of}", meaning, unit=unit)


EVALUATION = [
    *_both("score", "Score", "mean score", "The rewards' weighted sum on held-out prompts", "score"),
    *_both("judge", "Judge", "mean judge score", "The judge's score", "score"),
    Metric(
        "evaluation",
        "win_rate",
        "Win rate",
        "(wins + ½ ties) ÷ prompts",
        "How often the trained policy beats the one before it (or `evaluation.against`) on the same prompt, by the judge where there is one, else by the rewards.",
        healthy=(0.5, 1.0),
        unit="share",
    ),
    Metric(
        "evaluation",
        "win_rate_low",
        "Win rate, low",
        "Wilson 95 % interval",
        "Lower end of the 95 % interval.",
        unit="share",
    ),
    Metric(
        "evaluation",
        "win_rate_high",
        "Win rate, high",
        "Wilson 95 % interval",
        "Upper end of the 95 % interval.",
        unit="share",
    ),
    Metric(
        "evaluation",
        "rm_win_rate",
        "Win rate by the rewards",
        "(wins + ½ ties) ÷ prompts",
        "The same, decided by the rewards, the rule for a missing EOS applied.",
        unit="share",
    ),
    Metric(
        "evaluation",
        "kl",
        "KL to the reference",
        "mean over responses of Σₜ log π(aₜ) − log π₀(aₜ)",
        "How far the trained policy is from the one before it on held-out prompts, in nats per response.",
        healthy=(-0.5, 15.0),
        unit="nats",
    ),
    Metric(
        "evaluation",
        "reward_model_accuracy",
        "Reward-model accuracy",
        "share of held-out pairs",
        "Held-out pair accuracy of the reward model.",
        unit="share",
    ),
    *_both("length", "Length", "mean tokens", "Response length", "tokens"),
    *_both("eos_rate", "Finished share", "finished ÷ all", "Share of responses that ended by themselves", "share"),
    Metric(
        "evaluation",
        "entropy_kept",
        "Entropy kept",
        "last ÷ first policy/entropy_avg",
        "How much of its entropy the policy still had in PPO's last iteration.",
        healthy=(0.1, None),
        advice="Near 0 it is left with few answers: raise `ppo.policy_loss.entropy_coef` or `ppo.kl.coef`.",
        unit="share",
    ),
    Metric(
        "evaluation",
        "best_step",
        "Best checkpoint: step",
        f"argmax of {SELECTION}",
        "The iteration whose policy was the best in the evaluations during PPO; it is kept beside the last one.",
        unit="steps",
    ),
    Metric(
        "evaluation",
        "selection_win_rate",
        "Best checkpoint: win rate when chosen",
        "eval/win_rate at best_step",
        "The win rate by which the best checkpoint was chosen, against the policy as PPO began. It is too high, because it is the maximum of several measurements: report `best_win_rate`.",
        unit="share",
    ),
    Metric(
        "evaluation",
        "best_win_rate",
        "Best checkpoint: win rate",
        "(wins + ½ ties) ÷ prompts",
        "Win rate of the best checkpoint against the same policy as `win_rate`, from new draws that had no part in choosing it. Equal to `win_rate` where the last checkpoint is the best. Missing where the checkpoint's folder is lost.",
        healthy=(0.5, 1.0),
        unit="share",
    ),
    _best("win_rate_low", "win rate, low", "win_rate_low", "share"),
    _best("win_rate_high", "win rate, high", "win_rate_high", "share"),
    _best("score", "score", "score_after", "score"),
    _best("judge", "judge", "judge_after", "score"),
    _best("kl", "KL", "kl", "nats"),
    _best("response_length", "length", "length_after", "tokens"),
]

EVALUATION += [
    *_both(
        "pass_at_<name>",
        "pass@<name>",
        "mean over prompts of 1 − C(n − c, k)/C(n, k), c of the n responses correct",
        "Chance that at least one of k responses is correct (Chen et al. 2021, eq. 1), with k in the name: by `evaluation.pass_at`, from responses sampled for it alone,",
        "share",
    ),
    _best("pass_at_<name>", "pass@<name>", "pass_at_<name>_after", "share"),
    *_both(
        "unverified",
        "Responses not verified",
        "responses",
        "Responses for pass@k that the verifying reward has no value for. They count as not sampled. Absent for none. Those",
        "responses",
    ),
    _best("unverified", "responses not verified", "unverified_after", "responses"),
]


_LEFT_OUT = "Means and win rates leave them out. Absent for none."
EVALUATION += [
    *_both(
        "missing",
        "Responses without a score",
        "responses",
        f"Responses, which a reward has no value for. {_LEFT_OUT} Those",
        "responses",
    ),
    *_both(
        "judge_missing",
        "Responses without a judge's score",
        "responses",
        f"Responses, which the judge has no value for. {_LEFT_OUT} Those",
        "responses",
    ),
    Metric(
        "evaluation",
        "compared",
        "Compared prompts",
        "prompts with a verdict",
        "Prompts behind the win rate. Absent if these are all. A prompt counts if both sides have a value.",
        unit="prompts",
    ),
    _best("compared", "compared prompts", "compared", "prompts"),
]


HELD_OUT = [
    Metric(
        "ppo",
        "eval/missing",
        "Held-out responses without a score",
        "responses",
        f"Held-out responses that a reward has no value for. {_LEFT_OUT}",
        healthy=(None, 0.0),
        unit="responses",
    ),
    Metric(
        "ppo",
        "eval/judge_missing",
        "Held-out responses without a judge's score",
        "responses",
        f"Held-out responses that the judge has no value for. {_LEFT_OUT}",
        healthy=(None, 0.0),
        unit="responses",
    ),
    Metric(
        "ppo",
        "eval/compared",
        "Held-out prompts compared",
        "prompts with a verdict",
        "Held-out prompts behind the win rate. Absent if these are all.",
        unit="prompts",
    ),
    Metric(
        "ppo",
        "eval/score",
        "Held-out score",
        "mean score on held-out prompts",
        "The rewards' weighted sum on prompts that PPO never trains on, the rule for a missing EOS applied.",
        unit="score",
        chart=Chart("Held-out scores", 30, "rewards"),
    ),
    Metric(
        "ppo",
        "eval/judge",
        "Held-out judge",
        "mean judge score on held-out prompts",
        "The judge's score of the same completions, for which the rewards are a proxy.",
        advice="Falling while the score rises is over-optimisation (Gao et al. 2023).",
        unit="score",
        chart=Chart("Held-out scores", 31, "judge", scale="right"),
    ),
    Metric(
        "ppo",
        "eval/win_rate",
        "Held-out win rate",
        "(wins + ½ ties) ÷ held-out prompts",
        "How often the policy beats itself as PPO began, on the same prompt: by the judge where there is one, else by the rewards. It selects the best checkpoint.",
        healthy=(0.5, 1.0),
        advice="Falling while the score rises: raise `ppo.kl.coef`, or take the best checkpoint.",
        unit="share",
        chart=Chart("Held-out win rate", 40),
    ),
    Metric(
        "ppo",
        "eval/best_step",
        "Best evaluation so far: step",
        f"argmax of {SELECTION}",
        "The step of the best evaluation so far. Evaluations on request and steps that a health rule rolls back are left out.",
        unit="steps",
    ),
    Metric(
        "ppo",
        "eval/win_rate_low",
        "Held-out win rate, low",
        "Wilson 95 % interval",
        "Lower end of the win rate's 95 % interval. Above ½, the policy is better than it was, beyond chance.",
        unit="share",
    ),
    Metric(
        "ppo",
        "eval/win_rate_high",
        "Held-out win rate, high",
        "Wilson 95 % interval",
        "Upper end of the win rate's 95 % interval. Below ½, the policy is worse than it was, beyond chance.",
        unit="share",
    ),
    Metric(
        "ppo",
        "eval/kl",
        "Held-out KL",
        "mean over responses of Σₜ log π(aₜ) − log π₀(aₜ)",
        "How far the policy is from itself as PPO began (or from `ppo.reference.path`), in nats per response, wherever the reference has moved.",
        healthy=(-0.5, 15.0),
        unit="nats",
        chart=Chart("KL to the reference", 51, "held out"),
    ),
    Metric(
        "ppo",
        "eval/teacher_kl",
        "Held-out reverse KL to the teacher",
        "mean over tokens of log π(aₜ) − log π_teacher(aₜ)",
        "How far the policy is from the teacher on held-out prompts, in nats per token, at `evaluation.temperature`. Only with `ppo.teacher`.",
        healthy=(-0.1, 0.5),
        advice="Rising while `objective/teacher_kl` falls: the policy copies the teacher on the prompts of training alone. Add prompts.",
        unit="nats",
        chart=Chart("Reverse KL to the teacher", 53, "held out"),
    ),
    Metric(
        "ppo",
        "eval/sqrt_kl",
        "Held-out √KL",
        "√max(0, eval/kl)",
        "The distance that over-optimisation is plotted against (Gao et al. 2023).",
        unit="√nats",
    ),
    Metric(
        "ppo",
        "eval/response_length",
        "Held-out length",
        "mean tokens per response",
        "Response length on held-out prompts.",
        unit="tokens",
        chart=Chart("Response length", 91, "held out"),
    ),
    Metric(
        "ppo",
        "eval/eos_rate",
        "Held-out finished share",
        "finished ÷ all",
        "Share of the held-out responses that ended by themselves.",
        healthy=(0.8, 1.0),
        unit="share",
    ),
    Metric(
        "ppo",
        "health/skipped_steps",
        "Skipped steps",
        "optimizer steps left out since the stage began",
        "Steps that were not taken because a loss or gradient was not finite (`health.not_finite`). Missing while there is none.",
        healthy=(None, 0.0),
        advice='Lower `ppo.learning_rate`, or set `model.dtype` = "float32".',
        unit="steps",
    ),
]
