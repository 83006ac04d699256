"""The queue and the workers, in a browser."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest
from playwright.sync_api import Page, expect

from bapo.api import RunCreate
from bapo.client import Client
from tests.backend.fake_worker import FakeWorker
from tests.backend.journals import event, step
from tests.services import BackendServer, RedisServer, running_backend, wait_until

pytestmark = pytest.mark.browser


@pytest.fixture(scope="module")
def backend_server(
    postgres_url: str, redis_server: RedisServer, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[BackendServer]:
    """A server that really hands out runs."""
    folder = tmp_path_factory.mktemp("backend")
    with running_backend(postgres_url, folder, redis_server.url, lease_seconds=3600) as server:
        yield server


@pytest.fixture
def people(backend_server: BackendServer) -> Iterator[Client]:
    with backend_server.client() as client:
        yield client


def submit(client: Client, name: str) -> str:
    return client.create_run(RunCreate(name=name, recipe="countdown-demo")).id


def test_slots_reasons_and_cancelling(page: Page, people: Client, backend_server: BackendServer) -> None:
    worker = FakeWorker(backend_server, slots=1)
    first, second = submit(people, "holds the slot"), submit(people, "waits its turn")
    claim = worker.claim(first)
    worker.report(claim, "running")
    worker.upload(claim, [event("started"), step(1), step(2)])
    wait_until(lambda: people.run(second).status_reason == "waits for a free slot")

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
    assert people.run(second).status == "queued"

    row.get_by_label("Cancel waits its turn").click()
    dialog.get_by_role("button", name="Cancel the run").click()
    expect(page.get_by_text("Nothing waits")).to_be_visible()
    assert people.run(second).status == "cancelled"

    # What the trainer does shows without a reload.
    worker.upload(claim, [step(3)])
    expect(card).to_contain_text("step 3 of")
    card.get_by_role("link", name="holds the slot").click()
    expect(page).to_have_url(re.compile(f"/runs/{first}"))
    worker.close()


def test_workers_are_listed_with_what_they_are(page: Page, backend_server: BackendServer) -> None:
    worker = FakeWorker(backend_server, name="gpu-box", slots=4, host="rack-3")
    page.goto("/workers")
    row = page.get_by_role("row", name=re.compile("gpu-box"))
    expect(row).to_contain_text("rack-3")
    expect(row).to_contain_text("0 of 4")
    expect(row).to_contain_text("online")
    worker.close()
