"""Detects the languages of a sample of the rows."""

import random
from collections.abc import Callable
from functools import cache

from data.errors import LibraryMissing
from data.report.items import Item

SAMPLE = 2000
"""Rows in the sample: a share of 5 % is then known to ± 1 %."""
_SEED = 0
_CHARACTERS = 600
"""Characters of each text that are used; more do not change the result."""
_SHORTEST = 24
"""Least number of characters for a detection."""
_SURE = 0.9
"""Least probability of a detected language."""
UNKNOWN = "und"
"""Undetermined (ISO 639-2): the text is too short, or the probability too low."""
Identify = Callable[[str], str]


def sample_rows(rows: int) -> list[int]:
    """The rows of the sample (from 0, in order), the same in every run."""
    return sorted(random.Random(_SEED).sample(range(rows), min(SAMPLE, rows)))


@cache
def identifier() -> Identify:
    """py3langid's model (Lui and Baldwin 2012, retrained), with probabilities. Raises LibraryMissing if it is not installed.

    The first text that is long enough loads the model, which takes half a second: more than the rest of a small report.
    """
    try:
        from py3langid.langid import MODEL_FILE, LanguageIdentifier
    except ImportError as error:
        raise LibraryMissing("A report needs py3langid: pip install rensa py3langid krippendorff.") from error

    @cache
    def model() -> LanguageIdentifier:
        return LanguageIdentifier.from_model_file(MODEL_FILE, norm_probs=True)

    def identify(text: str) -> str:
        beginning = " ".join(text[: 2 * _CHARACTERS].split())[:_CHARACTERS]
        if len(beginning) < _SHORTEST:
            return UNKNOWN
        language, probability = model().classify(beginning)
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
    """The last message of the prompt."""
    assert item.prompt is not None
    return item.prompt if isinstance(item.prompt, str) else item.prompt[-1]["content"]
