"""The checks of rewards, judges and named models before the first stage."""

from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import save_file

from tests.trainer.rewards.test_models import encoder, save, tokenizer
from tests.trainer.stage_tools import new_codec
from trainer.errors import DataError, ModelError, SpecError, TrainerError
from trainer.events import EventLog
from trainer.preflight.report import raise_first
from trainer.preflight.scorers import ScoringInputs, check_scorers
from trainer.session.session import Session
from trainer.spec import JobSpec
from trainer.stages.model_factory import ModelFactory
from trainer.stages.tokenize import TokenizedData
from trainer.text.codec import TokenizedPrompt

NUMERIC = {"type": "numeric_match"}
WITH, WITHOUT = TokenizedPrompt("2 + 2?", [1], "4"), TokenizedPrompt("Well?", [2])


def check(folder: Path, train: TokenizedPrompt, held_out: TokenizedPrompt, **changes: Any) -> None:
    spec = JobSpec.model_validate({"model": "x", "data": {"preferences": "y"}} | changes)
    log = EventLog(folder / "events.jsonl")
    try:
        factory = ModelFactory(Session(spec, folder, log), new_codec())
        encoded = TokenizedData([], [], [], [], [], [train], [held_out])
        raise_first(check_scorers(spec, ScoringInputs(factory.context(), encoded, downloads=True)))
    finally:
        log.close()


def online(label_by: Any) -> dict[str, Any]:
    return {"ppo": {"online": {"label_by": label_by}}}


@pytest.mark.parametrize(
    ("changes", "kind", "said"),
    [
        ({"rewards": [NUMERIC]}, DataError, "Reward `numeric_match` .* 1 of 2 prompts"),
        (
            {"rewards": [{"type": "model"}, {"type": "model", "path": "/gone"}]},
            ModelError,
            "#/rewards/1/path: There is no",
        ),
        ({"rewards": [{"type": "http", "url": "http://"}]}, SpecError, "Reward `http`: `url`"),
        ({"evaluation": {"judge": "nobody"}}, SpecError, "no judge named 'nobody'"),
        ({"evaluation": {"judge": {"type": "exact_match"}}}, DataError, "Judge `exact_match` .* 1 of 1 prompts"),
        (
            {"evaluation": {"judge": {"type": "http_judge", "url": "http://"}}},
            SpecError,
            "`url` is not a valid address",
        ),
        (online({"type": "lexicon", "path": "/gone.txt"}), DataError, r"/gone\.txt: No such file"),
        (
            {"stages": ["sft", "evaluation"], "evaluation": {"judge": {"type": "model"}}},
            SpecError,
            "#/evaluation/judge: Judge is a model without `path`",
        ),
    ],
)
def test_scorers_unavailable_resource_is_refused_by_the_check(
    tmp_path: Path, changes: dict[str, Any], kind: type[TrainerError], said: str
) -> None:
    with pytest.raises(kind, match=said):
        check(tmp_path, WITH, WITHOUT, **changes)


def test_a_label_is_looked_for_without_loading_the_model(tmp_path: Path) -> None:
    path = save(tmp_path / "model", encoder(), tokenizer())
    save_file({"unused": torch.zeros(1)}, tmp_path / "model" / "model.safetensors")  # a model that cannot be loaded
    check(tmp_path, WITH, WITH, rewards=[{"type": "classifier", "path": path, "label": "good"}])
    with pytest.raises(ModelError, match=r"no label 'fine'\. Its labels: 0 = bad"):
        check(tmp_path, WITH, WITH, rewards=[{"type": "classifier", "path": path, "label": "fine"}])


def test_scorers_checks_only_resources_that_the_stages_use(tmp_path: Path) -> None:
    check(tmp_path, WITH, WITH, rewards=[NUMERIC, {"type": "model"}], evaluation={"judge": NUMERIC})
    check(tmp_path, WITHOUT, WITH, rewards=[NUMERIC], stages=["sft", "evaluation"])
    check(tmp_path, WITHOUT, WITHOUT, rewards=[NUMERIC], stages=["sft"])
