import numpy as np

from trainer.report.histograms import of


def test_a_histogram_by_hand() -> None:
    found = of("prompt", "Prompts", "tokens", np.array([5, 0, 1, 1, 70], np.uint32), 64)
    # the 99th percentile of five is the longest, 70: bins of 70 // 30 + 1 = 3, rounded up to 5
    assert found.edges == [*range(0, 75, 5), 71]
    assert found.counts == [3, 1, *[0] * 12, 1]
    assert (found.name, found.mean, found.median, found.p95, found.max) == ("prompt_tokens", 77 / 5, 1, 70, 70)


def test_the_longest_hundredth_is_in_the_last_bin() -> None:
    found = of("answer", "Answers", "words", np.array([1] * 500 + [10**6], np.uint32), None)
    assert found.edges == [0, 1, 10**6] and found.counts == [0, 501]


def test_texts_of_one_length() -> None:
    found = of("answer", "Answers", "words", np.array([0, 0], np.uint32), None)
    assert (found.edges, found.counts) == ([0, 1], [2])
