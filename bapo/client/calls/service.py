"""The server about itself."""

from __future__ import annotations

from bapo.api.service import Diagnosis
from bapo.client.call import route


class ServiceCalls:
    """The server about itself."""

    @route("GET /diagnosis")
    def diagnosis(self) -> Diagnosis:
        """What the server knows of its own deployment; for administrators."""
