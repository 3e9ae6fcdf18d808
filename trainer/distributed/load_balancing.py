"""Who computes which rows: a pure function of the rows' lengths, so that every process knows all shares without asking."""

from collections.abc import Sequence
from itertools import pairwise


def shares(lengths: Sequence[int], processes: int) -> list[list[int]]:
    """The row numbers of each process, in the given order, with about as many tokens for each.

    The longest rows first, each to whoever has the fewest tokens so far (Graham 1969: at most 4/3 of the best split). With
    fewer rows than processes, some get none.
    """
    if processes == 1:
        return [list(range(len(lengths)))]
    rows: list[list[int]] = [[] for _ in range(processes)]
    tokens = [0] * processes
    for row in sorted(range(len(lengths)), key=lambda row: -lengths[row]):
        least = min(range(processes), key=lambda process: (tokens[process], len(rows[process])))
        rows[least].append(row)
        tokens[least] += lengths[row]
    return [sorted(own) for own in rows]


def blocks(count: int, processes: int) -> list[list[int]]:
    """`count` rows in their order, cut into one block for each process; the first ones are longer by one where need be."""
    size, longer = divmod(count, processes)
    starts = [process * size + min(process, longer) for process in range(processes + 1)]
    return [list(range(first, end)) for first, end in pairwise(starts)]
