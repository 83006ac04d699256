"""Unpacks an uploaded model and checks it, without loading it: weights as safetensors, never as pickle."""

from __future__ import annotations

import hashlib
import json
import shutil
import zipfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from pydantic import BaseModel

from backend.kit.errors import Problem
from backend.resources import contents
from bapo.config.model_files import outside_file
from bapo.files.archive import ArchiveError, ArchiveLimits, unpack
from bapo.files.safe_paths import files_inside

ENDINGS = frozenset({".safetensors", ".json", ".txt", ".model", ".jinja", ".md", ""})
"""Of files that a model may bring; a name without an ending is a licence or a readme."""
PICKLES = frozenset({".bin", ".pt", ".pth", ".pkl", ".pickle", ".ckpt"})
INDEX = "model.safetensors.index.json"
_BESIDE = "__MACOSX"
"""Folder that an operating system adds to archives."""


class ModelFile(BaseModel):
    """A file of a model."""

    name: str
    sha256: str
    num_bytes: int


class ModelResult(BaseModel):
    """What an uploaded model is, or why it is not taken."""

    path: Path | None = None
    files: Sequence[ModelFile] = ()
    details: Mapping[str, Any] = {}
    problem: str | None = None


def unpack_model(path: Path, out: Path, most_bytes: int) -> ModelResult:
    """Unpack the archive into `out`; a folder around all files is left away. What stood there goes first."""
    shutil.rmtree(out, ignore_errors=True)
    out.mkdir(parents=True)
    try:
        unpack(path, out, ArchiveLimits(num_bytes=most_bytes))
        folder = _model_folder(out)
        return ModelResult(path=folder, files=_files(folder), details=_details(folder))
    except (ArchiveError, Problem) as error:
        problem = error.remedy if isinstance(error, Problem) else str(error)
    except (OSError, zipfile.BadZipFile) as error:
        problem = f"the archive cannot be unpacked: {error}"
    shutil.rmtree(out, ignore_errors=True)
    return ModelResult(problem=problem)


def _model_folder(out: Path) -> Path:
    shutil.rmtree(out / _BESIDE, ignore_errors=True)
    inside = list(out.iterdir())
    folder = inside[0] if len(inside) == 1 and inside[0].is_dir() else out
    if not (folder / "config.json").is_file():
        raise ArchiveError("the archive has no config.json: pack a model's folder in Hugging Face format")
    names = ["/".join(found.parts) for found in files_inside(folder)]
    for name in names:
        ending = Path(name).suffix.lower()
        if ending in PICKLES:
            raise ArchiveError(f"{name} is a pickle, which can run programs: save the weights as safetensors")
        if ending not in ENDINGS:
            raise ArchiveError(f"{name} is no file of a model: leave it out of the archive")
    if not any(name.endswith(".safetensors") for name in names):
        raise ArchiveError("the archive has no weights: save them as safetensors")
    missing = _missing_shards(folder)
    if missing:
        raise ArchiveError(f"{INDEX} names {missing[0]}, which is not there: all shards belong to the model")
    if (remedy := outside_file(folder)) is not None:
        raise ArchiveError(remedy)
    return folder


def _missing_shards(folder: Path) -> list[str]:
    """Files that the index of the weights names, and that are not there."""
    index = folder / INDEX
    if not index.is_file():
        return []
    try:
        named = set(json.loads(index.read_bytes())["weight_map"].values())
    except (ValueError, KeyError, TypeError, AttributeError):
        raise ArchiveError(f"{INDEX} cannot be read: save the model again") from None
    return sorted(str(name) for name in named if not (folder / str(name)).is_file())


def _details(folder: Path) -> Mapping[str, Any]:
    return contents.details_of(folder, "model", None)


def _files(folder: Path) -> list[ModelFile]:
    found = []
    for each in files_inside(folder):
        with folder.joinpath(*each.parts).open("rb") as file:
            digest = hashlib.file_digest(file, "sha256").hexdigest()
        found.append(ModelFile(name="/".join(each.parts), sha256=digest, num_bytes=each.num_bytes))
    return found
