"""Data and models, in a browser."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from bapo.api.runs import RunCreate
from bapo.client import Client
from tests.browser.conftest import Visitor

pytestmark = pytest.mark.browser


@pytest.fixture(scope="module")
def roots(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A permitted folder with a data set and a verifier."""
    folder = tmp_path_factory.mktemp("permitted")
    rows = [{"nums": [3, index], "target": 3 + index} for index in range(1, 41)]
    (folder / "train.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    # Text of a file is never markup.
    (folder / "mine.py").write_text("# <img src=x onerror=alert(1)>\ndef reward(problem, response):\n    return 1\n")
    return folder


@pytest.fixture(scope="module")
def backend_settings(roots: Path) -> dict[str, str]:
    return {"resource_roots": str(roots)}


def test_register_look_in_use_and_take_away(page: Page, visitor: Visitor, admin: Client, roots: Path) -> None:
    page.goto("/runs")
    page.get_by_role("link", name="Data & models").click()
    expect(page.get_by_text("Nothing is registered yet")).to_be_visible()
    about = page.get_by_role("link", name="About this page")
    expect(about).to_have_attribute("href", "/documents/docs/dashboard.md#data--models")

    page.get_by_role("button", name="Register").click()
    dialog = page.get_by_role("dialog")
    path = dialog.get_by_label("File or folder")
    path.click()
    page.get_by_role("option", name=str(roots / "train.jsonl")).click()
    # A name that cannot be: the server's words stand at the field, and nothing that was typed is lost.
    visitor.expected = ("422",)
    dialog.get_by_label("Name").fill("not a name")
    dialog.get_by_label("Description").fill("forty problems")
    dialog.get_by_role("button", name="Register").click()
    expect(dialog.get_by_text("String should match pattern")).to_be_visible()
    expect(dialog.get_by_label("Description")).to_have_value("forty problems")
    dialog.get_by_label("Name").fill("planning")
    dialog.get_by_role("button", name="Register").click()
    expect(dialog).to_be_hidden()

    row = page.get_by_role("row", name="planning")
    expect(row).to_contain_text("40 rows · nums, target")
    changes = {"task.train_file": "@planning", "task.num_test": 2}
    admin.create_run(RunCreate(name="uses it", recipe="countdown-demo", changes=changes, start=False))
    page.get_by_role("button", name="@planning").click()
    drawer = page.locator(".resource-drawer")
    expect(drawer).to_contain_text("First 20 of 40 rows")
    expect(drawer).to_contain_text("[3, 20]")
    expect(drawer.get_by_role("link", name="uses it")).to_be_visible()
    page.keyboard.press("Escape")

    row.get_by_label("Unregister planning").click()
    page.get_by_role("button", name="Unregister", exact=True).click()
    expect(page.get_by_text("Nothing is registered yet")).to_be_visible()
    assert (roots / "train.jsonl").exists()


def test_a_verifier_shows_its_source_as_text(page: Page, roots: Path) -> None:
    page.goto("/data")
    page.get_by_role("button", name="Register").click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_text("Verifier", exact=True).click()
    expect(dialog.get_by_label("Function")).to_be_visible()
    dialog.get_by_label("File or folder").fill(str(roots / "mine.py"))
    dialog.get_by_label("Name").fill("mine")
    dialog.get_by_role("button", name="Register").click()
    expect(dialog).to_be_hidden()
    page.get_by_role("button", name="@mine").click()
    expect(page.locator(".resource-source")).to_contain_text("# <img src=x onerror=alert(1)>")
    assert page.locator(".resource-drawer img").count() == 0

    # The form that the drawer leads to knows it, and offers all names that are registered.
    page.get_by_role("link", name="New run").last.click()
    verifier = page.get_by_role("textbox", name="task.verifier")
    expect(verifier).to_have_value("@mine")
    verifier.fill("@")
    expect(page.get_by_role("option", name="@mine")).to_be_visible()
