"""Commands to a run: carried out between two steps, and repeated exactly when the run is resumed."""

import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from shutil import copy
from typing import Any

import pytest

from tests.trainer.run.tools import LENGTH, REWARD_MODEL, Crash, contents, run
from tests.trainer.running import at, events_of, metrics_of, start, status_of, write_spec
from trainer.events import (
    CheckpointSaved,
    CommandDone,
    CommandRefused,
    Event,
    KnobChanged,
    Message,
    Metrics,
    RolledBack,
    console,
)
from trainer.events.commands import Command, CommandRecord, append_commands, append_records, read_records

PPO = ["ppo"]
ADAPTIVE = {"ppo": {"kl": {"controller": "adaptive", "target": 0.5, "horizon": 100}}}


@contextmanager
def after(monkeypatch: pytest.MonkeyPatch, folder: Path, when: dict[int, list[Command]]) -> Iterator[None]:
    """While inside, the commands are appended as soon as PPO reports the step."""

    def look(event: Event) -> None:
        if isinstance(event, Metrics) and event.stage == "ppo":
            append_commands(folder, when.get(event.step, []))

    with monkeypatch.context() as patch:
        patch.setattr("trainer.events.console.show", look)
        yield


@contextmanager
def crash_after(monkeypatch: pytest.MonkeyPatch, step: int) -> Iterator[None]:
    """Crash once the step is reported, besides what `console.show` does already."""
    send = console.show

    def look(event: Event) -> None:
        send(event)
        if isinstance(event, Metrics) and event.step == step:
            raise Crash

    with monkeypatch.context() as patch, pytest.raises(Crash):
        patch.setattr("trainer.events.console.show", look)
        yield


@pytest.fixture
def changes(first: Path) -> dict[str, Any]:
    return {"model": str(first / "sft"), "rewards": [LENGTH]}


def coef(id_: str, value: float, **more: Any) -> Command:
    return Command(id=id_, name="kl_coef", value=value, **more)


def knob_changes(folder: Path) -> list[tuple[int, str, float, float]]:
    return [(e.step, e.name, e.from_, e.to) for e in events_of(folder) if isinstance(e, KnobChanged)]


def same_run(one: Path, other: Path) -> None:
    assert contents(one) == contents(other)
    assert metrics_of(one) == metrics_of(other)


def test_knobs_hold_from_the_next_step_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, changes: dict[str, Any]
) -> None:
    constant = {"lr_schedule": "constant", "warmup_ratio": 0, "critic": {"learning_rate": 3e-3}, "kl": {"coef": 0.02}}
    when = {
        2: [Command(id="1", name="learning_rate", value=5e-4), Command(id="2", name="critic_learning_rate", value=1e-4)]
    }
    with after(monkeypatch, tmp_path, {**when, 3: [coef("3", 0.5)]}):
        run(tmp_path, PPO, **changes, ppo=constant)
    assert knob_changes(tmp_path) == [
        (2, "learning_rate", 1e-3, 5e-4), (2, "critic_learning_rate", 3e-3, 1e-4), (3, "kl_coef", 0.02, 0.5)
    ]  # fmt: skip
    steps = [metrics_of(tmp_path)["ppo", step] for step in (1, 2, 3, 4)]
    assert [(values["lr"], values["critic_lr"]) for values in steps] == [(1e-3, 3e-3)] * 2 + [(5e-4, 1e-4)] * 2
    penalties = [-values["objective/non_score_reward"] / values["objective/kl"] for values in steps[1:]]
    assert penalties == pytest.approx([0.02, 0.02, 0.5], rel=1e-2)


def test_change_is_repeated_after_a_crash(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, changes: dict[str, Any]
) -> None:
    changes = changes | {"ppo": {"save_every": 3} | ADAPTIVE["ppo"]}
    commands = {1: [coef("a", 0.2)], 2: [Command(id="b", name="learning_rate", value=2e-3), coef("c", 0.4)]}
    whole, broken = tmp_path / "whole", tmp_path / "broken"
    with after(monkeypatch, whole, commands):
        run(whole, PPO, **changes)
    with after(monkeypatch, broken, commands), crash_after(monkeypatch, 3):
        run(broken, PPO, **changes)
    assert not list((broken / "checkpoints").glob("ppo-0*"))  # it begins again, before the changes
    run(broken, PPO, **changes)
    same_run(broken, whole)
    assert knob_changes(broken) == 2 * knob_changes(whole)


