"""Reports and fixes, through the real API, the real handlers and the real command."""

from pathlib import Path
from typing import Any

import pytest
from fastapi.testclient import TestClient

from core.settings import Settings, get_settings
from tests.core.factories import jsonl
from tests.data.reading import talk
from tests.worker.tasks.tools import drain_all

QUESTION = "Where can I read more about the history of this town, please?"
ROWS: list[dict[str, Any]] = [
    {"prompt": QUESTION, "chosen": "The library has a shelf full of it.", "rejected": "No idea."},
    {"prompt": "Is it far?", "chosen": "Not at all.</s>", "rejected": "Very far, I fear."},
    {"prompt": QUESTION, "chosen": "The library has a shelf full of it.", "rejected": "No idea."},
    {"prompt": "And on Sundays?", "chosen": "It is closed. ", "rejected": "It is closed, I think."},
    {"prompt": "When then?", "a": "On Monday.", "b": "On Tuesday.", "label": "b"},
    {"prompt": "At what time?", "chosen": "At nine. ", "rejected": "At nine.</s>"},
]


@pytest.fixture
def settings(settings: Settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Settings:
    """Jobs and reports may read models from the test's folder."""
    monkeypatch.setenv("PROXIMAL_LOCAL_MODELS", str(tmp_path))
    get_settings.cache_clear()
    return get_settings()


def upload(client: TestClient, settings: Settings, rows: list[dict[str, Any]] = ROWS) -> str:
    """The API path of a dataset with a report. Because of blank lines, line numbers differ from row numbers."""
    content = b"\n" + jsonl(rows[:1]) + b"\n" + jsonl(rows[1:])
    made = client.post("/v1/datasets", files={"file": ("pairs.jsonl", content)}, data={"kind": "preferences"})
    assert made.status_code == 201, made.text
    drain_all(settings)
    return f"/v1/datasets/{made.json()['id']}"


def report_of(client: TestClient, path: str, **wishes: Any) -> dict[str, Any]:
    made = client.post(f"{path}/reports", json=wishes)
    assert made.status_code == 200, made.text
    found: dict[str, Any] = made.json()
    assert found["status"] == "succeeded", found["error"]
    return found


def test_a_version_has_its_report_and_rows_are_found_by_finding(client: TestClient, settings: Settings) -> None:
    path = upload(client, settings)
    report = report_of(client, path)
    findings = {finding["code"]: finding for finding in report["result"]["findings"]}
    assert findings["duplicate_rows"]["lines"] == [5]  # the fifth line of the file, the third row
    assert findings["special_tokens"]["count"] == 2 and report["result"]["special_tokens"] == ["</s>"]
    rows = client.get(f"{path}/rows", params={"finding": "special_tokens"}).json()["data"]
    assert [(row["line"], row["row_number"]) for row in rows] == [(4, 2), (8, 6)]
    assert client.get(path).json()["findings"]["warning"] >= 2


def test_fixes_drop_rows_and_change_texts(client: TestClient, settings: Settings) -> None:
    path = upload(client, settings)
    codes = ["duplicate_rows", "special_tokens", "trailing_whitespace"]
    made = client.post(f"{path}/fixes", json={"findings": codes}).json()
    assert made["status"] == "importing"
    drain_all(settings)
    fixed = client.get(f"{path}/versions/2").json()
    assert (fixed["status"], fixed["rows"]) == ("ready", 4)
    # dropped: the copy, and the row whose answers are equal once both are stripped
    assert (fixed["origin"]["dropped"], fixed["origin"]["changed"]) == (2, 2)
    rows = client.get(f"{path}/rows").json()["data"]
    assert [(row["line"], row["row"]["a"]) for row in rows] == [
        (2, "The library has a shelf full of it."),
        (4, "Not at all."),
        (6, "It is closed."),
        (7, "On Monday."),
    ]
    assert client.get(f"{path}/rows?version=1").json()["data"][1]["row"]["a"] == "Not at all.</s>"
    assert not {finding["code"] for finding in report_of(client, path)["result"]["findings"]} & set(codes)


def test_report_answers_from_separate_records_keep_their_lines(client: TestClient, settings: Settings) -> None:
    """Thumbs up on lines 1 to 3, thumbs down on lines 4 to 6. The prompt of line 2 occurs once."""
    said = [("p", "fine", True), ("alone", "x", True), ("q", "good", True)]
    said += [("p", "poor</s>", False), ("q", "bad</s>", False), ("q", "worse ", False)]
    content = jsonl([{"prompt": prompt, "completion": text, "label": label} for prompt, text, label in said])
    form = {"kind": "preferences", "bad_rows": "report"}
    made = client.post("/v1/datasets", files={"file": ("thumbs.jsonl", content)}, data=form)
    path = f"/v1/datasets/{made.json()['id']}"
    client.post(f"{path}/fixes", json={"findings": ["leave_out"]})
    drain_all(settings)
    findings = {finding["code"]: finding for finding in report_of(client, path)["result"]["findings"]}
    assert (findings["special_tokens"]["lines"], findings["trailing_whitespace"]["lines"]) == ([4, 5], [6])
    client.post(f"{path}/fixes", json={"findings": ["special_tokens"]})
    drain_all(settings)
    findings = {finding["code"]: finding for finding in report_of(client, path)["result"]["findings"]}
    assert "special_tokens" not in findings and findings["trailing_whitespace"]["lines"] == [6]


def test_report_annotator_who_prefers_the_first_side_is_found(client: TestClient, settings: Settings) -> None:
    """Rows with a label. In rows with chosen and rejected answers, the first one wins by definition."""
    battles = [
        {
            "conversation_a": talk(f"q{n}", "So it is.</s>"),
            "conversation_b": talk(f"q{n}", "Who knows?"),
            "winner": "model_a",
        }
        for n in range(12)
    ]
    path = f"/v1/datasets/{client.post('/v1/datasets', files={'file': ('a.jsonl', jsonl(battles))}).json()['id']}"
    drain_all(settings)
    assert report_of(client, path)["result"]["position"]["a_of_decided"] == 1
    client.post(f"{path}/fixes", json={"findings": ["special_tokens"]})
    drain_all(settings)
    assert "position_bias" in {finding["code"] for finding in report_of(client, path)["result"]["findings"]}
    chosen = [{"prompt": f"q{n}", "chosen": f"{n} it is.", "rejected": "I do not know."} for n in range(12)]
    assert report_of(client, upload(client, settings, chosen))["result"]["position"] is None


def test_fixes_together_also_fix_what_another_leaves(client: TestClient, settings: Settings) -> None:
    question = "Is it any good, would you say?"
    talk = [{"role": "user", "content": question}]
    rows: list[dict[str, Any]] = [
        {"prompt": "q", "chosen": "x </s>", "rejected": "y"},
        {"prompt": talk, "chosen": f"{question} yes", "rejected": f"{question} no"},
        {"prompt": "r", "chosen": "x </s>", "rejected": "x"},  # equal except for white space once the token is removed
        {"prompt": [{"role": "user", "content": "s"}], "chosen": " x ", "rejected": "<|im_<|im_end|>start|>y"},
    ]
    path = upload(client, settings, rows)
    codes = ["special_tokens", "prompt_in_answer", "leading_whitespace", "trailing_whitespace"]
    made = client.post(f"{path}/fixes", json={"findings": codes})
    assert made.status_code == 202, made.text
    drain_all(settings)
    version = client.get(f"{path}/versions/2").json()
    assert (version["origin"]["dropped"], version["origin"]["changed"]) == (1, 3)
    found = [row["row"] for row in client.get(f"{path}/rows").json()["data"]]
    assert [(row["a"], row["b"]) for row in found] == [("x", "y"), ("yes", "no"), ("x", "y")]


def test_a_text_that_spells_out_the_escape_of_nul_has_its_report(client: TestClient, settings: Settings) -> None:
    path = upload(client, settings, [*ROWS[:2], {"prompt": "How?", "chosen": r"s = '\u0000'", "rejected": "No idea."}])
    assert report_of(client, path)["result"]["summary"]["rows"] == 3


def test_a_fix_that_would_leave_nothing_fails_its_version(client: TestClient, settings: Settings) -> None:
    rows = [{"prompt": "q", "chosen": "x</s>", "rejected": "x"}, {"prompt": "r", "chosen": "y</s>", "rejected": "y"}]
    path = upload(client, settings, rows)
    client.post(f"{path}/fixes", json={"findings": ["special_tokens"]})
    drain_all(settings)
    version = client.get(f"{path}/versions/2").json()
    assert (version["status"], version["error"]["message"]) == ("failed", "The fixes would leave no row.")


def test_report_with_a_model_states_its_failure(client: TestClient, settings: Settings, tmp_path: Path) -> None:
    path = upload(client, settings)
    asked = client.post(f"{path}/reports", json={"model": str(tmp_path / "nothing")})
    assert asked.status_code == 202
    drain_all(settings)
    report = client.get(f"{path}/reports/{asked.json()['id']}").json()
    assert (report["status"], report["result"], report["error"]["code"]) == ("failed", None, "invalid_model")
    assert "no folder" in report["error"]["message"]
    assert list((settings.data_dir / "scratch").iterdir()) == []


@pytest.mark.slow
def test_a_report_with_a_model_is_made_with_its_tokenizer(
    client: TestClient, settings: Settings, tmp_path: Path
) -> None:
    from trainer.text.codec import train_tokenizer

    train_tokenizer(["x"], 260).save_pretrained(tmp_path / "model")
    path = upload(client, settings)
    wishes = {"model": str(tmp_path / "model"), "max_prompt_tokens": len(QUESTION) - 1, "max_completion_tokens": 4}
    client.post(f"{path}/reports", json=wishes)
    drain_all(settings)
    report = report_of(client, path, **wishes)
    found = {finding["code"]: finding["lines"] for finding in report["result"]["findings"]}
    assert found["prompt_too_long"] == [2, 5]
    assert found["same_after_truncation"] == [6, 8]  # "It i", and "At n"; of line 7 "On M" and "On T" differ
    assert report["settings"] == wishes
