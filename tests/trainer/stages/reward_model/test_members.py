"""Training an ensemble of reward models: its loss, its gradient, its level, its figures, and that it resumes."""

import hashlib
import json
import math
from pathlib import Path

import pytest
import torch

from tests import tolerance
from tests.trainer.running import events_of, metrics_of
from tests.trainer.stage_tools import CPU, new_codec, session_in, stop_after
from tests.trainer.stages.reward_model.test_pointwise import VERDICTS
from tests.trainer.stages.reward_model.test_training import ANSWERS, PAIRS
from tests.trainer.tiny_models import scorer
from trainer.errors import Stopped
from trainer.events import ReportCard
from trainer.models import Model, load_reward_model, set_fresh
from trainer.models.members import learners_of, levels_of, new_members, set_levels
from trainer.models.sequences import Batch, member_scores
from trainer.session.session import Session
from trainer.spec import RewardModelSpec
from trainer.stages.reward_model import pointwise
from trainer.stages.reward_model.pairwise import PairScores, accumulate_pairs, member_verdicts
from trainer.stages.reward_model.report_card import MemberVerdicts
from trainer.stages.reward_model.train import train_on_pairs, train_on_thumbs
from trainer.stages.tokenized_rows import TokenizedPair

SPEC = RewardModelSpec(batch_size=2, learning_rate=1e-2, members=3)


def ensemble(count: int = 3) -> Model:
    model = scorer()
    model.config.score_bias = 0.0
    set_fresh(new_members(model, count).score, 11)
    return model.requires_grad_(True)


def lone(member: int) -> Model:
    """The member by itself, as a single reward model."""
    model = scorer()
    model.config.score_bias = 0.0
    model.score.weight.data = ensemble().score.weight.data[member : member + 1].clone()
    return model.requires_grad_(True)


def scored(a: list[list[float]], b: list[list[float]], targets: list[float]) -> PairScores:
    sides = torch.tensor(a), torch.tensor(b)
    count = len(targets)
    pairs = [TokenizedPair([3], [4, 1], [5, 1], target) for target in targets]
    return PairScores(
        pairs, sides[0].mean(1), sides[1].mean(1), torch.tensor(targets), torch.zeros(count), torch.ones(count), sides
    )


def test_loss_of_a_pair_is_the_mean_over_its_members() -> None:
    both = scored([[2.0, 0.0]], [[0.0, 1.0]], [1.0])
    expected = (math.log(1 + math.exp(-2)) + math.log(1 + math.exp(1))) / 2
    assert float(both.loss(RewardModelSpec())) == pytest.approx(expected)
    centred = float(both.loss(RewardModelSpec(center_coef=0.5)))
    assert centred == pytest.approx(expected + 0.5 * (4 + 1) / 2)


def test_verdicts_of_members_by_hand() -> None:
    # the second pair prefers B, the third is a tie
    found = member_verdicts(scored([[2.0, 0], [1, 1], [5, 5]], [[0.0, 1], [2, 3], [0, 0]], [1.0, 0.0, 0.5]))
    assert found == MemberVerdicts([[True, False], [True, True]])
    assert found.headline == {"member_accuracy_min": 0.5, "member_accuracy_max": 1.0, "agreement": 0.5}
    assert [(name, one.accuracy, one.pairs) for name, one in found.slices.items()] == [
        ("1", 1.0, 2),
        ("2", 0.5, 2),
    ]


