"""The charts of a run in a real browser."""

import re
from contextlib import suppress

import pytest
from playwright.sync_api import Page, TimeoutError, expect

from proximal.sdk import Client
from tests.e2e.axe import violations
from tests.e2e.conftest import NewPage, Submit
from tests.waiting import eventually
from trainer.metrics import METRICS

LOSS = '[data-metric="loss"]'
CROSSHAIRS = """charts => charts.map(chart => {
    const over = chart.querySelector(".u-over");
    const line = chart.querySelector(".u-cursor-x");
    return (line.getBoundingClientRect().left - over.getBoundingClientRect().left) / over.clientWidth;
})"""

COLOURED_PIXELS = """canvas => {
    const { data } = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
    const isColoured = (at) => data[at + 3] > 200 && Math.max(...data.slice(at, at + 3)) - Math.min(...data.slice(at, at + 3)) > 50;
    return Array.from({ length: data.length / 4 }, (_, index) => isColoured(4 * index)).filter(Boolean).length;
}"""


def open_charts(page: Page, job_id: str, query: str) -> None:
    page.goto(f"/jobs/{job_id}?{query}")
    expect(page.locator("article:has(.uplot canvas)").first).to_be_visible()


def hover(page: Page, title: str, share: float) -> None:
    """Put the pointer over a chart, at a share of its width."""
    over = page.get_by_role("article", name=title, exact=True).locator(".u-over")
    expect(over).to_be_visible()
    width, height = over.evaluate("box => [box.offsetWidth, box.offsetHeight]")
    over.hover(position={"x": width * share, "y": height / 2})


def smoothed(values: list[float], weight: float) -> list[float]:
    """Exponential moving average over steps at the same distance, debiased."""
    total = norm = 0.0
    found = []
    for value in values:
        total, norm = weight * total + (1 - weight) * value, weight * norm + (1 - weight)
        found.append(total / norm)
    return found


@pytest.mark.parametrize("stage", ["sft", "reward_model", "ppo"])
def test_every_charted_metric_has_a_chart(new_page: NewPage, finished_job: str, client: Client, stage: str) -> None:
    reported = {one["name"] for one in client.get_job_metrics(finished_job, stage=stage)["series"]}
    titles = {one.chart.title for one in METRICS if one.chart and one.stage == stage and one.name in reported}
    assert titles and (stage != "sft" or "Tokens per second" in titles)
    page = new_page()
    open_charts(page, finished_job, f"stage={stage}")
    for title in titles:
        expect(page.get_by_role("article", name=title, exact=True)).to_have_count(1)
    for button in page.get_by_role("button", name=re.compile("^About: ")).all():
        button.click()
        box = page.get_by_role("dialog")
        expect(box).to_be_visible()
        assert "`" not in box.inner_text()
        page.keyboard.press("Escape")
        expect(box).to_have_count(0)
    if stage == "ppo":
        _opens_completions(page)
    if stage == "sft":
        _is_seen_in_forced_colours(page)


def _is_seen_in_forced_colours(page: Page) -> None:
    """The lines keep their colours, the badge of the state has a frame, and what has the focus has a ring."""
    page.emulate_media(forced_colors="active")
    chart = page.locator("article [role=slider]").first
    page.get_by_label("Smoothing").focus()
    while not chart.evaluate("chart => chart === document.activeElement"):
        page.keyboard.press("Tab")
    clear = "rgba(0, 0, 0, 0)"
    ring = chart.evaluate(
        "chart => { const { outlineStyle, outlineColor } = getComputedStyle(chart); return [outlineStyle, outlineColor] }"
    )
    assert ring[0] == "solid" and ring[1] != clear
    badge = page.get_by_role("status", name="State of the job").locator("span").first
    assert badge.evaluate("badge => getComputedStyle(badge).borderTopColor") != clear
    assert chart.locator("canvas").evaluate(COLOURED_PIXELS) > 100


