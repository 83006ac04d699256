"""What probes say is kept with the data set that they were made on, with the money that the planned run takes."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

import pytest

from bapo.api.prices import PriceWrite
from bapo.api.resources import DataProbe, ResourceCreate, ResourceInfo
from bapo.api.uploads import UploadRegister
from bapo.client import Client
from bapo.client.uploads import upload_file
from tests.support.command_line import run_here
from tests.support.fake_worker import FakeWorker
from tests.support.probed import probe_on
from tests.support.services import BackendServer, wait_until


@pytest.fixture(scope="module")
def roots(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("permitted")
    rows = [{"nums": [3, index], "target": 3 + index} for index in range(1, 101)]
    (folder / "train.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    return folder


@pytest.fixture(scope="module")
def server_settings(roots: Path) -> Mapping[str, object]:
    return {"resource_roots": str(roots), "currency": "EUR"}


@pytest.fixture(scope="module")
def data(admin: Client, roots: Path) -> ResourceInfo:
    return admin.register_resource(ResourceCreate(kind="dataset", name="sums", path=str(roots / "train.jsonl")))


def kept(client: Client, data: ResourceInfo, run_id: str) -> DataProbe:
    def found() -> DataProbe | None:
        return next((each for each in client.data_probes(data.id).items if each.run_id == run_id), None)

    def is_kept() -> bool:
        probe = found()
        return probe is not None and probe.figures is not None

    wait_until(is_kept)
    probe = found()
    assert probe is not None
    return probe


def test_a_probe_is_kept_with_its_data_set_and_says_what_the_planned_run_costs(
    admin: Client, member: Client, worker: FakeWorker, data: ResourceInfo, backend_server: BackendServer
) -> None:
    assert admin.data_probes(data.id).items == []
    run = probe_on(admin, worker, "@sums")
    probe = kept(member, data, run.id)
    assert (probe.name, probe.status, probe.author, probe.version) == ("Probe: it", "succeeded", "admin", None)
    assert probe.model == "countdown-base"
    assert probe.figures is not None
    assert (probe.figures.num_groups, probe.figures.group_size) == (64, 8)
    assert probe.figures.accuracy.value == pytest.approx(0.25)
    assert probe.figures.dead.value == pytest.approx(0.5)
    assert probe.figures.dead.low is not None
    assert probe.figures.dead.low < 0.5
    assert probe.figures.seconds is not None
    # Nobody set a price: that is said, and is not 0.
    assert probe.compute_hours == pytest.approx(probe.figures.seconds / 3600)
    assert probe.cost is None
    assert probe.unpriced == "no price is set for w1: an administrator sets one on the page Prices"
    cost = next(each for each in member.findings(run.id).findings if each.kind == "probed_cost")
    assert probe.unpriced in cost.explanation

    admin.set_price(PriceWrite(scope="worker", name="w1", hour_price=4.0))
    priced = kept(member, data, run.id)
    assert priced.compute_hours is not None
    assert (priced.cost, priced.currency, priced.unpriced) == (pytest.approx(4 * priced.compute_hours), "EUR", None)
    cost = next(each for each in member.findings(run.id).findings if each.kind == "probed_cost")
    assert cost.title.endswith(f"on this machine, and {priced.cost:.2f} EUR.")
    assert cost.evidence[1].label == "Its cost at today's prices, EUR"
    assert cost.evidence[1].value == pytest.approx(priced.cost)

    env = {"BAPO_SERVER": backend_server.url, "BAPO_TOKEN": backend_server.admin_token, "COLUMNS": "160"}
    shown = run_here("data", "show", "@sums", env=env)
    assert shown.returncode == 0, shown.stderr
    assert all(each in shown.stdout for each in (run.id, "50.0 %", "25.0 %", f"{priced.cost:.2f} EUR"))
    answer = json.loads(run_here("data", "show", "sums", "--json", env=env).stdout)
    assert [each["run_id"] for each in answer["probes"]] == [run.id]
    refused = run_here("data", "show", "plums", env=env)
    assert refused.returncode == 2
    assert "NAME = 'plums': no data set is registered under this name; there are sums" in refused.stderr


def test_few_answers_say_nothing_yet_and_a_deleted_probe_is_gone(
    admin: Client, worker: FakeWorker, data: ResourceInfo
) -> None:
    run = probe_on(admin, worker, "@sums", name="short", num_steps=1)
    probe = next(each for each in admin.data_probes(data.id).items if each.run_id == run.id)
    assert (probe.figures, probe.compute_hours, probe.cost) == (None, None, None)
    admin.delete_run(run.id)
    assert run.id not in [each.run_id for each in admin.data_probes(data.id).items]


def test_a_probe_stays_with_the_version_that_it_was_made_on(admin: Client, worker: FakeWorker, tmp_path: Path) -> None:
    resource_id = ""
    for version, count in ((1, 80), (2, 90)):
        file = tmp_path / f"pears-{version}.jsonl"
        rows = [{"nums": [3, index], "target": 3 + index} for index in range(1, count)]
        file.write_text("".join(json.dumps(row) + "\n" for row in rows))
        upload = upload_file(admin, file)
        body = UploadRegister(name="pears", accepts_warnings=True)
        resource_id = admin.register_upload(upload.id, body).resource_id
    first = probe_on(admin, worker, "@pears:1")
    second = probe_on(admin, worker, "@pears")
    found = {each.run_id: each.version for each in admin.data_probes(resource_id).items}
    assert found == {first.id: 1, second.id: 2}
