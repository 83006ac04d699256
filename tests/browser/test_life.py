"""Stopping, forking, changing parameters and making several runs, in a browser."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Page, expect

from bapo.api.runs import RunCreate, RunDetail
from bapo.api.studies import StudyCreate
from bapo.api.workers import Claim
from bapo.client import Client
from tests.browser.conftest import Visitor, box_of
from tests.support.fake_worker import FakeWorker
from tests.support.journals import evaluation, event, step
from tests.support.services import RedisServer, wait_until

pytestmark = pytest.mark.browser


@pytest.fixture(scope="module")
def backend_settings(redis_server: RedisServer) -> dict[str, str]:
    return {"broker_url": redis_server.url}


def running(admin: Client, worker: FakeWorker, name: str) -> tuple[RunDetail, Claim]:
    """A run at step 12 with a checkpoint of step 10."""
    changes = {"training.keep_checkpoints": 5, "training.checkpoint_interval": 5}
    run = admin.create_run(RunCreate(name=name, recipe="countdown-demo", changes=changes))
    claim = worker.begin(run)
    worker.upload(claim, [event("started", num_steps=150), evaluation(0, 0.2), *[step(n) for n in range(1, 11)]])
    worker.upload(claim, [event("checkpoint", 5), event("checkpoint", 10), step(11), step(12)])
    return admin.run(run.id), claim


def test_a_patient_stop_becomes_an_impatient_one(page: Page, admin: Client, worker: FakeWorker) -> None:
    run, claim = running(admin, worker, "stops in two ways")
    page.goto(f"/runs/{run.id}")
    page.get_by_role("button", name="Stop", exact=True).click()
    dialog = page.get_by_role("dialog")
    expect(dialog).to_contain_text("stops in two ways")
    expect(dialog.get_by_label("At the next step boundary")).to_be_checked()
    dialog.get_by_label("After the next regular checkpoint").check()
    dialog.get_by_role("button", name="Stop the run").click()
    expect(page.locator("#run-progress")).to_contain_text("stopping after the next regular checkpoint")

    # Again: the next sooner moment is offered, and what "now" costs is said.
    page.get_by_role("button", name="Stop", exact=True).click()
    expect(dialog.get_by_label("At the next step boundary")).to_be_checked()
    dialog.get_by_label("Now").check()
    dialog.get_by_role("button", name="Stop the run").click()
    expect(page.get_by_text("2 completed steps after the newest checkpoint are lost.")).to_be_visible()
    expect(page.locator("#run-progress")).to_contain_text("stopping now")
    assert [control.when for control in worker.heartbeat(claim).controls] == ["checkpoint", "now"]
    worker.report(claim, "stopped")
    expect(page.locator("#run-status")).to_contain_text("cancelled")
    expect(page.get_by_role("button", name="Fork")).to_be_visible()


def test_changes_are_previewed_and_can_be_withdrawn(page: Page, admin: Client, worker: FakeWorker) -> None:
    run, claim = running(admin, worker, "is steered")
    page.goto(f"/runs/{run.id}")
    page.get_by_role("button", name="Change parameters").click()
    drawer = page.get_by_role("dialog")
    expect(drawer.locator("#change-map .js-plotly-plot, #change-map.js-plotly-plot").first).to_be_visible()
    c1 = drawer.get_by_label("method.c1", exact=True)
    c1.fill("1/4")
    expect(drawer.get_by_role("link", name="Replay in what-if")).to_have_attribute(
        "href", re.compile(r"set=method\.c1")
    )
    drawer.get_by_label("First step with the new values").fill("20")
    apply = drawer.get_by_role("button", name="Apply")
    place = box_of(apply)
    apply.click()
    expect(drawer.locator("#change-problems")).to_contain_text("c1 = 1/4, from step 20 on")
    # What is said above the button does not push it away.
    assert apply.bounding_box() == place
    expect(drawer.get_by_text("waiting for step 20")).to_be_visible()
    c1.fill("3/8")
    drawer.get_by_label("First step with the new values").fill("30")
    drawer.get_by_role("button", name="Apply").click()
    expect(drawer.get_by_text("waiting for step 30")).to_be_visible()
    drawer.get_by_role("button", name="Withdraw").first.click()
    expect(drawer.get_by_text("unless already applied")).to_be_visible()
    controls = worker.heartbeat(claim).controls
    withdrawal = next(each for each in controls if each.withdraws is not None)
    worker.upload(claim, [event("request_withdrawn", 12, id=withdrawal.withdraws, author="admin", applied_step=13)])
    wait_until(lambda: "withdrawn" in {control.state for control in admin.history(run.id).controls})
    expect(drawer.get_by_text("withdrawn by admin", exact=True)).to_be_visible()
    worker.report(claim, "failed", "for the test")


def test_a_fork_starts_from_the_chosen_checkpoint(
    page: Page, visitor: Visitor, admin: Client, worker: FakeWorker
) -> None:
    visitor.expected = ("422",)
    run, claim = running(admin, worker, "has children")
    worker.report(claim, "failed", "for the test")
    page.goto(f"/runs/{run.id}?tab=artifacts")
    page.get_by_role("link", name="Fork from step 5").click()
    expect(page.get_by_role("heading", name="Fork from a checkpoint")).to_be_visible()
    expect(page.locator("#new-fork-step")).to_have_value(re.compile("after step 5"))
    # What the checkpoint cannot go on with is refused while typing, with the reason, and nothing typed is lost.
    size = page.get_by_label("rollout.group_size", exact=True)
    submit = page.locator("#new-submit")
    expect(submit).to_be_enabled()
    size.fill("4")
    expect(page.locator("#new-problems")).to_contain_text("the buffers hold groups of the parent's size")
    expect(submit).to_be_disabled()
    size.fill("8")
    page.locator("#new-name").fill("a child")
    expect(submit).to_be_enabled()
    submit.click()
    expect(page).to_have_url(re.compile(r"/runs/(?!.*fork)\w+$"))
    expect(page.locator("#run-status")).to_contain_text("forked from")
    expect(page.locator("#run-status")).to_contain_text("at step 5")
    child = admin.runs(search="a child").items[0]
    assert (child.parent_id, child.step) == (run.id, 5)


def test_a_grid_makes_a_study_with_a_page_of_its_own(page: Page, admin: Client, worker: FakeWorker) -> None:
    page.goto("/new")
    page.locator("#new-name").fill("c1 over seeds")
    page.locator("#new-several").press("Space")
    page.get_by_role("textbox", name="Field 1 to vary").click()
    page.get_by_role("option", name="method.c1").click()
    page.get_by_label("Values of field 1").fill("1/8, 2")
    page.get_by_role("textbox", name="Field 2 to vary").click()
    page.get_by_role("option", name="training.seed").click()
    page.get_by_label("Values of field 2").fill("1..3")
    # 2 is no threshold: three of six runs are named, and none can be started.
    expect(page.locator("#grid-preview")).to_contain_text("3 of 6 runs cannot run")
    page.get_by_label("Values of field 1").fill("1/8, 1/4")
    page.get_by_label("Values of field 2").fill("1..2")
    expect(page.get_by_role("button", name="Start 4 runs")).to_be_enabled()
    # What is typed just before the press counts.
    page.get_by_label("Values of field 2").fill("1..3")
    page.locator("#new-submit").click()
    expect(page).to_have_url(re.compile("/studies/"))
    expect(page.get_by_role("heading", name="c1 over seeds")).to_be_visible()

    study = admin.study(admin.studies().items[0].id)
    values = iter((0.2, 0.3, 0.4, 0.5, 0.6, 0.7))
    for run in study.runs:
        claim = worker.begin(admin.run(run.run_id or ""))
        worker.upload(claim, [evaluation(0, 0.1), step(1), evaluation(1, next(values))])
    best = page.locator("#study-results tbody tr").first
    # (0.5 + 0.6 + 0.7) / 3, and 4.303 · 0.1 / √3 about it.
    expect(best).to_contain_text("60.0")
    expect(best).to_contain_text("3 of 3")
    page.get_by_role("button", name="Pause all").click()
    expect(page.locator("#study-progress")).to_contain_text("pausing")
    page.get_by_role("button", name="Stop all").click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_role("button", name="Stop the runs").click()
    expect(page.locator("#study-progress")).to_contain_text("stopping")
    page.get_by_role("link", name="Studies", exact=True).first.click()
    expect(page.get_by_role("heading", name="Studies", exact=True)).to_be_visible()
    expect(page.get_by_role("row", name=re.compile("c1 over seeds"))).to_contain_text("6: 6 stopping")


def test_an_old_address_of_a_sweep_leads_to_its_study(page: Page, admin: Client) -> None:
    plan = StudyCreate(name="x" * 150, recipe="countdown-demo", grid={"training.seed": [1]}, start=False)
    made = admin.create_study(plan)
    page.goto(f"/sweeps/{made.id}")
    expect(page).to_have_url(re.compile(f"/studies/{made.id}$"))
    expect(page.get_by_text("Nothing can be said: it takes at least 8 runs")).to_be_visible()
    assert page.evaluate("document.documentElement.scrollWidth <= document.documentElement.clientWidth")
    page.goto("/sweeps")
    expect(page).to_have_url(re.compile("/studies$"))
    row = page.locator(".study-list tr", has_text="x" * 150)
    expect(row).to_contain_text("training.seed")
    expect(row).to_contain_text("1: 1 draft")
    row.get_by_role("link").click()
    expect(page.locator("#study-name")).to_have_text("x" * 150)
    page.get_by_role("link", name=re.compile("seed=1$")).click()
    page.get_by_role("link", name="part of a study").click()
    expect(page.locator("#study-name")).to_have_text("x" * 150)
