"""The little world of the demo: film reviews made by a grammar.

A prompt asks about a genre and a topic; a review answers in one to four short clauses. Good reviews are on topic,
positive and to the point; the grammar makes all kinds.
"""

import random
from dataclasses import dataclass

GENRES = (
    "mystery", "comedy", "thriller", "romance", "western", "musical",
    "documentary", "horror", "fantasy", "war", "sports", "crime",
)  # fmt: skip
TOPICS = (
    "robots", "pirates", "dragons", "chefs", "sailors", "twins",
    "painters", "spies", "farmers", "ghosts", "dancers", "doctors",
)  # fmt: skip
POSITIVE = ("brilliant", "charming", "fresh", "moving", "stunning", "funny", "clever", "gentle", "bold", "warm")
NEGATIVE = ("boring", "clumsy", "stale", "messy", "dull", "noisy", "weak", "silly", "cold", "slow")
NEUTRAL = ("long", "quiet", "short", "simple", "dark", "loud", "strange", "plain")
PARTS = ("plot", "cast", "music", "ending", "pacing", "dialogue", "camera", "story")
COMPANIONS = ("my friends", "my sister", "a colleague", "the neighbours")
DAYS = ("monday", "friday", "sunday", "holiday")
QUESTIONS = (
    "what did you think of the {genre} about {topic} ?",
    "should i watch the {genre} about {topic} ?",
    "tell me about the {genre} with the {topic} .",
    "was the {genre} about {topic} any good ?",
    "write a review of the {genre} about {topic} .",
)


@dataclass(frozen=True)
class Question:
    """One prompt of the world."""

    genre: str
    topic: str
    text: str


def questions() -> list[Question]:
    """Every prompt there is: 12 genres × 12 topics × 5 forms."""
    return [
        Question(genre, topic, form.format(genre=genre, topic=topic))
        for genre in GENRES
        for topic in TOPICS
        for form in QUESTIONS
    ]


def review(question: Question, rng: random.Random) -> str:
    """A review of any quality: one to four clauses, sometimes about the wrong topic, sometimes beside the point."""
    mood = rng.choice((0.2, 0.5, 0.8))
    clauses = [_clause(question, mood, rng) for _ in range(rng.randint(1, 4))]
    return " " + " ".join(clauses)


def _clause(question: Question, mood: float, rng: random.Random) -> str:
    kind = rng.random()
    if kind < 0.45:
        topic = question.topic if rng.random() < 0.8 else rng.choice(TOPICS)
        return f"the {topic} were {_adjective(mood, rng)} ."
    if kind < 0.75:
        return f"the {rng.choice(PARTS)} was {_adjective(mood, rng)} ."
    if kind < 0.87:
        return f"it felt {_adjective(mood, rng)} and {_adjective(mood, rng)} ."
    return f"i saw it on {rng.choice(DAYS)} with {rng.choice(COMPANIONS)} ."


def _adjective(mood: float, rng: random.Random) -> str:
    if rng.random() < 0.25:
        return rng.choice(NEUTRAL)
    return rng.choice(POSITIVE if rng.random() < mood else NEGATIVE)
