"""Finds training prompts that are near duplicates of held-out ones, which makes held-out figures too good (Lee et al. 2022).

Equal prompts are on one side alone, by the split. Near duplicates are found exactly, without signatures, by prefix filtering
(Chaudhuri et al. 2006; Bayardo et al. 2007). Two sets with a Jaccard similarity of t or more share an element among the first
|x| - ⌈t·|x|⌉ + 1 of each, in one order of all elements. The order puts rare elements first, so few sets are compared.
"""

import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from data.report.words import jaccard, shingles
from data.rows import Prompt
from data.splits import prompt_key, prompt_text

SIMILAR = 0.8
"""Least Jaccard similarity of the word triples of near duplicates, as in the data report."""
MOST_CHARACTERS = 10_000_000
"""Most characters of prompts that are compared, which takes some seconds. A longer comparison stops and is marked as incomplete."""
SAMPLES = 3
_EXCERPT = 120


@dataclass
class Overlap:
    """Near duplicates of held-out prompts among the prompts of one kind of training data."""

    kind: str
    prompts: int = 0
    """Number of different training prompts with a near duplicate among the held-out prompts."""
    rows: int = 0
    """Number of rows with these prompts."""
    samples: list[tuple[str, str]] = field(default_factory=list)
    """A training prompt and its held-out near duplicate, both cut."""
    complete: bool = True
    """False if there was too much text to compare all prompts."""

    @property
    def text(self) -> str:
        """The result as one or two sentences."""
        least = "" if self.complete else "At least "
        shown = "; ".join(f"{trained!r} beside {held_out!r}" for trained, held_out in self.samples)
        return (
            f"{least}{self.rows} {self.kind} that are trained on have one of {self.prompts} prompts that are nearly the same as "
            f"a held-out one: {shown}."
        )


def near_held_out(trained: Mapping[str, Iterable[Prompt]], held_out: Iterable[Prompt]) -> list[Overlap]:
    """Near duplicates of `held_out` among the training prompts, by kind of data. Kinds without near duplicates are left out."""
    index = Index(held_out)
    known: dict[str, str | None] = {}
    found = (_of_kind(kind, list(prompts), index, known) for kind, prompts in trained.items())
    return [overlap for overlap in found if overlap.prompts]


def _of_kind(kind: str, prompts: list[Prompt], index: "Index", known: dict[str, str | None]) -> Overlap:
    """Compare the prompts of one kind. `known` caches the result of each prompt, because the kinds share most prompts."""
    found = Overlap(kind)
    counts = Counter(prompt_key(prompt) for prompt in prompts)
    texts = {prompt_key(prompt): prompt_text(prompt) for prompt in prompts}
    for key, rows in counts.items():
        if key not in known:
            if index.looked_at > MOST_CHARACTERS:
                found.complete = False
                continue
            known[key] = index.like(texts[key])
        if (other := known[key]) is not None:
            found.prompts, found.rows = found.prompts + 1, found.rows + rows
            if len(found.samples) < SAMPLES:
                found.samples.append((texts[key][:_EXCERPT], other[:_EXCERPT]))
    return found


class Index:
    """An index of prompts by their rarest word triples."""

    def __init__(self, prompts: Iterable[Prompt]) -> None:
        self.looked_at = 0
        """Number of characters that were compared."""
        self._texts = list(dict.fromkeys(prompt_text(prompt) for prompt in prompts))
        self._sets: list[frozenset[str]] = []
        for text in self._texts:
            self.looked_at += len(text)
            self._sets.append(frozenset(shingles(text)) if self.looked_at <= MOST_CHARACTERS else frozenset())
        self._counts = Counter(shingle for found in self._sets for shingle in found)
        self._having: dict[str, list[int]] = defaultdict(list)
        for number, found in enumerate(self._sets):
            for shingle in self._first(found):
                self._having[shingle].append(number)

    def like(self, text: str) -> str | None:
        """The first indexed prompt that is a near duplicate of `text`, or None."""
        self.looked_at += len(text)
        mine = frozenset(shingles(text))
        tried: set[int] = set()
        for shingle in self._first(mine):
            for number in self._having.get(shingle, ()):
                if number not in tried and jaccard(mine, self._sets[number]) >= SIMILAR:
                    return self._texts[number]
                tried.add(number)
        return None

    def _first(self, found: frozenset[str]) -> Iterator[str]:
        ordered = sorted(found, key=lambda shingle: (self._counts[shingle], shingle))
        yield from ordered[: len(found) - math.ceil(SIMILAR * len(found)) + 1]
