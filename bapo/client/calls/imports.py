"""Runs that were trained without a server."""

from __future__ import annotations

from urllib.parse import quote

from bapo.api.imports import ImportCreate, ImportInfo
from bapo.api.runs import RunDetail
from bapo.api.workers import BatchAccepted, RecordBatch
from bapo.client.call import Call, Endpoint, post


class ImportCalls:
    """Runs that were trained without a server."""

    @Endpoint
    def create_import(self, body: ImportCreate) -> Call[ImportInfo]:
        """Begin, or continue, to import a folder."""
        return post("/imports", ImportInfo, body)

    @Endpoint
    def import_records(self, run_id: str, body: RecordBatch) -> Call[BatchAccepted]:
        """Lines of an imported folder."""
        return post(f"/imports/{quote(run_id, safe='')}/records", BatchAccepted, body)

    @Endpoint
    def finish_import(self, run_id: str) -> Call[RunDetail]:
        """All lines are there: the run takes the state that its journal ends in."""
        return post(f"/imports/{quote(run_id, safe='')}/finish", RunDetail)
