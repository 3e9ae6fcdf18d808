"""The result of the demo: verdict, figures, table."""

import json
from dataclasses import asdict, dataclass
from pathlib import Path

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from proximal.demo.progress import LABELS
from proximal.sdk import Client
from proximal.sdk.types import JobSample

WIN_RATE_WANTED = 0.8
KL = ("evaluation", "kl")
_SAMPLES = 3
Range = tuple[float | None, float | None]


@dataclass(frozen=True)
class Figures:
    """Figures of the run, as `--json` writes them."""

    job_id: str
    seed: int
    learnt: bool
    win_rate: float
    win_rate_interval: tuple[float, float]
    kl: float
    kl_healthy: Range
    reward_model_accuracy: float
    seconds: float
    stage_seconds: dict[str, float]
    summary: dict[str, float]

    def write(self, path: Path) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(asdict(self), indent=2) + "\n")


def figures(client: Client, job_id: str, seed: int, seconds: float, stage_seconds: dict[str, float]) -> Figures:
    """The figures of a job that has succeeded."""
    summary = client.get_job(job_id)["summary"] or {}
    healthy = _healthy_kl(client)
    return Figures(
        job_id=job_id,
        seed=seed,
        learnt=has_learnt(summary["win_rate"], summary["kl"], healthy),
        win_rate=summary["win_rate"],
        win_rate_interval=(summary["win_rate_low"], summary["win_rate_high"]),
        kl=summary["kl"],
        kl_healthy=healthy,
        reward_model_accuracy=summary["reward_model_accuracy"],
        seconds=round(seconds, 2),
        stage_seconds={stage: round(value, 2) for stage, value in stage_seconds.items()},
        summary=summary,
    )


def has_learnt(win_rate: float, kl: float, healthy: Range) -> bool:
    """Whether the win rate reaches WIN_RATE_WANTED and the KL is in its healthy range."""
    low, high = healthy
    return win_rate >= WIN_RATE_WANTED and (low is None or kl >= low) and (high is None or kl <= high)


def show(found: Figures, samples: list[JobSample], console: Console) -> None:
    """Print the table of results and some completions side by side."""
    summary, (low, high) = found.summary, found.win_rate_interval
    table = Table("", "SFT (before)", "PPO (after)", title="Results on held-out prompts")
    table.add_row("Reward model's score", f"{summary['score_before']:.2f}", f"{summary['score_after']:.2f}")
    if "judge_after" in summary:
        table.add_row("Hidden rule's score", f"{summary['judge_before']:.2f}", f"{summary['judge_after']:.2f}")
    table.add_row("Win rate against SFT", "", f"{found.win_rate:.1%}  (95 %: {low:.1%} to {high:.1%})")
    table.add_row("KL to the reference", "0", f"{found.kl:.2f} nats  (healthy: {_spelt(found.kl_healthy)})")
    table.add_row("Reward model's accuracy on held-out pairs", "", f"{found.reward_model_accuracy:.1%}")
    table.add_row("Time", "", _times(found))
    console.print(table)
    console.print(_side_by_side(samples))
    verdict = _verdict(found)
    console.print(verdict)


def _verdict(found: Figures) -> str:
    wanted = f"a win rate of at least {WIN_RATE_WANTED:.0%} and a healthy KL"
    return (
        f"[green]The run reached {wanted}.[/green]" if found.learnt else f"[red]The run did not reach {wanted}.[/red]"
    )


def _side_by_side(samples: list[JobSample]) -> Table:
    table = Table("Prompt", "SFT wrote", "PPO wrote", title="The same prompts, before and after", show_lines=True)
    for sample in samples[:_SAMPLES]:
        before = _scored(sample["reference"] or "", sample["reference_judge"], sample["reference_score"])
        table.add_row(escape(sample["prompt"]), before, _scored(sample["response"], sample["judge"], sample["score"]))
    return table


def _scored(text: str, judge: float | None, score: float | None) -> str:
    value = judge if judge is not None else score
    text = escape(text.strip())
    return text if value is None else f"{text}\n[dim]score {value:.1f}[/dim]"


def _times(found: Figures) -> str:
    stages = ", ".join(f"{LABELS.get(stage, stage)} {seconds:.0f} s" for stage, seconds in found.stage_seconds.items())
    return f"{found.seconds:.0f} s in all  ({stages})"


def _healthy_kl(client: Client) -> Range:
    """The healthy range of the KL, from the platform's reference."""
    for metric in client.list_metric_meanings():
        if (metric["stage"], metric["name"]) == KL and metric["healthy"]:
            low, high = metric["healthy"]
            return low, high
    return None, None


def _spelt(healthy: Range) -> str:
    low, high = healthy
    return f"{'' if low is None else f'{low:g} '}to {'any' if high is None else f'{high:g}'}"
