"""The rows of a held-out evaluation: few on the way, all at the end, and the figures that follow from them."""

from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from pydantic import ValidationError

from tests.trainer.running import metrics_of
from tests.trainer.stage_tools import logprobs_alone, new_codec, session_in
from tests.trainer.tiny_models import llama, scorer
from trainer.session.session import Session
from trainer.spec import DPOSpec, KTOSpec, RewardModelSpec, SFTSpec, StageName
from trainer.stages import dpo, kto, sft
from trainer.stages.held_out_rows import evaluated
from trainer.stages.reward_model.train import train_on_pairs, train_on_thumbs
from trainer.stages.tokenized_rows import TokenizedDemonstration, TokenizedPair, TokenizedThumb

ANSWERS = [
    TokenizedDemonstration([3, 4], [5, 6, 1]),
    TokenizedDemonstration([7], [8, 1]),
    TokenizedDemonstration([9], [10, 11, 12, 1]),
]
PAIRS = [
    TokenizedPair([3, 4], [5, 1], [6, 7, 8, 1], 1.0, group=1),
    TokenizedPair([3, 4], [5, 1], [9, 1], 1.0, group=1),
    TokenizedPair([9], [10, 11, 12, 13, 1], [14, 1], 0.0),
    TokenizedPair([15, 16, 17], [18, 1], [19, 20, 1], 0.5),
]
THUMBS = [
    TokenizedThumb([3, 4], [5, 1], True),
    TokenizedThumb([9], [10, 11, 12, 13, 1], False),
    TokenizedThumb([15, 16, 17], [19, 20, 1], True),
    TokenizedThumb([15, 16, 17], [18, 1], False),
]
FEW = {"epochs": 2, "batch_size": 2, "save_every": 1, "eval_rows": 2}


def test_on_the_way_as_many_rows_as_asked_in_their_order() -> None:
    rows = evaluated(range(1000), 10, last=False)
    assert len(set(rows)) == 10 and list(rows) == sorted(rows)


def test_rows_of_a_sorted_file_are_not_its_first_ones() -> None:
    assert max(evaluated(range(1000), 10, last=False)) > 500


def test_every_evaluation_on_the_way_has_the_same_rows() -> None:
    assert evaluated(range(1000), 10, last=False) == evaluated(range(1000), 10, last=False)


def test_a_larger_number_of_rows_keeps_the_others() -> None:
    assert set(evaluated(range(1000), 10, last=False)) < set(evaluated(range(1000), 11, last=False))


@pytest.mark.parametrize(("most", "last"), [(10, True), (None, False), (20, False), (21, False)])
def test_all_rows_at_the_end_without_a_bound_or_within(most: int | None, last: bool) -> None:
    assert list(evaluated(range(20), most, last)) == list(range(20))


@pytest.mark.parametrize("spec", [SFTSpec, RewardModelSpec, DPOSpec, KTOSpec])
def test_at_least_one_row_is_evaluated(spec: type[SFTSpec]) -> None:
    with pytest.raises(ValidationError):
        spec.model_validate({"eval_rows": 0})


def train_sft(session: Session) -> None:
    sft.train(session, SFTSpec.model_validate(FEW), llama(0), new_codec(), ANSWERS, ANSWERS)


def train_reward_model(session: Session) -> None:
    train_on_pairs(session, RewardModelSpec.model_validate(FEW), scorer(), new_codec(), PAIRS, PAIRS, ANSWERS)


def train_on_verdicts(session: Session) -> None:
    spec = RewardModelSpec.model_validate({**FEW, "loss": "pointwise"})
    train_on_thumbs(session, spec, scorer(), new_codec(), THUMBS, THUMBS, ANSWERS)


def train_dpo(session: Session) -> None:
    dpo.train(session, DPOSpec.model_validate(FEW), llama(0), llama(1), new_codec(), PAIRS, PAIRS)


def train_kto(session: Session) -> None:
    kto.train(session, KTOSpec.model_validate(FEW), llama(0), llama(1), new_codec(), THUMBS, THUMBS)


@pytest.mark.parametrize(
    ("stage", "train", "counts"),
    [
        ("sft", train_sft, [2, 2, 3]),
        pytest.param("reward_model", train_reward_model, [2, 2, 3], id="rankings"),  # 4 pairs in 3 rankings
        pytest.param("reward_model", train_on_verdicts, [2, 2, 2, 4], id="thumbs"),
        ("dpo", train_dpo, [2, 2, 2, 4]),
        ("kto", train_kto, [2, 2, 2, 4]),
    ],
)
def test_metrics_count_the_rows_behind_held_out_figures(
    tmp_path: Path, stage: StageName, train: Callable[[Session], None], counts: list[int]
) -> None:
    with session_in(tmp_path) as session:
        train(session)
    found = metrics_of(tmp_path)
    assert [found[stage, step + 1]["eval/rows"] for step in range(len(counts))] == counts


def test_held_out_loss_is_that_of_the_rows_counted(tmp_path: Path) -> None:
    """The model hardly moves, so its losses are those of the untrained model: of one row, then of all three."""
    spec = SFTSpec.model_validate(FEW | {"learning_rate": 1e-12, "eval_rows": 1})
    with session_in(tmp_path) as session:
        sft.train(session, spec, llama(0), new_codec(), ANSWERS, ANSWERS)
    with torch.no_grad():
        losses = [-float(logprobs_alone(llama(0), e.prompt, e.completion).sum()) for e in ANSWERS]
    (row,) = evaluated(range(3), 1, last=False)
    found = metrics_of(tmp_path)
    assert found["sft", 1]["eval/loss"] == pytest.approx(losses[row] / len(ANSWERS[row].completion), rel=1e-5)
    assert found["sft", 3]["eval/loss"] == pytest.approx(sum(losses) / 9, rel=1e-5)  # 3 + 2 + 4 tokens
