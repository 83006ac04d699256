"""Tells failures of a machine's storage, after which a run is tried again, from failures of the run."""

from __future__ import annotations

import errno
from pathlib import Path

_FULL = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG})
_REFUSED = frozenset({errno.EROFS, errno.EACCES, errno.EPERM})
_BROKEN = frozenset({errno.EIO, errno.ESTALE, errno.ENODEV, errno.ENXIO, errno.EMFILE, errno.ENFILE})


def is_write_failure(error: BaseException, run_folder: Path) -> bool:
    """Return whether storage refused: it is full, broken or read-only, or the run folder may not be written.

    A missing permission elsewhere, as for a data set, is the run's own failure: no later try would find it otherwise.
    """
    if not isinstance(error, OSError):
        return False
    if error.errno in (errno.EACCES, errno.EPERM):
        return error.filename is None or Path(str(error.filename)).is_relative_to(run_folder)
    return error.errno in _FULL | _REFUSED | _BROKEN


def remedy(error: OSError) -> str:
    """Return the remedy."""
    if error.errno in _REFUSED:
        return "make the folder writable for the trainer's account"
    if error.errno in (errno.EMFILE, errno.ENFILE):
        return "raise the limit on open files"
    return "check the disk" if error.errno in _BROKEN else "free some space"
