"""Inspects data sets, model folders and verifiers without executing or unpickling them.

What this reads is other people's: `backend.files.resources.inspection` does it in a separate process.
"""

from __future__ import annotations

import ast
import json
from collections.abc import Collection, Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow
import pyarrow.parquet
from safetensors import SafetensorError, safe_open

from bapo.api.resources import ResourceKind, ResourcePreview
from bapo.config.descriptions import syntax_tree
from bapo.config.model_files import has_chat_template, lfs_pointer
from bapo.config.task import FileTaskConfig
from bapo.own_data.formats import MOST_READ_COLUMNS, MOST_ROWS, FormatError, read_single
from bapo.own_data.storable import storable
from bapo.tasks.problem_files import SOURCE_COLUMN

MOST_CHARACTERS = 2_000
"""Maximum length of a value in a preview."""
MOST_SOURCE_CHARACTERS = 100_000
MOST_CONFIG_BYTES = 2_000_000
"""Maximum size of a model's config.json, which is read within a request: JSON takes thirty times as much memory."""
MODEL_FIELDS = (
    "architectures",
    "model_type",
    "hidden_size",
    "num_hidden_layers",
    "num_attention_heads",
    "vocab_size",
    "max_position_embeddings",
    "dtype",
    "torch_dtype",
)


MOST_SHOWN_COLUMNS = 500
"""Maximum number of columns of a preview."""


class ContentError(ValueError):
    """A resource is not what its kind asks for; the message says what to do."""

    def __init__(self, remedy: str, *, field: str = "path", value: str | None = None) -> None:
        super().__init__(remedy)
        self.remedy, self.field, self.value = remedy, field, value


class Rows(NamedTuple):
    """Some rows of a data set."""

    columns: list[str]
    rows: list[list[Any]]


def details_of(path: Path, kind: ResourceKind, function: str | None) -> dict[str, Any]:
    """Return a resource's summary, ready to be stored. Raises ContentError if the file is not readable as its kind."""
    details: dict[str, Any] = storable(_details_of(path, kind, function))
    return details


def _details_of(path: Path, kind: ResourceKind, function: str | None) -> dict[str, Any]:
    match kind:
        case "dataset":
            columns, num_rows = _shape(path)
            _no_prompt_twice(path, columns)
            return {"columns": columns, "num_rows": num_rows, "num_bytes": path.stat().st_size}
        case "model":
            config = _model_config(path)
            known = {name: _cut(config[name]) for name in MODEL_FIELDS if name in config}
            if (remedy := lfs_pointer(path)) is not None:
                raise _refused(path, remedy)
            return known | {
                "num_parameters": _num_parameters(path),
                "num_bytes": _folder_bytes(path),
                "has_chat_template": has_chat_template(path),
            }
        case "verifier":
            return {"signature": _signature(path, function), "num_bytes": path.stat().st_size}


def preview(path: Path, kind: ResourceKind, *, offset: int, limit: int, num_rows: int | None) -> ResourcePreview:
    """Return rows of a data set, fields of a model's config, or the source of a verifier. Raises ContentError."""
    match kind:
        case "dataset":
            columns, rows = _rows(path, offset, limit)
            cut = [[_cut(value) for value in row[:MOST_SHOWN_COLUMNS]] for row in rows]
            shown = [storable(name) for name in columns[:MOST_SHOWN_COLUMNS]]
            return ResourcePreview(columns=shown, rows=cut, num_rows=num_rows, text=None)
        case "model":
            fields = [[name, _cut(value)] for name, value in sorted(_model_config(path).items())]
            return ResourcePreview(columns=["field", "value"], rows=fields, num_rows=len(fields), text=None)
        case "verifier":
            with path.open(encoding="utf-8", errors="replace") as file:
                text = file.read(MOST_SOURCE_CHARACTERS)
            return ResourcePreview(columns=[], rows=[], num_rows=None, text=text)


# ---------------------------------------------------------------- data sets


def _shape(path: Path) -> tuple[list[str], int]:
    if path.suffix.lower() == ".parquet":
        try:
            with pyarrow.parquet.ParquetFile(path) as file:
                if file.metadata.num_rows > MOST_ROWS:
                    raise _refused(
                        path, f"the file has {file.metadata.num_rows:,} rows: at most {MOST_ROWS:,} are read; split it"
                    )
                return _bounded(path, file.schema_arrow.names), file.metadata.num_rows
        except ContentError:
            raise
        except (pyarrow.ArrowException, OSError, ValueError, OverflowError) as error:
            raise _unreadable(path, error) from None
    num_rows = 0
    columns: dict[str, None] = {}
    for row in _json_rows(path):
        num_rows += 1
        columns.update(dict.fromkeys(row))
        _bounded(path, columns)
    if not num_rows:
        raise _refused(path, "the file has no rows: name a file with problems")
    return list(columns), num_rows


def _bounded(path: Path, columns: Collection[str]) -> list[str]:
    if len(columns) > MOST_READ_COLUMNS:
        raise _refused(path, f"the file has more than {MOST_READ_COLUMNS:,} columns: give each row the same ones")
    return list(columns)


def _no_prompt_twice(path: Path, columns: Sequence[str]) -> None:
    """Reject what a run would reject: in a file with the usual columns, the same prompt of a source in two rows."""
    usual = FileTaskConfig.model_fields
    prompt = usual["prompt_column"].default
    # With images, rows may share their text.
    if prompt not in columns or usual["image_column"].default in columns:
        return
    first_rows: dict[int, int] = {}
    for number, values in enumerate(_columns(path, [name for name in (prompt, SOURCE_COLUMN) if name in columns]), 1):
        earlier = first_rows.setdefault(hash(values), number)
        if earlier != number:
            remedy = f"rows {earlier} and {number} have the same prompt, by which a problem is known: remove one"
            raise _refused(path, remedy)


