"""A step walked line by line in a real browser, on a run that was really trained."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from bapo.api.readings import WalkRequest
from bapo.client import Client
from tests.browser.conftest import box_of
from tests.support.recorded import import_folder

pytestmark = pytest.mark.browser

STEP = 20
"""5 divides it: difficult prompts are answered again."""


@pytest.fixture(scope="module")
def run_id(admin: Client, recorded_folders: Mapping[str, Path]) -> str:
    return import_folder(admin, recorded_folders["bapo-seed-1"])


def test_a_step_is_walked_stepped_and_asked_what_another_c1_had_done(page: Page, admin: Client, run_id: str) -> None:
    recorded = admin.walk(run_id, WalkRequest(step=STEP))
    page.goto(f"/runs/{run_id}?tab=walk&step={STEP}")
    expect(page.locator(".walk-line")).to_have_count(len(recorded.lines))
    expect(page.locator(".walk-sum")).to_contain_text(f"trained on {recorded.batch} groups")

    # The groups of a line, each with its prompt and the way to its story.
    page.get_by_role("button", name="X2: every m steps").click()
    asked = next(each for each in recorded.lines if each.key == "reevaluate")
    groups = page.get_by_role("region", name="Line 13–15: groups")
    expect(groups).to_contain_text(asked.said)
    expect(groups).to_contain_text(re.compile(r"\d/8 at step \d+"))
    first = next(each for each in asked.outcomes if each.groups).groups[0]
    expect(groups.locator(".walk-prompt").first).to_have_text(recorded.texts[first.prompt_id])

    # Another c1, at once, and in the address.
    other = admin.walk(run_id, WalkRequest(step=STEP, c1="2/8"))
    page.get_by_role("textbox", name="c1, difficulty threshold").click()
    page.get_by_role("option", name="2/8").click()
    expect(page.locator(".walk-note")).to_contain_text("This step alone")
    expect(page.locator(".walk-sum")).to_contain_text(f"trained on {other.batch} groups")
    moved = next(each for each in other.lines if each.key == "store-difficult").outcomes[0]
    assert moved.count > moved.recorded
    expect(page.locator(".walk-line[data-line='store-difficult']")).to_contain_text(
        f"{moved.label} {moved.recorded} → {moved.count}"
    )
    expect(page).to_have_url(re.compile(r"c1=2(/|%2F)8"))
    page.get_by_role("button", name="As recorded").click()
    expect(page.locator(".walk-note")).to_have_count(0)

    # Step by step, and by number; the link restores step and line.
    page.get_by_role("button", name="Next step").click()
    expect(page.get_by_role("heading", name=f"Step {STEP + 1}", exact=True)).to_be_visible()
    expect(groups).to_contain_text("No prompt is re-evaluated in this step")
    page.get_by_role("textbox", name="Step", exact=True).fill("1")
    expect(page.get_by_role("heading", name="Step 1", exact=True)).to_be_visible()
    expect(page.get_by_role("button", name="Previous step")).to_be_disabled()
    page.reload()
    expect(page.get_by_role("heading", name="Step 1", exact=True)).to_be_visible()
    expect(page.locator("[data-line='reevaluate']")).to_have_attribute("aria-pressed", "true")

    # From a chart on batches.
    page.goto(f"/runs/{run_id}?tab=batch")
    # A chart that is still being drawn is elsewhere a moment later.
    expect(page.locator("[data-chart='batch-composition'].ready")).to_be_visible()
    expect(page.locator(".chart-card.loading")).to_have_count(0)
    chart = page.locator("[data-chart='batch-composition'] .js-plotly-plot .nsewdrag")
    box = box_of(chart)
    page.mouse.move(box["x"] + box["width"] / 2 - 20, box["y"] + box["height"] / 2)
    page.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2, steps=3)
    expect(
        page.locator("[data-chart='batch-composition'] .hoverlayer .legend, .hoverlayer .hovertext").first
    ).to_be_visible()
    page.mouse.click(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    expect(page.locator(".walk-line")).to_have_count(len(recorded.lines))
    expect(page).to_have_url(re.compile(r"tab=walk&step=1\d"))
    page.go_back()
    expect(page.locator("[data-chart='batch-composition']")).to_be_visible()
