"""Two processes do what one does: losses, metrics and weights to 1e-6, wherever they were begun, killed and resumed."""

import math
import shutil
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests import tolerance
from tests.trainer.distributed.tools import STAGES, assert_like, signal_when, start, statuses, write_spec
from tests.trainer.rewards.tools import Reply, says, serving
from tests.trainer.run.tools import contents
from tests.trainer.running import ROOT, at, events_of, metrics_of
from trainer.cli import load_spec
from trainer.events import KnobChanged, RewardMissing, RunFailed, RunFinished, RunStarted, RunStopped
from trainer.events.commands import Command, CommandRecord, append_commands, append_records
from trainer.run.process import run_in_process


@pytest.fixture(scope="module")
def alone(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run of one process, with all of its checkpoints."""
    folder = tmp_path_factory.mktemp("alone")
    run_in_process(load_spec(write_spec(folder)), folder)
    return folder


@pytest.fixture(scope="module")
def killed(alone: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run that one process began, two went on with, and of those one was killed."""
    folder = tmp_path_factory.mktemp("killed")
    for name in ("sft", "reward_model", "ppo-000002"):
        shutil.copytree(alone / "checkpoints" / name, folder / "checkpoints" / name)
    processes = start(write_spec(folder), folder)
    assert signal_when(processes, folder, at("ppo", 3), 1, signal.SIGKILL) == [11, -signal.SIGKILL]
    return folder


def test_all_stages_are_those_of_one_process(alone: Path, tmp_path: Path) -> None:
    command = ["launch", str(write_spec(tmp_path, resources={"processes": 2})), "--run-dir", str(tmp_path)]
    assert subprocess.run([sys.executable, "-m", "trainer", *command], cwd=ROOT, timeout=240).returncode == 0
    assert_like(tmp_path, alone)
    ours, theirs = metrics_of(tmp_path), metrics_of(alone)
    assert ours.keys() == theirs.keys() and len(theirs) > 20
    left = tolerance.summed(8 * math.log(512))  # of a KL, when log-probabilities of 8 tokens out of 512 are subtracted
    for step, values in theirs.items():
        assert ours[step] == pytest.approx(values, rel=1e-5, abs=left), step
    finished = [[e for e in events_of(folder) if isinstance(e, RunFinished)][-1] for folder in (tmp_path, alone)]
    assert finished[0].summary == pytest.approx(finished[1].summary, rel=1e-5, abs=left)


@pytest.mark.slow
def test_run_killed_process_ends_all_with_one_message(killed: Path) -> None:
    failures = [e for e in events_of(killed) if isinstance(e, RunFailed)]
    assert [e.code for e in failures] == ["process_lost"] and "Process 1 of this run" in failures[0].message
    assert not list((killed / "checkpoints").glob(".tmp*")) and (killed / "checkpoints" / "ppo-000002").is_dir()


@pytest.mark.slow
def test_run_resumed_on_two_nodes_then_one_matches_one_process(alone: Path, killed: Path, tmp_path: Path) -> None:
    """One node receives SIGTERM, both end with status 75, and a single process finishes the run."""
    shutil.copytree(killed, tmp_path, dirs_exist_ok=True)
    stopped = signal_when(start(killed / "spec.json", tmp_path, 1, nodes=2), tmp_path, at("ppo", 3), 1, signal.SIGTERM)
    assert stopped == [75, 75] and isinstance(events_of(tmp_path)[-1], RunStopped)
    run_in_process(load_spec(killed / "spec.json"), tmp_path)
    resumed = [(e.resumed_stage, e.resumed_step) for e in events_of(tmp_path) if isinstance(e, RunStarted)]
    assert [stage for stage, _ in resumed] == ["ppo"] * 3 and resumed[0][1] == 2 and resumed[2][1] in (3, 4, 5)
    assert_like(tmp_path, alone)


@pytest.mark.slow
def test_live_knob_changes_all_processes_at_the_same_step(alone: Path, tmp_path: Path) -> None:
    one, two = tmp_path / "one", tmp_path / "two"
    for folder in (one, two):
        for name in ("sft", "reward_model", "ppo-000002"):
            shutil.copytree(alone / "checkpoints" / name, folder / "checkpoints" / name)
        write_spec(folder, evaluation={"prompts": 5})
        change = Command(id="a", name="learning_rate", value=1e-3)
        append_records(folder, [CommandRecord(command=change, stage="ppo", step=3)])
        append_commands(folder, [Command(id="b", name="kl_coef", value=0.3)])  # waits for the other one
    assert statuses(start(two / "spec.json", two)) == [0, 0]
    run_in_process(load_spec(one / "spec.json"), one)
    assert_like(two, one)
    changes = [(e.step, e.name, e.to) for e in events_of(two) if isinstance(e, KnobChanged)]
    assert changes == [(3, "learning_rate", 1e-3), (3, "kl_coef", 0.3)]


@pytest.mark.slow
def test_killed_processes_resume_an_adapted_kl_set_live(alone: Path, tmp_path: Path) -> None:
    """Two processes, killed after a checkpoint that holds the change, end with the bits of two that were left alone."""
    kl = {"controller": "adaptive", "coef": 0.2, "target": 0.5, "horizon": 20}
    ppo = STAGES["ppo"] | {"kl": kl, "reference": {"update": "ema", "decay": 0.6}}
    calm, broken = tmp_path / "calm", tmp_path / "broken"
    for folder in (calm, broken):
        for name in ("sft", "reward_model"):
            shutil.copytree(alone / "checkpoints" / name, folder / "checkpoints" / name)
        write_spec(folder, ppo=ppo)
        change = Command(id="a", name="kl_coef", value=0.3)
        append_records(folder, [CommandRecord(command=change, stage="ppo", step=1)])
    assert statuses(start(calm / "spec.json", calm)) == [0, 0]
    killed = signal_when(start(broken / "spec.json", broken), broken, at("ppo", 3), 1, signal.SIGKILL)
    assert killed == [11, -signal.SIGKILL]
    assert statuses(start(broken / "spec.json", broken)) == [0, 0]
    assert contents(broken) == contents(calm) and metrics_of(broken) == metrics_of(calm)
    assert metrics_of(calm)["ppo", 2]["objective/kl_coef"] == 0.3 != metrics_of(calm)["ppo", 3]["objective/kl_coef"]


@pytest.mark.slow
def test_fsdp_run_matches_whole_models_and_resumes_on_3_and_1(alone: Path, tmp_path: Path) -> None:
    """Three processes and one process resume from the sliced checkpoints of two."""
    spec, two, one = (
        write_spec(tmp_path, runtime={"sharding": "fsdp", "threads": 1}),
        tmp_path / "two",
        tmp_path / "one",
    )
    assert signal_when(start(spec, two), two, at("ppo", 3), 0, signal.SIGTERM) == [75, 75]
    newest = max((two / "checkpoints").glob("ppo-0*"))
    assert len(list(newest.glob("model-*-of-00002.safetensors"))) == 2 and not (newest / "model.safetensors").exists()
    assert len(list((newest / "trainer_state").glob("critic_optimizer-*-of-00002.safetensors"))) == 2
    shutil.copytree(two, one)
    assert statuses(start(spec, two, 3)) == [0, 0, 0]
    run_in_process(load_spec(spec), one)
    assert_like(two, alone)
    assert_like(one, alone)


@pytest.mark.slow
def test_run_all_rewards_of_a_process_missing_goes_on(alone: Path, tmp_path: Path) -> None:
    def reply(question: dict[str, Any]) -> Reply:
        """Fail for the second process, which sends 2 of the 5 held-out answers."""
        return (400, b"no") if len(question["items"]) == 2 else says({"scores": [0.5] * len(question["items"])})

    with serving(reply) as server:
        rewards = [{"type": "http", "url": server.url, "max_missing": 1}]
        policy = {"path": str(alone / "checkpoints" / "sft")}
        spec = write_spec(tmp_path, stages=["ppo", "evaluation"], model=policy, rewards=rewards)
        assert statuses(start(spec, tmp_path)) == [0, 0]
    missing = [e for e in events_of(tmp_path) if isinstance(e, RewardMissing) and e.stage == "ppo"]
    assert {(e.held_out, e.asked, e.missing["refusal"]) for e in missing} == {(True, 5, 2)}
    assert all("answered 400 Bad Request: no" in event.reason for event in missing)
    assert metrics_of(tmp_path)["evaluation", 1]["compared"] == 3


UNEVEN = {
    "critic": {},
    "pairs": {
        "ppo": {
            "samples_per_prompt": 2, "kl": {"placement": "loss", "estimator": "k3"},
            "advantage": {"estimator": "sequence", "baseline": "leave_one_out", "normalize": "none"},
        },
    },
}  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("parts", UNEVEN)
def test_run_uneven_missing_rewards_match_one_process(alone: Path, tmp_path: Path, parts: str) -> None:
    """The two processes have different numbers of responses without a value, in some iterations all or none."""

    def reply(question: dict[str, Any]) -> Reply:
        values = [None if len(item["response"]) % 3 == 0 else len(item["response"]) / 9 for item in question["items"]]
        return says({"scores": values})

    policy, changes = {"path": str(alone / "checkpoints" / "sft")}, UNEVEN[parts]
    one, two = tmp_path / "one", tmp_path / "two"
    with serving(reply) as server:
        rewards = [{"type": "http", "url": server.url, "max_missing": 1}]
        ppo = (
            STAGES["ppo"] | {"critic": {"learning_rate": 1e-4}} if parts == "critic" else STAGES["ppo"] | {"critic": {}}
        )
        spec = write_spec(tmp_path, stages=["ppo"], model=policy, rewards=rewards, ppo=ppo | changes.get("ppo", {}))
        run_in_process(load_spec(spec), one)
        assert statuses(start(spec, two)) == [0, 0]
    found, expected = metrics_of(two), metrics_of(one)
    counted = [values["reward/http/missing"] for values in expected.values() if "reward/http/missing" in values]
    assert counted and len({values.get("val/responses", 6) for values in expected.values()}) > 1
    assert_like(two, one, ("ppo",))
    for when, values in expected.items():
        for name in ("reward/http/missing", "val/responses", "reward/http/missing_share"):
            assert found[when].get(name) == values.get(name)


@pytest.mark.slow
def test_run_killed_main_process_is_reported_by_another_process(alone: Path, tmp_path: Path) -> None:
    """Another process writes the last event in place of the main process."""
    for name in ("sft", "reward_model", "ppo-000002"):
        shutil.copytree(alone / "checkpoints" / name, tmp_path / "checkpoints" / name)
    processes = start(write_spec(tmp_path), tmp_path)
    assert signal_when(processes, tmp_path, at("ppo", 3), 0, signal.SIGKILL) == [-signal.SIGKILL, 11]
    failures = [e for e in events_of(tmp_path) if isinstance(e, RunFailed)]
    assert [e.code for e in failures] == ["process_lost"] and "Process 0 of this run" in failures[0].message