def _columns(path: Path, names: list[str]) -> Iterator[tuple[str, ...]]:
    """Yield the values of these columns, row by row, as texts."""
    if path.suffix.lower() != ".parquet":
        for row in _json_rows(path):
            yield tuple(str(row.get(name)) for name in names)
        return
    try:
        with pyarrow.parquet.ParquetFile(path) as file:
            for batch in file.iter_batches(batch_size=256, columns=names):
                yield from zip(*(map(str, batch[name].to_pylist()) for name in names), strict=True)
    except (pyarrow.ArrowException, OSError, ValueError, OverflowError) as error:
        raise _unreadable(path, error) from None


def _unreadable(path: Path, error: Exception) -> ContentError:
    return _refused(path, f"the file is not readable as parquet ({error}): write it again")


def _rows(path: Path, offset: int, limit: int) -> Rows:
    if path.suffix.lower() == ".parquet":
        return _parquet_rows(path, offset, limit)
    rows = list(islice(_json_rows(path), offset, offset + limit))
    columns = list(dict.fromkeys(name for row in rows for name in row))
    return Rows(columns, [[row.get(name) for name in columns] for row in rows])


def _parquet_rows(path: Path, offset: int, limit: int) -> Rows:
    try:
        with pyarrow.parquet.ParquetFile(path) as file:
            columns = list(file.schema_arrow.names)
            rows: list[list[Any]] = []
            skipped = 0
            for group in range(file.num_row_groups):
                size = file.metadata.row_group(group).num_rows
                if skipped + size <= offset:
                    skipped += size
                    continue
                for batch in file.iter_batches(batch_size=256, row_groups=[group]):
                    first = max(offset - skipped, 0)
                    part = batch.slice(first, limit - len(rows)).to_pylist() if first < batch.num_rows else []
                    rows += [[row[name] for name in columns] for row in part]
                    skipped += batch.num_rows
                    if len(rows) >= limit:
                        return Rows(columns, rows)
            return Rows(columns, rows)
    except (pyarrow.ArrowException, OSError, ValueError, OverflowError) as error:
        raise _unreadable(path, error) from None


def _json_rows(path: Path) -> Iterator[Mapping[str, Any]]:
    try:
        for row in read_single(path, ".jsonl"):
            if row.values is None:
                raise _refused(path, f"row {row.number}: {row.reason}: correct it")
            yield row.values
    except FormatError as error:
        raise _refused(path, str(error)) from None


def _cut(value: Any) -> Any:
    value = storable(value)
    text = value if isinstance(value, str) else json.dumps(value, default=str, ensure_ascii=False)
    if len(text) <= MOST_CHARACTERS:
        return value
    return f"{text[:MOST_CHARACTERS]} … ({len(text):,} characters)"


# ---------------------------------------------------------------- models and verifiers


def _model_config(path: Path) -> dict[str, Any]:
    file = path / "config.json"
    num_bytes = file.stat().st_size
    if num_bytes > MOST_CONFIG_BYTES:
        remedy = (
            f"config.json has {num_bytes:,} bytes, more than the {MOST_CONFIG_BYTES:,} of any model's: save it again"
        )
        raise _refused(path, remedy)
    try:
        config = json.loads(file.read_bytes())
    except (ValueError, RecursionError) as error:
        raise _refused(path, f"config.json is not JSON ({error}): download the model again") from None
    if not isinstance(config, dict) or "model_type" not in config:
        raise _refused(path, "config.json has no model_type: this is not a model in Hugging Face format")
    return config


def _num_parameters(path: Path) -> int | None:
    """Return the number of parameters from safetensors headers; `None` for other formats."""
    total = 0
    files = sorted(path.glob("*.safetensors"))
    for file in files:
        try:
            with safe_open(file, framework="numpy") as tensors:
                for name in tensors.keys():  # noqa: SIM118 - it is no dictionary
                    count = 1
                    for size in tensors.get_slice(name).get_shape():
                        count *= size
                    total += count
        except SafetensorError as error:
            raise _refused(path, f"{file.name} is not readable as safetensors ({error}): download it again") from None
    return total if files else None


def _folder_bytes(path: Path) -> int:
    return sum(file.stat().st_size for file in path.iterdir() if file.is_file())


def _signature(path: Path, function: str | None) -> str:
    """Return the function as its file declares it, read and not run."""
    if function is None:
        raise ContentError("name the function that verifies, such as reward", field="function")
    try:
        tree = syntax_tree(path.read_text(encoding="utf-8"))
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        raise _refused(path, f"the file is not valid Python ({error}): correct it") from None
    functions = {node.name: node for node in tree.body if isinstance(node, ast.FunctionDef)}
    if function not in functions:
        known = ", ".join(functions) or "none"
        remedy = f"the file has no function of that name (found: {known}): define `def {function}(problem, response)`"
        raise ContentError(remedy, field="function", value=function)
    arguments = functions[function].args
    num_needed = len(arguments.posonlyargs) + len(arguments.args) - len(arguments.defaults)
    if num_needed > 2 or (len(arguments.args) + len(arguments.posonlyargs) < 2 and arguments.vararg is None):
        remedy = f"a verifier takes two arguments: define `def {function}(problem, response)`"
        raise ContentError(remedy, field="function", value=function)
    return f"{function}({ast.unparse(arguments)})"


def _refused(path: Path, remedy: str) -> ContentError:
    return ContentError(remedy, value=str(path))