def _opens_completions(page: Page) -> None:
    """A click on a point shows the completions of its step, and so does Enter at the crosshair. The run has one step."""
    expect(page.locator("article:has(.uplot canvas)").first).to_be_visible()

    def opened() -> bool:
        # A busy browser may draw the chart anew between the movement and the click.
        hover(page, "Reward", 0.98)
        page.mouse.down()
        page.mouse.up()
        with suppress(TimeoutError):
            page.wait_for_url(re.compile("tab=completions&step=1"), timeout=5000)
        return "tab=completions&step=1" in page.url

    eventually(opened)
    page.mouse.move(0, 0)
    page.go_back()
    chart = page.get_by_role("slider", name=re.compile("^Reward: arrow keys"))
    chart.focus()
    chart.press("End")
    expect(chart).to_have_attribute("aria-valuenow", "1")
    chart.press("Enter")
    page.wait_for_url(re.compile("tab=completions&step=1"))


def test_the_read_out_is_the_drawn_point(new_page: NewPage, finished_job: str, client: Client) -> None:
    page = new_page()
    open_charts(page, finished_job, "stage=sft&smooth=0.9")
    (series,) = client.get_job_metrics(finished_job, stage="sft", names=["loss"])["series"]
    drawn = page.locator(f"{LOSS} b")
    expect(drawn).to_have_attribute("data-value", re.compile(r"\d"))
    assert float(drawn.get_attribute("data-value") or 0) == pytest.approx(smoothed(series["values"], 0.9)[-1])

    hover(page, "Loss", 0.5)
    position = page.get_by_role("article", name="Loss", exact=True).locator("[data-position]")
    step = round(float(position.get_attribute("data-position") or 0))
    expected = smoothed(series["values"], 0.9)[series["steps"].index(step)]
    assert float(drawn.get_attribute("data-value") or 0) == pytest.approx(expected)
    charts = page.locator("article:has(.uplot canvas)")
    places = charts.evaluate_all(CROSSHAIRS)
    assert len(places) > 3 and places == pytest.approx([0.5] * len(places), abs=0.01)

    page.mouse.move(0, 0)
    slider = page.get_by_role("slider", name=re.compile("^Loss:"))
    for key in ("Home", "ArrowRight", "+", "+", "ArrowRight"):
        slider.press(key)
    page.wait_for_url(re.compile("view="))
    chosen = position.get_attribute("data-position") or ""
    for key, view in (("Shift+ArrowRight", "view="), ("Escape", r"smooth=0\.9$")):
        before = page.url
        slider.press(key)
        page.wait_for_url(lambda url, view=view, before=before: url != before and re.search(view, url) is not None)
        expect(position).to_have_attribute("data-position", chosen)


def choose(page: Page, title: str, action: str) -> None:
    """Choose an action from the menu of a chart."""
    page.get_by_role("button", name=f"Actions: {title}", exact=True).click()
    page.get_by_role("menuitem", name=action).click()


def test_a_user_arranges_charts_in_every_browser(new_page: NewPage, finished_job: str) -> None:
    page = new_page()
    open_charts(page, finished_job, "stage=sft&x=elapsed&y=symlog&clip=1")
    titles = page.locator("article h2")
    first, second, *_ = titles.all_inner_texts()
    choose(page, first, "Move later")
    expect(titles.first).to_have_text(second)
    choose(page, "Gradient norm", "Pin to the top")
    expect(titles.first).to_have_text("Gradient norm")
    choose(page, second, "Hide")
    expect(titles.get_by_text(second, exact=True)).to_have_count(0)
    elsewhere = new_page()  # another browser of the same user
    open_charts(elsewhere, finished_job, "stage=sft")
    expect(elsewhere.locator("article h2").first).to_have_text("Gradient norm")
    elsewhere.context.close()
    page.reload()
    expect(titles.first).to_have_text("Gradient norm")
    assert violations(page) == []
    page.get_by_role("button", name="Reset the arrangement").click()
    expect(titles.first).to_have_text(first)


def test_a_user_makes_a_chart_of_chosen_metrics(new_page: NewPage, finished_job: str) -> None:
    page = new_page()
    open_charts(page, finished_job, "stage=sft")
    titles = page.locator("article h2")
    first = titles.first.inner_text()
    page.get_by_role("button", name="Add a chart").click()
    page.get_by_role("combobox", name="Metrics").fill("^(eval/)?loss$")
    page.get_by_role("button", name="Add 2 matches").click()
    page.get_by_label("Title").fill("Loss")
    expect(page.get_by_text("Another chart of this stage has this title.")).to_be_visible()
    page.get_by_label("Title").fill("Both losses")
    assert violations(page) == []
    page.get_by_role("button", name="Add the chart").click()
    expect(titles.first).to_have_text("Both losses")
    own = page.get_by_role("article", name="Both losses")
    expect(own.locator("[data-metric]")).to_have_count(2)
    choose(page, "Both losses", "Edit")
    page.get_by_role("button", name="Remove Held-out loss").click()
    page.get_by_label("Title").fill("One loss")
    page.get_by_role("button", name="Save").click()
    expect(page.get_by_role("button", name="Actions: One loss")).to_be_focused()
    choose(page, "One loss", "Delete")
    expect(titles.first).to_have_text(first)
    page.get_by_role("button", name="Undo").last.click()
    page.reload()
    expect(titles.first).to_have_text("One loss")
    expect(page.get_by_role("article", name="One loss").locator("[data-metric]")).to_have_count(1)


