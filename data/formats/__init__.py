"""Every format that is known here, each in a file of its own or beside its relatives."""

from collections.abc import Mapping
from typing import Any

from data.formats import (
    arena,
    argilla,
    axolotl,
    custom,
    helpsteer,
    hh_rlhf,
    judged,
    llama_factory,
    openai,
    ours,
    prompts,
    published,
    rankings,
    sft,
    stepwise,
    trl_pairs,
    ultrafeedback,
    unlabelled,
    unpaired,
    verifiable,
)
from data.formats.base import PROMPTS, Format

FORMATS: dict[str, Format] = {
    one.id: one
    for one in (
        trl_pairs.EXPLICIT,
        trl_pairs.IMPLICIT,
        trl_pairs.CONVERSATIONS,
        unpaired.KTO,
        stepwise.FORMAT,
        openai.FORMAT,
        openai.REINFORCEMENT,
        hh_rlhf.FORMAT,
        trl_pairs.ULTRAFEEDBACK,
        ultrafeedback.ORIGINAL,
        ultrafeedback.ARGILLA,
        argilla.FORMAT,
        helpsteer.RATED,
        helpsteer.SECOND,
        helpsteer.THIRD,
        helpsteer.EDITED,
        arena.BATTLE,
        arena.CONTEST,
        judged.PANDA,
        judged.BAR,
        published.SUMMARIES,
        published.WEBGPT,
        published.SHP,
        published.SAFE,
        llama_factory.ALPACA,
        llama_factory.BEST_FIRST,
        llama_factory.SHAREGPT,
        unpaired.FACTORY,
        llama_factory.FORMAT,
        axolotl.CHATML,
        axolotl.AUTOTRAIN,
        rankings.LISTS,
        rankings.OBJECTS,
        rankings.SAMPLES,
        unpaired.SCORED,
        ours.ROWS,
        unlabelled.FORMAT,
        sft.MESSAGES,
        sft.COMPLETION,
        sft.ALPACA,
        verifiable.VERL,
        verifiable.NEMO,
        verifiable.OPENRLHF,
        prompts.PLAIN,
        prompts.GSM8K,
        prompts.ANSWERED,
        prompts.TEXT,
        custom.FORMAT,
    )
}
"""By id, in the order in which people look for them."""

SPELT: Mapping[str, str] = {column.lower(): column for known in FORMATS.values() for column in known.columns(PROMPTS)}
"""The spelling that readers use, by the lower-case name. Columns are found whatever their case."""


def labelled(origin: Mapping[str, Any]) -> bool:
    """Whether every row of a version that came about so has two sides that stand as they were judged, and a label."""
    known = FORMATS.get(origin.get("format", ""))
    if known is custom.FORMAT:
        return "label" in origin["mapping"]["fields"]
    return known is not None and known.labelled
