"""One check from beginning to end: look at the file, propose columns, check every row."""

from __future__ import annotations

import errno
from collections.abc import Callable, Sequence
from hashlib import file_digest
from pathlib import Path
from typing import TypeVar

from bapo.isolation.function import CallFailedError, IsolatedFunction
from bapo.isolation.limits import Limits
from bapo.own_data.check import OtherData, check
from bapo.own_data.formats import FormatError, preview
from bapo.own_data.mapping import completed, proposal
from bapo.own_data.report import ColumnMapping, DataPreview, DataReport, Described
from bapo.own_data.storable import storable

_NO_ROOM = frozenset({errno.EFBIG, errno.ENOSPC, errno.EDQUOT})


class CheckJob(Described):
    """A file to be checked."""

    path: Path
    ending: str
    """`.jsonl`, `.csv` or `.parquet`: the file itself lies under another name."""
    mapping: ColumnMapping | None
    """Mapping of the columns; None to take the likeliest."""
    others: Sequence[OtherData] = ()
    out: Path
    """See `bapo.own_data.check.check`."""
    most_bytes: int | None = None
    """Room for the file that is written; None: any."""


class CheckResult(Described):
    """Result of the check."""

    preview: DataPreview | None = None
    mapping: ColumnMapping | None = None
    report: DataReport | None = None
    """`None` if the mapping lacks a column, or the file is not readable."""
    path: Path | None = None
    """The file of ours; None where it cannot be registered."""
    sha256: str | None = None
    num_bytes: int = 0
    columns: Sequence[str] = ()
    problem: str | None = None
    """Why the file as a whole is not taken."""


def _no_room(most_bytes: int | None) -> str:
    room = "the disk has" if most_bytes is None else f"the {most_bytes:,} bytes that the project has left"
    return (
        f"its rows take more room than {room}: split the file, unregister what is no longer needed, or ask an "
        "administrator to raise BAPO_UPLOAD_QUOTA_BYTES"
    )


def carry_out(job: CheckJob) -> CheckResult:
    """Look, propose, check, write."""
    try:
        seen = preview(job.path, job.ending)
    except FormatError as error:
        return CheckResult(problem=str(error))
    mapping = completed(job.mapping, seen) if job.mapping is not None else proposal(seen)
    if mapping.missing:
        return CheckResult(preview=seen, mapping=mapping)
    try:
        report, path = check(job.path, job.ending, mapping, job.others, job.out)
    except FormatError as error:
        return CheckResult(preview=seen, mapping=mapping, problem=str(error))
    except OSError as error:
        if error.errno not in _NO_ROOM:
            raise
        return CheckResult(preview=seen, mapping=mapping, problem=_no_room(job.most_bytes))
    if path is None:
        return CheckResult(preview=seen, mapping=mapping, report=report)
    with path.open("rb") as file:
        digest = file_digest(file, "sha256").hexdigest()
    ours = preview(path, path.suffix)
    return CheckResult(
        preview=seen,
        mapping=mapping,
        report=report,
        path=path,
        sha256=digest,
        num_bytes=path.stat().st_size,
        columns=ours.columns,
    )


MEMORY_BYTES = 8 * 2**30
"""Address space, in bytes: a small Parquet file can unpack to anything."""
CPU_SECONDS = 1_300
CHECK_SECONDS = 1_200.0

Job = TypeVar("Job")
Result = TypeVar("Result")


class FileReadError(Exception):
    """A file cannot be read within the limits; the message says why, and what to do."""


def read_isolated(
    function: Callable[[Job], Result],
    job: Job,
    *,
    file_bytes: int | None,
    maps_files: bool = False,
    seconds: float = CHECK_SECONDS,
    is_cancelled: Callable[[], bool] = lambda: False,
) -> Result:
    """Return the result of a function that reads a file. Raises FileReadError and CallCancelledError."""
    limits = Limits(MEMORY_BYTES, CPU_SECONDS, file_bytes, maps_files)
    try:
        with IsolatedFunction(function, limits, seconds=seconds, is_cancelled=is_cancelled) as isolated:
            return isolated(job)
    except CallFailedError as error:
        raise FileReadError(storable(f"the file cannot be checked: {error}: split it, or correct it")) from None
