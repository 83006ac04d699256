"""Reads a stored rule: its condition, and the runs that it watches."""

from __future__ import annotations

from dataclasses import dataclass

from pydantic import TypeAdapter, ValidationError
from sqlalchemy import ColumnElement, cast
from sqlalchemy.dialects.postgresql import ARRAY
from sqlalchemy.types import Text

from backend.models import AlertRule, Run
from backend.notices.alerts.watches import Watch, watch_of
from bapo.api.alerts import AlertCondition, RuleDraft, RuleScope

_CONDITION: TypeAdapter[AlertCondition] = TypeAdapter(AlertCondition)


@dataclass(frozen=True)
class Rule:
    """A rule in force."""

    stored: AlertRule
    condition: AlertCondition

    @property
    def id(self) -> str:
        """ID of the rule."""
        return self.stored.id

    @property
    def version(self) -> str:
        """Another one after each change."""
        return f"{self.stored.updated_at.timestamp():.3f}"

    @property
    def watch(self) -> Watch | None:
        """The watch of its metric, if it reads one."""
        return watch_of(self.condition)

    @property
    def draft(self) -> RuleDraft:
        """The rule as submitted."""
        return RuleDraft(condition=self.condition, scope=scope_of(self.stored))

    def watches(self, run: Run) -> bool:
        """Return whether the run is one of its."""
        stored = self.stored
        return (
            stored.project_id == run.project_id
            and stored.run_id in (None, run.id)
            and stored.method in (None, run.method)
            and (stored.tag is None or stored.tag in run.tags)
        )


def read_rule(stored: AlertRule) -> Rule | None:
    """Return the rule; None where this version does not know its kind."""
    try:
        return Rule(stored, _CONDITION.validate_python(stored.condition))
    except ValidationError:
        return None


def scope_of(stored: AlertRule) -> RuleScope:
    """Return the runs that a stored rule watches."""
    return RuleScope(tag=stored.tag, method=stored.method, run_id=stored.run_id)


def run_conditions(scope: RuleScope) -> list[ColumnElement[bool]]:
    """Return the same in SQL."""
    found: list[ColumnElement[bool]] = []
    if scope.run_id is not None:
        found.append(Run.id == scope.run_id)
    if scope.method is not None:
        found.append(Run.method == scope.method)
    if scope.tag is not None:
        found.append(Run.tags.contains(cast([scope.tag], ARRAY(Text))))
    return found
