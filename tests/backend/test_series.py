"""Columns of metrics: rows, chunks and evaluations put together, and fewer points without losing a peak."""

from __future__ import annotations

import numpy as np
import pytest
from sqlalchemy import func, select

from backend.kit.database import Database
from backend.models import MetricChunk, MetricTail
from backend.records.chunks import chunk_of, first_step, last_step
from backend.records.curves import extreme_rows
from bapo.api.runs import RunCreate, RunDetail
from bapo.client import Client
from bapo.records import AnyRecord, metrics
from tests.support.fake_worker import FakeWorker
from tests.support.journals import batch, evaluation, lines_of, step, tracking
from tests.support.services import BackendServer

LOSS = "actor/pg_loss"
ACCURACY = "val-core/CD-34/acc/mean@8"


def stored(database: Database, run_id: str) -> tuple[int, int]:
    """Chunks, and steps that wait in rows."""
    with database.session() as session:
        chunks = session.scalars(select(func.count(MetricChunk.chunk.distinct())).where(MetricChunk.run_id == run_id))
        rows = session.scalars(select(func.count()).where(MetricTail.run_id == run_id))
        return chunks.one(), rows.one()


@pytest.mark.parametrize(("step", "chunk"), [(1, 0), (100, 0), (101, 1), (200, 1), (201, 2)])
def test_a_chunk_is_a_hundred_steps(step: int, chunk: int) -> None:
    assert chunk_of(step) == chunk
    assert first_step(chunk) <= step <= last_step(chunk)


def test_keys_are_those_that_were_recorded(worker: FakeWorker, admin: Client, run: RunDetail) -> None:
    claim = worker.begin(run)
    records: list[AnyRecord] = [evaluation(0, 0.2), tracking(0), tracking(0, replicate=1), step(1)]
    worker.upload(claim, records)
    expected = {key for record in records for key in metrics(record)}
    assert set(admin.metric_keys(run.id).items) == expected
    assert {LOSS, ACCURACY, "bapo/tracking/accuracy", "timing_s/step", "bapo/batch/x1"} <= expected


def test_columns_share_their_steps(worker: FakeWorker, admin: Client, run: RunDetail) -> None:
    claim = worker.begin(run)
    worker.upload(claim, [evaluation(0, 0.2), step(1, loss=0.5), step(2), evaluation(2, 0.3)])
    series = admin.metrics(run.id, [LOSS, ACCURACY, "unknown"])
    assert series.steps == [0, 1, 2]
    assert series.columns == {LOSS: [None, 0.5, 0.1], ACCURACY: [0.2, None, 0.3], "unknown": [None] * 3}
    assert admin.metrics(run.id, ["unknown"]).steps == []


@pytest.mark.parametrize("size", [1, 7, 100, 250])
def test_chunks_say_what_rows_say(
    worker: FakeWorker, admin: Client, run: RunDetail, database: Database, size: int
) -> None:
    claim = worker.begin(run)
    records = [step(number, loss=number / 8) for number in range(1, 251)]
    for begin in range(0, 250, size):
        if size > 1 or begin % 50 == 0:
            worker.upload(claim, records[begin : begin + max(size, 50)])
    # Steps 1..200 are in two chunks, the rest in rows.
    assert stored(database, run.id) == (2, 50)
    series = admin.metrics(run.id, [LOSS, "training/global_step"])
    assert series.steps == list(range(1, 251))
    assert series.columns[LOSS] == [number / 8 for number in range(1, 251)]
    assert series.columns["training/global_step"] == list(range(1, 251))


@pytest.mark.parametrize(("first", "last"), [(1, 1), (99, 102), (100, 100), (101, 101), (200, 201), (150, 999), (0, 0)])
def test_a_range_of_steps(worker: FakeWorker, admin: Client, long_run: str, first: int, last: int) -> None:
    series = admin.metrics(long_run, [LOSS], from_step=first, to_step=last)
    expected = [number for number in range(1, 251) if first <= number <= last]
    assert series.steps == expected
    assert series.columns[LOSS] == [number / 8 for number in expected]
    assert admin.histograms(long_run, first, last).steps == expected


@pytest.fixture(scope="module")
def long_run(worker: FakeWorker, admin: Client) -> str:
    """250 steps."""
    run = admin.create_run(RunCreate(name="long", recipe="countdown-demo"))
    worker.upload(worker.begin(run), [step(number, loss=number / 8) for number in range(1, 251)])
    return run.id


def test_a_step_without_a_key_stays_without_it(worker: FakeWorker, admin: Client, run: RunDetail) -> None:
    claim = worker.begin(run)
    skipped = step(50).model_copy(update={"update": None, "skipped": True})
    worker.upload(claim, [skipped if number == 50 else step(number) for number in range(1, 101)])
    series = admin.metrics(run.id, [LOSS, "bapo/batch/x1"])
    assert series.columns[LOSS][48:51] == [0.1, None, 0.1]
    assert series.columns["bapo/batch/x1"][49] == 16


