"""Prices that administrators set, with a real server."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import delete, update

from backend.kit.database import Database
from backend.models import Attempt, PriceRow
from bapo.api.prices import CurrencyWrite, MachinePrice, PriceWrite
from bapo.api.runs import RunCreate
from bapo.api.workers import GpuInfo
from bapo.client import ApiError, Client
from tests.support.fake_worker import FakeWorker
from tests.support.services import BackendServer, new_database, running_backend

H200 = "NVIDIA H200"


@pytest.fixture(scope="module")
def server_settings() -> Mapping[str, Any]:
    return {"cpu_hour_price": 0.5, "currency": "EUR"}


@pytest.fixture(scope="module")
def gpu_worker(backend_server: BackendServer) -> Iterator[FakeWorker]:
    worker = FakeWorker(backend_server, "gpu-1", gpus=[GpuInfo(index=0, name=H200), GpuInfo(index=1, name=H200)])
    yield worker
    worker.close()


@pytest.fixture(autouse=True)
def _no_prices_yet(database: Database) -> None:
    with database.session() as session, session.begin():
        session.execute(delete(PriceRow))


def of(client: Client, scope: str, name: str = "") -> MachinePrice:
    return next(each for each in client.prices().items if (each.scope, each.name) == (scope, name))


def test_the_settings_are_the_prices_until_one_is_set(admin: Client, gpu_worker: FakeWorker) -> None:
    before = admin.prices()
    assert (before.currency, before.history) == ("EUR", [])
    assert (of(admin, "slot").hour_price, of(admin, "gpu").applies) == (0.5, None)
    admin.set_price(PriceWrite(scope="gpu", hour_price=2.0))
    after = admin.set_price(PriceWrite(scope="worker", name="gpu-1", hour_price=3.0))
    assert [(each.scope, each.hour_price, each.author) for each in after.history] == [
        ("worker", 3.0, "admin"),
        ("gpu", 2.0, "admin"),
        ("slot", 0.5, "settings"),
    ]
    # The first price of GPUs is that of all hours until now, a worker's begins now.
    assert [each.since is None for each in after.history] == [False, True, True]
    assert (of(admin, "gpu_name", H200).hour_price, of(admin, "gpu_name", H200).applies) == (None, 2.0)
    assert (of(admin, "worker", "gpu-1").applies, of(admin, "slot").applies) == (3.0, 0.5)
    assert admin.audit_trail(action="price_set").items[0].detail["hour_price"] == 3.0


def test_a_run_keeps_the_price_of_its_time(admin: Client, gpu_worker: FakeWorker, database: Database) -> None:
    body = RunCreate(name="priced", recipe="countdown-quick", changes={"resources.gpus": 2})
    run_id = admin.create_run(body).id
    gpu_worker.report(gpu_worker.claim(run_id), "failed")
    now = datetime.now(UTC)
    with database.session() as session, session.begin():
        held = {"claimed_at": now - timedelta(hours=3), "ended_at": now - timedelta(hours=1)}
        session.execute(update(Attempt).where(Attempt.run_id == run_id).values(**held))
    assert admin.run(run_id).cost is None
    admin.set_price(PriceWrite(scope="gpu_name", name=H200, hour_price=2.5, since=now - timedelta(days=1)))
    # Two hours on two GPUs.
    assert admin.run(run_id).cost == pytest.approx(10.0)
    admin.set_price(PriceWrite(scope="gpu_name", name=H200, hour_price=9.0))
    assert admin.run(run_id).cost == pytest.approx(10.0)
    admin.set_price(PriceWrite(scope="gpu_name", name=H200, hour_price=4.5, since=now - timedelta(hours=2)))
    # One hour of two GPUs at 2.5, and one at 4.5.
    assert admin.run(run_id).cost == pytest.approx(14.0)
    (listed,) = admin.runs(search="priced").items
    assert (listed.cost, listed.currency) == (pytest.approx(14.0), "EUR")


def test_another_currency_converts_past_prices_too(admin: Client) -> None:
    admin.set_price(PriceWrite(scope="slot", hour_price=0.8))
    found = admin.set_currency(CurrencyWrite(currency="USD", rate=1.25))
    assert (found.currency, [each.hour_price for each in found.history]) == ("USD", [1.0, 0.625])
    assert admin.audit_trail(action="currency_set").items[0].detail == {"from": "EUR", "to": "USD", "rate": 1.25}


def test_members_see_prices_and_may_not_change_them(member: Client, admin: Client) -> None:
    assert (member.prices().may_edit, admin.prices().may_edit) == (False, True)
    with pytest.raises(ApiError) as caught:
        member.set_price(PriceWrite(scope="gpu", hour_price=1.0))
    assert caught.value.status == 403


@pytest.mark.parametrize(
    ("body", "field", "remedy"),
    [
        ({"scope": "worker", "name": "nobody"}, "name", "no worker has that name: give one of gpu-1"),
        ({"scope": "gpu", "name": "x"}, "", "a price for gpu has no name"),
        ({"scope": "worker"}, "", "give as name which kind of GPU or which worker"),
        ({"scope": "gpu", "hour_price": -1.0}, "hour_price", "must be at least 0"),
        ({"scope": "gpu", "since": datetime(2026, 11, 23, 18)}, "since", "with its zone"),
    ],
)
def test_a_wrong_price_is_refused(
    admin: Client, gpu_worker: FakeWorker, body: dict[str, Any], field: str, remedy: str
) -> None:
    with pytest.raises(ApiError) as caught:
        admin.set_price(PriceWrite.model_construct(**{"hour_price": 1.0, **body}))
    assert caught.value.status == 422
    found = [(each.field, each.remedy) for each in caught.value.body.problems]
    found.append((caught.value.body.field or "", caught.value.body.remedy))
    assert any(field in name and remedy in text for name, text in found), found
    assert admin.prices().history == []


def test_a_price_for_a_kind_of_gpu_before_one_is_there_is_refused_with_two_ways_out(
    postgres_server: str, tmp_path: Path
) -> None:
    with new_database(postgres_server) as url, running_backend(url, tmp_path) as server, server.client() as client:
        for scope, way_out in (("gpu_name", "without --gpu"), ("worker", "start it first")):
            with pytest.raises(ApiError) as caught:
                client.set_price(PriceWrite.model_validate({"scope": scope, "name": H200, "hour_price": 2.5}))
            assert (caught.value.field, caught.value.value) == ("name", H200)
            assert way_out in caught.value.remedy
        client.set_price(PriceWrite(scope="gpu", hour_price=2.5))
        assert of(client, "gpu").applies == 2.5
