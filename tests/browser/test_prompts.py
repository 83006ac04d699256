"""Prompts, a prompt's own page, and responses, over a run that the local engine really trained."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
from playwright.sync_api import Locator, Page, expect

from bapo import observe
from bapo.api.prompts import PromptFilter
from bapo.client import Client
from bapo.figures.looks import SOURCE_NAMES
from bapo.records import SampledResponse
from bapo.rollout import BatchSource
from frontend.pages.run.prompts import ROWS_ON_A_PAGE
from frontend.pages.run.samples import GROUPS_AT_ONCE
from tests.browser.conftest import WAIT_MILLISECONDS, PlayedRun, play, view_of
from tests.support.fake_worker import FakeWorker
from tests.support.journals import sample
from tests.support.recorded import import_folder
from tests.support.services import wait_until as wait

pytestmark = pytest.mark.browser


MOST_VISITED = PromptFilter(sort="visits", descending=True)


@pytest.fixture(scope="module")
def run_id(admin: Client, recorded_folders: Mapping[str, Path]) -> str:
    """A recorded run."""
    return import_folder(admin, recorded_folders["bapo-seed-1"])


@pytest.fixture(scope="module")
def played(admin: Client, worker: FakeWorker) -> PlayedRun:
    """A run that goes on while somebody looks."""
    played = play(admin, worker, "goes on")
    played.advance(3)
    return played


def wait_until(condition: Callable[[], bool]) -> None:
    wait(condition, WAIT_MILLISECONDS / 1000)


def rows(page: Page) -> Locator:
    return page.locator(".prompt-row")


def open_prompts(page: Page, run_id: str, query: str = "") -> None:
    page.goto(f"/runs/{run_id}?tab=prompts{query}")
    expect(rows(page).first).to_be_visible()


def shown_ids(page: Page) -> list[str]:
    script = """rows => rows.map(row => decodeURIComponent(row.querySelector("a").getAttribute("href")
        .split("?")[0].split("/prompts/")[1]))"""
    found: list[str] = rows(page).evaluate_all(script)
    return found


def listed(client: Client, run_id: str, **wanted: Any) -> list[str]:
    items = client.prompts(run_id, limit=ROWS_ON_A_PAGE, wanted=PromptFilter(**wanted)).items
    return [item.prompt_id for item in items]


def test_the_table_lists_what_the_api_lists(page: Page, admin: Client, run_id: str) -> None:
    open_prompts(page, run_id)
    answer = admin.prompts(run_id, limit=ROWS_ON_A_PAGE, wanted=MOST_VISITED)
    assert shown_ids(page) == [item.prompt_id for item in answer.items]
    expect(page.locator("#prompts-shown")).to_have_text(
        f"{answer.total} prompts, {answer.totals.num_never_solved} never solved"
    )
    for story, number in answer.stories.items():
        expect(page.locator(f"[data-story={story}] .chip-count")).to_have_text(str(number))
    first = answer.items[0]
    course = rows(page).first.locator("svg.course")
    assert course.get_attribute("aria-label") == (
        f"{first.first_correct} of 8 at first, {first.last_correct} at last, {first.num_visits} visits"
    )
    line = course.locator("polyline").get_attribute("points")
    assert line is not None
    assert len(line.split()) == first.num_evaluations
    # One mark per visit, one drawing per shape and colour.
    marks = course.locator("path").evaluate_all("paths => paths.map(path => path.getAttribute('d'))")
    assert sum(mark.count("M") for mark in marks) == first.num_visits
    kinds = set(zip(first.sources, first.num_correct, strict=True))
    assert len(marks) == len(kinds)


def test_chips_filters_and_order_stand_in_the_address(page: Page, admin: Client, run_id: str) -> None:
    open_prompts(page, run_id)
    page.locator("[data-story=unlocked]").click()
    expect(page.locator("[data-story=unlocked]")).to_have_attribute("aria-pressed", "true")
    wait_until(lambda: shown_ids(page) == listed(admin, run_id, story="unlocked", sort="visits", descending=True))
    gain = page.get_by_role("button", name="Gain", exact=True)
    gain.focus()
    page.keyboard.press("Enter")
    wanted: dict[str, Any] = {"story": "unlocked", "sort": "gain", "descending": True}
    wait_until(lambda: shown_ids(page) == listed(admin, run_id, **wanted))
    expect(page.locator("th[aria-sort=descending]")).to_contain_text("Gain")
    gain.click()
    wanted["descending"] = False
    wait_until(lambda: shown_ids(page) == listed(admin, run_id, **wanted))
    page.get_by_role("textbox", name="Last accuracy from").click()
    page.get_by_role("option", name="2/8").click()
    wanted["min_last"] = 2
    wait_until(lambda: shown_ids(page) == listed(admin, run_id, **wanted))
    wait_until(
        lambda: (
            view_of(page)
            == {"tab": "prompts", "story": "unlocked", "sort": "gain", "descending": "false", "min_last": "2"}
        )
    )
    shown = shown_ids(page)
    page.reload()
    expect(rows(page).first).to_be_visible()
    assert shown_ids(page) == shown
    expect(page.locator("[data-story=unlocked]")).to_have_attribute("aria-pressed", "true")


def test_a_search_that_finds_nothing_can_be_cleared(page: Page, admin: Client, run_id: str) -> None:
    open_prompts(page, run_id)
    known = admin.prompts(run_id, limit=1, wanted=MOST_VISITED).items[0]
    search = page.get_by_role("textbox", name="Search prompts by identifier or text")
    search.fill(known.prompt_id[-6:])
    wait_until(lambda: shown_ids(page) == [known.prompt_id])
    search.fill("nothing says this")
    expect(page.get_by_text("No prompt matches")).to_be_visible()
    page.get_by_role("button", name="Clear the filter").click()
    expect(rows(page)).to_have_count(ROWS_ON_A_PAGE)
    expect(search).to_have_value("")


def test_pages_can_be_turned(page: Page, admin: Client, run_id: str) -> None:
    open_prompts(page, run_id)
    second = admin.prompts(run_id, limit=ROWS_ON_A_PAGE, offset=ROWS_ON_A_PAGE, wanted=MOST_VISITED)
    expected = [item.prompt_id for item in second.items]
    page.get_by_role("button", name="Next", exact=True).click()
    wait_until(lambda: shown_ids(page) == expected)
    wait_until(lambda: view_of(page).get("page") == "2")
    page.reload()
    expect(rows(page).first).to_be_visible()
    assert shown_ids(page) == expected


def test_a_prompts_page_shows_its_visits_and_leads_through_the_list(page: Page, admin: Client, run_id: str) -> None:
    wanted = PromptFilter(source=BatchSource.REUSED, sort="visits", descending=True)
    ids = [item.prompt_id for item in admin.prompts(run_id, wanted=wanted).items]
    prompt = admin.prompt(run_id, ids[0], wanted)
    open_prompts(page, run_id, "&source=reused")
    rows(page).first.locator(".prompt-course").click()
    expect(page.get_by_role("heading", level=1)).to_have_text(ids[0])
    expect(page.locator(".visits-table tbody tr")).to_have_count(len(prompt.visits.step))
    expect(page.locator(".visits-table tbody tr").first).to_contain_text(f"{prompt.visits.num_correct[-1]}/8")
    traces = """Object.fromEntries((document.querySelector("#prompt-history .js-plotly-plot")?.data || [])
        .map((trace) => [trace.name, [...(trace.x || [])]]))"""
    wait_until(lambda: len(page.evaluate(traces)) > 3)
    drawn = page.evaluate(traces)
    for source, name in SOURCE_NAMES.items():
        steps = [step for step, each in zip(prompt.visits.step, prompt.visits.source, strict=True) if each is source]
        assert drawn[name] == steps
    expect(page.get_by_text(f"1 of {len(ids)}")).to_be_visible()
    page.get_by_role("link", name="Next").click()
    expect(page.get_by_role("heading", level=1)).to_have_text(ids[1])
    page.get_by_role("link", name="Previous").click()
    expect(page.get_by_role("heading", level=1)).to_have_text(ids[0])
    page.get_by_role("navigation", name="Breadcrumb").get_by_role("link", name="Prompts", exact=True).click()
    expect(rows(page).first).to_be_visible()
    assert view_of(page)["source"] == "reused"
    assert shown_ids(page) == ids[:ROWS_ON_A_PAGE]


def test_a_prompts_page_shows_every_stored_response(page: Page, admin: Client, run_id: str) -> None:
    stored = admin.samples(run_id, limit=1).items[0]
    groups = admin.samples(run_id, prompt_id=stored["prompt_id"], limit=GROUPS_AT_ONCE).items
    page.goto(f"/runs/{run_id}/prompts/{quote(stored['prompt_id'], safe='')}")
    expect(page.locator(".prompt-responses .sample-card")).to_have_count(len(groups))
    texts = page.locator(".prompt-responses .sample-card").first.locator(".response-text").all_text_contents()
    assert texts == [response["text"] for response in groups[0]["responses"]]
    expect(page.locator("#prompt-question")).to_have_text(re.compile(re.escape(stored["prompt"])))
    expect(page.locator("#prompt-runs")).to_contain_text("Visited by 1 run of the project.")


def test_responses_are_filtered_searched_and_stepped_through(page: Page, admin: Client, run_id: str) -> None:
    page.goto(f"/runs/{run_id}?tab=samples")
    cards = page.locator(".sample-card")
    newest = admin.samples(run_id, limit=GROUPS_AT_ONCE)
    expect(cards).to_have_count(GROUPS_AT_ONCE)
    expect(page.locator("#samples-shown")).to_have_text(f"{GROUPS_AT_ONCE} of {newest.total} groups")
    page.get_by_role("button", name="Show more").click()
    expect(cards).to_have_count(2 * GROUPS_AT_ONCE)
    page.get_by_role("button", name="Previous step with responses").click()
    assert newest.previous_step is not None
    of_step = admin.samples(run_id, step=newest.previous_step)
    expect(cards).to_have_count(len(of_step.items))
    expect(page.get_by_role("textbox", name="Step")).to_have_value(str(newest.previous_step))
    page.get_by_role("textbox", name="Source").click()
    page.get_by_role("option", name="X1 fresh").click()
    fresh = admin.samples(run_id, step=newest.previous_step, source=BatchSource.FRESH)
    expect(cards).to_have_count(len(fresh.items))
    page.get_by_role("button", name="Newest").click()
    part = fresh.items[0]["responses"][0]["text"]
    page.get_by_role("textbox", name="Search prompts and responses").fill(part)
    saying = admin.samples(run_id, source=BatchSource.FRESH, search=part, limit=GROUPS_AT_ONCE)
    expect(page.locator("mark").first).to_have_text(part)
    expect(cards).to_have_count(len(saying.items))
    wait_until(lambda: view_of(page) == {"tab": "samples", "source": "fresh", "search": part})
    page.reload()
    expect(cards).to_have_count(len(saying.items))
    cards.first.get_by_role("link", name="All visits").click()
    expect(page.get_by_role("heading", level=1)).to_have_text(saying.items[0]["prompt_id"])


def test_what_a_model_writes_is_shown_as_text_and_clipped(page: Page, played: PlayedRun) -> None:
    markup = "<img src=x onerror=\"document.title='owned'\"><b>bold</b>"
    long = markup + "0123456789" * 10_000 + "needle in <i>hay</i>"
    hostile = sample(2, "train-00001").model_copy(
        update={
            "prompt": markup,
            "responses": [SampledResponse(text=long, reward=0, num_tokens=100_000, logprob_sum=-1.0)],
        }
    )
    played.add_sample(hostile)
    page.goto(f"/runs/{played.run.id}?tab=samples&step=2")
    card = page.locator(".sample-card").first
    expect(card.locator(".sample-prompt")).to_have_text(markup)
    text = card.locator(".response-text")
    assert len(text.text_content() or "") < 2_000
    card.get_by_role("button", name="Show all").click()
    expect(text).to_have_text(long)
    card.get_by_role("button", name="Show less").click()
    page.get_by_role("textbox", name="Search prompts and responses").fill("NEEDLE")
    # Beyond the clip: it moves to the match.
    expect(card.locator("mark")).to_have_text("needle")
    assert len(text.text_content() or "") < 2_000
    assert page.locator(".sample-card img, .sample-card b, .sample-card i").count() == 0
    assert page.title() != "owned"


def test_reasoning_is_rendered_and_its_answer_is_seen_while_it_is_folded(page: Page, played: PlayedRun) -> None:
    step = "Then **add** $\\frac{1}{2}$ of it.\n\n"
    long = "## Plan\n\n" + step * 200 + "So it is \\boxed{42}.\n\n" + "That is all.\n\n" * 100
    prompt = "system: Be brief.\n\nuser: How many?"
    group = sample(3, "train-00004").model_copy(
        update={"prompt": prompt, "responses": [SampledResponse(text=long, reward=1, num_tokens=3_412)]}
    )
    played.add_sample(group)
    page.goto(f"/runs/{played.run.id}?tab=samples&step=3")
    card = page.locator(".sample-card").filter(has_text="How many?")
    expect(card.locator(".turn-role")).to_have_text(["system", "user"])
    text = card.locator(".response-text")
    expect(text.get_by_role("heading", name="Plan")).to_be_visible()
    expect(text.locator("strong").first).to_have_text("add")
    expect(text.locator("math mfrac").first).to_be_visible()
    answer = text.locator(".answer")
    expect(answer).to_be_visible()
    expect(answer).to_have_attribute("title", "\\boxed{42}")
    assert text.locator("strong").count() < 50, "folded"
    # The recipe cuts at fewer tokens.
    expect(card.locator(".response-cut")).to_be_visible()
    card.get_by_role("button", name="Show all 3,412 tokens").click()
    expect(text.locator("strong")).to_have_count(200)
    page.get_by_role("button", name="As text").click()
    expect(text).to_have_text(long, use_inner_text=False)
    expect(text.locator("mark.answer")).to_have_text("42")
    page.reload()
    expect(page.get_by_role("button", name="As text")).to_have_attribute("aria-pressed", "true")
    expect(text).to_contain_text("## Plan")


def test_two_visits_are_compared_word_by_word(page: Page, admin: Client, tmp_path: Path) -> None:
    with observe.run("then and now", folder=tmp_path / "run") as run:
        for step, rewards, texts in (
            (1, [0, 1], ["There are 12 left.", "There are 7 left."]),
            (2, [0, 0], ["There are 9 left.", "There are 8 left."]),
            (3, [0, 1], ["No idea yet.", "So there are 7 left."]),
        ):
            run.step(step, groups=[observe.Group("How many?", rewards, responses=texts)])
    run_id = import_folder(admin, tmp_path / "run")
    stored = admin.samples(run_id, limit=1).items[0]
    page.goto(f"/runs/{run_id}/prompts/{quote(stored['prompt_id'], safe='')}")
    sides = [page.locator(f"[data-side={side}]") for side in ("earlier", "later")]
    expect(sides[0]).to_contain_text("Step 1›1/2 correct1 wrong")
    expect(sides[1]).to_contain_text("Step 3›1/2 correct1 wrong")
    # The wrong response of the first visit, beside the correct one of the last.
    expect(sides[0].locator("mark")).to_have_text(["There", "12"])
    expect(sides[1].locator("mark")).to_have_text(["So there", "7"])
    page.get_by_role("button", name="Next pair of responses").click()
    expect(sides[0].locator("mark")).to_have_text(["There are 7 left"])
    expect(sides[1].locator("mark")).to_have_text(["No idea yet"])
    expect(page.get_by_role("button", name="Next pair of responses")).to_be_disabled()
    page.get_by_role("button", name="Next visit, earlier side").click()
    expect(sides[0]).to_contain_text("Step 2›0/2 correct2 wrong")
    expect(page.get_by_role("button", name="Next visit, earlier side")).to_be_disabled()


def test_new_responses_are_announced_and_nothing_moves(page: Page, played: PlayedRun) -> None:
    step = played.advance()
    played.add_sample(sample(step, "train-00002", text="before"))
    page.goto(f"/runs/{played.run.id}?tab=samples")
    expect(page.locator(".sample-card").first).to_contain_text("before")
    page.goto(f"/runs/{played.run.id}?tab=samples")
    expect(page.locator(".sample-card").first).to_contain_text("before")
    expect(page.locator("#run-step")).to_have_text(str(step))
    shown = page.locator(".sample-card").first.text_content()
    played.add_sample(sample(step + 1, "train-00003", text="after"))
    played.advance()
    news = page.locator("#samples-news")
    expect(news).to_contain_text(f"Step {step + 1} has new responses.")
    assert page.locator(".sample-card").first.text_content() == shown
    news.get_by_role("button", name="Show").click()
    expect(page.locator(".sample-card").first).to_contain_text("after")
    expect(news).to_be_hidden()


def test_the_table_says_when_the_run_has_gone_on(page: Page, admin: Client, played: PlayedRun) -> None:
    open_prompts(page, played.run.id)
    shown = shown_ids(page)
    step = played.advance()
    news = page.locator("#prompts-news")
    expect(news).to_contain_text(f"the run is at step {step}")
    assert shown_ids(page) == shown
    news.get_by_role("button", name="Refresh").click()
    expect(news).to_be_hidden()
    wait_until(lambda: shown_ids(page) == listed(admin, played.run.id, sort="visits", descending=True))


def test_a_run_without_prompts_says_what_comes(page: Page, admin: Client, worker: FakeWorker) -> None:
    fresh = play(admin, worker, "just begun")
    page.goto(f"/runs/{fresh.run.id}?tab=prompts")
    expect(page.get_by_text("No prompt has been visited yet")).to_be_visible()
    page.goto(f"/runs/{fresh.run.id}?tab=samples")
    expect(page.get_by_text("No responses yet")).to_be_visible()
