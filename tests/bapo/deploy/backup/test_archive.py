"""The backup file: whole or not at all, checked from end to end, and never a way out of the folder."""

from __future__ import annotations

import io
import signal
import stat
import subprocess
import sys
import tarfile
from pathlib import Path

import pytest

from bapo.deploy.backup.archive import (
    DATABASE,
    MANIFEST,
    RUNS,
    BackupError,
    BackupWriter,
    extract,
    extract_secret,
    read_manifest,
)


@pytest.fixture
def runs(tmp_path: Path) -> Path:
    folder = tmp_path / "runs"
    checkpoint = folder / "r1" / "checkpoints" / "step-000002"
    checkpoint.mkdir(parents=True)
    (checkpoint / "model.bin").write_bytes(b"m" * 5_000)
    (checkpoint / "manifest.json").write_text("{}")
    (checkpoint.parent / ".tmp-step-000004").mkdir()
    (checkpoint.parent / ".tmp-step-000004" / "half").write_bytes(b"h")
    (folder / "r1" / "attempt-1").mkdir()
    (folder / "r1" / "attempt-1" / "records.jsonl").write_text("one\n")
    (folder / "r1" / ".trainer-lock").write_text("")
    (folder / "r1" / "link").symlink_to("/etc/passwd")
    return folder


def write(path: Path, runs: Path) -> None:
    dump = path.with_name("dump")
    dump.write_bytes(b"database")
    with BackupWriter(path) as writer:
        writer.add(DATABASE, dump)
        writer.finish("0009", writer.add_runs(runs))


def test_what_goes_in_comes_out(tmp_path: Path, runs: Path) -> None:
    path = tmp_path / "backup.tar"
    write(path, runs)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    manifest = read_manifest(path)
    assert (manifest.num_runs, manifest.revision) == (1, "0009")
    # Neither what is half written, nor locks, nor links.
    assert [member.name for member in manifest.members] == [
        "database.dump",
        "runs/r1/checkpoints/step-000002/manifest.json",
        "runs/r1/checkpoints/step-000002/model.bin",
        "runs/r1/attempt-1/records.jsonl",
    ]
    extract(path, RUNS, tmp_path / "back")
    assert (tmp_path / "back/r1/attempt-1/records.jsonl").read_text() == "one\n"
    assert (tmp_path / "back/r1/checkpoints/step-000002/model.bin").read_bytes() == b"m" * 5_000


