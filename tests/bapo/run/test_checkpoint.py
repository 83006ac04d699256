import errno
import json
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from bapo.run.checkpoint import CheckpointError, newest_sound, write_checkpoint


def content(text: str) -> Callable[[Path], None]:
    def fill(folder: Path) -> None:
        (folder / "state.json").write_text(text)
        (folder / "model").mkdir()
        (folder / "model" / "weights").write_bytes(text.encode() * 100)

    return fill


def names(run: Path) -> list[str]:
    return sorted(path.name for path in (run / "checkpoints").iterdir())


def test_newest_of_several_is_found(tmp_path: Path) -> None:
    assert newest_sound(tmp_path) == (None, [])
    for step in (25, 50):
        folder = write_checkpoint(tmp_path, step, content(str(step)), keep=3)
        assert newest_sound(tmp_path) == (folder, [])
        assert (folder / "state.json").read_text() == str(step)
    assert names(tmp_path) == ["step-000025", "step-000050"]


def test_manifest_names_step_and_every_file(tmp_path: Path) -> None:
    manifest = json.loads((write_checkpoint(tmp_path, 7, content("x"), keep=1) / "manifest.json").read_text())
    assert (manifest["schema"], manifest["step"]) == (1, 7)
    # printf x | sha256sum
    digest = "2d711642b726b04401627ca9fbac32f5c8530fb1903cc4db02258717921a4881"
    assert manifest["files"]["state.json"] == {"sha256": digest, "bytes": 1}
    assert manifest["files"]["model/weights"]["bytes"] == 100


@pytest.mark.parametrize(("keep", "left"), [(1, ["step-000004"]), (2, ["step-000003", "step-000004"])])
def test_last_k_are_kept(tmp_path: Path, keep: int, left: list[str]) -> None:
    for step in (1, 2, 3, 4):
        write_checkpoint(tmp_path, step, content("x"), keep=keep)
    assert names(tmp_path) == left


def test_step_numbers_beyond_six_digits_stay_in_order(tmp_path: Path) -> None:
    write_checkpoint(tmp_path, 999_999, content("x"), keep=2)
    newest = write_checkpoint(tmp_path, 1_000_000, content("x"), keep=2)
    assert newest_sound(tmp_path)[0] == newest


def truncate(folder: Path) -> None:
    path = folder / "model" / "weights"
    path.write_bytes(path.read_bytes()[:-1])


def flip_a_byte(folder: Path) -> None:
    path = folder / "model" / "weights"
    path.write_bytes(b"!" + path.read_bytes()[1:])


DAMAGES: dict[str, tuple[Callable[[Path], object], str]] = {
    "truncated": (truncate, "model/weights has 199 bytes instead of 200"),
    "altered": (flip_a_byte, "model/weights has another checksum"),
    "file gone": (lambda folder: (folder / "state.json").unlink(), "state.json is missing"),
    "no manifest": (lambda folder: (folder / "manifest.json").unlink(), "manifest.json is missing"),
    "torn manifest": (
        lambda folder: (folder / "manifest.json").write_text('{"schema": 1, "fi'),
        "manifest.json is not readable",
    ),
    "no manifest's content": (
        lambda folder: (folder / "manifest.json").write_text("[]"),
        "manifest.json is not a manifest",
    ),
    "newer schema": (
        lambda folder: (folder / "manifest.json").write_text('{"schema": 2, "files": {}}'),
        "schema 2 is not known to this version, which knows 1",
    ),
}


@pytest.mark.parametrize("kind", DAMAGES)
def test_damaged_newest_is_named_and_the_one_before_used(tmp_path: Path, kind: str) -> None:
    damage, reason = DAMAGES[kind]
    before = write_checkpoint(tmp_path, 25, content("25"), keep=2)
    damage(write_checkpoint(tmp_path, 50, content("50"), keep=2))
    assert newest_sound(tmp_path) == (before, [("step-000050", reason)])


def test_all_damaged_means_none(tmp_path: Path) -> None:
    for step in (1, 2):
        truncate(write_checkpoint(tmp_path, step, content("1"), keep=2))
    folder, damaged = newest_sound(tmp_path)
    assert folder is None
    assert [name for name, _ in damaged] == ["step-000002", "step-000001"]


def test_damaged_checkpoint_of_the_same_step_is_replaced(tmp_path: Path) -> None:
    truncate(write_checkpoint(tmp_path, 25, content("1"), keep=2))
    folder = write_checkpoint(tmp_path, 25, content("2"), keep=2)
    assert newest_sound(tmp_path) == (folder, [])
    assert names(tmp_path) == ["step-000025"]


def test_checkpoints_of_later_steps_go_when_the_run_went_back(tmp_path: Path) -> None:
    for step in (20, 25, 30):
        write_checkpoint(tmp_path, step, content("x"), keep=3)
    write_checkpoint(tmp_path, 22, content("x"), keep=3)
    assert names(tmp_path) == ["step-000020", "step-000022"]


def test_leftovers_of_a_killed_writer_are_ignored_and_removed(tmp_path: Path) -> None:
    (tmp_path / "checkpoints" / ".tmp-step-000025").mkdir(parents=True)
    (tmp_path / "checkpoints" / ".tmp-step-000025" / "half").write_text("x")
    assert newest_sound(tmp_path) == (None, [])
    write_checkpoint(tmp_path, 50, content("x"), keep=1)
    assert names(tmp_path) == ["step-000050"]


def test_full_disk_keeps_the_old_and_leaves_no_half_checkpoint(tmp_path: Path) -> None:
    before = write_checkpoint(tmp_path, 25, content("25"), keep=1)

    def fill(folder: Path) -> None:
        (folder / "half").write_text("x")
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with pytest.raises(CheckpointError, match=r"checkpoint of step 50 into .*No space left.*free some space"):
        write_checkpoint(tmp_path, 50, fill, keep=1)
    assert names(tmp_path) == ["step-000025"]
    assert newest_sound(tmp_path) == (before, [])


def test_other_failures_pass_through_and_leave_no_half_checkpoint(tmp_path: Path) -> None:
    def fill(folder: Path) -> None:
        raise KeyError("bug")

    with pytest.raises(KeyError, match="bug"):
        write_checkpoint(tmp_path, 1, fill, keep=1)
    assert names(tmp_path) == []
