"""Webhooks from end to end, with a real receiver that fails in every way that receivers do."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler

import orjson
import pytest
from sqlalchemy import select

from backend.kit.database import Database
from backend.models import Delivery, Membership, User, Webhook
from backend.notices.webhooks.delivery import Deliverer, note, retry_seconds
from backend.notices.webhooks.messages import message, signature, text_of
from backend.notices.webhooks.post import TRY_SECONDS, Outcome
from backend.outbound.addresses import AddressPolicy
from bapo.api.alerts import FillRateCondition, RuleScope, RuleWrite
from bapo.api.runs import RunDetail
from bapo.api.webhooks import DeliveryInfo, WebhookCreated, WebhookWrite
from bapo.client import ApiError, Client
from tests.support.fake_worker import FakeWorker
from tests.support.journals import filled
from tests.support.receiver import Receiver, documented, receiving, respond
from tests.support.refusals import refuses
from tests.support.services import BackendServer, add_person, wait_until

PUBLIC = "http://127.0.0.1:1/tools/bapo"


@pytest.fixture(scope="module")
def server_settings() -> Mapping[str, object]:
    """Of a server under a path, which may tell receivers on this machine."""
    return {"webhook_allowed_hosts": "127.0.0.1", "public_url": PUBLIC}


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    with receiving() as receiver:
        yield receiver


@contextmanager
def webhook(client: Client, url: str, *events: str, **changes: object) -> Iterator[WebhookCreated]:
    """A webhook for the time of a test."""
    body = {"name": "team", "url": url, "events": events or ["run.queued"], **changes}
    made = client.create_webhook(WebhookWrite.model_validate(body))
    try:
        yield made
    finally:
        client.delete_webhook(made.id)


def only_delivery(client: Client, made: WebhookCreated) -> DeliveryInfo:
    """The webhook's one message."""
    (found,) = client.deliveries(made.id).items
    return found


def test_states_and_alerts_are_told_signed_as_documented(
    admin: Client, worker: FakeWorker, run: RunDetail, receiver: Receiver
) -> None:
    scope = RuleScope(run_id=run.id)
    rule = admin.create_alert_rule(RuleWrite(name="thin", condition=FillRateCondition(steps=1), scope=scope))
    with webhook(admin, receiver.url, "run.starting", "run.failed", "alert.opened", "alert.resolved") as made:
        claim = worker.begin(run)
        worker.upload(claim, [filled(1, 0.1)])
        wait_until(lambda: bool(receiver.of("alert.opened")))
        worker.report(claim, "failed", "no such file")
        wait_until(lambda: len(receiver.received) == 4)
        (starting,), (failed,) = receiver.of("run.starting"), receiver.of("run.failed")
        (opened,), (resolved,) = receiver.of("alert.opened"), receiver.of("alert.resolved")
        assert starting.body["run"] | {"tags": []} == {
            "id": run.id,
            "name": "demo",
            "status": "starting",
            "before": "queued",
            "reason": None,
            "method": "bapo",
            "tags": [],
            "step": 0,
            "num_steps": 150,
            "attempt": 1,
            "link": f"{PUBLIC}/runs/{run.id}",
        }
        assert opened.body["alert"]["message"].startswith("Less than 50 % of the batch was filled in one step")
        assert opened.body["alert"]["link"] == f"{PUBLIC}/runs/{run.id}?tab=what-if"
        assert (failed.body["run"]["status"], failed.body["run"]["reason"]) == ("failed", "no such file")
        assert resolved.body["alert"]["resolution"] == "the run has ended"
        check = documented().is_genuine
        for each in receiver.received:
            assert each.body["id"] == int(each.headers["BAPO-Delivery"])
            assert check(made.secret, each.headers, each.content)
            assert not check("another", each.headers, each.content)
            assert not check(made.secret, each.headers, each.content + b" ")
            old = {**each.headers, "BAPO-Timestamp": str(int(time.time()) - 301)}
            assert not check(made.secret, old, each.content)
        assert "secret" not in admin.webhook(made.id).model_dump()
        # The server notes it once it has read the answer.
        wait_until(lambda: [each.state for each in admin.deliveries(made.id).items] == ["delivered"] * 4)
    admin.delete_alert_rule(rule.id)


def test_a_signature_has_a_known_value() -> None:
    # printf '1700000000.{"a":1}' | openssl dgst -sha256 -hmac whsec_x
    expected = "b3438763ab46d9634b9844c8722818eaf523f803db1327484c6067462a5fd6d1"
    assert signature("whsec_x", 1_700_000_000, b'{"a":1}') == expected


