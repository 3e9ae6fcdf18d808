"""Data in the browser: looked at before it is kept, what is wrong with it, its rows and versions."""

import gzip
import json
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from playwright.sync_api import expect

from proximal.sdk import Client
from tests.e2e.adding import READY_MS, add, choose, confirm, look_at, status
from tests.e2e.axe import violations
from tests.e2e.conftest import NewPage, Submit
from tests.waiting import eventually

Row = dict[str, Any]


def pair(number: int) -> Row:
    return {
        "prompt": f"Question {number}?",
        "chosen": f"A good answer {number}.",
        "rejected": f"A poor reply {number}.",
    }


def written(file: Path, rows: Iterable[Row]) -> Path:
    file.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return file


def rows_of(client: Client, dataset_id: str) -> list[Row]:
    return [one["row"] for one in client.list_dataset_rows(dataset_id)]


def test_a_file_is_recognised_and_a_bad_record_shown_at_its_line(new_page: NewPage, tmp_path: Path) -> None:
    rows = [pair(1), {**pair(2), "chosen": ""}, pair(3)]
    packed = tmp_path / "pairs.jsonl.gz"
    packed.write_bytes(gzip.compress(written(tmp_path / "pairs.jsonl", rows).read_bytes()))
    page = new_page()
    look_at(page, packed)
    expect(page.get_by_role("region", name="Detected format")).to_contain_text("gzip")
    shown = page.get_by_role("region", name="First rows")
    expect(shown.get_by_role("status")).to_contain_text("1 of 3 records")
    expect(shown.get_by_role("listitem").nth(1)).to_contain_text("chosen")
    expect(page.get_by_label("Name")).to_have_value("pairs")


def test_blocked_dataset_is_fixed_into_a_second_version(new_page: NewPage, client: Client, tmp_path: Path) -> None:
    rows = [pair(number) for number in range(1, 9)]
    rows[4]["rejected"] = "  "
    page = new_page()
    look_at(page, written(tmp_path / "pairs.jsonl", rows))
    dataset_id = confirm(page)
    status(page, "blocked")
    expect(page.locator("[data-finding]").first).to_contain_text("line 5")
    page.get_by_role("button", name="Leave out 1 record").click()
    page.get_by_role("button", name="Make a new version").click()
    status(page, "ready")
    expect(page).to_have_url(re.compile("version=2"))
    page.get_by_role("link", name="Versions (2)", exact=True).click()
    expect(page.get_by_text("Made from version 1")).to_be_visible()
    assert len(rows_of(client, dataset_id)) == 7


def test_unknown_columns_are_mapped_in_a_form_beside_the_rows(
    new_page: NewPage, client: Client, tmp_path: Path
) -> None:
    file = tmp_path / "votes.csv"
    file.write_text("frage,links,rechts,urteil\nWhy?,Because.,No idea.,L\nHow?,Somehow.,Like this.,R\nSo?,Yes.,No.,=\n")
    page = new_page()
    choose(page, file)
    page.get_by_role("radio", name=re.compile("Map columns to fields")).check()
    form = page.get_by_role("region", name="Columns")
    form.get_by_label("Each record is").select_option(label="Two answers, and which is better")
    for field, column in {
        "Prompt": "frage",
        "Answer A": "links",
        "Answer B": "rechts",
        "Which is better": "urteil",
    }.items():
        form.get_by_label(field, exact=True).select_option(column)
    for value, side in {"L": "a", "R": "b", "=": "tie"}.items():
        form.get_by_role("group", name="Meaning of its values").get_by_label(value, exact=True).select_option(side)
    expect(page.get_by_role("region", name="First rows").get_by_role("status")).to_contain_text("3 rows, all in order")
    assert violations(page) == []
    dataset_id = confirm(page)
    status(page, "ready")
    assert [(row["prompt"], row["a"], row["b"], row["label"]) for row in rows_of(client, dataset_id)] == [
        ("Why?", "Because.", "No idea.", "a"),
        ("How?", "Somehow.", "Like this.", "b"),
        ("So?", "Yes.", "No.", "tie"),
    ]


def test_format_of_several_kinds_marks_only_the_chosen_one(new_page: NewPage, tmp_path: Path) -> None:
    rows = [{"prompt": f"Question {n}?", "completion": f"Answer {n}.", "label": n % 2 == 0} for n in range(1, 5)]
    page = new_page()
    look_at(page, written(tmp_path / "kto.jsonl", rows))
    readings = page.get_by_role("region", name="Detected format").get_by_role("radio", name=re.compile("KTO"))
    expect(readings).to_have_count(3)
    for index in (2, 1, 0):
        readings.nth(index).check()
        for other in range(3):
            expect(readings.nth(other)).to_be_checked(checked=other == index)


