"""The reward model on labelled steps: where a step is read, its loss, its gradient, its figures, and the stage."""

import hashlib
import json
import math
from collections import Counter
from pathlib import Path

import pytest
import torch

from data.rows import Solution
from tests import tolerance
from tests.trainer.running import events_of, metrics_of
from tests.trainer.stage_tools import CPU, new_codec, scores_alone, session_in, stop_after
from tests.trainer.tiny_models import scorer
from trainer.errors import Stopped
from trainer.events import ReportCard
from trainer.events.report_card import PointwiseCard
from trainer.models import Model, load_reward_model
from trainer.models.step_scores import step_delimiter_of
from trainer.spec import DataSpec, RewardModelSpec
from trainer.stages.reward_model import stepwise
from trainer.stages.reward_model.stepwise import ScoredSolution
from trainer.stages.reward_model.train import train_on_steps, train_on_thumbs
from trainer.stages.tokenized_rows import TokenizedSolution, TokenizedThumb, solution_text, tokenize_solutions
from trainer.text.codec import Codec

SOLUTIONS = [
    TokenizedSolution([3, 4], [5, 6, 1], [0, 2], [True, True], "web"),
    TokenizedSolution([9], [10, 11, 12, 13, 1], [1, 3, 4], [True, False, False]),
    TokenizedSolution([15, 16, 17], [19, 1], [1], [False], "web"),
    TokenizedSolution([7, 8], [6, 21, 5, 1], [0, 1, 3], [True, False, True]),
]
SPEC = RewardModelSpec(
    loss="stepwise", batch_size=2, epochs=8, learning_rate=1e-2, save_every=2, eval_rows=2, micro_batch_size=1
)  # fmt: skip


def solution(*steps: str, labels: str) -> Solution:
    words = {"+": "good", "0": "neutral", "-": "bad"}
    return Solution("q", list(steps), [words[label] for label in labels])


def tokenized(
    *rows: Solution, codec: Codec | None = None, **changes: object
) -> tuple[list[TokenizedSolution], Counter[str]]:
    return tokenize_solutions(rows, codec or new_codec(), SPEC.model_copy(update=changes))


def test_a_step_ends_with_its_delimiter_and_the_last_at_eos() -> None:
    """One token per byte: a b ⏎ c ⏎ d EOS."""
    (found,), left_out = tokenized(solution("ab", "c\n", "d", labels="+-0"))
    assert (found.ends, found.good, len(found.completion)) == ([2, 4, 6], [True, False, True], 7)
    assert found.completion[-1] == new_codec().eos_id and not left_out


def test_a_delimiter_at_the_end_of_the_last_step_stays() -> None:
    assert solution_text([" a .", " b .", " c ."], " .") == " a . b . c ."
    assert solution_text([" a", " b"], " .") == " a . b"


@pytest.mark.parametrize(("neutral", "good"), [("good", [True, True]), ("bad", [True, False]), ("skip", [True])])
def test_neutral_steps_are_read_as_the_spec_says(neutral: str, good: list[bool]) -> None:
    (found,), _ = tokenized(solution("a", "b", labels="+0"), neutral=neutral)
    assert (found.good, found.ends) == (good, [1, 3][: len(good)])


def test_solutions_that_cannot_be_read_are_counted_by_reason() -> None:
    codec = Codec.for_tokenizer(
        new_codec().tokenizer, DataSpec(steps="x", max_prompt_tokens=3, max_completion_tokens=6)
    )
    rows = [
        solution("a", "b", labels="+-"), solution("a\nb", "c", labels="+-"), solution("a", labels="0"),
        solution("abcdefg", labels="+"), Solution("a long prompt", ["a"], ["good"]),
    ]  # fmt: skip
    found, left_out = tokenized(*rows, codec=codec, neutral="skip")
    assert len(found) == 1 and left_out == {
        "delimiter inside a step": 1, "neutral steps only": 1, "completion too long": 1, "prompt too long": 1,
    }  # fmt: skip


@pytest.mark.parametrize("micro_batch", [1, 3, 4])
def test_the_gradient_is_bce_over_steps_for_every_division(micro_batch: int) -> None:
    expected, model = scorer(), scorer()
    scores, good = [], []
    for one in SOLUTIONS:
        alone = scores_alone(expected, one.prompt, one.completion)[1:] - 0.25  # the models' bias
        scores += [alone[end] for end in one.ends]
        good += one.good
    loss = torch.nn.functional.binary_cross_entropy(torch.sigmoid(torch.stack(scores)), torch.tensor(good).float())
    loss.backward()
    values = stepwise.accumulate(model, SOLUTIONS, new_codec(), micro_batch, CPU)
    assert values["loss"] == pytest.approx(float(loss.detach()), rel=1e-5)
    for got, want in zip(model.parameters(), expected.parameters(), strict=True):
        torch.testing.assert_close(got.grad, want.grad, **tolerance.gradients())


