"""Findings of what can be seen in each row by itself."""

from collections import Counter
from collections.abc import Iterator

import numpy as np

from data.report.columns import Columns
from data.report.findings import Found
from data.report.languages import UNKNOWN
from data.report.scanned import SHOWN

_OTHER_LANGUAGES = 0.05
"""Share of the sample in other languages than the main one from which on it is said."""
_DETAILS = {
    "same_after_trim": "But for white space around them, two of the row's answers are the same text: there is nothing to "
    "prefer.",
    "empty_answer": "White space, zero-width and control characters are all that the answer has.",
    "role_in_answer": "A line of the answer begins with “Human:”, “Assistant:” or the like: a further turn of the "
    "conversation, left in by the splitting of a file or made up by a model. Trained on it, the policy goes on for both.",
    "turns_do_not_alternate": "The assistant begins, or one role speaks twice in a row. Some chat templates refuse that; others "
    "put two turns of one role side by side, as no conversation with the policy will have them. Each is shown with the first "
    "turn that is out of order.",
    "prompt_in_answer": "Every answer of the row begins with the text of its prompt, which the policy would learn to repeat.",
    "shared_beginning": "The answers begin with the same text, for half of the shorter one or more. If it belongs to the "
    "prompt, it should stand there; both sides are trained on it alike.",
    "trailing_whitespace": "It becomes tokens in front of the EOS, which the policy learns to say.",
    "leading_whitespace": "The prompt is a conversation: nothing has to be joined, and the space becomes a token of its own.",
    "prompt_whitespace": "A message of the conversation begins or ends with white space; chat templates differ in whether "
    "they strip it.",
    "wordless_answer": "Punctuation, signs or emoji alone. Fine as an answer now and then; in numbers, a sign of a broken "
    "export.",
    "pii_email": "Look at them before the model learns them by heart.",
    "pii_phone": "International, North American or national numbers of 9 to 15 digits. Many may be made up.",
    "pii_card": "13 to 19 digits whose check sum (Luhn) is right.",
    "pii_iban": "The check sum is right.",
    "pii_ip": "Addresses of the public internet; a version number may look like one.",
}


def found(columns: Columns) -> Iterator[Found]:
    for code, detail in _DETAILS.items():
        if code in columns.marks:
            yield marked(columns, code, detail)
    if "special_tokens" in columns.marks:
        yield _special_tokens(columns)
    yield from _languages(columns)


def marked(columns: Columns, code: str, detail: str) -> Found:
    """What the rows were marked with when they were read."""
    return Found(code, detail, columns.marks[code], columns.samples[code], columns.answers[code])


def _special_tokens(columns: Columns) -> Found:
    named = ", ".join(sorted(columns.tokens)[:10])
    detail = (
        f"{named}. In an answer they stay plain text to this trainer, and teach the model to spell them; in a prompt that "
        "goes through a chat template they become the real tokens, and end or forge a turn. Some, such as <s>, are also HTML."
    )
    return marked(columns, "special_tokens", detail)


def _languages(columns: Columns) -> Iterator[Found]:
    known = [(row, language) for row, language in columns.languages if language != UNKNOWN]
    if not known:
        return
    counts = Counter(language for _, language in known)
    (main, _), *others = counts.most_common()
    rows = np.array([row for row, language in known if language != main], np.int64)
    if len(rows) > _OTHER_LANGUAGES * len(known):
        shares = ", ".join(f"{language} {count / len(known):.1%}" for language, count in others[:5])
        detail = (
            f"Of {len(columns.languages)} rows looked at, {len(known)} are in a language that could be told; the most are "
            f"{main}, others {shares}. The rows named are those of the sample."
        )
        shown = [(row, language) for row, language in known if language != main][:SHOWN]
        yield Found("language_mix", detail, rows, shown)
    if "language_differs" in columns.marks:
        detail = f"Of {len(columns.languages)} rows looked at. Right for translations, and wrong elsewhere."
        yield marked(columns, "language_differs", detail)