def try_now(client: Client, made: WebhookCreated) -> DeliveryInfo:
    """Send a test, and what became of it."""
    sent = client.test_webhook(made.id)
    found: list[DeliveryInfo] = []

    def is_tried() -> bool:
        found[:] = [each for each in client.deliveries(made.id).items if each.id == sent.id and each.state != "waiting"]
        return bool(found)

    wait_until(is_tried)
    return found[0]


def test_a_test_says_at_once_what_became_of_it(admin: Client, receiver: Receiver) -> None:
    with webhook(admin, receiver.url) as made:
        receiver.answer = lambda handler: respond(handler, 200, b"thanks")
        told = try_now(admin, made)
        assert (told.state, told.status_code, told.response, told.num_tries) == ("delivered", 200, "thanks", 1)
        assert receiver.received[-1].body["message"] == "admin is testing whether BAPO's messages reach “team”."
        receiver.answer = lambda handler: respond(handler, 500, b"\x00oops" * 500)
        told = try_now(admin, made)
        assert (told.state, told.status_code) == ("given_up", 500)
        assert told.problem == "answered 500: any 2xx confirms the message"
        assert told.response is not None
        assert len(told.response) == 500
        assert admin.webhook(made.id).failing_since is None, "a test is no failure"


def _silent(receiver: Receiver) -> None:
    receiver.answer = lambda handler: receiver.finished.wait()


def _dripping(receiver: Receiver) -> None:
    def drip(handler: BaseHTTPRequestHandler) -> None:
        handler.wfile.write(b"HTTP/1.1 200 OK\r\nX-Slow: ")
        while not receiver.finished.wait(0.05):
            handler.wfile.write(b"x")

    receiver.answer = drip


def _endless(receiver: Receiver) -> None:
    def flood(handler: BaseHTTPRequestHandler) -> None:
        handler.send_response(200)
        handler.end_headers()
        while not receiver.finished.is_set():
            handler.wfile.write(b"x" * 65_536)

    receiver.answer = flood


@contextmanager
def _deliverer(server: BackendServer, try_seconds: float) -> Iterator[Deliverer]:
    """One that sends what a test hands to it."""
    database = Database(server.settings.database_url)
    deliverer = Deliverer(database, AddressPolicy.of("127.0.0.1"), try_seconds=try_seconds)
    yield deliverer
    deliverer.end()
    database.close()


@pytest.fixture
def quick(backend_server: BackendServer) -> Iterator[Deliverer]:
    """A deliverer with too little patience for anything but silence."""
    with _deliverer(backend_server, 0.5) as deliverer:
        yield deliverer


@pytest.fixture
def patient(backend_server: BackendServer) -> Iterator[Deliverer]:
    with _deliverer(backend_server, TRY_SECONDS) as deliverer:
        yield deliverer


def sent_by(deliverer: Deliverer, receiver: Receiver) -> Outcome:
    outcome = deliverer._send(receiver.url, {"BAPO-Event": "test"}, b"{}")
    assert isinstance(outcome, Outcome)
    return outcome


def test_silence_and_drips_end_with_the_time_of_a_try(quick: Deliverer, receiver: Receiver) -> None:
    for misbehave in (_silent, _dripping):
        misbehave(receiver)
        begin = time.monotonic()
        outcome = sent_by(quick, receiver)
        assert outcome.problem == "no answer within 0.5 s: answer first, work later"
        assert outcome.is_unreachable
        assert time.monotonic() - begin > 0.4


def test_of_an_endless_answer_little_is_read(patient: Deliverer, receiver: Receiver) -> None:
    _endless(receiver)
    outcome = sent_by(patient, receiver)
    assert (outcome.status_code, outcome.problem) == (200, None)
    assert outcome.response == "x" * 500


def test_a_receiver_that_is_away_or_speaks_another_protocol_is_said_to(patient: Deliverer, receiver: Receiver) -> None:
    receiver.answer = lambda handler: handler.wfile.write(b"220 smtp.example.org\r\n")
    assert "the connection failed" in (sent_by(patient, receiver).problem or "")
    outcome = patient._send("http://127.0.0.1:1/x".replace(":1/", ":1024/"), {}, b"")
    assert "the connection failed" in (outcome.problem or "")


def test_a_dead_receiver_holds_up_nobody(admin: Client, run: RunDetail, receiver: Receiver) -> None:
    with ExitStack() as stack:
        dead = [stack.enter_context(receiving()) for _ in range(3)]
        for each in dead:
            _silent(each)
            # Several messages for each: one at a time is tried.
            made = stack.enter_context(webhook(admin, each.url, name="dead"))
            for _ in range(5):
                admin.test_webhook(made.id)
        alive = stack.enter_context(webhook(admin, receiver.url, name="alive"))
        wait_until(lambda: all(each.received for each in dead))
        assert try_now(admin, alive).state == "delivered"
        assert all(len(each.received) == 1 for each in dead), "they are still waited for"


