"""Checks that a file's first bytes match its name."""

from __future__ import annotations

from pathlib import PurePath

from backend.kit.errors import Problem
from backend.models import Upload
from bapo.own_data.formats import FormatError, check_beginning

_ZIP = b"PK"


def check_file_beginning(upload: Upload, content: bytes) -> None:
    """Raise Problem 422 if the file's first bytes do not match its name."""
    try:
        if upload.kind == "dataset":
            check_beginning(PurePath(upload.file_name).suffix.lower(), content)
        elif not content.startswith(_ZIP):
            raise FormatError("this is no zip archive: pack the model's folder as .zip")
    except FormatError as error:
        raise Problem(422, "not_what_it_says", str(error), field="file_name", value=upload.file_name) from None
