"""The planted gaps, the corrections, and the spec of a run. Torch-free."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

Record = dict[str, Any]
TASK, LETTERS, TOKENS = "distractors", 24, 24
ITERATIONS = 60
HELD_OUT = 64
GAPS: dict[str, Record] = {
    "top-k cut": {"top_k": 12},
    "temperature": {"temperature": 0.6},
    "half precision": {"weights": "bfloat16"},
    "stale by 8": {"behind": 8},
}
"""The options of `engines.Gap`."""
CLEAN = "none"
CORRECTIONS: dict[str, Record] = {
    "none": {},
    "truncated": {"kind": "truncated"},
    "mask": {"kind": "mask"},
    "sequence_truncated": {"kind": "sequence_truncated"},
    "sequence_mask": {"kind": "sequence_mask"},
}
"""The section `ppo.rollout.correction` of each."""
_NEVER = 1_000_000


@dataclass(frozen=True)
class Setting:
    """One run."""

    gap: str
    correction: str
    seed: int
    rate: float
    iterations: int

    @property
    def label(self) -> str:
        """For people and folders."""
        parts = [self.gap, self.correction, f"{self.rate:g}", f"n{self.iterations}", f"s{self.seed}"]
        return "-".join(parts).replace(" ", "_")


def spec_of(setting: Setting, start: Path, url: str) -> Record:
    """The job spec of a run from the folder of `starts.ready`, scored by the server at `url`.

    GRPO as in examples/grpo.toml, without a KL penalty, because the score itself is the goal. Nothing in it names the gap.
    """
    correction = CORRECTIONS[setting.correction]
    return {
        "name": setting.label,
        "model": {"path": str(start / "policy")},
        "data": {"prompts": str(start / "prompts.jsonl"), "evaluation_prompts": str(start / "held_out.jsonl")},
        "stages": ["ppo"],
        "rewards": [{"type": "http", "name": "task", "url": url}],
        "ppo": {
            "steps": setting.iterations,
            "batch_size": 16,
            "samples_per_prompt": 8,
            "epochs": 2,
            "minibatches": 2,
            "learning_rate": setting.rate,
            "lr_schedule": "linear",
            "max_new_tokens": TOKENS,
            "advantage": {"estimator": "sequence", "baseline": "group_mean", "normalize": "group_std"},
            "policy_loss": {"aggregation": "sequence_mean"},
            "rollout": {"correction": correction} if correction else {},
            "kl": {"coef": 0.0},
            "shaping": {"missing_eos_penalty": 0.0},  # a response always has all its tokens
            "self_test": False,  # it would refuse the planted gaps before the first iteration
            "save_every": _NEVER,
            "eval_every": _NEVER,
            "log_samples": 0,
            "log_held_out": 0,
        },
        "evaluation": {"prompts": HELD_OUT, "batch_size": HELD_OUT, "keep_best": False},
        "runtime": {"device": "cpu", "threads": 1},
        "seed": setting.seed,
    }


def plant_in_process(gap: str) -> None:
    """Plant a gap of `GAPS` in the runs of this process; see `engines.plant`."""
    if gap != CLEAN:
        from benchmarks.gap.engines import Gap, plant

        plant(Gap(**GAPS[gap]))