def test_a_repeated_step_dissolves_its_chunk(
    worker: FakeWorker, admin: Client, run: RunDetail, database: Database
) -> None:
    first = worker.begin(run)
    worker.upload(first, [step(number) for number in range(1, 231)])
    worker.report(first, "lost")
    second = worker.begin(run)
    # Resumed from step 190, in the second chunk: made anew at once, for all its steps are there.
    worker.upload(second, [step(191, attempt=2, loss=9.0)])
    assert stored(database, run.id) == (2, 30)
    worker.upload(second, [step(number, attempt=2, loss=9.0) for number in range(192, 240)])
    assert stored(database, run.id) == (2, 39)
    losses = admin.metrics(run.id, [LOSS]).columns[LOSS]
    assert losses == [0.1] * 190 + [9.0] * 49


def test_a_chunk_with_a_hole_waits(worker: FakeWorker, admin: Client, run: RunDetail, database: Database) -> None:
    first = worker.begin(run)
    worker.upload(first, [step(number) for number in range(1, 51)])
    worker.report(first, "lost")
    second = worker.begin(run)
    # Step 51 was written by the first attempt and is uploaded late.
    worker.upload(second, [step(number, attempt=2) for number in range(52, 121)])
    assert stored(database, run.id) == (0, 119)
    start = worker.offsets[run.id, 1, "records"]
    worker.client.post_records(run.id, batch(lines_of([step(51)]), token=second.fencing_token, start=start))
    assert stored(database, run.id) == (1, 20)
    assert admin.metrics(run.id, [LOSS]).steps == list(range(1, 121))


def test_a_step_that_is_no_record_leaves_its_chunk_in_rows(
    worker: FakeWorker, admin: Client, run: RunDetail, database: Database
) -> None:
    lines = lines_of([step(number) for number in range(1, 121)])
    # It says which step it is, and has no fields of one.
    lines[49] = '{"type":"step","attempt":1,"step":50}'
    worker.upload_lines(worker.begin(run), lines)
    assert stored(database, run.id) == (0, 119)
    assert admin.metrics(run.id, [LOSS]).steps == [*range(1, 50), *range(51, 121)]
    (warning,) = admin.records(run.id, "event").items
    assert "attempt-1/records.jsonl is not a record" in warning["message"]


# ---------------------------------------------------------------- sampling


def test_few_points_are_left_alone(admin: Client, long_run: str, backend_server: BackendServer) -> None:
    assert len(admin.metrics(long_run, [LOSS], max_points=250).steps) == 250
    assert header(backend_server, long_run, 250) == "no"


def header(server: BackendServer, run_id: str, max_points: int, path: str = "metrics") -> str:
    with server.http() as http:
        query = {"keys": LOSS, "max_points": str(max_points)}
        headers = {"Authorization": f"Bearer {server.admin_token}"}
        return http.get(f"/api/v1/runs/{run_id}/{path}", params=query, headers=headers).headers["X-Sampled"]


def test_sampling_is_stated(admin: Client, long_run: str, backend_server: BackendServer) -> None:
    series = admin.metrics(long_run, [LOSS], max_points=20)
    assert len(series.steps) <= 22
    assert (series.steps[0], series.steps[-1]) == (1, 250)
    assert header(backend_server, long_run, 20) == f"min-max; {len(series.steps)} of 250 steps"


def test_histograms_are_evenly_spaced(admin: Client, long_run: str, backend_server: BackendServer) -> None:
    rows = admin.histograms(long_run, max_points=26)
    # Every 10th, 250 among them.
    assert rows.steps == list(range(10, 251, 10))
    assert [counts[3] for counts in rows.fresh] == rows.steps
    assert header(backend_server, long_run, 26, "histograms") == "every 10th; 25 of 250 steps"


def test_extremes_of_every_column_are_kept() -> None:
    rng = np.random.default_rng(0)
    columns = [rng.normal(size=10_000) for _ in range(4)]
    columns[0][1234] = 100.0
    columns[3][8765] = -100.0
    rows = extreme_rows(columns, 10_000, 800)
    assert {0, 1234, 8765, 9_999} <= set(rows)
    # 100 buckets of 4 columns with 2 extremes each, and the ends.
    assert len(rows) <= 802
    for column in columns:
        kept = [column[row] for row in rows]
        assert (min(kept), max(kept)) == (min(column), max(column))


def test_columns_with_gaps_and_empty_ones_are_sampled() -> None:
    columns = [np.full(100, np.nan), np.array([np.nan if i % 2 else float(i) for i in range(100)])]
    rows = extreme_rows(columns, 100, 8)
    # 2 buckets of 50 rows: extremes at 0 and 48, 50 and 98; and the ends 0 and 99.
    assert list(rows) == [0, 48, 50, 98, 99]
