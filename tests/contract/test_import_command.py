"""`bapo import` against the server: what the folder holds is what the server shows."""

from __future__ import annotations

from pathlib import Path

import orjson
import pytest

from bapo.cli.failures import Exit, plain_errors
from bapo.client import Client
from bapo.config import RunConfig
from bapo.files.safe_paths import OutsideError
from bapo.observe.upload import describe_folder
from bapo.records import dump_record, parse_record
from bapo.run.journal import Journal, attempt_folders, merged_records
from bapo.run.run_folder import claim_config, next_attempt
from tests.support.imports import send_folder
from tests.support.journals import evaluation, event, sample, step


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


@pytest.mark.parametrize("place", ["attempt-1/records.jsonl", "attempt-1/trainer.log", "attempt-1", "config.json"])
def test_no_link_in_a_folder_is_followed(admin: Client, tmp_path: Path, place: str) -> None:
    folder, outside = tmp_path / "my-run", tmp_path / "outside"
    claim_config(folder, RunConfig())
    write(folder, 1, 1, 2, ending="stop")
    (folder / "attempt-1/trainer.log").write_text("canary-8231\n")
    # Whoever made the folder points at what only the one who imports it can read.
    (folder / place).rename(outside)
    (folder / place).symlink_to(outside)
    before = admin.runs(limit=200).items
    with pytest.raises(OutsideError):
        import_folder(admin, folder)
    for run in admin.runs(limit=200).items:
        if run.id not in {each.id for each in before}:
            texts = [*admin.records(run.id, limit=1000).items, *admin.samples(run.id).items, admin.log(run.id)]
            assert "canary-8231" not in str(texts)


def test_the_command_names_the_link_and_what_to_do(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = tmp_path / "my-run"
    claim_config(folder, RunConfig())
    (folder / "attempt-1").mkdir()
    (folder / "attempt-1/records.jsonl").symlink_to("/etc/passwd")
    with pytest.raises(SystemExit) as ended, plain_errors():
        describe_folder(folder, name=None, group=None)
    assert ended.value.code == Exit.BAD_INPUT
    assert capsys.readouterr().err.endswith("read without following links: copy the file into it\n")


def test_a_config_that_is_nested_without_end_is_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "config.json").write_text('{"task":' * 50_000 + "1" + "}" * 50_000)
    with pytest.raises(SystemExit), plain_errors():
        describe_folder(tmp_path, name=None, group=None)
    assert capsys.readouterr().err.endswith("it is nested too deeply for a config\n")


def test_folders_with_numbers_of_no_attempt_are_passed_over(tmp_path: Path) -> None:
    for name in ("attempt-1", "attempt-99999999999999999999", "attempt-\u00b2", "attempt-\u0663", "attempt-"):
        (tmp_path / name).mkdir()
    assert [folder.name for folder in attempt_folders(tmp_path)] == ["attempt-1"]
    assert next_attempt(tmp_path) == 2
