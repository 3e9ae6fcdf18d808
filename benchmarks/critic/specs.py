"""The specs of both algorithms: equal samples, equal optimizer steps of the policy, and a learning rate chosen by one rule.

PPO has parts of SAO (arXiv 2607.07508): one response to a prompt, λ = 1 for the critic apart from the policy's, and two passes
of the critic. It also has value pretraining and the two-sided mask on π_old/π_sampler. The frozen attention is left out: it
keeps what pretraining has learned, and the attention of these critics is random.

GRPO is the recipe examples/grpo.toml: groups of 8, standardised within the group, the mean over sequences. Both take two
passes of two minibatches, and neither has a KL penalty, because the score itself is the goal.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

Algorithm = Literal["ppo", "grpo"]
Record = dict[str, Any]
BATCH = 16
"""Responses per iteration, so few that the credit of single tokens is the bottleneck."""
GROUP = 8
PRETRAINING = 5
"""Iterations of value pretraining. They count: PPO has so many iterations fewer, and both the same samples."""
CRITIC_RATE = 3e-3
"""Learning rate of the critic, on all tasks. It was not tuned: the policy's is the only number that was, for both."""
CRITIC_MINIBATCHES = 4
_NEVER = 1_000_000


@dataclass(frozen=True)
class Setting:
    """One run."""

    task: str
    letters: int
    tokens: int
    algorithm: Algorithm
    rate: float
    staleness: int
    iterations: int
    seed: int
    critic_epochs: int = 2
    save_every: int = _NEVER
    """Steps between checkpoints, of which ten are kept."""

    @property
    def label(self) -> str:
        """For people and folders."""
        parts = [self.task, self.letters, self.tokens, self.algorithm, f"{self.rate:g}", f"k{self.staleness}"]
        return "-".join(map(str, [*parts, f"K{self.critic_epochs}", f"n{self.iterations}", f"s{self.seed}"]))


def spec_of(setting: Setting, start: Path, url: str) -> Record:
    """The job spec of a run from the folder of `starts.ready`, scored by the server at `url`."""
    rollout: Record = {"staleness": setting.staleness} if setting.staleness else {}
    section: Record = {
        "batch_size": BATCH,
        "epochs": 2,
        "minibatches": 2,
        "learning_rate": setting.rate,
        "lr_schedule": "linear",
        "max_new_tokens": setting.tokens,
        "kl": {"coef": 0.0},
        "shaping": {"missing_eos_penalty": 0.0},  # a response always has all its tokens
        "self_test": False,
        "save_every": setting.save_every,
        "eval_every": _NEVER,
        "log_samples": 0,
        "log_held_out": 0,
    }
    return {
        "name": setting.label,
        "model": {"path": str(start / "policy")},
        "data": {"prompts": str(start / "prompts.jsonl"), "evaluation_prompts": str(start / "held_out.jsonl")},
        "stages": ["ppo"],
        "rewards": [{"type": "http", "name": "task", "url": url}],
        "ppo": section | (_ppo if setting.algorithm == "ppo" else _grpo)(setting, rollout),
        "evaluation": {"prompts": 64, "batch_size": 64, "keep_best": False},
        "health": {"enabled": False},
        "checkpoints": {"keep_last": 10},
        "runtime": {"device": "cpu", "threads": 1},
        "seed": setting.seed,
    }


def _ppo(setting: Setting, rollout: Record) -> Record:
    return {
        "steps": setting.iterations - PRETRAINING,
        "advantage": {"critic_lambda": 1.0},
        "critic": {
            "learning_rate": CRITIC_RATE,
            "epochs": setting.critic_epochs,
            "minibatches": CRITIC_MINIBATCHES,
            "pretraining": {"iterations": PRETRAINING, "patience": PRETRAINING},
        },
        "rollout": rollout | {"correction": {"kind": "mask"}},
    }


def _grpo(setting: Setting, rollout: Record) -> Record:
    return {
        "steps": setting.iterations,
        "samples_per_prompt": GROUP,
        "advantage": {"estimator": "sequence", "baseline": "group_mean", "normalize": "group_std"},
        "policy_loss": {"aggregation": "sequence_mean"},
        "rollout": rollout,
    }
