"""The run of another trainer in the browser: what it recorded is drawn, and what it cannot do is not there."""

from __future__ import annotations

import random

import pytest
from playwright.sync_api import Page, expect

from bapo import observe
from bapo.client import Client
from bapo.observe import Group
from tests.support.recorded import import_folder

pytestmark = pytest.mark.browser


def groups_of(step: int) -> list[Group]:
    draw = random.Random(step)
    return [
        Group(f"{n} + {n} = ?", [float(draw.random() < n / 24) for _ in range(8)], [str(2 * n)] * 8) for n in range(24)
    ]


@pytest.fixture(scope="module")
def observed(admin: Client, tmp_path_factory: pytest.TempPathFactory) -> str:
    folder = tmp_path_factory.mktemp("observed") / "countdown"
    with observe.run("countdown", config={"learning_rate": 1e-6}, folder=folder, trainer="TRL") as run:
        for step in range(1, 31):
            run.step(step, groups=groups_of(step), metrics={"actor/entropy": 1 / step})
        run.evaluation(30, dataset="held-out", groups=groups_of(0))
    return import_folder(admin, folder)


TABS = (
    "overview",
    "batch",
    "difficulty",
    "findings",
    "walk",
    "what-if",
    "prompts",
    "samples",
    "system",
    "config",
    "history",
)


@pytest.mark.parametrize("tab", TABS)
def test_each_tab_of_an_observed_run_opens(page: Page, observed: str, tab: str) -> None:
    page.goto(f"/runs/{observed}?tab={tab}")
    expect(page.locator("#run-name")).to_have_text("countdown")
    expect(page.locator("#run-tabs [role=tab]")).to_have_count(len(TABS))
    expect(page.locator("#run-panel > *").first).to_be_visible()
    expect(page.locator("#run-progress")).to_contain_text("30")
    for label in ("Fork", "Clone", "Stop", "Pause", "Change parameters"):
        expect(page.locator(".run-actions").get_by_text(label, exact=True).locator("visible=true")).to_have_count(0)


def test_the_config_is_the_trainers_own_and_holds_no_default_of_ours(page: Page, observed: str) -> None:
    page.goto(f"/runs/{observed}?tab=config")
    rows = page.locator("#config-rows")
    expect(rows).to_contain_text("config.learning_rate")
    expect(rows).to_contain_text("reward above 0")
    expect(rows).not_to_contain_text("temperature")


def test_observed_runs_are_listed_and_compared(page: Page, observed: str) -> None:
    page.goto("/runs")
    expect(page.get_by_role("row", name="countdown")).to_contain_text("Observed")
    page.goto(f"/compare?runs={observed}")
    expect(page.get_by_role("main")).to_contain_text("countdown")
