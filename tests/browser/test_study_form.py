"""A study as a form in the browser: form and file follow each other; what is wrong stands at its field."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Page, expect

from bapo.api.runs import RunCreate
from bapo.client import Client
from tests.browser.conftest import assert_fits

pytestmark = pytest.mark.browser

COUNT_PAUSES = """() => {
    const [begin, end] = [window.setTimeout, window.clearTimeout];
    const pauses = new Set();
    window.setTimeout = (act, delay, ...given) => {
        const timer = begin((...all) => { pauses.delete(timer); act(...all); }, delay, ...given);
        if (delay === 300) pauses.add(timer);
        return timer;
    };
    window.clearTimeout = (timer) => { pauses.delete(timer); end(timer); };
    const lists = ["requested", "prioritized", "blocked", "executing", "watched", "executed", "stored"];
    window.isAtRest = () => {
        const { callbacks } = dash_stores[0].getState();
        return !pauses.size && lists.every((list) => !callbacks[list].length);
    };
}"""
"""From then on the page knows whether a callback is under way, or waits until somebody has typed (study_form.js)."""


def test_a_study_is_designed_in_the_form_beside_its_file(page: Page, admin: Client) -> None:
    page.goto("/studies/new")
    text = page.get_by_label("Study file")
    power = page.locator("#study-power")
    make = page.locator("#study-create")
    # Everything that is missing is told at once, each at its field; the power is known already.
    # 1.682 · 1.41 points = 2.4 points.
    expect(power).to_have_text("5 seeds show 2.4 points")
    title = page.get_by_label("Title", exact=True)
    expect(page.locator(".study-wide .field-wrap").first).to_contain_text("is empty: write one")
    expect(page.locator(".study-problems li")).to_have_count(2)
    expect(make).to_be_disabled()
    # The file gets a comment, which the form then keeps, and another seed less, which the form follows.
    seeds = page.get_by_label("Seeds", exact=True)
    text.fill(
        text.input_value().replace("seeds = [1, 2, 3, 4, 5]", "# As many as a night allows.\nseeds = [1, 2, 3, 4]")
    )
    expect(seeds).to_have_value("1..4")
    title.fill("Designed in the form")
    expect(text).to_have_value(re.compile('title = "Designed in the form"'))
    page.get_by_label("Question", exact=True).fill("Is BAPO above GRPO?")
    # The file declares 10 runs, and four seeds make 8.
    expect(page.locator(".study-problems li").filter(has_text="write 8")).to_have_count(1)
    expect(page.locator(".field-wrap", has_text="Number of runs")).to_contain_text("write 8")
    # Fewer seeds show less, and the form counts the runs: 3.264 · 1.41 = 4.6 points.
    seeds.fill("1..3")
    expect(power).to_have_text("3 seeds show 4.6 points")
    expect(page.get_by_label("Number of runs")).to_have_value("6")
    expect(text).to_have_value(re.compile(r"# As many as a night allows\.\nseeds = \[1, 2, 3\]"))
    # A config field of one arm, with its help and range, as in the form of a run.
    field = page.get_by_role("textbox", name="Set a field of arm 2")
    field.click()
    field.fill("method.c1")
    page.get_by_role("option", name="method.c1", exact=True).click()
    c1 = page.get_by_label("method.c1", exact=True)
    expect(c1).to_be_visible()
    c1.fill("7")
    expect(page.locator('[data-field="arms/1/set/method.c1"]')).to_contain_text("less than 1")
    c1.fill("1/4")
    expect(make).to_have_text("Make the 6 runs")
    expect(text).to_have_value(re.compile(r'set = \{ "method\.c1" = "1/4" \}'))
    # The other direction: an arm that is renamed in the file is renamed in the form.
    text.fill(text.input_value().replace('"BAPO"', '"BAPO (1/4)"'))
    expect(page.get_by_label("Name of arm 2")).to_have_value("BAPO (1/4)")
    expect(page.get_by_role("textbox", name="Primary comparison: Arm")).to_have_value("BAPO (1/4)")
    page.get_by_role("button", name="Duplicate arm 2").click()
    expect(page.get_by_label("Name of arm 3")).to_have_value("BAPO (1/4) 2")
    expect(make).to_have_text("Make the 9 runs")
    page.get_by_role("button", name="Remove arm 3").click()
    expect(make).to_have_text("Make the 6 runs")
    # While the file cannot be read, the form keeps what it has, and nothing is lost.
    whole = text.input_value()
    text.fill(f"{whole}\n[[")
    expect(page.locator(".study-problems")).to_contain_text("not readable as TOML")
    expect(page.get_by_label("Name of arm 2")).to_have_value("BAPO (1/4)")
    text.fill(whole)
    expect(make).to_be_enabled()
    make.click()
    page.wait_for_url(re.compile(r"/studies/[a-z0-9]+$"))
    expect(page.locator("#study-name")).to_have_text("Designed in the form")
    [made] = [each for each in admin.studies().items if each.title == "Designed in the form"]
    assert (made.num_runs, made.num_arms) == (6, 2)
    # An existing study is a start, under another title.
    page.goto(f"/studies/new?study={made.id}")
    expect(page.get_by_label("Title", exact=True)).to_have_value("Designed in the form again")
    expect(make).to_have_text("Make the 6 runs")


def test_what_was_removed_at_once_does_not_come_back(page: Page) -> None:
    page.goto("/studies/new")
    text = page.get_by_label("Study file")
    page.get_by_label("Title", exact=True).fill("Mine")
    # Within the pause for which the form's inputs wait: the title counts all the same.
    page.get_by_role("button", name="Duplicate arm 2").click()
    expect(page.get_by_label("Name of arm 3")).to_have_value("BAPO 2")
    expect(text).to_have_value(re.compile('title = "Mine"'))
    before = text.input_value()
    # Another file, and the first again while the server still reads the other.
    page.evaluate(COUNT_PAUSES)
    write = "text => dash_clientside.set_props('study-text', {value: text})"
    with page.expect_request("**/_dash-update-component*"):
        page.evaluate(write, f"{before}\n# More.\n")
    page.evaluate(write, before)
    page.wait_for_function("() => window.isAtRest()")
    expect(text).to_have_value(before)


def test_chosen_runs_of_the_list_are_a_start(page: Page, admin: Client) -> None:
    for method in ("grpo", "bapo"):
        for seed in (1, 2):
            changes = {"method.type": method, "training.seed": seed, "training.steps": 7}
            body = RunCreate(name=f"{method} {seed}", recipe="countdown-demo", changes=changes, start=False)
            admin.create_run(body)
    # The newest come first, and there are others after them.
    page.goto("/runs")
    for index in range(4):
        page.locator(f".ag-center-cols-container .ag-row[row-index='{index}'] input[type=checkbox]").check()
    page.get_by_role("button", name="Study", exact=True).click()
    page.wait_for_url(re.compile(r"/studies/new\?runs="))
    expect(page.get_by_label("Seeds", exact=True)).to_have_value("1, 2")
    expect(page.get_by_label("Name of arm 1")).to_have_value(re.compile("GRPO|BAPO"))
    expect(page.get_by_label("training.steps", exact=True)).to_have_value("7")
    expect(page.locator(".study-problems li")).to_have_count(2)
    page.set_viewport_size({"width": 390, "height": 844})
    assert_fits(page, 390)
