"""Which fields a study's result depends on, and its runs over parallel axes, in the browser."""

from __future__ import annotations

import os
import re

import pytest
from playwright.sync_api import Page, expect

from bapo.api.studies import StudyCreate, StudyDetail
from bapo.client import Client
from tests.browser.conftest import assert_fits, box_of
from tests.support.fake_worker import FakeWorker
from tests.support.journals import evaluation, step

pytestmark = pytest.mark.browser

RESULTS = (0.10, 0.30, 0.50, 0.62, 0.12, 0.28, 0.54, 0.60)
"""As in tests/backend/test_study_design.py: c1 explains most."""


@pytest.fixture(scope="module")
def grid(admin: Client, worker: FakeWorker) -> StudyDetail:
    """A whole grid over two fields and two seeds that has ended."""
    points = [
        {"method.c1": c1, "method.v": v, "training.seed": seed}
        for seed in (1, 2)
        for c1 in (0.125, 0.25)
        for v in (2, 3)
    ]
    study = admin.create_study(StudyCreate(name="c1 and v", recipe="countdown-demo", points=points))
    for run, accuracy in zip(study.runs, RESULTS, strict=True):
        claim = worker.begin(admin.run(run.run_id or ""))
        worker.upload(claim, [evaluation(0, 0.25), step(1), step(2), evaluation(2, accuracy)])
        worker.report(claim, "succeeded")
    return study


def test_importance_stands_beside_chance_and_axes_can_be_brushed(page: Page, grid: StudyDetail) -> None:
    page.goto(f"/studies/{grid.id}")
    notes = page.locator("#study-importance-notes")
    expect(notes).to_contain_text("The whole grid over 8 runs")
    expect(notes).to_contain_text("measured by 2 seeds of each combination")
    bars = page.locator("#study-importance .bars .point")
    expect(bars).to_have_count(3)
    notes.locator("summary").click()
    first = notes.locator("tbody tr").first
    # (0.26645 − 0.00045) / 0.3083 = 0.8628: see tests/backend/test_study_design.py.
    expect(first).to_contain_text("method.c1")
    expect(first).to_contain_text("86.3")
    expect(first).to_contain_text("yes")
    card = page.locator(".parallel-card")
    lines = card.locator(".scatterlayer .trace")
    expect(lines).to_have_count(8)
    # The runs with the larger c1: the upper end of the first axis.
    plot = box_of(card.locator(".nsewdrag"))
    # Axes lie at 0, 1 and 2 of the range from −0.15 to 2.15, heights 0 to 1 at −0.06 to 1.12.
    x = plot["x"] + plot["width"] * 0.15 / 2.3
    page.mouse.move(x - 14, plot["y"] + 4)
    page.mouse.down()
    page.mouse.move(x + 14, plot["y"] + plot["height"] * 0.4, steps=6)
    page.mouse.up()
    expect(card.locator(".parallel-count")).to_have_text("4 of 8 runs ")
    # The same by the keyboard: the ranges show what was dragged over, and lead to the same.
    card.get_by_text("Ranges", exact=True).click()
    c1_from, c1_to = (card.get_by_role("combobox", name=f"c1, {end}") for end in ("from", "to"))
    expect(c1_from).to_have_value("0.25")
    expect(c1_to).to_have_value("0.25")
    v_to = card.get_by_role("combobox", name="v, to")
    v_to.focus()
    v_to.press("ArrowUp")
    expect(v_to).to_have_value("2")
    expect(card.locator(".parallel-count")).to_have_text("2 of 8 runs ")
    c1_from.focus()
    c1_from.press("Home")
    expect(card.locator(".parallel-count")).to_have_text("4 of 8 runs ")
    if folder := os.environ.get("LOOKS"):
        for scheme in ("light", "dark"):
            page.evaluate(f"document.documentElement.setAttribute('data-mantine-color-scheme', '{scheme}')")
            page.set_viewport_size({"width": 1440, "height": 1000})
            page.screenshot(path=f"{folder}/charts-{scheme}.png", full_page=True)
        page.set_viewport_size({"width": 1280, "height": 900})
    card.get_by_role("button", name="Show all").click()
    expect(card.locator(".parallel-count")).to_have_text("")
    expect(c1_from).to_have_value("0.125")
    expect(v_to).to_have_value("3")
    # As a table, for those who see no lines: of the runs that are kept. An end draws the other along.
    card.get_by_text("As a table", exact=True).click()
    expect(card.locator("tbody tr:visible")).to_have_count(8)
    expect(card.locator("tbody tr").first).to_contain_text("62.0")
    c1_to.focus()
    c1_to.press("Home")
    expect(card.locator("tbody tr:visible")).to_have_count(4)
    c1_from.focus()
    c1_from.press("End")
    expect(c1_to).to_have_value("0.25")
    expect(card.locator("tbody tr:visible").first).to_contain_text("62.0")
    # Another result; rollouts are the same in all of these runs.
    page.get_by_label("Result to explain").first.click()
    page.get_by_role("option", name="rollouts", exact=True).click()
    expect(notes).to_contain_text("Nothing can be said: all runs have the same result.")
    # A point opens its run.
    page.get_by_label("Result to explain").first.click()
    page.get_by_role("option", name="best evaluation", exact=True).click()
    expect(notes).to_contain_text("The whole grid over 8 runs")
    plot = box_of(card.locator(".nsewdrag"))
    # The best run's point on the last axis.
    page.mouse.click(plot["x"] + plot["width"] * 2.15 / 2.3, plot["y"] + plot["height"] * 0.12 / 1.18)
    page.wait_for_url(re.compile(r"/runs/"))


def test_chosen_runs_have_both_charts_too(page: Page, grid: StudyDetail) -> None:
    page.goto(f"/compare?runs={','.join(run.run_id or '' for run in grid.runs[:4])}")
    notes = page.locator("#compare-importance-notes")
    expect(notes).to_contain_text("it takes at least 8 runs with a result, and there are 4")
    expect(page.locator("#compare-parallel .scatterlayer .trace")).to_have_count(4)
    page.set_viewport_size({"width": 390, "height": 844})
    page.goto(f"/studies/{grid.id}")
    expect(page.locator("#study-importance .bars .point")).to_have_count(3)
    assert_fits(page, 390)
