"""The tab on difficulty: matrices at any step, playing through a run, flows, and links that restore the view."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
from playwright.sync_api import Locator, Page, expect

from bapo.api.difficulty import Flows, Migration, MigrationMatrix
from bapo.api.imports import ImportCreate
from bapo.client import Client
from bapo.config import RunConfig
from tests.browser.conftest import Visitor, requests_of, view_of
from tests.support.recorded import NUM_STEPS, import_folder

pytestmark = pytest.mark.browser


@pytest.fixture(scope="module")
def run_id(admin: Client, recorded_folders: Mapping[str, Path]) -> str:
    return import_folder(admin, recorded_folders["bapo-seed-1"])


@pytest.fixture(scope="module")
def unborn(admin: Client) -> str:
    """A run that has recorded nothing."""
    config = RunConfig().model_dump(mode="json")
    info = admin.create_import(ImportCreate(name="unborn", source="unborn", config=config, attempts=1))
    admin.finish_import(info.run_id)
    return info.run_id


@pytest.fixture
def asked(page: Page) -> Iterator[list[str]]:
    """Addresses that the section asked for."""
    with requests_of(page, "/migration?") as addresses:
        yield addresses


NOTE_STEPS = """(element) => {
    window.notedSteps = [];
    const note = () => {
        if (window.notedSteps.at(-1) !== element.textContent) window.notedSteps.push(element.textContent);
    };
    new MutationObserver(note).observe(element, { childList: true, characterData: true, subtree: true });
}"""
"""Keeps each step that was shown, however briefly."""


def wait_for_steps(page: Page, steps: Sequence[str]) -> None:
    page.wait_for_function("(steps) => window.notedSteps.slice(0, steps.length).join() === steps.join()", arg=steps)


def visit(page: Page, run_id: str, **query: str) -> None:
    text = "".join(f"&{key}={value}" for key, value in query.items())
    page.goto(f"/runs/{run_id}?tab=difficulty{text}")
    expect(page.locator("[data-rate='unlocked'] .rate-value")).not_to_be_empty()
    expect(page.locator(".difficulty-section .chart-card.loading")).to_have_count(0)
    # Dash draws the first figures after the cards know that there are some.
    page.wait_for_function(
        """() => [...document.querySelectorAll(".difficulty-section .chart-card:not(.empty)")].every(
            (card) => card.offsetParent === null || card.querySelector(".js-plotly-plot")?.data?.length > 0)"""
    )


def traces(page: Page, chart: str) -> list[dict[str, Any]]:
    """What a card's graph draws."""
    found: list[dict[str, Any]] = page.evaluate(
        """(name) => {
            const graph = document.querySelector(`[data-chart="${name}"] .js-plotly-plot`);
            return graph && graph.data ? JSON.parse(JSON.stringify(graph.data)) : [];
        }""",
        chart,
    )
    return found


def wait_for_title(page: Page, chart: str, axis: str, text: str) -> None:
    page.wait_for_function(
        """([chart, axis, text]) => {
            const graph = document.querySelector(`[data-chart="${chart}"] .js-plotly-plot`);
            return graph && graph.layout && graph.layout[axis].title.text === text;
        }""",
        arg=[chart, axis, text],
    )


def shown_cells(page: Page, chart: str) -> list[list[str]]:
    """The texts of a matrix, row by row."""
    texts = traces(page, chart)[-1]
    rows = list(dict.fromkeys(texts["y"]))
    # What stands on the page, which Plotly keeps apart from what it was told.
    shown = page.locator(f"[data-chart='{chart}'] .textpoint text").all_text_contents()
    width = len(texts["text"]) // len(rows)
    return [[text.strip() for text in shown[index * width : (index + 1) * width]] for index in range(len(rows))]


def expected_cells(matrix: MigrationMatrix) -> list[list[str]]:
    """The numbers of a matrix; the row of prompts first seen in between only where there are such."""
    rows = [row[:-1] for row in matrix.counts]
    if not any(rows[-1]):
        rows.pop()
    return [[f"{count:,}" if count else "" for count in row] for row in rows]


