"""Attempts that a worker holds, each saved in a small file so that it is found again after a restart."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, model_validator

from bapo.run.run_folder import write_atomically


class Ending(BaseModel):
    """The end of a trainer."""

    model_config = ConfigDict(frozen=True)

    status: Literal["succeeded", "failed", "stopped", "lost"]
    reason: str | None = None
    cannot_write: bool = False
    """True if the disk was full, which seldom changes within seconds."""


class Attempt(BaseModel):
    """An attempt that this worker holds."""

    model_config = ConfigDict(frozen=True)

    run_id: str
    number: int
    fencing_token: int
    run_folder: Path
    pid: int | None = None
    """Process id of the trainer; `None` before its start, and if the worker died while starting it."""
    created: float | None = None
    """Start time of the process, to tell the trainer from a reused pid."""
    gpus: tuple[int, ...] | None = None
    """Indices of the GPUs that are reserved for it and that its trainer sees; None: it sees what there is."""
    announced: bool = False
    """True if the server knows that the trainer is running."""
    ending: Ending | None = None
    """Set once the trainer has ended; the file is deleted when the server knows."""

    @model_validator(mode="before")
    @classmethod
    def _one_gpu_of_an_earlier_release(cls, saved: Any) -> Any:
        if isinstance(saved, dict) and saved.get("gpu") is not None:
            return {**saved, "gpus": (int(saved["gpu"]),)}
        return saved

    def shares_gpu_with(self, other: Attempt) -> bool:
        """Return whether both attempts use the same GPU."""
        return bool(set(self.gpus or ()) & set(other.gpus or ()))

    @property
    def folder(self) -> Path:
        """Folder of the attempt's files."""
        return self.run_folder / f"attempt-{self.number}"


class AttemptStore:
    """The saved attempts, in the worker's folder."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        folder.mkdir(parents=True, exist_ok=True)

    def save(self, attempt: Attempt) -> None:
        """Save the attempt."""
        write_atomically(self._path(attempt), attempt.model_dump_json().encode())

    def forget(self, attempt: Attempt) -> None:
        """Delete an attempt that is finished."""
        self._path(attempt).unlink(missing_ok=True)

    def all(self) -> Iterator[Attempt]:
        """Yield the attempts that this worker held before its restart."""
        for path in sorted(self._folder.glob("*.json")):
            yield Attempt.model_validate_json(path.read_bytes())

    def _path(self, attempt: Attempt) -> Path:
        return self._folder / f"{attempt.run_id}-{attempt.number}.json"
