"""A person's whole way through the dashboard, in a real browser, on the real platform, with a real run."""

import os
import re
import signal
import zipfile
from pathlib import Path

import pytest
from playwright.sync_api import Page, Route, expect

from proximal.sdk import Client
from tests.e2e.adding import add, confirm, look_at, status
from tests.e2e.axe import unseen, violations
from tests.e2e.conftest import TINY, NewPage, Submit
from tests.proximal.conftest import Up
from tests.proximal.test_local import parts
from tests.waiting import eventually

RUN_MS = 180_000
"""A tiny run takes about ten seconds on two idle cores; much more on a machine that is busy."""
SCORE = '[data-metric="objective/scores"]'


def points(page: Page) -> int:
    """How many points the reward chart has."""
    return int(page.locator(SCORE).first.get_attribute("data-points") or 0)


def all_points(client: Client, job_id: str) -> int:
    (series,) = client.get_job_metrics(job_id, stage="ppo", names=["objective/scores"])["series"]
    return len(series["steps"])


def wait_until_succeeded(page: Page) -> None:
    expect(page.locator('[data-status="succeeded"]')).to_be_visible(timeout=RUN_MS)
    expect(page.locator('[data-connection="ended"]')).to_be_visible()


def test_from_an_upload_to_a_checkpoint(new_page: NewPage, submit: Submit, client: Client, tmp_path: Path) -> None:
    page = new_page()
    data = {kind: add(page, TINY / f"{kind}.jsonl") for kind in ("sft", "preferences")}

    job_id = submit(data, epochs=1)
    page.goto("/")
    page.get_by_role("link", name="Tiny").first.click()
    expect(page).to_have_url(re.compile(f"/jobs/{job_id}$"))
    page.evaluate("window.notReloaded = true")
    page.get_by_role("button", name="PPO").click()
    page.wait_for_selector(SCORE, timeout=RUN_MS)
    page.get_by_role("link", name="Completions", exact=True).click()
    expect(page.locator("main li article")).not_to_have_count(0, timeout=RUN_MS)
    page.get_by_role("link", name="Metrics", exact=True).click()
    wait_until_succeeded(page)
    assert points(page) == all_points(client, job_id) == 6
    assert page.evaluate("window.notReloaded") is True

    page.reload()
    expect(page.locator(SCORE).first).to_have_attribute("data-points", "6")
    page.get_by_role("button", name="Evaluation").click()
    expect(page.get_by_role("region", name="Win rate")).to_contain_text("95 % interval")

    page.get_by_role("link", name="Checkpoints", exact=True).click()
    with page.expect_download() as download:
        page.get_by_role("link", name="Download the final PPO checkpoint of step 6").click()
    download.value.save_as(tmp_path / "checkpoint.zip")
    with zipfile.ZipFile(tmp_path / "checkpoint.zip") as archive:
        assert archive.testzip() is None
        assert any(name.endswith("model.safetensors") for name in archive.namelist())


@pytest.mark.slow
def test_api_freeze_and_restart_lose_and_repeat_no_point(
    new_page: NewPage, submit_ppo: Submit, client: Client, platform: Up
) -> None:
    (worker,) = client.list_workers()
    client.cordon_worker(worker["id"])  # the run begins when all tabs are open
    job_id = submit_ppo(steps=200, eval_every=200, save_every=200)
    page = new_page()
    page.goto(f"/jobs/{job_id}?stage=ppo")
    page.evaluate("window.notReloaded = true")
    # Browsers open six connections to a server. All tabs together use one of them for their events.
    tabs = [page.context.new_page() for _ in range(7)]
    for tab in tabs:
        tab.goto(f"/jobs/{job_id}?tab=events")
        expect(tab.locator('[data-connection="live"]')).to_be_visible()
    client.uncordon_worker(worker["id"])
    page.wait_for_selector(SCORE, timeout=RUN_MS)
    before = parts(platform)["api"]
    os.kill(before, signal.SIGSTOP)
    expect(page.locator('[data-connection="reconnecting"]')).to_be_visible()
    os.kill(before, signal.SIGCONT)
    expect(page.locator('[data-connection="live"]')).to_be_visible()
    os.kill(before, signal.SIGKILL)
    eventually(lambda: parts(platform).get("api", before) != before)
    for each in (page, *tabs):
        wait_until_succeeded(each)
    assert points(page) == all_points(client, job_id) == 200
    assert page.evaluate("window.notReloaded") is True


