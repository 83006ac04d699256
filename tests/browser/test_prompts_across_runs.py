"""Prompts over all runs, and a list of them that the next run takes: one journey, over recorded runs."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

import pytest
from playwright.sync_api import Locator, Page, expect

from bapo.api.prompts import ProjectPromptFilter
from bapo.client import Client
from tests.browser.conftest import id_of
from tests.support.recorded import import_folder
from tests.support.services import wait_until

pytestmark = pytest.mark.browser


@pytest.fixture(scope="module")
def runs(admin: Client, recorded_folders: Mapping[str, Path]) -> list[str]:
    """Two runs on the same problems, counted."""
    made = [import_folder(admin, recorded_folders[name]) for name in ("bapo-seed-1", "grpo-seed-1")]

    def is_counted() -> bool:
        page = admin.project_prompts(ProjectPromptFilter(min_runs=2), limit=1)
        return page.num_waiting == 0 and page.total > 0

    wait_until(is_counted)
    return made


def rows(page: Page) -> Locator:
    return page.locator("tr[data-prompt]")


def test_prompts_of_all_runs_become_a_list_that_the_next_run_takes(
    page: Page, admin: Client, runs: list[str], tmp_path: Path
) -> None:
    listed = admin.project_prompts(ProjectPromptFilter(min_runs=2)).items
    hardest = listed[0].prompt_id

    # The hardest prompts over all runs, and those that one run never solved and the other always.
    page.goto("/prompts?min_runs=2")
    expect(rows(page).first).to_have_attribute("data-prompt", hardest)
    page.get_by_role("link", name=re.compile("^Responses")).click()
    expect(page).to_have_url(re.compile("sort=num_responses"))
    page.go_back()
    expect(rows(page).first).to_have_attribute("data-prompt", hardest)

    # One of them over both runs.
    rows(page).first.get_by_role("link").first.click()
    expect(page.get_by_role("heading", name=hardest)).to_be_visible()
    # Its text is drawn as under Samples.
    expect(page.locator("#across-question .sample-prompt")).to_be_visible()
    expect(page.locator("#across-chart .scatterlayer .trace")).to_have_count(2)
    expect(page.locator("#across-answers")).to_contain_text(re.compile("response|No run stored"))
    expect(page.get_by_role("link", name=re.compile("JSON lines"))).to_have_attribute("href", re.compile("jsonl"))
    page.go_back()

    # Two are put on a new list; a weight that is none says so at its field, and keeps what was typed.
    for place in (0, 1):
        rows(page).nth(place).get_by_role("checkbox").check()
    page.get_by_role("button", name="Put on a list…").click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_role("button", name="Save").click()
    expect(dialog).to_contain_text("name a list")
    dialog.get_by_label("List").fill("doubtful")
    dialog.get_by_text("Weight", exact=True).first.click()
    dialog.locator("#mark-weight").fill("nothing")
    dialog.get_by_role("button", name="Save").click()
    expect(dialog).to_contain_text("is no number")
    dialog.get_by_text("Quarantine").click()
    dialog.get_by_role("button", name="Save").click()
    expect(page.get_by_role("heading", name="@doubtful")).to_be_visible()
    expect(rows(page)).to_have_count(2)
    (made,) = admin.prompt_lists().items
    assert (made.num_quarantined, made.num_weighted, made.version) == (2, 0, 1)

    # A file adds a weight; a bad one changes nothing and names its row.
    bad, good = tmp_path / "bad.csv", tmp_path / "good.csv"
    bad.write_text("prompt_id,action\nnothing,weight\n")
    good.write_text(f"prompt_id,action,weight,note\n{listed[2].prompt_id},weight,3,from a file\n")
    page.locator("#list-file input").set_input_files(bad)
    expect(page.locator("#list-problem")).to_contain_text("bad.csv, row 2: 'nothing' is no prompt's identity")
    page.locator("#list-file input").set_input_files(good)
    expect(rows(page)).to_have_count(3)
    expect(page.get_by_text("from a file")).to_be_visible()

    # The next run takes it, and its own config says all.
    page.get_by_role("link", name="Train with this").click()
    expect(page.locator("[data-field='task.prompt_list'] input")).to_have_value("@doubtful")
    expect(page.get_by_role("button", name="Start the run")).to_be_enabled()
    page.get_by_role("button", name="Save as draft").click()
    expect(page).to_have_url(re.compile(r"/runs/\w+"))
    run = admin.run(id_of(page))
    assert run.config["task"]["prompt_list"] == "@doubtful:2"
    assert sorted(run.config["task"]["prompt_weights"]) == sorted(
        [f"{listed[0].prompt_id}=0", f"{listed[1].prompt_id}=0", f"{listed[2].prompt_id}=3"]
    )

    # From the page of a prompt in a run to the prompt over all runs, which says that it is quarantined.
    page.goto(f"/runs/{runs[0]}/prompts/{hardest.replace(':', '%3A')}")
    page.locator("#prompt-across").click()
    expect(page.get_by_text("@doubtful: quarantined")).to_be_visible()
