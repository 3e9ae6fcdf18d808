"""Samplers with a planted gap: the health rules about the sampler fire, and the gaps are what they are named."""

import json
import math
from pathlib import Path

import pytest
import torch

from benchmarks.gap import __main__ as benchmark
from benchmarks.gap.engines import Gap, GapEngine, plant
from benchmarks.gap.specs import CORRECTIONS, GAPS, Setting, spec_of
from tests.trainer.run.tools import LENGTH, contents, run
from tests.trainer.running import events_of
from tests.trainer.stage_tools import CPU
from tests.trainer.tiny_models import gpt2
from trainer.events import Health
from trainer.models.sequences import Batch, completion_logprobs
from trainer.ppo import stage
from trainer.rollout.producer import RolloutProducer
from trainer.sampling import BUILT_IN, Response, SamplingOptions
from trainer.spec import JobSpec
from trainer.text.stops import NO_STOPS

PROMPTS = [[5], [6, 7, 8], [9, 10]] * 8


@pytest.fixture
def planted(monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    """`plant` holds until the end of the test."""
    monkeypatch.setattr(stage, "RolloutProducer", RolloutProducer)
    return monkeypatch


@pytest.mark.parametrize(
    ("gap", "rules"),
    [
        (Gap(), set()),
        (Gap(top_k=2), {"sampler_differs", "sampler_gap"}),
        (Gap(temperature=0.5), {"sampler_differs", "sampler_gap"}),
        (Gap(weights="bfloat16"), {"sampler_differs"}),
        (Gap(behind=8), {"sampler_differs"}),
    ],
    ids=["none", "top-k", "temperature", "half precision", "stale"],
)
def test_rules_fire_in_a_run_with_a_planted_gap_alone(
    tmp_path: Path, planted: pytest.MonkeyPatch, gap: Gap, rules: set[str]
) -> None:
    plant(gap)
    run(tmp_path, ["sft", "ppo"], rewards=[LENGTH], ppo={"self_test": False})
    fired = {event.rule for event in events_of(tmp_path) if isinstance(event, Health)}
    assert fired & set(benchmark.RULES) == rules


def test_planted_staleness_is_that_of_the_trainer(tmp_path: Path, planted: pytest.MonkeyPatch) -> None:
    """A run that does not know of its stale sampler ends with the bits of one that asks for it, at equal weights."""
    truncated = {"correction": {"kind": "truncated"}}
    run(tmp_path / "asked", ["sft", "ppo"], rewards=[LENGTH], ppo={"rollout": {"staleness": 2} | truncated})
    plant(Gap(behind=2))
    run(tmp_path / "planted", ["sft", "ppo"], rewards=[LENGTH], ppo={"rollout": truncated})
    assert contents(tmp_path / "planted") == contents(tmp_path / "asked")


def sampled(gap: Gap) -> tuple[list[Response], torch.Tensor]:
    """Responses of a sharp policy, and the log-probabilities of its own tokens."""
    policy = gpt2()
    policy.get_output_embeddings().weight.data *= 3
    options = SamplingOptions(NO_STOPS, 0, 1.0, CPU)
    draws = torch.rand(len(PROMPTS), 6, generator=torch.Generator().manual_seed(0))
    found = GapEngine(policy, gap, BUILT_IN, options).sample(PROMPTS, draws, 1.0)
    with torch.no_grad():
        own = completion_logprobs(policy, Batch.from_ids(PROMPTS, [one.ids for one in found], 0), 1 / 2)[0]
    return found, own


def test_engine_reports_what_it_drew_by() -> None:
    """At half of the temperature, its log-probabilities are those of the policy at that temperature."""
    found, own = sampled(Gap(temperature=0.5))
    torch.testing.assert_close(torch.tensor([one.logprobs for one in found]), own, atol=1e-5, rtol=0)


def test_top_1_cut_draws_with_certainty() -> None:
    found, _ = sampled(Gap(top_k=1))
    assert {logprob for one in found for logprob in one.logprobs or []} == {0.0}


def test_distance_counts_standard_errors_by_hand() -> None:
    """Means .9 and .6, standard errors .1/√3 each: .3 ÷ (.1·√(2/3))."""
    assert benchmark.distance([0.8, 0.9, 1.0], [0.5, 0.6, 0.7]) == pytest.approx(0.3 / (0.1 * math.sqrt(2 / 3)))
    assert benchmark.distance([1.0, 1.0], [1.0, 1.0]) == 0


def test_specs_of_the_benchmark_are_valid_and_hide_the_gap() -> None:
    for correction in CORRECTIONS:
        specs = [
            spec_of(Setting(gap, correction, 0, 1e-2, 60), Path("start"), "http://127.0.0.1:1/t") | {"name": ""}
            for gap in ("none", *GAPS)
        ]
        assert all(one == specs[0] for one in specs) and JobSpec.model_validate(specs[0]).health.enabled


@pytest.mark.slow  # two runs of the trainer
def test_gap_rehearsal_writes_its_file_and_is_cached(tmp_path: Path) -> None:
    options = ["--gaps", "temperature", "--corrections", "none", "--seeds", "1", "--iterations", "4"]
    options += ["--cache", str(tmp_path), "--json", str(tmp_path / "f.json")]
    figures = benchmark.main(options)
    assert json.loads((tmp_path / "f.json").read_text()) == figures
    assert figures["runs"]["none"]["none"]["rules"] == [[]]
    assert figures["runs"]["temperature"]["none"]["rules"] == [["sampler_gap", "sampler_differs"]]
    lines = (tmp_path / "gap" / "runs.jsonl").read_text()
    assert benchmark.main(options) == figures and (tmp_path / "gap" / "runs.jsonl").read_text() == lines
