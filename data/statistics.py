"""Statistics of plain numbers."""

import math
from collections.abc import Sequence
from itertools import groupby


def wilson_interval(rate: float, count: int, z: float = 1.959964) -> tuple[float, float]:
    """Wilson's score interval of a proportion (1927), 95 % by default.

    A bound that is exactly 0 or 1 (`rate` 0 or 1) is returned so, and the interval always contains `rate`.
    """
    centre = (rate + z * z / (2 * count)) / (1 + z * z / count)
    half = z / (1 + z * z / count) * math.sqrt(rate * (1 - rate) / count + z * z / (4 * count * count))
    low = 0.0 if rate == 0 else max(0.0, centre - half)
    high = 1.0 if rate == 1 else min(1.0, centre + half)
    return low, high


def pearson(points: Sequence[tuple[float, float]]) -> float | None:
    """Pearson's correlation of (x, y) points, or None if one of the two is constant."""
    mean_x = math.fsum(x for x, _ in points) / len(points)
    mean_y = math.fsum(y for _, y in points) / len(points)
    variance_x = math.fsum((x - mean_x) ** 2 for x, _ in points)
    variance_y = math.fsum((y - mean_y) ** 2 for _, y in points)
    if variance_x == 0 or variance_y == 0:
        return None
    return math.fsum((x - mean_x) * (y - mean_y) for x, y in points) / math.sqrt(variance_x * variance_y)


def area_under_curve(positives: Sequence[float], negatives: Sequence[float]) -> float:
    """P(positive > negative) + ½·P(equal) over all such pairs: the area under the ROC curve (Mann-Whitney; Hanley and McNeil
    1982).

    Both sequences must have at least one number.
    """
    ranked = sorted([*((value, True) for value in positives), *((value, False) for value in negatives)])
    points, below = 0.0, 0
    for _, equal in groupby(ranked, key=lambda one: one[0]):
        kinds = [positive for _, positive in equal]
        ups = sum(kinds)
        points += ups * (below + (len(kinds) - ups) / 2)
        below += len(kinds) - ups
    return points / (len(positives) * len(negatives))
