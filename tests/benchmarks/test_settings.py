"""Both systems get the same settings, each under its own names."""

from pathlib import Path

from benchmarks.peer import trl_ppo
from benchmarks.ppo import ours
from benchmarks.ppo.models import Models
from benchmarks.ppo.settings import Settings
from benchmarks.ppo.sizes import SIZES, Size
from trainer.spec import JobSpec

MODELS = Models(Path("/m/policy"), Path("/m/reward"), Path("/m/prompts.jsonl"), Path("/m/pairs.jsonl"), 555, 8.8)


def test_the_spec_of_ours_is_valid_at_every_size() -> None:
    for size in SIZES.values():
        found = JobSpec.model_validate(ours.spec(Settings(size, 3, 1), MODELS))
        assert found.ppo.max_new_tokens == size.response


def test_settings_of_both_trainers_have_the_same_numbers() -> None:
    settings = Settings(SIZES["3m"], 5, 2, seed=7)
    found = ours.spec(settings, MODELS)
    command = trl_ppo.command_for(settings, MODELS, Path("python"), ["script.py"], Path("out.json"))
    options = dict(zip(command[2::2], command[3::2], strict=True))
    assert options["--model"] == found["model"]["path"] == "/m/policy"
    assert float(options["--lr"]) == found["ppo"]["learning_rate"] == found["ppo"]["critic"]["learning_rate"] == 1e-6
    assert int(options["--batch-size"]) == found["ppo"]["batch_size"] == 64
    assert int(options["--minibatches"]) == found["ppo"]["minibatches"] == 4
    assert float(options["--kl-coef"]) == found["ppo"]["kl"]["coef"] == 0.05
    assert int(options["--seed"]) == found["seed"] == 7
    assert int(options["--threads"]) == found["runtime"]["threads"] == 2


def test_settings_timing_adds_one_iteration_for_last_evaluation() -> None:
    assert Settings(SIZES["3m"], 5, 2).own_iterations == 6
    assert Settings(SIZES["3m"], 25, 2, learn=True).own_iterations == 25


def test_size_digest_changes_only_with_the_recipe() -> None:
    assert SIZES["3m"].digest() != SIZES["28m"].digest()
    assert Size.from_json(SIZES["3m-32k"].to_json()) == SIZES["3m-32k"]
