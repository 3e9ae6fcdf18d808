"""MinHash signatures (Broder 1997) by rensa, cut into bands: texts that share a band are candidates for near duplicates.

BANDS bands of BAND values each find two texts of Jaccard similarity s with probability 1 − (1 − s^BAND)^BANDS: 0.9984 at
s = 0.8 and 0.28 at s = 0.5. Every candidate is then measured in the texts themselves (near.py), so the figure that counts is the
first one. The bands, not the signatures, are kept, and on disk: an index in memory would grow with the texts.
"""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from data.errors import LibraryMissing

VALUES = 128
BANDS, BAND = 21, 6
_SEED = 1
Signatures = npt.NDArray[np.uint32]
Bands = npt.NDArray[np.uint64]
_FACTOR = np.uint64(0x9E3779B97F4A7C15)
"""2^64 divided by the golden ratio, odd. Multiplication by it spreads differences over all bits (Knuth, vol. 3, §6.4)."""


def signatures(sets: Sequence[Sequence[str]]) -> Signatures:
    """(N, VALUES): for each set of shingles, the least value under each of VALUES hash functions, the same in every run.

    The signature of a union is the least of the signatures. Raises LibraryMissing if rensa is not installed.
    """
    try:
        from rensa import RMinHash
    except ImportError as error:
        raise LibraryMissing("A report needs rensa: pip install rensa py3langid krippendorff.") from error
    if not sets:
        return np.empty((0, VALUES), np.uint32)
    return np.array(RMinHash.digest_matrix_from_token_sets(sets, VALUES, _SEED).to_rows(), np.uint32)


def bands(signatures: Signatures) -> Bands:
    """(N, BANDS): one number for each band of each signature; equal bands have equal numbers."""
    cut = signatures[:, : BANDS * BAND].reshape(len(signatures), BANDS, BAND).astype(np.uint64)
    mixed = np.zeros(cut.shape[:2], np.uint64)
    for value in range(BAND):
        mixed = (mixed ^ cut[:, :, value]) * _FACTOR
        mixed ^= mixed >> np.uint64(29)
    return mixed
