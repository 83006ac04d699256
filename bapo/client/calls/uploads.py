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
        """Your uploads that are not registered yet, and how much room there is."""

    @route("POST /uploads")
    def begin_upload(self, body: UploadCreate) -> UploadInfo:
        """Begin an upload, or go on with one of the same name and size."""

    @route("POST /uploads/fetch")
    def fetch_upload(self, body: UploadFetch) -> UploadInfo:
        """Have the server fetch a file from an address; ask for its state."""

    @route("GET /uploads/{upload_id}")
    def upload(self, upload_id: str) -> UploadInfo:
        """Return how far an upload is, and what the check found."""

    @route("PUT /uploads/{upload_id}/content")
    def upload_part(self, upload_id: str, offset: int, crc32: int, content: bytes) -> UploadInfo:
        """Send a part; answers which byte is next."""

    @route("POST /uploads/{upload_id}/finish")
    def finish_upload(self, upload_id: str, body: UploadFinish) -> UploadInfo:
        """Return all parts are there: the server checks the file."""

    @route("POST /uploads/{upload_id}/check")
    def check_upload(self, upload_id: str, body: UploadCheck) -> UploadInfo:
        """Check it again with other columns or another verifier."""

    @route("POST /uploads/{upload_id}/register")
    def register_upload(self, upload_id: str, body: UploadRegister) -> Registered:
        """Register it under a name. Raises ApiError 409 where it has problems, or warnings that are not accepted."""

    @route("DELETE /uploads/{upload_id}")
    def delete_upload(self, upload_id: str) -> None:
        """Delete an upload that is not registered."""
