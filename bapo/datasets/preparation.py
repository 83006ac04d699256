"""Converts the files of a published data set: schema first, then row by row, then all files at once."""

from __future__ import annotations

import hashlib
import json
import os
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow
import pyarrow.parquet
from pydantic import BaseModel, ConfigDict

from bapo.datasets.catalogue import Columns, Part, PublishedData
from bapo.isolation.function import CallFailedError
from bapo.tasks.mathematics import is_understood
from bapo.tasks.problem_files import RowError

MANIFEST_FILE = "manifest.json"
SCHEMA = 1
_CHUNK = 1 << 20


class PreparationError(ValueError):
    """A data set that cannot be converted; the message says why and what to do."""


class BadRow(BaseModel):
    """A published row that is left out."""

    model_config = ConfigDict(frozen=True)

    file: str
    row: int
    """From 1."""
    reason: str


class PreparedFile(BaseModel):
    """A file that was written."""

    model_config = ConfigDict(frozen=True)

    file: str
    sources: dict[str, str]
    """Published file → SHA-256."""
    num_read: int
    """Published rows."""
    num_written: int
    sha256: str
    num_bytes: int


class Preparation(BaseModel):
    """Result of converting a data set; saved as the manifest next to its files."""

    model_config = ConfigDict(frozen=True)

    schema_number: int = SCHEMA
    dataset: str
    repository: str
    files: tuple[PreparedFile, ...]
    bad_rows: tuple[BadRow, ...]


Progress = Callable[[str, int], None]
"""Called with the file being read and the number of rows read so far."""


def prepare(
    data: PublishedData, source: Path, out: Path, *, is_strict: bool = False, progress: Progress | None = None
) -> tuple[Preparation, bool]:
    """Write the data set's files and manifest into a folder; also returns whether anything changed.

    Files made from the same published files are left unchanged. Bad rows are left out and listed; with `is_strict`
    the first is an error.

    Raises:
        PreparationError: files or columns are missing, no row is good, or a row is bad and must not be.
    """
    found = {part: _published_files(part, source) for part in data.parts}
    # All schemas before the first row, so that a mistake in the last file shows before an hour of reading.
    schemas = {file: _schema(data, file) for files in found.values() for file in files}
    sums = {file: _sha256(file) for file in schemas}
    earlier = read_manifest(out)
    if earlier is not None and _is_current(earlier, data, found, sums, out) and not (is_strict and earlier.bad_rows):
        return earlier, False
    out.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=out, prefix=".preparing-") as temporary:
        written: list[PreparedFile] = []
        bad_rows: list[BadRow] = []
        for part, files in found.items():
            path = Path(temporary) / f"{part.name}.parquet"
            counts = _Counts(data, part, progress)
            with pyarrow.parquet.ParquetWriter(path, data.written) as writer:
                for file in files:
                    for batch in counts.batches(file, schemas[file], is_strict=is_strict):
                        writer.write_table(pyarrow.Table.from_pylist(batch, schema=data.written))
            if not counts.num_written:
                first = f"; the first: row {counts.bad_rows[0].row}, {counts.bad_rows[0].reason}" * bool(
                    counts.bad_rows
                )
                raise PreparationError(f"{', '.join(file.name for file in files)} has no good row{first}")
            bad_rows += counts.bad_rows
            written.append(
                PreparedFile(
                    file=path.name,
                    sources={file.name: sums[file] for file in files},
                    num_read=counts.num_read,
                    num_written=counts.num_written,
                    sha256=_sha256(path),
                    num_bytes=path.stat().st_size,
                )
            )
        preparation = Preparation(
            dataset=data.name, repository=data.repository, files=tuple(written), bad_rows=tuple(bad_rows)
        )
        manifest = Path(temporary) / MANIFEST_FILE
        manifest.write_text(preparation.model_dump_json(indent=1) + "\n", encoding="utf-8")
        # The manifest last: what it describes is whole.
        for path in (*(Path(temporary) / each.file for each in written), manifest):
            _sync(path)
            path.replace(out / path.name)
    return preparation, True


def read_manifest(folder: Path) -> Preparation | None:
    """Return a folder's manifest; None if there is none of this release."""
    try:
        return Preparation.model_validate_json((folder / MANIFEST_FILE).read_bytes())
    except (FileNotFoundError, ValueError):
        return None


def _is_current(
    earlier: Preparation, data: PublishedData, found: Mapping[Part, Sequence[Path]], sums: Mapping[Path, str], out: Path
) -> bool:
    """Return whether the folder already holds the conversion of these published files, unchanged."""
    sources = [{file.name: sums[file] for file in files} for files in found.values()]
    return (
        (earlier.schema_number, earlier.dataset) == (SCHEMA, data.name)
        and [each.sources for each in earlier.files] == sources
        and all((out / each.file).is_file() and _sha256(out / each.file) == each.sha256 for each in earlier.files)
    )


def _published_files(part: Part, source: Path) -> list[Path]:
    if not source.is_dir():
        raise PreparationError(f"there is no folder {source}: give the one with the published files, or hub")
    for pattern in part.patterns:
        files = sorted(path for path in source.glob(pattern) if path.is_file())
        if files:
            return files
    here = sorted(str(path.relative_to(source)) for path in source.rglob("*") if path.is_file())[:20]
    raise PreparationError(
        f"{source} has none of {', '.join(part.patterns)} (found: {', '.join(here) or 'nothing'}): download the "
        "data set again, whole"
    )


