"""Trouble that one process alone has met is heard of, whichever process it is."""

from pathlib import Path

import pytest

from tests.trainer.running import tiny_spec
from tests.trainer.stage_tools import new_codec
from trainer.distributed import World
from trainer.events import EventLog, Message
from trainer.events.log import last_event
from trainer.sampling.sampler import sampler_for
from trainer.session.session import Session
from trainer.spec import JobSpec


def test_sampler_warning_is_event_on_main_process_else_stderr(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    spec, codec = JobSpec.model_validate(tiny_spec()), new_codec()
    log = EventLog(tmp_path / "events.jsonl")
    for rank in (1, 0):
        session = Session(spec, tmp_path, log if rank == 0 else None)
        session.world = World(rank, 2)  # after the set-up, which would wait for the other process
        sampler_for(session, spec.ppo, codec).notify(f"said by {rank}")
        assert (last_event(tmp_path / "events.jsonl") is None) == (rank == 1)
    log.close()
    said = last_event(tmp_path / "events.jsonl")
    assert isinstance(said, Message) and (said.text, said.level) == ("said by 0", "warning")
    assert "process 1: said by 1" in capsys.readouterr().err