@pytest.mark.parametrize("recorded", [False, True])
def test_crash_around_the_record_neither_loses_nor_doubles(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, changes: dict[str, Any], recorded: bool
) -> None:
    changes = changes | {"ppo": {"save_every": 1}}
    whole, broken = tmp_path / "whole", tmp_path / "broken"
    with after(monkeypatch, whole, {2: [coef("a", 0.4)]}):
        run(whole, PPO, **changes)

    def append(folder: Path, records: list[CommandRecord]) -> None:
        if recorded:
            append_records(folder, records)
        if records:
            raise Crash

    with after(monkeypatch, broken, {2: [coef("a", 0.4)]}), monkeypatch.context() as patch, pytest.raises(Crash):
        patch.setattr("trainer.session.live_knobs.append_records", append)
        run(broken, PPO, **changes)
    assert knob_changes(broken) == [] and len(read_records(broken)) == recorded
    append_commands(broken, [coef("a", 0.4)])  # the sender does not know, and sends it again
    run(broken, PPO, **changes)
    same_run(broken, whole)
    assert knob_changes(broken) == knob_changes(whole) == [(2, "kl_coef", 0.05, 0.4)]


@pytest.mark.slow
def test_killed_run_ends_as_one_with_the_same_log(tmp_path: Path, changes: dict[str, Any]) -> None:
    """With real processes: killed after the change, begun again, and compared with a run that got the log at its start."""
    killed, whole = tmp_path / "killed", tmp_path / "whole"
    changes = changes | {"stages": PPO, "ppo": {"save_every": 100, "kl": {"coef": 0.01}}}
    spec = write_spec(killed, **changes)
    commands = [coef("a", 0.7), Command(id="b", name="learning_rate", value=3e-3, stage="ppo")]
    process = start(spec, killed, on_event=partial(change_and_die, killed, commands))
    assert status_of(process, 120) == -signal.SIGKILL
    assert status_of(start(spec, killed), 120) == 0
    write_spec(whole, **changes)
    for name in ("commands.jsonl", "command_log.jsonl"):
        copy(killed / name, whole)
    assert status_of(start(whole / "spec.json", whole), 120) == 0
    same_run(killed, whole)
    assert knob_changes(killed) == 2 * knob_changes(whole)
    (a, b) = knob_changes(whole)
    assert a[1:] == ("kl_coef", 0.01, 0.7) and b[1] == "learning_rate" and b[0] >= a[0] >= 1


def change_and_die(folder: Path, commands: list[Command], event: Event) -> None:
    """In the process of the run: append the commands after step 1, and die of SIGKILL once the last one is carried out."""
    if at("ppo", 1)(event):
        append_commands(folder, commands)
    if isinstance(event, KnobChanged) and event.command == commands[-1].id:
        os.kill(os.getpid(), signal.SIGKILL)


def test_actions_do_not_change_the_result(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, changes: dict[str, Any]
) -> None:
    stages = ["ppo", "evaluation"]
    changes = changes | {"ppo": {"steps": 5, "save_every": 100, "eval_every": 100}}
    actions = [Command(id="e", name="evaluate"), Command(id="c", name="checkpoint")]
    run(tmp_path / "without", stages, **changes)
    with after(monkeypatch, tmp_path / "with", {1: actions, 2: [Command(id="e2", name="evaluate")]}):
        run(tmp_path / "with", stages, **changes)
    assert contents(tmp_path / "with") == contents(tmp_path / "without")
    plain, asked = metrics_of(tmp_path / "without"), metrics_of(tmp_path / "with")
    assert {key for key in asked if "eval/win_rate" in asked[key]} == {("ppo", 0), ("ppo", 2), ("ppo", 3), ("ppo", 5)}
    without = {key: {n: v for n, v in m.items() if n in plain[key]} for key, m in asked.items()}
    assert without == plain
    saved = [e.step for e in events_of(tmp_path / "with") if isinstance(e, CheckpointSaved) and not (e.final or e.best)]
    assert saved == [1]
    assert [(e.step, e.name) for e in events_of(tmp_path / "with") if isinstance(e, CommandDone)] == [
        (1, "evaluate"), (1, "checkpoint"), (2, "evaluate")
    ]  # fmt: skip


