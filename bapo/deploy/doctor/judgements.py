"""Rates facts about a deployment. Pure functions, with every threshold."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from http import HTTPStatus
from urllib.parse import urlsplit

from bapo.api.service import (
    BrokerFacts,
    DatabaseFacts,
    Diagnosis,
    FolderFacts,
    Readiness,
    SecretFile,
    SingleSignOnFacts,
    WorkerFacts,
)
from bapo.deploy.doctor.check_result import CheckResult, failure, note, ok, skipped, warning
from bapo.deploy.settings import LOOPBACK_HOSTS, is_this_machine

CONNECTIONS_WARNING = 0.8
CONNECTIONS_FAILURE = 0.95
DISK_WARNING_BYTES = 20e9
DISK_FAILURE_BYTES = 2e9
MEMORY_WARNING = 0.8
CLOCK_WARNING_SECONDS = 2.0
CLOCK_FAILURE_SECONDS = 30.0
OLDEST_POSTGRES = 15
STREAM_SECONDS = 3.0
"""The first byte of an event stream is sent at once; if it arrives later, a proxy buffers it."""


def versions(server: str, ours: str) -> CheckResult:
    """Judge the versions of the server and of this command."""
    if server.split(".")[:2] == ours.split(".")[:2]:
        return ok("versions", f"server and this command are {server}")
    return warning(
        "versions", f"the server is {server}, this command {ours}", "install the same version on both; the server first"
    )


def readiness(found: Readiness) -> Iterator[CheckResult]:
    """Judge the server's own answer."""
    for check in found.checks:
        name = f"ready: {check.name}"
        yield ok(name, check.message) if check.ok else failure(name, "not ready", check.message)


def database(facts: DatabaseFacts) -> Iterator[CheckResult]:
    """Judge PostgreSQL: version, schema, free connections."""
    major = int(facts.version.split(".")[0])
    if major < OLDEST_POSTGRES:
        yield failure("database version", f"PostgreSQL {facts.version}", f"use PostgreSQL {OLDEST_POSTGRES} or newer")
    else:
        yield ok("database version", f"PostgreSQL {facts.version}, {_bytes(facts.size_bytes)}")
    if facts.revision == facts.needed_revision:
        yield ok("database schema", f"at {facts.revision}")
    else:
        yield failure(
            "database schema",
            f"at {facts.revision}, the server needs {facts.needed_revision}",
            "run `python -m backend migrate`, then restart the server",
        )
    share = facts.connections / facts.max_connections
    used = f"{facts.connections} of {facts.max_connections} connections in use"
    remedy = "raise max_connections (25 for each backend, and some), or end what else is connected"
    if share >= CONNECTIONS_FAILURE:
        yield failure("database connections", used, remedy)
    elif share >= CONNECTIONS_WARNING:
        yield warning("database connections", used, remedy)
    else:
        yield ok("database connections", used)


def broker(facts: BrokerFacts) -> Iterator[CheckResult]:
    """Judge Redis: reachable, never evicting messages, able to write."""
    if not facts.reachable:
        yield failure(
            "broker",
            f"Redis does not answer: {facts.problem}",
            "start it; check BAPO_BROKER_URL and its password. Until it is back, only workers over HTTPS get runs",
        )
        return
    yield ok("broker", f"Redis {facts.version} answers")
    policy = facts.maxmemory_policy
    if policy in (None, "noeviction"):
        yield ok("broker policy", "noeviction")
    else:
        yield failure("broker policy", f"maxmemory-policy is {policy}", "set maxmemory-policy noeviction in redis.conf")
    most, used = facts.maxmemory_bytes or 0, facts.used_memory_bytes or 0
    if most and used / most >= MEMORY_WARNING:
        yield warning("broker memory", f"{_bytes(used)} of {_bytes(most)} in use", "raise maxmemory: full, it refuses")
    if facts.write_failed:
        yield failure(
            "broker disk", "Redis could not write to its disk", "see its log; free disk space or fix its permissions"
        )
    elif facts.append_only:
        yield ok("broker persistence", "append-only file")
    else:
        yield note("broker persistence", "none: after a restart of Redis the server sends queued runs again")


