"""Length and sentiment."""

import math
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from tests.trainer.rewards.tools import answer
from trainer.errors import DataError
from trainer.rewards.measures import Length, Lexicon, build_lexicon, read_lexicon
from trainer.spec import LengthReward, LexiconReward


@pytest.mark.parametrize(
    ("unit", "finished", "score"),
    [
        ("words", True, -0.25),  # 3 of 4
        ("characters", True, -1.75),  # 11 of 4
        ("tokens", True, -1.75),  # 11 and an EOS, which is not counted
        ("tokens", False, -1.75),  # 11 and no EOS
    ],
)
def test_distance_from_the_target(unit: str, finished: bool, score: float) -> None:
    reward = Length(LengthReward.model_validate({"type": "length", "target": 4, "unit": unit}))
    assert reward.score([answer("one two six", finished=finished)]) == [score]
    assert reward.score([answer("")]) == [-1.0]


def test_the_normalised_sum_of_valences() -> None:
    reward = Lexicon({"good": 1.9, "bad": -2.5, ":)": 2.0})
    scores = reward.score([answer("Good, GOOD!"), answer("a bad day :)"), answer("nothing"), answer("")])
    assert scores[0] == pytest.approx(3.8 / math.sqrt(3.8**2 + 15))
    assert scores[1] == pytest.approx(-0.5 / math.sqrt(0.25 + 15))
    assert scores[2:] == [0.0, 0.0]


@given(st.lists(st.sampled_from(["good", "bad", "day"]), max_size=200))
def test_sentiment_stays_within_1_and_turns_with_its_words(words: list[str]) -> None:
    score = Lexicon({"good": 1.9, "bad": -1.9}).score([answer(" ".join(words))])[0]
    turned = Lexicon({"good": -1.9, "bad": 1.9}).score([answer(" ".join(words))])[0]
    assert -1 < score < 1 and turned == pytest.approx(-score)
    assert (score > 0) == (words.count("good") > words.count("bad"))


def test_vaders_lexicon_reads_as_it_is(shared_data: Path) -> None:
    path = shared_data / "vader" / "vader_lexicon.txt"
    words = read_lexicon(path)
    assert len(words) > 7000 and words["good"] == 1.9 and words[":)"] == 2.0
    reward = build_lexicon(LexiconReward(type="lexicon", path=str(path)))
    # Published for VADER itself, in a sentence without negation, capitals or emphasis.
    assert reward.score([answer("The book was good.")])[0] == pytest.approx(0.4404, abs=1e-4)


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("good\t1.9\nbad", "line 2: needs a word, a tab and its valence"),
        ("good\tvery", "line 1: needs a word"),
        ("good\tnan", "line 1: nan is not a finite number"),
        ("\n", "no words in it"),
    ],
)
def test_a_lexicon_that_is_none_names_its_line(tmp_path: Path, content: str, said: str) -> None:
    (tmp_path / "words.txt").write_text(content)
    with pytest.raises(DataError, match=said):
        read_lexicon(tmp_path / "words.txt")


def test_a_lexicon_that_is_not_there() -> None:
    with pytest.raises(DataError, match=r"/nowhere\.txt: No such file"):
        build_lexicon(LexiconReward(type="lexicon", path="/nowhere.txt"))


@pytest.mark.parametrize("source", [{}, {"path": "x", "words": {"a": 1.0}}])
def test_a_lexicon_comes_from_one_place(source: dict[str, object]) -> None:
    with pytest.raises(ValidationError, match="give either `path` or `words`"):
        LexiconReward.model_validate({"type": "lexicon", **source})
