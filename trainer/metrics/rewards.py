"""What rewards report of themselves; `<name>` is the reward's name in the spec, its type where it has none."""

from trainer.metrics.metric import Metric

REWARDS = [
    Metric(
        "ppo",
        "reward/<name>",
        "Reward: <name>",
        "mean over responses, unweighted",
        "One of the rewards by itself, before weights, the rule for a missing EOS and all other shaping. Of one that gives a number for each token, the sum over the response.",
        None,
        "One that rises while another falls is a trade between them: change their `weight`.",
    ),
    Metric(
        "ppo",
        "reward/<name>/error_rate",
        "Failed requests: <name>",
        "failed requests ÷ requests of the step",
        "How often a remote reward had to be asked again.",
        (None, 0.1),
        "Above the range: the endpoint is overloaded or `timeout` too short; lower `batch_size` or raise `timeout`.",
    ),
    Metric(
        "ppo",
        "time/reward/<name>",
        "Seconds: <name>",
        "wall clock",
        "How long a remote reward took for the batch, retries and pauses included. A part of `time/score`.",
    ),
]
