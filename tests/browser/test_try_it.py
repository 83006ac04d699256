"""The tab Try it: a message, and the answers of the run's models side by side."""

from __future__ import annotations

from typing import Any

import pytest
from playwright.sync_api import Page, expect

from bapo.api.chats import ChatAnswer, ChatReport
from bapo.api.maintenance_jobs import ChatJob, MaintenanceJobsRequest
from bapo.api.runs import RunCreate
from bapo.client import Client
from bapo.records import EventRecord
from tests.browser.conftest import assert_fits, play
from tests.support.fake_worker import FakeWorker

pytestmark = pytest.mark.browser

WRITTEN = "The **sum** is $\\frac{3}{1} + 4$, <img src=x onerror=alert(1)>\n\n\\boxed{7}"


def _report(worker: FakeWorker, job: ChatJob, *answers: tuple[str, str, dict[str, Any]], is_done: bool = False) -> None:
    unjudged = {"num_tokens": 7, "is_finished": False, "is_cut": False, "is_correct": None}
    said = [
        ChatAnswer.model_validate({"side": side, "model": "step 4", "text": text, **unjudged, **more})
        for side, text, more in answers
    ]
    worker.client.report_chat(job.chat_id, ChatReport(worker_id=worker.id, answers=said, is_done=is_done))


def test_a_prompt_of_the_run_is_asked_and_its_answers_grow_side_by_side(
    page: Page, admin: Client, worker: FakeWorker
) -> None:
    played = play(admin, worker, "to talk to")
    played.advance(4)
    played.add(EventRecord(attempt=1, step=4, event="checkpoint", message="", data={"checkpoint": "step-000004"}))
    with worker.beating():
        page.goto(f"/runs/{played.run.id}?tab=chat")
        expect(page.get_by_text("It is training 1 run: meanwhile they take one thread")).to_be_visible()
        expect(page.get_by_text("Nothing asked yet")).to_be_visible()
        page.get_by_role("button", name="Ask").click()
        expect(page.get_by_text("is empty: fill it in")).to_be_visible()
        page.get_by_label("Message").fill("What is 3 + 4?")
        page.get_by_label("Temperature").fill("0.7")
        page.get_by_role("button", name="Ask").click()
        card = page.get_by_role("article", name="What is 3 + 4?")
        expect(card.get_by_text("waiting for the worker on box, which holds the run's models")).to_be_visible()
        expect(card.get_by_text("temperature 0.7, seed 0")).to_be_visible()
        (job,) = worker.client.maintenance_jobs(MaintenanceJobsRequest(worker_id=worker.id)).chat
        _report(worker, job, ("base", "The sum", {}))
        expect(card.get_by_text("The sum …")).to_be_visible()
        expect(card.get_by_text("waits for its turn")).to_be_visible()
        done: dict[str, Any] = {"is_finished": True, "is_correct": True}
        cut: dict[str, Any] = {"is_finished": True, "is_correct": False, "is_cut": True}
        _report(worker, job, ("base", "No idea", cut), ("trained", WRITTEN, done), is_done=True)
        base, trained = card.locator(".chat-answer").all()
        expect(base.get_by_label("wrong")).to_be_visible()
        expect(base.get_by_text("cut")).to_be_visible()
        expect(trained.get_by_label("correct")).to_be_visible()
        # Rendered as responses are under Samples: what a model writes never acts.
        expect(trained.locator("strong", has_text="sum")).to_be_visible()
        expect(trained.locator("math").first).to_be_visible()
        assert trained.locator("img").count() == 0
        for width in (1440, 768, 390):
            assert_fits(page, width)
        card.get_by_role("button", name="Delete").click()
        expect(page.get_by_text("Nothing asked yet")).to_be_visible()


def test_models_that_no_worker_holds_are_said_in_place_of_the_form(page: Page, admin: Client) -> None:
    draft = admin.create_run(RunCreate(name="never trained", recipe="countdown-demo", start=False))
    page.goto(f"/runs/{draft.id}?tab=chat")
    expect(page.get_by_text("none of this server's workers has trained this run")).to_be_visible()
    expect(page.get_by_role("button", name="Ask")).to_have_count(0)
