"""Simulated runs for benchmarks of the server and of the pages, and their way into a server."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice

from bapo.api.imports import ImportCreate
from bapo.api.workers import RecordBatch
from bapo.client import Client
from bapo.config import RunConfig
from bapo.records import AnyRecord, dump_record
from benchmarks.simulation import SimulatedRun

LINES_PER_BATCH = 200


def config_of(*, steps: int, batch_size: int, seed: int = 1, **changes: object) -> RunConfig:
    """Return the config of such a run; `changes` are fields of the `method` section."""
    return RunConfig.model_validate(
        {
            "training": {"steps": steps, "batch_size": batch_size, "seed": seed},
            "rollout": {"batch_size": batch_size},
            "method": {"type": "bapo", **changes},
        }
    )


def records(config: RunConfig, *, num_prompts: int) -> Iterator[AnyRecord]:
    """Yield the journal of a run over `num_prompts` training prompts."""
    return SimulatedRun(config, num_prompts=num_prompts).records()


class Upload:
    """A journal on its way to a server, as an import."""

    def __init__(self, client: Client, config: RunConfig, name: str, group: str | None = None) -> None:
        self._client = client
        body = ImportCreate(name=name, source=name, config=config.model_dump(mode="json"), attempts=1, group=group)
        self._info = client.create_import(body)
        self._offset = 0

    @property
    def run_id(self) -> str:
        """The run's identifier."""
        return self._info.run_id

    def send(self, sent: Sequence[AnyRecord]) -> None:
        """Store some records more."""
        lines = [dump_record(record).decode().rstrip("\n") for record in sent]
        end = self._offset + sum(len(line.encode()) + 1 for line in lines)
        body = RecordBatch(
            fencing_token=self._info.fencing_token,
            attempt=1,
            kind="records",
            start_offset=self._offset,
            end_offset=end,
            lines=lines,
        )
        self._offset = self._client.import_records(self.run_id, body).next_offset
        assert self._offset == end

    def send_all(self, journal: Iterator[AnyRecord]) -> None:
        """Store a whole journal."""
        while batch := list(islice(journal, LINES_PER_BATCH)):
            self.send(batch)


def store(client: Client, config: RunConfig, name: str, journal: Iterator[AnyRecord], group: str | None = None) -> str:
    """Give a journal to a server; the run's identifier."""
    upload = Upload(client, config, name, group)
    upload.send_all(journal)
    client.finish_import(upload.run_id)
    return upload.run_id
