"""Studies: runs made, steered and read together."""

from __future__ import annotations

from urllib.parse import quote

from bapo.api.studies import (
    ShippedStudies,
    StudyActionAnswer,
    StudyActionRequest,
    StudyCreate,
    StudyDetail,
    StudyPage,
    StudyPreview,
    StudyReport,
    StudyWrite,
)
from bapo.client.call import Call, Endpoint, get, idempotency, post


class StudyCalls:
    """Studies: runs made, steered and read together."""

    @Endpoint
    def preview_study(self, body: StudyWrite) -> Call[StudyPreview]:
        """The runs of a study file, a grid or a list, with what is wrong with them; makes nothing."""
        return post("/studies/preview", StudyPreview, body)

    @Endpoint
    def create_study(self, body: StudyCreate, idempotency_key: str | None = None) -> Call[StudyDetail]:
        """Make all runs of a study, or none; the same key again answers the study that the first request made."""
        return post("/studies", StudyDetail, body, **idempotency(idempotency_key))

    @Endpoint
    def shipped_studies(self) -> Call[ShippedStudies]:
        """The study files that come with the server."""
        return get("/studies/shipped", ShippedStudies)

    @Endpoint
    def studies(self, *, cursor: str | None = None, limit: int | None = None) -> Call[StudyPage]:
        """The studies, newest first."""
        return get("/studies", StudyPage, cursor=cursor, limit=limit)

    @Endpoint
    def study(self, study_id: str) -> Call[StudyDetail]:
        """One study with its runs and results."""
        return get(f"/studies/{quote(study_id, safe='')}", StudyDetail)

    @Endpoint
    def study_report(self, study_id: str) -> Call[StudyReport]:
        """The report of a study with a question, over the runs that are done."""
        return get(f"/studies/{quote(study_id, safe='')}/report", StudyReport)

    @Endpoint
    def change_study(self, study_id: str, body: StudyActionRequest) -> Call[StudyActionAnswer]:
        """Apply an action to all runs of the study that allow it."""
        return post(f"/studies/{quote(study_id, safe='')}/actions", StudyActionAnswer, body)
