"""The demo's hidden rule: what the imagined people behind the preferences like.

The training never sees it. It decides (through noise) which review of a pair is preferred, and at the end it judges what
PPO made of the reward model's imitation of it.
"""

from examples.reviews.language import NEGATIVE, POSITIVE, TOPICS

LONG = 30
"""Words that a reader has patience for."""


def judge(prompt: str, response: str, finished: bool) -> float:
    """The hidden score of a review, higher is better: kind, on topic, varied, to the point, and finished."""
    words = response.split()
    asked = {topic for topic in TOPICS if topic in prompt.split()}
    sentiment = [word for word in words if word in POSITIVE or word in NEGATIVE]
    balance = sum(1 if word in POSITIVE else -1 for word in sentiment)
    mentioned = {topic for topic in TOPICS if topic in words}
    score = float(max(-3, min(3, balance)))
    score += 1.5 if mentioned & asked else 0.0
    score -= min(2, len(mentioned - asked))
    score -= 0.7 * (len(sentiment) - len(set(sentiment)))
    score -= 0.5 * response.count("i saw it on")
    score -= 0.1 * max(0, len(words) - LONG)
    return score if finished else score - 1.0
