import json
from collections import Counter
from pathlib import Path

import pytest

from data.rows import Comparison, PromptRow
from trainer import run_data
from trainer.errors import DataError
from trainer.spec import DataSpec


def file_of(folder: Path, rows: list[object], name: str = "data.jsonl") -> str:
    path = folder / name
    path.write_text("".join((row if isinstance(row, str) else json.dumps(row)) + "\n" for row in rows))
    return str(path)


def pairs(count: int) -> list[object]:
    return [{"prompt": f"question {n}", "chosen": f"good {n}", "rejected": f"bad {n}"} for n in range(count)]


def test_no_prompt_is_both_trained_on_and_held_out(tmp_path: Path) -> None:
    sft = [{"prompt": f"question {n}", "completion": "text"} for n in range(0, 300, 3)]
    spec = DataSpec(
        preferences=file_of(tmp_path, pairs(200)), sft=file_of(tmp_path, sft, "sft.jsonl"), eval_fraction=0.2
    )
    loaded = run_data.load(spec)
    train = {d.prompt for d in loaded.demonstrations.train} | {c.prompt for c in loaded.comparisons.train}
    held_out = {d.prompt for d in loaded.demonstrations.held_out} | {c.prompt for c in loaded.comparisons.held_out}
    asked, kept = ({row.prompt for row in side} for side in (loaded.prompts.train, loaded.prompts.held_out))
    assert not (train | asked) & (held_out | kept)
    assert 0.1 < len(loaded.prompts.held_out) / 200 < 0.3


def test_without_sft_and_prompts_the_preferences_serve_for_both(tmp_path: Path) -> None:
    rows = [*pairs(30), {"prompt": "question 1", "a": "x", "b": "y", "label": "tie"}]
    loaded = run_data.load(DataSpec(preferences=file_of(tmp_path, rows)))
    demonstrations = loaded.demonstrations.train + loaded.demonstrations.held_out
    assert sorted(d.completion for d in demonstrations) == sorted(f"good {n}" for n in range(30))
    assert len(loaded.prompts.train) + len(loaded.prompts.held_out) == 30


def test_a_tiny_file_still_holds_one_prompt_out(tmp_path: Path) -> None:
    loaded = run_data.load(DataSpec(preferences=file_of(tmp_path, pairs(2)), eval_fraction=0.01))
    assert len(loaded.comparisons.train) == len(loaded.comparisons.held_out) == 1


def test_label_b_prefers_b(tmp_path: Path) -> None:
    row = {"prompt": "q", "a": "x", "b": "y", "label": "b"}
    loaded = run_data.load(DataSpec(preferences=file_of(tmp_path, [*pairs(20), row])))
    found = [c for c in loaded.comparisons.train + loaded.comparisons.held_out if c.prompt == "q"]
    assert found[0].preferred == "y"


def test_conversations_are_prompts_too(tmp_path: Path) -> None:
    prompt = [{"role": "system", "content": "be kind"}, {"role": "user", "content": "hello"}]
    answer = [{"role": "assistant", "content": "hi"}]
    rows = [*pairs(3), {"prompt": prompt, "chosen": answer, "rejected": "go away"}]
    loaded = run_data.load(DataSpec(preferences=file_of(tmp_path, rows)))
    everything = loaded.comparisons.train + loaded.comparisons.held_out
    assert Comparison(prompt, "hi", "go away", "a") in everything  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("row", "complaint"),
    [
        ('{"prompt": "q", "chosen": }', "line 3, column 27: The record is not valid JSON"),
        ("[1]", "line 3: The record must be a JSON object"),
        ({"prompt": "q", "chosen": "x"}, "line 3: The field 'rejected' is missing"),
        (
            {"prompt": "q\ud800", "chosen": "x", "rejected": "y"},
            "line 3: `prompt` holds a NUL character or half of a surrogate pair",
        ),
        ('{"prompt": "q", "prompt": "p", "chosen": "x", "rejected": "y"}', "line 3: The key 'prompt' is there twice"),
        (
            '{"prompt": "q", "chosen": "x", "rejected": "y", "margin": NaN}',
            "line 3: The record holds NaN, which is not JSON",
        ),
        ({"prompt": "q\0", "chosen": "x", "rejected": "y"}, "holds a NUL character"),
        (
            {"prompt": [{"role": "user", "content": "\0"}], "chosen": "x", "rejected": "y"},
            "holds a NUL character",
        ),
        ({"prompt": "", "chosen": "x", "rejected": "y"}, "line 3: `prompt` is empty"),
        ({"prompt": "q", "a": "x", "b": "y", "label": "A"}, "line 3: `label` must be one of a, b, tie"),
    ],
)
def test_bad_rows_are_named_by_line(tmp_path: Path, row: object, complaint: str) -> None:
    with pytest.raises(DataError, match=complaint):
        run_data.load(DataSpec(preferences=file_of(tmp_path, [*pairs(2), row])))


