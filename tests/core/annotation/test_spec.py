"""Requests for rounds that are refused, with the field in the error."""

from typing import Any

import pytest
from pydantic import ValidationError

from core.annotation.spec import NewRound
from trainer.spec.validation_errors import explain


@pytest.mark.parametrize(
    ("changes", "pointer", "message"),
    [
        ({"source": None}, "#/source", "must be an object"),
        ({"source": {"type": "datset"}}, "#/source/type", "did you mean 'dataset'?"),
        ({"source": {"dataset": "DS"}}, "#/source", "needs a `type`"),
        ({"overlp": 2}, "#/overlp", "did you mean 'overlap'?"),
        ({"overlap": 0}, "#/overlap", "greater than or equal to 1"),
        ({"kind": "stars"}, "#/kind", "'pairs' or 'ranking'"),
        ({"gold": "ds_x"}, "#", "`gold` has no effect without `gold_share`"),
        ({"gold_share": 0.6}, "#/gold_share", "less than or equal to 0.5"),
        ({"gold_share": 0.1, "source": {"type": "dataset", "dataset": "DS", "rows": "all"}}, "#", "`gold_share` needs `gold`"),
        ({"source": {"type": "checkpoints", "checkpoints": ["a", "b", "c"], "prompts": "DS"}}, "#", "a pair has two completions, and 3 × 1"),
        ({"kind": "ranking", "source": {"type": "checkpoints", "checkpoints": ["a"] * 5, "prompts": "DS", "completions": 2}}, "#", "5 × 2"),
        ({"source": {"type": "checkpoints", "checkpoints": [], "prompts": "DS"}}, "#/source/checkpoints", "must not be empty"),
    ],
)  # fmt: skip
def test_a_round_that_is_described_wrongly(changes: dict[str, Any], pointer: str, message: str) -> None:
    with pytest.raises(ValidationError) as refusal:
        NewRound.model_validate({"source": {"type": "dataset", "dataset": "ds_x"}} | changes)
    first = explain(refusal.value, NewRound)[0]
    assert (first.pointer, message in first.detail) == (pointer, True), first
