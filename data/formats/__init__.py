"""The table of all formats."""

from collections.abc import Mapping
from typing import Any

from data.formats import (
    arena,
    argilla,
    axolotl,
    column_presets,
    custom,
    helpsteer,
    hh_rlhf,
    judged,
    openai,
    ours,
    published,
    rankings,
    scored_pair,
    sft,
    stepwise,
    trees,
    trl_pairs,
    ultrafeedback,
    unlabelled,
    unpaired,
    verifiable,
)
from data.formats.base import PROMPTS, Format
from data.spelling import plain

FORMATS: dict[str, Format] = {
    one.id: one
    for one in (
        trl_pairs.EXPLICIT,
        trl_pairs.IMPLICIT,
        trl_pairs.CONVERSATIONS,
        unpaired.KTO,
        stepwise.TRL,
        stepwise.SHEPHERD,
        stepwise.PRM800K,
        openai.FORMAT,
        hh_rlhf.FORMAT,
        trl_pairs.ULTRAFEEDBACK,
        ultrafeedback.ORIGINAL,
        argilla.FORMAT,
        helpsteer.RATED,
        helpsteer.SECOND,
        helpsteer.THIRD,
        arena.BATTLE,
        arena.CONTEST,
        judged.PANDA,
        judged.BAR,
        published.SUMMARIES,
        published.WEBGPT,
        unlabelled.BEST_FIRST,
        unpaired.FACTORY,
        axolotl.CHATML,
        rankings.LISTS,
        rankings.OBJECTS,
        rankings.SAMPLES,
        scored_pair.FORMAT,
        trees.FORMAT,
        ours.ROWS,
        unlabelled.FORMAT,
        sft.MESSAGES,
        sft.COMPLETION,
        verifiable.VERL,
        verifiable.NEMO,
        verifiable.GSM8K,
        *(preset.format() for preset in column_presets.PRESETS),
        custom.FORMAT,
    )
}
"""By id, in the order of the documentation: formats with code of their own, presets, mappings."""

_COLUMNS = frozenset[str]().union(*(known.columns(PROMPTS) for known in FORMATS.values()))
SPELT: Mapping[str, str] = {plain(column): column for column in sorted(_COLUMNS, key=lambda name: plain(name) == name)}
"""The spelling that readers use, by the plain name. Columns are found in any case, with spaces or hyphens for `_`."""


def labelled(origin: Mapping[str, Any]) -> bool:
    """Whether every row of a version with this origin has a label, and its two sides in the order in which they were judged."""
    known = FORMATS.get(origin.get("format", ""))
    if known is custom.FORMAT:
        return "label" in origin["mapping"]["fields"]
    return known is not None and known.labelled