def runs_folder(facts: FolderFacts) -> Iterator[CheckResult]:
    """Judge the folder of the runs, on the server."""
    if not facts.writable:
        yield failure(
            "runs folder",
            f"the server cannot write {facts.path}: {facts.problem}",
            "fix its permissions, or set BAPO_RUNS_DIR to a folder that the server's account owns",
        )
        return
    yield ok("runs folder", f"the server can write {facts.path}")
    if facts.free_bytes is not None:
        yield disk("disk of the runs", facts.free_bytes)


def disk(check: str, free_bytes: float) -> CheckResult:
    """Free space: a run without any stops at its next checkpoint."""
    free = f"{_bytes(free_bytes)} free"
    remedy = "delete checkpoints of old runs, or move the folder to a larger disk"
    if free_bytes < DISK_FAILURE_BYTES:
        return failure(check, free, remedy)
    return warning(check, free, remedy) if free_bytes < DISK_WARNING_BYTES else ok(check, free)


def workers(found: Sequence[WorkerFacts], server_version: str, *, shared: bool) -> Iterator[CheckResult]:
    """Judge the workers: connected, of the server's version, with the right time and the right folder."""
    if not any(worker.online for worker in found):
        yield warning(
            "workers", f"none of {len(found)} is online", "start one: bapo worker --server ADDRESS --token-file FILE"
        )
    for worker in found:
        if worker.online:
            yield from _worker(worker, server_version, shared=shared)
        else:
            yield note(f"worker {worker.name}", f"last heard {worker.seconds_since_heartbeat:.0f} s")


def _worker(worker: WorkerFacts, server_version: str, *, shared: bool) -> Iterator[CheckResult]:
    name = f"worker {worker.name}"
    troubles = list(_troubles(name, worker, server_version, shared=shared))
    yield from troubles
    if not troubles:
        heard = f"heard {worker.seconds_since_heartbeat:.0f} s ago, on {worker.host}, {worker.num_gpus} GPUs"
        yield ok(name, f"{heard}, runs {'over HTTPS' if worker.delivery == 'https' else 'from the broker'}")


def _troubles(name: str, worker: WorkerFacts, server_version: str, *, shared: bool) -> Iterator[CheckResult]:
    if worker.version != server_version:
        yield warning(f"{name} version", f"{worker.version}, the server's is {server_version}", "install the server's")
    skew = worker.clock_skew_seconds
    if skew is not None and abs(skew) > CLOCK_WARNING_SECONDS:
        grade = failure if abs(skew) > CLOCK_FAILURE_SECONDS else warning
        yield grade(
            f"{name} clock", f"{skew:+.1f} s from the database's", "run a time service (chrony) on both machines"
        )
    if worker.runs_dir_writable is False:
        yield failure(
            f"{name} runs folder",
            "it cannot write to its folder of the runs",
            "mount the shared folder there with write access, or set BAPO_WORKER_RUNS_DIR to another folder",
        )
    if shared and worker.sees_runs_dir is False:
        yield failure(
            f"{name} runs folder",
            "its folder of the runs is not the server's, although BAPO_RUNS_DIR_SHARED is set",
            "mount the same storage at the same path on both, or unset BAPO_RUNS_DIR_SHARED",
        )
    if worker.runs_dir_free_bytes is not None:
        space = disk(f"{name} disk", worker.runs_dir_free_bytes)
        if space.remedy is not None:
            yield space


def joining(public_url: str) -> CheckResult:
    """Judge whether a worker on another machine could join this server."""
    if is_this_machine(public_url):
        return note(
            "workers elsewhere",
            f"none can join: {public_url} is this machine only. They need an https address, set as BAPO_PUBLIC_URL",
        )
    options = f"--server {public_url} --token-file FILE"
    flag = "" if public_url.startswith("https://") else " --allow-http"
    return note(
        "workers elsewhere",
        f"need {public_url} and a worker token, no broker: `bapo worker {options}{flag}`; `bapo doctor {options}` "
        "checks it from there",
    )


