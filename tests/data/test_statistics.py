from data.statistics import wilson_interval


def test_an_interval_stays_within_0_and_1() -> None:
    for count in range(1, 200):
        assert wilson_interval(0.0, count)[0] == 0.0 and wilson_interval(1.0, count)[1] == 1.0
