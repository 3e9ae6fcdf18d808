"""Layouts of published datasets that are read without a question, and without a warning about lost columns."""

import pytest

from tests.data.reading import Row, jsonl, read, talk

ASKED, ANSWER, WORSE = (
    "Which colour is the sky at noon?",
    "It is blue on a clear day.",
    "It is green, as everybody knows.",
)
TURNS = talk(ASKED, ANSWER)
SAID = {"instruction": ASKED, "response": ANSWER}
SHAREGPT = [{"from": "human", "value": ASKED}, {"from": "gpt", "value": ANSWER}]
MODERATED = [{"flagged": False, "categories": {"hate": False}, "category_scores": {"hate": 0.001}}]

SFT: dict[str, Row] = {
    "dolly": SAID | {"context": "", "category": "open_qa"},
    "dolly with context": SAID | {"context": "The sky scatters light.", "category": "closed_qa"},
    "alpaca": {"instruction": ASKED, "input": "", "output": ANSWER, "text": f"Below is an instruction.\n{ASKED}\n{ANSWER}"},
    "alpaca evol": {"instruction": ASKED, "output": ANSWER, "idx": 7, "id": "a_7"},
    "openorca": {"id": "niv.1", "system_prompt": "Be brief.", "question": ASKED, "response": ANSWER},
    "sharegpt": {"id": "x_0", "conversations": SHAREGPT},
    "slimorca": {"conversations": [{"from": "system", "value": "Be brief.", "weight": None}, *SHAREGPT]},
    "openhermes": {"conversations": SHAREGPT, "source": "airoboros", "category": "trivia", "topic": "sky", "title": None,
                   "language": "English", "model": "gpt-4", "views": 1500, "id": "h1", "hash": "00ff", "avatarUrl": None},
    "ultrachat": {"prompt": ASKED, "prompt_id": "p1", "messages": TURNS},
    "no_robots": {"prompt": ASKED, "prompt_id": "p1", "messages": TURNS, "category": "Open QA"},
    "tulu": {"id": "t_1", "messages": TURNS, "source": "ai2/flan"},
    "capybara": {"source": "capybara", "conversation": [{"input": ASKED, "output": ANSWER}]},
    "metamath": {"query": ASKED, "response": ANSWER, "type": "GSM_Rephrased", "original_question": ASKED},
    "numina": {"source": "aops", "problem": ASKED, "solution": ANSWER, "messages": TURNS},
    "magpie": {"uuid": "u1", "model": "m", "gen_input_configs": {"temperature": 1.0, "top_p": 1.0}, "instruction": ASKED, "response": ANSWER,
               "conversations": SHAREGPT, "task_category": "Information seeking", "difficulty": "easy", "language": "EN", "response_length": 26},
    "distilabel": {"instruction": ASKED, "generation": ANSWER, "model_name": "m", "distilabel_metadata": {"raw_output": ANSWER}},
    "openai chat": {"messages": [{"role": "system", "content": "Be brief."}, *TURNS]},
    "openai weights": {"messages": [TURNS[0], TURNS[1] | {"weight": 1}]},
    "axolotl": {"conversations": SHAREGPT, "source": "s", "turns": 1, "tokens": 12, "split": "train"},
    "own rows": {"prompt": ASKED, "completion": ANSWER, "source": "s"},
    "metadata": {"prompt": ASKED, "completion": ANSWER, "split": "train", "language": "en", "num_turns": 1, "tokens": 9, "url": "https://x.y/z",
                 "timestamp": 1700000000, "is_english": True, "response_model": "m", "temperature": 0.7, "level": 3, "prompt_tokens": 4, "seed": 1,
                 "created_at": "2026-01-31", "topics": ["sky", "colour"], "license": "mit", "author": "kim", "row": 5, "turn": 1},
    "translated": {"prompt": ASKED, "completion": ANSWER, "lang": "de", "source_lang": "en", "translator_model": "m"},
    "lmsys chat": {"conversation_id": "c1", "model": "m", "conversation": TURNS, "turn": 1, "language": "English"},
    "history": {"instruction": ASKED, "input": "", "output": ANSWER, "history": [["Hi", "Hello"]], "system": "Be brief."},
    "code": {"instruction": ASKED, "output": ANSWER, "programming_language": "python", "file_path": "a/b.py", "stars_count": None},
}  # fmt: skip

