"""Human preferences that were published in forms of their own: OpenAI's summaries and WebGPT."""

from typing import Any

from data.errors import RowError
from data.formats.base import PREFERENCES, Format, Reading, Rows, Source, has
from data.formats.values import field, listed, notes, number, numbered_label, text
from data.names import NOTED


def _summaries(record: Source, reading: Reading) -> Rows:
    info, summaries = field(record, "info"), listed(record, "summaries")
    if not isinstance(info, dict) or len(summaries) != 2 or not all(isinstance(one, dict) for one in summaries):
        raise RowError("must be two summaries of what `info` holds", pointer="/summaries", code="wrong_type")
    first, second = (text(summary, "text") for summary in summaries)
    label = numbered_label(field(record, "choice"), "choice", {0: "a", 1: "b"}, reading)
    yield {"prompt": _post(info), "a": first, "b": second, "label": label} | notes(record)


def _post(info: dict[str, Any]) -> str:
    """The prompt of the paper's models (Stiennon et al. 2020, table 12); news items have only their text."""
    if not isinstance(info.get("post"), str):
        return f"{text(info, 'article')}\n\nTL;DR:"
    heads = [f"SUBREDDIT: r/{info['subreddit']}"] if info.get("subreddit") else []
    heads += [f"TITLE: {info['title']}"] if info.get("title") else []
    return "\n".join([*heads, f"POST: {info['post']}", "TL;DR:"])


def _webgpt(record: Source, reading: Reading) -> Rows:
    question_field = field(record, "question")
    question = question_field if isinstance(question_field, dict) else {"full_text": question_field}
    first, second = (number(field(record, name), name, reading) for name in ("score_0", "score_1"))
    label = "a" if first > second else "b" if second > first else "tie"
    row = {"prompt": text(question, "full_text"), "a": text(record, "answer_0"), "b": text(record, "answer_1")}
    strength = {} if first == second else {"margin": round(abs(first - second), 12)}
    yield row | {"label": label} | strength | notes(question)


SUMMARIES = Format(
    id="summarize_from_feedback",
    title="OpenAI, summaries compared",
    about="A post with two summaries and the one that was chosen; `worker` is the annotator.",
    source="https://huggingface.co/datasets/openai/summarize_from_feedback",
    kinds=(PREFERENCES,),
    example=(
        {
            "info": {"post": "The sky was blue all day.", "title": "Weather", "subreddit": "weather"},
            "summaries": [{"text": " It was green."}, {"text": " Blue sky."}],
            "choice": 1,
            "worker": "w1",
        },
    ),
    fields=NOTED | {"info", "summaries", "choice"},
    fits=lambda record: has(record, "info", "summaries", "choice"),
    rows=_summaries,
    names={"a": "summaries/0/text", "b": "summaries/1/text", "prompt": "info"},
    specific=90,
    labelled=True,
)
WEBGPT = Format(
    id="webgpt_comparisons",
    title="OpenAI, WebGPT comparisons",
    about="A question with two answers and their scores from -1 to 1; the difference is the margin, the same score a tie.",
    source="https://huggingface.co/datasets/openai/webgpt_comparisons",
    kinds=(PREFERENCES,),
    example=(
        {
            "question": {"dataset": "eli5", "id": "q1", "full_text": "Which colour is the sky?"},
            "answer_0": "Green.",
            "answer_1": "Blue, by day [1].",
            "score_0": -0.5,
            "score_1": 0.5,
        },
    ),
    fields=frozenset({"question", "answer_0", "answer_1", "score_0", "score_1"}),
    fits=lambda record: has(record, "question", "answer_0", "answer_1", "score_0", "score_1"),
    rows=_webgpt,
    names={"a": "answer_0", "b": "answer_1", "prompt": "question/full_text"},
    specific=90,
    labelled=True,
)
