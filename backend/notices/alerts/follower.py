"""Follows the event log and evaluates the rules: each event once, in one transaction with the alerts that it opens.

How far the log was followed is stored with the alerts, so that a server that dies loses and doubles none. Nothing here
is part of taking records in: a trainer, its worker and the pages notice nothing of it.
"""

from __future__ import annotations

import logging
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime

import numpy as np
from sqlalchemy.orm import Session

from backend.kit import events
from backend.kit.database import Database, clock
from backend.kit.leadership import LeaderThread
from backend.models import Alert, AlertWatch, Run
from backend.notices.alerts import finding_rules, repository, texts
from backend.notices.alerts.alert_lifecycle import AlertBook
from backend.notices.alerts.rules import Rule, read_rule
from backend.notices.alerts.watches import Finding, Memory, read_all
from backend.notices.webhooks import outbox
from backend.records import series
from backend.records.repository import StepRange
from backend.runs import states
from bapo.api.alerts import StalledCondition
from bapo.api.records import StreamEvent
from bapo.api.runs import RunStatus

LOG = logging.getLogger(__name__)

FOLLOW_LOCK = 0x6261706F08
"""Advisory lock of the one follower."""
INTERVAL_SECONDS = 1.0
LOOK_SECONDS = 5.0
"""Interval at which runs are checked for a standstill, in seconds."""
SPARSE_KEYS = ("val-core/", "val-aux/", "bapo/tracking/")
"""Metrics of evaluations and trackings, which come after the step that they belong to."""
JUDGED = "judged"
"""Step up to which a rule has reported, in its memory of a run."""

Clock = Callable[[Session], datetime]


class AlertFollower(LeaderThread):
    """Judges what is new once a second, where there is something."""

    def __init__(
        self, database: Database, public_url: str, wake_deliverer: Callable[[], None], clock: Clock = clock
    ) -> None:
        super().__init__("alerts", database, FOLLOW_LOCK, INTERVAL_SECONDS)
        self._public_url = public_url
        self._wake_deliverer = wake_deliverer
        self._clock = clock

    def work(self) -> None:
        """Follow the log to its end, and check for runs that have stopped progressing."""
        while self._follow():
            pass
        self._look()

    def _follow(self) -> bool:
        """Judge the next events; whether there may be more."""
        with self._database.session() as session, session.begin():
            follower = repository.lock_follower(session)
            found = events.events_after(session, follower.stream_id, None)
            if not found:
                return False
            self._take(session, found)
            follower.stream_id = found[-1].id
        self._wake_deliverer()
        return len(found) == events.REPLAY_LIMIT

    def _take(self, session: Session, found: Sequence[StreamEvent]) -> None:
        by_run: dict[str, list[StreamEvent]] = defaultdict(list)
        for event in found:
            if event.event in ("step", "evaluation", "tracking") or (event.event == "status" and "from" in event.data):
                by_run[event.data["run_id"]].append(event)
        runs = {run.id: run for run in repository.runs(session, by_run)}
        rules = self._rules(session, runs.values())
        watches = repository.watches(session, runs)
        open_alerts = _by_run(repository.open_alerts(session, runs))
        now = self._clock(session)
        for run_id, run_events in by_run.items():
            if run_id not in runs:
                continue
            run = runs[run_id]
            book = AlertBook(session, run, open_alerts[run_id], now, self._public_url)
            own = [rule for rule in rules if rule.watches(run)]
            try:
                with session.begin_nested():
                    RunJudge(session, run, own, watches, book).judge(run_events, self._public_url)
            except Exception:
                # What is wrong with one run must not silence all others.
                LOG.exception("the rules could not be evaluated", extra={"run_id": run_id})

    def _rules(self, session: Session, runs: Iterable[Run]) -> list[Rule]:
        projects = {run.project_id for run in runs}
        stored = repository.enabled_rules(session, projects) if projects else []
        return [rule for each in stored if (rule := read_rule(each)) is not None]

    def _look(self) -> None:
        """Add up the time without news of each active run."""
        with self._database.session() as session, session.begin():
            follower = repository.lock_follower(session)
            now = self._clock(session)
            elapsed = (now - follower.looked_at).total_seconds()
            if elapsed < LOOK_SECONDS:
                return
            follower.looked_at = now
            # Time in which no server looked is not the run's: what it recorded then is still to come.
            look(session, min(elapsed, 2 * LOOK_SECONDS), now, self._public_url)
            finding_rules.look(session, now, self._public_url)
        self._wake_deliverer()


