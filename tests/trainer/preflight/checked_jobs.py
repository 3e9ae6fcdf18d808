"""Small valid jobs and what `check` reports about them."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from trainer.preflight.check import CheckOptions, check
from trainer.preflight.memory.passes import Passes, T, Widths
from trainer.preflight.report import Finding, Report
from trainer.spec import JobSpec

CONFIG = {
    "model_type": "llama",
    "hidden_size": 16,
    "intermediate_size": 24,
    "num_hidden_layers": 1,
    "num_attention_heads": 2,
}
WORDS = ["the", "film", "was", "good", "and", "bad", "but", "long"]
PROMPTS = [f"{WORDS[n % 8]} {WORDS[n // 8]} {n}" for n in range(60)]


def lines(path: Path, rows: list[Any]) -> str:
    path.write_text("".join((row if isinstance(row, str) else json.dumps(row)) + "\n" for row in rows))
    return str(path)


def job(folder: Path, **changes: Any) -> dict[str, Any]:
    """A small valid job with data of its own; `changes` replace or, for sections, extend it."""
    sft = [{"prompt": prompt, "completion": " ".join(WORDS[: 2 + n % 3])} for n, prompt in enumerate(PROMPTS)]
    pairs = [{"prompt": prompt, "chosen": "good film", "rejected": "bad film"} for prompt in PROMPTS]
    raw: dict[str, Any] = {
        "model": {"config": CONFIG | {"max_position_embeddings": 128}, "tokenizer": {"vocab_size": 300}},
        "data": {
            "sft": lines(folder / "sft.jsonl", sft),
            "preferences": lines(folder / "preferences.jsonl", pairs),
            "prompts": lines(folder / "prompts.jsonl", [{"prompt": prompt} for prompt in PROMPTS]),
        },
        "sft": {"batch_size": 8},
        "reward_model": {"batch_size": 8},
        "ppo": {"steps": 2, "batch_size": 8, "max_new_tokens": 40},
        "evaluation": {"prompts": 4},
        "runtime": {"device": "cpu"},
    }
    for name, value in changes.items():
        raw[name] = raw.get(name, {}) | value if isinstance(value, dict) else value
    return raw


def checked(folder: Path, wishes: CheckOptions | None = None, **changes: Any) -> Report:
    return check(JobSpec.model_validate(job(folder, **changes)), wishes)


def only(report: Report, code: str) -> Finding:
    (found,) = [finding for finding in report.findings if finding.code == code]
    return found


class ByFormula(Passes):
    """The passes of an architecture that cannot be followed, but without the finding about it.

    For tests of other parts of the estimate: a count takes two seconds per check.
    """

    def _counted(self, count: Callable[[], T], by_formula: Callable[[Widths], T], of: Callable[[Passes], T]) -> T:
        return by_formula(Widths.from_config(self.blueprint.config.get_text_config(), self.blueprint.dtype.itemsize))