def wait_for_query(page: Page, **expected: str | None) -> None:
    page.wait_for_function(
        """(expected) => Object.entries(expected).every(
            ([key, value]) => new URLSearchParams(location.search).get(key) === value)""",
        arg=expected,
    )


def thumb(page: Page, label: str) -> Locator:
    return page.get_by_role("slider", name=label)


def assert_shows(page: Page, answer: Migration) -> None:
    """The section shows exactly what the API says."""
    wait_for_title(page, "migration", "xaxis", f"correct at step {answer.to_step}")
    wait_for_title(page, "migration", "yaxis", f"correct at step {answer.from_step}")
    assert shown_cells(page, "migration") == expected_cells(answer.matrix)
    unlocked = answer.matrix.rates.unlocked
    assert unlocked is not None
    rate = page.locator("[data-rate='unlocked'] .rate-value")
    expect(rate).to_have_text(f"{100 * unlocked.value:.1f}\u202f%")
    seen = [row[:-1] for row in answer.matrix.counts[:-1]]
    # Charts are drawn one after another, this one later than the matrix.
    page.wait_for_function(
        """(counts) => {
            const graph = document.querySelector('[data-chart="accuracy-counts"] .js-plotly-plot');
            return JSON.stringify(graph?.data?.slice(0, 2).map(({ y }) => y)) === JSON.stringify(counts);
        }""",
        arg=[[sum(row) for row in seen], [sum(column) for column in zip(*seen, strict=True)]],
    )


def test_the_matrix_is_what_the_api_says_and_stands_beside_chance(page: Page, admin: Client, run_id: str) -> None:
    visit(page, run_id)
    answer = admin.migration(run_id)
    assert_shows(page, answer)
    assert answer.null is not None
    assert answer.null.rates.unlocked is not None
    assert shown_cells(page, "migration-null") == expected_cells(answer.null)
    chance = page.locator("[data-rate='unlocked'] .rate-chance")
    expect(chance).to_contain_text(f"chance {100 * answer.null.rates.unlocked.value:.1f}\u202f%")
    # The charts over training are there too.
    for chart in ("tracked-bins", "fresh-bins", "unlocks"):
        page.wait_for_function(
            "(name) => document.querySelector(`[data-chart='${name}'] .js-plotly-plot`)?.data?.length > 0", arg=chart
        )
    assert set(view_of(page)) == {"tab"}

    # The difference to chance is in percentage points.
    page.locator("#migration-difference").press("Space")
    expect(page.locator("[data-chart='migration'] .chart-note")).to_have_text("percentage points from chance")
    wait_for_query(page, difference="1")
    cells = shown_cells(page, "migration")
    for row, (now, by_chance) in enumerate(zip(answer.matrix.counts[:-1], answer.null.counts[:-1], strict=True)):
        for column in range(9):
            if sum(now) and sum(by_chance):
                points = round(100 * (now[column] / sum(now) - by_chance[column] / sum(by_chance)))
                assert cells[row][column] == (f"{points:+d}".replace("-", "−") if points else "")

    # The figures follow the colour scheme.
    before = traces(page, "migration")[0]["colorscale"]
    page.locator(".scheme-toggle").click()
    page.wait_for_function(
        """(before) => {
            const graph = document.querySelector(`[data-chart="migration"] .js-plotly-plot`);
            return JSON.stringify(graph.data[0].colorscale) !== JSON.stringify(before);
        }""",
        arg=before,
    )


def test_arrow_keys_step_through_the_samplings_and_the_address_follows(page: Page, admin: Client, run_id: str) -> None:
    visit(page, run_id)
    later = thumb(page, "To step")
    later.focus()
    later.press("ArrowLeft")
    assert_shows(page, admin.migration(run_id, from_step=0, to_step=16))
    wait_for_query(page, to="16", **{"from": None})
    expect(page.locator("#migration-to-step")).to_have_text("16")
    earlier = thumb(page, "From step")
    earlier.focus()
    earlier.press("ArrowRight")
    assert_shows(page, admin.migration(run_id, from_step=8, to_step=16))
    # A later step before the earlier one takes the earlier one along.
    later.focus()
    later.press("Home")
    assert_shows(page, admin.migration(run_id, from_step=0, to_step=0))
    later.press("End")
    assert_shows(page, admin.migration(run_id, from_step=0, to_step=NUM_STEPS))
    # The newest step is the one that a link without a step follows.
    wait_for_query(page, to=None)


