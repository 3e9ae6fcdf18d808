"""People answer in the browser: with the keyboard alone, with the network away, and what becomes of it."""

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Locator, Page, Route, expect

from proximal.sdk import Client
from tests.e2e.conftest import TINY, NewPage
from tests.proximal.conftest import Up
from tests.waiting import eventually

PAIRS = {"one?": ("1", "uno"), "two?": ("2", "due"), "three?": ("3", "tre"), "four?": ("4", "quattro")}
RANKING = {"prompt": "a colour?", "completions": ["red", "a car", "blue"], "ranks": None}
WAIT_MS = 60_000
"""A round is prepared in a moment on an idle machine; checkpoints that write completions load torch first."""

Begin = Callable[..., str]


@pytest.fixture(scope="module")
def pairs(platform: Up, tmp_path_factory: pytest.TempPathFactory) -> str:
    """A dataset of pairs without labels, for rounds that `begin` begins on its first version."""
    with platform.client() as client:
        return dataset_of_pairs(client, tmp_path_factory.mktemp("pairs"))


@pytest.fixture
def desk(new_page: NewPage) -> Callable[..., Page]:
    """The queue of a round, for an annotator whose name the browser has stored."""

    def open_desk(round_id: str, annotator: str = "Ada", width: int = 1280) -> Page:
        page = new_page(width)
        page.add_init_script(f"localStorage.setItem('proximal-annotator', {json.dumps(annotator)})")
        page.goto(f"/annotate/{round_id}/queue")
        return page

    return open_desk


@pytest.fixture
def begin(client: Client) -> Begin:
    """Begins a round on the unlabelled rows of a dataset's first version; its id, once it is open."""

    def begin_round(dataset_id: str, **wanted: Any) -> str:
        round_id = client.create_annotation_round(
            {"source": {"type": "dataset", "dataset": f"{dataset_id}@1"}, **wanted}
        )["id"]
        eventually(lambda: client.get_annotation_round(round_id)["status"] == "open", WAIT_MS / 1000)
        return round_id

    return begin_round


def dataset_of_pairs(client: Client, folder: Path) -> str:
    rows = [{"prompt": prompt, "a": a, "b": b, "label": None} for prompt, (a, b) in PAIRS.items()]
    return dataset(client, folder / "pairs.jsonl", rows)


def dataset(client: Client, file: Path, rows: list[dict[str, Any]]) -> str:
    file.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return client.upload_dataset(file, "preferences")["id"]


def annotators(client: Client, round_id: str) -> dict[str, int]:
    """How many answers there are, by who gave them."""
    return {one["annotator"]: one["answers"] for one in client.get_annotation_progress(round_id)["annotators"]}


def completion(page: Page, number: int) -> Locator:
    return page.get_by_role("region", name=f"Answer {number}").locator("p")


def press(page: Page, key: str) -> tuple[str, tuple[str, str]]:
    """Answer the item that is shown; its prompt, and its answers as they stood."""
    prompt = page.get_by_role("region", name="Prompt").locator("p").inner_text()
    shown = (completion(page, 1).inner_text(), completion(page, 2).inner_text())
    press_on(page, key)
    return prompt, shown


def press_on(page: Page, key: str) -> None:
    """Press a key until the next item is there: right after an item has appeared, it counts as one that bounced."""
    before = page.locator("[data-showing]").get_attribute("data-showing")
    answered = page.locator(f"[data-showing]:not([data-showing='{before}'])")

    def is_answered() -> bool:
        page.keyboard.press(key)
        return answered.count() == 1

    eventually(is_answered)


def tab_to(page: Page, name: str) -> None:
    """Press Tab until what is called `name` has the focus."""
    focused = "document.activeElement.getAttribute('aria-label') ?? document.activeElement.innerText"
    for _ in range(60):
        page.keyboard.press("Tab")
        if page.evaluate(focused) == name:
            return
    raise AssertionError(f"Tab never reaches {name!r}")


