"""What facts about a deployment mean: each side of each threshold, and a remedy with everything that is wrong."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from bapo.api.service import (
    BrokerFacts,
    DatabaseFacts,
    Diagnosis,
    FolderFacts,
    Readiness,
    ReadinessCheck,
    SecretFile,
    SingleSignOnFacts,
    WorkerFacts,
)
from bapo.deploy.doctor import judgements
from bapo.deploy.doctor.check_result import CheckResult, Grade, exit_status
from bapo.deploy.doctor.judgements import Installation, PageHeaders

DATABASE = DatabaseFacts(
    version="18.1", revision="0009", needed_revision="0009", connections=10, max_connections=100, size_bytes=5_000_000
)
BROKER = BrokerFacts(reachable=True, version="7.4.2", maxmemory_policy="noeviction", append_only=True)
WORKER = WorkerFacts(
    name="w",
    host="box",
    version="0.1.0",
    online=True,
    seconds_since_heartbeat=1.0,
    clock_skew_seconds=0.1,
    runs_dir_writable=True,
    sees_runs_dir=True,
    runs_dir_free_bytes=10**12,
    num_gpus=8,
)
FOLDER = FolderFacts(path="/runs", writable=True, free_bytes=10**12, total_bytes=2 * 10**12)


def grades(found: Any) -> dict[str, str]:
    """Grade of each check; whatever is to be mended says how."""
    results = [found] if isinstance(found, CheckResult) else list(found)
    for result in results:
        assert (result.remedy is not None) == (result.grade in (Grade.WARNING, Grade.FAILURE))
    return {result.check: result.grade.value for result in results}


@pytest.mark.parametrize(
    ("used", "grade"), [(79, "ok"), (80, "warning"), (94, "warning"), (95, "failure"), (100, "failure")]
)
def test_connections(used: int, grade: str) -> None:
    facts = DATABASE.model_copy(update={"connections": used})
    assert grades(judgements.database(facts))["database connections"] == grade


def test_a_schema_that_is_behind_and_a_postgres_that_is_old() -> None:
    assert set(grades(judgements.database(DATABASE)).values()) == {"ok"}
    facts = DATABASE.model_copy(update={"revision": "0004", "version": "14.9"})
    found = grades(judgements.database(facts))
    assert (found["database schema"], found["database version"]) == ("failure", "failure")


@pytest.mark.parametrize(
    ("change", "check", "grade"),
    [
        ({"reachable": False, "problem": "refused"}, "broker", "failure"),
        ({"maxmemory_policy": "allkeys-lru"}, "broker policy", "failure"),
        ({"append_only": False}, "broker persistence", "note"),
        ({"append_only": True}, "broker persistence", "ok"),
        ({"write_failed": True}, "broker disk", "failure"),
        ({"maxmemory_bytes": 100, "used_memory_bytes": 80}, "broker memory", "warning"),
    ],
)
def test_broker(change: dict[str, Any], check: str, grade: str) -> None:
    assert grades(judgements.broker(BROKER.model_copy(update=change)))[check] == grade
    assert "broker memory" not in grades(judgements.broker(BROKER))


@pytest.mark.parametrize(
    ("free", "grade"), [(20_000_000_000, "ok"), (19_999_999_999, "warning"), (2e9, "warning"), (1.9e9, "failure")]
)
def test_disk(free: float, grade: str) -> None:
    assert grades(judgements.disk("disk", free)) == {"disk": grade}
    facts = FOLDER.model_copy(update={"free_bytes": int(free)})
    assert grades(judgements.runs_folder(facts))["disk of the runs"] == grade


def test_a_folder_that_cannot_be_written() -> None:
    facts = FolderFacts(path="/runs", writable=False, problem="Permission denied")
    assert grades(judgements.runs_folder(facts)) == {"runs folder": "failure"}


@pytest.mark.parametrize(
    ("change", "shared", "expected"),
    [
        ({}, True, {"worker w": "ok"}),
        ({"version": "0.2.0"}, True, {"worker w version": "warning"}),
        ({"clock_skew_seconds": 2.0}, True, {"worker w": "ok"}),
        ({"clock_skew_seconds": -2.1}, True, {"worker w clock": "warning"}),
        ({"clock_skew_seconds": 31.0}, True, {"worker w clock": "failure"}),
        ({"runs_dir_writable": False}, True, {"worker w runs folder": "failure"}),
        ({"sees_runs_dir": False}, True, {"worker w runs folder": "failure"}),
        ({"sees_runs_dir": False}, False, {"worker w": "ok"}),
        ({"sees_runs_dir": None, "clock_skew_seconds": None}, True, {"worker w": "ok"}),
        ({"runs_dir_free_bytes": 10**9}, True, {"worker w disk": "failure"}),
        ({"online": False}, True, {"workers": "warning", "worker w": "note"}),
    ],
)
def test_workers(change: dict[str, Any], shared: bool, expected: dict[str, str]) -> None:
    found = judgements.workers([WORKER.model_copy(update=change)], "0.1.0", shared=shared)
    assert grades(found) == expected


def test_no_worker_at_all() -> None:
    assert grades(judgements.workers([], "0.1.0", shared=False)) == {"workers": "warning"}


def test_what_a_worker_elsewhere_needs_is_told_as_a_command() -> None:
    assert "none can join" in judgements.joining("http://127.0.0.1:8000").message
    told = judgements.joining("https://b.example").message
    assert "`bapo worker --server https://b.example --token-file FILE`" in told
    assert "--allow-http" in judgements.joining("http://10.0.0.5:8000").message


@pytest.mark.parametrize(
    ("url", "grade"), [("https://b.example", "ok"), ("http://127.0.0.1:8000", "ok"), ("http://b.example", "warning")]
)
def test_the_way_of_a_workers_token(url: str, grade: str) -> None:
    assert grades([judgements.token_on_the_way(url)]) == {"encryption": grade}


@pytest.mark.parametrize(("status", "grade"), [(404, "ok"), (405, "failure"), (403, "failure")])
def test_what_the_server_says_to_a_worker_token(status: int, grade: str) -> None:
    assert grades([judgements.worker_token(status, "no")]) == {"worker token": grade}


@pytest.mark.parametrize(("mode", "grade"), [("600", "ok"), ("400", "ok"), ("640", "failure"), ("604", "failure")])
def test_secret_files(mode: str, grade: str) -> None:
    assert grades(judgements.secret_files([SecretFile(path="/t", mode=mode)])) == {"secret files": grade}


@pytest.mark.parametrize(
    ("asked", "public", "expected"),
    [
        ("http://127.0.0.1:8000", "http://127.0.0.1:8000", {"encryption": "ok"}),
        ("https://b.example", "https://b.example", {"encryption": "ok"}),
        ("http://b.example", "http://b.example", {"encryption": "warning"}),
        (
            "https://c.example",
            "https://b.example",
            {"encryption": "ok", "public address": "warning", "hosts": "failure"},
        ),
    ],
)
def test_addresses(asked: str, public: str, expected: dict[str, str]) -> None:
    assert grades(judgements.addresses(asked, public, ["localhost", "127.0.0.1", "b.example"])) == expected


@pytest.mark.parametrize(("seconds", "grade"), [(0.01, "ok"), (3.0, "ok"), (3.1, "failure"), (None, "failure")])
def test_a_stream_that_is_kept_back(seconds: float | None, grade: str) -> None:
    found = judgements.stream(seconds)
    assert grades(found) == {"event stream": grade}
    assert grade == "ok" or "proxy_buffering off" in str(found.remedy)


def test_pages_without_their_headers() -> None:
    policy = {"content-security-policy": "x"}
    assert grades(judgements.page(PageHeaders(502, {}), "http://b")) == {"login page": "failure"}
    assert grades(judgements.page(PageHeaders(200, {}), "http://b")) == {"page headers": "failure"}
    assert grades(judgements.page(PageHeaders(200, policy), "http://b")) == {"page headers": "ok"}
    assert grades(judgements.page(PageHeaders(200, policy), "https://b")) == {"page headers": "warning"}


@pytest.mark.parametrize(
    ("found", "expected"),
    [
        (Installation([], None, None, None, None), {"PyTorch": "note", "verl": "note"}),
        (Installation([], "2.13.0+cpu", None, None, None), {"PyTorch": "ok", "verl": "note"}),
        (Installation(["H200"], "2.13.0+cpu", False, None, None), {"PyTorch": "failure", "verl": "note"}),
        (Installation(["H200"], "2.11.0", True, "0.9.1", None), {"PyTorch": "ok", "verl": "ok"}),
        (Installation(["H200"], "2.13.0", True, "0.9.1", "torch 2.13.0"), {"PyTorch": "ok", "verl": "failure"}),
    ],
)
def test_installation(found: Installation, expected: dict[str, str]) -> None:
    assert grades(judgements.installation(found)) == expected


@pytest.mark.parametrize(
    ("server", "ours", "grade"),
    [("0.1.0", "0.1.3", "ok"), ("0.1.0", "0.2.0", "warning"), ("1.1.0", "0.1.0", "warning")],
)
def test_versions(server: str, ours: str, grade: str) -> None:
    assert grades(judgements.versions(server, ours)) == {"versions": grade}


def test_readiness_and_the_whole_diagnosis() -> None:
    checks = [
        ReadinessCheck(name="broker", ok=False, message="start Redis"),
        ReadinessCheck(name="x", ok=True, message="ok"),
    ]
    found = Readiness(ready=False, version="0.1.0", checks=checks)
    assert grades(judgements.readiness(found)) == {"ready: broker": "failure", "ready: x": "ok"}
    whole = Diagnosis(
        version="0.1.0",
        now=datetime.now(UTC),
        public_url="http://127.0.0.1:8000",
        hosts=["127.0.0.1"],
        runs_dir_shared=True,
        dispatcher_alive=False,
        database=DATABASE,
        broker=BROKER,
        runs_dir=FOLDER,
        secret_files=[],
        workers=[WORKER],
    )
    results = list(judgements.diagnosis(whole, "http://127.0.0.1:8000"))
    assert [each.check for each in results if each.grade is not Grade.OK] == ["workers elsewhere", "dispatcher"]
    assert exit_status(results) == 1
    assert exit_status([each for each in results if each.check != "dispatcher"]) == 0


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({}, {"single sign-on": "ok", "single sign-on client": "ok", "single sign-on redirect": "ok"}),
        ({"problem": "it is away"}, {"single sign-on": "failure"}),
        ({"client_problem": "invalid_client"}, {"single sign-on client": "failure"}),
        ({"accepts_redirect": None}, {"single sign-on redirect": "note"}),
        ({"accepts_redirect": False}, {"single sign-on redirect": "failure"}),
        ({"ends_sessions": False}, {"single sign-on logout": "note"}),
        ({"clock_skew_seconds": 2.1}, {"single sign-on clock": "warning"}),
        ({"clock_skew_seconds": -30.1}, {"single sign-on clock": "failure"}),
    ],
)
def test_the_provider_of_single_sign_on(changes: dict[str, Any], expected: dict[str, str]) -> None:
    facts = SingleSignOnFacts(
        issuer="https://sso.example.org",
        redirect_uri="https://bapo.example.org/login/callback",
        accepts_redirect=True,
        ends_sessions=True,
        clock_skew_seconds=2.0,
    )
    found = grades(judgements.single_sign_on(facts.model_copy(update=changes)))
    assert found.items() >= expected.items()
    assert "single sign-on clock" in expected or "single sign-on clock" not in found