def test_a_message_that_is_not_taken_is_tried_again_under_its_identifier(
    admin: Client, run: RunDetail, receiver: Receiver, database: Database
) -> None:
    receiver.answer = lambda handler: respond(handler, 503)
    with webhook(admin, receiver.url, "run.cancelled") as made:
        admin.stop(run.id)
        wait_until(lambda: bool(receiver.received))
        wait_until(lambda: only_delivery(admin, made).num_tries == 1)
        waiting = only_delivery(admin, made)
        assert (waiting.state, waiting.status_code, waiting.event) == ("waiting", 503, "run.cancelled")
        assert waiting.next_try_at is not None
        assert waiting.last_try_at is not None
        assert 7 <= (waiting.next_try_at - waiting.last_try_at).total_seconds() <= 13
        assert admin.webhook(made.id).failing_since is not None
        receiver.answer = lambda handler: respond(handler, 204)
        admin.send_delivery_again(made.id, waiting.id)
        wait_until(lambda: only_delivery(admin, made).state == "delivered")
        assert {each.headers["BAPO-Delivery"] for each in receiver.received} == {str(waiting.id)}
        assert len({each.content for each in receiver.received}) == 1
        assert admin.webhook(made.id).failing_since is None
        # Delivered, it can be sent once more.
        admin.send_delivery_again(made.id, waiting.id)
        wait_until(lambda: len(receiver.received) == 3)
        with refuses(404):
            admin.send_delivery_again(made.id, waiting.id + 1_000_000)


def test_a_receiver_that_wants_no_more_gets_no_more(admin: Client, run: RunDetail, receiver: Receiver) -> None:
    receiver.answer = lambda handler: respond(handler, 410)
    with webhook(admin, receiver.url, "run.cancelled") as made:
        before = admin.alert_summary().num_disabled_webhooks
        admin.stop(run.id)
        wait_until(lambda: not admin.webhook(made.id).enabled)
        off = admin.webhook(made.id)
        assert off.disabled_reason == "its receiver answered 410: it no longer accepts messages"
        assert only_delivery(admin, made).state == "given_up"
        assert admin.alert_summary().num_disabled_webhooks == before + 1
        with pytest.raises(ApiError) as refusal:
            admin.test_webhook(made.id)
        assert refusal.value.body.code == "switched_off"
        receiver.answer = lambda handler: respond(handler, 200)
        fields = set(WebhookWrite.model_fields)
        body = WebhookWrite.model_validate(off.model_dump(include=fields) | {"enabled": True})
        assert admin.replace_webhook(made.id, body).disabled_reason is None
        assert try_now(admin, made).state == "delivered"


def test_a_killed_server_sends_what_it_had_not_sent_under_the_same_identifier(
    postgres_url: str, backend_server: BackendServer, admin: Client, receiver: Receiver, database: Database
) -> None:
    """Killed before it was sent, or before that was noted: the rows stay as they are."""
    with webhook(admin, receiver.url) as made:
        told = try_now(admin, made)
        with database.session() as session, session.begin():
            # As a server that was killed leaves it: sent or not, nothing says so.
            delivery = session.get_one(Delivery, told.id)
            delivery.state, delivery.num_tries, delivery.last_try_at, delivery.first_try_at = "waiting", 0, None, None
        wait_until(lambda: len(receiver.received) == 2)
        assert [each.headers["BAPO-Delivery"] for each in receiver.received] == [str(told.id)] * 2
        assert receiver.received[0].content == receiver.received[1].content


def moment(seconds: float) -> datetime:
    return datetime(2026, 1, 1, tzinfo=UTC) + timedelta(seconds=seconds)


FAILURE = Outcome(500, None, "answered 500", 0.1)


def test_after_a_day_a_message_is_given_up_and_its_webhook_switched_off(
    admin: Client, receiver: Receiver, database: Database
) -> None:
    with webhook(admin, receiver.url, enabled=False) as made, database.session() as session, session.begin():
        row = session.get_one(Webhook, made.id)
        row.enabled = True
        first = Delivery(webhook_id=made.id, event="run.queued", body={}, state="waiting", num_tries=0)
        session.add(first)
        session.flush()
        note(session, row, first, FAILURE, moment(0))
        assert (first.state, row.enabled, row.failing_since) == ("waiting", True, moment(0))
        # A day, to the second: not before it.
        note(session, row, first, FAILURE, moment(86_399))
        assert (first.state, row.enabled) == ("waiting", True)
        note(session, row, first, FAILURE, moment(86_400))
        assert (first.state, row.enabled) == ("given_up", False)
        assert row.disabled_reason == "it accepted no message for 24 hours; last error: answered 500"