def test_a_running_job_is_tuned_paused_and_cancelled(new_page: NewPage, submit_ppo: Submit) -> None:
    job_id = submit_ppo(steps=10_000, health={"entropy_collapse": {"limit": 100, "patience": 1}})
    page = new_page()
    page.goto(f"/jobs/{job_id}")
    page.get_by_role("button", name="Live settings").click()
    page.get_by_label("KL coefficient").fill("-1")
    expect(page.get_by_text("The value must be at least 0 and at most 100.")).to_be_visible()
    page.get_by_label("KL coefficient").fill("0.2")
    page.get_by_role("button", name="Apply").click()
    expect(page.get_by_text(re.compile("→ 0.2. Done after step"))).to_be_visible()
    assert violations(page) == []
    page.keyboard.press("Escape")
    page.get_by_role("button", name=re.compile("health finding")).click()
    page.get_by_role("button", name="KL coefficient 0.2 → 0.4").click()
    page.get_by_role("button", name="Change it").click()
    expect(page.get_by_text("KL coefficient changes to 0.4 after the present step.")).to_be_visible()
    page.keyboard.press("Escape")
    page.get_by_role("button", name="Pause").click()
    expect(page.locator('[data-status="paused"]')).to_be_visible()
    page.get_by_role("button", name="Actions", exact=True).click()
    page.get_by_role("menuitem", name="Cancel").click()
    page.get_by_role("button", name="Keep it").click()
    # The same menu by keyboard: its last entry.
    page.get_by_role("button", name="Actions", exact=True).press("Enter")
    expect(page.get_by_role("menu")).to_be_visible()
    page.keyboard.press("End")
    page.keyboard.press("Enter")
    page.get_by_role("button", name="Cancel the job").click()
    expect(page.locator('[data-status="cancelled"]')).to_be_visible()
    page.get_by_role("button", name="Actions", exact=True).click()
    expect(page.get_by_role("menuitem")).to_have_text(
        ["Retry", "Clone with changes", "Branch from a checkpoint…", "Edit name, tags and notes…", "Archive", "Delete…"]
    )


def test_a_job_is_submitted_from_the_form_cloned_and_branched(
    new_page: NewPage, client: Client, finished_job: str
) -> None:
    stored = client.get_job(finished_job)["spec"]
    text = (TINY.parent / "tiny.toml").read_text()
    for kind in ("sft", "preferences"):
        text = text.replace(f"tiny/{kind}.jsonl", stored["data"][kind].partition("@")[0])
    page = new_page()
    page.goto("/")
    page.get_by_role("link", name="New job").click()
    expect(page.get_by_role("heading", name="Choose a model and a dataset")).to_be_visible()
    expect(page.get_by_text("Choose a model.")).to_have_count(0)
    page.get_by_role("button", name="Submit the job").click()
    expect(page.get_by_text("Choose a model.")).to_have_count(2)
    expect(page.get_by_label("Hugging Face id")).to_be_focused()
    page.get_by_role("button", name="Import…").click()
    page.get_by_label("Text of the spec").fill(text.replace("steps = 6", "steps = "))
    page.get_by_role("button", name="Import", exact=True).click()
    expect(page.get_by_role("alert").filter(has_text="Line ")).to_be_visible()
    page.get_by_label("Text of the spec").fill(text)
    page.get_by_role("button", name="Import", exact=True).click()
    page.get_by_label("Steps", exact=True).fill("0")
    expect(page.locator('[data-path="ppo.steps"]')).to_contain_text("It must be at least 1")
    page.get_by_label("Steps", exact=True).fill("2")
    expect(page.get_by_role("heading", name=re.compile("Ready"))).to_be_visible()
    expect(page.get_by_role("img", name=re.compile("expected, at most"))).not_to_have_count(0)
    assert violations(page) == []
    page.get_by_label("Priority").select_option("low")
    page.reload()  # the draft survives
    expect(page.get_by_label("Steps", exact=True)).to_have_value("2")
    expect(page.get_by_label("Priority")).to_have_value("low")
    expect(page.get_by_role("heading", name=re.compile("Ready"))).to_be_visible()  # what it shows moves the rest
    page.get_by_label("May be paused for a more urgent job").check()
    page.get_by_role("button", name="Submit the job").click()
    page.wait_for_url(re.compile("/jobs/job_"))
    made = page.url.rpartition("/")[2]
    submitted = client.get_job(made)
    assert (submitted["spec"]["ppo"]["steps"], submitted["priority"], submitted["preemptible"]) == (2, "low", True)

    page.goto(f"/jobs/new?clone={made}")
    page.get_by_label("KL coef", exact=True).fill("0.125")
    page.get_by_role("button", name="2 changes").click()
    expect(page.get_by_role("dialog")).to_contain_text("ppo.kl.coef")
    page.keyboard.press("Escape")
    page.get_by_role("button", name="Submit the job").click()
    page.wait_for_url(lambda url: "/jobs/job_" in url and made not in url)
    clone = client.get_job(page.url.rpartition("/")[2])
    assert (clone["parent"]["job"], clone["spec"]["ppo"]["kl"]["coef"]) == (made, 0.125)
    assert clone["name"].endswith(" (copy)")
    for job_id in (clone["id"], made):
        client.cancel_job(job_id)

    page.goto(f"/jobs/{finished_job}?tab=checkpoints")
    page.get_by_role("link", name=re.compile("Branch from the final PPO checkpoint")).click()
    expect(page.get_by_text(re.compile("It continues .* from PPO result"))).to_be_visible()