def test_label_value_late_in_the_file_can_be_given_a_meaning(new_page: NewPage, tmp_path: Path) -> None:
    rows = [{"q": f"Question {n}?", "x": f"Yes {n}.", "y": f"No {n}.", "verdict": "1"} for n in range(1, 260)]
    page = new_page()
    choose(page, written(tmp_path / "votes.jsonl", [*rows, {**rows[0], "q": "The last?", "verdict": "sinister"}]))
    page.get_by_role("radio", name=re.compile("Map columns to fields")).check()
    form = page.get_by_role("region", name="Columns")
    form.get_by_label("Each record is").select_option(label="Two answers, and which is better")
    for field, column in {"Prompt": "q", "Answer A": "x", "Answer B": "y", "Which is better": "verdict"}.items():
        form.get_by_label(field, exact=True).select_option(column)
    told = page.get_by_role("region", name="First rows").get_by_role("status")
    expect(told).to_have_text("Choose the meaning of the values of verdict.")
    values = form.get_by_role("group", name="Meaning of its values")
    values.get_by_label("1", exact=True).select_option("a")
    values.get_by_label("Another value").fill("sinister")
    values.get_by_role("button", name="Add").click()
    values.get_by_label("sinister", exact=True).select_option("b")
    confirm(page)
    status(page, "ready")


def test_a_text_in_another_encoding_is_read_once_it_is_named(new_page: NewPage, client: Client, tmp_path: Path) -> None:
    file = tmp_path / "texte.csv"
    table = "prompt,chosen,rejected,Größe\nOù est le garçon ?,À l’école,Déjà là,große\n"
    file.write_bytes(table.encode("cp1252"))
    page = new_page()
    choose(page, file)
    expect(page.get_by_text("set encoding to the right one")).to_be_visible()
    page.get_by_label("Text encoding").select_option(label="Windows-1251 (Cyrillic)")
    shown = page.get_by_role("region", name="First rows")
    expect(shown).to_contain_text("garзon")
    page.get_by_label("Text encoding").select_option("cp1252")
    expect(shown).to_contain_text("Où est le garçon ?")
    page.get_by_text("Original").click()
    expect(shown).to_contain_text("Größe")
    dataset_id = confirm(page)
    status(page, "ready")
    assert [row["prompt"] for row in rows_of(client, dataset_id)] == ["Où est le garçon ?"]
    assert client.get_dataset(dataset_id)["origin"]["encoding"] == "cp1252"


def test_file_of_another_encoding_is_read_by_one_button(new_page: NewPage, tmp_path: Path) -> None:
    file = tmp_path / "texte.csv"
    file.write_bytes("prompt,chosen,rejected\nOù est le garçon ?,À l’école,Déjà là\n".encode("cp1252"))
    page = new_page()
    choose(page, file)
    page.get_by_role("button", name="Read it as cp1252").click()
    expect(page.get_by_role("region", name="First rows")).to_contain_text("Où est le garçon ?")


def test_unstated_answer_order_must_be_chosen_before_import(new_page: NewPage, client: Client, tmp_path: Path) -> None:
    page = new_page()
    choose(page, written(tmp_path / "lists.jsonl", [{"instruction": "Say it.", "output": ["Well.", "Badly."]}]))
    readings = page.get_by_role("region", name="Detected format")
    expect(readings.get_by_role("radio", checked=True)).to_have_count(0)
    expect(page.get_by_role("button", name="Import", exact=True)).to_be_disabled()
    readings.get_by_role("radio", name=re.compile("Answers in order, the best first")).check()
    dataset_id = confirm(page)
    status(page, "ready")
    assert [row["label"] for row in rows_of(client, dataset_id)] == ["a"]


def test_an_upload_is_paused_and_goes_on(new_page: NewPage, tmp_path: Path) -> None:
    file = tmp_path / "long.jsonl"
    with file.open("w") as out:
        out.writelines(json.dumps({**pair(number), "source": "x" * 1000}) + "\n" for number in range(18_000))
    page = new_page()
    network = page.context.new_cdp_session(page)
    network.send("Network.enable")
    slow = {"offline": False, "latency": 0, "downloadThroughput": -1, "uploadThroughput": 4_000_000}
    network.send("Network.emulateNetworkConditions", slow)
    choose(page, file)
    page.get_by_role("button", name="Pause").click()
    expect(page.locator('[data-transfer="paused"]')).to_be_visible()
    network.send("Network.emulateNetworkConditions", {**slow, "uploadThroughput": -1})
    page.get_by_role("button", name="Go on").click()
    rows = page.get_by_role("region", name="First rows")
    expect(rows.get_by_role("status")).to_contain_text("20 rows", timeout=READY_MS)


