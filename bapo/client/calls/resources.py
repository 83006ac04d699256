"""Data sets, models and verifiers."""

from __future__ import annotations

from urllib.parse import quote

from bapo.api.resources import (
    ResourceCreate,
    ResourceFilePage,
    ResourceInfo,
    ResourceKind,
    ResourcePage,
    ResourcePreview,
    ResourceUse,
)
from bapo.client.call import Call, Endpoint, get, nothing, post


def _path(resource_id: str, *rest: str) -> str:
    return "/".join(("/resources", quote(resource_id, safe=""), *rest))


class ResourceCalls:
    """Data sets, models and verifiers."""

    @Endpoint
    def resources(self, kind: ResourceKind | None = None) -> Call[ResourcePage]:
        """All that is registered, or one kind of it."""
        return get("/resources", ResourcePage, kind=kind)

    @Endpoint
    def resource_files(self, kind: ResourceKind) -> Call[ResourceFilePage]:
        """What lies beneath the permitted roots and can be registered as this kind."""
        return get("/resource-files", ResourceFilePage, kind=kind)

    @Endpoint
    def register_resource(self, body: ResourceCreate) -> Call[ResourceInfo]:
        """Register a file or folder under a name. Raises ApiError 422 where it is not what it should be."""
        return post("/resources", ResourceInfo, body)

    @Endpoint
    def resource_preview(
        self, resource_id: str, offset: int | None = None, limit: int | None = None
    ) -> Call[ResourcePreview]:
        """Rows of a data set, the config of a model, the source of a verifier."""
        return get(_path(resource_id, "preview"), ResourcePreview, offset=offset, limit=limit)

    @Endpoint
    def resource_runs(self, resource_id: str) -> Call[ResourceUse]:
        """Runs that use a resource."""
        return get(_path(resource_id, "runs"), ResourceUse)

    @Endpoint
    def remove_resource(self, resource_id: str) -> Call[None]:
        """Take the name away; the file stays where it is."""
        return Call("DELETE", _path(resource_id), nothing)
