"""Studies in the browser: a file is checked while it is typed, made, watched, read, stopped."""

from __future__ import annotations

import json
import re

import pytest
from playwright.sync_api import Page, expect

from bapo.api.studies import StudyDetail
from bapo.client import Client
from tests.browser.conftest import WAIT_MILLISECONDS, assert_fits
from tests.support.fake_worker import FakeWorker
from tests.support.studies import TEXT, body, finish, runs_of

pytestmark = pytest.mark.browser


@pytest.fixture(scope="module")
def study(admin: Client, worker: FakeWorker) -> StudyDetail:
    """A study of which both arms have one ended run."""
    made = admin.create_study(body("Half done <b>" + "x" * 100))
    for arm, accuracy in (("A", 0.5), ("B", 0.25)):
        finish(worker, admin, runs_of(made, arm)[0], accuracy)
    return made


def test_a_file_is_checked_while_it_is_typed_and_then_made(page: Page, admin: Client) -> None:
    page.goto("/studies/new")
    text = page.get_by_label("Study file")
    make = page.locator("#study-create")
    expect(make).to_be_disabled()
    text.fill(TEXT.format(title="Typed").replace("num_runs = 4", "num_runs = 5"))
    # Those of the empty form go.
    problem = page.locator(".study-problems li")
    expect(problem).to_have_count(1)
    expect(problem).to_contain_text("num_runs = 5")
    expect(problem).to_contain_text("the study makes 4 runs")
    expect(make).to_be_disabled()
    text.fill(TEXT.format(title="Typed"))
    expect(page.locator("#study-preview")).to_contain_text("A minus B: avg@k on CD-34 after equal steps")
    expect(make).to_have_text("Make the 4 runs")
    make.click()
    page.wait_for_url(re.compile(r"/studies/[a-z0-9]+$"))
    expect(page.locator("#study-name")).to_have_text("Typed")
    expect(page.locator(".study-grid .study-cell")).to_have_count(4)
    expect(page.locator("#study-report")).to_contain_text("No result: no seed has an ended run of both arms.")
    # Again: the title is taken, and what was typed is still there.
    page.goto("/studies/new")
    text.fill(TEXT.format(title="Typed"))
    expect(make).to_have_text("Make the 4 runs")
    make.click()
    expect(page.locator("#study-refusal")).to_contain_text("has this title already")
    expect(text).to_have_value(TEXT.format(title="Typed"))
    # A file from the disk takes its place; one that is no text is refused.
    page.set_input_files(
        "#study-upload input", {"name": "s.toml", "mimeType": "", "buffer": TEXT.format(title="Uploaded").encode()}
    )
    expect(page.locator("#study-preview")).to_contain_text("Uploaded")
    page.set_input_files("#study-upload input", {"name": "b.toml", "mimeType": "", "buffer": b"\xff\xfe\x00"})
    expect(page.locator("#study-refusal")).to_contain_text("b.toml is no text file")


def test_a_file_is_chosen_or_dropped_and_refused_with_what_to_do(page: Page) -> None:
    page.goto("/studies/new")
    place = page.get_by_role("button", name="Drop a .toml file here")

    def choose(name: str, content: bytes) -> None:
        with page.expect_file_chooser() as chooser:
            place.click()
        chooser.value.set_files({"name": name, "mimeType": "", "buffer": content})

    choose("chosen.TOML", TEXT.format(title="Chosen").encode())
    expect(page.locator("#study-preview")).to_contain_text("Chosen")
    choose("study.txt", b"")
    expect(page.get_by_role("alert")).to_have_text("study.txt is of another kind: choose a file that ends in .toml.")
    choose("large.toml", b" " * 400_001)
    expect(page.get_by_role("alert")).to_have_text("large.toml has 401 kB: choose a file of at most 400 kB.")
    dropped = page.evaluate_handle(
        """text => {
            const data = new DataTransfer();
            data.items.add(new File([text], "dropped.toml"));
            return data;
        }""",
        TEXT.format(title="Dropped"),
    )
    place.dispatch_event("drop", {"dataTransfer": dropped})
    expect(page.locator("#study-preview")).to_contain_text("Dropped")
    expect(page.get_by_role("alert")).to_have_count(0)