def test_keys_pressed_faster_than_the_server_answers_are_all_counted(page: Page, admin: Client, run_id: str) -> None:
    visit(page, run_id, kind="last_seen")
    later = thumb(page, "To step")
    later.focus()
    for _ in range(10):
        later.press("ArrowLeft")
    expect(page.locator("#migration-to-step")).to_have_text(str(NUM_STEPS - 10))
    assert_shows(page, admin.migration(run_id, kind="last_seen", from_step=NUM_STEPS // 2, to_step=NUM_STEPS - 10))


def test_playing_asks_for_each_step_once_and_ends_at_the_last(page: Page, run_id: str, asked: list[str]) -> None:
    visit(page, run_id)
    button = page.locator("#migration-play")
    shown = page.locator("#migration-to-step")
    shown.evaluate(NOTE_STEPS)
    button.click()
    wait_for_steps(page, ["0", "8", "16", str(NUM_STEPS)])
    expect(button).to_contain_text("Play")
    steps = [parse_qs(urlsplit(address).query).get("to") for address in asked]
    # The newest step without a name comes first, and is known when it is reached again.
    assert steps == [None, ["0"], ["8"], ["16"]]
    # In a busy browser Dash tells of a thumb that playing has set when it has ended: nobody has moved it.
    page.evaluate("window.dash_clientside.set_props('migration-to', { value: 2 })")
    expect(thumb(page, "To step")).to_have_attribute("aria-valuenow", "2")
    expect(shown).to_have_text(str(NUM_STEPS))
    button.click()
    wait_for_steps(page, ["0", "8", "16", str(NUM_STEPS), "0"])
    thumb(page, "To step").press("End")
    expect(button).to_contain_text("Play")
    expect(shown).to_have_text(str(NUM_STEPS))
    assert len(asked) == 4


def test_last_seen_shows_all_training_prompts_at_any_step(page: Page, admin: Client, run_id: str) -> None:
    visit(page, run_id)
    page.get_by_text("Last seen in training", exact=True).click()
    answer = admin.migration(run_id, kind="last_seen")
    assert_shows(page, answer)
    wait_for_query(page, kind="last_seen")
    expect(page.locator("[data-chart='migration-null']")).to_be_hidden()
    expect(page.locator("#migration-difference")).to_be_disabled()
    later = thumb(page, "To step")
    later.focus()
    later.press("ArrowLeft")
    assert_shows(page, admin.migration(run_id, kind="last_seen", from_step=answer.from_step, to_step=NUM_STEPS - 1))
    page.get_by_text("Tracked prompts", exact=True).click()
    assert_shows(page, admin.migration(run_id))
    wait_for_query(page, kind=None, to=None)


def assert_flows(page: Page, answer: Flows) -> None:
    page.wait_for_function(
        """(headings) => {
            const graph = document.querySelector(`[data-chart="flows"] .js-plotly-plot`);
            const shown = graph?.layout?.annotations?.map((each) => each.text) || [];
            return JSON.stringify(shown) === JSON.stringify(headings);
        }""",
        arg=[f"step {step}" for step in answer.steps],
    )
    (sankey,) = traces(page, "flows")
    # Each prompt is in one band between each two steps.
    assert sum(sankey["link"]["value"]) == answer.num_prompts * (len(answer.steps) - 1)
    first = sorted(
        sum(path.num_prompts for path in answer.paths if path.classes[0] == number)
        for number in {path.classes[0] for path in answer.paths}
    )
    starts = [index for index, place in enumerate(sankey["node"]["x"]) if place < 0.1]
    sizes = [
        sum(
            value
            for source, value in zip(sankey["link"]["source"], sankey["link"]["value"], strict=True)
            if source == node
        )
        for node in starts
    ]
    assert sorted(sizes) == first


def saved_rows(page: Page, chart: str) -> list[list[str]]:
    """What a chart's menu saves as a table."""
    card = page.locator(f"[data-chart='{chart}']")
    card.locator(".chart-menu-button").click()
    with page.expect_download() as download:
        page.get_by_role("menuitem", name="Download as CSV").click()
    return [line.split(",") for line in download.value.path().read_text().splitlines()]


def test_flows_are_saved_and_go_over_the_steps_that_one_chooses(page: Page, admin: Client, run_id: str) -> None:
    visit(page, run_id)
    assert_flows(page, admin.flows(run_id))
    fields = page.locator(".flow-steps input")
    expect(fields).to_have_count(4)
    for place, step in enumerate(("0", "8", "16", "24")):
        expect(fields.nth(place)).to_have_value(step)
    # Matrices and flows are saved as tables.
    head, *rows = saved_rows(page, "migration")
    assert head == [f"correct at step {NUM_STEPS}", "correct at step 0", "value"]
    counts = admin.migration(run_id).matrix.counts
    expected = {
        (f"{after}/8", f"{before}/8"): count
        for before, row in enumerate(counts)
        for after, count in enumerate(row)
        if count
    }
    assert {(after, before): int(count) for after, before, count in rows} == expected
    head, *rows = saved_rows(page, "flows")
    assert head == ["from", "class", "to", "class", "prompts"]
    assert sum(int(row[-1]) for row in rows) == 3 * admin.flows(run_id).num_prompts
    # Names on an axis have no logarithm.
    page.locator("[data-chart='migration'] .chart-menu-button").click()
    expect(page.get_by_role("menuitem", name="Copy link")).to_be_visible()
    expect(page.get_by_role("menuitemcheckbox", name="Logarithmic y-axis")).to_have_count(0)
    page.keyboard.press("Escape")
    fields.nth(1).fill("17")
    fields.nth(1).press("Tab")
    # In rising order, whichever field they stand in; 17 stands for the sampling at 16.
    wait_for_query(page, flow="0,16,17,24")
    assert_flows(page, admin.flows(run_id, steps=[0, 16, 17, 24]))


def test_a_link_restores_the_view(page: Page, admin: Client, run_id: str) -> None:
    visit(page, run_id, **{"from": "8", "to": "16", "difference": "1", "flow": "0,8,24"})
    answer = admin.migration(run_id, from_step=8, to_step=16)
    wait_for_title(page, "migration", "xaxis", "correct at step 16")
    expect(page.locator("#migration-from-step")).to_have_text("8")
    expect(page.locator("#migration-difference")).to_be_checked()
    expect(page.locator("[data-chart='migration'] .chart-note")).to_have_text("percentage points from chance")
    assert answer.matrix.rates.unlocked is not None
    assert_flows(page, admin.flows(run_id, steps=[0, 8, 24]))
    visit(page, run_id, kind="last_seen", to="20")
    assert_shows(page, admin.migration(run_id, kind="last_seen", to_step=20))


def test_a_run_without_records_says_what_is_missing(page: Page, unborn: str) -> None:
    visit(page, unborn)
    for chart, text in (
        ("migration", "The tracked prompts have not been sampled yet."),
        ("migration-null", "The base model was not sampled twice."),
        ("flows", "No prompt has been seen yet."),
    ):
        expect(page.locator(f"[data-chart='{chart}'] .chart-empty")).to_have_text(text)
        expect(page.locator(f"[data-chart='{chart}'] .chart-empty")).to_be_visible()
    expect(page.locator("#migration-play")).to_be_disabled()
    expect(page.locator("[data-rate='unlocked'] .rate-value")).to_have_text("–")


def test_a_server_that_fails_is_named_and_asked_again(visitor: Visitor, admin: Client, run_id: str) -> None:
    page = visitor.page
    visitor.expected = ("502",)
    visit(page, run_id)
    pattern = re.compile(r"/live/runs/[^/]+/migration")
    page.route(pattern, lambda route: route.fulfill(status=502, json={"remedy": "the BAPO server does not answer"}))
    later = thumb(page, "To step")
    later.focus()
    later.press("ArrowLeft")
    empty = page.locator("[data-chart='migration'] .chart-empty")
    expect(empty).to_have_text("the BAPO server does not answer")
    page.unroute(pattern)
    later.press("ArrowLeft")
    assert_shows(page, admin.migration(run_id, from_step=0, to_step=8))
