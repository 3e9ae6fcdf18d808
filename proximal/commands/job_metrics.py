"""`proximal jobs metrics`, and the results of a job with several seeds in `proximal jobs show`."""

from collections.abc import Iterator
from typing import Annotated, Literal

import typer

from proximal.commands.job_changes import JobId
from proximal.sdk.types import Job, Metrics, Progress, SeedResult
from proximal.terminal import moment, plain

Stage = Literal["sft", "reward_model", "dpo", "kto", "ppo", "evaluation"]
_COUNTS = ("seeds", "collapsed_seeds", "failed_seeds", "best_seed")
_MOST_POINTS = 10_000


def metrics(
    context: typer.Context,
    job_id: JobId,
    seed: Annotated[int | None, typer.Option(help="Only this seed of a job with several.")] = None,
    stage: Annotated[Stage | None, typer.Option(help="Only this stage.")] = None,
    names: Annotated[str, typer.Option(help="Only these metrics, separated by commas.")] = "",
) -> None:
    """Print the metrics of a job as CSV, or with `--output json` as series. `seed` is empty in a job with one.

    A series of more than 10,000 steps comes in buckets, each with its mean, and so does one that the platform has thinned.
    """
    with context.obj.client() as client:
        wanted = [name.strip() for name in names.split(",") if name.strip()] or None
        found = client.get_job_metrics(job_id, seed=seed, stage=stage, names=wanted, max_points=_MOST_POINTS)
    if found["thinned_at"] is not None:
        context.obj.printer.note(thinned(found["thinned_at"]))
    context.obj.printer.item(found, *map(plain, lines(found)), key=None)


def thinned(at: str) -> str:
    """The remark on a job whose exact steps are deleted."""
    return f"The platform thinned these metrics on {moment(at)} UTC: a line is the mean of 4 steps or more."


def lines(found: Metrics) -> Iterator[str]:
    """The lines of the CSV. No name of a metric holds a comma or a quote."""
    yield "seed,stage,metric,step,value"
    for one in found["series"]:
        seed = "" if one["seed"] is None else one["seed"]
        values = one["values"] if one["values"] is not None else one["mean"] or []
        for step, value in zip(one["steps"], values, strict=True):
            yield f"{seed},{one['stage']},{one['name']},{step},{value!r}"


def steps_done(progress: Progress) -> str:
    """The stage with its steps, such as `ppo 3/60`."""
    most = "at most " if progress.get("at_most") else ""  # which older servers do not send
    return f"{progress['stage']} {progress['step']}/{most}{progress['total_steps']}"


def seed_result(seed: SeedResult) -> str:
    """State, place and headline figures of one seed of a job with several."""
    place = f" in {seed['stage']} {seed['step']}/{seed['total_steps']}" if seed["status"] == "running" else ""
    shown = ("win_rate", "kl", "score_after", "best_step")
    figures = [f"{name} {value:.4g}" for name, value in (seed["summary"] or {}).items() if name in shown]
    return ", ".join([f"{seed['status']}{place}", *figures, *([seed["why"]] if seed["why"] else [])])


def summary_rows(job: Job) -> list[tuple[str, object]]:
    """The results by name. With several seeds they are the means so far, with their intervals and the number of seeds."""
    summary = job["seeds_summary"]
    if summary is None:
        return [(key, f"{value:.4g}") for key, value in (job["summary"] or {}).items()]
    ended = int(summary["seeds"] - summary["failed_seeds"])
    rows: list[tuple[str, object]] = []
    for name, value in summary.items():
        low, high = summary.get(f"{name}_low"), summary.get(f"{name}_high")
        if name in _COUNTS:
            rows.append((name, f"{value:.0f}"))
        elif low is not None and high is not None:
            rows.append((name, f"{value:.4g} (mean of {ended}, 95 % interval {low:.4g} to {high:.4g})"))
        elif not name.endswith(("_low", "_high")):
            rows.append((name, f"{value:.4g} (mean of {ended})"))
    return rows