def test_a_file_that_grows_is_taken_as_long_as_it_was(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    source = tmp_path / "records.jsonl"
    source.write_bytes(b"first\n")
    with BackupWriter(tmp_path / "b.tar") as writer, source.open("rb") as handle:
        size = source.stat().st_size
        with source.open("ab") as more:
            more.write(b"second\n")
        writer._add("runs/r/records.jsonl", handle, size)
        writer.add("runs/r/gone", tmp_path / "gone")
        writer.finish("0009", 1)
    extract(tmp_path / "b.tar", RUNS, tmp_path / "back")
    read_manifest(tmp_path / "b.tar")
    assert (tmp_path / "back/r/records.jsonl").read_bytes() == b"first\n"


def test_no_checkpoint_is_beyond_the_journal_copied_with_it(
    tmp_path: Path, runs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    add = BackupWriter.add
    trained: list[int] = []

    def add_while_the_run_trains(writer: BackupWriter, name: str, source: Path) -> None:
        # Each copied file takes long enough for two more steps and a checkpoint, three times over.
        add(writer, name, source)
        if name.startswith(RUNS) and len(trained) < 3:
            trained.append(step := 4 + 2 * len(trained))
            with (runs / "r1/attempt-1/records.jsonl").open("a") as journal:
                journal.write(f"step {step - 1}\nstep {step}\n")
            checkpoint = runs / f"r1/checkpoints/step-{step:06d}"
            checkpoint.mkdir()
            (checkpoint / "manifest.json").write_text("{}")

    monkeypatch.setattr(BackupWriter, "add", add_while_the_run_trains)
    write(tmp_path / "b.tar", runs)
    extract(tmp_path / "b.tar", RUNS, tmp_path / "back")
    newest = max((tmp_path / "back/r1/checkpoints").iterdir()).name
    assert newest == "step-000008"
    assert (tmp_path / "back/r1/attempt-1/records.jsonl").read_text().endswith("step 8\n")


def test_a_failure_leaves_no_file(tmp_path: Path) -> None:
    with pytest.raises(RuntimeError), BackupWriter(tmp_path / "b.tar"):
        raise RuntimeError
    assert list(tmp_path.iterdir()) == []


def test_what_a_killed_backup_left_goes_with_the_next(tmp_path: Path, runs: Path) -> None:
    script = (
        "import os, sys; from pathlib import Path; from bapo.deploy.backup.archive import BackupWriter\n"
        "with BackupWriter(Path(sys.argv[1])) as writer:\n"
        "    (writer.place / 'database.dump').write_text('secret'); print('written', flush=True); sys.stdin.read()"
    )
    folder = tmp_path / "backups"
    folder.mkdir()
    command = [sys.executable, "-c", script, str(folder / "monday.tar")]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as backup:
        assert backup.stdout is not None
        assert backup.stdout.readline() == b"written\n"
        (place,) = folder.iterdir()
        assert stat.S_IMODE(place.stat().st_mode) == 0o700
        # While it is at work, another one leaves it alone.
        write(folder / "tuesday.tar", runs)
        assert place.is_dir()
        backup.kill()
    write(folder / "wednesday.tar", runs)
    assert sorted(path.name for path in folder.iterdir()) == ["dump", "tuesday.tar", "wednesday.tar"]


@pytest.mark.parametrize("phase", ["_add", "add_runs", "finish", "__exit__"])
def test_a_backup_that_is_killed_leaves_no_file_of_its_name(tmp_path: Path, runs: Path, phase: str) -> None:
    script = (
        "import os, signal, sys; from pathlib import Path; from bapo.deploy.backup.archive import BackupWriter\n"
        "def end(*_, **__): os.kill(os.getpid(), signal.SIGKILL)\n"
        "setattr(BackupWriter, sys.argv[3], end)\n"
        "with BackupWriter(Path(sys.argv[1])) as writer:\n"
        "    number = writer.add_runs(Path(sys.argv[2]))\n"
        "    writer.finish('0009', number)"
    )
    folder = tmp_path / "backups"
    folder.mkdir()
    killed = subprocess.run([sys.executable, "-c", script, folder / "b.tar", runs, phase], check=False)
    assert killed.returncode == -signal.SIGKILL
    assert not (folder / "b.tar").exists()
    write(folder / "b.tar", runs)
    assert read_manifest(folder / "b.tar").num_runs == 1
    assert sorted(path.name for path in folder.iterdir()) == ["b.tar", "dump"]


def test_an_existing_file_is_not_overwritten(tmp_path: Path, runs: Path) -> None:
    path = tmp_path / "b.tar"
    path.write_text("mine")
    with pytest.raises(BackupError, match="exists"):
        write(path, runs)
    assert path.read_text() == "mine"


@pytest.mark.parametrize("position", [515, 2_100, 4_000])
def test_a_changed_byte_is_noticed(tmp_path: Path, runs: Path, position: int) -> None:
    path = tmp_path / "b.tar"
    write(path, runs)
    content = bytearray(path.read_bytes())
    content[position] ^= 0xFF
    path.write_bytes(content)
    with pytest.raises(BackupError):
        read_manifest(path)


@pytest.mark.parametrize("length", [0, 512, 3_000, 9_000])
def test_a_file_that_is_cut_off_is_noticed(tmp_path: Path, runs: Path, length: int) -> None:
    path = tmp_path / "b.tar"
    write(path, runs)
    path.write_bytes(path.read_bytes()[:length])
    with pytest.raises(BackupError):
        read_manifest(path)


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("../outside", tarfile.REGTYPE),
        ("runs/../../outside", tarfile.REGTYPE),
        ("/etc/outside", tarfile.REGTYPE),
        ("elsewhere/x", tarfile.REGTYPE),
        ("runs/link", tarfile.SYMTYPE),
        ("runs/device", tarfile.CHRTYPE),
        ("runs/hard", tarfile.LNKTYPE),
    ],
)
def test_a_way_out_of_the_folder_is_refused(tmp_path: Path, name: str, kind: bytes) -> None:
    path = tmp_path / "evil.tar"
    with tarfile.open(path, "w") as tar:
        info = tarfile.TarInfo(name)
        info.type, info.linkname = kind, "/etc/passwd"
        tar.addfile(info, io.BytesIO())
    for act in (lambda: read_manifest(path), lambda: extract(path, RUNS, tmp_path / "in" / "back")):
        with pytest.raises(BackupError, match="which is not part of a backup"):
            act()
    assert sorted(each.name for each in tmp_path.iterdir()) == ["evil.tar"]


def test_a_backup_of_a_newer_version_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "b.tar"
    content = b'{"backup_schema": 2, "version": "9.0.0"}'
    with tarfile.open(path, "w") as tar:
        info = tarfile.TarInfo(MANIFEST)
        info.size = len(content)
        tar.addfile(info, io.BytesIO(content))
    with pytest.raises(BackupError, match=r"version 9\.0\.0"):
        read_manifest(path)


def test_a_secret_replaces_the_one_there_and_reaches_no_other_place(tmp_path: Path) -> None:
    for name in ("admin-token", "worker-token"):
        (tmp_path / name).write_text(name)
    with BackupWriter(tmp_path / "b.tar") as writer:
        for name in ("admin-token", "worker-token"):
            writer.add(f"secrets/{name}", tmp_path / name)
        writer.finish("0009", 0)
    place = tmp_path / "place" / "worker-token"
    place.parent.mkdir()
    place.write_text("an older one")
    extract_secret(tmp_path / "b.tar", place)
    extract_secret(tmp_path / "b.tar", tmp_path / "place" / "unknown")
    assert place.read_text() == "worker-token"
    assert stat.S_IMODE(place.stat().st_mode) == 0o600
    assert list(place.parent.iterdir()) == [place]
