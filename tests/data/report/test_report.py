"""Reports from beginning to end: defects that are planted, and the rows that the findings name."""

from pathlib import Path

import numpy as np
import pytest

from data.report import rows_file
from tests.data.report.tools import Row, pair, plain_pairs, report
from trainer.errors import DataError

LONG = (
    "The old lighthouse keeper climbed the narrow stairs every evening at dusk, carrying a small lantern, two slices of bread "
    "and the newspaper that the boat had brought, and he lit the great lamp before the first ships came round the cape."
)


def test_report_of_clean_rows_has_no_findings(tmp_path: Path) -> None:
    made = report(tmp_path, plain_pairs(40))
    assert made.result["findings"] == []
    summary = made.result["summary"]
    assert (summary["rows"], summary["prompts"], summary["pairs"], summary["ties"], summary["duplicates"]) == (
        40,
        40,
        40,
        0,
        0,
    )
    assert made.result["languages"][0]["language"] == "en"


def test_copies_exact_normalised_and_near(tmp_path: Path) -> None:
    first = pair(LONG, f"{LONG} Yes.", "Not at all, I should think.", "b")
    turned = {"prompt": LONG, "a": first["b"], "b": first["a"], "label": "a"}
    shouted = pair(LONG.upper(), f"{LONG}  Yes.", "Not at all, I should think.", "b")
    nearly = pair(LONG, f"{LONG} No.", "Not at all, I should think.", "b")
    other_answer = pair(LONG, f"{LONG} Yes.", "Something completely different, as they say.", "a")
    rows = [first, *plain_pairs(3), turned, shouted, nearly, other_answer, first | {"annotator": "kim"}]
    made = report(tmp_path, rows)
    assert made.rows("duplicate_rows") == [5]
    assert made.rows("normalised_duplicates") == [6]
    assert made.rows("near_duplicates") == [7]
    assert made.finding("duplicate_rows")["samples"][0]["text"].startswith("as line 1: …")
    assert made.finding("near_duplicates")["fix"] == {"id": "drop", "label": "Drop the later ones"}


def test_contradictions_and_circles(tmp_path: Path) -> None:
    rows = [
        pair("q", "x", "y", "a"),
        *plain_pairs(2),
        pair("q", "y", "x", "a"),  # row 4 contradicts row 1
        pair("q", "x", "y", "tie"),  # prefers neither
        pair("r", "x", "y", "a"),  # rows 6, 7 and 8: x > y > z > x
        pair("r", "y", "z", "a"),
        pair("r", "x", "z", "b"),
        pair("r", "x", "w", "a"),
        pair("s", "x", "y", None),
        pair("s", "y", "x", None),  # not judged
    ]
    made = report(tmp_path, rows)
    assert made.rows("contradictions") == [1, 4]
    assert made.rows("cycles") == [6, 7, 8]
    assert made.result["summary"]["unlabelled"] == 2 and made.result["summary"]["ties"] == 1


def test_rankings_are_their_pairs(tmp_path: Path) -> None:
    rows = [
        {"prompt": "q", "completions": ["x", "y", "z"], "ranks": [1, 2, 2]},
        pair("q", "y", "x", "a"),
        {"prompt": "r", "completions": ["x", "y", "z"], "ranks": None},
        pair("r", "y", "x", "a"),
    ]
    made = report(tmp_path, rows)
    assert made.rows("contradictions") == [1, 2]
    summary = made.result["summary"]
    assert (summary["pairs"], summary["rankings"], summary["unlabelled"]) == (3 + 1 + 3 + 1, 2, 1)


def test_report_only_ties_is_blocking_and_many_ties_a_finding(tmp_path: Path) -> None:
    ties = [row | {"label": "tie"} for row in plain_pairs(3)]
    assert "only_ties" in report(tmp_path, ties).codes
    assert "many_ties" in report(tmp_path, [*ties, plain_pairs(4)[3]]).codes


def test_biases_need_enough_pairs_to_be_one(tmp_path: Path) -> None:
    leaning = [row | {"label": "b" if n % 10 == 0 else "a"} for n, row in enumerate(plain_pairs(100))]
    made = report(tmp_path, leaning)
    assert made.result["position"]["a_of_decided"] == 0.9
    assert "position_bias" in made.codes
    few = report(tmp_path, leaning[:11])
    assert few.result["position"]["a_of_decided"] == pytest.approx(9 / 11)
    assert "position_bias" in few.codes
    assert not {"position_bias", "length_bias"} & report(tmp_path, leaning[9:13]).codes  # three of four are no proof


