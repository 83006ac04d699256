"""Data sets, models and verifiers, and their uploads."""

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
from bapo.api.uploads import (
    Registered,
    UploadCheck,
    UploadCreate,
    UploadFetch,
    UploadFinish,
    UploadInfo,
    UploadPage,
    UploadRegister,
)
from bapo.client.call import route


class ResourceCalls:
    """Data sets, models and verifiers, and uploads of them; `bapo.client.uploads` sends a whole file."""

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

    @route("GET /uploads")
    def uploads(self) -> UploadPage:
        """Return the caller's uploads that are not registered yet, and how much room is left."""

    @route("POST /uploads")
    def begin_upload(self, body: UploadCreate) -> UploadInfo:
        """Begin an upload, or continue one of the same name and size."""

    @route("POST /uploads/fetch")
    def fetch_upload(self, body: UploadFetch) -> UploadInfo:
        """Download a file from an address to the server, in the background: poll the upload's state."""

    @route("GET /uploads/{upload_id}")
    def upload(self, upload_id: str) -> UploadInfo:
        """Return how far an upload is, and what the check found."""

    @route("PUT /uploads/{upload_id}/content")
    def upload_part(self, upload_id: str, offset: int, crc32: int, content: bytes) -> UploadInfo:
        """Send a part. Returns the upload with the offset that the server expects next."""

    @route("POST /uploads/{upload_id}/finish")
    def finish_upload(self, upload_id: str, body: UploadFinish) -> UploadInfo:
        """Finish an upload: all parts are sent, and the server checks the file."""

    @route("POST /uploads/{upload_id}/check")
    def check_upload(self, upload_id: str, body: UploadCheck) -> UploadInfo:
        """Check an upload again with other columns or another verifier."""

    @route("POST /uploads/{upload_id}/register")
    def register_upload(self, upload_id: str, body: UploadRegister) -> Registered:
        """Register an upload under a name. Raises ApiError 409 if it has problems or unaccepted warnings."""

    @route("DELETE /uploads/{upload_id}")
    def delete_upload(self, upload_id: str) -> None:
        """Delete an upload that is not registered."""