def test_a_whole_round_with_the_keyboard_alone(new_page: NewPage, client: Client, tmp_path: Path) -> None:
    pairs = dataset_of_pairs(client, tmp_path)
    page = new_page()
    page.goto(f"/annotate/new?dataset={pairs}")
    expect(page.get_by_role("combobox", name="Dataset", exact=True)).to_have_value(
        re.compile(r"^pairs\.jsonl \(4 rows, version 1")
    )
    tab_to(page, "Create the round")
    page.keyboard.press("Enter")
    expect(page.get_by_role("link", name="Start annotating")).to_be_visible(timeout=WAIT_MS)
    tab_to(page, "Start annotating")
    page.keyboard.press("Enter")
    expect(page.get_by_label("Your name")).to_be_focused()
    page.keyboard.type("Ada")
    page.keyboard.press("Enter")

    expect(completion(page, 1)).to_be_visible()
    page.keyboard.press("?")
    expect(page.get_by_role("dialog")).to_contain_text("a tie")
    page.keyboard.press("Escape")

    chosen = dict(press(page, key) for key in "1s")
    page.keyboard.press("u")
    expect(page.get_by_text("1 of 4 answered")).to_be_visible()
    skipped, shown = press(page, "2")
    assert skipped == list(chosen)[1]
    tied, _ = press(page, "0")
    last, shown_last = press(page, "2")
    expect(page.get_by_role("heading", name="That was the last one")).to_be_visible()
    expect(page.get_by_text("4 of 4 answered")).to_be_visible()
    round_id = page.url.partition("/annotate/")[2].partition("/")[0]
    eventually(lambda: annotators(client, round_id) == {"Ada": 4})  # the page counts an answer before it is sent

    tab_to(page, "To the round")
    page.keyboard.press("Enter")
    expect(page.get_by_role("button", name="Close round")).to_be_visible()
    tab_to(page, "Close round")
    page.keyboard.press("Enter")
    tab_to(page, "Close it")
    page.keyboard.press("Enter")
    result = page.get_by_role("region", name="Result")
    expect(result).to_contain_text("version 2", timeout=WAIT_MS)

    first = next(iter(chosen))
    wanted = {first: chosen[first][0], skipped: shown[1], last: shown_last[1], tied: None}
    rows = [row["row"] for row in client.list_dataset_rows(pairs, version=2)]
    labelled = [row for row in rows if row["label"] is not None]
    assert {row["prompt"]: row.get(row["label"]) for row in labelled} == wanted
    assert {row["annotator"] for row in labelled} == {"Ada"}


def test_answers_given_offline_are_sent_when_online(
    desk: Callable[..., Page], begin: Begin, client: Client, pairs: str
) -> None:
    round_id = begin(pairs)
    page = desk(round_id)
    expect(completion(page, 1)).to_be_visible()
    page.wait_for_load_state("networkidle")
    page.context.set_offline(True)
    press(page, "1")
    expect(page.get_by_text("1 answer waits in this browser")).to_be_visible()
    press(page, "2")
    expect(page.get_by_text("2 answers wait in this browser")).to_be_visible()
    page.context.set_offline(False)
    expect(page.locator("[data-waiting='0']")).to_be_attached()
    expect(page.get_by_text("2 of 4 answered")).to_be_visible()
    assert annotators(client, round_id) == {"Ada": 2}


def test_answer_of_a_closed_tab_is_sent_by_the_next_tab(
    desk: Callable[..., Page], begin: Begin, client: Client, pairs: str
) -> None:
    round_id = begin(pairs)
    page = desk(round_id)
    expect(completion(page, 1)).to_be_visible()
    page.context.set_offline(True)
    press(page, "1")
    expect(page.get_by_text("1 answer waits in this browser")).to_be_visible()
    page.close(run_before_unload=False)
    again = page.context.new_page()
    page.context.set_offline(False)
    again.goto("/annotate")
    eventually(lambda: annotators(client, round_id) == {"Ada": 1})


def test_answer_with_lost_response_counts_once(
    desk: Callable[..., Page], begin: Begin, client: Client, pairs: str
) -> None:
    round_id = begin(pairs)
    page = desk(round_id)
    sent: list[str] = []

    def lose_the_first(route: Route) -> None:
        sent.append(route.request.url)
        reply = route.fetch()
        if len(sent) == 1:
            route.abort()
        else:
            route.fulfill(response=reply)

    page.route("**/answer", lose_the_first)
    expect(completion(page, 1)).to_be_visible()
    press(page, "1")
    expect(page.get_by_text("1 answer waits in this browser")).to_be_visible()
    expect(page.locator("[data-waiting='0']")).to_be_attached()
    assert len(sent) == 2 and len(set(sent)) == 1
    assert annotators(client, round_id) == {"Ada": 1}


def test_answer_after_the_close_is_reported_until_dismissed(
    desk: Callable[..., Page], begin: Begin, client: Client, pairs: str
) -> None:
    """The message stays on the page until the annotator dismisses it."""
    round_id = begin(pairs)
    page = desk(round_id)
    expect(completion(page, 1)).to_be_visible()
    press(page, "2")
    eventually(lambda: annotators(client, round_id) == {"Ada": 1})
    page.context.set_offline(True)
    press(page, "1")
    expect(page.get_by_text("1 answer waits in this browser")).to_be_visible()
    page.close(run_before_unload=False)
    client.close_annotation_round(round_id)
    again = page.context.new_page()
    page.context.set_offline(False)
    for _ in range(2):
        again.goto("/annotate")
        expect(again.get_by_text("1 answer could not be stored")).to_be_visible()
    expect(again.get_by_text(f"Annotator Ada, round {round_id}.")).to_be_visible()
    again.get_by_role("button", name="I have read it").click()
    again.goto("/annotate")
    expect(again.get_by_role("link", name="New round")).to_be_visible()
    expect(again.get_by_text("could not be stored")).to_have_count(0)


