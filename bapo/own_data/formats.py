"""Reads rows of files that people bring; a row that cannot be read does not end it."""

from __future__ import annotations

import csv
import json
import shutil
import tempfile
import threading
import zipfile
import zlib
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow
import pyarrow.parquet

from bapo.config.model_files import LFS_POINTER
from bapo.files.column_paths import leaf_paths, value_at
from bapo.own_data.report import DataPreview
from bapo.own_data.result_marks import MARKS, column_value
from bapo.own_data.storable import is_deeper, storable

DATA_ENDINGS = (".jsonl", ".csv", ".parquet")
LONGEST_LINE = 10_000_000
"""Bytes of a row that are read."""
PREVIEW_ROWS = 10
MOST_CHARACTERS = 500
"""Most characters of a value in a preview."""
MOST_COLUMNS = 500
"""Most columns of a preview."""
MOST_READ_COLUMNS = 10_000
"""Most columns of a file."""
LONGEST_NAME = 300
"""Most characters of a column's name in a preview."""
MOST_ROWS = 20_000_000
"""Rows of a file that are read: a Parquet file of some kilobytes can hold any number of empty ones."""
MOST_LEVELS = 50
"""Most levels of nested lists and structures."""
_TOO_DEEP = f"lists or structures lie more than {MOST_LEVELS} deep within one another"
MOST_DIGITS = 4_300
"""Most digits of a whole number that Python reads."""
_PARQUET = b"PAR1"
_ZIP = b"PK\x03\x04"
_LOOKED_AT = 65_536
"""Bytes at the beginning of a file by which its format is known."""
_OTHERS: Mapping[bytes, str] = {
    b"\x1f\x8b": "a gzip archive: unpack it first",
    b"PK\x03\x04": "a zip archive or a spreadsheet: unpack it, or save the sheet as CSV",
    b"\x28\xb5\x2f\xfd": "a zstd archive: unpack it first",
    b"%PDF": "a PDF",
    b"\xd0\xcf\x11\xe0": "an old spreadsheet: save it as CSV",
    b"\x80": "a pickle, which is never read: export the rows as JSONL",
}


class FormatError(ValueError):
    """The file is not what its name says; the message says why, and what to do."""


class ReadRow(NamedTuple):
    """A row of a file."""

    number: int
    """Line of a JSONL or CSV file, row of a Parquet file; from 1."""
    values: Mapping[str, Any] | None
    """`None` if the row cannot be read."""
    reason: str = ""


def check_beginning(ending: str, content: bytes) -> None:
    """Raise FormatError where a file that begins so is not of the format that its name says."""
    if content.startswith(LFS_POINTER):
        raise FormatError("this is a Git LFS pointer, not the file itself: run `git lfs pull` where it was cloned")
    if ending == ".parquet":
        if not content.startswith(_PARQUET):
            raise FormatError("this is no Parquet file: it does not begin with PAR1; rename it, or write it again")
        return
    kind = next((kind for mark, kind in _OTHERS.items() if content.startswith(mark)), None)
    if content.startswith(_PARQUET):
        kind = "a Parquet file: let its name end in .parquet"
    if kind is not None:
        raise FormatError(f"the name ends in {ending}, but this is {kind}")
    beginning = content[:_LOOKED_AT]
    if b"\0" in beginning:
        raise FormatError(f"the name ends in {ending}, but this is no UTF-8 text: save it as UTF-8")
    try:
        # The last letter may be cut.
        beginning.decode("utf-8-sig", "strict")
    except UnicodeDecodeError as error:
        if error.start < len(beginning) - 4:
            raise FormatError(f"the text is not UTF-8 (byte {error.start}): save it as UTF-8") from None
    if ending == ".jsonl" and beginning.removeprefix(b"\xef\xbb\xbf").lstrip()[:1] == b"[":
        raise FormatError("this is one JSON array: write one object per line (`jq -c '.[]' FILE`)")


