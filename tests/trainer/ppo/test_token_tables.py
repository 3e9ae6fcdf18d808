"""Completions token by token."""

from typing import Any

import pytest
import torch
from transformers import AutoTokenizer

from tests.trainer.stage_tools import four_models, new_codec, respond_and_learn
from trainer.ppo.experience import Experience
from trainer.ppo.token_tables import token_tables, token_texts
from trainer.ppo.update import Updated
from trainer.spec import PPOSpec
from trainer.text.codec import train_tokenizer

PROMPTS = [[5], [6, 7, 8], [9, 10]]


def tables(iteration: int = 0, **changes: Any) -> tuple[Experience, list[list[dict[str, Any]]]]:
    spec = PPOSpec.model_validate({"max_new_tokens": 6, "log_token_tables": 2, **changes})
    actors = four_models()
    experience = respond_and_learn(actors, PROMPTS, new_codec(), spec, seed=3)
    clipped = torch.zeros_like(experience.advantages_BR, dtype=torch.bool)
    clipped[1, 0] = True
    found = token_tables(
        experience, Updated(experience, [], clipped, 0, 1.0, False), new_codec().tokenizer, spec, iteration
    )
    return experience, [[row.model_dump() for row in table] for table in found]


def test_a_row_has_what_the_update_saw_of_the_token() -> None:
    experience, found = tables()
    scored = experience.scored
    assert [len(table) for table in found] == [len(response.ids) for response in scored.responses[:2]]
    for response, table in enumerate(found):
        for position, row in enumerate(table):
            own, reference = (x[response, position] for x in (scored.logprobs_BR, scored.reference_logprobs_BR))
            assert (row["logprob"], row["reference_logprob"]) == (float(own), float(reference))
            assert row["kl"] == pytest.approx(float(own - reference))
            for name, values in (("value", experience.values_BR), ("advantage", experience.advantages_BR)):
                assert values is not None and row[name] == float(values[response, position])
            assert row["reward"] == float(experience.rewards_BR[response, position])
            assert row["clipped"] is ((response, position) == (1, 0))


def test_what_took_no_part_is_left_out() -> None:
    _, warming_up = tables(iteration=1, critic={"warmup_steps": 2})
    _, unclipped = tables(policy_loss={"kind": "unclipped"})
    assert warming_up[1][0]["clipped"] is None and unclipped[1][0]["clipped"] is None
    assert tables(iteration=2, critic={"warmup_steps": 2})[1][1][0]["clipped"] is True
    assert tables(log_token_tables=0)[1] == []


def test_parts_of_a_character_go_by_their_names_and_the_rest_add_up_to_the_text() -> None:
    tokenizer = train_tokenizer(["x"], 260)  # bytes alone: é is two tokens, € three
    text = "a é € b<|eos|>"
    ids = tokenizer(text)["input_ids"]
    texts = token_texts(tokenizer, ids)
    assert texts == ["a", " ", "Ã", "©", " ", "â", "Ĥ", "¬", " ", "b", "<|eos|>"]


def test_spaces_before_words_are_kept(shared_data: Any) -> None:
    tokenizer = AutoTokenizer.from_pretrained(shared_data / "model_stories260k")
    ids = tokenizer("Once upon a time", add_special_tokens=False)["input_ids"]
    assert "".join(token_texts(tokenizer, ids)).strip() == "Once upon a time"
