"""The tab Findings in a real browser, on a run whose prompts are too hard."""

from __future__ import annotations

import csv
import re
from collections.abc import Iterable, Iterator
from io import StringIO
from pathlib import Path

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page, expect

from bapo.client import Client
from bapo.records import AnyRecord, StepRecord
from benchmarks.simulation import SimulatedRun
from benchmarks.volume import config_of, store
from tests.browser.conftest import assert_fits

pytestmark = pytest.mark.browser

NUM_STEPS = 150


@pytest.fixture(scope="module")
def run_id(admin: Client) -> str:
    config = config_of(steps=NUM_STEPS, batch_size=32)
    return store(admin, config, "too hard", with_hopeless_prompts(SimulatedRun(config, num_prompts=512).records()))


def with_hopeless_prompts(records: Iterable[AnyRecord]) -> Iterator[AnyRecord]:
    """A quarter of the prompts, 128 of 512, have no right response in any group."""
    for record in records:
        if isinstance(record, StepRecord):
            for visit in record.prompts:
                if visit.prompt_id < f"drawn:{128:016x}":
                    visit.num_correct = 0
        yield record


def test_each_finding_is_a_card_with_evidence_and_a_clone(page: Page, admin: Client, run_id: str) -> None:
    report = admin.findings(run_id)
    page.goto(f"/runs/{run_id}?tab=findings")
    expect(page.locator("[data-finding]")).to_have_count(len(report.findings))
    expect(page.locator("#run-tabs-tab-findings")).to_have_attribute("data-count", str(len(report.findings)))
    card = page.locator("[data-finding='no_gradient']")
    finding = next(each for each in report.findings if each.kind == "no_gradient")
    expect(card.locator("h2")).to_have_text(finding.title)
    expect(card.locator(".finding-evidence tr")).to_have_count(len(finding.evidence))
    expect(page.locator(".finding-checks")).to_contain_text("Too little recorded")
    card.get_by_role("link", name=re.compile("Clone with G = 16")).click()
    expect(page).to_have_url(re.compile(rf"/new\?parent={run_id}&set=rollout\.group_size:16"))


def test_the_list_of_prompts_is_downloaded(page: Page, admin: Client, run_id: str) -> None:
    page.goto(f"/runs/{run_id}?tab=findings")
    with page.expect_download() as download:
        page.locator("[data-finding='never_solved'] .finding-list").click()
    rows = list(csv.DictReader(StringIO(Path(download.value.path()).read_text(encoding="utf-8"))))
    listed = admin.finding_prompts(run_id, "never_solved")
    assert [row["prompt_id"] for row in rows] == [item.prompt_id for item in listed.items]
    # All that were visited often enough to be sure.
    assert 100 < len(listed.items) <= 128 + 20
    assert {item.num_correct for item in listed.items} == {0}


def test_one_click_opens_a_run_without_the_prompts_of_a_finding(page: Page, admin: Client, run_id: str) -> None:
    listed = [item.prompt_id for item in admin.finding_prompts(run_id, "never_solved").items]
    page.goto(f"/runs/{run_id}?tab=findings")
    page.locator("[data-finding='never_solved']").get_by_role("link", name=re.compile("Clone without these")).click()
    expect(page).to_have_url(re.compile(rf"/new\?parent={run_id}&without=never_solved"))
    excluded = page.locator("[data-field='task.exclude_prompts'] input")
    expect(excluded).to_have_value(", ".join(listed))


@pytest.mark.parametrize("width", [390, 1440])
def test_the_tab_fits_and_can_be_read_by_everybody(page: Page, run_id: str, width: int) -> None:
    page.goto(f"/runs/{run_id}?tab=findings")
    expect(page.locator("[data-finding='no_gradient']")).to_be_visible()
    assert_fits(page, width)
    # Headings above those of the cards are outside of the tab.
    options = {"rules": {"heading-order": {"enabled": False}}}
    found = Axe().run(page, context="#findings", options=options).response["violations"]
    assert found == [], [(each["id"], each["nodes"][0]["html"]) for each in found]
