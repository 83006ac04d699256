"""`bapo import` against the server: what the folder holds is what the server shows."""

from __future__ import annotations

from pathlib import Path

import orjson

from bapo.cli.import_run import describe_folder, send_folder
from bapo.client import Client
from bapo.config import RunConfig
from bapo.records import dump_record, parse_record
from bapo.run.journal import Journal, merged_records
from bapo.run.run_folder import claim_config
from tests.backend.journals import evaluation, event, sample, step


def write(folder: Path, attempt: int, first: int, last: int, *, ending: str) -> None:
    journal = Journal(folder / f"attempt-{attempt}")
    journal.write(event("started" if attempt == 1 else "resumed", first - 1, attempt=attempt))
    for number in range(first, last + 1):
        journal.write(step(number, attempt=attempt))
        journal.write_sample(sample(number, attempt=attempt))
    journal.write(evaluation(last, 0.3, attempt=attempt))
    journal.write(event(ending, last, attempt=attempt))
    journal.close()


def import_folder(admin: Client, folder: Path) -> str:
    info = admin.create_import(describe_folder(folder, name=None, group=None))
    send_folder(admin, info, folder)
    admin.finish_import(info.run_id)
    return info.run_id


def test_a_folder_is_shown_as_it_is(admin: Client, tmp_path: Path) -> None:
    folder = tmp_path / "my-run"
    claim_config(folder, RunConfig())
    write(folder, 1, 1, 4, ending="stop")
    run_id = import_folder(admin, folder)
    assert (admin.run(run_id).name, admin.run(run_id).step, admin.run(run_id).status) == ("my-run", 4, "cancelled")
    # It went on from the checkpoint of step 2, and is imported again.
    write(folder, 2, 3, 6, ending="finished")
    assert import_folder(admin, folder) == run_id
    assert (admin.run(run_id).step, admin.run(run_id).status) == (6, "succeeded")
    shown = [parse_record(orjson.dumps(item)) for item in admin.records(run_id, limit=1000).items]
    assert sorted(map(dump_record, shown)) == sorted(map(dump_record, merged_records(folder)))
    assert len(admin.samples(run_id).items) == 6
