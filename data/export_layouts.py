"""The records of stored rows in the layouts of other trainers: TRL, OpenAI, OpenRLHF, verl and LLaMA-Factory.

Each function yields the records of one row; a ranking gives its pairs, and a tie or an unlabelled row none. A function that
ends in `_loses` returns what else of a row the layout cannot hold, as `data.export.Export.not_carried` counts it.
"""

import itertools
from collections.abc import Iterator
from typing import Any

from data import rows
from data.schema import NOTES, THUMBS, DatasetKind
from data.stored_rows import ExportShape, Row, messages

_SPEAKERS = {"system": "system", "user": "human", "assistant": "gpt"}
_NO_SOURCE = "unknown"
"""verl's `data_source` of a row without a source. It must be a text."""


def pairs(row: Row) -> Iterator[tuple[str, str]]:
    """The preferred and the other answer of a pair, or of each pair of a ranking with a better answer."""
    if "completions" in row:
        ranked = list(zip(row["ranks"] or [], row["completions"], strict=False))
        for (rank, text), (other_rank, other) in itertools.combinations(ranked, 2):
            if rank != other_rank:
                yield (text, other) if rank < other_rank else (other, text)
    elif row["label"] in ("a", "b"):
        yield (row["a"], row["b"]) if row["label"] == "a" else (row["b"], row["a"])


def trl(row: Row, shape: ExportShape) -> Iterator[Row]:
    """Messages in every row if any row has messages, because a column has one type."""
    notes = {name: row[name] for name in NOTES if name in row}
    if "prompt" not in row:  # whole conversations and texts are the same there
        yield row
        return
    prompt, message = _sides(row, shape.conversational)
    if "steps" in row:
        labels = [label == "good" for label in row["labels"]]
        yield {"prompt": prompt, "completions": row["steps"], "labels": labels} | notes
    elif _has_pairs(row):
        for chosen, rejected in pairs(row):
            yield {"prompt": prompt, "chosen": message(chosen), "rejected": message(rejected)} | notes
    elif "completion" in row:
        label = {"label": row["thumb"] == THUMBS[0]} if "thumb" in row else {}
        yield {"prompt": prompt, "completion": message(row["completion"])} | label | notes
    else:
        yield row | {"prompt": prompt}


def trl_loses(row: Row) -> str | None:
    """A neutral label: TRL's are true and false."""
    return "neutral" if "neutral" in row.get("labels", ()) else None


def openai(row: Row, _: ExportShape) -> Iterator[Row]:
    if "messages" in row:
        yield {"messages": row["messages"]}
        return
    prompt = messages(row["prompt"])
    if _has_pairs(row):
        for chosen, rejected in pairs(row):
            yield {
                "input": {"messages": prompt, "tools": [], "parallel_tool_calls": True},
                "preferred_output": _said(chosen),
                "non_preferred_output": _said(rejected),
            }
    elif "completion" in row:
        yield {"messages": prompt + _said(row["completion"])}
    else:
        yield {"messages": prompt} | ({"answer": row["answer"]} if "answer" in row else {})


def openrlhf(row: Row, shape: ExportShape) -> Iterator[Row]:
    """Messages in every row if any row has messages. OpenRLHF joins the lists of a row and applies the chat template.

    Every row of prompts has the columns `label` and `datasource` if one has, because OpenRLHF reads them from each.
    """
    if "text" in row:
        yield {"input": row["text"]}
        return
    if "messages" in row:
        last = rows.demonstration(row)
        yield {"input": last.prompt, "output": _said(last.completion)}
        return
    prompt, message = _sides(row, shape.conversational or "messages" in shape.columns)
    if _has_pairs(row):
        margin = {"margin": row["margin"]} if "margin" in row else {}
        for chosen, rejected in pairs(row):
            yield {"prompt": prompt, "chosen": message(chosen), "rejected": message(rejected)} | margin
    elif "completion" in row:
        yield {"input": prompt, "output": message(row["completion"])}
    else:
        source = {"datasource": row.get("source", "default")} if "source" in shape.columns else {}
        answer = {"label": _answer(row)} if "answer" in shape.columns else {}
        yield {"input": prompt} | answer | source


def openrlhf_loses(row: Row) -> str | None:
    return "later_turns" if _goes_on(row) else None