@pytest.mark.parametrize("micro_batch", [1, 5])
def test_gradient_is_the_mean_of_the_members_gradients(micro_batch: int) -> None:
    """That of the trunk is the mean over single reward models with these heads; each head has its own, divided by M."""
    model, singles = ensemble(), [lone(member) for member in range(3)]
    values = accumulate_pairs(model, PAIRS, new_codec(), micro_batch, CPU)
    losses = [accumulate_pairs(single, PAIRS, new_codec(), 5, CPU)["loss"] for single in singles]
    assert values["loss"] == pytest.approx(sum(losses) / 3, rel=1e-5)
    heads = torch.cat([single.score.weight.grad for single in singles]) / 3
    torch.testing.assert_close(model.score.weight.grad, heads, rtol=1e-4, atol=1e-6)
    theirs = [dict(single.named_parameters()) for single in singles]
    for name, weight in model.named_parameters():
        if not name.startswith("score"):
            mean = torch.stack([one[name].grad for one in theirs]).mean(0)
            torch.testing.assert_close(weight.grad, mean, rtol=1e-4, atol=1e-6)


def test_member_learns_from_its_share_of_the_pairs() -> None:
    """The gradient is that of single reward models, each on its own pairs with the weight 1/share."""
    model, spec = ensemble(), RewardModelSpec(members=3, member_share=0.5)
    accumulate_pairs(model, PAIRS[3:], new_codec(), 1, CPU, spec)
    weights = learners_of([(pair.prompt, pair.a, pair.b) for pair in PAIRS[3:]], 3, 0.5, CPU)
    assert set(weights.flatten().tolist()) == {0.0, 2.0}
    expected = torch.zeros(3, 16)
    for row, pair in enumerate(PAIRS[3:]):
        for member in range(3):
            single = lone(member)
            accumulate_pairs(single, [pair], new_codec(), 1, CPU)
            expected[member] += weights[row, member] * single.score.weight.grad[0] / (3 * 2)
    torch.testing.assert_close(model.score.weight.grad, expected, rtol=1e-4, atol=1e-6)


def test_share_of_a_member_depends_on_the_rows_alone() -> None:
    rows = [([1, row], [2, row], [3]) for row in range(2000)]
    swapped = [(prompt, b, a) for prompt, a, b in rows]
    found = learners_of(rows, 4, 0.25, CPU)
    assert torch.equal(found, learners_of(swapped, 4, 0.25, CPU)) and torch.equal(
        found[7:9], learners_of(rows[7:9], 4, 0.25, CPU)
    )
    assert (found > 0).float().mean(0).tolist() == pytest.approx([0.25] * 4, abs=0.03)  # 3 standard errors
    assert torch.equal(found.unique(), torch.tensor([0.0, 4.0]))
    together = ((found[:, 0] > 0) & (found[:, 1] > 0)).float().mean().item()
    assert together == pytest.approx(0.0625, abs=0.017)  # independent


def test_thumbs_of_a_member_are_its_share() -> None:
    model, weights = ensemble(), learners_of([(v.prompt, v.completion) for v in VERDICTS], 3, 0.5, CPU)
    pointwise.accumulate(model, VERDICTS, new_codec(), 2, CPU, member_share=0.5)
    expected = torch.zeros(3, 16)
    for row, verdict in enumerate(VERDICTS):
        for member in range(3):
            single = lone(member)
            pointwise.accumulate(single, [verdict], new_codec(), 1, CPU)
            expected[member] += weights[row, member] * single.score.weight.grad[0] / (3 * 5)
    torch.testing.assert_close(model.score.weight.grad, expected, rtol=1e-4, atol=1e-6)


def test_pointwise_loss_and_verdicts_are_those_of_the_members() -> None:
    model = ensemble()
    values = pointwise.accumulate(model, VERDICTS, new_codec(), 2, CPU)
    singles = [pointwise.accumulate(lone(member), VERDICTS, new_codec(), 5, CPU)["loss"] for member in range(3)]
    assert values["loss"] == pytest.approx(sum(singles) / 3, rel=1e-5)
    judged = pointwise.score_thumbs(model, VERDICTS, new_codec(), 5, CPU)
    verdicts = pointwise.member_verdicts(judged)
    assert verdicts is not None and all(item.score == pytest.approx(sum(item.members) / 3) for item in judged)
    assert verdicts.right == [[(score > 0) == item.verdict.up for score in item.members] for item in judged]


