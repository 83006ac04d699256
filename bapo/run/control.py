"""The control file: what people ask of a running trainer, read at every step boundary.

`control.jsonl` lies in the run's folder next to the attempts; lines are only ever appended. The trainer answers each
request once, in the journal: `parameter_change`, `parameter_refused`, `stop` or `request_withdrawn`, with the request's
id. A stop ends the attempt, not the run: whether the run continues later is up to its owner.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from bapo.config import ConfigError, ConfigProblem, RunConfig, apply_changes, resolve
from bapo.config.descriptions import describe_properties
from bapo.config.error_messages import error_said
from bapo.config.method import steerable_fields
from bapo.run.journal import append_line, complete_lines

CONTROL_FILE = "control.jsonl"

StopMoment = Literal["now", "step", "checkpoint"]
"""When a stop ends the attempt: `now` without waiting for the step under way, whose worker kills the trainer where it
does not end by itself; `step` at the next step boundary, after a checkpoint; `checkpoint` once the next regular
checkpoint is there, so that none is written for the stop."""


class ControlRequest(BaseModel):
    """One line of the control file."""

    model_config = ConfigDict(extra="forbid", frozen=True, json_schema_extra=describe_properties)

    id: str = Field(min_length=1, max_length=100)
    """Unique within the run; the answer in the journal names it."""
    author: str = Field(min_length=1, max_length=200)
    """Author of the request."""
    at_step: int | None = Field(default=None, ge=1)
    """First step that it holds for; empty: the next one."""
    set: Mapping[str, Any] = {}
    """New values by dotted field, such as {"method.c1": 0.25}."""
    stop: bool = False
    """End the attempt with a checkpoint."""
    when: StopMoment = "step"
    """Boundary at which a stop takes effect."""
    withdraws: str | None = None
    """Identifier of an earlier request that shall not take effect; one that did already stays."""

    @model_validator(mode="after")
    def _asks_for_something(self) -> Self:
        if (self.stop, bool(self.set), self.withdraws is not None).count(True) != 1:
            raise ValueError("a request stops the run, sets fields or withdraws another: give one of these")
        return self


def append_request(run_folder: Path, request: ControlRequest) -> None:
    """Add one request to the run's control file."""
    append_line(run_folder / CONTROL_FILE, request.model_dump_json().encode() + b"\n")


def read_requests(run_folder: Path) -> tuple[Sequence[ControlRequest], Sequence[str]]:
    """Read all requests in order, and return a message for each complete line that is none."""
    requests: list[ControlRequest] = []
    rejected: list[str] = []
    for number, line in enumerate(complete_lines(run_folder / CONTROL_FILE), start=1):
        try:
            requests.append(ControlRequest.model_validate_json(line))
        except ValidationError as error:
            rejected.append(f"{CONTROL_FILE} line {number}: {error_said(error)}")
    return requests, rejected


def changed_config(config: RunConfig, changes: Mapping[str, Any]) -> RunConfig:
    """Return the running config with new values. Raises ConfigError if a field cannot change or a value is illegal."""
    steerable = steerable_fields(config.method.type)
    known = f"only {', '.join(steerable)} can" if steerable else f"nothing of {config.method.type} can"
    problems = [
        ConfigProblem(field, value, f"cannot change while the run is training: {known}")
        for field, value in changes.items()
        if field not in steerable
    ]
    if problems:
        raise ConfigError(problems)
    return resolve(apply_changes(config.model_dump(mode="json"), changes)).config
