"""Checks what uploaded content begins with, and hands it to workers that do not see the folder of uploads."""

from __future__ import annotations

from pathlib import Path, PurePath

from sqlalchemy.orm import Session

from backend.files.uploads import repository
from backend.kit.errors import Problem, not_found
from backend.kit.principal import Principal
from backend.models import ResourceVersion, Run, Upload
from backend.runs import repository as runs
from backend.workers import repository as workers
from bapo.api.workers import ContentFile, RunContent
from bapo.own_data.formats import FormatError, check_beginning


def of_run(session: Session, run: Run) -> list[RunContent]:
    """Return the uploaded content that the run's config names, file by file."""
    return [
        RunContent(path=version.path, files=[ContentFile(path=str(path), **facts) for path, facts in _files(version)])
        for version in repository.of_run(session, run.id, run.project_id)
    ]


def _files(version: ResourceVersion) -> list[tuple[Path, dict[str, object]]]:
    # Of a data set the file itself: beneath it, the name is empty.
    return [(Path(version.path) / name if name else Path(version.path), facts) for name, facts in version.files.items()]


def file_of(session: Session, run_id: str, sha256: str, caller: Principal) -> Path:
    """Return a file of the content that a run of this worker's names. Raises Problem 404, and 410 where it is gone."""
    run = runs.get(session, run_id)
    attempt = runs.attempt(session, run)
    if attempt is None or attempt.worker_id is None or workers.get(session, caller.id, attempt.worker_id) is None:
        raise not_found("run", run_id)
    for version in repository.of_run(session, run.id, run.project_id):
        for path, facts in _files(version):
            if facts["sha256"] == sha256:
                if not path.is_file():
                    raise Problem(410, "gone", "the content is gone: upload it again", field="sha256", value=sha256)
                return path
    raise not_found("content", sha256)


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
