"""Alerts from end to end: what a worker reports opens and resolves them, once, whatever restarts in between."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest
from sqlalchemy import select

from backend.kit.database import Database, clock
from backend.kit.events import latest_id
from backend.models import Alert, AlertFollower
from backend.notices.alerts.follower import look
from backend.notices.alerts.repository import lock_follower
from bapo.api.alerts import (
    AlertCondition,
    AlertInfo,
    EmptyBatchesCondition,
    EntropyCondition,
    FailedCondition,
    FillRateCondition,
    FinishedCondition,
    LostCondition,
    MetricCondition,
    RuleInfo,
    RuleScope,
    RuleWrite,
    StalledCondition,
)
from bapo.api.runs import RunCreate, RunDetail
from bapo.client import Client
from bapo.records import StepRecord
from tests.support.fake_worker import FakeWorker
from tests.support.journals import evaluation, filled, step
from tests.support.recorded import import_folder
from tests.support.refusals import refuses
from tests.support.services import wait_until


def entropies(values: Sequence[float], first: int = 1) -> list[StepRecord]:
    """Steps with these entropies."""
    records = [step(number) for number in range(first, first + len(values))]
    return [
        record.model_copy(update={"update": record.update and record.update.model_copy(update={"entropy": value})})
        for record, value in zip(records, values, strict=True)
    ]


@pytest.fixture
def rules(admin: Client) -> Iterator[list[RuleInfo]]:
    """Rules to be deleted after the test."""
    made: list[RuleInfo] = []
    yield made
    for rule in made:
        admin.delete_alert_rule(rule.id)


def make(
    admin: Client, rules: list[RuleInfo], condition: AlertCondition, run: RunDetail | None = None, name: str = "rule"
) -> RuleInfo:
    """A rule, about one run or all."""
    scope = RuleScope(run_id=None if run is None else run.id)
    rules.append(admin.create_alert_rule(RuleWrite(name=name, condition=condition, scope=scope)))
    return rules[-1]


def alerts_of(admin: Client, run: RunDetail) -> list[AlertInfo]:
    """Oldest first."""
    return list(admin.run_alerts(run.id).items)[::-1]


def followed(admin: Client, database: Database) -> None:
    """Wait until everything that happened so far was judged."""
    with database.session() as session:
        newest = latest_id(session)

    def is_followed() -> bool:
        with database.session() as session:
            return session.scalars(select(AlertFollower.stream_id)).one() >= newest

    wait_until(is_followed)


def test_an_alert_opens_and_is_resolved_at_its_steps(
    admin: Client, worker: FakeWorker, run: RunDetail, rules: list[RuleInfo], database: Database
) -> None:
    rule = make(admin, rules, FillRateCondition(below=0.5, steps=2), run, "thin batches")
    claim = worker.begin(run)
    worker.upload(claim, [filled(1, 0.9), filled(2, 0.4)])
    followed(admin, database)
    assert alerts_of(admin, run) == []
    worker.upload(claim, [filled(3, 0.3)])
    wait_until(lambda: len(alerts_of(admin, run)) == 1)
    alert = alerts_of(admin, run)[0]
    assert (alert.rule, alert.kind, alert.step, alert.value) == ("thin batches", "fill_rate", 3, 0.3)
    assert alert.link == f"/runs/{run.id}?tab=what-if"
    assert "c2 to c3" in alert.advice
    assert "for 2 steps in a row, up to step 3; in the last one 30 %" in alert.message
    assert admin.alert(alert.id) == alert
    assert admin.alert_rule(rule.id).num_open == 1
    worker.upload(claim, [filled(number, 0.9) for number in (4, 5, 6)])
    wait_until(lambda: alerts_of(admin, run)[0].resolved_at is not None)
    resolved = alerts_of(admin, run)[0]
    assert (resolved.id, resolved.resolved_step, resolved.resolution) == (alert.id, 6, "it recovered at step 6: 0.9")
    assert admin.alert_rule(rule.id).num_open == 0


def test_states_open_alerts_and_going_on_resolves_a_loss(
    admin: Client, worker: FakeWorker, run: RunDetail, rules: list[RuleInfo]
) -> None:
    for condition in (FinishedCondition(), FailedCondition(), LostCondition()):
        make(admin, rules, condition, run)
    claim = worker.begin(run)
    worker.report(claim, "lost", "out of memory")
    wait_until(lambda: [alert.kind for alert in alerts_of(admin, run)] == ["lost"])
    assert "out of memory" in alerts_of(admin, run)[0].message
    claim = worker.begin(run)
    wait_until(lambda: alerts_of(admin, run)[0].resolved_at is not None)
    worker.report(claim, "failed", "no such file")
    wait_until(lambda: len(alerts_of(admin, run)) == 2)
    failed = alerts_of(admin, run)[1]
    assert (failed.kind, failed.resolved_at, failed.link) == ("failed", None, f"/runs/{run.id}?tab=log")
    before = admin.alert_summary()
    assert failed.id in [alert.id for alert in before.newest]
    assert admin.acknowledge_alerts([failed.id]).num_acknowledged == 1
    assert admin.acknowledge_alerts([failed.id]).num_acknowledged == 0, "seen is seen"
    seen = admin.alert(failed.id)
    assert (seen.acknowledged_by, seen.resolved_at is not None) == ("admin", True)
    assert admin.alert_summary().num_open == before.num_open - 1
    audit = [entry for entry in admin.history(run.id).audit if entry.action == "alert acknowledged"]
    assert [(entry.author, entry.detail["alert_id"]) for entry in audit] == [("admin", failed.id)]


def test_a_finished_run_leaves_no_open_alert(
    admin: Client, worker: FakeWorker, run: RunDetail, rules: list[RuleInfo]
) -> None:
    make(admin, rules, FillRateCondition(below=0.5, steps=1), run)
    make(admin, rules, FinishedCondition(), run)
    claim = worker.begin(run)
    worker.upload(claim, [filled(1, 0.1)])
    worker.report(claim, "succeeded")
    wait_until(lambda: len(alerts_of(admin, run)) == 2)
    found = alerts_of(admin, run)
    assert {alert.kind for alert in found} == {"fill_rate", "finished"}
    assert all(alert.resolution == "the run has ended" for alert in found)


def test_steps_that_an_attempt_repeats_open_nothing_twice(
    admin: Client, worker: FakeWorker, run: RunDetail, rules: list[RuleInfo], database: Database
) -> None:
    make(admin, rules, FillRateCondition(below=0.5, steps=2), run)
    claim = worker.begin(run)
    rates = [0.9, 0.4, 0.4, 0.9, 0.9, 0.9, 0.9]
    worker.upload(claim, [filled(number, rate) for number, rate in enumerate(rates, start=1)])
    followed(admin, database)
    assert [(alert.step, alert.resolved_step) for alert in alerts_of(admin, run)] == [(3, 6)]
    worker.report(claim, "lost")
    again = worker.begin(run)
    worker.upload(again, [filled(number, rates[number - 1], attempt=2) for number in (2, 3, 4)])
    followed(admin, database)
    worker.upload(again, [filled(number, rates[number - 1], attempt=2) for number in (5, 6, 7)])
    followed(admin, database)
    assert [(alert.step, alert.resolved_step) for alert in alerts_of(admin, run)] == [(3, 6)]
    # Beyond what the first attempt reached, it is judged as ever.
    worker.upload(again, [filled(number, 0.1, attempt=2) for number in (8, 9)])
    followed(admin, database)
    assert [alert.step for alert in alerts_of(admin, run)] == [3, 9]


def test_an_attempt_that_goes_another_way_is_told(
    admin: Client, worker: FakeWorker, run: RunDetail, rules: list[RuleInfo], database: Database
) -> None:
    make(admin, rules, FillRateCondition(below=0.5, steps=2), run)
    claim = worker.begin(run)
    worker.upload(claim, [filled(1, 0.9), filled(2, 0.4), filled(3, 0.4)])
    followed(admin, database)
    worker.report(claim, "lost")
    again = worker.begin(run)
    worker.upload(again, [filled(number, 0.9, attempt=2) for number in (2, 3, 4)])
    followed(admin, database)
    assert [(alert.step, alert.resolution) for alert in alerts_of(admin, run)] == [
        (3, "the run resumed from an earlier step without it")
    ]


def test_a_new_rule_tells_of_a_running_run_only_what_still_holds(
    admin: Client, worker: FakeWorker, run: RunDetail, rules: list[RuleInfo], database: Database
) -> None:
    claim = worker.begin(run)
    rates = [0.1, 0.1, 0.9, 0.9, 0.9, 0.2, 0.2]
    worker.upload(claim, [filled(number, rate) for number, rate in enumerate(rates, start=1)])
    make(admin, rules, FillRateCondition(below=0.5, steps=2), run, "still so")
    make(admin, rules, FillRateCondition(below=0.15, steps=2), run, "over by then")
    worker.upload(claim, [filled(8, 0.2)])
    followed(admin, database)
    assert [(alert.rule, alert.step) for alert in alerts_of(admin, run)] == [("still so", 7)]


def test_a_changed_rule_resolves_what_it_found_and_judges_anew(
    admin: Client, worker: FakeWorker, run: RunDetail, rules: list[RuleInfo], database: Database
) -> None:
    rule = make(admin, rules, FillRateCondition(below=0.5, steps=1), run)
    claim = worker.begin(run)
    worker.upload(claim, [filled(1, 0.4)])
    followed(admin, database)
    body = RuleWrite(name="lower", condition=FillRateCondition(below=0.3, steps=1), scope=RuleScope(run_id=run.id))
    assert admin.replace_alert_rule(rule.id, body).sentence.startswith("Alert when less than 30 % of the batch")
    worker.upload(claim, [filled(2, 0.4), filled(3, 0.2)])
    followed(admin, database)
    assert [(alert.rule, alert.step, alert.resolution) for alert in alerts_of(admin, run)] == [
        ("rule", 1, "admin changed the rule"),
        ("lower", 3, None),
    ]


def test_a_rule_about_evaluations_waits_for_them(
    admin: Client, worker: FakeWorker, run: RunDetail, rules: list[RuleInfo], database: Database
) -> None:
    key = "val-core/CD-34/acc/mean@8"
    make(admin, rules, MetricCondition(key=key, comparison="<", threshold=0.2, steps=2), run)
    claim = worker.begin(run)
    worker.upload(claim, [evaluation(0, 0.1), step(1), step(2), evaluation(2, 0.3), step(3), step(4)])
    worker.upload(claim, [evaluation(4, 0.15)])
    followed(admin, database)
    assert alerts_of(admin, run) == []
    worker.upload(claim, [step(5), step(6), evaluation(6, 0.19)])
    followed(admin, database)
    assert [(alert.step, alert.value) for alert in alerts_of(admin, run)] == [(6, 0.19)]


def test_rules_watch_the_runs_of_their_scope(
    admin: Client, worker: FakeWorker, rules: list[RuleInfo], database: Database
) -> None:
    tagged = admin.create_run(RunCreate(name="tagged", recipe="countdown-demo", tags=["night"]))
    grpo = admin.create_run(RunCreate(name="grpo", recipe="countdown-grpo", tags=["day"]))
    condition = FillRateCondition(below=0.5, steps=1)
    for scope in (RuleScope(tag="night"), RuleScope(method="grpo"), RuleScope(tag="night", method="grpo")):
        rules.append(admin.create_alert_rule(RuleWrite(name=scope.model_dump_json(), condition=condition, scope=scope)))
    for run in (tagged, grpo):
        worker.upload(worker.begin(run), [filled(1, 0.1)])
    followed(admin, database)
    assert [alert.rule for alert in alerts_of(admin, tagged)] == [rules[0].name]
    assert [alert.rule for alert in alerts_of(admin, grpo)] == [rules[1].name]


def test_events_that_are_followed_twice_open_nothing_twice(
    admin: Client,
    worker: FakeWorker,
    rules: list[RuleInfo],
    database: Database,
) -> None:
    run = admin.create_run(RunCreate(name="demo", recipe="countdown-demo"))
    make(admin, rules, FillRateCondition(below=0.5, steps=2), run)
    claim = worker.begin(run)
    worker.upload(claim, [filled(1, 0.1), filled(2, 0.1)])
    followed(admin, database)
    with database.session() as session, session.begin():
        follower = session.scalars(select(AlertFollower).with_for_update()).one()
        follower.stream_id = 0
    followed(admin, database)
    with database.session() as session:
        found = session.scalars(select(Alert).where(Alert.run_id == run.id)).all()
        assert [alert.step for alert in found] == [2]


def test_a_standstill_counts_only_the_time_in_which_somebody_looked(
    admin: Client, worker: FakeWorker, run: RunDetail, rules: list[RuleInfo], database: Database
) -> None:
    rule = make(admin, rules, StalledCondition(minutes=1), run)
    claim = worker.begin(run)
    worker.upload(claim, [step(1)])
    followed(admin, database)

    def pass_by(seconds: float) -> None:
        with database.session() as session, session.begin():
            look(session, seconds, clock(session), "http://bapo")

    # While the test looks, the server does not: its seconds would count too.
    with database.session() as held, held.begin():
        lock_follower(held)
        pass_by(9)  # What happened until now is seen.
        pass_by(40)
        assert alerts_of(admin, run) == []
        worker.upload(claim, [step(2)])
        pass_by(40)
        pass_by(59)
        assert alerts_of(admin, run) == [], "59 of 60 seconds since the last step"
        pass_by(30)
        [alert] = alerts_of(admin, run)
        assert "Nothing was recorded for 1 minute; the last completed step is 2." in alert.message
        pass_by(600)
        assert admin.alert_rule(rule.id).num_open == 1, "one standstill is one alert"
        worker.upload(claim, [step(3)])
        pass_by(1)
        assert alerts_of(admin, run)[0].resolution == "the run continues"


def test_a_preview_says_where_a_rule_would_have_fired(
    admin: Client, worker: FakeWorker, recorded_folders: dict[str, Path]
) -> None:
    run = admin.create_run(RunCreate(name="thin", recipe="countdown-demo", tags=["preview"]))
    claim = worker.begin(run)
    rates = [0.9, 0.1, 0.1, 0.9, 0.9, 0.9, 0.1, 0.1]
    worker.upload(claim, [filled(number, rate) for number, rate in enumerate(rates, start=1)])
    draft = RuleWrite(name="x", condition=FillRateCondition(below=0.5, steps=2), scope=RuleScope(tag="preview"))
    preview = admin.preview_alert_rule(draft)
    assert (preview.num_runs, preview.num_firings, preview.runs[0].num_values) == (1, 2, 8)
    assert [(firing.step, firing.resolved_step) for firing in preview.runs[0].firings] == [(3, 6), (8, None)]
    assert "less than 50 % of the batch is filled for 2 steps in a row" in preview.sentence
    # The usual rules over a run that was really trained.
    recorded = import_folder(admin, recorded_folders["bapo-seed-1"])
    for condition in (EntropyCondition(), EmptyBatchesCondition(), FailedCondition(), StalledCondition()):
        scope = RuleScope(run_id=recorded)
        preview = admin.preview_alert_rule(RuleWrite(name="x", condition=condition, scope=scope))
        assert (preview.num_runs, preview.num_firings) == (1, 0), condition
    sensitive = EntropyCondition(below=5, fall_percent=None)
    preview = admin.preview_alert_rule(RuleWrite(name="x", condition=sensitive, scope=RuleScope(run_id=recorded)))
    assert [firing.step for firing in preview.runs[0].firings] == [5]
    assert admin.run_alerts(recorded).items == [], "an imported run has had its life elsewhere"


def test_a_collapse_of_the_entropy_is_told_with_what_it_fell_from(
    admin: Client, worker: FakeWorker, run: RunDetail, rules: list[RuleInfo]
) -> None:
    make(admin, rules, EntropyCondition(below=0.01, fall_percent=50, within_steps=6), run)
    claim = worker.begin(run)
    worker.upload(claim, entropies([1.0] * 6 + [0.25] * 5))
    wait_until(lambda: len(alerts_of(admin, run)) == 1)
    alert = alerts_of(admin, run)[0]
    # Levels: steps 5..9 have the median 0.25; six steps before, steps 1..5, it is 1. Step 11 is the first with both.
    assert (alert.step, alert.value) == (11, 0.25)
    assert alert.message == "The entropy fell by 75 % within 6 steps to 0.25 nats per token (step 11)."


def test_alerts_can_be_asked_for_by_state_kind_rule_and_page(
    admin: Client, worker: FakeWorker, run: RunDetail, rules: list[RuleInfo], database: Database
) -> None:
    rule = make(admin, rules, FillRateCondition(below=0.5, steps=1), run)
    claim = worker.begin(run)
    for number, rate in enumerate([0.1, 0.9, 0.9, 0.9, 0.1, 0.9, 0.9, 0.9, 0.1], start=1):
        worker.upload(claim, [filled(number, rate)])
    followed(admin, database)
    assert [alert.step for alert in admin.alerts(rule_id=rule.id).items] == [9, 5, 1]
    assert [alert.step for alert in admin.alerts(rule_id=rule.id, state="open").items] == [9]
    assert [alert.step for alert in admin.alerts(run_id=run.id, state="resolved", kind="fill_rate").items] == [5, 1]
    assert admin.alerts(run_id=run.id, kind="ratio").items == []
    page = admin.alerts(rule_id=rule.id, limit=2)
    assert [alert.step for alert in page.items] == [9, 5]
    assert [alert.step for alert in admin.alerts(rule_id=rule.id, limit=2, cursor=page.next_cursor).items] == [1]
    admin.delete_alert_rule(rules.pop().id)
    left = alerts_of(admin, run)
    assert [(alert.rule_id, alert.rule) for alert in left] == [(None, "rule")] * 3
    assert left[-1].resolution == "admin deleted the rule"


def test_what_is_no_rule_is_refused_at_its_field(admin: Client) -> None:
    body = RuleWrite(name="x", condition=FailedCondition(), scope=RuleScope(run_id="nowhere"))
    with refuses(404, field="scope.run_id"):
        admin.create_alert_rule(body)
    with refuses(404):
        admin.acknowledge_alerts([2**62])
