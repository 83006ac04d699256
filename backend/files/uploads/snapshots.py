"""Several files of a repository of the hub as one archive: a model with its shards, or a data set in parts."""

from __future__ import annotations

import io
import json
import re
import stat
import zipfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import PurePosixPath
from typing import Any
from urllib.parse import quote

from backend.files.uploads.models import ENDINGS as MODEL_ENDINGS
from backend.files.uploads.sources import Hub, Repository, Source, SourceError, is_plain, new_deadline, opened
from backend.outbound.addresses import AddressPolicy, Resolver
from bapo.own_data.formats import DATA_ENDINGS

MOST_LISTING_BYTES = 16 * 1024**2
MOST_FILES = 2_000
_EPOCH = (1980, 1, 1, 0, 0, 0)
_FILE = (stat.S_IFREG | 0o644) << 16
_SHARD = re.compile(r"[-_.]\d+([-_]of[-_]\d+)?$")


@dataclass(frozen=True)
class HubFile:
    """A file of a repository."""

    path: str
    num_bytes: int


@dataclass(frozen=True)
class Snapshot:
    """Files of one commit that are fetched together."""

    commit: str
    files: Sequence[HubFile]

    @property
    def ending(self) -> str:
        """Ending of the names of a data set's files."""
        return PurePosixPath(self.files[0].path).suffix.lower()

    @property
    def num_bytes(self) -> int:
        """Size of all files, in bytes."""
        return sum(each.num_bytes for each in self.files)


def listed(wanted: Repository, hub: Hub, policy: AddressPolicy, resolver: Resolver) -> Snapshot:
    """Ask the hub for the files of the revision, and choose. Raises SourceError where none can be used."""
    kind = "datasets" if wanted.kind == "dataset" else "models"
    base = hub.url.rstrip("/")
    url = f"{base}/api/{kind}/{wanted.name}/revision/{quote(wanted.revision, safe='')}?blobs=true"
    content = bytearray()
    with opened(url, policy, resolver, hub) as answer:
        for piece in answer.parts:
            content += piece
            if len(content) > MOST_LISTING_BYTES:
                raise SourceError(f"{_named(wanted)}: the list of its files is too long: name a file of it")
    try:
        listing = json.loads(content)
        files = [HubFile(str(each["rfilename"]), int(each.get("size") or 0)) for each in listing["siblings"]]
        commit = str(listing["sha"])
    except (ValueError, KeyError, TypeError) as error:
        raise SourceError(
            f"{_named(wanted)}: {base} answers no list of files: is BAPO_UPLOAD_HUB_URL a hub?"
        ) from error
    if strange := next((each.path for each in files if not is_plain(each.path)), None):
        raise SourceError(f"{_named(wanted)}: {base} lists {strange!r}, which is no file of it: name a file of it")
    chosen = sorted(_chosen(wanted, files), key=lambda each: each.path)
    if len(chosen) > MOST_FILES:
        raise SourceError(
            f"{_named(wanted)} has {len(chosen):,} files, at most {MOST_FILES:,} are fetched: name a folder"
        )
    return Snapshot(commit, chosen)


def _named(wanted: Repository) -> str:
    return f"url = {wanted.at(wanted.revision)!r}"


def _chosen(wanted: Repository, files: Sequence[HubFile]) -> list[HubFile]:
    if wanted.kind == "model":
        return _of_model(wanted, files)
    endings = ", ".join(DATA_ENDINGS)
    usable = [each for each in files if PurePosixPath(each.path).suffix.lower() in DATA_ENDINGS]
    inside = [each for each in usable if _is_inside(each.path, wanted.folder)]
    if not inside:
        there = f"; it has {_some([each.path for each in usable])}" if usable else ""
        raise SourceError(f"{_named(wanted)}: no file there ends in {endings}{there}")
    sets = {_set_of(each.path) for each in inside}
    if len(sets) > 1:
        patterns = _some([f"{stem}*{ending}" for stem, ending in sorted(sets)])
        raise SourceError(f"{_named(wanted)} holds several sets of files: name one of them, such as {patterns}")
    if len(inside) > 1 and next(iter(sets))[1] == ".csv":
        raise SourceError(f"{_named(wanted)}: CSV in several files is not joined: name one of them")
    return inside


def _of_model(wanted: Repository, files: Sequence[HubFile]) -> list[HubFile]:
    folder = PurePosixPath(wanted.folder)
    inside = [each for each in files if PurePosixPath(each.path).parent == folder]
    # Weights once: some repositories have them in a second form.
    chosen = [
        each
        for each in inside
        if (name := PurePosixPath(each.path)).suffix.lower() in MODEL_ENDINGS
        and not name.name.startswith((".", "consolidated"))
    ]
    names = {PurePosixPath(each.path).name for each in chosen}
    if not any(name.endswith(".safetensors") for name in names):
        others = _some([each.path for each in inside if each not in chosen])
        raise SourceError(f"{_named(wanted)} has no weights as safetensors{f', but {others}' if others else ''}")
    if "config.json" not in names:
        raise SourceError(f"{_named(wanted)} has no config.json: name a model in Hugging Face format")
    return chosen


def _is_inside(path: str, folder: str) -> bool:
    return fnmatchcase(path, folder) if "*" in folder else not folder or path.startswith(f"{folder}/")


def _set_of(path: str) -> tuple[str, str]:
    """Return the common part of the names in a set of files: the name without its number, and the ending."""
    name = PurePosixPath(path)
    return _SHARD.sub("", str(name.with_suffix(""))), name.suffix.lower()


def _some(names: Sequence[str]) -> str:
    return ", ".join(names[:4]) + (", …" if len(names) > 4 else "")


@contextmanager
def archived(
    wanted: Repository, found: Snapshot, hub: Hub, policy: AddressPolicy, resolver: Resolver
) -> Iterator[Source]:
    """Yield all files as one archive that is not packed, as it arrives. Raises SourceError, also while it is read."""
    yield Source(found.num_bytes, _archive(wanted, found, hub, policy, resolver))


def _archive(
    wanted: Repository, found: Snapshot, hub: Hub, policy: AddressPolicy, resolver: Resolver
) -> Iterator[bytes]:
    written, deadline = _Pieces(), new_deadline()
    with zipfile.ZipFile(written, "w", allowZip64=True) as archive:
        for number, each in enumerate(found.files):
            # Parts of a data set in their order; a model's files by their names.
            name = PurePosixPath(each.path).name if wanted.kind == "model" else f"{number:05d}{found.ending}"
            info = zipfile.ZipInfo(name, _EPOCH)
            info.external_attr = _FILE
            url = f"{hub.url.rstrip('/')}/{wanted.path}/resolve/{found.commit}/{quote(each.path)}"
            with (
                opened(url, policy, resolver, hub, deadline) as source,
                archive.open(info, "w", force_zip64=True) as member,
            ):
                num_bytes = 0
                for piece in source.parts:
                    num_bytes += len(piece)
                    member.write(piece)
                    yield written.taken()
                if num_bytes != each.num_bytes:
                    raise SourceError(
                        f"{each.path} has {num_bytes:,} bytes, the hub says {each.num_bytes:,}: try again"
                    )
    yield written.taken()


class _Pieces(io.RawIOBase):
    """Content written since the last read; seeking is not supported."""

    def __init__(self) -> None:
        self._content = bytearray()

    def writable(self) -> bool:
        return True

    def write(self, content: Any) -> int:
        self._content += content
        return len(content)

    def taken(self) -> bytes:
        """Return all content written since the last call."""
        content, self._content = bytes(self._content), bytearray()
        return content