PAIR = {"prompt": ASKED, "chosen": ANSWER, "rejected": WORSE}
PAIRS: dict[str, Row] = {
    "trl": PAIR,
    "hh-rlhf": {side: f"\n\nHuman: {ASKED}\n\nAssistant: {said}" for side, said in (("chosen", ANSWER), ("rejected", WORSE))},
    "ultrafeedback binarized": {"prompt": ASKED, "prompt_id": "p", "chosen": TURNS, "rejected": talk(ASKED, WORSE), "messages": TURNS,
                                "score_chosen": 8.5, "score_rejected": 3.0},
    "argilla cleaned": {"source": "evol", "prompt": ASKED, "chosen": TURNS, "chosen-rating": 5.0, "chosen-model": "gpt-4",
                        "rejected": talk(ASKED, WORSE), "rejected-rating": 2.0, "rejected-model": "m"},
    "orca dpo pairs": {"system": "Be brief.", "question": ASKED, "chosen": ANSWER, "rejected": WORSE},
    "distilabel orca": {"system": "", "input": ASKED, "chosen": ANSWER, "rejected": WORSE, "generations": [ANSWER, WORSE], "order": ["chosen", "rejected"],
                        "rating": [9.0, 4.0], "status": "unchanged", "chosen_score": 9.0, "in_gsm8k_train": False},
    "helpsteer2": {"prompt": ASKED, "response": ANSWER, "helpfulness": 4, "correctness": 4, "coherence": 4, "complexity": 1, "verbosity": 1},
    "helpsteer2 preference": {"split": "train", "prompt": ASKED, "response_1": ANSWER, "response_2": WORSE, "preference_strength": -2,
                              "preference_statement": "Response 1 is right.", "preference_elaboration": "The sky is blue, and the first one says so."},
    "helpsteer3": {"domain": "general", "language": "english", "context": talk(ASKED), "response1": ANSWER, "response2": WORSE, "overall_preference": -2,
                   "individual_preference": [{"score": -2, "reasoning": "The first is right.", "feedback_improvement": "None."}]},
    "nectar": {"prompt": f"\n\nHuman: {ASKED}\n\nAssistant: ", "answers": [{"answer": ANSWER, "model": "m", "rank": 1.0},
               {"answer": WORSE, "model": "n", "rank": 2.0}], "turns": 1, "num_responses": 2, "source": ["lmsys"], "good_natured": True},
    "pku saferlhf": {"prompt": ASKED, "response_0": ANSWER, "response_1": WORSE, "is_response_0_safe": True, "is_response_1_safe": False,
                     "better_response_id": 0, "safer_response_id": 0},
    "shp": {"post_id": "p", "domain": "askscience_train", "upvote_ratio": 0.98, "history": ASKED, "c_root_id_A": "x", "c_root_id_B": "y", "score_A": 54,
            "score_B": 7, "human_ref_A": ANSWER, "human_ref_B": WORSE, "labels": 1, "seconds_difference": 5.0, "score_ratio": 7.7},
    "webgpt": {"question": {"dataset": "eli5", "id": "1", "full_text": ASKED}, "quotes_0": {"title": ["t"], "extract": ["e"]}, "answer_0": ANSWER,
               "tokens_0": {"prefix": [1], "completion": [2]}, "score_0": 0.5, "answer_1": WORSE, "score_1": -0.5},
    "summaries": {"info": {"post": ASKED, "title": "t", "subreddit": "s"}, "summaries": [{"text": ANSWER, "policy": "sup"}, {"text": WORSE, "policy": "ref"}],
                  "choice": 0, "worker": "w", "batch": "b", "split": "train", "extra": {"confidence": 8}},
    "arena": {"question_id": "q", "model_a": "m", "model_b": "n", "winner": "model_a", "judge": "u", "conversation_a": TURNS,
              "conversation_b": talk(ASKED, WORSE), "turn": 1, "anony": True, "language": "English", "tstamp": 1682351591.1},
    "ultrafeedback": {"source": "evol", "instruction": ASKED, "models": ["m", "n"], "correct_answers": ["None"], "incorrect_answers": ["None"],
                      "completions": [{"model": "m", "response": ANSWER, "overall_score": 8.0, "fine-grained_score": 4.75, "critique": "Good.", "custom_system_prompt": "Be brief."},
                                      {"model": "n", "response": WORSE, "overall_score": 2.0, "fine-grained_score": 1.5, "critique": "Bad.", "custom_system_prompt": "Be brief."}]},
    "openai preference": {"input": {"messages": talk(ASKED), "tools": [], "parallel_tool_calls": True}, "preferred_output": TURNS[1:],
                          "non_preferred_output": [{"role": "assistant", "content": WORSE}]},
    "metadata": PAIR | {"source": "s", "category": "qa", "language": "en", "chosen_model": "m", "rejected_model": "n", "id": 3, "tokens": 11},
    "constant label": PAIR | {"label": 1},
    "confirmed": PAIR | {"winner": "chosen"},
}  # fmt: skip