def look(session: Session, elapsed_seconds: float, now: datetime, public_url: str) -> None:
    """Judge the rules about standstills after so many seconds more."""
    rules = [
        rule
        for stored in repository.enabled_rules_of_kind(session, "stalled")
        if (rule := read_rule(stored)) is not None
    ]
    if not rules:
        return
    projects = {rule.stored.project_id for rule in rules}
    runs = repository.runs_with_status(session, projects, states.ACTIVE)
    run_ids = [run.id for run in runs]
    newest = repository.newest_events(session, run_ids)
    watches = repository.watches(session, run_ids)
    open_alerts = _by_run(repository.open_alerts(session, run_ids))
    for run in runs:
        book = AlertBook(session, run, open_alerts[run.id], now, public_url)
        for rule in rules:
            if rule.watches(run):
                watch = watches.get((rule.id, run.id))
                _look_at(session, run, rule, watch, newest.get(run.id, 0), elapsed_seconds, book)


def _look_at(
    session: Session, run: Run, rule: Rule, watch: AlertWatch | None, newest: int, seconds: float, book: AlertBook
) -> None:
    condition = rule.condition
    assert isinstance(condition, StalledCondition), "chosen by its kind"
    alert = book.open_of(rule)
    if watch is None or newest > watch.memory["seen"]:
        memory = {"seen": newest, "idle": 0.0}
        if watch is None:
            session.add(AlertWatch(rule_id=rule.id, run_id=run.id, step=run.step, memory=memory))
        else:
            watch.memory = memory
        if alert is not None:
            book.resolve(alert, "the run continues", step=run.step)
        return
    idle = watch.memory["idle"] + seconds
    watch.memory = {**watch.memory, "idle": idle}
    if alert is None and idle >= 60 * condition.minutes:
        text = texts.stalled(run.id, condition.minutes, run.step)
        book.open(rule, f"idle since {watch.memory['seen']}", text, step=run.step)


