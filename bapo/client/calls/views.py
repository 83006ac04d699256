"""Views of the run list that somebody keeps."""

from __future__ import annotations

from bapo.api.views import ViewInfo, ViewPage, ViewWrite
from bapo.client.call import route


class ViewCalls:
    """Views of the run list that somebody keeps."""

    @route("GET /views")
    def views(self) -> ViewPage:
        """All views of the project by name."""

    @route("GET /views/{view_id}")
    def view(self, view_id: str) -> ViewInfo:
        """One view."""

    @route("POST /views")
    def create_view(self, body: ViewWrite) -> ViewInfo:
        """Keep a view."""

    @route("PUT /views/{view_id}")
    def replace_view(self, view_id: str, body: ViewWrite) -> ViewInfo:
        """Change one's own view."""

    @route("DELETE /views/{view_id}")
    def delete_view(self, view_id: str) -> None:
        """Delete one's own view."""