def test_the_longer_one_wins_nearly_always(tmp_path: Path) -> None:
    rows = [pair(f"{LONG} {n}", "Yes." * (1 + n % 3) + " Indeed.", "No.", "ab"[n % 2]) for n in range(60)]
    rows = [row if row["label"] == "a" else row | {"a": row["b"], "b": row["a"]} for row in rows]
    made = report(tmp_path, rows)
    bias = made.result["length_bias"]
    assert (bias["longer_wins"], bias["length_only_accuracy"], bias["rule"]) == (1.0, 1.0, "the longer one wins")
    assert "length_bias" in made.codes


def test_report_detects_languages(tmp_path: Path) -> None:
    german = pair(
        "Wo kann ich bitte mehr über die Geschichte der Stadt lesen?",
        "In der Bücherei steht ein ganzes Regal voll davon, gleich neben der Tür.",
        "Frag doch deinen Nachbarn, der schreibt für die Zeitung.",
    )
    mixed = german | {"prompt": "Where can I read more about the history of the town, please?"}
    made = report(tmp_path, [*plain_pairs(9), german, mixed])
    assert made.rows("language_mix") == [10, 11]
    assert made.rows("language_differs") == [11]
    assert made.result["languages"] == [
        {"language": "en", "rows": 9, "share": 9 / 11},
        {"language": "de", "rows": 2, "share": 2 / 11},
    ]


def test_lines_are_those_of_the_source(tmp_path: Path) -> None:
    np.array([3, 7, 2**40], "<u8").tofile(tmp_path / "lines.u64")
    rows = [*plain_pairs(2), plain_pairs(1)[0]]
    made = report(tmp_path, rows, lines=str(tmp_path / "lines.u64"))
    finding = made.finding("duplicate_rows")
    assert finding["lines"] == [2**40] and made.rows("duplicate_rows") == [3]
    assert (finding["samples"][0]["line"], finding["samples"][0]["row"]) == (2**40, 3)
    assert finding["samples"][0]["text"].startswith("as line 3: ")
    assert (finding["count"], finding["share"]) == (1, 1 / 3)
    with pytest.raises(DataError, match="3 line numbers for 2 rows"):
        report(tmp_path, rows[:2], lines=str(tmp_path / "lines.u64"))


def test_report_finding_uses_the_line_of_the_answer(tmp_path: Path) -> None:
    np.array([1, 2, 3], "<u8").tofile(tmp_path / "lines.u64")
    np.array([1, 4, 2, 6, 5, 3, 7], "<u8").tofile(tmp_path / "answer_lines.u64")
    answer_lines = str(tmp_path / "answer_lines.u64")
    rows: list[Row] = [
        {"prompt": "Is it far?", "completions": ["Not at all.", "Very far.</s>"], "ranks": [1, 2]},
        {"prompt": "Is it near?", "completions": ["It is. ", "Not that I know.</s>"], "ranks": [1, 2]},
        {"prompt": "Is it open?</s>", "completions": ["Yes, yes.", "It may be.", "It may be. "], "ranks": [1, 2, 3]},
    ]
    made = report(tmp_path, rows, lines=str(tmp_path / "lines.u64"), answer_lines=answer_lines)
    assert made.finding("special_tokens")["lines"] == [4, 6, 3]
    assert [sample["line"] for sample in made.finding("special_tokens")["samples"]] == [4, 6, 3]
    assert made.finding("trailing_whitespace")["lines"] == [2, 7]
    assert made.finding("same_after_trim")["lines"] == [7]
    with pytest.raises(DataError, match="7 line numbers for 5 answers"):
        report(tmp_path, rows[1:], answer_lines=answer_lines)


