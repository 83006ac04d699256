"""Collects facts about a server and this machine. Changes nothing."""

from __future__ import annotations

import shutil
import stat
import subprocess
import sys
import time
from collections.abc import Iterator
from http import HTTPStatus
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import httpx
from pydantic import ValidationError

from bapo import __version__
from bapo.api.service import Readiness, SecretFile
from bapo.api.workers import AssignedRunsRequest
from bapo.client import ApiError, BapoError, Client, InvalidRequestError, UnreachableError
from bapo.client.connection_failures import advice_for
from bapo.client.core import blocking_http
from bapo.config import ConfigError
from bapo.deploy.doctor import judgements
from bapo.deploy.doctor.check_result import CheckResult, failure, note, ok, skipped, warning
from bapo.deploy.doctor.judgements import Installation, PageHeaders
from bapo.deploy.settings import unknown_variables
from bapo.engines.verl.versions import check_versions
from bapo.run import nvidia_smi

TIMEOUT_SECONDS = 10.0


def server(url: str, token: str | None) -> Iterator[CheckResult]:
    """Check a server from this machine."""
    try:
        with blocking_http(url, TIMEOUT_SECONDS, path="") as http:
            yield from _outside(url, http)
        if token is None:
            yield skipped("server internals", "no token: give --token-file, or log in with `bapo login`")
        else:
            yield from _inside(url, token)
    except InvalidRequestError as error:
        yield failure("server", f"{error.field} = {error.value!r} cannot be used", error.remedy)
    except (httpx.RequestError, BapoError) as error:
        cause = error.cause if isinstance(error, UnreachableError) else str(error)
        yield failure("server", f"{url} does not answer ({cause})", advice_for(url, cause).remedy)


def _outside(url: str, http: httpx.Client) -> Iterator[CheckResult]:
    health = http.get("/healthz")
    try:
        server_version = str(health.json()["version"])
    except (ValueError, KeyError, TypeError):
        yield failure(
            "server",
            f"{url} answered {health.status_code}, which is not the answer of a BAPO server",
            "check the address, and that the proxy forwards /healthz, /readyz and /api; a refused host name must be "
            "added to BAPO_ALLOWED_HOSTS",
        )
        return
    yield ok("server", f"{url} answers")
    yield judgements.versions(server_version, __version__)
    yield from _ready(http)
    yield from judgements.page(_page(http), url)


def _ready(http: httpx.Client) -> Iterator[CheckResult]:
    answer = http.get("/readyz")
    try:
        yield from judgements.readiness(Readiness.model_validate_json(answer.content, extra="ignore"))
    except ValidationError:
        yield skipped("ready", f"/readyz answered {answer.status_code}: a server before this version has none")


def _page(http: httpx.Client) -> PageHeaders:
    answer = http.get("/login", follow_redirects=True)
    return PageHeaders(answer.status_code, {name.lower(): value for name, value in answer.headers.items()})


def _inside(url: str, token: str) -> Iterator[CheckResult]:
    with Client(url, token=token, timeout_seconds=TIMEOUT_SECONDS) as client:
        try:
            me = client.me()
        except ApiError as error:
            if error.status == HTTPStatus.FORBIDDEN:
                # No person's token, then.
                yield judgements.token_on_the_way(url)
                yield _as_worker(client)
            else:
                yield failure("login", str(error.body.remedy), "get a new token with `bapo login`")
            return
        yield ok("login", f"as {me.name}, {me.role}")
        yield judgements.stream(_first_byte(client))
        try:
            found = client.diagnosis()
        except ApiError as error:
            yield judgements.no_diagnosis(error.body.remedy)
            return
    yield from judgements.diagnosis(found, url)


def _as_worker(client: Client) -> CheckResult:
    try:
        client.wait_for_runs(AssignedRunsRequest(worker_id="", wait_seconds=0.0))
    except ApiError as error:
        return judgements.worker_token(error.status, error.remedy)
    raise AssertionError("no worker is without an identifier")


def _first_byte(client: Client) -> float | None:
    """Return the seconds until an event stream begins; None where it does not."""
    begin = time.monotonic()
    try:
        with client.http.stream("GET", "/events", headers={"Accept": "text/event-stream"}) as response:
            for _ in response.iter_raw():
                return time.monotonic() - begin
    except httpx.TransportError:
        return None
    return None


def local(data: Path) -> Iterator[CheckResult]:
    """Check this machine: packages, environment, and the data folder of `bapo up`."""
    yield ok("Python", f"{sys.version.split()[0]}, bapo {__version__}")
    yield from judgements.installation(installed())
    lines = unknown_variables()
    yield from (warning("environment", line, "correct the name, or unset it") for line in lines)
    if not data.exists():
        yield note("data folder", f"{data} does not exist: `bapo up` creates it")
        return
    tokens = [data / name for name in ("admin-token", "worker-token")]
    found = [SecretFile(path=str(file), mode=_mode(file)) for file in tokens if file.exists()]
    yield from judgements.secret_files(found)
    yield judgements.disk("disk of the data folder", shutil.disk_usage(data).free)


def _mode(file: Path) -> str:
    return f"{stat.S_IMODE(file.stat().st_mode):o}"


def installed() -> Installation:
    """Return packages and GPUs of this machine; PyTorch is imported in a separate process."""
    torch, verl = _version("torch"), _version("verl")
    gpus = [name for (name,) in nvidia_smi.query("name")]
    problem = None
    if verl is not None:
        try:
            check_versions()
        except ConfigError as error:
            problem = str(error)
    return Installation(gpus, torch, _torch_sees_cuda() if torch is not None and gpus else None, verl, problem)


def _version(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None


def _torch_sees_cuda() -> bool:
    code = "import sys, torch; sys.exit(not torch.cuda.is_available())"
    return subprocess.run([sys.executable, "-c", code], capture_output=True, check=False).returncode == 0
