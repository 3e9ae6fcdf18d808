"""Tests for trainer/hangs/watch.py and peers.py: threads that hang in phases, and ticks counted by hand."""

import os
import pdb
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
import torch

from tests.trainer.ppo.tools import NO_CRITIC, PROMPTS, cast_for, spec_of
from tests.trainer.stage_tools import session_in, train_ppo
from tests.waiting import eventually
from trainer.distributed import World
from trainer.events import Message
from trainer.hangs import Finding, Floors, HangWatch, PeerPlaces, Phase, phase
from trainer.hangs.peers import _is_paused
from trainer.session.checkpoint import TrainerState, load_numbers
from trainer.spec import EvaluationSpec
from trainer.stages.evaluation import HeldOut
from trainer.text.codec import TokenizedPrompt

HANGS: list[tuple[Phase, ...]] = [
    ("load",), ("start",), ("rollout",), ("score",), ("score", "reward"), ("update",), ("update", "collective"),
    ("evaluate", "rollout"), ("evaluate", "score", "reward"), ("evaluate_all",), ("save",), ("save", "collective"),
]  # fmt: skip


class Run:
    """A session that only records the findings about it."""

    def __init__(self, watch: HangWatch, step: int = 7) -> None:
        self.watch, self.step, self.findings = watch, step, list[Finding]()
        watch._watched = self
        watch.enter_stage("ppo")

    def position(self) -> tuple[str | None, int]:
        return "ppo", self.step

    def hangs_in(self, finding: Finding) -> None:
        self.findings.append(finding)

    def look(self, ticks: int = 1) -> None:
        for _ in range(ticks):
            self.watch.look(None)


@contextmanager
def hanging(watch: HangWatch, *phases: Phase) -> Iterator[None]:
    """A thread that hangs in these phases, one inside the other, each of which has taken a second before."""
    names = ["/".join(["ppo", *phases[: count + 1]]) for count in range(len(phases))]
    watch.recall({name: [1, 1] for name in names})
    released = threading.Event()

    def planted_hang(inner: tuple[Phase, ...] = phases) -> None:
        if not inner:
            released.wait()
            return
        with watch.phase(inner[0]):
            planted_hang(inner[1:])

    thread = threading.Thread(target=planted_hang)
    thread.start()
    try:
        eventually(lambda: watch.clock.path == "/".join(phases))
        yield
    finally:
        released.set()
        thread.join()


@pytest.mark.parametrize("phases", HANGS, ids="/".join)
def test_a_hang_is_named_within_a_minute_with_its_stack(tmp_path: Path, phases: tuple[Phase, ...]) -> None:
    with session_in(tmp_path) as session, (tmp_path / "stderr").open("w+") as stderr:
        session.hangs._watched = session
        session.begin("ppo", 9, 6)
        session.report("ppo", 7, 9, {})
        with hanging(session.hangs, *phases):
            for _ in range(46):
                assert "hang" not in (tmp_path / "events.jsonl").read_text()
                session.hangs.look(stderr)
        *_, last = (tmp_path / "events.jsonl").read_text().splitlines()
        message = Message.model_validate_json(last)
        assert message.level == "warning"
        assert f"Process 0 has been in the phase {phases[-1]}" in message.text and "for 46 seconds" in message.text
        assert "Stage ppo, after step 7; the last event is metrics of ppo, step 7, 46 seconds ago." in message.text
        stderr.seek(0)
        assert "in planted_hang" in stderr.read()


def test_a_full_disk_leaves_the_finding_in_the_log(tmp_path: Path) -> None:
    def refuse(finding: Finding) -> None:
        raise OSError(28, "No space left on device")

    run = Run(HangWatch())
    run.hangs_in = refuse  # type: ignore[method-assign]
    with (tmp_path / "stderr").open("w+") as stderr, hanging(run.watch, "save"):
        for _ in range(46):
            run.watch.look(stderr)
        stderr.seek(0)
        text = stderr.read()
    assert "hang: Process 0 has been in the phase save" in text
    assert "hang: the finding cannot be written: [Errno 28]" in text


def test_phases_are_those_of_the_run_in_its_main_thread_only() -> None:
    run = Run(HangWatch())
    with phase("load"), run.watch.watching(run):
        with phase("score"), phase("score"), phase("reward"):
            assert run.watch.clock.path == "score/reward"
            thread = threading.Thread(target=lambda: phase("rollout").__enter__())
            thread.start()
            thread.join()
            assert run.watch.clock.path == "score/reward"
        assert run.watch.clock.path == "step"


def test_the_thread_counts_and_a_second_session_has_its_place() -> None:
    outer = Run(HangWatch())
    inner = Run(outer.watch)
    outer.watch._watched = None
    with outer.watch.watching(outer), outer.watch.watching(inner):
        assert [thread.name for thread in threading.enumerate()].count("hang watch") == 1
        assert outer.watch._watched is inner
        eventually(lambda: outer.watch.clock.innermost.ticks)
    assert outer.watch._watched is None


def test_all_phases_of_the_ppo_stage_are_watched(tmp_path: Path) -> None:
    prompts = [TokenizedPrompt(f"prompt {n}", ids) for n, ids in enumerate(PROMPTS)]
    spec = spec_of(steps=2, save_every=1, eval_every=1, self_test=False, advantage=NO_CRITIC)
    with session_in(tmp_path) as session, session.hangs.watching(session):
        train_ppo(session, spec, cast_for(spec), prompts, HeldOut(prompts, None, EvaluationSpec()))
        names = {key.partition("/")[2] for key in session.hangs.clock.history}
    assert names == {
        "start", "rollout", "score", "score/reward", "update", "save", "save_result", "step", "evaluate", "evaluate/rollout",
        "evaluate/score", "evaluate/score/reward",
    }  # fmt: skip


