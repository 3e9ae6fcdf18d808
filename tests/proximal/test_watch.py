"""The display of `proximal jobs watch`."""

import io
from typing import Any

from rich.console import Console

from proximal.commands.watch import Board

METRICS: Any = [
    {"stage": "ppo", "name": "loss/value_avg", "chart": {"title": "Value loss", "order": 20, "line": ""}},
    {"stage": "ppo", "name": "objective/scores", "chart": {"title": "Reward", "order": 10, "line": "score"}},
    {"stage": "ppo", "name": "lr", "chart": {"title": "Learning rate", "order": 900, "line": ""}},
    {"stage": "sft", "name": "loss", "chart": {"title": "SFT loss", "order": 10, "line": ""}},
    {"stage": "ppo", "name": "objective/entropy", "chart": None},
]
JOB: Any = {
    "id": "job_1",
    "name": "mine [/b]",
    "status": "running",
    "status_reason": "The trainer has started.",
    "queue_reason": None,
    "stage": "ppo",
    "progress": {"stage": "ppo", "step": 3, "total_steps": 10, "fraction": 0.5, "eta_seconds": 3700.0, "seed": None},
}


def shown(board: Board, width: int = 120) -> str:
    console = Console(width=width, height=50, file=io.StringIO())
    with console.capture() as captured:
        console.print(board.render(console))
    return captured.get()


def test_board_shows_the_charts_of_its_stage_in_order() -> None:
    board = Board(JOB, METRICS)
    for stage, name in (("ppo", "objective/scores"), ("ppo", "loss/value_avg"), ("ppo", "lr"), ("sft", "loss")):
        board.extend(stage, name, [1, 2, 3], [0.5, 0.75, 1.25])
    text = shown(board)
    assert "mine [/b]  running  The trainer has started." in text
    assert "ppo 3/10  1 h 1 min left in this stage" in text
    assert text.index("Reward: score 1.25") < text.index("Value loss: 1.25")
    assert "Learning rate" not in text and "SFT loss" not in text


def test_board_repeated_step_replaces_the_later_points() -> None:
    board = Board(JOB, METRICS)
    board.extend("ppo", "lr", [1, 2, 3], [0.1, 0.2, 0.3])
    board.extend("ppo", "lr", [2], [0.9])
    assert board.points("ppo", "lr") == ([1, 2], [0.1, 0.9])


def test_board_long_series_keeps_its_newest_points() -> None:
    board = Board(JOB, METRICS)
    board.extend("ppo", "lr", list(range(1000)), [float(step) for step in range(1000)])
    steps, _ = board.points("ppo", "lr")
    assert len(steps) <= 500 and steps[-3:] == [997, 998, 999]


def test_board_of_several_seeds_draws_the_one_that_runs() -> None:
    progress = JOB["progress"] | {"seed": 5, "seeds_done": 1, "seed_count": 3}
    board = Board({**JOB, "progress": progress}, METRICS)
    assert board.seed == 5 and "seed 5 (2 of 3)  ppo 3/10" in shown(board)


def test_board_names_the_most_steps_while_unknown() -> None:
    board = Board({**JOB, "progress": JOB["progress"] | {"at_most": True}}, METRICS)
    assert "ppo 3/at most 10" in shown(board)


def test_board_without_points_shows_the_job_only() -> None:
    assert "job_1" in shown(Board({**JOB, "progress": None, "stage": None}, METRICS))
