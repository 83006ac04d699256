"""Makes the downloads of a run from its folder: one file each, the same bytes for the same content."""

from __future__ import annotations

import hashlib
import json
import os
import re
import tempfile
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path, PurePosixPath
from types import MappingProxyType
from typing import Any, BinaryIO, Literal, NamedTuple

import orjson

from bapo.config.toml_text import toml_text
from bapo.files.archive import ArchiveWriter, chunks
from bapo.files.safe_paths import OutsideError, files_inside, names_inside, open_inside
from bapo.run.checkpoint import CHECKPOINTS_FOLDER, MANIFEST_FILE, checkpoint_name
from bapo.run.control import CONTROL_FILE
from bapo.run.journal import RECORDS_FILE, SAMPLES_FILE
from bapo.run.line_reader import LOG_FILE
from bapo.run.run_folder import CONFIG_FILE, SUMMARY_FILE, write_atomically

ArtifactKind = Literal["checkpoint", "journal", "report", "config", "log", "samples"]

SUFFIXES: Mapping[ArtifactKind, str] = MappingProxyType(
    {
        "checkpoint": ".zip",
        "journal": ".zip",
        "report": ".html",
        "config": ".toml",
        "log": ".log",
        "samples": ".jsonl",
    }
)
MODEL_FOLDERS = (("model",), ("actor", "huggingface"))
"""Folders of the model in Hugging Face format in a checkpoint: of the local engine, and of verl."""
MODEL_SUFFIXES = frozenset({".json", ".safetensors", ".txt", ".model", ".jinja", ".md"})
"""Suffixes of such a model's files. Pickles are left out: loading one may run code."""
JOURNAL_FILES = (RECORDS_FILE, SAMPLES_FILE, LOG_FILE, SUMMARY_FILE)

DrawReport = Callable[[Path, Path], None]
"""Writes the report of a run folder into a file; raises ArtifactError where it cannot."""

_ATTEMPT = re.compile(r"attempt-\d{1,6}")
_UNSAFE = re.compile(r"[^A-Za-z0-9._-]+")
_MOST_NAME = 60
_MOST_MANIFEST_BYTES = 10_000_000


class ArtifactError(Exception):
    """An artifact cannot be made; the message is for people."""


class PackedFile(NamedTuple):
    """Size and checksum of a finished file."""

    num_bytes: int
    sha256: str


def file_name(run_name: str, run_id: str, kind: ArtifactKind, step: int | None) -> str:
    """Return the name of the download: letters, digits, dots and dashes only."""
    what = checkpoint_name(step) if step is not None else kind
    return f"{_stem(run_name, run_id)}-{what}{SUFFIXES[kind]}"


def _stem(run_name: str, run_id: str) -> str:
    short = _UNSAFE.sub("-", run_name)[:_MOST_NAME].strip("-.")
    return f"{short}-{run_id}" if short else run_id


def pack(
    run_folder: Path, kind: ArtifactKind, step: int | None, out: Path, *, draw_report: DrawReport | None = None
) -> PackedFile:
    """Write the artifact; a report is drawn by `draw_report`.

    Raises ArtifactError where the folder does not hold it, OSError where the disk refuses.
    """
    if not run_folder.is_dir() or run_folder.is_symlink():
        raise ArtifactError("the run's folder is no longer on this machine")
    top = out.stem
    try:
        match kind:
            case "checkpoint":
                assert step is not None, "checked where it was asked for"
                _pack_checkpoint(run_folder, step, top, out)
            case "journal":
                _pack_journal(run_folder, top, out)
            case "report":
                assert draw_report is not None, "who asks for reports can draw them"
                _write_report(run_folder, top, out, draw_report)
            case "config":
                out.write_text(toml_text(_config(run_folder)), encoding="utf-8")
            case "log":
                _join(run_folder, LOG_FILE, out, heading=True)
            case "samples":
                _join(run_folder, SAMPLES_FILE, out, heading=False)
    except OutsideError as error:
        raise ArtifactError(str(error)) from None
    with out.open("rb") as file:
        packed = PackedFile(out.stat().st_size, hashlib.file_digest(file, "sha256").hexdigest())
    write_atomically(_note(out), json.dumps(packed._asdict()).encode())
    return packed


def packed_as(out: Path) -> PackedFile | None:
    """Return size and checksum of a file that `pack` finished in an earlier process, or None."""
    try:
        packed = PackedFile(**json.loads(_note(out).read_bytes()))
        return packed if out.stat().st_size == packed.num_bytes else None
    except FileNotFoundError:
        return None


def _note(out: Path) -> Path:
    return out.with_name(f"{out.name}.packed.json")


# ---------------------------------------------------------------- checkpoints


