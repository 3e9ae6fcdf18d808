"""A run's data as token ids: each stage has what it needs, and nothing else is asked for."""

import json
from pathlib import Path
from typing import Any

import pytest

from data.rows import Comparison
from tests.trainer.running import events_of
from tests.trainer.stage_tools import new_codec
from trainer import run_data
from trainer.errors import DataError
from trainer.events import EventLog, Message
from trainer.preflight.datasets import nothing_left
from trainer.preflight.report import raise_first
from trainer.session.session import Session
from trainer.spec import DataSpec, JobSpec
from trainer.stages.tokenize import TokenizedData, log_data_warnings, tokenize_data
from trainer.stages.tokenized_rows import tokenize_pairs
from trainer.text.codec import Codec
from trainer.text.stops import Stops


def encoded(
    folder: Path, files: dict[str, list[dict[str, Any]]], stops: Stops | None = None, **spec: Any
) -> TokenizedData:
    """The tokenised data of a run with these rows and this spec."""
    paths = {name: folder / f"{name}.jsonl" for name in files}
    for name, rows in files.items():
        paths[name].write_text("".join(json.dumps(row) + "\n" for row in rows))
    named = {name: str(path) for name, path in paths.items()}
    job = JobSpec.model_validate({"model": "unused", "data": named | {"max_completion_tokens": 4}} | spec)
    codec = Codec.for_tokenizer(new_codec().tokenizer, job.data, stops)
    log = EventLog(folder / "events.jsonl")
    try:
        loaded = run_data.load(job.data, job.stages, job.sft.turns)
        tokenized = tokenize_data(job, loaded, codec)
        log_data_warnings(Session(job, folder, log), loaded, codec, tokenized)
        raise_first(nothing_left(job, tokenized))
        return tokenized
    finally:
        log.close()


PROMPTS = [{"prompt": f"{n}+1?", "answer": n + 1} for n in range(20)]
LENGTH = [{"type": "length", "target": 3}]


def test_tokenize_prompts_alone_suffice_for_ppo_with_answers(tmp_path: Path) -> None:
    found = encoded(tmp_path, {"prompts": PROMPTS}, stages=["ppo"], rewards=LENGTH)
    answers = {p.prompt: p.answer for p in (*found.prompts, *found.held_out_prompts)}
    assert answers == {row["prompt"]: str(row["answer"]) for row in PROMPTS}
    assert not found.examples and not found.pairs and not found.texts
    assert (found.longest_demonstration(), found.longest_side(), found.longest_prompt()) == (0, 0, 5)


def test_tokenize_pretraining_texts_are_cut_at_max_tokens(tmp_path: Path) -> None:
    files: dict[str, Any] = {"prompts": PROMPTS, "pretraining": [{"text": "ab"}, {"text": "abcdef"}]}
    found = encoded(tmp_path, files, stages=["ppo"], rewards=LENGTH, ppo={"ptx": {"max_tokens": 3}})
    codec = new_codec()
    assert [codec.decode(ids) for ids in found.texts] == ["ab", "abc"]
    assert [ids[-1] == codec.eos_id for ids in found.texts] == [True, False]


def test_tokenize_long_rows_that_no_stage_uses_are_not_reported(tmp_path: Path) -> None:
    files: dict[str, Any] = {
        "preferences": [{"prompt": f"{n}", "chosen": "much too long", "rejected": "no"} for n in range(9)]
    }
    found = encoded(tmp_path, files, stages=["ppo"], rewards=LENGTH)
    assert not found.pairs and len(found.prompts) + len(found.held_out_prompts) == 9
    assert not [event for event in events_of(tmp_path) if isinstance(event, Message)]
    with pytest.raises(DataError, match="No pair is left after tokenising"):
        encoded(tmp_path, files, stages=["dpo"])


def warnings_in(folder: Path) -> list[str]:
    return [event.text for event in events_of(folder) if isinstance(event, Message)]


