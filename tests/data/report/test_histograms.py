from pathlib import Path

import numpy as np

from data.report.summary import build_histogram
from tests.data.report.tools import report


def test_a_histogram_by_hand() -> None:
    found = build_histogram("prompt", "Prompts", "tokens", np.array([5, 0, 1, 1, 70], np.uint32), 64)
    # the 99th percentile of five is the longest, 70: bins of 70 // 30 + 1 = 3, rounded up to 5
    assert found.edges == [*range(0, 75, 5), 71]
    assert found.counts == [3, 1, *[0] * 12, 1]
    assert (found.name, found.mean, found.median, found.p95, found.max) == ("prompt_tokens", 77 / 5, 1, 70, 70)


def test_the_longest_hundredth_is_in_the_last_bin() -> None:
    found = build_histogram("answer", "Answers", "words", np.array([1] * 500 + [10**6], np.uint32), None)
    assert found.edges == [0, 1, 10**6] and found.counts == [0, 501]


def test_texts_of_one_length() -> None:
    found = build_histogram("answer", "Answers", "words", np.array([0, 0], np.uint32), None)
    assert (found.edges, found.counts) == ([0, 1], [2])


def test_histogram_of_thumbs_is_separate_for_each_thumb(tmp_path: Path) -> None:
    """Each row has one answer: no row has another one that it is better than."""
    texts = {"up": ["abc", "abcde", "ab"], "down": ["a", "abcdefg"]}
    rows = [
        {"prompt": f"p{thumb}{n}", "completion": text, "thumb": thumb}
        for thumb in ("down", "up")
        for n, text in enumerate(texts[thumb])
    ]
    histograms = report(tmp_path, rows, kind="thumbs").result["histograms"]
    found = {one["name"].removesuffix("_characters"): one for one in histograms if one["unit"] == "characters"}
    assert found.keys() == {"prompt", "answer", "thumbs_up", "thumbs_down"}
    for name, count, median, longest in (("thumbs_up", 3, 3, 5), ("thumbs_down", 2, 7, 7)):
        assert (sum(found[name]["counts"]), found[name]["median"], found[name]["max"]) == (count, median, longest)
