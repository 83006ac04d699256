"""Selection of the long lanes of ./test: a lane runs if its inputs differ from every state on which it was green.

`tests/green_lanes.jsonl` has a line for each green run of a lane: the digest of the lane's inputs, the commit, the
date and the machine. Only `record` writes it, after a run that passed. A line counts for exactly the files that the run
saw, so it holds in any clone; Git merges the file by keeping the lines of both sides (.gitattributes).

Uses the standard library only.
"""

from __future__ import annotations

import hashlib
import json
import os
import platform
import subprocess
import sys
import tomllib
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from fnmatch import fnmatchcase
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
GREEN_RUNS = "tests/green_lanes.jsonl"
KEPT_PER_LANE = 4
"""Several people's newest green runs; older ones no longer match anything."""


@dataclass(frozen=True)
class GreenRun:
    """A lane that passed."""

    lane: str
    digest: str
    commit: str
    """Short hash; `+` follows it where the work tree had changes that were not committed."""
    date: str
    machine: str
    passed: int
    skipped: int


def is_input(path: str, patterns: Sequence[str]) -> bool:
    """Return whether a file is among a lane's inputs.

    A pattern is a file, a folder with all that it contains, or has `*`, which does not match `/`. After `!` it excludes
    what the patterns before it include.
    """
    included = False
    for pattern in patterns:
        excludes = pattern.startswith("!")
        if included == excludes and _matches(path, pattern.removeprefix("!")):
            included = not excludes
    return included


def _matches(path: str, pattern: str) -> bool:
    if "*" in pattern:
        return path.count("/") == pattern.count("/") and fnmatchcase(path, pattern)
    return path == pattern or path.startswith(f"{pattern}/")


@cache
def files_of(root: Path) -> tuple[str, ...]:
    """Return the paths of a checkout's files, in order: those that Git tracks or would track.

    Raises OSError where the folder is no checkout.
    """
    listed = _git(root, "ls-files", "-z", "--cached", "--others", "--exclude-standard")
    return tuple(sorted(path for path in set(listed.split("\0")) if path and (root / path).is_file()))


def digest_of(patterns: Sequence[str], root: Path) -> str:
    """Return the SHA-256 of a lane's inputs, of their names, and of the kind of machine that reads them.

    `FILE#TABLE` among the patterns is one table of a TOML file. Raises OSError where the folder is no checkout.
    """
    digest = hashlib.sha256(f"{sys.platform} {platform.machine()} {sys.version_info[:2]}\n".encode())
    tables = [pattern for pattern in patterns if "#" in pattern]
    paths = [pattern for pattern in patterns if "#" not in pattern]
    for path in files_of(root):
        if is_input(path, paths):
            digest.update(f"{path} {hashlib.sha256((root / path).read_bytes()).hexdigest()}\n".encode())
    for pattern in tables:
        file, _, name = pattern.partition("#")
        table = tomllib.loads((root / file).read_text(encoding="utf-8"))
        for part in name.split("."):
            table = table[part]
        digest.update(f"{pattern} {json.dumps(table, sort_keys=True)}\n".encode())
    return digest.hexdigest()


def green_runs(root: Path) -> list[GreenRun]:
    """Return the recorded green runs, oldest first."""
    try:
        lines = (root / GREEN_RUNS).read_text(encoding="utf-8").splitlines()
    except FileNotFoundError:
        return []
    runs = dict.fromkeys(GreenRun(**json.loads(line)) for line in lines if line)
    return sorted(runs, key=lambda run: run.date)


def last_green(lane: str, digest: str, root: Path) -> GreenRun | None:
    """Return the newest run in which the lane passed on these inputs."""
    return next((run for run in reversed(green_runs(root)) if (run.lane, run.digest) == (lane, digest)), None)


def record(lane: str, digest: str, *, passed: int, skipped: int, root: Path) -> GreenRun:
    """Record that a lane passed on these inputs."""
    changes = "+" if _git(root, "status", "--porcelain", "--", ".", f":!{GREEN_RUNS}").strip() else ""
    run = GreenRun(
        lane,
        digest,
        _git(root, "rev-parse", "--short=10", "HEAD").strip() + changes,
        datetime.now(UTC).isoformat(timespec="seconds"),
        f"{sys.platform} {platform.machine()}, {os.cpu_count()} cores, Python {platform.python_version()}",
        passed,
        skipped,
    )
    others = [other for other in green_runs(root) if (other.lane, other.digest) != (lane, digest)]
    _write(_newest([*others, run]), root)
    return run


def _newest(runs: Iterable[GreenRun]) -> list[GreenRun]:
    kept: dict[str, list[GreenRun]] = {}
    for run in runs:
        kept.setdefault(run.lane, []).append(run)
    return [run for of_lane in kept.values() for run in of_lane[-KEPT_PER_LANE:]]


def _write(runs: Iterable[GreenRun], root: Path) -> None:
    lines = [json.dumps(asdict(run)) for run in sorted(runs, key=lambda run: (run.lane, run.date))]
    # Complete or not at all: two runs of ./test may end in one checkout.
    new = root / f"{GREEN_RUNS}.{os.getpid()}"
    new.write_text("\n".join([*lines, ""]), encoding="utf-8")
    new.replace(root / GREEN_RUNS)


def _git(root: Path, *arguments: str) -> str:
    done = subprocess.run(["git", *arguments], cwd=root, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise OSError(f"git {arguments[0]}: {done.stderr.strip()}")
    return done.stdout
