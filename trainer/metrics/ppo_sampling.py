"""Metrics of PPO beside the update: the sampler, time and memory, the rounds of `ppo.online`, and each reward.

`<name>` is the reward's name in the spec, or its type where it has none.
"""

from trainer.metrics.metric import Chart, Metric

PPO_SAMPLING = [
    Metric(
        "ppo",
        "sampling/logp_difference/mean",
        "Sampler gap",
        "mean over tokens of |log π_old(a) − log π_sampler(a)|",
        "How far the sampler and the trainer's own forward pass lie apart on the sampled tokens: rounding alone for the built-in engine, a step's update with `ppo.rollout.asynchronous`.",
        advice="Above 0.05 without `ppo.rollout.asynchronous`: the sampler computes something else; look at types and templates.",
        unit="nats per token",
    ),
    Metric(
        "ppo",
        "sampling/logp_difference/max",
        "Largest sampler gap",
        "max over tokens of |log π_old(a) − log π_sampler(a)|",
        "The token on which sampler and trainer agree least.",
        unit="nats per token",
    ),
    *(
        Metric(
            "ppo",
            f"sampling/importance_sampling_ratio/{name}",
            f"Importance weight: {name}",
            f"{name} over tokens of min(π_old(a) ÷ π_sampler(a), C)",
            "The weight of each token's policy loss, with `ppo.rollout.importance_cap`.",
            healthy,
            advice,
        )
        for name, healthy, advice in (
            ("min", None, ""),
            (
                "mean",
                (0.8, 1.2),
                "Far from 1: the sampler is too old or too coarse for the policy; smaller steps, or no `asynchronous`.",
            ),
            ("max", None, "Always the cap: it cuts off much; the update is that much less than the policy's own."),
        )
    ),
    Metric("ppo", "critic_lr", "Critic learning rate", "schedule(step)", "Learning rate of the critic."),
    Metric(
        "ppo",
        "critic_steps",
        "Critic's optimizer steps",
        "steps of this iteration",
        "Optimizer steps of a critic whose passes are not the policy's: `ppo.critic.epochs` × `ppo.critic.minibatches`, less those skipped.",
        unit="steps",
    ),
    Metric(
        "ppo",
        "critic_grad_norm",
        "Critic gradient norm",
        "‖g‖₂ before clipping",
        "Global L2 norm of the critic's gradient.",
    ),
    Metric(
        "ppo", "episode", "Episodes", "responses so far", "Responses sampled since the stage began.", unit="responses"
    ),
    Metric(
        "ppo",
        "time/rollout",
        "Seconds: rollout",
        "wall clock",
        "Sampling the responses.",
        unit="seconds",
        chart=Chart("Seconds per step", 152, "rollout"),
    ),
    Metric(
        "ppo",
        "time/score",
        "Seconds: score",
        "wall clock",
        "Reward model, reference, critic and old log-probabilities.",
        unit="seconds",
        chart=Chart("Seconds per step", 151, "score"),
    ),
    Metric(
        "ppo",
        "time/train",
        "Seconds: train",
        "wall clock",
        "All epochs of updates.",
        unit="seconds",
        chart=Chart("Seconds per step", 150, "train"),
    ),
    *(
        Metric(
            "ppo",
            f"memory/{phase}",
            f"Peak memory: {phase}",
            "bytes",
            f"Most memory in use while {doing}: tensors on a GPU, else the process' resident memory, where Linux reports it.",
            unit="bytes",
        )
        for phase, doing in (
            ("rollout", "sampling"),
            ("score", "responses are scored and values and advantages worked out"),
            ("train", "policy and critic learn"),
        )
    ),
    Metric("ppo", "online/round", "Round", "1, 2, …", "The round of `ppo.online` that begins here, after a refit."),
    Metric(
        "ppo",
        "online/pairs",
        "New pairs",
        "pairs labelled",
        "The policy's own answers that were labelled for this round; pairs of equal answers are left out.",
        unit="pairs",
    ),
    Metric(
        "ppo",
        "online/missing",
        "Pairs without a label",
        "pairs that the judge has no verdict on",
        "They are left out of the refit. Absent for none.",
        advice="The event `reward_missing` has the reason.",
        unit="pairs",
    ),
    Metric(
        "ppo",
        "online/old_pairs",
        "Old pairs",
        "pairs of before",
        "Learnt again beside the new ones, against forgetting: as many as those, where there are so many.",
        unit="pairs",
    ),
    Metric(
        "ppo",
        "online/ties",
        "Ties",
        "ties ÷ new pairs",
        "Share of the new pairs that the source could not decide.",
        unit="share",
    ),
    Metric(
        "ppo",
        "online/accuracy_before",
        "Accuracy before the refit",
        "share of new pairs ranked as labelled",
        "How well the reward model still ranks the policy's answers, before it learns from them.",
        healthy=(0.6, 1.0),
        advice="Near 0.5: the policy has left the region of the reward model's training data. Raise `ppo.online.rounds`.",
        unit="share",
    ),
    Metric(
        "ppo",
        "online/accuracy",
        "Accuracy after the refit",
        "share of new pairs ranked as labelled",
        "The same pairs once it has learnt from them (they are its training data: not a held-out figure).",
        unit="share",
    ),
    Metric(
        "ppo",
        "online/loss",
        "Loss after the refit",
        "as the reward model's",
        "On the new pairs, after the refit.",
        unit="nats per pair",
    ),
    Metric(
        "ppo",
        "online/score_bias",
        "Score bias",
        "mean raw score of the SFT reference answers",
        "Set anew by each refit, so that scores keep their zero.",
        unit="score",
    ),
    Metric(
        "ppo",
        "reward/<name>",
        "Reward: <name>",
        "mean over responses, unweighted",
        "One of the rewards by itself, before weights, the rule for a missing EOS and all other shaping. For a reward that gives one number for each token, the sum over the response.",
        advice="One that rises while another falls is a trade between them: change their `weight`.",
        unit="score",
        chart=Chart("Reward: <name>", 20),
    ),
    Metric(
        "ppo",
        "reward/<name>/error_rate",
        "Failed requests: <name>",
        "failed requests ÷ requests of the step",
        "How often a remote reward had to be asked again.",
        healthy=(None, 0.1),
        advice="Above the range: the endpoint is overloaded or `timeout` too short; lower `batch_size` or raise `timeout`.",
        unit="share",
    ),
    Metric(
        "ppo",
        "reward/<name>/missing",
        "Missing: <name>",
        "responses of the batch without a value",
        "Responses that this reward has no value for, because it failed. They take part in no mean and no gradient. Absent for none.",
        advice="The event `reward_missing` has the reason. Above `max_missing` of the reward the job pauses.",
        unit="responses",
        chart=Chart("Missing: <name>", 21),
    ),
    *(
        Metric(
            "ppo",
            f"reward/<name>/{cause}",
            f"Missing, {words}: <name>",
            "responses of the batch without a value",
            f"Those for which the reward {meaning}. Absent for none.",
            unit="responses",
        )
        for cause, words, meaning in (
            ("time_out", "time-out", "did not respond in time"),
            ("refusal", "refusal", "refused to give a value"),
            ("bad_output", "bad output", "returned no usable number"),
            ("crash", "crash", "failed with an error"),
            ("unreachable", "unreachable", "could not be reached"),
        )
    ),
    Metric(
        "ppo",
        "reward/<name>/missing_share",
        "Missing share: <name>",
        "responses without a value ÷ max(200, responses), over the last 1000",
        "The share that `max_missing` of the reward limits. Absent while it is 0.",
        unit="share",
    ),
    Metric(
        "ppo",
        "time/reward/<name>",
        "Seconds: <name>",
        "wall clock",
        "How long a remote reward took for the batch, retries and pauses included. A part of `time/score`.",
        unit="seconds",
    ),
]