def test_one_success_forgets_all_failures(database: Database, admin: Client, receiver: Receiver) -> None:
    with webhook(admin, receiver.url, enabled=False) as made, database.session() as session, session.begin():
        row = session.get_one(Webhook, made.id)
        first = Delivery(webhook_id=made.id, event="run.queued", body={}, state="waiting", num_tries=0)
        session.add(first)
        session.flush()
        note(session, row, first, Outcome(None, None, "no answer", 10.0, is_unreachable=True), moment(0))
        assert row.resume_at is not None, "other messages wait too: nobody answers"
        note(session, row, first, Outcome(200, None, None, 0.1), moment(5))
        assert (first.state, row.failing_since, row.resume_at, row.num_failures) == ("delivered", None, None, 0)


@pytest.mark.parametrize(
    ("num_tries", "shortest", "longest"),
    [
        (1, 7.5, 12.5),
        (2, 22.5, 37.5),
        (3, 67.5, 112.5),
        (7, 5_467.5, 9_112.5),
        (8, 10_800, 18_000),
        (500, 10_800, 18_000),
    ],
)
def test_waits_grow_to_four_hours_with_a_quarter_of_chance(num_tries: int, shortest: float, longest: float) -> None:
    assert retry_seconds(num_tries, 0.0) == shortest
    assert retry_seconds(num_tries, 1.0) == longest


BODY = {
    "run": {
        "id": "r",
        "name": "<!channel> @everyone & co",
        "status": "failed",
        "reason": "x",
        "step": 3,
        "num_steps": 9,
    }
    | {"link": "https://bapo/runs/r"},
}


@pytest.mark.parametrize(
    ("format_", "content"),
    [
        ("slack", {"text": "&lt;!channel&gt; @everyone &amp; co is failed: x\nstep 3 of 9\nhttps://bapo/runs/r"}),
        (
            "discord",
            {
                "content": "<!channel> @everyone & co is failed: x\nstep 3 of 9\nhttps://bapo/runs/r",
                "allowed_mentions": {"parse": []},
            },
        ),
    ],
)
def test_a_runs_name_calls_no_channel(format_: str, content: object) -> None:
    hook = Webhook(format=format_, secret="s")
    delivery = Delivery(id=7, event="run.failed", created_at=moment(0), body=BODY)
    assert orjson.loads(message(hook, delivery, 1).content) == content


def test_plain_text_is_plain_and_no_longer_than_receivers_take() -> None:
    hook = Webhook(format="text", secret="s")
    delivery = Delivery(id=7, event="run.failed", created_at=moment(0), body=BODY)
    sent = message(hook, delivery, 1)
    assert sent.headers["Content-Type"] == "text/plain; charset=utf-8"
    assert sent.content.decode().startswith("<!channel> @everyone & co is failed: x")
    long = {"run": BODY["run"] | {"reason": "y" * 5_000}}
    assert len(text_of(long)) == 1_800


def test_only_the_owner_and_administrators_see_a_webhook(
    admin: Client, member: Client, viewer: Client, backend_server: BackendServer, receiver: Receiver
) -> None:
    with webhook(member, receiver.url) as made:
        assert made.id in {each.id for each in admin.webhooks().items}
        other = backend_server.client(add_person(backend_server, "nils"))
        with other:
            assert other.webhooks().items == []
            for ask in (
                lambda: other.webhook(made.id),
                lambda: other.deliveries(made.id),
                lambda: other.test_webhook(made.id),
                lambda: other.renew_webhook_secret(made.id),
                lambda: other.delete_webhook(made.id),
            ):
                with refuses(404):
                    ask()
        with refuses(403):
            viewer.webhooks()
        renewed = member.renew_webhook_secret(made.id)
        assert renewed.secret != made.secret
        try_now(member, made)
        check = documented().is_genuine
        assert check(renewed.secret, receiver.received[-1].headers, receiver.received[-1].content)


def test_who_leaves_a_project_is_told_no_more(
    backend_server: BackendServer, admin: Client, receiver: Receiver, database: Database, run: RunDetail
) -> None:
    with (
        backend_server.client(add_person(backend_server, "lea")) as leaver,
        receiving() as stays,
        webhook(admin, stays.url, "run.cancelled"),
    ):
        leaver.create_webhook(WebhookWrite(name="mine", url=receiver.url, events=["run.cancelled"]))
        with database.session() as session, session.begin():
            user = session.scalars(select(User).where(User.name == "lea")).one()
            session.delete(session.scalars(select(Membership).where(Membership.user_id == user.id)).one())
        admin.stop(run.id)
        wait_until(lambda: bool(stays.received))
        assert receiver.received == []