def read(path: Path, ending: str) -> Iterator[ReadRow]:
    """Yield every row. Raises FormatError where the file as a whole cannot be read.

    An archive holds a data set in parts, as the server has fetched them; users do not send one: see `check_beginning`.
    """
    with path.open("rb") as file:
        is_archive = file.read(len(_ZIP)) == _ZIP
    return _rows_of_parts(path, ending) if is_archive else read_single(path, ending)


def read_single(path: Path, ending: str) -> Iterator[ReadRow]:
    """Yield every row of a file that is no archive. Raises FormatError where the file as a whole cannot be read."""
    with path.open("rb") as file:
        check_beginning(ending, file.read(_LOOKED_AT))
    match ending:
        case ".parquet":
            return _parquet_rows(path)
        case ".csv":
            return _csv_rows(path)
        case _:
            return _json_rows(path)


def _rows_of_parts(path: Path, ending: str) -> Iterator[ReadRow]:
    """Yield the rows of all parts, counted through; one part at a time lies on the disk."""
    before = 0
    try:
        archive = zipfile.ZipFile(path)
    except zipfile.BadZipFile as error:
        raise FormatError(f"the archive cannot be read ({error}): fetch it again") from None
    with archive, tempfile.TemporaryDirectory(dir=path.parent) as folder:
        for number, info in enumerate(archive.infolist()):
            part = Path(folder) / f"part{ending}"
            try:
                with archive.open(info) as packed, part.open("wb") as file:
                    shutil.copyfileobj(packed, file)
            except (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError) as error:
                raise FormatError(
                    f"file {number + 1} of the archive cannot be read ({error}): fetch it again"
                ) from None
            last = 0
            for row in _rows_of_part(part, ending, number):
                last = row.number
                yield row._replace(number=before + last)
            before += last


def _rows_of_part(part: Path, ending: str, number: int) -> Iterator[ReadRow]:
    try:
        yield from read_single(part, ending)
    except FormatError as error:
        raise FormatError(f"file {number + 1}: {error}") from None


def preview(path: Path, ending: str) -> DataPreview:
    """Return the first rows that can be read. Raises FormatError where there is none."""
    rows = []
    problem = "the file has no rows: give a file with problems"
    for row in read(path, ending):
        if row.values is not None:
            rows.append(row.values)
        elif not rows:
            problem = f"row {row.number}: {row.reason}"
        if len(rows) == PREVIEW_ROWS:
            break
    if not rows:
        raise FormatError(problem)
    columns = _columns(rows)
    shown = [[_shown(column_value(row, name)) for name in columns] for row in rows]
    return DataPreview(columns=[storable(name) for name in columns], rows=shown)


def _columns(rows: Sequence[Mapping[str, Any]]) -> list[str]:
    """Return the parts of all rows by their paths, each followed by results that most of its texts mark."""
    paths = (path for row in rows for path in leaf_paths(row) if len(path) <= LONGEST_NAME)
    found = list(dict.fromkeys(paths))
    columns = []
    for path in found[:MOST_COLUMNS]:
        columns.append(path)
        texts = [text for row in rows if isinstance(text := value_at(row, path), str)]
        columns += [f"{path}{mark}" for mark, of in MARKS.items() if 2 * sum(map(bool, map(of, texts))) > len(rows)]
    return columns


def _shown(value: Any) -> Any:
    plain = storable(value)
    text = plain if isinstance(plain, str) else json.dumps(plain, default=str, ensure_ascii=False)
    return plain if len(text) <= MOST_CHARACTERS else f"{text[:MOST_CHARACTERS]} … ({len(text):,} characters)"