def test_report_record_of_several_rows_is_reported_once(tmp_path: Path) -> None:
    spelt = [row | {"b": f"{row['b']}</s>"} for row in plain_pairs(25)]
    rows = [row | {"annotator": f"person {n}"} for row in spelt for n in range(3)]
    np.repeat([*range(1, 26), 30], 3).astype("<u8").tofile(tmp_path / "lines.u64")
    made = report(tmp_path, [*rows, *rows[:3]], lines=str(tmp_path / "lines.u64"))
    finding = made.finding("special_tokens")
    assert (finding["count"], finding["lines"]) == (78, list(range(1, 21)))
    assert [sample["line"] for sample in finding["samples"]] == [1, 2, 3]
    assert [sample["line"] for sample in made.finding("duplicate_rows")["samples"]] == [30]


def test_report_of_several_processes_and_chunks_is_the_same(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rows: list[Row] = []
    for number, row in enumerate(plain_pairs(120)):
        rows += [row | {"annotator": f"person {number % 7}"}, row | {"annotator": "ann", "label": "tie"}]
    rows += [pair(f"{LONG} {n}", "yes \n", "no", "ab"[n % 2]) for n in range(20)] + rows[3:9]
    (tmp_path / "one").mkdir()
    (tmp_path / "two").mkdir()
    one = report(tmp_path / "one", rows)
    monkeypatch.setattr(rows_file, "CHUNK", 5000)
    two = report(tmp_path / "two", rows, processes=2)
    assert one.result == two.result
    assert {"near_duplicates", "duplicate_rows", "trailing_whitespace", "annotators_disagree"} <= one.codes
    assert all(one.rows(code) == two.rows(code) for code in one.codes)
    assert not list((tmp_path / "two" / "rows").glob(".*"))


@pytest.mark.parametrize(
    ("kind", "row", "summary"),
    [
        ("sft", {"prompt": "q", "completion": "yes \n"}, {"rows": 1, "prompts": 1, "duplicates": 0, "steps_sft": 1}),
        (
            "sft",
            {"messages": [{"role": "user", "content": "q"}, {"role": "assistant", "content": "yes "}]},
            {"rows": 1, "prompts": 1, "duplicates": 0, "steps_sft": 1},
        ),
        (
            "steps",
            {"prompt": "q", "steps": ["a", "b", "c "], "labels": ["good", "neutral", "bad"]},
            {
                "rows": 1,
                "prompts": 1,
                "good_steps": 1,
                "neutral_steps": 1,
                "bad_steps": 1,
                "without_bad_steps": 0,
                "annotators": 0,
                "duplicates": 0,
                "steps_reward_model": 1,
            },
        ),
        ("prompts", {"prompt": [{"role": "user", "content": "q "}]}, {"rows": 1, "prompts": 1, "duplicates": 0}),
        ("pretraining", {"text": "Once upon a time "}, {"rows": 1, "duplicates": 0}),
    ],
)
def test_other_kinds_have_reports_too(tmp_path: Path, kind: str, row: Row, summary: dict[str, int]) -> None:
    made = report(tmp_path, [row], kind=kind)
    assert made.result["summary"] == summary
    assert any(code.endswith("_whitespace") for code in made.codes)
    twice = report(tmp_path, [row, row], kind=kind)
    assert twice.rows("duplicate_rows") == [2]


def test_one_solution_with_other_labels_is_no_copy(tmp_path: Path) -> None:
    row = {"prompt": "q", "steps": ["a", "b"], "labels": ["good", "bad"]}
    made = report(tmp_path, [row, row | {"labels": ["bad", "bad"]}, row], kind="steps")
    assert made.rows("duplicate_rows") == [3]


def test_a_row_that_the_trainer_refuses_is_named_by_its_line(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"rows\.jsonl, line 3: `b` is empty"):
        report(tmp_path, [*plain_pairs(2), {"prompt": "q", "a": "x", "b": " ", "label": "a"}])


def test_rows_of_an_earlier_report_are_gone(tmp_path: Path) -> None:
    row = plain_pairs(1)[0]
    assert report(tmp_path, [row, row]).rows("duplicate_rows") == [2]
    assert report(tmp_path, plain_pairs(2)).rows("duplicate_rows") == []


def test_report_round_on_chosen_pairs_gives_no_position_bias(tmp_path: Path) -> None:
    uploaded = [row | {"label": "a"} for row in plain_pairs(300)]
    answered = [row | {"annotator": "kim", "source": "annotation/r"} for row in plain_pairs(340)[300:]]
    made = report(tmp_path, uploaded + answered)
    assert made.result["position"]["pairs"] == 40 and "position_bias" not in made.codes
