"""A job of two seeds, as a command."""

import json
import signal
from pathlib import Path

import pytest

from tests.trainer.running import at, events_of, metrics_of, run, signal_when, start, write_spec
from trainer.events import RunFinished, SeedFinished

CHANGES = {
    "stages": ["sft", "ppo", "evaluation"],
    "rewards": [{"type": "length", "target": 3}],
    "sft": {"epochs": 1},
    "ppo": {"steps": 2, "save_every": 1},
    "evaluation": {"judge": None},
}


@pytest.fixture(scope="module")
def both(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("both")
    assert run(write_spec(folder, **CHANGES, seeds=2), folder) == (0, "")
    return folder


def test_several_seeds_match_single_runs_and_best_is_the_result(both: Path, tmp_path: Path) -> None:
    assert run(write_spec(tmp_path, **CHANGES, seed=1), tmp_path) == (0, "")
    assert metrics_of(both / "seeds" / "1") == metrics_of(tmp_path)
    alone, within = (folder / "checkpoints/ppo/model.safetensors" for folder in (tmp_path, both / "seeds" / "1"))
    assert alone.read_bytes() == within.read_bytes()
    rates = {e.seed: e.summary["win_rate"] for e in events_of(both) if isinstance(e, SeedFinished)}
    best = max(rates, key=lambda seed: (rates[seed], -seed))
    chosen = both / "seeds" / str(best) / "checkpoints/ppo/model.safetensors"
    assert (both / "checkpoints/ppo/model.safetensors").read_bytes() == chosen.read_bytes()
    (finished,) = [e for e in events_of(both) if isinstance(e, RunFinished) and e.seed is None]
    assert finished.summary["win_rate"] == pytest.approx((rates[0] + rates[1]) / 2)
    assert finished.summary["win_rate_low"] < finished.summary["win_rate"] < finished.summary["win_rate_high"]


@pytest.mark.slow
def test_several_seeds_killed_in_second_seed_resume_there(both: Path, tmp_path: Path) -> None:
    spec = write_spec(tmp_path, **CHANGES, seeds=2)
    second = tmp_path / "seeds" / "1"
    second.mkdir(parents=True)
    assert signal_when(start(spec, tmp_path), second, at("ppo", 1), signal.SIGKILL) == -signal.SIGKILL
    first = (tmp_path / "seeds" / "0" / "events.jsonl").read_bytes()
    assert run(spec, tmp_path) == (0, "")
    assert (tmp_path / "seeds" / "0" / "events.jsonl").read_bytes() == first
    summaries = [[e.summary for e in events_of(f) if isinstance(e, RunFinished)][-1] for f in (tmp_path, both)]
    assert summaries[0] == summaries[1]


@pytest.mark.slow
def test_each_seed_ends_its_own_value_pretraining(tmp_path: Path) -> None:
    """The number of steps of a seed is that of its pretraining and the two of `ppo.steps`."""
    ppo = CHANGES["ppo"] | {"critic": {"learning_rate": 0.01, "pretraining": {"patience": 1, "iterations": 6}}}  # type: ignore[operator]
    assert run(write_spec(tmp_path, **CHANGES | {"ppo": ppo}, seeds=2), tmp_path) == (0, "")
    for seed in ("0", "1"):
        metrics = {
            step: values for (stage, step), values in metrics_of(tmp_path / "seeds" / seed).items() if stage == "ppo"
        }
        pretrained = [step for step, values in metrics.items() if "pretraining/since_best" in values]
        assert pretrained == list(range(1, len(pretrained) + 1)) and 2 <= len(pretrained) <= 6
        assert max(metrics) == len(pretrained) + 2
        final = json.loads((tmp_path / "seeds" / seed / "checkpoints/ppo/stage.json").read_text())
        assert final["steps"] == max(metrics)
