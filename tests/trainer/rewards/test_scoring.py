"""A run learns before its first stage that it could not score."""

from typing import Any

import pytest

from tests.trainer.rewards.tools import context
from trainer.errors import DataError, ModelError, SpecError, TrainerError
from trainer.prompts import EncodedPrompt
from trainer.scoring import check_scoring
from trainer.spec import JobSpec

NUMERIC = {"type": "numeric_match"}
WITH, WITHOUT = EncodedPrompt("2 + 2?", [1], "4"), EncodedPrompt("Well?", [2])


def check(train: list[EncodedPrompt], held_out: list[EncodedPrompt], **changes: Any) -> None:
    spec = JobSpec.model_validate({"model": "x", "data": {"preferences": "y"}} | changes)
    check_scoring(spec, context(), train, held_out)


@pytest.mark.parametrize(
    ("changes", "kind", "said"),
    [
        ({"rewards": [NUMERIC]}, DataError, "1 of 2 prompts"),
        (
            {"rewards": [{"type": "model"}, {"type": "model", "path": "/gone"}]},
            ModelError,
            "Reward `model_2`: There is no",
        ),
        ({"rewards": [{"type": "http", "url": "http://"}]}, SpecError, "Reward `http`: `url`"),
        ({"evaluation": {"judge": "nobody"}}, SpecError, "no judge named 'nobody'"),
        ({"evaluation": {"judge": {"type": "exact_match"}}}, DataError, "1 of 1 prompts"),
        (
            {"ppo": {"online": {"label_by": {"type": "lexicon", "path": "/gone.txt"}}}},
            DataError,
            "Judge `lexicon`: /gone.txt: No such file",
        ),
        (
            {"stages": ["sft", "evaluation"], "evaluation": {"judge": {"type": "model"}}},
            ModelError,
            "no reward model of its own",
        ),
    ],
)
def test_what_cannot_be_had_is_told_now(changes: dict[str, Any], kind: type[TrainerError], said: str) -> None:
    with pytest.raises(kind, match=said):
        check([WITH], [WITHOUT], **changes)


def test_only_what_will_score_is_looked_at() -> None:
    check([WITH], [WITH], rewards=[NUMERIC, {"type": "model"}], evaluation={"judge": NUMERIC})
    check([WITHOUT], [WITH], rewards=[NUMERIC], stages=["sft", "evaluation"])
    check([WITHOUT], [WITHOUT], rewards=[NUMERIC], stages=["sft"])