def judged(scores: list[float], labels: str) -> ScoredSolution:
    ends = list(range(len(scores)))
    return ScoredSolution(TokenizedSolution([2], [5] * len(scores), ends, [one == "+" for one in labels]), scores)


@pytest.mark.parametrize(
    ("scores", "labels", "found"),
    [
        ([1.0, 2.0], "++", True),
        ([1.0, -2.0], "++", False),
        ([1.0, -2.0, -1.0], "+--", True),
        ([1.0, -2.0, 3.0], "+-+", True),
        ([-1.0, -2.0], "+-", False),
        ([1.0, 2.0, -1.0], "+--", False),
        ([0.0], "-", True),
    ],
)
def test_first_error_is_the_first_step_without_a_positive_score(scores: list[float], labels: str, found: bool) -> None:
    assert judged(scores, labels).finds_first_error is found


def test_the_figures_by_hand() -> None:
    """Three of four steps have the sign of their label; the second solution's error is found, the first one's correctness not."""
    found = stepwise.figures([judged([2.0, -1.0], "++"), judged([0.5, -3.0], "+-")])
    assert found["loss"] == pytest.approx(sum(math.log1p(math.exp(-signed)) for signed in (2.0, -1.0, 0.5, 3.0)) / 4)
    assert (found["accuracy"], found["first_error_accuracy"], found["auc"]) == (0.75, 0.5, 1.0)
    assert found["margin"] == pytest.approx(0.5 + 3)


def trained(folder: Path, spec: RewardModelSpec = SPEC, model: Model | None = None) -> Model:
    model = model or scorer()
    with session_in(folder) as session:
        train_on_steps(session, spec, model, new_codec(), SOLUTIONS, SOLUTIONS)
    return model


def test_stepwise_learns_the_labels_and_reports_it_in_the_card(tmp_path: Path) -> None:
    model = trained(tmp_path)
    event = next(event for event in events_of(tmp_path) if isinstance(event, ReportCard))
    assert isinstance(event.card, PointwiseCard) and event.card.loss == "stepwise"
    assert (event.card.overall.pairs, event.card.overall.accuracy, event.card.first_error_accuracy) == (9, 1.0, 1.0)
    saved = json.loads((tmp_path / "checkpoints" / "reward_model" / "report_card.json").read_text())
    assert event.card.model_dump(exclude_none=True) == saved
    last = metrics_of(tmp_path)["reward_model", 16]
    assert (last["eval/first_error_accuracy"], last["eval/accuracy"]) == (1.0, 1.0) and last["eval/loss"] < 0.5
    assert model.config.score_scale == 1.0 and model.config.score_bias == 0.25  # log odds as they were learnt


def test_the_saved_model_has_its_delimiter_until_it_learns_pairs(tmp_path: Path) -> None:
    for name in ("steps", "thumbs"):
        (tmp_path / name).mkdir()
    trained(tmp_path / "steps", SPEC.model_copy(update={"step_delimiter": "\n\n"}))
    loaded = load_reward_model(tmp_path / "steps" / "checkpoints" / "reward_model")
    assert step_delimiter_of(loaded.config) == "\n\n"
    rows = [TokenizedThumb([3], [5, 1], True), TokenizedThumb([3], [6, 1], False)]
    with session_in(tmp_path / "thumbs") as session:
        train_on_thumbs(session, RewardModelSpec(loss="pointwise", batch_size=2), loaded, new_codec(), rows, rows, [])
    loaded = load_reward_model(tmp_path / "thumbs" / "checkpoints" / "reward_model")
    assert step_delimiter_of(loaded.config) is None


def test_stage_stopped_half_way_resumes_to_the_same_bits(tmp_path: Path) -> None:
    for name in ("whole", "stopped"):
        (tmp_path / name).mkdir()
    trained(tmp_path / "whole")
    with session_in(tmp_path / "stopped") as session, pytest.raises(Stopped):
        stop_after(session, 3)
        train_on_steps(session, SPEC, scorer(), new_codec(), SOLUTIONS, SOLUTIONS)
    trained(tmp_path / "stopped", model=load_reward_model(tmp_path / "stopped" / "checkpoints" / "reward_model-000003"))
    assert metrics_of(tmp_path / "stopped") == metrics_of(tmp_path / "whole")
    first, second = (
        hashlib.sha256(
            (tmp_path / name / "checkpoints" / "reward_model" / "model.safetensors").read_bytes()
        ).hexdigest()
        for name in ("whole", "stopped")
    )
    assert first == second