def _schema(data: PublishedData, file: Path) -> Columns:
    """Return the first schema whose columns the file has."""
    names = _column_names(file)
    for schema in data.schemas:
        if set(schema.names) <= set(names):
            return schema
    wanted = " or ".join(" and ".join(schema.names) for schema in data.schemas)
    missing = [name for name in data.schemas[0].names if name not in names]
    raise PreparationError(
        f"{file.name} has no column {' and no column '.join(missing)} (found: {', '.join(names) or 'none'}): "
        f"{data.repository} has {wanted}"
    )


def _column_names(file: Path) -> list[str]:
    if file.suffix == ".parquet":
        try:
            return list(pyarrow.parquet.read_schema(file).names)
        except (pyarrow.ArrowException, OSError, ValueError) as error:
            raise PreparationError(f"{file.name} is not readable as parquet ({error}): download it again") from None
    first = next(_json_rows(file), None)
    return [] if first is None else list(first)


class _Counts:
    """Converts the rows of a part and counts them."""

    def __init__(self, data: PublishedData, part: Part, progress: Progress | None) -> None:
        self._data, self._part, self._progress = data, part, progress
        self._first_rows: dict[str, tuple[str, int]] = {}
        self.num_read = 0
        self.num_written = 0
        self.bad_rows: list[BadRow] = []

    def batches(self, file: Path, schema: Columns, *, is_strict: bool) -> Iterator[list[dict[str, Any]]]:
        batch: list[dict[str, Any]] = []
        for number, row in enumerate(_rows(file), start=1):
            self.num_read += 1
            try:
                batch.append(self._converted(row, schema, file.name, number))
            except RowError as error:
                if is_strict:
                    raise PreparationError(f"{file.name}, row {number}: {error}") from None
                self.bad_rows.append(BadRow(file=file.name, row=number, reason=str(error)))
                continue
            self.num_written += 1
            if len(batch) == 1_000:
                yield batch
                batch = []
                if self._progress is not None:
                    self._progress(file.name, number)
        if batch:
            yield batch

    def _converted(self, row: Mapping[str, Any], schema: Columns, file: str, number: int) -> dict[str, Any]:
        missing = [name for name in schema.names if name not in row]
        if missing:
            raise RowError(f"it has no {' and no '.join(missing)}")
        converted = schema.convert(row)
        if self._data.answers_by == "math":
            _check_answer(converted["answer"])
            # A task knows a problem by its source: the three parts of one data set share theirs.
            converted["data_source"] = self._data.name if len(self._data.parts) > 1 else self._part.name
        earlier = self._first_rows.setdefault(_identity(converted), (file, number))
        if earlier != (file, number):
            raise RowError(f"the same problem as row {earlier[1]}" + (f" of {earlier[0]}" * (earlier[0] != file)))
        return converted


def _check_answer(answer: str) -> None:
    try:
        if is_understood(answer):
            return
        reason = "math-verify cannot read it"
    except CallFailedError as error:
        reason = str(error)
    raise RowError(f"the answer {answer!r:.80} cannot be compared: {reason}")


def _identity(row: Mapping[str, Any]) -> str:
    """Return a hash of everything but the answer: equal for two rows of the same problem."""
    digest = hashlib.sha256()
    for name, value in row.items():
        if name == "images":
            for image in value:
                digest.update(hashlib.sha256(image["bytes"]).digest())
        elif name != "answer":
            digest.update(json.dumps(value).encode())
    return digest.hexdigest()


def _rows(file: Path) -> Iterator[Mapping[str, Any]]:
    if file.suffix != ".parquet":
        yield from _json_rows(file)
        return
    try:
        with pyarrow.parquet.ParquetFile(file) as opened:
            for batch in opened.iter_batches(batch_size=512):
                yield from batch.to_pylist()
    except (pyarrow.ArrowException, OSError, ValueError, OverflowError) as error:
        raise PreparationError(f"{file.name} is damaged ({error}): download it again") from None


def _json_rows(file: Path) -> Iterator[Mapping[str, Any]]:
    """Yield rows of a file of JSON lines, or of one list."""
    try:
        with file.open(encoding="utf-8") as opened:
            if opened.read(1) == "[":
                opened.seek(0)
                rows: Iterator[Any] = iter(json.load(opened))
            else:
                opened.seek(0)
                rows = (json.loads(line) for line in opened if line.strip())
            for number, row in enumerate(rows, start=1):
                if not isinstance(row, dict):
                    raise PreparationError(f"{file.name}, row {number} is not a JSON object: download it again")
                yield row
    except (ValueError, UnicodeDecodeError) as error:
        if isinstance(error, PreparationError):
            raise
        raise PreparationError(f"{file.name} is not JSON ({error}): download it again") from None


def _sha256(path: Path) -> str:
    digest = hashlib.sha256()
    with path.open("rb") as file:
        while chunk := file.read(_CHUNK):
            digest.update(chunk)
    return digest.hexdigest()


def _sync(path: Path) -> None:
    with path.open("rb") as file:
        os.fsync(file.fileno())
