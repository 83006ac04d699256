"""The server about itself."""

from __future__ import annotations

from bapo.api.service import Diagnosis
from bapo.client.call import Call, Endpoint, get


class ServiceCalls:
    """The server about itself."""

    @Endpoint
    def diagnosis(self) -> Call[Diagnosis]:
        """What the server knows of its own deployment; for administrators."""
        return get("/diagnosis", Diagnosis)
