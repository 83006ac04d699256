"""Data sets, models and verifiers."""

from __future__ import annotations

from bapo.api.resources import (
    DataProbes,
    ResourceCreate,
    ResourceFilePage,
    ResourceInfo,
    ResourceKind,
    ResourcePage,
    ResourcePreview,
    ResourceUse,
)
from bapo.client.call import route


class ResourceCalls:
    """Data sets, models and verifiers."""

    @route("GET /resources")
    def resources(self, kind: ResourceKind | None = None) -> ResourcePage:
        """Return all registered resources, or those of one kind."""

    @route("GET /resource-files")
    def resource_files(self, kind: ResourceKind) -> ResourceFilePage:
        """Return files in the permitted folders that can be registered as this kind."""

    @route("POST /resources")
    def register_resource(self, body: ResourceCreate) -> ResourceInfo:
        """Register a file or folder under a name. Raises ApiError 422 where it is not what it should be."""

    @route("GET /resources/{resource_id}/preview")
    def resource_preview(
        self, resource_id: str, offset: int | None = None, limit: int | None = None
    ) -> ResourcePreview:
        """Return rows of a data set, the config of a model, the source of a verifier."""

    @route("GET /resources/{resource_id}/runs")
    def resource_runs(self, resource_id: str) -> ResourceUse:
        """Return the runs that use a resource."""

    @route("GET /resources/{resource_id}/probes")
    def data_probes(self, resource_id: str) -> DataProbes:
        """Return the probes of a data set, newest first."""

    @route("DELETE /resources/{resource_id}")
    def remove_resource(self, resource_id: str) -> None:
        """Take the name away; the file stays where it is."""