def test_why_pairs_are_left_out_is_counted(tmp_path: Path) -> None:
    same = [{"prompt": f"{n}", "chosen": "no", "rejected": "no"} for n in range(9)]
    long = [{"prompt": f"l{n}", "chosen": "much too long", "rejected": "no"} for n in range(9)]
    good = [{"prompt": f"g{n}", "chosen": "ab", "rejected": "no"} for n in range(9)]
    encoded(tmp_path, {"preferences": same + long + good}, stages=["dpo"])
    assert warnings_in(tmp_path) == ["18 pairs left out: 9 with same tokens on both sides, 9 with completion too long."]
    with pytest.raises(DataError, match=r"\d with same tokens on both sides. Bring pairs whose sides differ.$"):
        encoded(tmp_path, {"preferences": same}, stages=["dpo"])


def test_pairs_have_targets_and_a_tie_has_no_margin() -> None:
    rows = [("a", 2.0), ("b", None), ("tie", 2.0)]
    pairs, left_out = tokenize_pairs([Comparison("q", "x", "y", label, margin=m) for label, m in rows], new_codec())
    assert [(pair.target, pair.margin) for pair in pairs] == [(1.0, 2.0), (0.0, 0.0), (0.5, 0.0)] and left_out == 0


@pytest.mark.parametrize(("a", "b"), [("much too long", "no"), ("no", "much too long"), ("no", "no")])
def test_pairs_with_a_cut_or_an_equal_side_are_left_out(a: str, b: str) -> None:
    short = DataSpec(preferences="unused", max_completion_tokens=4)
    assert tokenize_pairs([Comparison("q", a, b, "a")], Codec.for_tokenizer(new_codec().tokenizer, short)) == ([], 1)


def test_tokenize_warns_once_of_no_template_and_no_margins(tmp_path: Path) -> None:
    talk = [{"role": "system", "content": "be"}, {"role": "user", "content": "q"}]
    rows: list[dict[str, Any]] = [{"prompt": f"{n}", "chosen": "ab", "rejected": "no"} for n in range(9)]
    files = {"preferences": [*rows, {"prompt": talk, "chosen": "ab", "rejected": "no"}]}
    encoded(tmp_path, files, stages=["reward_model"], reward_model={"margin": True})
    talks, margins = warnings_in(tmp_path)
    assert "conversations (1 of several messages)" in talks and "their roles are lost" in talks
    assert "no row of `data.preferences` has a `margin`" in margins


def test_tokenize_single_messages_with_margins_give_no_warning(tmp_path: Path) -> None:
    prompts: list[Any] = [[{"role": "user", "content": f"{n}"}] for n in range(9)]
    rows = [{"prompt": prompt, "chosen": "ab", "rejected": "no", "margin": 1} for prompt in prompts]
    encoded(tmp_path, {"preferences": rows}, stages=["reward_model"], reward_model={"margin": True})
    assert warnings_in(tmp_path) == []


def test_tokenize_logs_the_stops_and_warns_of_unusual_ones(tmp_path: Path) -> None:
    shown = [{"prompt": f"{n}", "completion": "ab" if n % 2 else "x\ny"} for n in range(10)]
    codec = new_codec()
    stops = Stops.for_tokenizer(codec.tokenizer, [7], ["\n"])
    encoded(tmp_path, {"sft": shown}, stops, stages=["sft", "ppo"], rewards=LENGTH)
    token = codec.tokenizer.convert_ids_to_tokens(7)
    said = warnings_in(tmp_path)
    assert said[0] == f'These end a response: <|eos|> (1), {token} (7), "\\n".'
    assert said[1].startswith(f"The model's generation settings end a response with {token} (7), which")
    assert said[2].startswith("5 of 10 demonstrations contain a stop string")


def test_shared_and_repeated_prompts_are_counted(tmp_path: Path) -> None:
    files: dict[str, Any] = {
        "prompts": [*PROMPTS, *PROMPTS[:5]],
        "evaluation_prompts": [PROMPTS[6], {"prompt": "x"}, {"prompt": "x"}],
    }
    found = encoded(tmp_path, files, stages=["ppo"], rewards=LENGTH)
    assert (len(found.prompts), len(found.held_out_prompts)) == (24, 3)
    shared, train, held_out = warnings_in(tmp_path)
    assert shared == "No stage trains on 1 prompts: their prompt is in `data.evaluation_prompts`."
    assert train.startswith("5 of 24 prompts to train on repeat an earlier row: each row is drawn")
    assert held_out.startswith("1 of 3 held-out prompts repeat an earlier row: each row is answered")
