"""Who may call what. Every route names one permission; an application with a route that names none does not start."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Annotated

from fastapi import Depends, FastAPI, Request
from fastapi.dependencies.models import Dependant
from fastapi.routing import APIRoute, iter_route_contexts

from backend.auth.service import Principal
from backend.errors import Problem


class Permission(StrEnum):
    """What a caller may do."""

    OPEN = "open"
    """Anybody, without credentials."""
    READ = "read"
    """See runs, recipes and workers."""
    WRITE = "write"
    """Submit runs, and change one's own."""
    WORK = "work"
    """Take runs and report on them: workers only."""


GRANTED: Mapping[str, frozenset[Permission]] = {
    "viewer": frozenset({Permission.OPEN, Permission.READ}),
    "member": frozenset({Permission.OPEN, Permission.READ, Permission.WRITE}),
    "admin": frozenset({Permission.OPEN, Permission.READ, Permission.WRITE}),
    "worker": frozenset({Permission.OPEN, Permission.WORK}),
}
"""A worker's token opens nothing but the worker's own routes, and no person's token opens those."""


@dataclass(frozen=True)
class Require:
    """A dependency: lets the caller pass who holds the permission."""

    permission: Permission

    def __call__(self, request: Request) -> Principal | None:
        principal: Principal | None = request.scope["state"]["principal"]
        if self.permission is Permission.OPEN:
            return None
        assert principal is not None, "the middleware lets only open paths through without credentials"
        if self.permission not in GRANTED[principal.role]:
            raise Problem(
                403,
                "forbidden",
                f"a {principal.role} may not do this: it takes the permission {self.permission.value!r}",
            )
        return principal


Anybody = Annotated[None, Depends(Require(Permission.OPEN))]
Reader = Annotated[Principal, Depends(Require(Permission.READ))]
Writer = Annotated[Principal, Depends(Require(Permission.WRITE))]
WorkerCaller = Annotated[Principal, Depends(Require(Permission.WORK))]


@dataclass(frozen=True)
class DeclaredRoute:
    """A route and what it takes to call it."""

    method: str
    path: str
    permission: Permission


def declared_routes(app: FastAPI) -> list[DeclaredRoute]:
    """All routes. Raises RuntimeError for one that does not declare exactly one permission."""
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
