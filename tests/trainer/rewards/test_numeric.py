"""GSM8K's conventions: which number of a text counts, and when two are equal."""

import json
from fractions import Fraction
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.trainer.rewards.tools import answer
from trainer.rewards.numeric import NumericMatch, final_number
from trainer.spec import NumericMatchReward


@pytest.mark.parametrize(
    ("text", "number", "marked"),
    [
        ("She sells 9 eggs.\n#### 18", 18, True),
        ("#### 1,234,567", 1234567, True),
        ("####18\nThat took 5 steps.", 18, True),
        ("#### $-5", -5, True),
        ("#### -3.50", "-3.5", True),
        ("#### **70,000** dollars", 70000, True),
        ("#### 5\nNo, wait.\n#### 6", 6, True),
        ("#### none of the 7", 7, False),
        ("The answer is 18.", 18, False),
        ("9 * 2 = $18.00 a day", 18, False),
        ("it costs -$7", -7, False),
        ("it is −7 outside", -7, False),
        ("a rise of 150%", 150, False),
        ("10-3", 3, False),
        ("COVID-19", 19, False),
        ("x=-5,", -5, False),
        ("at 12:30", 30, False),
        ("12, 13", 13, False),
        ("1,00,000 rupees", 100000, False),
        ("half is .5", "0.5", False),
        ("and so on...5", 5, False),
        ("3/4", "0.75", False),
        ("on the 6th", 6, False),
        ("1.5e3", 1500, False),
        ("it is 3 1/2", "7/2", False),
        ("it is 3\u00a01/2 cups", "7/2", False),
        ("#### -3 1/2", "-7/2", True),
        ("#### $1,000 1/4", "4001/4", True),
        ("10 20/4", 5, False),
        ("#### 10 20/4", 10, True),
        ("1.5 1/2", "1/2", False),
        ("3 -1/2", "-1/2", False),
        ("3  1/2", "1/2", False),
        ("2 3/4 1/2", "1/2", False),
        (r"\frac{1}{2}", "1/2", False),
        (r"$-\dfrac{3}{4}$", "-3/4", False),
        (r"\boxed{\tfrac{-1,000}{ 3 }}", "-1000/3", False),
        (r"#### 3\frac{1}{2}", "7/2", True),
        (r"#### -3 \frac{1}{2}", "-7/2", True),
        (r"\frac{1}{2} is 7", 7, False),
        ("it is \u20137 outside", -7, False),
        ("#### \u2013$3.50", "-3.5", True),
        ("pages 10\u201312", 12, False),
        ("1e−3", "1/1000", False),
    ],
)  # fmt: skip
def test_the_number_that_counts(text: str, number: int | str, marked: bool) -> None:
    assert final_number(text) == (Fraction(number), marked)


@pytest.mark.parametrize("text", ["", "no idea", "####", "5/0", "9" * 5000, r"\frac{1}{0}"])
def test_texts_without_a_number_to_read(text: str) -> None:
    assert final_number(text)[0] is None


@pytest.mark.parametrize(
    ("text", "reference", "score"),
    [
        ("#### 42", "6 * 7 = 42\n#### 42", 1.0),
        ("so 42 it is", "42", 1.0),
        ("42.0", "#### 42", 1.0),
        ("42.0000005", "42", 1.0),
        ("42.00001", "42", 0.0),
        ("#### 41", "42", 0.1),
        ("41", "42", 0.0),
        ("", "42", 0.0),
    ],
)  # fmt: skip
def test_right_wrong_and_well_formed(text: str, reference: str, score: float) -> None:
    reward = NumericMatch(NumericMatchReward(type="numeric_match", format_credit=0.1))
    assert reward.score([answer(text, reference)]) == [score]


def test_large_numbers_are_compared_exactly() -> None:
    reward = NumericMatch(NumericMatchReward(type="numeric_match", tolerance=0))
    assert reward.score([answer("90071992547409930", "90071992547409931"), answer("0.1", "1/10")]) == [0.0, 1.0]


@given(st.integers(-(10**12), 10**12), st.sampled_from(["{:,}", "{}", "{}.00", "{:,}.", "${:,}"]))
def test_numeric_integer_notations_are_equal(number: int, form: str) -> None:
    assert final_number(f"after 3 steps: {form.format(number)}\nDone")[0] == number
    assert final_number(f"#### {form.format(number)}\n1 2 3") == (number, True)


@given(st.integers(0, 999), st.integers(1, 99), st.integers(2, 99), st.sampled_from(["", "-", "−", "\u2013"]))
def test_a_mixed_number_is_the_sum_of_its_parts(whole: int, top: int, bottom: int, sign: str) -> None:
    top = 1 + top % (bottom - 1)
    value = (whole + Fraction(top, bottom)) * (-1 if sign else 1)
    assert final_number(f"so {sign}{whole} {top}/{bottom}.") == (value, False)
    assert final_number(rf"#### {sign}{whole}\frac{{{top}}}{{{bottom}}}") == (value, True)


@given(st.text(alphabet="0123456789.,-+/eE$%# \n\u2013{}\\frac", max_size=60))
def test_no_text_is_too_odd(text: str) -> None:
    number, marked = final_number(text)
    assert number is None or isinstance(number, Fraction)
    assert not marked or "####" in text


def test_a_solution_as_in_gsm8k_is_its_own_answer() -> None:
    solution = (
        "One costs $3, so 12 cost 12 * 3 = <<12*3=36>>36 dollars.\nWith the 1,000 dollars it is 1036.\n#### 1,036"
    )
    assert final_number(solution) == (Fraction(1036), True)
    said = [solution.rpartition("####")[0], "It costs 36 dollars in all.", "#### 1036", "#### 36"]
    reward = NumericMatch(NumericMatchReward(type="numeric_match"))
    assert reward.score([answer(text, solution) for text in said]) == [1, 0, 1, 0]


@pytest.mark.slow
def test_every_real_solution_is_its_own_answer(shared_data: Path) -> None:
    lines = (shared_data / "gsm8k" / "test.jsonl").read_text().splitlines()
    solutions = [json.loads(line)["answer"] for line in lines]
    for solution in solutions:
        said = solution.rpartition("####")[2].strip().replace(",", "")
        assert final_number(solution) == (Fraction(said), True)
    reward = NumericMatch(NumericMatchReward(type="numeric_match"))
    steps = [solution.rpartition("####")[0] for solution in solutions]
    unmarked = reward.score([answer(text, solution) for text, solution in zip(steps, solutions, strict=True)])
    assert len(solutions) == 1319 and sum(unmarked) / 1319 > 0.9  # most solutions end on their result