def test_rows_are_searched_walked_through_by_keys_and_linked_to(new_page: NewPage, tmp_path: Path) -> None:
    page = new_page()
    dataset_id = add(page, written(tmp_path / "pairs.jsonl", [pair(number) for number in range(1, 46)]))
    page.get_by_role("link", name="Rows", exact=True).click()
    expect(page.locator("[data-row]")).to_have_count(20)
    for _ in range(3):
        page.keyboard.press("j")
    expect(page.locator('[data-row="3"]')).to_be_focused()
    page.keyboard.press("d")
    expect(page.locator('[data-row="3"] mark').first).to_have_text("good answer")
    page.keyboard.press("n")
    expect(page.locator("[data-row]").first).to_have_attribute("data-row", "21")
    page.keyboard.press("/")
    page.keyboard.type("question 33")
    expect(page.locator("[data-row]")).to_have_count(1, timeout=READY_MS)
    expect(page.locator('[data-row="33"]')).to_be_visible()
    other = new_page()
    other.goto(page.url)
    expect(other.locator("[data-row]")).to_have_count(1)
    assert f"/datasets/{dataset_id}?" in page.url and "q=question+33" in page.url


def test_keys_faster_than_the_page_are_all_processed(new_page: NewPage, tmp_path: Path) -> None:
    page = new_page()
    add(page, written(tmp_path / "pairs.jsonl", [pair(number) for number in range(1, 4)]))
    page.get_by_role("link", name="Rows", exact=True).click()
    expect(page.locator("[data-row]")).to_have_count(3)
    page.evaluate(
        """() => { for (const key of ["d", "o"]) document.dispatchEvent(new KeyboardEvent("keydown", { key })) }"""
    )
    expect(page.get_by_role("radio", name="Table")).to_be_checked()
    expect(page.get_by_label("Mark differences")).to_be_checked()


def test_a_finding_of_the_report_leads_to_its_rows_and_is_mended(
    new_page: NewPage, client: Client, tmp_path: Path
) -> None:
    rows = [pair(number) for number in range(1, 31)]
    page = new_page()
    dataset_id = add(page, written(tmp_path / "pairs.jsonl", [*rows, *rows[:5]]))
    finding = page.locator('[data-finding="duplicate_rows"]')
    expect(finding).to_contain_text("5 (14.3 %)", timeout=READY_MS)
    expect(page.get_by_role("region", name=re.compile("^Prompts"))).to_be_visible()
    finding.get_by_role("link", name="Show the rows").click()
    expect(page.get_by_role("combobox", name="Finding")).to_have_value("duplicate_rows")
    expect(page.locator("[data-row]")).to_have_count(5)
    expect(page.locator("[data-row]").first).to_have_attribute("data-row", "31")
    page.get_by_role("link", name="Report", exact=True).click()
    finding.get_by_role("button").click()
    page.get_by_role("button", name="Make a new version").click()
    expect(page).to_have_url(re.compile("version=2"), timeout=READY_MS)
    status(page, "ready")
    assert len(rows_of(client, dataset_id)) == 30


def test_datasets_are_searched_by_name_and_kind_and_archived(new_page: NewPage, client: Client, tmp_path: Path) -> None:
    file = written(tmp_path / "x.jsonl", [pair(1), pair(2)])
    for name in ("Blue whales", "Red pandas"):
        client.upload_dataset(file, "preferences", name=name)
    page = new_page()
    page.goto("/datasets")
    page.get_by_role("columnheader", name="Dataset").get_by_role("button").click()
    expect(page).to_have_url(re.compile("sort=name"))
    links = page.get_by_role("table", name="Datasets").locator("tbody th a")
    expect(links).to_have_text([one["name"] for one in client.list_datasets(sort="name")][:50])
    page.get_by_label("Search by name").fill("panda")
    expect(page.get_by_role("link", name="Red pandas")).to_be_visible()
    expect(page.get_by_role("link", name="Blue whales")).to_have_count(0)
    page.get_by_role("link", name="Red pandas").click()
    page.get_by_role("button", name="Archive").click()
    expect(page.get_by_role("button", name="Take out of the archive")).to_be_visible()
    page.goto("/datasets?q=panda")
    expect(page.get_by_text("No dataset matches the filters")).to_be_visible()
    page.get_by_label(
        "Archived"
    ).click()  # `check` wants the state at once; it is in the address, which a busy machine changes later
    expect(page.get_by_role("link", name="Red pandas")).to_be_visible()


def test_delete_of_dataset_in_use_is_refused_naming_the_job(
    new_page: NewPage, submit_ppo: Submit, client: Client
) -> None:
    job_id = submit_ppo(resources={"labels": ["elsewhere"]})  # no worker has the label, so the job stays queued
    dataset_id = client.get_job(job_id)["spec"]["data"]["preferences"].partition("@")[0]
    page = new_page()
    page.goto(f"/datasets/{dataset_id}")
    page.get_by_role("button", name="Delete", exact=True).click()
    page.get_by_role("button", name="Delete it").click()
    expect(page.get_by_role("alert").get_by_role("link", name=job_id)).to_be_visible()
    client.cancel_job(job_id)
    eventually(lambda: client.get_job(job_id)["status"] == "cancelled")
