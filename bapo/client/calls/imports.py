"""Runs that were trained without a server."""

from __future__ import annotations

from bapo.api.imports import ImportCreate, ImportInfo
from bapo.api.runs import RunDetail
from bapo.api.workers import BatchAccepted, RecordBatch
from bapo.client.call import route


class ImportCalls:
    """Runs that were trained without a server."""

    @route("POST /imports")
    def create_import(self, body: ImportCreate) -> ImportInfo:
        """Begin, or continue, to import a folder."""

    @route("POST /imports/{run_id}/records")
    def import_records(self, run_id: str, body: RecordBatch) -> BatchAccepted:
        """Lines of an imported folder."""

    @route("POST /imports/{run_id}/finish")
    def finish_import(self, run_id: str) -> RunDetail:
        """All lines are there: the run takes the state that its journal ends in."""
