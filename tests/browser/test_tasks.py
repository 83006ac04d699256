"""The form of a recipe of the paper: where its values come from, and the fields of other kinds of tasks."""

from __future__ import annotations

import pytest
from playwright.sync_api import Page, expect

pytestmark = pytest.mark.browser


def test_the_form_names_sources_and_offers_the_fields_of_the_chosen_task(page: Page, dashboard: str) -> None:
    page.goto(f"{dashboard}/new?recipe=paper-math-8b")
    slot = page.locator("[data-field='method.v']")
    expect(slot.locator(".field-source")).to_have_text("Source: Table 3")
    slot.locator("input").fill("7")
    expect(slot.locator(".field-source")).to_be_hidden()
    page.get_by_role("button", name="task ·").click()
    files = page.locator("[data-field='task.test_files'] input")
    expect(files).to_have_value(
        "data/aime24/aime24.parquet, data/amc23/amc23.parquet, data/math500/math500.parquet, "
        "data/minerva/minerva.parquet, data/olympiad/olympiad.parquet"
    )
    verifier = page.locator("[data-field='task.verifier']")
    verifier.locator("input").fill("maths")
    expect(verifier).to_contain_text("did you mean math?")
    verifier.locator("input").fill("math")
    expect(page.locator("[data-field='task.num_operands']")).to_be_hidden()
    expect(page.locator("#new-diff")).to_contain_text("v")
