"""reasoning-gym is installed where a C compiler is; without one, all else works and one line says what is missing."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from packaging.requirements import Requirement

ROOT = Path(__file__).parents[2]
LOCK = ROOT / "requirements-reasoning-gym.lock"


@pytest.fixture
def programs(tmp_path: Path) -> Path:
    """The programs of the set-up's PATH, without a compiler."""
    folder = tmp_path / "programs"
    folder.mkdir()
    for name in ("cat", "cksum"):
        (folder / name).symlink_to(Path("/usr/bin", name))
    return folder


@pytest.fixture
def environment(tmp_path: Path) -> Path:
    """An environment whose Python notes its arguments, and fails if it shall."""
    python = tmp_path / "environment" / "bin" / "python"
    python.parent.mkdir(parents=True)
    python.write_text('#!/bin/sh\nprintf "%s\\n" "$*" >>"$VENV/asked"\n[ ! -e "$VENV/fails" ]\n')
    python.chmod(0o755)
    return tmp_path / "environment"


def install(environment: Path, programs: Path) -> str:
    """What the set-up says."""
    return subprocess.run(
        ["/bin/sh", "-euc", '. "$ROOT/scripts/setup.sh"; install_reasoning_gym'],
        env={"ROOT": str(ROOT), "VENV": str(environment), "PATH": str(programs)},
        capture_output=True,
        text=True,
        check=True,
    ).stdout


def with_compiler(programs: Path) -> Path:
    (programs / "cc").symlink_to("/bin/true")
    return programs


def test_without_a_compiler_one_line_says_how_to_get_it_and_nothing_is_tried(environment: Path, programs: Path) -> None:
    said = install(environment, programs)
    assert said.count("\n") == 1
    assert said.startswith("bapo: reasoning_gym tasks and the recipe gsm-mini are not available: install a C compiler")
    assert not (environment / "asked").exists()
    assert install(environment, with_compiler(programs)) == "bapo: installing reasoning-gym\n"


def test_it_is_installed_once_from_its_lock(environment: Path, programs: Path) -> None:
    install(environment, with_compiler(programs))
    assert install(environment, programs) == ""
    (asked,) = (environment / "asked").read_text().splitlines()
    assert asked.endswith(f"--no-deps --no-build-isolation -r {LOCK}")


def test_where_it_cannot_be_built_the_same_line_is_said_and_it_is_tried_again(
    environment: Path, programs: Path
) -> None:
    (environment / "fails").touch()
    with_compiler(programs)
    for _ in range(2):
        assert "are not available: install a C compiler" in install(environment, programs)
    assert len((environment / "asked").read_text().splitlines()) == 2


def test_its_lock_contradicts_no_other_of_a_machine_without_a_gpu() -> None:
    pins = _pins(LOCK)
    assert all(version.startswith("==") for version in pins.values())
    for name in ("requirements.lock", "requirements-verl-cpu.lock"):
        others = _pins(ROOT / name)
        assert {each for each in pins.keys() & others.keys() if pins[each] != others[each]} == set()


def _pins(path: Path) -> dict[str, str]:
    lines = [line for line in path.read_text().splitlines() if line and not line.startswith("#")]
    return {pin.name.lower().replace("_", "-"): str(pin.specifier) for pin in map(Requirement, lines)}
