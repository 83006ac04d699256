"""The queue and the workers, in a browser."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest
from playwright.sync_api import Page, expect

from backend.kit.database import Database
from bapo.api.queue import LimitChange
from bapo.api.runs import RunCreate
from bapo.api.workers import GpuInfo
from bapo.client import Client
from tests.support.fake_worker import FakeWorker
from tests.support.journals import event, step
from tests.support.lost_workers import silence
from tests.support.services import BackendServer, RedisServer, wait_until

pytestmark = pytest.mark.browser


@pytest.fixture(scope="module")
def backend_settings(redis_server: RedisServer) -> dict[str, str]:
    return {"broker_url": redis_server.url}


def submit(client: Client, name: str) -> str:
    return client.create_run(RunCreate(name=name, recipe="countdown-demo")).id


@pytest.fixture
def one_slot(backend_server: BackendServer) -> Iterator[FakeWorker]:
    """Keep a worker online however slow the browser is: otherwise a run waits because the worker is silent."""
    worker = FakeWorker(backend_server, slots=1)
    with worker.beating():
        yield worker
    worker.close()


def test_slots_reasons_and_cancelling(page: Page, admin: Client, one_slot: FakeWorker) -> None:
    first, second = submit(admin, "holds the slot"), submit(admin, "waits its turn")
    claim = one_slot.claim(first)
    one_slot.report(claim, "running")
    one_slot.upload(claim, [event("started"), step(1), step(2)])
    wait_until(lambda: admin.run(second).status_reason == "waits for a free slot")

    page.goto("/runs")
    page.get_by_role("link", name="Queue").click()
    expect(page).to_have_url(re.compile("/queue$"))
    card = page.locator(".worker-card", has_text="w1")
    expect(card).to_contain_text("holds the slot")
    expect(card).to_contain_text("step 2 of")
    row = page.get_by_role("row", name=re.compile("waits its turn"))
    expect(row).to_contain_text("waits for a free slot")

    # A word before what cannot be undone; "Keep it" changes nothing.
    row.get_by_label("Cancel waits its turn").click()
    dialog = page.get_by_role("dialog")
    expect(dialog).to_contain_text("waits its turn")
    dialog.get_by_role("button", name="Keep it").click()
    expect(dialog).to_be_hidden()
    assert admin.run(second).status == "queued"

    row.get_by_label("Cancel waits its turn").click()
    dialog.get_by_role("button", name="Cancel the run").click()
    expect(page.get_by_text("No run is waiting")).to_be_visible()
    assert admin.run(second).status == "cancelled"

    # What the trainer does shows without a reload.
    one_slot.upload(claim, [step(3)])
    expect(card).to_contain_text("step 3 of")
    card.get_by_role("link", name="holds the slot").click()
    expect(page).to_have_url(re.compile(f"/runs/{first}"))


def in_line(page: Page) -> list[str]:
    """Names of the waiting runs, as they stand."""
    return page.locator("#queue-board tr[data-run]").evaluate_all("rows => rows.map(row => row.dataset.name)")


def test_the_order_is_changed_by_keyboard_menu_and_drag(page: Page, admin: Client) -> None:
    ids = {name: submit(admin, name) for name in ("one", "two", "three")}
    page.goto("/queue")
    handle = page.get_by_role("button", name="Move three")
    handle.focus()
    page.keyboard.press("ArrowUp")
    wait_until(lambda: in_line(page) == ["one", "three", "two"])
    # Where the run went, the focus went too.
    expect(handle).to_be_focused()
    page.keyboard.press("ArrowUp")
    wait_until(lambda: in_line(page) == ["three", "one", "two"])

    page.get_by_role("button", name="Change three").click()
    page.get_by_role("menuitem", name="To the bottom").click()
    wait_until(lambda: in_line(page) == ["one", "two", "three"])

    page.get_by_role("button", name="Move two").drag_to(
        page.locator('tr[data-name="one"]'), target_position={"x": 60, "y": 2}
    )
    wait_until(lambda: in_line(page) == ["two", "one", "three"])

    page.get_by_role("button", name="Change three").click()
    priority = page.get_by_label("Priority")
    priority.fill("101")
    priority.press("Enter")
    expect(page.get_by_role("alert").filter(has_text="Enter a whole number from 0 to 100")).to_be_visible()
    priority.fill("90")
    priority.press("Enter")
    wait_until(lambda: in_line(page) == ["three", "two", "one"])
    assert admin.run(ids["three"]).priority == 90

    # Several at once; what is held stands last and says by whom.
    for name in ("three", "one"):
        page.get_by_role("checkbox", name=f"Select {name}").click()
    expect(page.get_by_role("toolbar")).to_contain_text("2 selected")
    page.get_by_role("toolbar").get_by_role("button", name="Hold").click()
    wait_until(lambda: in_line(page) == ["two", "three", "one"])
    expect(page.locator('tr[data-name="three"]')).to_contain_text("held by admin")
    page.get_by_role("toolbar").get_by_role("button", name="Clear selection").click()
    expect(page.get_by_role("toolbar")).to_be_hidden()
    page.get_by_role("button", name="Change one").click()
    page.get_by_role("menuitem", name="Release").click()
    wait_until(lambda: admin.run(ids["one"]).held_by is None)

    limit = page.get_by_label("Most runs of admin at a time")
    limit.fill("3")
    limit.press("Enter")
    expect(page.get_by_text("admin: at most 3 at a time.")).to_be_visible()
    assert [each.max_running for each in admin.limits().items if each.user == "admin"] == [3]
    admin.set_limit("admin", LimitChange(max_running=None))
    for run_id in ids.values():
        admin.stop(run_id)


def test_workers_show_their_gpus_and_are_drained_and_forgotten(
    page: Page, admin: Client, backend_server: BackendServer
) -> None:
    gpus = [GpuInfo(index=index, name="NVIDIA H200", memory_gib=139.8) for index in range(4)]
    worker = FakeWorker(backend_server, name="gpu-box", slots=4, host="rack-3", gpus=gpus, delivery="https")
    body = RunCreate(name="has two GPUs", recipe="countdown-demo", changes={"resources.gpus": 2})
    worker.claim(admin.create_run(body).id)
    with worker.beating():
        page.goto("/workers")
        row = page.get_by_role("row", name=re.compile("gpu-box"))
        expect(row).to_contain_text("rack-3")
        expect(row).to_contain_text("runs over HTTPS")
        expect(row).to_contain_text("1 of 4")
        expect(row).to_contain_text("online")
        expect(row.locator(".gpu-held")).to_have_count(2)
        expect(row.locator(".gpu").first).to_contain_text("140 GiB")
        expect(row.locator(".gpu").first).to_contain_text("has two GPUs")

        row.get_by_role("button", name="Drain gpu-box").click()
        dialog = page.get_by_role("dialog")
        expect(dialog).to_contain_text("gpu-box")
        dialog.get_by_role("button", name="Cancel").click()
        expect(dialog).to_be_hidden()
        row.get_by_role("button", name="Drain gpu-box").click()
        dialog.get_by_label("Also hand over its runs").check()
        dialog.get_by_role("button", name="Drain", exact=True).click()
        expect(row).to_contain_text("draining, handing over its runs")
        row.get_by_role("button", name="Undrain gpu-box").click()
        expect(row).to_contain_text("online")
    worker.close()

    # Another one is long gone.
    gone = FakeWorker(backend_server, name="gone-box", slots=1)
    gone.close()
    rows = Database(backend_server.settings.database_url)
    silence(rows, gone)
    rows.close()
    row = page.get_by_role("row", name=re.compile("gone-box"))
    expect(row).to_contain_text("silent")
    row.get_by_role("button", name="Forget gone-box").click()
    page.get_by_role("dialog").get_by_role("button", name="Forget").click()
    expect(row).to_have_count(0)
