"""Near duplicates across the split: what is planted is found, against a comparison of all pairs."""

import random
from pathlib import Path

import pytest

from data import overlap
from data.report.words import jaccard, shingles
from data.rows import Demonstration, PromptRow
from data.splits import Split
from tests.trainer.preflight.checked_jobs import checked, lines, only
from trainer.run_data import Data

NOTHING = Split([], [])


def near_held_out(found: Data) -> list[overlap.Overlap]:
    return overlap.near_held_out(found.trained_prompts(), [row.prompt for row in found.prompts.held_out])


def sentence(words: int, rng: random.Random) -> str:
    return " ".join(rng.choice("abcdefghijklmnop") + rng.choice("xyz") for _ in range(words))


def changed(text: str, rng: random.Random) -> str:
    """With up to four words replaced."""
    words = text.split()
    for _ in range(rng.randrange(5)):
        words[rng.randrange(len(words))] = "other"
    return " ".join(words)


@pytest.mark.parametrize("seed", range(5))
def test_near_held_out_equals_comparison_of_all_pairs(seed: int) -> None:
    rng = random.Random(seed)
    held_out = [sentence(rng.choice((2, 3, 8, 30)), rng) for _ in range(60)]
    texts = [changed(rng.choice(held_out), rng) for _ in range(120)]
    index, sets = overlap.Index(held_out), {text: frozenset(shingles(text)) for text in (*held_out, *texts)}
    found = [index.like(text) is not None for text in texts]
    expected = [any(jaccard(sets[text], sets[other]) >= 0.8 for other in held_out) for text in texts]
    assert found == expected and 10 < sum(expected) < 110


def loaded(trained: list[str], held_out: list[str]) -> Data:
    shown = [Demonstration(prompt, "x") for prompt in trained]
    return Data(Split(shown, []), NOTHING, Split([], [PromptRow(prompt) for prompt in held_out]), [])


def test_rows_and_prompts_are_counted_with_samples() -> None:
    asked = "please tell me in a few short words what the weather was like in paris last sunday"
    trained = [f"{asked} ?"] * 3 + [asked.upper()] + ["how are you today my friend"]
    (found,) = near_held_out(loaded(trained, [asked, "nothing like it at all"]))
    assert (found.kind, found.prompts, found.rows, found.complete) == ("demonstrations", 2, 4, True)
    assert found.samples == [(f"{asked} ?", asked), (asked.upper(), asked)]
    assert found.text.startswith("4 demonstrations that are trained on have one of 2 prompts")


def test_near_held_out_stops_at_its_bound_and_reports_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(overlap, "MOST_CHARACTERS", 100)
    asked = "a question of some length that is asked once and again"
    (found,) = near_held_out(loaded([f"{asked} {end}" for end in "?!."], [asked]))
    assert not found.complete and found.prompts < 3 and found.text.startswith("At least ")


@pytest.mark.slow
def test_check_warns_of_near_duplicates_of_evaluation_prompts(tmp_path: Path) -> None:
    asked = "the film was good and bad but long and the film was also bad but good they say"
    path = lines(tmp_path / "eval.jsonl", [{"prompt": asked}, {"prompt": "film good"}])
    shown = lines(tmp_path / "shown.jsonl", [{"prompt": f"{asked} {n}", "completion": "yes"} for n in range(5)])
    report = checked(tmp_path, data={"evaluation_prompts": path, "sft": shown})
    finding = only(report, "near_duplicates")
    assert finding.level == "warning" and finding.detail.startswith("5 demonstrations that are trained on")
    assert asked in finding.detail
