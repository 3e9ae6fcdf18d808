"""`proximal jobs watch`: the charts and messages of one job, drawn in the terminal while it runs."""

import itertools
import time
from collections import deque
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from rich.columns import Columns
from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.panel import Panel
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from proximal.commands.job_metrics import steps_done
from proximal.sdk import Client
from proximal.sdk.types import Job, JobEvent, MetricInfo, Progress
from proximal.terminal import moment, plain

_REFRESHES_PER_SECOND = 2
_REFRESH_SECONDS = 1.0
"""Time between two requests for the job's progress."""
_MAX_POINTS = 500
"""Points of a series that are kept. A longer series loses every second point of its older part."""
_MESSAGES = 5
_CHART_HEIGHT, _NARROW = 11, 100
_HEAD_LINES = 4
_COLOURS = ("blue", "orange", "green", "magenta")
_FIRST_DETAIL = 900
"""Charts of this order and above, such as the learning rate, are left to the dashboard."""
_PAST_EVENTS = ("status_changed", "stage_finished", "health", "message")
"""Types of the events before the start of the command that are shown."""
_QUIET_EVENTS = ("metrics", "samples", "critic_card", "curve", "report_card", "stage_started")


class ChartLine(NamedTuple):
    """A metric that the dashboard's charts show: the chart's title and order, and the line's name in it."""

    order: int
    title: str
    stage: str
    metric: str
    name: str


class Points(NamedTuple):
    """A line with its points, oldest first."""

    name: str
    steps: list[int]
    values: list[float]


def watch_job(client: Client, job_id: str) -> None:
    """Draw the job until it has ended or is paused. Ctrl-C raises KeyboardInterrupt, and the job goes on."""
    board = Board(client.get_job(job_id), client.list_metric_meanings())
    stored = client.get_job_metrics(job_id, max_points=_MAX_POINTS)
    for series in stored["series"]:
        if series["seed"] != board.seed:
            continue  # with several seeds, the charts are those of the one that runs
        values = series["last"] if series["values"] is None else series["values"]
        board.extend(series["stage"], series["name"], series["steps"], values or [])
    for event in client.list_job_events(job_id, types=_PAST_EVENTS):
        board.see(event, client)
    console = Console()
    with Live(get_renderable=lambda: board.render(console), console=console, refresh_per_second=_REFRESHES_PER_SECOND):
        for event in until_waiting(client, job_id, stored["last_seq"]):
            board.see(event, client)
        board.job = client.get_job(job_id)


def until_waiting(client: Client, job_id: str, after: int = 0) -> Iterator[JobEvent]:
    """The events of a job until it has ended, or until it is paused and sends no more."""
    for event in client.stream_job_events(job_id, after):
        yield event
        paused = event["type"] == "status_changed" and event["data"]["to"] == "paused"
        if paused and client.get_job(job_id)["status"] == "paused":
            return


