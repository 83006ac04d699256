"""What is found in a run is kept for the list of runs, and opens alerts."""

from __future__ import annotations

import csv
import logging
from collections.abc import Iterator
from io import StringIO
from pathlib import Path

import pytest

from backend.kit.database import Database
from backend.models import RunFindings
from backend.notices.alerts.finding_rules import matching
from backend.readings.findings import service
from backend.readings.run_reading import RunReading
from bapo import observe
from bapo.analysis.findings.finding import FindingKind, Severity
from bapo.analysis.findings.search import Search
from bapo.api.alerts import AlertInfo, FindingCondition, RuleDraft, RuleInfo, RuleScope, RuleWrite
from bapo.api.runs import RunCreate
from bapo.client import Client
from bapo.observe import Group
from tests.support.fake_worker import FakeWorker
from tests.support.services import BackendServer, wait_until
from tests.support.simulation import Simulation


@pytest.fixture
def rule(admin: Client) -> Iterator[RuleInfo]:
    """About all that is at least a warning."""
    condition = FindingCondition(severity="warning")
    made = admin.create_alert_rule(RuleWrite(name="data", condition=condition, scope=RuleScope(method="observed")))
    yield made
    admin.delete_alert_rule(made.id)


def hopeless(number: int) -> list[Group]:
    """Of 20 groups three quarters are all wrong."""
    return [Group(f"{number} + {i} = ?", [1, 0, 0, 0] if i % 4 == 0 else [0] * 4, ["x"] * 4) for i in range(20)]


def test_findings_of_a_watched_run_are_in_the_list_and_open_an_alert(
    admin: Client, backend_server: BackendServer, rule: RuleInfo, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("BAPO_SERVER", backend_server.url)
    monkeypatch.setenv("BAPO_TOKEN", backend_server.admin_token)
    with observe.run("hopeless", folder=tmp_path) as run:
        for step in range(1, 31):
            run.step(step, groups=hopeless(step % 3))
        assert run.live is not None
        wait_until(lambda: run.live is not None and run.live.run_id is not None)
        run_id = run.live.run_id
        assert run_id is not None

    def listed() -> tuple[int | None, Severity | None]:
        row = next(item for item in admin.runs().items if item.id == run_id)
        return row.num_findings, row.gravest_finding

    wait_until(lambda: (listed()[0] or 0) > 0)
    report = admin.findings(run_id)
    assert report.findings[0].kind == "no_gradient"
    assert listed() == (len(report.findings), "warning")
    assert (admin.run(run_id).num_findings, admin.run(run_id).gravest_finding) == listed()

    rows = list(csv.DictReader(StringIO(admin.finding_prompts_csv(run_id, "never_solved"))))
    listed_prompts = admin.finding_prompts(run_id, "never_solved").items
    assert len(rows) > 0
    assert [row["prompt_id"] for row in rows] == [item.prompt_id for item in listed_prompts]
    assert {row["num_correct"] for row in rows} == {"0"}

    def alerts() -> list[AlertInfo]:
        return [alert for alert in admin.run_alerts(run_id).items if alert.rule_id == rule.id]

    wait_until(lambda: bool(alerts()))
    (alert,) = alerts()
    assert (alert.kind, alert.step) == ("finding", 30)
    assert alert.message.startswith("75\u202f% of fresh groups since step 16 have no gradient")
    assert alert.link == f"/runs/{run_id}?tab=findings"
    # What is wrong with its data stays true of a run that has ended.
    assert alert.resolved_at is None
    preview = admin.preview_alert_rule(RuleDraft(condition=rule.condition, scope=RuleScope(run_id=run_id)))
    assert [(firing.step, firing.resolved_step) for firing in preview.runs[0].firings] == [(30, None)]
    wrong_label = FindingCondition(severity="note", findings=["label_suspected"])
    assert admin.preview_alert_rule(RuleDraft(condition=wrong_label)).num_firings == 0


def stored(*found: tuple[FindingKind, Severity]) -> RunFindings:
    return RunFindings(found=[{"kind": kind, "severity": severity, "title": kind} for kind, severity in found])


def test_a_rule_is_about_findings_of_its_kinds_that_are_grave_enough() -> None:
    found = stored(("reward_fell", "problem"), ("no_gradient", "warning"), ("never_solved", "note"))
    assert list(matching(FindingCondition(severity="problem"), found)) == ["reward_fell"]
    assert list(matching(FindingCondition(severity="warning"), found)) == ["reward_fell", "no_gradient"]
    both = FindingCondition(severity="note", findings=["never_solved", "label_suspected"])
    assert list(matching(both, found)) == ["never_solved"]


@pytest.mark.parametrize(
    ("condition", "said"),
    [
        (FindingCondition(), "Alert when a warning or a problem is found in the run's data, in every run"),
        (
            FindingCondition(severity="note", findings=["never_solved", "no_gradient"]),
            "Alert when the run's data shows prompts never solved or groups without a gradient, in every run",
        ),
        (
            FindingCondition(severity="problem", findings=["label_suspected"]),
            "Alert when the run's data shows wrong labels suspected, as a problem, in every run",
        ),
    ],
)
def test_rules_are_said_in_plain_words(admin: Client, condition: FindingCondition, said: str) -> None:
    assert admin.preview_alert_rule(RuleDraft(condition=condition)).sentence.startswith(said)


def test_a_run_that_is_deleted_while_it_is_looked_at_leaves_nothing(
    admin: Client,
    worker: FakeWorker,
    database: Database,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    search_of_run = service.search_of_run
    deleted: list[str] = []

    def search(reading: RunReading) -> Search:
        found = search_of_run(reading)
        if reading.run.name == "deleted meanwhile":
            admin.delete_run(reading.run_id, permanently=True)
            deleted.append(reading.run_id)
        return found

    monkeypatch.setattr(service, "search_of_run", search)
    run = admin.create_run(RunCreate(name="deleted meanwhile", recipe="countdown-demo"))
    claim = worker.begin(run)
    simulation = Simulation(5)
    simulation.train(5)
    worker.upload(claim, simulation.records)
    worker.report(claim, "succeeded")
    later = admin.create_run(RunCreate(name="looked at afterwards", recipe="countdown-demo"))
    claim = worker.begin(later)
    worker.upload(claim, simulation.records)
    worker.report(claim, "succeeded")

    def is_looked_at() -> bool:
        with database.session() as session:
            return session.get(RunFindings, later.id) is not None

    wait_until(lambda: bool(deleted) and is_looked_at())
    assert [record.message for record in caplog.records if record.levelno >= logging.ERROR] == []