OTHERS: dict[str, tuple[list[Row], str]] = {
    "kto": ([{"prompt": ASKED, "completion": ANSWER, "label": True}, {"prompt": "Why?", "completion": WORSE, "label": False}], "thumbs"),
    "kto mix": ([{"prompt": talk(ASKED), "completion": TURNS[1:], "label": True, "source": "s"}], "thumbs"),
    "gsm8k": ([{"question": ASKED, "answer": "6 × 12 = 72\n#### 72"}], "prompts"),
    "verl": ([{"data_source": "gsm8k", "prompt": talk(ASKED), "ability": "math", "reward_model": {"style": "rule", "ground_truth": "72"},
               "extra_info": {"split": "train", "index": 0}}], "prompts"),
    "deepscaler": ([{"prompt": ASKED, "answer": "72", "difficulty": 3, "type": "algebra"}], "prompts"),
    "tinystories": ([{"text": ANSWER}], "pretraining"),
    "wikipedia": ([{"id": "1", "url": "https://x.y", "title": "Sky", "text": ANSWER}], "pretraining"),
    "c4": ([{"text": ANSWER, "timestamp": "2019-04-25T12:57:54Z", "url": "https://x.y/z"}], "pretraining"),
}  # fmt: skip


def lost(records: list[Row]) -> tuple[str, list[str]]:
    """The kind that the records are read as, and the columns of the warning about lost content. Fails for a question."""
    found = read(jsonl(*records))
    told = [finding["detail"] for finding in found.converted.findings if finding["code"] == "verdicts_ignored"]
    return found.plan.kind, told


@pytest.mark.parametrize("name", SFT)
def test_demonstrations_are_read_without_a_question(name: str) -> None:
    others = [SFT[name] | {key: 2 for key in ("idx", "row") if key in SFT[name]}]
    assert lost([SFT[name], *others]) == ("sft", [])


@pytest.mark.parametrize("name", PAIRS)
def test_preferences_are_read_without_a_question(name: str) -> None:
    record = PAIRS[name]
    other = {"response": WORSE, "helpfulness": 1} if name == "helpsteer2" else {}
    kind, _ = lost([record, record | other])
    assert kind == "preferences"


@pytest.mark.parametrize("name", OTHERS)
def test_other_kinds_are_read_without_a_question(name: str) -> None:
    records, kind = OTHERS[name]
    assert lost(records) == (kind, [])
