"""The whole platform as `proximal up` runs it, worker included, and a real Chromium that looks at it."""

import tomllib
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import BrowserContext, Page, expect, sync_playwright
from sqlalchemy import select

from benchmarks.measuring.browser import chromium
from benchmarks.platform_suite.stored_runs import compared_run
from core.db import session_scope
from core.models import ApiKey
from core.settings import get_settings
from proximal.data_folder import DataFolder
from proximal.local.services import postgres
from proximal.sdk import Client
from tests.proximal.conftest import Up, running_up
from tests.waiting import eventually

REPOSITORY = Path(__file__).parents[2]
TINY = REPOSITORY / "examples" / "tiny"
# Features of Chromium that no test uses. The first three start processes for each context, which take half of the browser's
# CPU time. The others are those that Playwright disables and that a test could notice: the last `--disable-features` counts.
UNUSED_FEATURES = (
    "WebUIOmniboxPopup",
    "WebUIOmniboxAimPopup",
    "SpareRendererForSitePerProcess",
    "AvoidUnnecessaryBeforeUnloadCheckSync",
    "DestroyProfileOnBrowserClose",
    "HttpsUpgrades",
    "HttpsFirstBalancedModeAutoEnable",
    "LensOverlay",
    "MediaRouter",
    "PaintHolding",
    "ThirdPartyStoragePartitioning",
    "AvoidCorsURLLoaderRestartOnRedirect",
    "OptimizationHints",
    "NetworkTimeServiceQuerying",
    "AimEnabled",
    "PreconnectToSearch",
)

KL_COEFFICIENTS = (0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.4, 0.8)

NewPage = Callable[..., Page]
Submit = Callable[..., str]


@pytest.fixture(scope="package", autouse=True)
def _built_dashboard() -> None:
    if not (REPOSITORY / "frontend" / "dist" / "index.html").is_file():
        pytest.fail("The dashboard is not built. Run `make setup`, or `npm run build` in frontend/.", pytrace=False)


@pytest.fixture(scope="package")
def platform(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Up]:
    with running_up(tmp_path_factory.mktemp("platform")) as up:
        yield up


@pytest.fixture
def client(platform: Up) -> Iterator[Client]:
    with platform.client() as client:
        yield client


