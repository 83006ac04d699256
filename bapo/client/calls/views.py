"""Views of the run list that somebody keeps."""

from __future__ import annotations

from urllib.parse import quote

from bapo.api.views import ViewInfo, ViewPage, ViewWrite
from bapo.client.call import Call, Endpoint, answer, get, nothing, post


class ViewCalls:
    """Views of the run list that somebody keeps."""

    @Endpoint
    def views(self) -> Call[ViewPage]:
        """All views of the project by name."""
        return get("/views", ViewPage)

    @Endpoint
    def view(self, view_id: str) -> Call[ViewInfo]:
        """One view."""
        return get(_path(view_id), ViewInfo)

    @Endpoint
    def create_view(self, body: ViewWrite) -> Call[ViewInfo]:
        """Keep a view."""
        return post("/views", ViewInfo, body)

    @Endpoint
    def replace_view(self, view_id: str, body: ViewWrite) -> Call[ViewInfo]:
        """Change one's own view."""
        return Call("PUT", _path(view_id), answer(ViewInfo), body=body)

    @Endpoint
    def delete_view(self, view_id: str) -> Call[None]:
        """Delete one's own view."""
        return Call("DELETE", _path(view_id), nothing)


def _path(view_id: str) -> str:
    return f"/views/{quote(view_id, safe='')}"