def test_a_chart_fills_the_screen_and_lists_its_keys(new_page: NewPage, finished_job: str) -> None:
    page = new_page()
    open_charts(page, finished_job, "stage=sft")
    titles = page.locator("article h2")
    first, second, *_ = titles.all_inner_texts()
    page.get_by_label("Find a metric").fill("speed of nothing")
    expect(titles).to_have_count(0)
    page.get_by_label("Find a metric").fill("")
    choose(page, first, "Full screen")
    dialog = page.get_by_role("dialog", name=first)
    expect(dialog.locator("canvas")).to_be_visible()
    expect(dialog.locator("output")).to_contain_text(re.compile(r"1 of \d+$"))
    page.keyboard.press("ArrowRight")
    dialog = page.get_by_role("dialog", name=second)
    dialog.get_by_role("button", name="Next").click()
    expect(page.get_by_role("dialog").locator("output")).to_contain_text("3 of")
    page.get_by_role("dialog").get_by_role("slider").focus()
    page.keyboard.press("ArrowLeft")
    page.keyboard.press("[")
    expect(dialog.get_by_role("slider")).to_be_focused()
    assert violations(page) == []
    page.keyboard.press("Escape")
    expect(page.get_by_role("button", name=f"Actions: {first}", exact=True)).to_be_focused()
    slider = page.get_by_role("slider", name=re.compile(f"^{first}:"))
    slider.press("f")
    expect(page.get_by_role("dialog", name=first)).to_be_visible()
    page.keyboard.press("Escape")
    expect(slider).to_be_focused()
    page.keyboard.press("?")
    keys = page.get_by_role("dialog", name="Keyboard shortcuts").get_by_role("group", name="Keys")
    expect(keys).to_contain_text("Move the crosshair by ten points")
    expect(keys).not_to_contain_text("earlier or the later step")
    expect(keys).to_be_focused()


def test_a_chart_is_saved_as_a_file(new_page: NewPage, finished_job: str, client: Client) -> None:
    page = new_page()
    open_charts(page, finished_job, "stage=sft&x=elapsed&y=symlog&clip=1")
    with page.expect_download() as download:
        choose(page, "Loss", "Save as CSV")
    (series,) = client.get_job_metrics(finished_job, stage="sft", names=["loss"])["series"]
    head, *rows = download.value.path().read_text().splitlines()
    assert head == "step,seconds,loss,eval/loss"
    losses = {int(row.split(",")[0]): row.split(",")[2] for row in rows}
    assert [float(losses[step]) for step in series["steps"]] == pytest.approx(series["values"])
    for kind, start in (("PNG", b"\x89PNG"), ("SVG", b"<svg")):
        with page.expect_download() as download:
            choose(page, "Loss", f"Save as {kind}")
        assert download.value.path().read_bytes().startswith(start)


# Whether all of the text is inside its box, and the box inside the chart.
IS_WHOLE = """one => {
    const box = one.getBoundingClientRect();
    const chart = one.closest("article").getBoundingClientRect();
    return one.scrollWidth <= one.clientWidth + 1 && box.left >= chart.left && box.right <= chart.right;
}"""


def test_titles_and_the_step_are_whole_near_a_mark(new_page: NewPage, finished_job: str) -> None:
    page = new_page()
    open_charts(page, finished_job, "stage=ppo")
    for share in (0.02, 0.995):
        hover(page, "Reward", share)
        steps = page.locator("[data-position] > span")
        expect(steps.first).to_contain_text("step")
        for text in (*page.locator("article h2").all(), *steps.all()):
            assert text.evaluate(IS_WHOLE), text.inner_text()
    event = page.get_by_role("article", name="Reward", exact=True).locator("[data-position] > b")
    expect(event).to_contain_text("heckpoint")
    assert violations(page) == []


