"""What a worker must remember of an attempt to find it again after a restart: one small file each."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, model_validator

from bapo.run.run_folder import write_atomically


class Ending(BaseModel):
    """How a trainer ended."""

    model_config = ConfigDict(frozen=True)

    status: Literal["succeeded", "failed", "stopped", "lost"]
    reason: str | None = None
    cannot_write: bool = False
    """Whether its disk took no more, which seldom changes within seconds."""


class Attempt(BaseModel):
    """An attempt that this worker holds."""

    model_config = ConfigDict(frozen=True)

    run_id: str
    number: int
    fencing_token: int
    run_folder: Path
    pid: int | None = None
    """None before the trainer is started, and where the worker died while it started it."""
    created: float | None = None
    """Start time of the process: with it, a reused pid is told from the trainer."""
    gpus: tuple[int, ...] | None = None
    """Indices of the GPUs that are reserved for it and that its trainer sees; None: it sees what there is."""
    announced: bool = False
    """Whether the server knows that the trainer is up."""
    ending: Ending | None = None
    """Set once the trainer has ended; the file goes when the server knows it too."""

    @model_validator(mode="before")
    @classmethod
    def _one_gpu_of_an_earlier_release(cls, saved: Any) -> Any:
        if isinstance(saved, dict) and saved.get("gpu") is not None:
            return {**saved, "gpus": (int(saved["gpu"]),)}
        return saved

    def shares_gpu_with(self, other: Attempt) -> bool:
        """Whether both have the same GPU."""
        return bool(set(self.gpus or ()) & set(other.gpus or ()))

    @property
    def folder(self) -> Path:
        """Where this attempt's files lie."""
        return self.run_folder / f"attempt-{self.number}"


class AttemptStore:
    """The files, in the worker's folder."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        folder.mkdir(parents=True, exist_ok=True)

    def save(self, attempt: Attempt) -> None:
        """Remember the attempt as it is now."""
        write_atomically(self._path(attempt), attempt.model_dump_json().encode())

    def forget(self, attempt: Attempt) -> None:
        """Nothing is left to do for it."""
        self._path(attempt).unlink(missing_ok=True)

    def all(self) -> Iterator[Attempt]:
        """The attempts that an earlier life of this worker held."""
        for path in sorted(self._folder.glob("*.json")):
            yield Attempt.model_validate_json(path.read_bytes())

    def _path(self, attempt: Attempt) -> Path:
        return self._folder / f"{attempt.run_id}-{attempt.number}.json"
