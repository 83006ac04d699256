"""Sends queued messages: at least once, each under one ID, few at a time.

One message at a time goes to each webhook and few at once to all, each in bounded time, so that a receiver that is dead
or slow does not delay messages to others.
"""

from __future__ import annotations

import logging
import random
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime, timedelta
from functools import partial

from sqlalchemy.orm import Session

from backend.identity.audit.repository import add_audit
from backend.kit.database import Database, clock
from backend.kit.leadership import LeaderThread
from backend.models import Delivery, Webhook
from backend.notices.webhooks import repository
from backend.notices.webhooks.messages import message, unix_time_of
from backend.notices.webhooks.post import TRY_SECONDS, Outcome, send
from backend.notices.webhooks.repository import Due
from backend.outbound.addresses import AddressPolicy, Resolver, resolve
from backend.runs.lifecycle import SYSTEM

LOG = logging.getLogger(__name__)

DELIVER_LOCK = 0x6261706F09
"""Advisory lock of the one deliverer."""
INTERVAL_SECONDS = 1.0
MAX_AT_ONCE = 16
MAX_TRANSACTIONS = 2
"""Maximum number of simultaneous transactions: connections to the database are few."""
GIVE_UP_SECONDS = 86_400.0
"""A message that is not taken for so long is given up, and a webhook that takes none for so long is switched off."""
FIRST_RETRY_SECONDS = 10.0
LONGEST_RETRY_SECONDS = 4 * 3_600.0
LONGEST_PAUSE_SECONDS = 900.0
"""A receiver that did not answer is asked again after this at the latest."""
KEEP_SECONDS = 30 * 86_400.0
PRUNE_INTERVAL_SECONDS = 3_600.0

Clock = Callable[[Session], datetime]


def retry_seconds(num_tries: int, draw: float) -> float:
    """Wait before the next try: 10 s · 3^(n - 1), at most four hours, times 0.75 to 1.25 by a draw in [0, 1)."""
    # Capped before the power, which grows without end.
    wait = FIRST_RETRY_SECONDS * 3.0 ** min(num_tries - 1, 20)
    return min(LONGEST_RETRY_SECONDS, wait) * (0.75 + draw / 2)


class Deliverer(LeaderThread):
    """Looks once a second, and at once when it is woken."""

    def __init__(
        self,
        database: Database,
        policy: AddressPolicy,
        *,
        resolver: Resolver = resolve,
        try_seconds: float = TRY_SECONDS,
        clock: Clock = clock,
    ) -> None:
        super().__init__("deliverer", database, DELIVER_LOCK, INTERVAL_SECONDS)
        self._send = partial(send, policy=policy, resolver=resolver, try_seconds=try_seconds)
        self._clock = clock
        self._busy: set[str] = set()
        self._turns = threading.BoundedSemaphore(MAX_TRANSACTIONS)
        self._pool = ThreadPoolExecutor(MAX_AT_ONCE, thread_name_prefix="webhook")
        self._pruned_at = time.monotonic()

    def end(self) -> None:
        """Stop; what is being sent is finished."""
        super().end()
        self._pool.shutdown()

    def work(self) -> None:
        """Begin to send what is due."""
        with self._database.session() as session:
            due = repository.due(session, list(self._busy), MAX_AT_ONCE - len(self._busy))
        for item in due:
            self._busy.add(item.webhook_id)
            self._pool.submit(self._deliver, item)
        if time.monotonic() - self._pruned_at > PRUNE_INTERVAL_SECONDS:
            self._pruned_at = time.monotonic()
            with self._database.session() as session, session.begin():
                repository.prune(session, KEEP_SECONDS)

    def _deliver(self, item: Due) -> None:
        try:
            self.try_once(item)
        except Exception:
            LOG.exception("a message could not be sent", extra={"delivery_id": item.delivery_id})
        finally:
            self._busy.discard(item.webhook_id)
            self.wake()

    def try_once(self, item: Due) -> Outcome | None:
        """Send a message and record the outcome; None if it need not be sent anymore.

        Killed in between, the message is sent again: its receiver knows it by its identifier.
        """
        with self._turns, self._database.session() as session, session.begin():
            webhook, delivery = repository.lock_both(session, item) or (None, None)
            if webhook is None or delivery is None or delivery.state != "waiting":
                return None
            now = self._clock(session)
            url, prepared = webhook.url, message(webhook, delivery, unix_time_of(now))
        # No transaction is open while the receiver answers.
        outcome = self._send(url, prepared.headers, prepared.content)
        with self._turns, self._database.session() as session, session.begin():
            webhook, delivery = repository.lock_both(session, item) or (None, None)
            if webhook is not None and delivery is not None:
                note(session, webhook, delivery, outcome, self._clock(session))
        return outcome


def note(session: Session, webhook: Webhook, delivery: Delivery, outcome: Outcome, now: datetime) -> None:
    """Record the outcome of a try."""
    delivery.num_tries += 1
    delivery.first_try_at = delivery.first_try_at or now
    delivery.last_try_at = now
    delivery.status_code = outcome.status_code
    delivery.response = outcome.response
    delivery.problem = outcome.problem
    delivery.seconds = outcome.seconds
    delivery.next_try_at = None
    if outcome.problem is None:
        delivery.state = "delivered"
        webhook.failing_since = webhook.resume_at = None
        webhook.num_failures = 0
        return
    if delivery.event == "test":
        # The user who sent the test sees the outcome and can repeat it.
        delivery.state = "given_up"
        return
    webhook.failing_since = webhook.failing_since or now
    webhook.num_failures += 1
    if outcome.is_gone:
        switch_off(session, webhook, "its receiver answered 410: it no longer accepts messages", now)
        return
    given_up = now - timedelta(seconds=GIVE_UP_SECONDS)
    if delivery.first_try_at <= given_up:
        delivery.state = "given_up"
    else:
        delivery.next_try_at = now + _wait(delivery.num_tries)
    if outcome.is_unreachable:
        pause = timedelta(seconds=LONGEST_PAUSE_SECONDS)
        webhook.resume_at = now + min(pause, _wait(webhook.num_failures))
    if webhook.failing_since <= given_up:
        reason = f"it accepted no message for {GIVE_UP_SECONDS / 3_600:g} hours; last error: {outcome.problem}"
        switch_off(session, webhook, reason, now)


def _wait(num_tries: int) -> timedelta:
    return timedelta(seconds=retry_seconds(num_tries, random.random()))


def switch_off(session: Session, webhook: Webhook, reason: str, now: datetime) -> None:
    """Disable a webhook until a user enables it."""
    webhook.enabled = False
    webhook.disabled_reason = reason
    webhook.updated_at = now
    repository.give_up_waiting(session, webhook.id, f"the webhook was switched off: {reason}")
    add_audit(session, None, SYSTEM, "webhook switched off", {"webhook_id": webhook.id, "reason": reason})
    LOG.warning("webhook switched off", extra={"webhook_id": webhook.id, "cause": reason})
