from itertools import product

from hypothesis import given
from hypothesis import strategies as st

from data.report.annotator_agreement import Vote, Votes, components, rows_in_cycles


def votes(*said: tuple[int, int, int, int]) -> Votes:
    """(row, one answer, another, verdict on the first of them)."""
    found: Votes = {}
    for row, one, other, verdict in said:
        found.setdefault((one, other), []).append(Vote(row, verdict, 0, True))
    return found


def test_cycles_of_three_are_found_without_attached_pairs() -> None:
    # 1 > 2 > 3 > 1, and 3 > 4
    found = votes((10, 1, 2, 1), (11, 2, 3, 1), (12, 1, 3, -1), (13, 3, 4, 1))
    assert rows_in_cycles(found) == {10, 11, 12}


def test_an_order_has_no_circle_and_a_tie_makes_none() -> None:
    assert rows_in_cycles(votes((1, 1, 2, 1), (2, 2, 3, 1), (3, 1, 3, 1))) == set()
    assert rows_in_cycles(votes((1, 1, 2, 1), (2, 2, 3, 1), (3, 1, 3, 0))) == set()


def test_two_contradicted_pairs_are_no_circle() -> None:
    assert rows_in_cycles(votes((1, 1, 2, 1), (2, 1, 2, -1), (3, 2, 3, 1), (4, 2, 3, -1))) == set()


@given(st.sets(st.tuples(st.integers(0, 6), st.integers(0, 6)), max_size=20))
def test_components_are_strongly_connected(edges: set[tuple[int, int]]) -> None:
    graph: dict[int, list[int]] = {}
    for one, other in sorted(edges):
        graph.setdefault(one, []).append(other)
    reach = {(one, other) for one, other in edges} | {(node, node) for edge in edges for node in edge}
    for middle, one, other in product(range(7), repeat=3):
        if (one, middle) in reach and (middle, other) in reach:
            reach.add((one, other))
    place = components(graph)
    nodes = {node for edge in edges for node in edge}
    assert place.keys() == nodes
    for one, other in product(nodes, repeat=2):
        assert (place[one] == place[other]) == ((one, other) in reach and (other, one) in reach)