def test_a_text_that_spells_out_the_escape_of_nul_is_a_text(tmp_path: Path) -> None:
    row = {"prompt": "q", "chosen": r"print('\u0000')", "rejected": r"\\u0000"}
    loaded = run_data.load(DataSpec(preferences=file_of(tmp_path, [*pairs(2), row])), stages=())
    found = loaded.comparisons.train + loaded.comparisons.held_out
    assert Comparison("q", r"print('\u0000')", r"\\u0000", "a") in found


def test_a_missing_file_and_a_single_prompt_are_refused(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"nowhere.jsonl: No such file"):
        run_data.load(DataSpec(preferences=str(tmp_path / "nowhere.jsonl")))
    with pytest.raises(DataError, match="at least two different prompts"):
        run_data.load(DataSpec(preferences=file_of(tmp_path, pairs(1) * 5)))


def test_few_prompts_beside_many_pairs_still_leave_one_of_each(tmp_path: Path) -> None:
    prompts = file_of(tmp_path, [{"prompt": "this"}, {"prompt": "that"}], "prompts.jsonl")
    loaded = run_data.load(DataSpec(preferences=file_of(tmp_path, pairs(50)), prompts=prompts, eval_fraction=0.5))
    assert {len(loaded.prompts.train), len(loaded.prompts.held_out)} == {1}


def test_run_data_of_prompts_alone_is_sufficient(tmp_path: Path) -> None:
    rows = [{"prompt": f"{n} + {n}?", "answer": 2 * n} for n in range(9)] + [{"prompt": "hm?", "answer": "yes"}]
    spec = DataSpec(prompts=file_of(tmp_path, rows, "prompts.jsonl"))
    loaded = run_data.load(spec, ["ppo"])
    found = loaded.prompts.train + loaded.prompts.held_out
    assert {row.prompt: row.answer for row in found} == {f"{n} + {n}?": str(2 * n) for n in range(9)} | {"hm?": "yes"}
    assert not loaded.demonstrations.train and not loaded.comparisons.held_out
    with pytest.raises(DataError, match="No comparisons are left"):
        run_data.load(spec, ["reward_model"])


def test_run_data_sft_alone_needs_only_one_prompt(tmp_path: Path) -> None:
    spec = DataSpec(sft=file_of(tmp_path, [{"prompt": "q", "completion": "x"}]))
    loaded = run_data.load(spec, ["sft"])
    assert loaded.prompts.train == [PromptRow("q")] and loaded.demonstrations.train
    with pytest.raises(DataError, match="at least two different prompts"):
        run_data.load(spec, ["sft", "ppo"])


def test_run_data_pretraining_texts_are_unchanged(tmp_path: Path) -> None:
    path = file_of(tmp_path, [{"text": "a tale"}, {"text": "another"}], "texts.jsonl")
    spec = DataSpec(preferences=file_of(tmp_path, pairs(5)), pretraining=path)
    assert run_data.load(spec).texts == ["a tale", "another"]
    with pytest.raises(DataError, match="line 1: The field 'text' is missing"):
        run_data.load(spec.model_copy(update={"pretraining": spec.preferences}))


def test_an_empty_file_is_called_empty_by_name(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"none.jsonl: the file is empty"):
        run_data.load(DataSpec(preferences=file_of(tmp_path, pairs(9)), sft=file_of(tmp_path, [" "], "none.jsonl")))


