"""Several settings from one checkpoint, in the browser: planned on the form of a fork, read, continued."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Page, expect

from bapo.client import Client
from tests.browser.conftest import WAIT_MILLISECONDS, assert_fits, id_of
from tests.support.fake_worker import FakeWorker
from tests.support.forks import make_parent, train

pytestmark = pytest.mark.browser


def test_settings_are_tried_from_a_checkpoint_and_one_goes_on(page: Page, admin: Client, worker: FakeWorker) -> None:
    parent = make_parent(admin, worker, "parent <b>")
    page.goto(f"/new?fork={parent.id}&step=2")
    page.get_by_label("Try several settings").check(force=True)
    preview = page.locator("#grid-preview")
    expect(preview).to_contain_text("Add an arm.")
    # Field by field, or as text.
    page.locator("#arms-field").fill("method.c1")
    page.get_by_role("option", name="method.c1", exact=True).click()
    page.get_by_label("Value of the field").fill("1/8")
    page.get_by_role("button", name="Add as an arm").click()
    lines = page.get_by_label("Arms", exact=True)
    expect(lines).to_have_value("method.c1=1/8")
    expect(preview).to_contain_text("at step 2 this is the same as the arm unchanged")
    lines.fill("rollout.group_size=4")
    expect(preview).to_contain_text("rollout.group_size")
    expect(preview).to_contain_text("a fork keeps 8")
    lines.fill("c1 a quarter")
    expect(preview).to_contain_text("write FIELD=VALUE")
    lines.fill("method.c1=1/4")
    expect(page.locator("#grid-count")).to_have_text("2 runs")
    page.get_by_label("With an arm of noise").check(force=True)
    expect(page.locator("#grid-count")).to_have_text("3 runs")
    page.get_by_label("Further steps").fill("2")
    # What cannot start yet keeps all that was typed.
    expect(page.locator("#new-submit")).to_have_text("Start 3 runs")
    page.locator("#new-submit").click()
    page.wait_for_url(re.compile(r"/studies/[a-z0-9]+$"))

    study = admin.study(id_of(page))
    outcome = page.locator(".fork-outcome")
    expect(outcome).to_have_text("No run has been evaluated yet.")
    expect(page.locator(".study-header")).to_contain_text("forks parent <b> at step 2, 2 steps each")
    arms = page.locator(".fork-arms tbody tr")
    expect(arms).to_have_count(3)
    expect(arms.nth(2)).to_contain_text("noise: another seed")
    for run, answers in zip(study.runs, ((2, 2, 2, 2), (4, 4, 4, 3), (2, 2, 3, 2)), strict=True):
        train(admin, worker, run, answers)
    # Differences of 2/8 three times and 1/8: 21.9 points.
    expect(arms.nth(1)).to_contain_text("+21.9 points [+11.9, +31.8]", timeout=WAIT_MILLISECONDS)
    expect(outcome).to_contain_text("one run of each cannot tell a setting from chance")
    expect(page.locator("#study-results")).to_contain_text("do not cover the chance of training")
    expect(page.locator("#study-results")).to_contain_text("the unchanged arm repeats its parent in all 2 common steps")
    names = page.evaluate("() => document.querySelector('#study-arms .js-plotly-plot').data.map((trace) => trace.name)")
    assert names.count("common history") == 2
    page.set_viewport_size({"width": 390, "height": 844})
    assert_fits(page, 390)
    page.set_viewport_size({"width": 1280, "height": 900})

    arms.nth(1).get_by_role("button", name="Continue this arm").click()
    page.wait_for_url(re.compile(r"/runs/"))
    fork = admin.run(id_of(page))
    assert (fork.parent_id, fork.fork_step, fork.num_steps, fork.config["method"]["c1"]) == (
        study.runs[1].run_id,
        4,
        8,
        0.25,
    )
    page.goto(f"/studies/{study.id}")
    expect(arms.nth(1).get_by_role("link", name="Continued")).to_be_visible()
    expect(arms.nth(1).get_by_role("button", name="Continue this arm")).to_have_count(0)
