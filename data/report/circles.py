"""Preferences that run in circles: A before B, B before C, and C before A."""

from collections import defaultdict

from data.report.votes import Votes

Graph = dict[int, list[int]]


def rows_in_circles(votes: Votes) -> set[int]:
    """Rows whose preference is a part of a circle of three answers or more. Pairs that are contradicted outright are left out:
    they are a finding of their own, and any two of them would make a circle."""
    edges: dict[tuple[int, int], set[int]] = defaultdict(set)
    for (one, other), cast in votes.items():
        verdicts = {vote.verdict for vote in cast} - {0}
        if len(verdicts) == 1:
            edge = (one, other) if verdicts == {1} else (other, one)
            edges[edge] |= {vote.row for vote in cast if vote.verdict}
    graph: Graph = defaultdict(list)
    for winner, loser in edges:
        graph[winner].append(loser)
    place = components(graph)
    return {row for (winner, loser), rows in edges.items() if place[winner] == place[loser] for row in rows}


def components(graph: Graph) -> dict[int, int]:
    """Of each node a number that it shares with exactly those that it can reach and that can reach it (Tarjan 1972)."""
    index: dict[int, int] = {}
    low: dict[int, int] = {}
    found: dict[int, int] = {}
    stack: list[int] = []
    for root in list(graph):
        if root in index:
            continue
        work = [(root, iter(graph.get(root, ())))]
        index[root] = low[root] = len(index)
        stack.append(root)
        while work:
            node, targets = work[-1]
            target = next(targets, None)
            if target is None:
                work.pop()
                if work:
                    low[work[-1][0]] = min(low[work[-1][0]], low[node])
                if low[node] == index[node]:
                    _close(node, stack, found)
            elif target not in index:
                index[target] = low[target] = len(index)
                stack.append(target)
                work.append((target, iter(graph.get(target, ()))))
            elif target not in found:
                low[node] = min(low[node], index[target])
    return found


def _close(node: int, stack: list[int], found: dict[int, int]) -> None:
    while True:
        member = stack.pop()
        found[member] = node
        if member == node:
            return