def _pack_checkpoint(run_folder: Path, step: int, top: str, out: Path) -> None:
    """Pack the model in Hugging Face format, each file compared with the checkpoint's own checksum."""
    checkpoint = (CHECKPOINTS_FOLDER, checkpoint_name(step))
    try:
        with open_inside(run_folder, (*checkpoint, MANIFEST_FILE)) as file:
            manifest = orjson.loads(file.read(_MOST_MANIFEST_BYTES))
        checksums = {name: entry["sha256"] for name, entry in manifest["files"].items()}
    except FileNotFoundError:
        raise ArtifactError(f"the checkpoint of step {step} is gone: the run keeps only its newest") from None
    except (ValueError, KeyError, TypeError, AttributeError):
        raise ArtifactError(f"the checkpoint of step {step} is damaged: its manifest is not readable") from None
    model = _model_folder(run_folder, checkpoint, step)
    files = [found for found in files_inside(run_folder, model) if _suffix(found.parts) in MODEL_SUFFIXES]
    if not any(_suffix(found.parts) == ".safetensors" for found in files):
        raise ArtifactError(f"the checkpoint of step {step} holds no weights in safetensors format")
    with ArchiveWriter(out) as archive:
        for found in files:
            name = "/".join(found.parts[len(checkpoint) :])
            try:
                with open_inside(run_folder, found.parts) as file:
                    # Weights do not become smaller.
                    digest = archive.add("/".join((top, *found.parts[len(model) :])), file, compress=False)
            except FileNotFoundError:
                raise ArtifactError(f"the checkpoint of step {step} disappeared while it was packed") from None
            if digest != checksums.get(name):
                raise ArtifactError(f"the checkpoint of step {step} is damaged: {name} has another checksum")


def _model_folder(run_folder: Path, checkpoint: tuple[str, ...], step: int) -> tuple[str, ...]:
    for model in MODEL_FOLDERS:
        try:
            with open_inside(run_folder, (*checkpoint, *model, "config.json")):
                return (*checkpoint, *model)
        except FileNotFoundError:
            continue
    raise ArtifactError(f"the checkpoint of step {step} holds no model in Hugging Face format")


def _suffix(parts: tuple[str, ...]) -> str:
    return PurePosixPath(parts[-1]).suffix.lower()


# ---------------------------------------------------------------- text


def _pack_journal(run_folder: Path, top: str, out: Path) -> None:
    """Pack config, requests and all files of all attempts: a folder that `bapo import` takes."""
    with ArchiveWriter(out) as archive:
        for name, file, num_bytes in _journal(run_folder):
            archive.add(f"{top}/{name}", file, num_bytes)


def _journal(run_folder: Path) -> Iterator[tuple[str, BinaryIO, int]]:
    """Name, content and size, as of now, of each file: a trainer may go on writing."""
    names: list[tuple[str, ...]] = [(CONFIG_FILE,), (CONTROL_FILE,)]
    names += [(attempt, name) for attempt in _attempts(run_folder) for name in JOURNAL_FILES]
    for parts in names:
        try:
            file = open_inside(run_folder, parts)
        except FileNotFoundError:
            if parts == (CONFIG_FILE,):
                raise ArtifactError("the run has not started: there is no journal yet") from None
            continue
        with file:
            yield "/".join(parts), file, os.fstat(file.fileno()).st_size


def _attempts(run_folder: Path) -> list[str]:
    found = [name for name in names_inside(run_folder) if _ATTEMPT.fullmatch(name)]
    return sorted(found, key=lambda name: int(name.removeprefix("attempt-")))


def _write_report(run_folder: Path, top: str, out: Path, draw: DrawReport) -> None:
    """Write the report of a copy of the journal, taken safely: nothing outside the run's folder can get into it."""
    with tempfile.TemporaryDirectory(dir=out.parent) as folder:
        copy = Path(folder) / top
        for name, file, num_bytes in _journal(run_folder):
            target = copy / name
            target.parent.mkdir(parents=True, exist_ok=True)
            with target.open("wb") as output:
                for chunk in chunks(file, num_bytes):
                    output.write(chunk)
        draw(copy, out)


def _config(run_folder: Path) -> dict[str, Any]:
    try:
        with open_inside(run_folder, (CONFIG_FILE,)) as file:
            config: dict[str, Any] = orjson.loads(file.read(_MOST_MANIFEST_BYTES))
    except FileNotFoundError:
        raise ArtifactError("the run has not started: its folder holds no config yet") from None
    except ValueError:
        raise ArtifactError("the run's config is damaged") from None
    return config


def _join(run_folder: Path, name: str, out: Path, *, heading: bool) -> None:
    """Join one file of all attempts, one after the other."""
    with out.open("wb") as output:
        for attempt in _attempts(run_folder):
            try:
                file = open_inside(run_folder, (attempt, name))
            except FileNotFoundError:
                continue
            with file:
                if heading:
                    output.write(f"===== {attempt} =====\n".encode())
                for chunk in chunks(file, os.fstat(file.fileno()).st_size):
                    output.write(chunk)
