"""The prompts of a step: one visit for each group, written field by field."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any

from pydantic import BeforeValidator, PlainSerializer

from bapo.records.base import Record
from bapo.rollout import BatchSource


@dataclass(slots=True)
class PromptVisit:
    """One prompt's group in one step.

    Neither a `Record` nor frozen: a step makes one per group, and either would be most of what building a batch costs.
    """

    prompt_id: str
    source: BatchSource
    num_correct: int
    policy_version: int | None
    """Version of the policy that generated the group; staleness = step - 1 - policy_version. None where an observed
    trainer did not tell."""
    in_batch: bool
    reason: str | None = None
    """Why it was not trained on: all_wrong, all_correct, filtered, no_room, probed, solved, still_difficult,
    surplus_stored, surplus_dropped."""


class _VisitColumns(Record):
    """The prompts of a step as its line holds them: one list per field, less than half of an object for each."""

    prompt_id: list[str]
    source: list[BatchSource]
    num_correct: list[int]
    policy_version: list[int | None]
    in_batch: list[bool]
    reason: list[str | None]

    def visits(self) -> list[PromptVisit]:
        """Return the visits, row by row. Raises ValueError if the lists differ in length."""
        columns = vars(self)
        if len({len(column) for column in columns.values()}) > 1:
            lengths = ", ".join(f"{name} {len(column)}" for name, column in columns.items())
            raise ValueError(f"the lists differ in length: {lengths}")
        return list(map(PromptVisit, *columns.values()))


def visit_columns(visits: Sequence[PromptVisit]) -> dict[str, list[Any]]:
    """Return the prompts of a step field by field, as plain JSON values: an enumeration's members take far longer to
    write."""
    return {
        "prompt_id": [visit.prompt_id for visit in visits],
        "source": [visit.source.value for visit in visits],
        "num_correct": [visit.num_correct for visit in visits],
        "policy_version": [visit.policy_version for visit in visits],
        "in_batch": [visit.in_batch for visit in visits],
        "reason": [visit.reason for visit in visits],
    }


def _rows(prompts: Any) -> Any:
    return _VisitColumns.model_validate(prompts).visits() if isinstance(prompts, Mapping) else prompts


PromptVisits = Annotated[Sequence[PromptVisit], BeforeValidator(_rows), PlainSerializer(visit_columns)]