class Board:
    """The state of the job's display."""

    def __init__(self, job: Job, meanings: Sequence[MetricInfo]) -> None:
        self.job = job
        self._chart_lines = _chart_lines(meanings)
        self._series: dict[tuple[str, str], tuple[list[int], list[float]]] = {}
        self._messages: deque[Text] = deque(maxlen=_MESSAGES)
        self._refresh_at = 0.0
        self.seed = None if job["progress"] is None else job["progress"]["seed"]
        """The seed whose charts are drawn; None in a job with one seed."""

    def see(self, event: JobEvent, client: Client) -> None:
        """Take over the content of the next event."""
        if event["type"] == "metrics":
            if event["seed"] != self.seed:
                self.seed = event["seed"]
                self._series.clear()
            for name, value in event["data"]["values"].items():
                self.extend(event["data"]["stage"], name, [event["data"]["step"]], [value])
            if time.monotonic() >= self._refresh_at:
                self.job = client.get_job(self.job["id"])
                self._refresh_at = time.monotonic() + _REFRESH_SECONDS
        elif event["type"] not in _QUIET_EVENTS:
            self._messages.append(plain(f"{moment(event['created_at'])[11:]}  {_message(event)}"))

    def extend(self, stage: str, name: str, steps: Sequence[int], values: Sequence[float]) -> None:
        """Append points. A step at or before the last one replaces the points from there on: the run has resumed."""
        known_steps, known_values = self._series.setdefault((stage, name), ([], []))
        while steps and known_steps and known_steps[-1] >= steps[0]:
            known_steps.pop()
            known_values.pop()
        known_steps.extend(steps)
        known_values.extend(values)
        while len(known_steps) > _MAX_POINTS:
            del known_steps[: len(known_steps) // 2 : 2], known_values[: len(known_values) // 2 : 2]

    def points(self, stage: str, name: str) -> tuple[list[int], list[float]]:
        """Steps and values of a series that are drawn."""
        return self._series[stage, name]

    def render(self, console: Console) -> RenderableType:
        columns = 1 if console.width < _NARROW else 2
        rows = max(1, (console.height - _HEAD_LINES - _MESSAGES - 2) // _CHART_HEIGHT)
        size = console.width // columns - 1, _CHART_HEIGHT
        charts = [_chart(title, lines, size) for title, lines in self._charts(columns * rows)]
        return Group(self._head(console.width), Columns(charts, padding=(0, 1)), *self._messages)

    def _head(self, width: int) -> RenderableType:
        job, progress = self.job, self.job["progress"]
        reason = job["queue_reason"] or job["status_reason"]
        lines: list[RenderableType] = [plain(f"{job['name'] or job['id']}  {job['status']}  {reason}")]
        if progress is not None:
            left = (
                "" if progress["eta_seconds"] is None else f"  {_duration(progress['eta_seconds'])} left in this stage"
            )
            text = f"{_seed(progress)}{steps_done(progress)}{left}"
            grid = Table.grid(padding=(0, 2))
            grid.add_row(ProgressBar(1.0, progress["fraction"], width=min(40, width // 3)), plain(text))
            lines.append(grid)
        return Panel(Group(*lines), title=job["id"])

    def _charts(self, most: int) -> list[tuple[str, list[Points]]]:
        """The charts of the job's stage that have points: each with its title and its lines."""
        charts = []
        of_stage = [line for line in self._chart_lines if line.stage == self.job["stage"]]
        for title, lines in itertools.groupby(of_stage, key=lambda line: line.title):
            drawn = [
                Points(line.name, *self._series[line.stage, line.metric])
                for line in lines
                if (line.stage, line.metric) in self._series
            ]
            if drawn:
                charts.append((title, drawn))
        return charts[:most]


def _chart_lines(meanings: Sequence[MetricInfo]) -> list[ChartLine]:
    """The lines of all charts that the terminal shows, in the order of the charts."""
    lines = [
        ChartLine(chart["order"], chart["title"], metric["stage"], metric["name"], chart["line"])
        for metric in meanings
        if (chart := metric["chart"]) is not None and chart["order"] < _FIRST_DETAIL
    ]
    return sorted(lines, key=lambda line: line.order)


def _chart(title: str, lines: Sequence[Points], size: tuple[int, int]) -> Text:
    """A line chart as text with ANSI colours; the last values alone without plotext, which the extra `charts` installs.

    plotext keeps one figure for the process, so it is cleared first.
    """
    last = f"{title}: " + ", ".join(f"{line.name} {line.values[-1]:.4g}".strip() for line in lines)
    try:
        import plotext  # here, since no other command needs it
    except ModuleNotFoundError:
        return Text(last)
    plotext.clear_figure()
    plotext.theme("clear")
    plotext.plotsize(*size)
    steps = [step for line in lines for step in line.steps]
    ticks = sorted({min(steps), (min(steps) + max(steps)) // 2, max(steps)})
    plotext.xticks(ticks, [str(tick) for tick in ticks])
    plotext.title(last)
    for colour, line in zip(itertools.cycle(_COLOURS), lines, strict=False):
        plotext.plot(list(line.steps), list(line.values), label=line.name or None, color=colour, marker="braille")
    return Text.from_ansi(plotext.build())


def _seed(progress: Progress) -> str:
    """The seed that runs, and its place, in front of its stage; empty for a job with one seed."""
    if progress["seed"] is None:
        return ""
    number = min(progress["seeds_done"] + 1, progress["seed_count"])
    return f"seed {progress['seed']} ({number} of {progress['seed_count']})  "


def _message(event: JobEvent) -> str:
    """An event on one line, with its seed where the job has several."""
    of_seed = event["seed"] is not None and event["type"] != "seed_finished"
    return (f"seed {event['seed']}: " if of_seed else "") + _content(event)


def _content(event: JobEvent) -> str:
    if event["type"] == "status_changed":
        return f"{event['data']['to']}: {event['data']['reason']}"
    data: Any = event["data"]
    words = [str(data[name]) for name in ("text", "message", "path", "title", "cause") if data.get(name)]
    return " ".join([event["type"].replace("_", " "), event["stage"] or "", *words]).strip()


def _duration(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes} min" if hours else f"{minutes} min {rest} s" if minutes else f"{rest} s"
