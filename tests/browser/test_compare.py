"""The comparison of runs that the local engine trained: every control used, every figure held against the API."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from playwright.sync_api import Page, expect

from bapo.api.imports import ImportCreate
from bapo.api.runs import RunUpdate
from bapo.client import Client
from tests.browser.conftest import WAIT_MILLISECONDS, Visitor, assert_fits, play
from tests.support.fake_worker import FakeWorker
from tests.support.journals import batch, event, lines_of, step
from tests.support.recorded import NUM_STEPS, RUNS, import_folder
from tests.support.services import wait_until

pytestmark = pytest.mark.browser

REWARD = "critic/rewards/mean"
LINES = """(name) => {
    const graph = document.querySelector(`[data-chart="${name}"] .js-plotly-plot`);
    return (graph?._fullData || []).filter((trace) => trace.hoverinfo !== "skip").map((trace) => ({
        label: trace.legendgroup, visible: trace.visible, x: [...(trace.x || [])], y: [...(trace.y || [])],
        z: trace.z ? trace.z.map((row) => [...row]) : null,
    }));
}"""

WATCHED = (
    """() => document.querySelector('[data-chart="critic/rewards/mean"] .js-plotly-plot')._compareWatched === true"""
)


@pytest.fixture(scope="module")
def runs(admin: Client, recorded_folders: Mapping[str, Path]) -> dict[str, str]:
    """Identifiers of the recorded runs by name."""
    return {name: import_folder(admin, recorded_folders[name], group="recorded") for name in RUNS}


def address(runs: Mapping[str, str], **query: str) -> str:
    return f"/compare?runs={','.join(runs.values())}" + "".join(f"&{key}={value}" for key, value in query.items())


def lines(page: Page, chart: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = page.evaluate(LINES, chart)
    return found


def labels(page: Page, chart: str = REWARD) -> list[str]:
    return [line["label"] for line in lines(page, chart)]


def shown(page: Page, chart: str = REWARD) -> list[str]:
    return [line["label"] for line in lines(page, chart) if line["visible"] is True]


def wait_for(page: Page, chart: str, expected: Sequence[str]) -> None:
    wait_until(lambda: labels(page, chart) == list(expected), WAIT_MILLISECONDS / 1000)


def open_page(page: Page, where: str) -> None:
    page.goto(where)
    expect(page.locator("#compare-results table").last).to_be_visible()


def choose(page: Page, field: str, option: str) -> None:
    page.locator(field).click()
    page.get_by_role("option", name=option, exact=True).click()


def test_seeds_are_put_together_and_every_number_is_the_servers(
    page: Page, admin: Client, runs: dict[str, str]
) -> None:
    open_page(page, address(runs))
    wait_for(page, REWARD, ["bapo", "grpo"])
    accuracy = "val-core/CD-34/acc/mean@4"
    keys = [REWARD, accuracy, "actor/entropy", "response_length/mean"]
    served = admin.compare_curves(list(runs.values()), keys).curves
    for key in keys:
        wait_for(page, key, ["bapo", "grpo"])
        for line, curve in zip(lines(page, key), served[key], strict=True):
            assert line["x"] == list(curve.x)
            assert line["y"] == pytest.approx(list(curve.mean))
    compared = admin.compare(list(runs.values()))
    table = page.locator("[data-compare-name=results-by-group] tbody tr")
    expect(table).to_have_count(2)
    final = compared.groups[0].results[0].final
    assert final is not None
    expect(table.first).to_contain_text(f"{100 * final.value:.1f}\u202f%")
    expect(page.locator("[data-compare-name=results-by-run] tbody tr")).to_have_count(4)
    fields = page.locator("[data-compare-name=config-differences] tbody th").all_text_contents()
    assert set(fields) == {each.field for each in compared.differences}
    expect(page.locator("[data-compare-name=config-differences] tbody tr").last).to_contain_text("1, 2")

    # Tables sort, and everything can be taken away.
    table = page.locator("[data-compare-name=results-by-run]")
    heading = table.get_by_role("columnheader").filter(has_text="Rollouts")
    heading.get_by_role("button").click()
    expect(heading).to_have_attribute("aria-sort", "descending")
    total = {run.name: run.total.rollouts for run in compared.runs}
    names = table.locator("tbody th a").all_text_contents()
    assert [total[name] for name in names] == sorted(total.values(), reverse=True)
    with page.expect_download() as download:
        table.get_by_role("button", name="CSV").click()
    rows = download.value.path().read_text().splitlines()
    assert rows[0].startswith("Run,Step,CD-34 base,final,at budget,best,change")
    assert len(rows) == 5
    with page.expect_download() as download:
        page.get_by_role("button", name="Download as CSV: Training reward").click()
    rows = download.value.path().read_text().splitlines()
    assert rows[0] == "run or group,step,mean reward of fresh responses"
    assert len(rows) == 1 + 2 * NUM_STEPS
    answer = page.request.get(page.get_by_role("link", name="Curves as JSON").get_attribute("href") or "")
    assert len(answer.json()["curves"][REWARD]) == 2


def test_a_group_opens_with_its_story_until_somebody_hides_it(page: Page, admin: Client, runs: dict[str, str]) -> None:
    for run_id in runs.values():
        admin.update_run(run_id, RunUpdate(notes="Does reuse pay?\n\nMore on this later."))
    page.goto("/runs?group=recorded")
    story = page.get_by_role("region", name="About these runs")
    expect(story).to_contain_text("Does reuse pay?")
    expect(story).not_to_contain_text("More on this later")
    expect(story).to_contain_text("GRPO and BAPO, 2 seeds, on Countdown: 4 runs")
    expect(story.get_by_role("term")).to_have_text(["Countdown", "CD-34", "G = 8", re.compile("X1 X2 X3")])
    # GRPO is the reference, as on the page that the button leads to.
    order = [runs[name] for name in sorted(runs, key=lambda name: not name.startswith("grpo"))]
    said = admin.compare(order, equal=True).outcome_text
    expect(story.locator(".runs-story-outcome")).to_have_text(said)
    assert_fits(page, 390)
    story.get_by_role("link", name="Compare").click()
    expect(page.locator("#compare-outcome")).to_have_text(said)
    expect(page.locator("[data-compare-name=results-by-run] tbody tr").first).to_contain_text("Does reuse pay?")

    page.goto("/runs?group=recorded")
    story.get_by_role("button", name="Hide what these runs are about").click()
    expect(story).to_be_hidden()
    page.reload()
    page.get_by_role("button", name="What are these runs?").click()
    story.get_by_role("link", name="Batch of").click()
    # A run says which group it belongs to.
    expect(page.locator("#run-status").get_by_role("link", name="compare")).to_have_attribute(
        "href", "/compare?run_group=recorded"
    )


def test_a_story_leaves_out_a_clone_that_was_never_evaluated(page: Page, admin: Client, runs: dict[str, str]) -> None:
    body = {**admin.run(runs["bapo-seed-1"]).config}
    body["training"] = {**body["training"], "steps": 1}
    info = admin.create_import(
        ImportCreate(name="forgotten", source="forgotten", config=body, attempts=1, group="recorded")
    )
    admin.import_records(info.run_id, batch(lines_of([step(1)]), token=info.fencing_token, start=0))
    clone = admin.finish_import(info.run_id).id
    page.goto("/runs?group=recorded")
    story = page.get_by_role("region", name="About these runs")
    # As if the clone were not there: it is no part of the design, and cuts nothing.
    order = [runs[name] for name in sorted(runs, key=lambda name: not name.startswith("grpo"))]
    said = admin.compare(order, equal=True).outcome_text
    left_out = "Left out: forgotten (cancelled at step 1, never evaluated)."
    expect(story.locator(".runs-story-outcome")).to_have_text(f"{said} {left_out}")
    expect(story).to_contain_text("GRPO and BAPO, 2 seeds, on Countdown: 4 runs")
    assert_fits(page, 390)
    # Compare keeps all runs in its tables, and its sentence names the one that it leaves out.
    page.goto("/compare?run_group=recorded")
    expect(page.locator("#compare-outcome")).to_contain_text(left_out)
    admin.delete_run(clone)


def test_batches_and_migration_are_the_servers(page: Page, admin: Client, runs: dict[str, str]) -> None:
    # As seen in a narrow window, which they fit.
    page.set_viewport_size({"width": 390, "height": 844})
    open_page(page, address(runs))
    expect(page.locator("[data-chart=composition] .js-plotly-plot")).to_be_attached()
    served = admin.compare_curves(
        list(runs.values()), ["bapo/batch/x3", "bapo/batch/batch_size"], max_points=60, reduce="means"
    ).curves
    wait_until(lambda: len(lines(page, "composition")) == 6, WAIT_MILLISECONDS / 1000)
    x3, size = (np.array(served[key][0].mean, float) for key in ("bapo/batch/x3", "bapo/batch/batch_size"))
    assert lines(page, "composition")[2]["y"] == pytest.approx(list(x3 / size))
    expect(page.locator("[data-chart=migration] .js-plotly-plot")).to_be_attached()
    wait_until(lambda: bool(lines(page, "migration")), WAIT_MILLISECONDS / 1000)
    counts = {name: np.array(admin.migration(run_id).matrix.counts)[:-1, :-1] for name, run_id in runs.items()}
    bapo, grpo = (counts[f"{method}-seed-1"] + counts[f"{method}-seed-2"] for method in ("bapo", "grpo"))
    expected = 100 * (grpo / grpo.sum() - bapo / bapo.sum())
    assert np.array(lines(page, "migration")[0]["z"]) == pytest.approx(expected)
    assert_fits(page, 390)


def test_the_legend_shows_and_hides_everywhere(page: Page, runs: dict[str, str]) -> None:
    open_page(page, address(runs))
    wait_for(page, REWARD, ["bapo", "grpo"])
    key = page.get_by_role("group", name="Groups").get_by_role("button").filter(has_text="BAPO")
    expect(key).to_have_attribute("aria-pressed", "true")
    key.focus()
    page.keyboard.press("Space")
    expect(key).to_have_attribute("aria-pressed", "false")
    wait_until(lambda: shown(page) == shown(page, "actor/entropy") == ["grpo"], WAIT_MILLISECONDS / 1000)
    expect(page.locator("[data-compare-name=results-by-group] tr.dimmed")).to_have_count(1)
    expect(page).to_have_url(re.compile("hide=bapo"))
    page.reload()
    wait_until(lambda: shown(page) == ["grpo"], WAIT_MILLISECONDS / 1000)
    page.get_by_role("group", name="Groups").get_by_role("button").filter(has_text="BAPO").click()
    wait_until(lambda: shown(page) == ["bapo", "grpo"], WAIT_MILLISECONDS / 1000)


def test_grouping_axis_and_equal_budgets_stand_in_the_address(page: Page, admin: Client, runs: dict[str, str]) -> None:
    open_page(page, address(runs))
    wait_for(page, REWARD, ["bapo", "grpo"])
    choose(page, "#compare-group", "Single runs")
    wait_for(page, REWARD, list(RUNS))
    page.locator("#compare-x").get_by_text("Rollouts").click()
    equal = page.get_by_role("switch", name="Equal budgets")
    expect(equal).to_be_checked()
    served = admin.compare_curves(list(runs.values()), [REWARD], group="run", x="rollouts", equal=True)
    assert served.budget is not None
    until = served.budget.until

    def is_equal() -> bool:
        found = lines(page, REWARD)
        return len(found) == 4 and all(line["x"][-1] == until for line in found)

    wait_until(is_equal, WAIT_MILLISECONDS / 1000)
    expect(page.locator("#compare-results")).to_contain_text("Equal budgets: the column")
    expect(page).to_have_url(re.compile("group=run&x=rollouts$"))
    equal.click()
    wait_until(lambda: not is_equal(), WAIT_MILLISECONDS / 1000)
    expect(page).to_have_url(re.compile("&equal=0"))
    page.reload()
    wait_until(lambda: len(lines(page, REWARD)) == 4 and not is_equal(), WAIT_MILLISECONDS / 1000)
    page.get_by_role("switch", name="Smooth").click()
    expect(page).to_have_url(re.compile("smooth=1"))


def test_what_an_accuracy_cost_and_who_is_compared_with_whom(page: Page, admin: Client, runs: dict[str, str]) -> None:
    open_page(page, address(runs))
    compared = admin.compare(list(runs.values()))
    best = max(
        result.best.value for run in compared.runs for result in run.results if result.dataset == compared.dataset
    )
    field = page.get_by_label("Accuracy to reach, in percent")
    field.fill("99")
    table = page.locator("[data-compare-name=cost-to-reach]")
    expect(table).to_contain_text("not reached")
    expect(table).to_contain_text(f"best {100 * best:.1f}")
    expect(page.get_by_text("GRPO did not reach 99.0\u202f%: no saving can be given.")).to_be_visible()
    field.fill("1")
    expect(page.get_by_text("or BAPO needed none")).to_be_visible()
    expect(table).to_contain_text("2 of 2")
    expect(page).to_have_url(re.compile("reach=1$"))
    choose(page, "#compare-reference", "GRPO")
    paired = page.locator("[data-compare-name=paired-differences]")
    expect(paired).to_contain_text("BAPO")
    difference = next(g for g in admin.compare(list(runs.values()), reference="grpo").groups if g.label == "bapo")
    against = difference.results[0].against_reference
    assert against is not None
    expect(paired).to_contain_text(f"{abs(100 * against.value):.1f}\u202fpts")


def test_runs_are_found_added_and_taken_out(page: Page, runs: dict[str, str]) -> None:
    page.goto("/compare")
    expect(page.get_by_text("Select two or more runs")).to_be_visible()
    box = page.get_by_role("textbox", name="Runs to compare")
    for search, name in (("bapo-seed", "bapo-seed-1"), ("grpo-seed-2", "grpo-seed-2")):
        box.fill(search)
        page.get_by_role("option", name=name).click()
        expect(box).to_have_value("")
        # The choice has come back from the server, which sets the box anew.
        expect(page).to_have_url(re.compile(runs[name]))
    wait_for(page, REWARD, ["bapo", "grpo"])
    page.keyboard.press("Escape")
    expect(page).to_have_url(re.compile(f"runs={runs['bapo-seed-1']},{runs['grpo-seed-2']}"))
    expect(page.get_by_role("main").get_by_role("link", name="Paper view")).to_have_attribute(
        "href", f"/paper?runs={runs['bapo-seed-1']},{runs['grpo-seed-2']}"
    )
    box.press("Backspace")
    wait_for(page, REWARD, ["bapo"])


def test_a_run_that_is_not_there_is_named(visitor: Visitor, runs: dict[str, str]) -> None:
    visitor.page.goto(f"/compare?runs={runs['bapo-seed-1']},nobody")
    expect(visitor.page.locator("#compare-curves")).to_contain_text("there is no run 'nobody'")


def test_a_running_run_goes_on_without_losing_the_zoom(
    page: Page, admin: Client, worker: FakeWorker, runs: dict[str, str]
) -> None:
    played = play(admin, worker, "still running")
    played.advance(5)
    played.add(event("parameter_change", 5, id="x", author="admin", set={"method.c1": "1/4"}, applied_step=6))
    played.advance(1)
    page.goto(f"/compare?runs={played.run.id},{runs['bapo-seed-1']}&group=run")
    wait_until(lambda: bool(lines(page, REWARD)) and len(lines(page, REWARD)[0]["x"]) == 6, WAIT_MILLISECONDS / 1000)
    expect(page.get_by_text("1 of 2 runs are not finished")).to_be_visible()
    # Both are shown up to where the running one stands, and its change of c1 is marked and named.
    assert [(line["label"], line["x"][-1]) for line in lines(page, REWARD)] == [
        ("still running", 6),
        ("bapo-seed-1", 6),
        ("still running", 6),
    ]
    expect(page.locator("#compare-curves").get_by_text("as far as still running goes").first).to_be_visible()
    expect(page.locator("[data-compare-name=config-differences]")).to_contain_text("0.125 → 1/4 from step 6")
    wait_until(lambda: page.evaluate(WATCHED), WAIT_MILLISECONDS / 1000)
    zoom = """() => Plotly.relayout(document.querySelector('[data-chart="critic/rewards/mean"] .js-plotly-plot'),
        {"xaxis.range": [2, 5]})"""
    page.evaluate(zoom)
    played.advance(3)
    wait_until(lambda: len(lines(page, REWARD)[0]["x"]) == 9, WAIT_MILLISECONDS / 1000)
    axis = (
        """() => document.querySelector('[data-chart="critic/rewards/mean"] .js-plotly-plot')._fullLayout.xaxis.range"""
    )
    wait_until(lambda: page.evaluate(axis) == [2, 5], WAIT_MILLISECONDS / 1000)
