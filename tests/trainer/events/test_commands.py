"""The files of commands: whole lines, each once."""

from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from trainer.events.commands import (
    Command,
    CommandReader,
    CommandRecord,
    append_commands,
    append_records,
    read_records,
)

SET = Command(id="a", name="kl_coef", value=0.1)
SAVE = Command(id="b", name="checkpoint", stage="ppo")


def test_commands_come_back_in_order_and_once(tmp_path: Path) -> None:
    reader = CommandReader(tmp_path)
    assert list(reader.new()) == []
    append_commands(tmp_path, [SET])
    assert list(reader.new()) == [SET]
    append_commands(tmp_path, [SAVE])
    assert list(reader.new()) == [SAVE] and list(reader.new()) == []
    assert list(CommandReader(tmp_path).new()) == [SET, SAVE]


def test_half_a_line_is_left_until_it_is_whole(tmp_path: Path) -> None:
    reader, path = CommandReader(tmp_path), tmp_path / "commands.jsonl"
    path.write_text('{"id": "a", "name": "kl_co')
    assert list(reader.new()) == []
    with path.open("a") as file:
        file.write('ef", "value": 0.1}\n')
    assert list(reader.new()) == [SET]


def test_a_line_after_half_a_line_is_not_lost(tmp_path: Path) -> None:
    (tmp_path / "commands.jsonl").write_text('{"id": "z", "na')
    append_commands(tmp_path, [SET])
    bad, good = CommandReader(tmp_path).new()
    assert good == SET and isinstance(bad, str) and '{"id": "z", "na' in bad


@pytest.mark.parametrize("line", ['{"id": "a", "name": "batch_size", "value": 1}', "[]", "\xff", '{"id": 1}'])
def test_a_line_that_is_no_command_is_described(tmp_path: Path, line: str) -> None:
    (tmp_path / "commands.jsonl").write_text(line + "\n", encoding="latin-1")
    (found,) = CommandReader(tmp_path).new()
    assert isinstance(found, str) and "commands.jsonl has a line that is no command" in found


@pytest.mark.parametrize(
    "given", [{"name": "kl_coef"}, {"name": "evaluate", "value": 1.0}, {"name": "kl_coef", "value": float("nan")}]
)
def test_only_a_knob_has_a_value_and_a_finite_one(given: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        Command(id="a", **given)


def test_records_survive_a_torn_end(tmp_path: Path) -> None:
    first = CommandRecord(command=SET, stage="ppo", step=3)
    append_records(tmp_path, [first])
    with (tmp_path / "command_log.jsonl").open("a") as file:
        file.write('{"command": {"id"')
    assert read_records(tmp_path) == [first]
    second = CommandRecord(command=SAVE, stage="ppo", step=4, refused="no")
    append_records(tmp_path, [second])
    assert read_records(tmp_path) == [first, second]