def token_on_the_way(url: str) -> CheckResult:
    """Judge whether others could read a worker's token on its way."""
    if url.startswith("https://") or is_this_machine(url):
        return ok("encryption", f"{url} is {'encrypted' if url.startswith('https://') else 'this machine only'}")
    return warning(
        "encryption",
        f"{url} is not encrypted: others on the way can read the worker token",
        "use the server's https address; in a private network a worker takes this one with --allow-http",
    )


def worker_token(status: int, remedy: str) -> CheckResult:
    """Judge the server's answer to a worker that asks for the runs of an unknown one, which changes nothing."""
    if status == HTTPStatus.NOT_FOUND:
        return ok("worker token", "known to the server, which hands out runs over HTTPS: a worker needs nothing else")
    if status == HTTPStatus.METHOD_NOT_ALLOWED:
        return failure("worker token", "the server is too old to hand out runs over HTTPS", "upgrade the server")
    return failure("worker token", remedy, "create one on the page Worker tokens")


def secret_files(files: Sequence[SecretFile]) -> Iterator[CheckResult]:
    """Judge the files with tokens: only their owner may read them."""
    for file in files:
        if int(file.mode, 8) & 0o077:
            yield failure(
                "secret files", f"{file.path} has mode {file.mode}", f"chmod 600 {file.path}; then replace it"
            )
    if files and not any(int(file.mode, 8) & 0o077 for file in files):
        yield ok("secret files", f"{len(files)} files readable by their owner only")


def addresses(asked: str, public_url: str, hosts: Sequence[str]) -> Iterator[CheckResult]:
    """Judge the address in use, the public one, and TLS."""
    host = urlsplit(asked).hostname
    public = urlsplit(public_url)
    if public.scheme != "https" and public.hostname not in LOOPBACK_HOSTS:
        yield warning(
            "encryption",
            f"{public_url} is not encrypted: tokens and sessions are sent in the clear",
            "put a reverse proxy with TLS in front (docs/deployment.md) and set BAPO_PUBLIC_URL to its https address",
        )
    else:
        yield ok("encryption", f"{public_url} is {'encrypted' if public.scheme == 'https' else 'this machine only'}")
    if host not in LOOPBACK_HOSTS and host != public.hostname:
        yield warning(
            "public address",
            f"asked at {host}, BAPO_PUBLIC_URL says {public.hostname}",
            "set BAPO_PUBLIC_URL to the address that people use: forms from another origin are refused",
        )
    if host not in hosts:
        yield failure("hosts", f"{host} is not an allowed host", f"add {host} to BAPO_ALLOWED_HOSTS")


@dataclass(frozen=True)
class PageHeaders:
    """Status and headers of the login page."""

    status: int
    headers: Mapping[str, str]


def page(found: PageHeaders, asked: str) -> Iterator[CheckResult]:
    """Judge the dashboard's answer after any proxies."""
    if found.status != 200:
        yield failure("login page", f"answered {found.status}", "check that the proxy forwards `/` to the frontend")
        return
    if "content-security-policy" not in found.headers:
        yield failure(
            "page headers", "Content-Security-Policy is missing", "make the proxy forward the frontend's headers"
        )
    elif asked.startswith("https://") and "strict-transport-security" not in found.headers:
        yield warning(
            "page headers",
            "the dashboard does not know that it is reached over TLS",
            "set BAPO_PUBLIC_URL of the frontend to the https address: cookies are then sent over TLS only",
        )
    else:
        yield ok("page headers", "policy and security headers arrive")


def stream(seconds: float | None) -> CheckResult:
    """Time to the first byte of the event stream."""
    if seconds is None:
        return failure("event stream", "nothing arrived", _STREAM_REMEDY)
    if seconds > STREAM_SECONDS:
        return failure("event stream", f"its first byte took {seconds:.1f} s", _STREAM_REMEDY)
    return ok("event stream", f"arrives unbuffered, after {1_000 * seconds:.0f} ms")


_STREAM_REMEDY = (
    "a proxy buffers the stream: nginx needs `proxy_buffering off`, Caddy `flush_interval -1` (docs/deployment.md)"
)


