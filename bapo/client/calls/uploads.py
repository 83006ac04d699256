"""Uploads of data sets and models."""

from __future__ import annotations

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


class UploadCalls:
    """Uploads of data sets and models; `bapo.client.uploads` sends a whole file."""

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
