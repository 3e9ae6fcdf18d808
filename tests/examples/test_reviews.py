import gzip
import json
import math
import tomllib
from pathlib import Path

import pytest

from examples.reviews.generate import write, write_samples
from examples.reviews.rule import judge
from trainer.cli import load_spec

EXAMPLES = Path(__file__).parents[2] / "examples"
PROMPT = "what did you think of the mystery about robots ?"


@pytest.mark.parametrize(
    ("review", "score"),
    [
        (" the robots were brilliant .", 1 + 1.5),
        (" the robots were boring .", -1 + 1.5),
        (" the spies were brilliant .", 1 - 1),  # another topic
        (" the plot was long .", 0),
        (" it felt fresh and fresh .", 2 - 0.7),  # a repeated word
        (" i saw it on monday with my friends . it felt bold and warm .", 2 - 0.5),  # beside the point
        (" it felt bold and warm . it felt fresh and clever .", 3),  # praise has a limit
    ],
)
def test_the_hidden_rule_by_hand(review: str, score: float) -> None:
    assert judge(PROMPT, review, True) == pytest.approx(score)
    assert judge(PROMPT, review, False) == pytest.approx(score - 1)


def test_the_same_seed_writes_the_same_files(tmp_path: Path) -> None:
    first, again, other = (write(tmp_path / name, seed, 50, 50) for name, seed in (("a", 3), ("b", 3), ("c", 4)))
    for name in ("sft", "preferences"):
        assert first[name].read_bytes() == again[name].read_bytes() != other[name].read_bytes()


def test_sample_data_has_the_rows_and_spec_of_the_demo(tmp_path: Path) -> None:
    write_samples(tmp_path / "samples")
    for name, path in write(tmp_path, seed=0).items():
        assert gzip.decompress((tmp_path / "samples" / f"{name}.jsonl.gz").read_bytes()) == path.read_bytes()
    assert (tmp_path / "samples" / "demo.toml").read_text() == (EXAMPLES / "reviews" / "demo.toml").read_text()


def test_preferences_follow_the_rule_as_noisily_as_they_should(tmp_path: Path) -> None:
    rows = [json.loads(line) for line in write(tmp_path, 0, 1, 4000)["preferences"].read_text().splitlines()]
    gaps = [judge(r["prompt"], r["chosen"], True) - judge(r["prompt"], r["rejected"], True) for r in rows]
    agreement = sum((gap > 0) + 0.5 * (gap == 0) for gap in gaps) / len(gaps)
    expected = sum(0.05 + 0.9 / (1 + math.exp(-abs(gap) / 0.6)) for gap in gaps) / len(gaps)
    assert agreement == pytest.approx(expected, abs=0.02)


def test_thumbs_follow_the_rule_as_noisily_as_they_should(tmp_path: Path) -> None:
    rows = [json.loads(line) for line in write(tmp_path, 0, 1, 1, thumbs=4000)["thumbs"].read_text().splitlines()]
    likely = [0.05 + 0.9 / (1 + math.exp((0.5 - judge(r["prompt"], r["completion"], True)) / 0.6)) for r in rows]
    ups = [row["thumb"] == "up" for row in rows]
    assert sum(ups) / 4000 == pytest.approx(sum(likely) / 4000, abs=0.02)
    agreement = sum(up == (p > 0.5) for up, p in zip(ups, likely, strict=True)) / 4000
    assert agreement == pytest.approx(sum(max(p, 1 - p) for p in likely) / 4000, abs=0.02)


def test_labels_of_sentences_follow_the_rule(tmp_path: Path) -> None:
    """One label in twenty is flipped; those of neutral sentences are not."""
    rows = [json.loads(line) for line in write(tmp_path, 0, 1, 1, steps=2000)["steps"].read_text().splitlines()]
    pairs = [pair for row in rows for pair in zip(row["steps"], row["labels"], strict=True)]
    unkind = [label for step, label in pairs if " boring " in step or " clumsy " in step]
    assert unkind.count("bad") / len(unkind) == pytest.approx(0.95, abs=0.02)
    assert {label for step, label in pairs if "i saw it on" in step} == {"neutral"}
    assert all(step.endswith(" .") and step.count(" .") == 1 for step, _ in pairs)


def test_the_committed_tiny_files_are_what_the_generator_writes(tmp_path: Path) -> None:
    written = write(tmp_path, 0, reviews=240, pairs=160, thumbs=160)
    for name in ("sft", "preferences", "thumbs"):
        assert (EXAMPLES / "tiny" / f"{name}.jsonl").read_bytes() == written[name].read_bytes()


@pytest.mark.parametrize("path", sorted(EXAMPLES.rglob("*.toml")), ids=lambda path: path.name)
def test_every_example_is_a_valid_spec(path: Path) -> None:
    assert load_spec(path).name == tomllib.loads(path.read_text())["name"]


def test_the_recipes_data_is_what_the_generator_writes(tmp_path: Path) -> None:
    written = write(tmp_path, seed=0, reviews=3000, pairs=6000, thumbs=6000, steps=3000)
    kept = Path(__file__).parents[2] / "examples" / "reviews" / "data"
    assert {name: path.read_bytes() for name, path in written.items()} == {
        name: (kept / path.name).read_bytes() for name, path in written.items()
    }