def test_button_pressed_by_key_moves_focus_to_the_next_prompt(
    desk: Callable[..., Page], begin: Begin, pairs: str
) -> None:
    page = desk(begin(pairs))
    expect(completion(page, 1)).to_be_visible()
    page.get_by_role("button", name="Tie").focus()
    page.keyboard.press("Enter")
    expect(page.get_by_text("last answer: tie")).to_be_visible()
    expect(page.get_by_role("region", name="Prompt")).to_be_focused()


def test_a_ranking_is_given_with_digits(
    desk: Callable[..., Page], begin: Begin, client: Client, tmp_path: Path
) -> None:
    dataset_id = dataset(client, tmp_path / "rankings.jsonl", [RANKING])
    round_id = begin(dataset_id, kind="ranking")
    page = desk(round_id, "Bo")
    expect(completion(page, 1)).to_be_visible()
    places = {completion(page, number).inner_text(): str(number) for number in (1, 2, 3)}
    expect(page.get_by_role("button", name="Submit ranking")).to_be_disabled()
    for key in (places["blue"], places["a car"], "Backspace", f"Shift+Digit{places['red']}"):
        page.keyboard.press(key)
    expect(page.get_by_role("button", name="Submit ranking")).to_be_enabled()
    press_on(page, "Enter")
    expect(page.get_by_role("heading", name="That was the last one")).to_be_visible()
    eventually(lambda: annotators(client, round_id) == {"Bo": 1})
    (item,) = client.list_annotation_results(round_id)
    (given,) = item["answers"]
    assert dict(zip(item["completions"], given["ranks"] or (), strict=True)) == {"red": 1, "blue": 1, "a car": 2}


def test_annotator_name_is_requested_once_and_can_be_changed(
    new_page: NewPage, begin: Begin, client: Client, pairs: str
) -> None:
    round_id = begin(pairs)
    page = new_page(390)
    page.goto(f"/annotate/{round_id}/queue")
    page.get_by_label("Your name").fill("  Ada   L ")
    page.get_by_role("button", name="Start").click()
    expect(completion(page, 1)).to_be_visible()
    page.reload()
    expect(completion(page, 1)).to_be_visible()
    page.get_by_role("button", name="You are Ada L. Change the name").click()
    page.get_by_label("Your name").fill("Bo")
    page.get_by_role("button", name="Start").click()
    expect(completion(page, 1)).to_be_visible()
    heights = {page.get_by_role("button", name=name).bounding_box()["y"] for name in ("Skip", "Undo")}  # type: ignore[index]
    assert len(heights) == 1, "no button stands alone"
    page.get_by_role("button", name="First is better").click()
    expect(page.get_by_text("last answer: first is better")).to_be_visible()
    eventually(lambda: annotators(client, round_id).get("Bo") == 1)


@pytest.mark.slow  # trains a job of three stages first; tests/core/annotation shows what the next job takes over
def test_round_of_job_completions_leads_to_the_next_job(new_page: NewPage, finished_job: str, client: Client) -> None:
    page = new_page()
    page.goto(f"/jobs/{finished_job}")
    page.get_by_role("link", name="Annotate its completions").click()
    page.get_by_label("At most").fill("3")
    page.get_by_role("button", name="Create the round").click()
    page.get_by_role("link", name="Start annotating").click(timeout=WAIT_MS)
    page.get_by_label("Your name").fill("Ada")
    page.keyboard.press("Enter")
    for left in (3, 2, 1):
        expect(page.get_by_text(f"{3 - left} of 3 answered")).to_be_visible()
        press(page, "1")
    page.get_by_role("link", name="To the round").click()
    expect(page.get_by_role("region", name="Reward model")).to_contain_text("agrees with", timeout=WAIT_MS)
    page.get_by_role("button", name="Close round").click()
    page.get_by_role("button", name="Close it").click()
    page.get_by_role("button", name="Continue the job").click(timeout=WAIT_MS)
    dialog = page.get_by_role("dialog")
    dialog.get_by_label("PPO steps").fill("2")
    expect(dialog.get_by_role("listitem").first).to_be_visible()
    dialog.get_by_role("button", name="Submit the job").click()
    expect(page).to_have_url(re.compile("/jobs/job_"), timeout=WAIT_MS)
    job_id = page.url.rsplit("/", 1)[-1]
    assert job_id != finished_job
    assert client.get_job(job_id)["spec"]["ppo"]["steps"] == 2
    client.cancel_job(job_id)


def test_round_on_a_labelled_dataset_offers_all_rows(new_page: NewPage, client: Client) -> None:
    dataset = client.upload_dataset(TINY / "preferences.jsonl", "preferences")["id"]
    eventually(lambda: any(report["result"] for report in client.list_reports(dataset)))
    page = new_page()
    page.goto(f"/annotate/new?dataset={dataset}")
    expect(page.get_by_label("Which rows")).to_have_value("all")
    page.get_by_role("button", name="Create the round").click()
    expect(page.get_by_role("link", name="Start annotating")).to_be_visible(timeout=WAIT_MS)
