"""What-if and the form of a new run in a real browser, on runs that were really trained."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from pathlib import Path

import pytest
from playwright.sync_api import Page, Route, expect

from bapo.api.readings import WhatIfRequest
from bapo.client import Client
from tests.browser.conftest import WAIT_MILLISECONDS, address_of, field
from tests.support.recorded import NUM_STEPS, import_folder
from tests.support.services import wait_until

pytestmark = pytest.mark.browser


@pytest.fixture(scope="module")
def run_id(admin: Client, recorded_folders: Mapping[str, Path]) -> str:
    return import_folder(admin, recorded_folders["bapo-seed-1"])


def trace(page: Page, chart: str, name: str, axis: str = "y") -> list[float | None]:
    """The values of a trace, once the chart has it: Plotly draws after the words beside it are there."""
    script = """([chart, name, axis]) => {
        const graph = document.querySelector(`[data-chart="${chart}"] .js-plotly-plot`);
        const found = graph?.data?.find((each) => each.name === name && (each.yaxis || "y") === axis);
        return found ? Array.from(found.y) : null;
    }"""
    values: list[float | None] = page.wait_for_function(script, arg=[chart, name, axis]).json_value()
    return values


def test_a_moved_control_shows_what_the_api_answers(page: Page, admin: Client, run_id: str) -> None:
    page.goto(f"/runs/{run_id}?tab=what-if")
    expect(page.locator(".what-if-words")).to_contain_text("Exact, given the recorded accuracies")
    expect(page.locator("[data-total]")).to_have_count(9)
    recorded = admin.what_if(run_id, WhatIfRequest())
    assert trace(page, "what-if-composition", "X3 reused") == list(recorded.recorded.x3)
    assert len(trace(page, "what-if-composition", "X1 fresh", "y2")) == NUM_STEPS

    thumb = page.get_by_role("slider", name="c1 difficulty threshold")
    thumb.focus()
    page.keyboard.press("ArrowRight")
    expect(page.locator("[data-control='method.c1'] .what-if-value")).to_have_text("2/8")
    expect(page.locator(".what-if-words")).to_contain_text("drawn 20 times")
    expect(page).to_have_url(re.compile(r"set=method\.c1"))
    changes = {"method.c1": "1/4"}
    answer = admin.what_if(run_id, WhatIfRequest(set=changes))
    estimated = trace(page, "what-if-composition", "X2 re-evaluated, estimate", "y2")
    exact = trace(page, "what-if-composition", "X2 re-evaluated", "y2")
    assert [one or other for one, other in zip(exact, estimated, strict=True)] == pytest.approx(
        list(answer.forecast.x2.mean)
    )
    share = f"{100 * answer.totals.fill_rate.forecast:.1f}"
    expect(page.locator("[data-total='fill-rate'] .what-if-now")).to_contain_text(share)
    expect(page.locator(".what-if-words")).to_contain_text("not simulated")


def test_dapo_and_another_group_size_are_drawn_as_estimates(page: Page, admin: Client, run_id: str) -> None:
    page.goto(f"/runs/{run_id}?tab=what-if")
    expect(page.locator("[data-total]")).to_have_count(9)
    rounds = page.get_by_role("slider", name="max_rounds")
    expect(rounds).to_be_hidden()
    page.get_by_role("textbox", name="Replay as").click()
    page.get_by_role("option", name="dapo", exact=True).click()
    expect(rounds).to_be_visible()
    page.get_by_role("textbox", name="rollout.group_size").fill("16")
    expect(page.locator(".what-if-words")).to_contain_text("With 16 responses to each prompt instead of 8")
    expect(page.locator(".what-if-words")).to_contain_text("20 times")
    expect(page.locator("[data-total='rollouts']")).to_contain_text("estimate, 90 %")
    answer = admin.what_if(run_id, WhatIfRequest(set={"method.type": "dapo", "rollout.group_size": 16}))
    assert trace(page, "what-if-composition", "X1 fresh, estimate", "y2") == pytest.approx(
        list(answer.forecast.x1.mean)
    )
    assert None not in trace(page, "what-if-rollouts", "estimate, 90 % interval")
    page.get_by_role("button", name="Reset").click()
    expect(page.locator(".what-if-changes")).to_contain_text("Nothing is changed")


def test_every_control_moves_something_and_reset_takes_it_back(page: Page, run_id: str) -> None:
    page.goto(f"/runs/{run_id}?tab=what-if")
    expect(page.locator("[data-total]")).to_have_count(9)
    changed = page.locator(".what-if-changes")
    for name in ("m re-evaluate every", "B batch size", "c2 at r_tot = 0", "c3 at r_tot = 1"):
        page.get_by_role("slider", name=name).focus()
        page.keyboard.press("ArrowLeft")
    page.get_by_text("uniform", exact=True).click()
    page.get_by_text("reuse (X3)").click()
    for word in ("m", "B", "c2", "c3", "without", "filter.type"):
        expect(changed.locator("code", has_text=re.compile(f"^{word}$")).first).to_be_visible()
    page.get_by_role("button", name="Reset").click()
    expect(changed).to_contain_text("Nothing is changed")
    expect(page).not_to_have_url(re.compile("set="))


def test_a_link_restores_the_controls_and_leads_to_a_filled_form(page: Page, run_id: str) -> None:
    page.goto(f"/runs/{run_id}?tab=what-if&set=method.m:2;method.c2:0~1/2;method.without:reused~")
    expect(page.locator("[data-control='method.m'] .what-if-value")).to_have_text("2")
    expect(page.locator("[data-control='reuse.0'] .what-if-value")).to_have_text("0/8 to 2/8")
    expect(page.get_by_label("reuse (X3)")).not_to_be_checked()
    expect(page.locator(".what-if-changes")).to_contain_text("without")
    page.get_by_role("button", name="New run with these settings").click()
    expect(page).to_have_url(re.compile(rf"/new\?parent={run_id}&set="))
    expect(field(page, "method.m").locator("input")).to_have_value("2")
    expect(field(page, "method.m").locator(".field-was")).to_contain_text("was 5")
    expect(page.locator("#new-diff")).to_contain_text("c2")
    # What is taken back is no difference any more.
    field(page, "method.m").get_by_role("button", name="Reset method.m").click()
    expect(field(page, "method.m").locator("input")).to_have_value("5")
    expect(field(page, "method.m").locator(".field-was")).to_be_hidden()


def test_a_late_answer_of_the_page_before_leaves_the_form_alone(page: Page, run_id: str) -> None:
    held: dict[str, Route] = {}
    page.goto(f"/runs/{run_id}?tab=what-if&set=method.m:2")
    expect(page.locator(".what-if-words")).to_contain_text("drawn 20 times")

    def hold(route: Route) -> None:
        asked = json.loads(route.request.post_data or "{}")["changedPropIds"]
        kind = next((name for name in ("what-if-asked", "asked-page") if f"{name}.data" in asked), None)
        if kind is None or kind in held:
            route.continue_()
        else:
            held[kind] = route

    def wait_for(kind: str) -> Route:
        wait_until(lambda: page.evaluate("true") and kind in held, WAIT_MILLISECONDS / 1000)
        return held[kind]

    # A control was moved, and before its answer is there, the form of the settings before is opened.
    page.route("**/_dash-update-component*", hold)
    page.get_by_role("slider", name="m re-evaluate every").press("ArrowRight")
    late = wait_for("what-if-asked")
    page.get_by_role("button", name="New run with these settings").click()
    expect(page).to_have_url(re.compile(r"/new\?parent=\w+&set=method\.m:2$"))
    form = wait_for("asked-page")
    late.continue_()
    expect(page.locator(".what-if-words")).to_contain_text("drawn 4 times")
    form.continue_()
    method_m = field(page, "method.m")
    method_m.get_by_role("button", name="Reset method.m").click()
    expect(method_m.locator("input")).to_have_value("5")
    expect(method_m.locator(".field-was")).to_be_hidden()
    assert address_of(page).endswith("&set=method.m:2")


def test_the_form_says_what_a_run_will_take_and_where_nothing_is_reused(page: Page, admin: Client, run_id: str) -> None:
    page.goto(f"/new?parent={run_id}")
    expect(page.locator("#new-cost")).to_contain_text("similar run")
    expect(page.locator("#new-cost")).to_contain_text("duration")
    expect(page.locator("#new-cost").get_by_role("link", name=admin.run(run_id).name)).to_be_visible()
    expect(page.locator("#new-theory")).to_contain_text("fresh groups (X1)")
    expect(page.locator("#new-map-note")).to_be_empty()
    # [1/8 … 9/10, 1/8 … 9/10] is one point, which is no k/8 at most r_tot.
    for path in ("method.c2", "method.c3"):
        for end, value in (("0", "1/8"), ("1", "0.9")):
            field(page, path).get_by_label(f"{path} at r_tot = {end}").fill(value)
    expect(page.locator("#new-map-note")).to_contain_text("nothing is reused there")


def test_recipes_are_cards(page: Page) -> None:
    page.goto("/new")
    card = page.get_by_role("radio", name="countdown-grpo")
    expect(page.get_by_role("radio", name="countdown-demo")).to_be_checked()
    card.click()
    expect(page).to_have_url(re.compile("recipe=countdown-grpo"))
    expect(field(page, "method.type").locator("input").first).to_have_value("grpo")
