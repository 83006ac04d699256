"""Permissions of callers. Every route declares one; an application with a route that declares none does not start."""

from __future__ import annotations

import hmac
import ipaddress
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Annotated

from fastapi import Depends, FastAPI, Request
from fastapi.dependencies.models import Dependant
from fastapi.routing import APIRoute, iter_route_contexts

from backend.kit.context import context_of
from backend.kit.errors import Problem, not_found
from backend.kit.principal import Principal
from backend.settings.environment import Settings


class Permission(StrEnum):
    """Permissions of callers."""

    OPEN = "open"
    """Anybody, without credentials."""
    READ = "read"
    """See the runs of one's projects, recipes and workers."""
    WRITE = "write"
    """Submit runs, and change one's own."""
    ACCOUNT = "account"
    """Change one's own password, sessions and tokens."""
    MANAGE = "manage"
    """Change the project that the address names, and its members: its administrators."""
    ADMIN = "admin"
    """Change people, projects and the workers' tokens."""
    SCRAPE = "scrape"
    """Read the metrics: the scrape token, or this machine where none is set. No person's and no worker's token."""
    WORK = "work"
    """Take runs and report on them: workers only."""


_ACCOUNT = frozenset({Permission.ACCOUNT})
_READING = frozenset({Permission.OPEN, Permission.READ}) | _ACCOUNT
_WRITING = _READING | {Permission.WRITE, Permission.MANAGE}
GRANTED: Mapping[str, frozenset[Permission]] = {
    "viewer": _READING,
    "member": _WRITING,
    "admin": _WRITING | {Permission.ADMIN},
    "worker": frozenset({Permission.OPEN, Permission.WORK}),
}
"""A worker's token opens nothing but the worker's own routes, and no person's token opens those."""


def permissions_of(caller: Principal) -> frozenset[Permission]:
    """Return the caller's permissions with its present credentials."""
    return GRANTED[caller.role] if caller.is_whole else GRANTED[caller.role] - _ACCOUNT - {Permission.MANAGE}


@dataclass(frozen=True)
class Require:
    """A dependency: lets the caller pass who holds the permission, to runs and projects that exist for the caller."""

    permission: Permission

    async def __call__(self, request: Request) -> Principal | None:
        principal: Principal | None = request.scope["state"]["principal"]
        if self.permission is Permission.OPEN:
            return None
        if self.permission is Permission.SCRAPE:
            admit_scraper(request)
            return None
        assert principal is not None, "the middleware lets only open paths through without credentials"
        if self.permission not in permissions_of(principal):
            who = f"a {principal.role}" if principal.is_whole else "a token with these scopes"
            raise Problem(
                403, "forbidden", f"{who} may not do this: it requires the permission {self.permission.value!r}"
            )
        if self.permission is not Permission.WORK:
            await self._check_address(request, principal)
        return principal

    async def _check_address(self, request: Request, caller: Principal) -> None:
        run_id, project_id = (request.path_params.get(name) for name in ("run_id", "project_id"))
        if run_id is not None and not await context_of(request).visibility.sees(caller, run_id):
            raise not_found("run", run_id)
        if project_id is not None:
            if not caller.sees(project_id):
                raise not_found("project", project_id)
            if self.permission is Permission.MANAGE and caller.role_in(project_id) != "admin":
                raise Problem(403, "forbidden", "only the project's administrators may do this: ask one of them")


Anybody = Annotated[None, Depends(Require(Permission.OPEN))]
Scraper = Annotated[None, Depends(Require(Permission.SCRAPE))]
Reader = Annotated[Principal, Depends(Require(Permission.READ))]
Writer = Annotated[Principal, Depends(Require(Permission.WRITE))]
AccountOwner = Annotated[Principal, Depends(Require(Permission.ACCOUNT))]
Manager = Annotated[Principal, Depends(Require(Permission.MANAGE))]
Administrator = Annotated[Principal, Depends(Require(Permission.ADMIN))]
WorkerCaller = Annotated[Principal, Depends(Require(Permission.WORK))]


@dataclass(frozen=True)
class DeclaredRoute:
    """A route and what it takes to call it."""

    method: str
    path: str
    permission: Permission


def declared_routes(app: FastAPI) -> list[DeclaredRoute]:
    """Return all routes. Raises RuntimeError for one that does not declare exactly one permission."""
    declared = []
    for route in iter_route_contexts(app.routes):
        found = set(_requirements(route.dependant)) if isinstance(route.original_route, APIRoute) else set()
        if len(found) != 1 or route.path is None:
            raise RuntimeError(f"{route.path} does not declare who may call it: add a caller to its parameters")
        permission = found.pop()
        declared += [DeclaredRoute(method, route.path, permission) for method in sorted(route.methods or ())]
    return declared


def _requirements(dependant: Dependant) -> Iterator[Permission]:
    for each in dependant.dependencies:
        if isinstance(each.call, Require):
            yield each.call.permission
        yield from _requirements(each)


FORWARDED = ("forwarded", "x-forwarded-for", "x-forwarded-host", "x-real-ip")


def admit_scraper(request: Request) -> None:
    """Check that the request may read metrics. Raises Problem 401 or 403."""
    settings: Settings = request.app.state.context.settings
    if settings.metrics_token_file is None:
        if not _is_local(request):
            raise Problem(
                403,
                "forbidden",
                "without BAPO_METRICS_TOKEN_FILE only this machine may read the metrics: set it, and send the "
                "token as `Authorization: Bearer TOKEN`",
            )
        return
    scheme, _, token = request.headers.get("authorization", "").partition(" ")
    expected = settings.metrics_token_file.read_text(encoding="utf-8").strip()
    if scheme.lower() != "bearer" or not hmac.compare_digest(token.strip().encode(), expected.encode()):
        remedy = "send `Authorization: Bearer TOKEN` with the token that BAPO_METRICS_TOKEN_FILE holds"
        raise Problem(401, "not_authenticated", remedy, headers={"WWW-Authenticate": "Bearer"})


def _is_local(request: Request) -> bool:
    # A proxy on this machine speaks for others, and says so.
    if request.client is None or any(name in request.headers for name in FORWARDED):
        return False
    return ipaddress.ip_address(request.client.host.partition("%")[0]).is_loopback