def display(page: Page) -> None:
    page.get_by_role("button", name="Display").click()


def test_a_browser_remembers_how_charts_are_displayed(new_page: NewPage, finished_job: str) -> None:
    page = new_page()
    open_charts(page, finished_job, "stage=ppo")
    plot = page.get_by_role("slider", name=re.compile("^Reward: arrow keys"))
    box = page.get_by_role("article", name="Reward", exact=True)
    before = plot.bounding_box()
    display(page)
    page.get_by_text("Large", exact=True).click()
    page.get_by_role("combobox", name="Columns").select_option("2")
    page.get_by_label("Mark events on the charts").uncheck()
    assert violations(page) == []
    page.reload()
    expect(plot.locator("canvas")).to_be_visible()
    after = plot.bounding_box()
    assert before and after and after["height"] > 2 * before["height"]
    assert (width := box.bounding_box()) and width["width"] > 550
    hover(page, "Reward", 0.995)
    expect(box.locator("[data-position] > span")).to_contain_text("step")
    expect(box.locator("[data-position] > b")).to_have_count(0)


def test_compared_runs_lie_on_any_axis(
    new_page: NewPage, finished_job: str, submit_ppo: Submit, client: Client
) -> None:
    other = submit_ppo(steps=3, eval_every=2)
    eventually(lambda: client.get_job(other)["status"] == "succeeded")
    page = new_page()
    page.goto(f"/compare?runs={finished_job},{other}&stage=ppo")
    axis = page.get_by_label("Horizontal axis")
    chart = page.get_by_role("article", name="Score", exact=True)
    for wanted in ("Step, logarithmic", "Time since the start", "Clock time", "Episodes", "Tokens", "Entropy"):
        axis.select_option(label=wanted)
        expect(chart.locator("canvas")).to_be_visible()
        expect(chart.locator("[data-points]")).to_have_count(2)
    hover(page, "Score", 0.5)
    expect(chart.locator("[data-position] > span")).to_contain_text("Entropy")
    axis.select_option(label="Tokens")
    with page.expect_download() as download:
        choose(page, "Score", "Save as CSV")
    head = download.value.path().read_text().splitlines()[0]
    assert head.startswith("step,tokens,") and finished_job in head and other in head
    with page.expect_download() as download:
        choose(page, "Score", "Save as PNG")
    assert download.value.path().read_bytes().startswith(b"\x89PNG")
    assert violations(page) == []


def test_compared_runs_have_the_charts_of_the_user(new_page: NewPage, finished_job: str) -> None:
    page = new_page()
    page.goto(f"/compare?runs={finished_job}&stage=sft")
    page.get_by_role("button", name="Add a chart").click()
    page.get_by_role("combobox", name="Metrics").fill("^(eval/)?loss$")
    page.get_by_role("button", name="Add 2 matches").click()
    page.get_by_label("Title").fill("Both losses")
    page.get_by_role("button", name="Add the chart").click()
    expect(page.get_by_role("article", name="Both losses").locator("[data-metric]")).to_have_count(2)
    page.get_by_label("Find a metric").fill("gradient")
    expect(page.get_by_role("article", name="Both losses")).to_have_count(0)
    expect(page.get_by_role("article", name="Gradient norm").first).to_be_visible()
    assert violations(page) == []
    open_charts(page, finished_job, "stage=sft")
    expect(page.get_by_role("article", name="Both losses")).to_be_visible()


def test_a_chart_names_the_metric_that_a_run_lacks(new_page: NewPage, finished_job: str, client: Client) -> None:
    client.store_view_setting("charts.sft", {"own": [{"title": "Yours", "metrics": ["benchmark/none"], "log": False}]})
    page = new_page()
    open_charts(page, finished_job, "stage=sft")
    expect(page.get_by_role("article", name="Yours")).to_contain_text("This run has not measured benchmark/none.")
    page.goto(f"/jobs/{finished_job}?stage=sft&x=tokens")
    expect(page.get_by_role("article", name="Loss", exact=True)).to_contain_text("Choose another axis.")
    page.goto(f"/compare?runs={finished_job}&stage=sft")
    expect(page.get_by_role("article", name="Yours")).to_contain_text("No run has measured benchmark/none.")
