"""The tab Critic: the card of a good critic and of one that was broken on purpose, and the tab's place."""

import random
from collections.abc import Iterator
from dataclasses import replace

import pytest
from playwright.sync_api import expect
from torch import Tensor

from benchmarks.platform_suite.stored_runs import sampled_run
from core.db import session_scope
from proximal.sdk import Client
from tests.e2e.axe import unread, unseen, violations
from tests.e2e.conftest import NewPage
from tests.trainer.ppo.test_critic_card import CODEC, card_of, experience_of, long_batch, noise
from trainer.events import CriticCard, Metrics, Sample, Samples
from trainer.ppo.critic_card import card_metrics

STEPS = 2
WORDS = "the tide rises and falls with the moon because gravity pulls on the sea twice a day"


def _reported(step: int, values_BR: Tensor) -> list[CriticCard | Metrics]:
    """The events of an iteration with these values, as PPO emits them."""
    scored, _ = long_batch()
    draw = random.Random(3)
    responses = [
        replace(one, ids=(CODEC.tokenizer.encode(" ".join(draw.sample(WORDS.split(), 16))) * 2)[: len(one.ids)])
        for one in scored.responses
    ]
    card = card_of(experience_of(replace(scored, responses=responses), values_BR))
    return [
        CriticCard(stage="ppo", step=step, card=card),
        Metrics(stage="ppo", step=step, total_steps=STEPS, values=card_metrics(card)),
    ]


@pytest.fixture
def run(client: Client, owner_id: str) -> Iterator[str]:
    """A run whose critic was good in its first iteration, and gives random values in the second."""
    _, values_BR = long_batch()
    completions = Samples(stage="ppo", step=1, rows=[Sample(prompt="Why?", response="The moon.", score=0.5)])
    logged = [*_reported(1, values_BR), completions, *_reported(2, noise(values_BR))]
    with session_scope() as session:
        found = sampled_run(session, owner_id, "Tides", logged)  # type: ignore[arg-type]  # it stores any events
    yield found
    client.delete_job(found)


def test_broken_critic_looks_broken_beside_a_good_one(new_page: NewPage, run: str) -> None:
    page = new_page()
    page.goto(f"/jobs/{run}?stage=ppo")
    views = page.get_by_role("navigation", name="Views of this job")
    views.get_by_role("link", name="Critic").click()
    verdict = page.get_by_role("region", name="Critic in plain words")
    expect(verdict.get_by_role("heading")).to_have_text("The critic is worse than the mean return")
    expect(verdict).to_contain_text("Pretrain it (ppo.critic.pretraining)")
    worst = page.get_by_role("table", name="Worst tokens").get_by_role("row")
    expect(worst).to_have_count(9)
    explained = page.get_by_role("table", name="Explained variance by position")
    expect(explained.get_by_role("row").nth(1)).to_contain_text("0 % to 20 %")
    expect(explained.get_by_role("row").nth(1)).to_contain_text("−")
    page.get_by_role("button", name="Earlier step").click()
    expect(verdict.get_by_role("heading")).to_have_text("The critic foresees a part of the returns")
    expect(verdict).to_contain_text("of the variance of the advantages")
    for width in (320, 1280):
        page.set_viewport_size({"width": width, "height": 844})
        assert unseen(page) == [], width
    assert unread(page) == [] and violations(page) == []
    page.goto(f"/jobs/{run}?stage=evaluation")
    expect(views.get_by_role("link", name="Completions")).to_be_visible()
    expect(views.get_by_role("link", name="Critic")).to_have_count(0)