@pytest.fixture
def owner_id(platform: Up, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """The owner of the platform's key. Sessions of this process are those of the platform's database."""
    folder = DataFolder(platform.folder)
    monkeypatch.setenv("DATABASE_URL", f"postgresql+psycopg://{postgres(folder).url.partition('://')[2]}")
    monkeypatch.setenv("REDIS_URL", "redis://127.0.0.1:1")  # no page follows the runs that are stored here
    get_settings.cache_clear()
    with session_scope() as session:
        owner_id = session.scalars(select(ApiKey.owner_id)).first()
    assert owner_id is not None
    yield owner_id
    get_settings.cache_clear()


@pytest.fixture
def stored_runs(client: Client, owner_id: str) -> Iterator[list[str]]:
    """Ids of 40 ended runs: eight KL coefficients with five seeds each. No trainer made them."""
    with session_scope() as session:
        runs = [compared_run(session, owner_id, kl, seed) for kl in KL_COEFFICIENTS for seed in range(5)]
    yield runs
    for run in runs:
        client.delete_job(run)


@pytest.fixture(scope="package")
def profile(platform: Up, tmp_path_factory: pytest.TempPathFactory) -> Iterator[BrowserContext]:
    """A browser that keeps its cache from test to test, as a person's does: the dashboard's code is compiled once.

    Gone with the last test of this folder: its driver keeps an event loop running, in which no other test can start one.
    """
    expect.set_options(timeout=120_000)  # the tests of the other processes can keep both cores busy for seconds
    with sync_playwright() as playwright:
        context = playwright.chromium.launch_persistent_context(
            tmp_path_factory.mktemp("profile"),
            executable_path=chromium(),
            args=[f"--disable-features={','.join(UNUSED_FEATURES)}"],
            **_of_each_page(platform),
        )
        yield context
        context.close()


@pytest.fixture
def new_page(platform: Up, profile: BrowserContext) -> Iterator[NewPage]:
    """Opens pages, signed in unless stated otherwise. No page may have thrown an exception by the test's end.

    The first page belongs to the browser that all tests share, without its cookies and storage. Each further one belongs to a
    person of its own.
    """
    contexts: list[BrowserContext] = []
    crashes: list[str] = []

    def new(width: int = 1280, signed_in: bool = True) -> Page:
        if contexts:
            assert profile.browser is not None
            context = profile.browser.new_context(**_of_each_page(platform))
        else:
            context = profile
        contexts.append(context)
        if signed_in:
            assert context.request.post("/v1/session", data={"token": key_of(platform)}).ok
        page = context.new_page()
        page.set_default_timeout(60_000)
        page.set_viewport_size({"width": width, "height": 844})
        page.on("pageerror", lambda error: crashes.append(str(error)))
        return page

    yield new
    for context in contexts[1:]:
        context.close()
    _forget(profile, platform.url)
    with platform.client() as client:
        for setting in client.list_view_settings():
            client.delete_view_setting(setting["name"])
    assert crashes == []


def _of_each_page(platform: Up) -> dict[str, Any]:
    return {"base_url": platform.url, "locale": "en-US", "reduced_motion": "reduce"}


def _forget(profile: BrowserContext, url: str) -> None:
    """Close its pages but the first, which keeps the browser alive, and delete all that they stored, except the cache."""
    profile.set_offline(False)
    profile.clear_cookies()
    first, *others = profile.pages
    for page in others:
        page.close()
    session = profile.new_cdp_session(first)
    session.send("Storage.clearDataForOrigin", {"origin": url, "storageTypes": "local_storage,indexeddb"})
    session.detach()


@pytest.fixture
def submit(client: Client) -> Submit:
    return partial(submit_tiny, client)


@pytest.fixture
def submit_ppo(client: Client, finished_job: str) -> Submit:
    """Submits a job of PPO alone, which continues the finished job: `submit_ppo(steps=…)`."""

    def submit_stage(resources: dict[str, Any] | None = None, health: dict[str, Any] | None = None, **ppo: Any) -> str:
        spec = client.get_job(finished_job)["spec"]
        (final,) = (one for one in client.list_job_checkpoints(finished_job, final=True) if one["stage"] == "ppo")
        rewards = [{"type": "length", "target": 8}]
        wanted = {"model": final["id"], "data": spec["data"], "stages": ["ppo"], "ppo": spec["ppo"] | ppo}
        return client.create_job(
            wanted
            | {"rewards": rewards, "runtime": spec["runtime"], "resources": resources or {}, "health": health or {}}
        )["id"]

    return submit_stage


@pytest.fixture(scope="package")
def finished_job(platform: Up) -> str:
    """A short job that ran to its end."""
    with platform.client() as client:
        data = {kind: client.upload_dataset(TINY / f"{kind}.jsonl", kind)["id"] for kind in ("sft", "preferences")}
        job_id = submit_tiny(client, data, epochs=1, steps=1)
        eventually(lambda: client.get_job(job_id)["status"] == "succeeded")
    return job_id


def submit_tiny(client: Client, data: dict[str, str], epochs: int = 4, **ppo: Any) -> str:
    """Submit examples/tiny.toml over REST, on these datasets and with these epochs of SFT."""
    spec = tomllib.loads((TINY.parent / "tiny.toml").read_text())
    spec["data"] |= data
    spec["sft"]["epochs"] = epochs
    spec["ppo"] |= ppo
    return client.create_job(spec)["id"]


def key_of(platform: Up) -> str:
    key = DataFolder(platform.folder).key()
    assert key is not None
    return key


@pytest.fixture(scope="module")
def open_round(platform: Up, finished_job: str) -> str:
    """A round of annotation on the preferences of the job."""
    with platform.client() as client:
        source = {"type": "dataset", "dataset": client.get_job(finished_job)["spec"]["data"]["preferences"]}
        round_id = client.create_annotation_round({"source": source | {"rows": "all"}, "overlap": 2})["id"]
        eventually(lambda: client.get_annotation_round(round_id)["status"] == "open")
    return round_id
