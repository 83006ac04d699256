"""Reports are downloaded through the gate, by those who have logged in, with the power that they have."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

import httpx
import pytest

from bapo.api.accounts import Login
from bapo.client import SESSION_COOKIE, Client
from bapo.report.api_runs import MOST_RUNS, sampled_steps
from frontend.app import create_app
from frontend.server.settings import FrontendSettings
from tests.support.command_line import run_here
from tests.support.recorded import import_folder
from tests.support.services import BackendServer
from tests.support.serving import serving

REPORT = "/reports/paper.html"


@pytest.fixture(scope="module")
def run_ids(admin: Client, recorded_folders: Mapping[str, Path]) -> list[str]:
    """The recorded runs, imported."""
    return [import_folder(admin, folder) for folder in recorded_folders.values()]


@pytest.fixture(scope="module")
def dashboard(backend_server: BackendServer) -> Iterator[str]:
    """Address of the dashboard."""
    with serving(create_app(FrontendSettings(backend_url=backend_server.url))) as url:
        yield url


@pytest.fixture(scope="module")
def browser(dashboard: str, backend_server: BackendServer) -> Iterator[httpx.Client]:
    """Requests of somebody who has logged in."""
    with Client(backend_server.url) as client:
        _, secret = client.login(Login(token=backend_server.admin_token))
    with httpx.Client(base_url=dashboard, cookies={SESSION_COOKIE: secret}, timeout=60) as session:
        yield session


def test_the_report_is_a_download_of_the_chosen_runs(browser: httpx.Client, run_ids: list[str]) -> None:
    answer = browser.get(REPORT, params={"runs": ",".join(run_ids), "title": "Four runs"})
    assert answer.status_code == 200
    assert answer.headers["content-type"] == "text/html; charset=utf-8"
    assert answer.headers["content-disposition"].startswith('attachment; filename="bapo-report-')
    text = answer.text
    assert "<h1>Four runs</h1>" in text
    assert "4 runs in 2 groups" in text
    assert all(f"/runs/{run_id}" in text for run_id in run_ids)
    assert "Shows BAPO (n = 2), GRPO (n = 2)." in text


def test_a_field_groups_the_runs(browser: httpx.Client, run_ids: list[str]) -> None:
    answer = browser.get(REPORT, params={"runs": ",".join(run_ids), "group": "training.seed"})
    assert "Shows training seed 1 (n = 2), training seed 2 (n = 2)." in answer.text


def test_nobody_gets_a_report_without_a_login(dashboard: str, run_ids: list[str]) -> None:
    with httpx.Client(base_url=dashboard, timeout=60) as stranger:
        answer = stranger.get(REPORT, params={"runs": run_ids[0]})
    assert answer.status_code == 303
    assert answer.headers["location"].startswith("/login")


@pytest.mark.parametrize(
    ("query", "status", "said"),
    [
        ("", 422, "name at least one run"),
        ("?runs=", 422, "name at least one run"),
        ("?runs=nothing", 404, "nothing"),
        ("?runs={0}&group=no.such", 422, "no.such"),
        ("?runs=" + ",".join(f"r{index}" for index in range(MOST_RUNS + 1)), 422, "at most 50"),
    ],
)
def test_what_cannot_be_reported_says_why(
    browser: httpx.Client, run_ids: list[str], query: str, status: int, said: str
) -> None:
    answer = browser.get(REPORT + query.format(run_ids[0]))
    assert answer.status_code == status
    assert said in answer.json()["remedy"]


def test_only_the_report_is_there(browser: httpx.Client) -> None:
    assert browser.get("/reports/other.html").status_code == 404


def test_of_many_records_evenly_spaced_ones_are_fetched() -> None:
    assert sampled_steps(50, 150, 40) is None
    # Steps 0, 10, …, 90 and 95: eleven samplings; four of them at indices 0, 3.33, 6.67 and 10.
    assert sampled_steps(10, 95, 4) == [0, 30, 70, 95]
    assert sampled_steps(10, 95, 11) is None
    assert sampled_steps(10, 95, 10) is not None


def test_folders_are_reported_without_a_server(recorded_folders: Mapping[str, Path], tmp_path: Path) -> None:
    out = tmp_path / "report.html"
    command = ("report", "--out", out, "--title", "Folders")
    done = run_here(*command, *recorded_folders.values())
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith(f"{out}: 4 runs, ")
    assert "Shows BAPO (n = 2), GRPO (n = 2)." in out.read_text()
    refused = run_here(*command, tmp_path)
    assert refused.returncode == 2
    assert "it holds no config.json" in refused.stderr