def test_run_data_ties_alone_are_refused_for_sft_but_not_dpo(tmp_path: Path) -> None:
    tied = [{"prompt": f"{n}", "completions": ["x", "y"], "ranks": [1, 1]} for n in range(9)]
    spec = DataSpec(preferences=file_of(tmp_path, tied))
    with pytest.raises(DataError, match=r"data.jsonl: nothing but ties: no answer is preferred"):
        run_data.load(spec, ["sft"])
    assert run_data.load(spec, ["dpo"]).comparisons.train


def thumbs(count: int, down: int = 3) -> list[object]:
    """Every `down`-th is down."""
    return [
        {"prompt": f"question {n}", "completion": f"answer {n}", "thumb": "down" if n % down == 0 else "up"}
        for n in range(count)
    ]


def test_thumbs_alone_serve_for_demonstrations_and_prompts(tmp_path: Path) -> None:
    loaded = run_data.load(DataSpec(thumbs=file_of(tmp_path, thumbs(30))), ["sft", "kto", "evaluation"])
    shown = loaded.demonstrations.train + loaded.demonstrations.held_out
    assert sorted(d.completion for d in shown) == sorted(f"answer {n}" for n in range(30) if n % 3)
    assert len(loaded.prompts.train) + len(loaded.prompts.held_out) == 30
    assert len(loaded.thumbs.train) + len(loaded.thumbs.held_out) == 30
    assert {t.prompt for t in loaded.thumbs.held_out} == {row.prompt for row in loaded.prompts.held_out}


def test_run_data_thumbs_with_preferences_skip_sft_and_ppo(tmp_path: Path) -> None:
    spec = DataSpec(
        preferences=file_of(tmp_path, pairs(30)), thumbs=file_of(tmp_path, thumbs(60), "t.jsonl"), eval_fraction=0.3
    )
    loaded = run_data.load(spec, ["sft", "reward_model", "kto"])
    assert {d.completion.split()[0] for d in loaded.demonstrations.train} == {"good"}
    assert len(loaded.prompts.train) + len(loaded.prompts.held_out) == 30
    kept = {c.prompt for c in loaded.comparisons.held_out}
    assert kept <= {t.prompt for t in loaded.thumbs.held_out} and not kept & {t.prompt for t in loaded.thumbs.train}


def test_run_data_thumbs_of_one_kind_are_refused(tmp_path: Path) -> None:
    down = DataSpec(thumbs=file_of(tmp_path, thumbs(30, down=1)))
    with pytest.raises(DataError, match="every thumb that is trained on is down: a model cannot learn the difference"):
        run_data.load(down, ["kto"])
    with pytest.raises(DataError, match="every thumb that is trained on is down"):
        run_data.load(down, ["reward_model"], loss="pointwise")
    with pytest.raises(DataError, match="every thumb is down, and SFT would learn"):
        run_data.load(down, ["sft"])


def test_run_data_thumbs_trained_on_need_both_verdicts(tmp_path: Path) -> None:
    """The only thumb down is that of t2, whose hash begins with 1a: it is held out at 3/16. SFT needs no thumb down."""
    rows: list[object] = [{"prompt": f"t{n}", "completion": "x", "thumb": "down" if n == 2 else "up"} for n in range(6)]
    spec = DataSpec(thumbs=file_of(tmp_path, rows), eval_fraction=3 / 16)
    with pytest.raises(DataError, match="every thumb that is trained on is up"):
        run_data.load(spec, ["kto"])
    assert len(run_data.load(spec, ["sft"]).demonstrations.train) == 5


