"""Which languages a sample of the rows is in."""

import random
from collections.abc import Callable
from functools import cache

from data.errors import LibraryMissing
from data.report.items import Item

SAMPLE = 2000
"""Rows looked at: a share of 5 % is then known to ± 1 %."""
_SEED = 0
_CHARACTERS = 600
"""Of each text looked at: more tells no more."""
_SHORTEST = 24
"""Characters below which a text may be of any language."""
_SURE = 0.9
"""Probability from which on a language is believed."""
UNKNOWN = "und"
"""As in ISO 639-2: undetermined. Too short, or nothing to be sure of."""
Identify = Callable[[str], str]


def sample_rows(rows: int) -> list[int]:
    """Which rows are looked at (from 0, in order): always the same ones."""
    return sorted(random.Random(_SEED).sample(range(rows), min(SAMPLE, rows)))


@cache
def identifier() -> Identify:
    """py3langid's model (Lui and Baldwin 2012, retrained), with probabilities; most of a second to load, so once.

    Raises LibraryMissing where it is not installed.
    """
    try:
        from py3langid.langid import MODEL_FILE, LanguageIdentifier
    except ImportError as error:
        raise LibraryMissing("A report needs py3langid: pip install 'proximal[report]'.") from error
    model = LanguageIdentifier.from_model_file(MODEL_FILE, norm_probs=True)

    def identify(text: str) -> str:
        beginning = " ".join(text[: 2 * _CHARACTERS].split())[:_CHARACTERS]
        if len(beginning) < _SHORTEST:
            return UNKNOWN
        language, probability = model.classify(beginning)
        return str(language) if probability >= _SURE else UNKNOWN

    return identify


def language_of(item: Item, identify: Identify) -> tuple[str, bool]:
    """The language of the preferred answer (without one, of the prompt), and whether the prompt is in another."""
    asked = UNKNOWN if item.prompt is None else identify(_last_words(item))
    if not item.answers:
        return asked, False
    answered = identify(item.best)
    if answered == UNKNOWN:
        return asked, False
    return answered, asked not in (UNKNOWN, answered)


def _last_words(item: Item) -> str:
    """What the answer answers to."""
    assert item.prompt is not None
    return item.prompt if isinstance(item.prompt, str) else item.prompt[-1]["content"]
