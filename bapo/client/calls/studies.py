"""Studies: runs made, steered and read together."""

from __future__ import annotations

from bapo.api.compare import ParameterImportance
from bapo.api.studies import (
    ForkExperiment,
    ShippedStudies,
    StudyActionAnswer,
    StudyActionRequest,
    StudyContinuation,
    StudyContinued,
    StudyCreate,
    StudyDetail,
    StudyPage,
    StudyPreview,
    StudyReport,
    StudyWrite,
)
from bapo.client.call import route


class StudyCalls:
    """Studies: runs made, steered and read together."""

    @route("POST /studies/preview")
    def preview_study(self, body: StudyWrite) -> StudyPreview:
        """Return the runs of a study file, a grid or a list, with their problems; creates nothing."""

    @route("POST /studies")
    def create_study(self, body: StudyCreate, idempotency_key: str | None = None) -> StudyDetail:
        """Make all runs of a study, or none; the same key again answers the study that the first request made."""

    @route("GET /studies/shipped")
    def shipped_studies(self) -> ShippedStudies:
        """Return the study files that come with the server."""

    @route("GET /studies")
    def studies(self, *, cursor: str | None = None, limit: int | None = None) -> StudyPage:
        """Return the studies, newest first."""

    @route("GET /studies/{study_id}")
    def study(self, study_id: str) -> StudyDetail:
        """Return one study with its runs and results."""

    @route("GET /studies/{study_id}/report")
    def study_report(self, study_id: str) -> StudyReport:
        """Return the report of a study with a question, over the runs that are done."""

    @route("GET /studies/{study_id}/importance")
    def study_importance(self, study_id: str, *, metric: str | None = None) -> ParameterImportance:
        """Return how much of the variance of a result each varied field explains, compared to chance."""

    @route("GET /studies/{study_id}/experiment")
    def fork_experiment(self, study_id: str, *, dataset: str | None = None) -> ForkExperiment:
        """Return the results of a fork experiment: its arms against the baseline, paired by shared draws."""

    @route("POST /studies/{study_id}/continue")
    def continue_arm(
        self, study_id: str, body: StudyContinuation, idempotency_key: str | None = None
    ) -> StudyContinued:
        """Let an arm of a fork experiment train on; the others stay as they are."""

    @route("POST /studies/{study_id}/actions")
    def change_study(self, study_id: str, body: StudyActionRequest) -> StudyActionAnswer:
        """Apply an action to all runs of the study that allow it."""