class RunJudge:
    """Judges one run's rules."""

    def __init__(
        self,
        session: Session,
        run: Run,
        rules: Sequence[Rule],
        watches: Mapping[tuple[str, str], AlertWatch],
        book: AlertBook,
    ) -> None:
        self._session = session
        self._run = run
        self._rules = rules
        self._watches = watches
        self._book = book

    def judge(self, run_events: Sequence[StreamEvent], public_url: str) -> None:
        """Take in what happened, in order."""
        # Steps first: what was recorded before a run ended shall open an alert that its end resolves.
        self._judge_metrics([event for event in run_events if event.event != "status"])
        for event in run_events:
            if event.event == "status":
                self._judge_move(event, public_url)
        if states.is_terminal(self._run.status):
            # What was found in its data is true of a run that has ended.
            self._book.resolve_where(lambda alert: alert.kind not in ("failed", "finding"), "the run has ended")

    # ------------------------------------------------------------ states

    def _judge_move(self, event: StreamEvent, public_url: str) -> None:
        data, run = event.data, self._run
        status = RunStatus(data["status"])
        body = outbox.run_body(run, public_url)
        # As it was then: the row may have moved on.
        body["run"] |= {"status": status.value, "step": data["step"], "reason": data["reason"]}
        body["run"] |= {"attempt": data["attempt"], "before": data["from"]}
        outbox.add(self._session, run, f"run.{status.value}", body)
        if status not in (RunStatus.LOST, RunStatus.QUEUED):
            self._book.resolve_where(lambda alert: alert.kind == "lost", f"the run is {status.value}")
        if status not in states.ACTIVE:
            self._book.resolve_where(lambda alert: alert.kind == "stalled", f"the run is {status.value}")
        for rule in self._rules:
            self._judge_status(rule, status, event)

    def _judge_status(self, rule: Rule, status: RunStatus, event: StreamEvent) -> None:
        run, data = self._run, event.data
        match rule.condition.kind, status:
            case "finished", RunStatus.SUCCEEDED:
                text = texts.finished(run.id, data["num_steps"])
            case "failed", RunStatus.FAILED:
                text = texts.failed(run.id, data["reason"])
            case "lost", RunStatus.LOST:
                text = texts.lost(run.id, data["reason"])
            case _:
                return
        self._book.open(rule, f"event {event.id}", text, step=data["step"])

    # ------------------------------------------------------------ metrics

    def _judge_metrics(self, run_events: Sequence[StreamEvent]) -> None:
        steps = [
            (int(event.data["from_step"]), int(event.data["step"])) for event in run_events if event.event == "step"
        ]
        sparse = [(int(event.data["step"]),) * 2 for event in run_events if event.event in ("evaluation", "tracking")]
        due = []
        for rule in self._rules:
            watch = rule.watch
            spans = [] if watch is None else sparse if watch.key.startswith(SPARSE_KEYS) else steps
            if watch is not None and spans:
                due.append((rule, watch, min(first for first, _ in spans), max(last for _, last in spans)))
        if not due:
            return
        first = min(self._begin(rule, first)[0] for rule, _, first, _ in due)
        last = max(last for *_, last in due)
        keys = sorted({watch.key for _, watch, _, _ in due})
        columns = series.read(self._session, self._run.id, keys, StepRange(first, last))
        for rule, watch, first, last in due:
            begin, memory = self._begin(rule, first)
            values = columns.values[watch.key]
            known = ~np.isnan(values) & (columns.steps >= begin) & (columns.steps <= last)
            pairs = list(zip(columns.steps[known].tolist(), values[known].tolist(), strict=True))
            found = read_all(watch, memory, pairs)
            self._note(rule, found, memory, last)

    def _begin(self, rule: Rule, first: int) -> tuple[int, Memory]:
        """Return the first step that a rule reads, and its memory up to that step."""
        watch = self._watches.get((rule.id, self._run.id))
        if watch is None:
            return 0, {}
        if first > watch.step:
            return watch.step + 1, dict(watch.memory)
        # An attempt repeats steps: the whole run is read again, and only later steps are reported.
        return 0, {JUDGED: watch.memory.get(JUDGED, 0)}

    def _note(self, rule: Rule, found: Sequence[Finding], memory: Memory, last: int) -> None:
        watch = self._watches.get((rule.id, self._run.id))
        if watch is None:
            # Of what a run recorded before the rule was made, only what still holds is news.
            is_older = self._run.started_at is not None and self._run.started_at < rule.stored.updated_at
            memory[JUDGED] = last if is_older else -1
            watch = AlertWatch(rule_id=rule.id, run_id=self._run.id, step=last, memory={})
            self._session.add(watch)
        for finding in found:
            if finding.step > memory[JUDGED]:
                self._apply(rule, finding)
        if last >= memory[JUDGED]:
            self._reconcile(rule, memory.get("open", False), found, last)
            memory[JUDGED] = last
        watch.step, watch.memory = last, memory

    def _apply(self, rule: Rule, finding: Finding) -> None:
        alert = self._book.open_of(rule)
        if finding.change == "opened" and alert is None:
            text = texts.found(rule.condition, finding, self._run.id)
            occurrence = f"step {finding.step} attempt {self._run.attempt}"
            self._book.open(rule, occurrence, text, step=finding.step, value=finding.value)
        elif finding.change == "resolved" and alert is not None:
            self._book.resolve(alert, texts.resolution(rule.condition, finding), step=finding.step)

    def _reconcile(self, rule: Rule, is_open: bool, found: Sequence[Finding], last: int) -> None:
        """Correct alerts after steps that were read without opening any."""
        alert = self._book.open_of(rule)
        opened = [finding for finding in found if finding.change == "opened"]
        if is_open and alert is None and opened:
            self._apply(rule, opened[-1])
        elif not is_open and alert is not None:
            self._book.resolve(alert, "the run resumed from an earlier step without it", step=last)


def _by_run(alerts: Sequence[Alert]) -> dict[str, list[Alert]]:
    found: dict[str, list[Alert]] = defaultdict(list)
    for alert in alerts:
        found[alert.run_id].append(alert)
    return found
