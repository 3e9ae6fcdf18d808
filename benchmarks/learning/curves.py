"""The reward curves of `benchmarks/learning/__main__.py` as one SVG: a panel for each task and start, both systems in each."""

from collections.abc import Sequence
from html import escape
from statistics import fmean
from typing import Any

_WIDTH, _HEIGHT = 200, 120
"""Width and height of a panel's plot, in pixels."""
_LEFT, _TOP, _GAP_X, _GAP_Y = 40, 56, 24, 44
_COLOURS = {"ours": "#2563eb", "trl": "#d97706"}
_NAMES = {"ours": "Proximal", "trl": "TRL"}


def drawing(figures: dict[str, Any]) -> str:
    """Mean reward against samples: each seed a thin line, the mean over seeds a thick one. Both axes start at 0."""
    rows, batch = figures["tasks"], figures["budget"]["batch"]
    starts = list(dict.fromkeys(row["start"] for row in rows))
    tasks = list(dict.fromkeys(row["task"] for row in rows))
    panels = []
    for row in rows:
        x = _LEFT + tasks.index(row["task"]) * (_WIDTH + _GAP_X)
        y = _TOP + starts.index(row["start"]) * (_HEIGHT + _GAP_Y)
        panels.append(_panel(row, x, y, batch))
    width = _LEFT + len(tasks) * (_WIDTH + _GAP_X)
    height = _TOP + len(starts) * (_HEIGHT + _GAP_Y)
    return "\n".join([
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" font-family="sans-serif" font-size="11">',
        f'<rect width="{width}" height="{height}" fill="white"/>',
        *_legend(),
        *panels,
        "</svg>\n",
    ])  # fmt: skip


def _legend() -> list[str]:
    parts = []
    for place, (system, colour) in enumerate(_COLOURS.items()):
        x = _LEFT + place * 90
        parts.append(f'<line x1="{x}" y1="16" x2="{x + 20}" y2="16" stroke="{colour}" stroke-width="2.5"/>')
        parts.append(f'<text x="{x + 25}" y="20">{_NAMES[system]}</text>')
    return [
        *parts,
        f'<text x="{_LEFT + 190}" y="20" fill="#555">mean reward (0 to 1) against samples; thin: seeds</text>',
    ]


def _panel(row: dict[str, Any], x: int, y: int, batch: int) -> str:
    curves = {system: row[system]["curves"] for system in _COLOURS if system in row}
    samples = batch * max(len(curve) for found in curves.values() for curve in found)
    parts = [
        f'<g transform="translate({x},{y})">',
        f'<text y="-8" font-weight="bold">{escape(row["task"])}, {escape(row["start"])}</text>',
        *(_level(value) for value in (0, 0.5, 1)),
        f'<text x="{_WIDTH}" y="{_HEIGHT + 14}" text-anchor="end" fill="#555">{samples:,}</text>',
    ]
    for system, found in curves.items():
        parts += [_line(curve, _COLOURS[system], 0.6, 0.5) for curve in found]
        parts.append(_line([fmean(values) for values in zip(*found, strict=True)], _COLOURS[system], 2.5, 1))
    return "\n".join([*parts, "</g>"])


def _level(value: float) -> str:
    y = _HEIGHT * (1 - value)
    return (
        f'<line x1="0" y1="{y:g}" x2="{_WIDTH}" y2="{y:g}" stroke="#ddd"/>'
        f'<text x="-6" y="{y + 4:g}" text-anchor="end" fill="#555">{value:g}</text>'
    )


def _line(curve: Sequence[float], colour: str, width: float, opacity: float) -> str:
    steps = max(1, len(curve) - 1)
    points = " ".join(f"{_WIDTH * at / steps:.1f},{_HEIGHT * (1 - value):.1f}" for at, value in enumerate(curve))
    return f'<polyline points="{points}" fill="none" stroke="{colour}" stroke-width="{width}" opacity="{opacity}"/>'