def test_a_shipped_study_is_a_start(page: Page) -> None:
    page.goto("/studies")
    page.get_by_role("link", name="New study").click()
    page.locator("#study-start").click()
    page.get_by_role("option", name=re.compile("Stability of BAPO")).click()
    expect(page.get_by_label("Study file")).to_have_value(re.compile('title = "Stability of BAPO"'))
    expect(page.locator("#study-create")).to_have_text("Make the 25 runs")


def test_the_report_is_there_and_grows_while_runs_end(
    page: Page, admin: Client, worker: FakeWorker, study: StudyDetail
) -> None:
    page.goto("/studies")
    row = page.locator(".study-list tr", has_text="Half done <b>")
    expect(row).to_contain_text("4: 2 queued, 2 succeeded")
    row.get_by_role("link").click()
    expect(page.locator("#study-name")).to_have_text(study.title)
    expect(page.locator(".study-cell.done")).to_have_count(2 + 1)  # One explains the colour.
    result = page.locator(".study-head .result")
    expect(result).to_contain_text("+25.0 points over 1 seed: one seed gives no interval")
    expect(page.locator("#study-report")).to_contain_text("A, seed 2: waiting")
    table = page.locator("#results")
    expect(table).to_contain_text("1 of 2")
    page.locator("#curves").scroll_into_view_if_needed()
    page.wait_for_selector('[data-paper="curves"].drawn')
    for arm, accuracy in (("A", 0.75), ("B", 0.25)):
        finish(worker, admin, runs_of(study, arm)[1], accuracy)
    # 0.25 and 0.5: mean 0.375, standard deviation 0.177, t(0.975, 1) = 12.706.
    expect(result).to_contain_text("+37.5 [-121.3, +196.3] points over 2 seeds", timeout=WAIT_MILLISECONDS)
    expect(page.locator("#study-report")).not_to_contain_text("waiting")
    page.locator(".study-cell.done").first.click()
    page.wait_for_url(re.compile(r"/runs/"))


def test_the_report_is_downloaded_in_three_forms(page: Page, study: StudyDetail) -> None:
    page.goto(f"/studies/{study.id}")
    for label, kind in (("HTML", "html"), ("Markdown", "md"), ("JSON", "json")):
        with page.expect_download() as waiting:
            page.get_by_label(f"Download the report as {label}").click()
        content = waiting.value.path().read_text()
        assert waiting.value.suggested_filename.endswith(f".{kind}")
        if kind == "json":
            assert json.loads(content)["title"] == study.title
        else:
            # Somebody's words are no markup in either form.
            assert "<b>" not in content.split("</h1>" if kind == "html" else "\n")[0].replace("\\<b\\>", "")


def test_all_runs_are_stopped_after_a_question(page: Page, admin: Client) -> None:
    made = admin.create_study(body("To be stopped"))
    page.goto(f"/studies/{made.id}")
    page.get_by_role("button", name="Hold all").click()
    expect(page.get_by_role("button", name="Release all")).to_be_visible()
    page.get_by_role("button", name="Stop all").click()
    dialog = page.get_by_role("dialog")
    expect(dialog).to_contain_text("To be stopped")
    dialog.get_by_role("button", name="Stop the runs").click()
    expect(page.locator(".study-cell.stopped")).to_have_count(4 + 1)
    assert admin.study(made.id).states == {"stopped": 4}


def test_nothing_sticks_out_of_a_narrow_page(page: Page, study: StudyDetail) -> None:
    page.set_viewport_size({"width": 390, "height": 844})
    for address, ready in (
        ("/studies", ".study-list"),
        ("/studies/new?from=stability-mini", ".study-head"),
        (f"/studies/{study.id}", "#results"),
    ):
        page.goto(address)
        page.wait_for_selector(ready)
        assert_fits(page, 390)
