import numpy as np
import pytest

from data.report import minhash
from data.report.words import jaccard, shingles

TEXT = "one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen eighteen"


def test_minhash_signature_does_not_depend_on_run_or_order() -> None:
    first, second = minhash.signatures([["a b", "b c"], ["b c", "a b", "a b"]])
    assert (first == second).all()
    assert first[:4].tolist() == minhash.signatures([["a b", "b c"]])[0][:4].tolist()


def test_the_signature_of_a_union_is_the_least_of_the_signatures() -> None:
    one, other, both = minhash.signatures([["a", "b"], ["c"], ["c", "a", "b"]])
    assert (np.minimum(one, other) == both).all()


def test_minhash_share_of_equal_values_is_the_similarity() -> None:
    sets = [[f"shingle {n}" for n in range(0, 80)], [f"shingle {n}" for n in range(20, 100)]]  # 60 of 100 shared
    one, other = minhash.signatures(sets)
    assert np.mean(one == other) == pytest.approx(0.6, abs=0.13)  # three standard deviations of 128 draws


def test_bands_of_equal_values_are_equal_and_others_are_not() -> None:
    signatures = np.zeros((3, minhash.VALUES), np.uint32)
    signatures[1, 0] = 1  # in the first band
    signatures[2, minhash.BAND] = 1  # in the second
    bands = minhash.bands(signatures)
    assert (bands[0, 1:] == bands[1, 1:]).all() and bands[0, 0] != bands[1, 0]
    assert bands[0, 1] != bands[2, 1] and bands[0, 0] == bands[2, 0]


def test_the_values_behind_the_bands_are_few() -> None:
    assert minhash.BANDS * minhash.BAND == 126 <= minhash.VALUES
    found = 1 - (1 - 0.8**minhash.BAND) ** minhash.BANDS
    assert found == pytest.approx(0.9984, abs=1e-4)


def test_minhash_text_with_1_of_40_words_changed_shares_a_band() -> None:
    changed = f"{TEXT} {TEXT} end", f"{TEXT} {TEXT} fin"
    assert jaccard(*(frozenset(shingles(text)) for text in changed)) > 0.8
    one, other = minhash.bands(minhash.signatures([shingles(text) for text in changed]))
    assert (one == other).any()
