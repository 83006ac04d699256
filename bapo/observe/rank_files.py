"""The files in which ranks report their parts: `ranks/ATTEMPT/RANK-of-RANKS.NUMBER.jsonl` in the folder of their run.

Each start of a rank has a separate file, which it holds locked while it lives. A process that starts, or checks whether
another one lives, holds `ranks/.lock` for that moment.
"""

from __future__ import annotations

import fcntl
import re
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import BinaryIO, NamedTuple

from bapo.config import ConfigError, ConfigProblem
from bapo.files.locks import held as locked
from bapo.files.safe_paths import names_inside, open_inside
from bapo.run.journal import LineWriter
from bapo.run.run_folder import LOCK_FILE, next_attempt

RANKS = "ranks"
MOST_RANKS = 100_000
_FILE = re.compile(r"(?P<rank>\d{1,5})-of-(?P<size>\d{1,6})\.(?P<number>\d{1,6})\.jsonl")


class RankFile(NamedTuple):
    """The file of one process's reports."""

    attempt: int
    rank: int
    number: int
    """Number of the rank's start in the attempt, from 1."""
    world_size: int

    @property
    def parts(self) -> tuple[str, ...]:
        """Names that lead to it from the folder of the run."""
        return (RANKS, str(self.attempt), f"{self.rank}-of-{self.world_size}.{self.number}.jsonl")


@contextmanager
def starting(run_folder: Path) -> Iterator[None]:
    """Hold back the start of other ranks for a moment."""
    (run_folder / RANKS).mkdir(parents=True, exist_ok=True)
    with locked(run_folder / RANKS / ".lock", waits=True):
        yield


def files_of_ranks(run_folder: Path, attempt: int) -> list[RankFile]:
    """Return the files of one attempt, by rank and in the order of their starts."""
    with suppress(FileNotFoundError, NotADirectoryError):
        names = names_inside(run_folder, (RANKS, str(attempt)))
        matches = (match for name in names if (match := _FILE.fullmatch(name)))
        found = (RankFile(attempt, int(match["rank"]), int(match["number"]), int(match["size"])) for match in matches)
        return sorted(file for file in found if file.rank < file.world_size)
    return []


def attempts_of_ranks(run_folder: Path) -> list[int]:
    """Return the attempts that have parts, in order."""
    with suppress(FileNotFoundError, NotADirectoryError):
        names = names_inside(run_folder, (RANKS,))
        return sorted(int(name) for name in names if name.isascii() and name.isdigit() and len(name) <= 6)
    return []


def open_rank_file(run_folder: Path, rank: int, world_size: int, held: ExitStack) -> LineWriter:
    """Return a file for this start of a rank; `starting` is held. Raises ConfigError where the rank is running already.

    While rank 0 runs, the others join its attempt; before, they wait for its next one.
    """
    attempt = next_attempt(run_folder) - is_locked(run_folder / LOCK_FILE)
    number = 1
    for each in (file for known in attempts_of_ranks(run_folder) for file in files_of_ranks(run_folder, known)):
        if each.rank != rank:
            continue
        if is_locked(run_folder.joinpath(*each.parts)):
            remedy = f"another process of rank {rank} records to {run_folder}: give each process a different rank"
            raise ConfigError([ConfigProblem("rank", rank, remedy)])
        if each.attempt == attempt:
            number = each.number + 1
    path = run_folder.joinpath(*RankFile(attempt, rank, number, world_size).parts)
    writer = LineWriter(path)
    held.callback(writer.close)
    held.enter_context(locked(path, is_marked=False))
    return writer


def is_locked(path: Path) -> bool:
    """Return whether the process that wrote a file lives; `starting` is held, so that no process takes this probe
    for a lock."""
    with suppress(FileNotFoundError), path.open("rb") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
    return False


def living_ranks(run_folder: Path, newest: Mapping[int, RankFile]) -> frozenset[int]:
    """Return the ranks whose newest process lives."""
    with starting(run_folder):
        return frozenset(rank for rank, file in newest.items() if is_locked(run_folder.joinpath(*file.parts)))


def remove_rank_files(run_folder: Path, attempt: int) -> None:
    """Remove the reports of an attempt's ended processes; `starting` is held."""
    for file in files_of_ranks(run_folder, attempt):
        path = run_folder.joinpath(*file.parts)
        if not is_locked(path):
            path.unlink(missing_ok=True)
    with suppress(OSError):
        # Not empty where some still live.
        (run_folder / RANKS / str(attempt)).rmdir()


class GrowingFile:
    """Reads the whole lines of a file that may still be written."""

    def __init__(self, run_folder: Path, file: RankFile) -> None:
        self.file = file
        self._opened: BinaryIO = open_inside(run_folder, file.parts)

    def next_line(self) -> bytes | None:
        """Return the next line, newline included; None where none is whole yet."""
        start = self._opened.tell()
        line = self._opened.readline()
        if line.endswith(b"\n"):
            return line
        self._opened.seek(start)
        return None

    def close(self) -> None:
        """Close the file."""
        self._opened.close()
