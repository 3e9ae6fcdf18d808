from hypothesis import given
from hypothesis import strategies as st

from data.report.words import jaccard, normalised, shared_beginning, shingles, words


def test_words_are_lower_case_and_punctuation_counts() -> None:
    assert words("Don't stop: 2 − 1 = 1") == ["don", "'", "t", "stop", ":", "2", "−", "1", "=", "1"]


def test_in_a_script_without_spaces_each_character_is_a_word() -> None:
    assert words("東京 is big") == ["東", "京", "is", "big"]
    assert words("한국어 말") == ["한국어", "말"]  # Korean has spaces


def test_shingles_are_runs_of_three_and_a_short_text_is_one() -> None:
    assert shingles("a b c d") == ["a b c", "b c d"]
    assert shingles("a b") == ["a b"]
    assert shingles("") == [""]


def test_one_word_of_six_changed_leaves_three_shingles_of_five() -> None:
    one, other = (frozenset(shingles(f"the cat sat on the {last}")) for last in ("mat", "hat"))
    assert jaccard(one, other) == 3 / 5


def test_normalised_ignores_only_case_and_white_space() -> None:
    assert normalised("  Is it\tGOOD?\n") == normalised("is it good?") == "is it good?"
    assert normalised("is it good") != normalised("is it good?")


@given(st.text(), st.text(), st.text())
def test_shared_beginning_of_texts_is_found_completely(common: str, one: str, other: str) -> None:
    texts = [common + one, common + other, common]
    length = shared_beginning(texts)
    assert length == len(common)


def test_a_surrogate_pair_is_one_character() -> None:
    assert shared_beginning(["🙂🙂a", "🙂🙂b"]) == 2