def train(session: Session, spec: RewardModelSpec, model: Model) -> None:
    if spec.loss == "pointwise":
        train_on_thumbs(session, spec, model, new_codec(), VERDICTS, VERDICTS, ANSWERS)
    else:
        train_on_pairs(session, spec, model, new_codec(), PAIRS, PAIRS, ANSWERS)


def trained(folder: Path, spec: RewardModelSpec, model: Model | None = None) -> Model:
    model = model or ensemble()
    with session_in(folder) as session:
        train(session, spec, model)
    return model


@pytest.mark.parametrize(("normalize", "deviation"), [("mean", None), ("mean_and_std", 1.0)])
def test_every_member_gets_the_level_of_the_references(tmp_path: Path, normalize: str, deviation: float | None) -> None:
    trained(tmp_path, SPEC.model_copy(update={"normalize": normalize}))
    saved = load_reward_model(tmp_path / "checkpoints" / "reward_model")
    batch = Batch.from_ids([e.prompt for e in ANSWERS], [e.completion for e in ANSWERS], 0)
    scores = member_scores(saved, batch).detach()
    assert scores.mean(0).tolist() == pytest.approx([0, 0, 0], abs=2 * tolerance.largest())
    spread = scores.std(0, correction=0).tolist()
    if deviation is None:
        assert [scale for _, scale in levels_of(saved.config)] == [1, 1, 1] and len(
            {round(one, 4) for one in spread}
        ) > 1
    else:
        assert spread == pytest.approx([deviation] * 3, rel=1e-4)


def test_training_ignores_the_scales_of_the_members(tmp_path: Path) -> None:
    plain, scaled = ensemble(), ensemble()
    set_levels(scaled.config, [(0.0, 7.0), (0.0, 2.0), (0.0, 0.5)])
    for name, model in (("plain", plain), ("scaled", scaled)):
        (tmp_path / name).mkdir()
        trained(tmp_path / name, SPEC, model)
    assert all(map(torch.equal, plain.parameters(), scaled.parameters()))


def test_report_card_and_metrics_have_each_member(tmp_path: Path) -> None:
    trained(tmp_path, SPEC)
    card = next(event for event in events_of(tmp_path) if isinstance(event, ReportCard)).card
    assert list(card.by_member) == ["1", "2", "3"]
    last = metrics_of(tmp_path)["reward_model", 2]
    found = [one.accuracy for one in card.by_member.values()]
    assert (last["eval/member_accuracy_min"], last["eval/member_accuracy_max"]) == (min(found), max(found))
    assert last["eval/agreement"] == card.agreement


@pytest.mark.parametrize("loss", ["pairwise", "pointwise"])
def test_stopped_ensemble_resumes_to_the_same_bits(tmp_path: Path, loss: str) -> None:
    spec = RewardModelSpec.model_validate(
        {"batch_size": 2, "epochs": 4, "learning_rate": 1e-2, "save_every": 2, "loss": loss, "members": 3,
         "member_share": 0.5, "normalize": "mean_and_std"}
    )  # fmt: skip
    for name in ("whole", "stopped"):
        (tmp_path / name).mkdir()
    trained(tmp_path / "whole", spec)
    with session_in(tmp_path / "stopped") as session, pytest.raises(Stopped):
        stop_after(session, 3)
        train(session, spec, ensemble())
    trained(tmp_path / "stopped", spec, load_reward_model(tmp_path / "stopped" / "checkpoints" / "reward_model-000003"))
    assert digest(tmp_path / "stopped") == digest(tmp_path / "whole")
    assert metrics_of(tmp_path / "stopped") == metrics_of(tmp_path / "whole")


def digest(folder: Path) -> list[object]:
    final = folder / "checkpoints" / "reward_model"
    levels = json.loads((final / "config.json").read_text())["reward_members"]
    weights = hashlib.sha256((final / "model.safetensors").read_bytes()).hexdigest()
    return [weights, levels, (final / "report_card.json").read_text()]