def verl(row: Row, _: ExportShape) -> Iterator[Row]:
    if "messages" in row:
        yield {"messages": row["messages"]}
    elif _has_pairs(row):
        prompt = row["prompt"] if isinstance(row["prompt"], str) else row["prompt"][0]["content"]
        for chosen, rejected in pairs(row):
            yield {"prompt": prompt, "chosen": chosen, "rejected": rejected}
    elif "completion" in row:
        yield {"messages": messages(row["prompt"]) + _said(row["completion"])}
    else:
        answer = _answer(row)
        yield {
            "data_source": row.get("source", _NO_SOURCE),
            "prompt": messages(row["prompt"]),
            "reward_model": {"style": "model" if answer is None else "rule", "ground_truth": answer},
        }


def verl_loses(row: Row) -> str | None:
    """verl's reader of pairs takes the prompt as a text, without a chat template."""
    prompt = row.get("prompt")
    if _has_pairs(row) and isinstance(prompt, list) and any(pairs(row)):
        return "conversations" if [message["role"] for message in prompt] != ["user"] else None
    return None


def verl_columns(kind: DatasetKind) -> dict[str, Any]:
    """The columns of verl's file: "text", "messages", or a dict of the fields of an object."""
    if kind is DatasetKind.PREFERENCES:
        return dict.fromkeys(("prompt", "chosen", "rejected"), "text")
    if kind is DatasetKind.SFT:
        return {"messages": "messages"}
    return {"data_source": "text", "prompt": "messages", "reward_model": {"style": "text", "ground_truth": "text"}}


def llama_factory(row: Row, _: ExportShape) -> Iterator[Row]:
    """Sharegpt conversations; for prompts alpaca, because a sharegpt conversation must end with an answer."""
    if "text" in row:
        yield {"text": row["text"]}
        return
    if "messages" in row:
        last = rows.demonstration(row)
        yield {"conversations": _spoken([*messages(last.prompt), *_said(last.completion)])}
        return
    prompt = messages(row["prompt"])
    if _has_pairs(row):
        for chosen, rejected in pairs(row):
            sides = {"chosen": _spoken(_said(chosen))[0], "rejected": _spoken(_said(rejected))[0]}
            yield {"conversations": _spoken(prompt)} | sides
    elif "completion" in row:
        tag = {"kto_tag": row["thumb"] == THUMBS[0]} if "thumb" in row else {}
        yield {"conversations": _spoken([*prompt, *_said(row["completion"])])} | tag
    else:
        system, turns = _apart(prompt)
        before = [[user["content"], answer["content"]] for user, answer in zip(turns[:-1:2], turns[1::2], strict=True)]
        yield {"instruction": turns[-1]["content"], "system": system, "history": before}


def llama_factory_loses(row: Row) -> str | None:
    """LLaMA-Factory skips a conversation whose turns do not alternate, beginning with the user's."""
    if "text" in row or (_has_pairs(row) and not any(pairs(row))):
        return None
    talk = rows.demonstration(row).prompt if "messages" in row else row["prompt"]
    roles = [message["role"] for message in _apart(messages(talk))[1]]
    if roles != [("user", "assistant")[index % 2] for index in range(len(roles))] or len(roles) % 2 == 0:
        return "turns"
    return "later_turns" if _goes_on(row) else None


def _has_pairs(row: Row) -> bool:
    return "a" in row or "completions" in row


def _sides(row: Row, conversational: bool) -> tuple[Any, Any]:
    """The prompt, and the function that makes an answer, of the type that all rows have."""
    return (messages(row["prompt"]), _said) if conversational else (row["prompt"], str)


def _answer(row: Row) -> str | None:
    return str(row["answer"]) if "answer" in row else None


def _said(text: str) -> list[dict[str, str]]:
    return [{"role": "assistant", "content": text}]


def _goes_on(row: Row) -> bool:
    """Whether a conversation has turns behind the last one of the assistant."""
    return "messages" in row and bool(row["messages"][-1]["role"] != "assistant")


def _apart(talk: list[dict[str, str]]) -> tuple[str, list[dict[str, str]]]:
    """The system message, or an empty text, and the turns."""
    return (talk[0]["content"], talk[1:]) if talk and talk[0]["role"] == "system" else ("", talk)


def _spoken(talk: list[dict[str, str]]) -> list[dict[str, str]]:
    return [{"from": _SPEAKERS[message["role"]], "value": message["content"]} for message in talk]