def test_a_bad_upload_is_explained_line_by_line(new_page: NewPage, tmp_path: Path) -> None:
    file = tmp_path / "bad.jsonl"
    file.write_text('{"prompt": "p", "chosen": "a", "rejected": "b"}\n{"prompt": "p", "chosen" "a"}\n')
    page = new_page()
    look_at(page, file)
    page.get_by_role("radio", name="Store no rows").check()
    confirm(page)
    status(page, "failed")
    expect(page.get_by_role("alert")).to_contain_text("line 2, column")


def test_two_lines_of_a_chart_have_two_colours(new_page: NewPage, finished_job: str) -> None:
    """Also where motion is reduced, as here: every change of style then lasts a moment."""
    page = new_page()
    page.goto(f"/jobs/{finished_job}?stage=sft")
    page.wait_for_selector(".uplot canvas")
    scope = page.get_by_role("article", name="Loss")
    legend = scope.locator("i[data-line]").evaluate_all(
        "marks => marks.map(mark => getComputedStyle(mark).backgroundColor)"
    )
    drawn = scope.locator("canvas").evaluate(
        """canvas => {
            const { data } = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
            const seen = new Set();
            for (let i = 0; i < data.length; i += 4) seen.add(`rgb(${data[i]}, ${data[i + 1]}, ${data[i + 2]})`);
            return [...seen];
        }"""
    )
    assert len(legend) == 2 and set(legend) <= set(drawn)


@pytest.mark.slow
def test_dashboard_job_of_one_stage_from_a_checkpoint_is_shown(
    new_page: NewPage, finished_job: str, client: Client
) -> None:
    final = {one["stage"]: one["id"] for one in client.list_job_checkpoints(finished_job, final=True)}
    spec = client.get_job(finished_job)["spec"]
    ppo = {**spec["ppo"], "steps": 1, "reference": {"path": final["sft"]}}
    rewards = [{"type": "model", "path": final["reward_model"]}, {"type": "length", "target": 8}]
    chained = {"model": final["ppo"], "data": spec["data"], "stages": ["ppo"], "ppo": ppo, "rewards": rewards}
    job_id = client.create_job(chained)["id"]
    page = new_page()
    page.goto(f"/jobs/{job_id}")
    wait_until_succeeded(page)
    expect(page.get_by_role("button", name="PPO")).to_be_visible()
    expect(page.get_by_role("button", name="SFT")).to_have_count(0)
    for title in ("Reward: model", "Reward: length"):
        expect(page.get_by_role("article", name=title)).to_be_visible()


