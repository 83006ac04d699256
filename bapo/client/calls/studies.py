"""Studies: declared before the first run, made through the queue, read as one report."""

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
    """Studies: declared before the first run, made through the queue, read as one report."""

    @Endpoint
    def preview_study(self, body: StudyWrite) -> Call[StudyPreview]:
        """What a study file says, and what is wrong with it; makes nothing."""
        return post("/studies/preview", StudyPreview, body)

    @Endpoint
    def create_study(self, body: StudyCreate, idempotency_key: str | None = None) -> Call[StudyDetail]:
        """Make the study's runs, or none; the same key again answers the study that the first request made."""
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
        """One study with its runs."""
        return get(f"/studies/{quote(study_id, safe='')}", StudyDetail)

    @Endpoint
    def study_report(self, study_id: str) -> Call[StudyReport]:
        """The report as far as the runs are done."""
        return get(f"/studies/{quote(study_id, safe='')}/report", StudyReport)

    @Endpoint
    def change_study(self, study_id: str, body: StudyActionRequest) -> Call[StudyActionAnswer]:
        """Do one thing to all runs of the study that allow it."""
        return post(f"/studies/{quote(study_id, safe='')}/actions", StudyActionAnswer, body)
