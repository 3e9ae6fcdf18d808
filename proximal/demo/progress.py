"""Shows a run in the terminal: one bar for each stage, with its main metrics."""

from types import TracebackType

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TaskID, TextColumn, TimeElapsedColumn

from proximal.sdk.types import JobEvent, StagePlan
from proximal.terminal import plain

LABELS = {
    "sft": "SFT",
    "reward_model": "Reward model",
    "dpo": "DPO",
    "kto": "KTO",
    "ppo": "PPO",
    "evaluation": "Evaluation",
}
HEADLINES = {
    "sft": {"loss": "loss"},
    "reward_model": {"loss": "loss", "accuracy": "accuracy"},
    "dpo": {"loss": "loss", "accuracy": "accuracy"},
    "kto": {"loss": "loss", "margin": "margin"},
    "ppo": {"objective/scores": "reward", "objective/kl": "KL"},
    "evaluation": {"win_rate": "win rate", "kl": "KL"},
}


class Watcher:
    """Shows the events of a run. Without a terminal, it prints a line for each finished stage."""

    def __init__(self, console: Console) -> None:
        self._console = console
        columns = (TextColumn("{task.description:<13}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
        numbers = TextColumn("{task.fields[numbers]}")
        self._progress = Progress(*columns, numbers, console=console, disable=not console.is_terminal)
        about = "the worker claims the job and loads PyTorch"
        self._starting: TaskID | None = self._progress.add_task("Starting", total=None, numbers=about)
        self._tasks: dict[str, TaskID] = {}
        self._numbers: dict[str, str] = {}
        self.stage_seconds: dict[str, float] = {}

    def __enter__(self) -> "Watcher":
        self._progress.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, value: BaseException | None, at: TracebackType | None) -> None:
        self._progress.stop()

    def see(self, event: JobEvent) -> None:
        """Show the next event. The order of the events matters."""
        stage = event["stage"] or ""
        if event["type"] == "run_started":
            self._plan(event["data"]["stages"])
        elif event["type"] == "stage_started":
            self._move(stage, event["data"].get("start_step", 0), start=True)
        elif event["type"] == "metrics":
            self._read(stage, event["data"]["values"])
            self._move(stage, event["data"]["step"])
        elif event["type"] == "stage_finished":
            self._finish(stage, event["data"]["seconds"])
        elif event["type"] == "message":
            self._console.print(plain(event["data"]["text"]))
        elif event["type"] == "status_changed":
            start, to, reason = event["data"]["from"], event["data"]["to"], event["data"]["reason"]
            if start in ("starting", "running") and to == "queued":
                self._console.print(plain(f"The run was interrupted. The platform continues it. {reason}"))

    def _plan(self, stages: list[StagePlan]) -> None:
        if self._starting is not None:
            self._progress.remove_task(self._starting)
            self._starting = None
        for stage in stages:
            name = stage["stage"]
            if name not in self._tasks:
                label = LABELS.get(name, name)
                self._tasks[name] = self._progress.add_task(label, start=False, total=stage["total_steps"], numbers="")

    def _read(self, stage: str, values: dict[str, float]) -> None:
        wanted = HEADLINES.get(stage, {})
        shown = [f"{label} {values[name]:.2f}" for name, label in wanted.items() if name in values]
        if shown:
            self._numbers[stage] = "  ".join(shown)

    def _move(self, stage: str, step: int, start: bool = False) -> None:
        if stage not in self._tasks:
            return
        if start:
            self._progress.start_task(self._tasks[stage])
        self._progress.update(self._tasks[stage], completed=step, numbers=self._numbers.get(stage, ""))

    def _finish(self, stage: str, seconds: float) -> None:
        self.stage_seconds[stage] = seconds
        if stage in self._tasks:
            self._progress.stop_task(self._tasks[stage])
        if not self._console.is_terminal:
            self._console.print(f"{LABELS.get(stage, stage)}: {seconds:.1f} s, {self._numbers.get(stage, '')}")