def pair_of(folder: Path) -> list[Run]:
    """Two processes of one run, as two watches on one folder."""
    runs = [Run(HangWatch(Floors(first=90, later=45)), step=7 - rank) for rank in range(2)]
    for rank, run in enumerate(runs):
        run.watch.peers = PeerPlaces(folder, "launch", rank, 2, {})
    return runs


def test_the_process_that_is_behind_is_named_to_all(tmp_path: Path) -> None:
    main, other = pair_of(tmp_path)
    logs = [tmp_path / "stderr-0", tmp_path / "stderr-1"]
    with hanging(main.watch, "score", "collective"), hanging(other.watch, "score", "reward"):
        with logs[0].open("w") as first, logs[1].open("w") as second:
            for _ in range(48):
                main.watch.look(first)
                other.watch.look(second)
        assert all("in planted_hang" in log.read_text() for log in logs)  # every process writes its stacks
        assert [(finding.phase, finding.ranks) for finding in main.findings] == [("reward", [1])]
        assert other.findings == []  # the main process has reported
        assert "Process 0 has waited in the phase collective (in score)" in main.findings[0].text
        assert "Stage ppo, after step 6" in main.findings[0].text  # the step of the process that is behind
        for _ in range(500):
            main.look()
            other.look()
        assert (len(main.findings), len(other.findings)) == (1, 0)


def test_a_second_hang_of_the_same_run_is_named_too(tmp_path: Path) -> None:
    main, other = pair_of(tmp_path)
    for _ in range(2):
        with hanging(main.watch, "update", "collective"), hanging(other.watch, "update"):
            for _ in range(60):
                main.look()
                other.look()
    assert [(finding.phase, finding.ranks) for finding in main.findings] == [("update", [1])] * 2


@pytest.mark.parametrize("silent", [0, 1])
def test_a_process_that_does_not_respond_is_named(tmp_path: Path, silent: int) -> None:
    runs = pair_of(tmp_path)
    with hanging(runs[1 - silent].watch, "update", "collective"):
        runs[1 - silent].look(60)
    assert [(finding.phase, finding.ranks) for finding in runs[1 - silent].findings] == [("no response", [silent])]


def test_waiting_for_a_paused_process_is_no_hang(tmp_path: Path) -> None:
    """A debugger has stopped the other process on this machine."""
    main, _ = pair_of(tmp_path)
    child = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    try:
        main.watch.peers = PeerPlaces(tmp_path, "launch", 0, 2, {1: child.pid})
        with hanging(main.watch, "update", "collective"):
            main.look(20)
            os.kill(child.pid, signal.SIGSTOP)
            eventually(lambda: _is_paused(child.pid))
            main.look(500)
            assert main.findings == [] and main.watch.clock.innermost.ticks == 20
            os.kill(child.pid, signal.SIGCONT)
            eventually(lambda: not _is_paused(child.pid))
            main.look(60)
            assert len(main.findings) == 1
    finally:
        child.kill()
        child.communicate()


def test_deadlines_survive_a_resume_on_the_same_hardware(tmp_path: Path) -> None:
    prompts = [TokenizedPrompt(f"prompt {n}", ids) for n, ids in enumerate(PROMPTS)]
    spec = spec_of(steps=2, save_every=1, eval_every=2, self_test=False, advantage=NO_CRITIC)
    with session_in(tmp_path) as session:
        session.hangs.recall({"ppo/rollout": [7, 6], "ppo/save/collective": [3, None]})
        train_ppo(session, spec, cast_for(spec), prompts, HeldOut(prompts, None, EvaluationSpec()))
    checkpoint = tmp_path / "checkpoints" / "ppo-000001"
    ticks = {"ppo/rollout": [7, 6], "ppo/save/collective": [3, None], "ppo/step": [0, 0]}
    assert load_numbers(checkpoint)["phases"] == {"hardware": "1 x cpu", "ticks": ticks}
    with session_in(tmp_path) as session:
        session.recall_phases("ppo")
        assert session.hangs.stored() == ticks
    with session_in(tmp_path) as session:
        session.device = torch.device("meta")
        session.recall_phases("ppo")
        assert session.hangs.stored() == {}


def test_the_prompt_of_pdb_is_no_hang() -> None:
    run = Run(HangWatch())
    with run.watch.phase("update"):
        Looking(run).set_trace()
        assert run.watch.clock.innermost.ticks == 0
        run.look(3)
        assert run.watch.clock.innermost.ticks == 3


class Looking(pdb.Pdb):
    """A debugger in whose prompt many seconds pass."""

    def __init__(self, run: Run) -> None:
        super().__init__(nosigint=True, readrc=False)
        self._run = run

    def cmdloop(self, intro: Any = None) -> None:
        self._run.look(50)
        self.set_continue()


class _TwoOfThem(World):
    """Process 0 of two, whose other process took longer."""

    def all_gather_object(self, value: Any) -> list[Any]:
        return [value, {"ppo/rollout": [4, 9], "ppo/rollout/collective": [1, 1]}]


def test_a_checkpoint_has_the_longest_times_of_all_processes(tmp_path: Path) -> None:
    with session_in(tmp_path) as session:
        session.world = _TwoOfThem()
        session.hangs.recall({"ppo/rollout": [7, 6]})
        state = TrainerState({}, {}, {})
        session._add_phases(state)
    assert state.numbers["phases"]["ticks"] == {"ppo/rollout": [7, 9], "ppo/rollout/collective": [1, 1]}