@dataclass(frozen=True)
class Installation:
    """The packages and tools of this machine."""

    gpus: Sequence[str]
    torch: str | None
    torch_sees_cuda: bool | None
    """`None` if PyTorch was not asked."""
    verl: str | None
    verl_problem: str | None
    """Why releases of verl, vLLM and PyTorch do not fit together; None where they do."""


def installation(found: Installation) -> Iterator[CheckResult]:
    """Judge PyTorch, the GPUs and verl, as a worker on this machine would use them."""
    if found.torch is None:
        yield note("PyTorch", "not installed here: this machine can be a server, not a worker")
    elif found.gpus and found.torch_sees_cuda is False:
        yield failure(
            "PyTorch",
            f"{found.torch} sees none of the {len(found.gpus)} GPUs",
            "install a build of PyTorch for a CUDA version that the driver supports (see nvidia-smi)",
        )
    else:
        yield ok("PyTorch", f"{found.torch}, {len(found.gpus)} GPUs")
    if found.verl is None:
        yield note("verl", "not installed in this environment: only the local engine trains here")
    elif found.verl_problem is not None:
        yield failure("verl", found.verl_problem, "install matching releases: docs/verl.md")
    else:
        yield ok("verl", f"{found.verl}, with matching vLLM and PyTorch")


def diagnosis(found: Diagnosis, asked: str) -> Iterator[CheckResult]:
    """Judge everything that the server reports to an administrator."""
    yield from database(found.database)
    yield from broker(found.broker)
    yield from runs_folder(found.runs_dir)
    yield from workers(found.workers, found.version, shared=found.runs_dir_shared)
    yield joining(found.public_url)
    yield from secret_files(found.secret_files)
    yield from addresses(asked, found.public_url, found.hosts)
    if found.single_sign_on is not None:
        yield from single_sign_on(found.single_sign_on)
    if not found.dispatcher_alive:
        yield failure("dispatcher", "no server dispatches runs", "restart the server and read its log")


def single_sign_on(found: SingleSignOnFacts) -> Iterator[CheckResult]:
    """Judge the provider of single sign-on: reachable, the one that is meant, and one that knows this server."""
    if found.problem is not None:
        yield failure(
            "single sign-on", found.problem, "correct BAPO_OIDC_ISSUER, or reach the provider from the server"
        )
        return
    yield ok("single sign-on", f"{found.issuer} answers, and names itself so")
    if found.client_problem is not None:
        remedy = "set BAPO_OIDC_CLIENT_ID and BAPO_OIDC_CLIENT_SECRET_FILE to what the provider shows for this client"
        yield failure("single sign-on client", found.client_problem, remedy)
    else:
        yield ok("single sign-on client", "client ID and secret are not refused")
    if found.accepts_redirect:
        yield ok("single sign-on redirect", f"{found.redirect_uri} is registered")
    elif found.accepts_redirect is None:
        yield note("single sign-on redirect", f"the provider does not say whether {found.redirect_uri} is registered")
    else:
        remedy = f"register exactly this address there; its beginning is BAPO_PUBLIC_URL: {found.redirect_uri}"
        yield failure("single sign-on redirect", "the provider refuses this client or its redirect address", remedy)
    if not found.ends_sessions:
        yield note("single sign-on logout", "the provider's session stays after a logout: it offers no way to end it")
    skew = found.clock_skew_seconds
    if skew is not None and abs(skew) > CLOCK_WARNING_SECONDS:
        grade = failure if abs(skew) > CLOCK_FAILURE_SECONDS else warning
        text = f"{skew:+.1f} s from the server's"
        yield grade("single sign-on clock", text, "run a time service (chrony) on both machines")


def no_diagnosis(why: str) -> CheckResult:
    """Return the result where no diagnosis is available, such as to a caller who is no administrator."""
    return skipped("server internals", f"{why}: log in as an administrator to see database, broker and workers")


def _bytes(number: float) -> str:
    return f"{number / 1e9:.1f} GB" if number >= 1e9 else f"{number / 1e6:.0f} MB"
