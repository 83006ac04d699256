"""Markup and scripts in everything that people, models and trainers write: shown as text, on every page, never run."""

from __future__ import annotations

from urllib.parse import quote

import pytest
from playwright.sync_api import Page, expect

from bapo.api.runs import RunCreate, RunUpdate
from bapo.client import Client
from bapo.records import SampledResponse, SampleRecord
from bapo.rollout import BatchSource
from tests.browser.conftest import PlayedRun, Visitor, play
from tests.support.fake_worker import FakeWorker

pytestmark = pytest.mark.browser

ATTACK = (
    '<img src=x onerror="window.attacked=1"><script>window.attacked=1</script>'
    '"><svg onload=window.attacked=1>{{7*7}}<a href="javascript:window.attacked=1">x</a>'
)
MARKDOWN = f"[link](javascript:window.attacked=1) ![image](x) <b onclick='window.attacked=1'>bold</b> {ATTACK}"
TABS = (
    *(
        "overview",
        "batch",
        "difficulty",
        "what-if",
        "prompts",
        "samples",
        "chat",
        "off-policy",
        "system",
        "log",
        "config",
    ),
    *("artifacts", "history"),
)


@pytest.fixture(scope="module")
def hostile(admin: Client, worker: FakeWorker) -> PlayedRun:
    played = play(admin, worker, ATTACK, tags=[ATTACK], notes=MARKDOWN, group=ATTACK)
    played.advance(8)
    played.add_sample(
        SampleRecord(
            attempt=1,
            step=8,
            prompt_id=ATTACK,
            prompt=ATTACK,
            answer={ATTACK: ATTACK},
            source=BatchSource.FRESH,
            num_correct=1,
            group_size=2,
            policy_version=7,
            in_batch=True,
            responses=[
                SampledResponse(text=ATTACK, reward=1, num_tokens=9, logprob_sum=-2.0),
                SampledResponse(text=MARKDOWN, reward=0, num_tokens=9, logprob_sum=-3.0),
            ],
        )
    )
    assert played.claim is not None
    worker.upload_lines(played.claim, [ATTACK, f"\x1b[31m{ATTACK}\x1b]8;;javascript:1\x07"], "log")
    admin.update_run(played.run.id, RunUpdate(name=f"{ATTACK} again"))
    admin.create_run(RunCreate(name=ATTACK, parent_id=played.run.id, recipe=None, start=False))
    return played


def assert_nothing_ran(visitor: Visitor) -> None:
    assert visitor.page.evaluate("window.attacked") is None
    hostile_elements = "a[href^='javascript:'], img[src='x'], svg[onload], [onerror], [onclick]"
    assert visitor.page.locator(hostile_elements).count() == 0


def open_page(page: Page, address: str) -> None:
    page.goto(address)
    expect(page.locator("main")).to_contain_text("window.attacked=1")


def test_the_page_of_a_run_runs_nothing(visitor: Visitor, hostile: PlayedRun) -> None:
    page = visitor.page
    open_page(page, f"/runs/{hostile.run.id}")
    for tab in TABS:
        page.locator(f"#run-tabs-tab-{tab}").click()
        panel = page.locator(f"#run-tabs-panel-{tab} #run-panel")
        expect(panel).not_to_be_empty()
        if tab in ("samples", "log"):
            expect(panel).to_contain_text(ATTACK)
        assert_nothing_ran(visitor)


def test_other_pages_run_nothing(visitor: Visitor, hostile: PlayedRun) -> None:
    # So wide that the list of runs shows tags.
    visitor.page.set_viewport_size({"width": 1900, "height": 900})
    for address in (
        "/runs",
        f"/runs?search={quote('<img')}",
        f"/compare?runs={hostile.run.id}",
        f"/new?parent={hostile.run.id}",
        "/queue",
        "/workers",
        f"/runs/{hostile.run.id}/prompts/{quote(ATTACK, safe='')}",
    ):
        open_page(visitor.page, address)
        assert_nothing_ran(visitor)
        if address == "/runs":
            expect(visitor.page.locator(".cell-tag").first).to_have_text(ATTACK)


def test_what_an_address_says_is_text(visitor: Visitor, hostile: PlayedRun) -> None:
    visitor.expected = ("404", "422")
    for address in (
        f"/runs/{quote(ATTACK, safe='')}",
        f"/compare?runs={quote(ATTACK)}",
        f"/runs?search={quote(ATTACK)}",
    ):
        visitor.page.goto(address)
        expect(visitor.page.locator("main")).not_to_be_empty()
        assert_nothing_ran(visitor)
    # As if one got through all the same: the page's policy runs no script that is not ours.
    visitor.expected = ("Content Security Policy", "Content-Security-Policy")
    visitor.page.evaluate("document.body.insertAdjacentHTML('beforeend', '<img src=x: onerror=window.attacked=1>')")
    visitor.page.evaluate(
        """() => document.body.append(Object.assign(document.createElement("script"), {text: "window.attacked=1"}))"""
    )
    assert visitor.page.evaluate("window.attacked") is None