def test_resumed_checkpoint_has_the_changed_values(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, changes: dict[str, Any]
) -> None:
    """The change was made before the checkpoint, and the log is gone: the checkpoint itself has the values."""
    whole, broken = tmp_path / "whole", tmp_path / "broken"
    for folder in (whole, broken):
        with after(monkeypatch, folder, {1: [coef("a", 0.4), Command(id="b", name="learning_rate", value=2e-3)]}):
            if folder is whole:
                run(folder, PPO, **changes)
                continue
            with crash_after(monkeypatch, 3):
                run(folder, PPO, **changes)
    (broken / "command_log.jsonl").unlink()
    (broken / "commands.jsonl").unlink()
    run(broken, PPO, **changes)
    same_run(broken, whole)


def test_newer_change_stays_newer_during_a_replay(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, changes: dict[str, Any]
) -> None:
    changes = changes | {"ppo": {"save_every": 100}}
    with after(monkeypatch, tmp_path, {2: [coef("a", 0.4)]}), crash_after(monkeypatch, 3):
        run(tmp_path, PPO, **changes)
    append_commands(tmp_path, [coef("b", 0.8)])
    run(tmp_path, PPO, **changes)
    assert knob_changes(tmp_path)[1:] == [(2, "kl_coef", 0.05, 0.4), (2, "kl_coef", 0.4, 0.8)]


def test_bad_commands_are_refused_and_the_run_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, changes: dict[str, Any]
) -> None:
    bad = [
        coef("negative", -1.0),
        Command(id="fixed", name="kl_target", value=3.0),
        coef("over", 0.1, stage="sft"),
        coef("waits", 0.3, stage="evaluation"),
    ]
    with after(monkeypatch, tmp_path, {1: bad, 4: [coef("late", 0.1)]}):
        run(tmp_path, PPO, **changes)
    refused = {e.command: (e.step, e.reason) for e in events_of(tmp_path) if isinstance(e, CommandRefused)}
    assert refused == {
        "negative": (1, "`kl_coef` must be at least 0; it is -1."),
        "fixed": (1, '`ppo.kl.controller` = "fixed" has no target: only "adaptive" has one.'),
        "over": (1, "The stage sft is over."),
        "late": (4, "The stage ppo has taken its last step."),
    }
    assert knob_changes(tmp_path) == []


def test_reward_model_stage_has_a_rate_and_actions(tmp_path: Path, first: Path) -> None:
    tmp_path.mkdir(exist_ok=True)
    commands = [
        Command(id="1", name="learning_rate", value=1e-4),
        Command(id="2", name="evaluate"),
        Command(id="3", name="checkpoint"),
        coef("4", 0.1),
    ]
    append_commands(tmp_path, commands)
    with (tmp_path / "commands.jsonl").open("a") as file:
        file.write("nonsense\n")
    run(tmp_path, ["reward_model"], model=str(first / "sft"), reward_model=REWARD_MODEL | {"save_every": 100})
    assert knob_changes(tmp_path) == [(0, "learning_rate", 3e-3, 1e-4)]
    assert "eval/accuracy" in metrics_of(tmp_path)["reward_model", 1]
    events = events_of(tmp_path)
    assert [e.step for e in events if isinstance(e, CheckpointSaved) and not e.final] == [0]
    assert [e.reason for e in events if isinstance(e, CommandRefused)] == [
        "The stage reward_model has no `kl_coef`: only ppo has it."
    ]
    assert any(isinstance(e, Message) and "nonsense" in e.text for e in events)


def test_roll_back_keeps_the_knobs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, changes: dict[str, Any]) -> None:
    rule = {"kl_blow_up": {"limit": -1000.0, "action": "roll_back", "patience": 3}}  # fires at step 3, whatever the KL
    constant = {"lr_schedule": "constant", "warmup_ratio": 0} | ADAPTIVE["ppo"]
    commands = {2: [coef("a", 0.4), Command(id="b", name="learning_rate", value=2e-3)]}
    changes = changes | {"health": rule, "ppo": constant}
    whole, broken = tmp_path / "whole", tmp_path / "broken"
    with after(monkeypatch, whole, commands):
        run(whole, PPO, **changes)
    assert [e.step for e in events_of(whole) if isinstance(e, RolledBack)] == [3]
    assert metrics_of(whole)["ppo", 4]["lr"] == 1e-3  # half of the rate that was set
    assert metrics_of(whole)["ppo", 4]["objective/kl_coef"] == 0.4
    with after(monkeypatch, broken, commands), crash_after(monkeypatch, 4):
        run(broken, PPO, **changes)
    run(broken, PPO, **changes)
    same_run(broken, whole)