def test_a_page_whose_code_is_missing_recovers_inside_the_frame(new_page: NewPage, finished_job: str) -> None:
    """The server is away, and later has a newer build with other file names."""
    page = new_page()
    page.goto("/")
    expect(page.get_by_role("heading", name="Jobs", exact=True)).to_be_visible()
    page.route("**/assets/*", lambda route: route.abort())
    page.get_by_role("link", name="Datasets").click()
    expect(page.get_by_role("heading", name="The server does not respond")).to_be_visible()
    expect(page.get_by_role("navigation", name="Main")).to_be_visible()
    page.unroute("**/assets/*")
    page.get_by_role("button", name="Try again").click()
    expect(page.get_by_role("heading", name="Datasets", exact=True)).to_be_visible()

    page.goto(f"/jobs/{finished_job}?tab=events")
    page.get_by_role("link", name="Events", exact=True).and_(page.locator("[aria-current]")).wait_for()
    page.route("**/assets/*", lambda route: route.abort())
    page.get_by_role("link", name="Logs", exact=True).click()
    expect(page.get_by_role("heading", name="The server does not respond")).to_be_visible()
    expect(page.get_by_role("heading", name="Tiny", exact=True)).to_be_visible()
    page.unroute("**/assets/*")
    page.get_by_role("button", name="Try again").click()
    expect(page.get_by_role("log", name="Console output")).to_be_visible()

    page.route("**/assets/*", lambda route: route.fulfill(status=404))
    newer = '<script type="module" src="/assets/index-newer.js"></script>'
    page.route("**/", lambda route: route.fulfill(body=newer, content_type="text/html"))
    with page.expect_event("load"):
        page.get_by_role("link", name="Annotate", exact=True).click()
    page.unroute_all()
    page.reload()
    expect(page.get_by_role("heading", name="Annotate", exact=True)).to_be_visible()


def test_run_page_tabs_search_compare_and_keep_notes(new_page: NewPage, finished_job: str) -> None:
    page = new_page()
    page.goto(f"/jobs/{finished_job}?tab=events")
    page.get_by_role("searchbox", name="Search the events").fill("checkpoint final")
    expect(page.get_by_text("No event matches the filters.")).to_be_visible()
    page.get_by_role("searchbox", name="Search the events").fill("ppo result")
    expect(page.locator("main ol li").filter(has_text="the stage's result")).to_be_visible()
    expect(page).to_have_url(re.compile("find=ppo"))

    page.get_by_role("link", name="Logs", exact=True).click()
    output = page.get_by_role("log", name="Console output")
    expect(output).to_contain_text("ppo")
    page.get_by_role("searchbox", name="Search the output").fill("no line has this text")
    expect(page.get_by_text("No line matches the search.")).to_be_visible()

    page.get_by_role("link", name="Spec", exact=True).click()
    page.get_by_role("checkbox", name="differences only").check()
    steps = page.locator("p").filter(has_text=re.compile("^steps 1 default 100$"))
    expect(steps).to_be_visible()
    expect(page.locator("p").filter(has_text=re.compile("^gamma "))).to_have_count(0)
    page.reload()
    expect(steps).to_be_visible()

    page.get_by_role("link", name="Notes", exact=True).click()
    page.get_by_role("button", name="Write notes").click()
    page.get_by_label("Notes in Markdown").fill("**Baseline** <img src=x onerror=alert(1)>")
    page.get_by_role("button", name="Save").click()
    expect(page.locator("main strong").filter(has_text="Baseline")).to_be_visible()
    assert page.locator("main img").count() == 0
    assert violations(page) == []
    _shows_hostile_completions(page, finished_job)


def _shows_hostile_completions(page: Page, job_id: str) -> None:
    """Nothing runs, reverses the text around it, leaves the window, or takes thousands of lines."""
    texts = {
        "<img src=x onerror='window.ran=1'><script>window.ran=1</script>": "<script>",
        "![x](http://127.0.0.1:9/x.png) user \u202etxt.exe \u200b\x1b[31m": "user ⟨U+202E⟩txt.exe ⟨U+200B⟩␛[31m",
        f"first{chr(10) * 10_000}last": "⟨10,000 line breaks⟩",
        "x" * 100_000: "Show all 100,000 characters",
    }
    rows = [{"prompt": text, "response": text, "held_out": False, "score": number} for number, text in enumerate(texts)]

    def answer(route: Route) -> None:
        response = route.fetch()
        body = response.json()
        places = {name: value for name, value in body["data"][0].items() if name in ("object", "stage", "step", "seq")}
        route.fulfill(response=response, json=body | {"data": [places | row for row in rows]})

    page.route("**/v1/jobs/*/samples?*", answer)
    page.goto(f"/jobs/{job_id}?tab=completions&stage=ppo")
    for shown in texts.values():
        expect(page.get_by_text(shown).first).to_be_visible()
    page.set_viewport_size({"width": 360, "height": 844})
    assert unseen(page) == []
    assert page.evaluate("[window.ran, document.documentElement.scrollHeight < 9000]") == [None, True]
    page.unroute_all()