def test_every_kind_of_row_is_held_out_by_the_hash(tmp_path: Path) -> None:
    """Below 3/16 are hashes (`printf d3 | b2sum -l 64`) that begin with 0, 1 or 2: 23 of d3, 05 of c2, 18 of c4, 1a of t2.

    No prompt for PPO is below it. The least hash is that of p2, which begins with 4c.
    """

    def named(letter: str, count: int, **fields: object) -> str:
        rows: list[object] = [{"prompt": f"{letter}{n}", **fields} for n in range(count)]
        return file_of(tmp_path, rows, f"{letter}.jsonl")

    spec = DataSpec(
        sft=named("d", 6, completion="x"),
        preferences=named("c", 6, chosen="x", rejected="y"),
        thumbs=named("t", 6, completion="x", thumb="up"),
        prompts=named("p", 4),
        eval_fraction=3 / 16,
    )
    loaded = run_data.load(spec)
    sides = (loaded.demonstrations, loaded.comparisons, loaded.thumbs, loaded.prompts)
    assert [[item.prompt for item in side.held_out] for side in sides] == [["d3"], ["c2", "c4"], ["t2"], ["p2"]]


def test_repeated_prompts_keep_their_weight_on_both_sides(tmp_path: Path) -> None:
    rows: list[object] = [{"prompt": f"q {n}", "answer": n} for n in range(40)] * 2 + [{"prompt": "q 1", "answer": 7}]
    loaded = run_data.load(DataSpec(prompts=file_of(tmp_path, rows)), ["ppo"])
    found = Counter((row.prompt, row.answer) for row in loaded.prompts.train + loaded.prompts.held_out)
    assert found == {(f"q {n}", str(n)): 2 for n in range(40)} | {("q 1", "7"): 1}
    assert not {row.prompt for row in loaded.prompts.train} & {row.prompt for row in loaded.prompts.held_out}


def test_prompts_of_pairs_count_once_each(tmp_path: Path) -> None:
    loaded = run_data.load(DataSpec(preferences=file_of(tmp_path, pairs(30) * 3)), ["ppo"])
    assert len(loaded.prompts.train) + len(loaded.prompts.held_out) == 30


def test_run_data_evaluation_prompts_may_be_a_separate_dataset(tmp_path: Path) -> None:
    asked: list[object] = [{"prompt": f"question {n}", "answer": n} for n in range(60)]
    own: list[object] = [{"prompt": f"question {n}", "answer": 0} for n in (3, 4)] + [{"prompt": "another"}] * 2
    shown: list[object] = [{"prompt": f"question {n}", "completion": "text"} for n in (3, 8)]
    spec = DataSpec(
        preferences=file_of(tmp_path, pairs(200)),
        prompts=file_of(tmp_path, asked, "prompts.jsonl"),
        sft=file_of(tmp_path, shown, "sft.jsonl"),
        thumbs=file_of(tmp_path, thumbs(9), "thumbs.jsonl"),
        evaluation_prompts=file_of(tmp_path, own, "own.jsonl"),
    )
    loaded = run_data.load(spec)
    assert [(row.prompt, row.answer) for row in loaded.prompts.held_out] == [
        ("question 3", "0"), ("question 4", "0"), ("another", None), ("another", None),
    ]  # fmt: skip
    assert [row.prompt for row in loaded.prompts.train] == [f"question {n}" for n in range(60) if n not in (3, 4)]
    assert loaded.shared == {"demonstrations": 1, "pairs": 2, "prompts": 2, "thumbs": 2}
    trained_on = {c.prompt for c in loaded.comparisons.train} | {d.prompt for d in loaded.demonstrations.train}
    assert not trained_on & {"question 3", "question 4"}
    assert 0.03 < len(loaded.comparisons.held_out) / 200 < 0.2, "the other stages hold out by the hash"


def test_run_data_evaluation_prompts_must_leave_training_prompts(tmp_path: Path) -> None:
    """A run without training may hold out every prompt."""
    path = file_of(tmp_path, [{"prompt": "the only one"}])
    with pytest.raises(DataError, match=r"No prompts are left .* holding out the prompts of `data.evaluation_prompts`"):
        run_data.load(DataSpec(prompts=path, evaluation_prompts=path), ["ppo"])
    assert len(run_data.load(DataSpec(evaluation_prompts=path), ["evaluation"]).prompts.held_out) == 1
    with pytest.raises(DataError, match=r"own\.jsonl, line 1"):
        run_data.load(DataSpec(prompts=path, evaluation_prompts=file_of(tmp_path, [{}], "own.jsonl")), ["ppo"])
