"""The tab of downloads, with the worker's real packing."""

from __future__ import annotations

import shutil
import zipfile
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from bapo.client import Client
from bapo.config.paths import SHIPPED_MODELS
from bapo.records import EventRecord
from bapo.run.checkpoint import write_checkpoint
from tests.browser.conftest import PlayedRun, play
from tests.support.fake_worker import FakeWorker
from tests.support.services import BackendServer
from worker.maintenance_jobs import MaintenanceJobThread

pytestmark = pytest.mark.browser


def _write_checkpoint(played: PlayedRun, server: BackendServer) -> None:
    folder = server.settings.runs_dir / played.run.id
    folder.mkdir(parents=True)
    step = played.simulation.last_step
    write_checkpoint(folder, step, _copy_model, keep=2)
    name = f"step-{step:06d}"
    played.add(EventRecord(attempt=1, step=step, event="checkpoint", message="", data={"checkpoint": name}))


def _copy_model(target: Path) -> None:
    shutil.copytree(SHIPPED_MODELS / "countdown-base", target / "model")


def test_a_checkpoint_is_prepared_downloaded_and_taken_away(
    page: Page, admin: Client, worker: FakeWorker, backend_server: BackendServer, tmp_path: Path
) -> None:
    played = play(admin, worker, "to download")
    played.advance(4)
    _write_checkpoint(played, backend_server)
    jobs = MaintenanceJobThread(worker.client, tmp_path / "outgoing")
    jobs.wake(worker.id, backend_server.settings.runs_dir)
    page.goto(f"/runs/{played.run.id}?tab=artifacts")
    row = page.locator("[data-step='4']")
    row.get_by_role("button", name="Prepare").click()
    expect(row.get_by_text("waiting for the worker on box")).to_be_visible()
    jobs.work()
    link = row.get_by_role("link", name="Download")
    expect(link).to_be_visible()
    expect(page.locator(".artifact-snippet")).to_contain_text(f"to-download-{played.run.id}-step-000004")
    with page.expect_download() as waiting:
        link.click()
    assert waiting.value.suggested_filename == f"to-download-{played.run.id}-step-000004.zip"
    target = tmp_path / "fetched.zip"
    waiting.value.save_as(target)
    with zipfile.ZipFile(target) as archive:
        assert any(name.endswith("/model.safetensors") for name in archive.namelist())
    row.get_by_role("button", name="Remove the download").click()
    expect(row.get_by_role("button", name="Prepare")).to_be_visible()


def test_what_the_server_makes_itself_is_ready_by_itself(page: Page, admin: Client, worker: FakeWorker) -> None:
    played = play(admin, worker, "config only")
    page.goto(f"/runs/{played.run.id}?tab=artifacts")
    expect(page.get_by_text("None is kept")).to_be_visible()
    row = page.locator("[data-kind='config']")
    row.get_by_role("button", name="Prepare").click()
    with page.expect_download() as waiting:
        row.get_by_role("link", name="Download").click()
    assert waiting.value.suggested_filename == f"config-only-{played.run.id}-config.toml"


def test_an_administrator_sees_what_takes_up_space_and_gives_up_what_no_machine_will_delete(
    page: Page, admin: Client, worker: FakeWorker
) -> None:
    large = play(admin, worker, "takes up most")
    large.advance(20)
    gone = play(admin, worker, "on a machine that is gone")
    assert gone.claim is not None
    worker.report(gone.claim, "succeeded")
    admin.delete_run(gone.run.id, permanently=True)
    page.goto("/storage")
    row = page.locator(f"[data-run='{large.run.id}']")
    expect(row.get_by_role("link", name="takes up most")).to_be_visible()
    expect(page.locator("[data-part='artifacts']")).to_contain_text("7 days after they were made")
    expect(page.locator("[data-part='samples']")).to_contain_text("never")
    page.get_by_role("button", name="Give up deleting the folder of on a machine that is gone").click()
    page.get_by_role("dialog").get_by_role("button", name="Give up").click()
    expect(page.get_by_role("heading", name="Pending deletions")).to_have_count(0)
    page.get_by_role("button", name="Compact the database").click()
    page.get_by_role("dialog").get_by_role("button", name="Compact").click()
    expect(page.get_by_text("Compacted")).to_be_visible()