def _json_rows(path: Path) -> Iterator[ReadRow]:
    number = 0
    with path.open("rb") as lines:
        while line := lines.readline(LONGEST_LINE):
            number += 1
            if len(line) == LONGEST_LINE and not line.endswith(b"\n"):
                raise FormatError(f"line {number} is longer than {LONGEST_LINE:,} bytes: write one object per line")
            if not line.strip():
                continue
            try:
                values = json.loads(line.removeprefix(b"\xef\xbb\xbf") if number == 1 else line)
            except RecursionError:
                yield ReadRow(number, None, _TOO_DEEP)
                continue
            except json.JSONDecodeError as error:
                yield ReadRow(number, None, f"this is not JSON ({str(error)[:200]})")
                continue
            except ValueError as error:
                # Python reads no longer ones; what else is no JSON comes as the exception above, or is no UTF-8.
                is_text = not isinstance(error, UnicodeDecodeError)
                why = (
                    f"a number has more than {MOST_DIGITS:,} digits" if is_text else "it holds bytes that are no UTF-8"
                )
                yield ReadRow(number, None, why)
                continue
            # Few rows have so many brackets, and only they are searched.
            if line.count(b"[") + line.count(b"{") > MOST_LEVELS and is_deeper(values, MOST_LEVELS):
                yield ReadRow(number, None, _TOO_DEEP)
            elif isinstance(values, dict):
                yield ReadRow(number, values)
            else:
                yield ReadRow(number, None, "this is not a JSON object")


_FIELD_LIMIT = threading.Lock()


def _next_of_long(rows: Iterator[list[str]]) -> list[str] | None:
    """Return the next row, whose fields may be as long as a row; None after the last.

    The limit is the whole process's, so it is raised only while a row of this reader is read.
    """
    with _FIELD_LIMIT:
        usual = csv.field_size_limit(LONGEST_LINE)
        try:
            return next(rows, None)
        finally:
            csv.field_size_limit(usual)


def _csv_rows(path: Path) -> Iterator[ReadRow]:
    with path.open(encoding="utf-8-sig", errors="replace", newline="") as file:
        rows = csv.reader(file, delimiter=_delimiter(file.readline()))
        file.seek(0)
        try:
            head = _next_of_long(rows) or []
            _check_head(head)
            begin = rows.line_num + 1
            while (values := _next_of_long(rows)) is not None:
                number, begin = begin, rows.line_num + 1
                if not values:
                    continue
                if len(values) != len(head):
                    yield ReadRow(number, None, f"it has {len(values)} fields, where the head names {len(head)}")
                elif any("\ufffd" in value for value in values):
                    yield ReadRow(number, None, "it holds bytes that are no UTF-8 text")
                else:
                    yield ReadRow(number, dict(zip(head, values, strict=True)))
        except csv.Error as error:
            raise FormatError(f"line {rows.line_num}: this is not readable as CSV ({error}): correct it") from None


def _delimiter(head: str) -> str:
    return max(",;\t", key=head.count)


def _check_head(head: Sequence[str]) -> None:
    names = [name.strip() for name in head]
    if not any(names):
        raise FormatError("the file has no rows: give a CSV file whose first line names the columns")
    if len(names) > MOST_READ_COLUMNS:
        raise FormatError(f"the first line names {len(names):,} columns: at most {MOST_READ_COLUMNS:,} are read")
    counts = Counter(names)
    twice = next((name for name in names if not name or counts[name] > 1), None)
    if twice is not None:
        raise FormatError(f"the first line must name each column once, not {twice!r}: correct it")


def _parquet_rows(path: Path) -> Iterator[ReadRow]:
    number = 0
    try:
        with pyarrow.parquet.ParquetFile(path) as file:
            if file.metadata.num_rows > MOST_ROWS:
                raise FormatError(
                    f"the file has {file.metadata.num_rows:,} rows: at most {MOST_ROWS:,} are read; split it"
                )
            for batch in file.iter_batches(batch_size=256):
                for values in batch.to_pylist():
                    number += 1
                    yield ReadRow(number, values)
    except FormatError:
        raise
    except (pyarrow.ArrowException, OSError, ValueError, MemoryError, OverflowError) as error:
        where = f" after row {number}" if number else ""
        raise FormatError(f"the file is not readable as Parquet{where} ({str(error)[:300]}): write it again") from None
