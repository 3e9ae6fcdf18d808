"""The time from a step's end to its point in a chart."""

from benchmarks.dashboard.__main__ import delays_of


def test_delays_are_from_a_step_to_the_first_drawing_of_it() -> None:
    seen = [(1000.0, 5), (1100.0, 7), (1250.0, 8)]
    sent = {4: 900.0, 6: 1020.0, 7: 1090.0, 8: 1200.0, 9: 1300.0}  # 4 was drawn before the watch began, 9 never was
    assert delays_of(seen, sent) == [80.0, 10.0, 50.0]
