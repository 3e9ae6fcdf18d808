"""A run that goes back to its best checkpoint builds its models anew from it, whatever they are made of."""

from pathlib import Path
from typing import Any

import pytest

from tests.trainer.run.tools import LENGTH, LORA, contents, crashing, run
from tests.trainer.running import events_of, metrics_of
from tests.trainer.session.test_damaged import WEIGHTS, flip
from trainer.events import CheckpointDamaged, Event, Metrics, RolledBack, console

RULE = {"kl_blow_up": {"limit": -1000.0, "action": "roll_back", "patience": 3}}  # fires at step 3, whatever the KL
MOVING = {"reference": {"update": "ema", "decay": 0.5}, "critic": {"kind": "value_head"}}


@pytest.mark.parametrize("lora", [None, pytest.param(LORA, marks=pytest.mark.slow)])
def test_roll_back_then_crash_resumes_to_the_same_bits(
    first: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, lora: dict[str, Any] | None
) -> None:
    stages, model = ["ppo", "evaluation"], {"path": str(first / "sft")} | ({"lora": lora} if lora else {})
    changes = {"model": model, "rewards": [LENGTH], "health": RULE, "ppo": MOVING}
    run(tmp_path / "whole", stages, **changes)
    for step in (2, 4):
        with crashing(monkeypatch, "ppo", step):
            run(tmp_path / "broken", stages, **changes)
    run(tmp_path / "broken", stages, **changes)
    assert contents(tmp_path / "broken") == contents(tmp_path / "whole")
    assert metrics_of(tmp_path / "broken") == metrics_of(tmp_path / "whole")
    backs = [event for event in events_of(tmp_path / "whole") if isinstance(event, RolledBack)]
    assert [(event.step, event.learning_rate_factor) for event in backs] == [(3, 0.5)]


def test_roll_back_leaves_out_a_best_checkpoint_damaged_since(
    first: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first roll-back found it sound, and the second one verifies it again. The newest good checkpoint replaces it."""

    def look(event: Event) -> None:
        if isinstance(event, Metrics) and event.step == 6:
            flip(tmp_path / "checkpoints" / "ppo-best" / WEIGHTS)

    monkeypatch.setattr(console, "show", look)
    ppo = {"steps": 7, "save_every": 1, "eval_every": 9, "self_test": False}
    run(tmp_path, ["ppo"], model=str(first / "sft"), rewards=[LENGTH], health=RULE, ppo=ppo)
    events = events_of(tmp_path)
    assert [(event.step, event.to_step) for event in events if isinstance(event, RolledBack)] == [(3, 0), (6, 5)]
    assert [event.best for event in events if isinstance(event, CheckpointDamaged)] == [True]
