"""One prompt over all runs of a project, and the project's prompts by what became of them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import PurePath
from typing import Any

import numpy as np
from sqlalchemy.orm import Session

from backend.identity.projects import choice
from backend.kit.context import Context
from backend.kit.errors import Problem
from backend.models import Project, ProjectPrompt
from backend.readings.prompt_lists import repository as lists
from backend.readings.prompt_totals import repository as totals
from backend.readings.prompt_totals.repository import InRun
from backend.readings.prompts import repository
from backend.readings.run_reading import RunReading
from backend.readings.samples import repository as samples
from backend.runs import repository as runs
from bapo.analysis.across_runs import accuracy, agreement
from bapo.analysis.findings.stream import ResponseGroup, response_group, reward_threshold
from bapo.analysis.prompt_outcomes import thinned
from bapo.analysis.visits import SOURCES, UNKNOWN_VERSION
from bapo.answer_text import stated_answer
from bapo.api.prompts import (
    Accuracy,
    PooledAnswer,
    ProjectPromptFilter,
    ProjectPromptPage,
    PromptAnswers,
    PromptCurve,
    PromptCurves,
    PromptInRun,
    PromptInRuns,
    PromptTotalsAcross,
    SampledIn,
    SampledText,
)
from bapo.api.runs import RunStatus
from bapo.config import RunConfig

BEGINNING_LETTERS = 300
MOST_CURVES = 12
MOST_POINTS = 400
"""Evaluations of a run in its curve."""
POOLED_RUNS = 20
GROUPS_OF_RUN = 5
"""Newest stored groups of a run that are pooled."""
NEWEST_RUNS = 6
RESPONSE_LETTERS = 2_000
MOST_EXPORTED = 100_000
"""Prompts in an export of the list."""
_EXPORTED_AT_ONCE = 1_000
_RUNS_AT_ONCE = 50


def project_of(session: Session, name: str | None) -> Project:
    """Return the project asked for, or the caller's only or first one. Raises Problem 422."""
    project_id = choice.for_reading(session, name)
    project = None if project_id is None else session.get(Project, project_id)
    if project is None:
        raise Problem(422, "no_project", "you are a member of no project, or of several: name one", field="project")
    return project


# ---------------------------------------------------------------- the list


def page(session: Session, wanted: ProjectPromptFilter, offset: int, limit: int) -> ProjectPromptPage:
    """Return a page of a project's prompts."""
    project = project_of(session, wanted.project)
    rows, total = totals.prompts(session, project.id, wanted, offset, limit)
    return ProjectPromptPage(
        items=_totals(session, project.id, rows),
        total=total,
        project=project.name,
        num_waiting=totals.num_waiting(session, project.id),
    )


def all_matching(session: Session, wanted: ProjectPromptFilter) -> Iterator[PromptTotalsAcross]:
    """Yield all of a project's prompts that a filter finds, up to `MOST_EXPORTED`, in the filter's order."""
    project = project_of(session, wanted.project)
    for offset in range(0, MOST_EXPORTED, _EXPORTED_AT_ONCE):
        rows, total = totals.prompts(session, project.id, wanted, offset, _EXPORTED_AT_ONCE)
        yield from _totals(session, project.id, rows)
        if offset + _EXPORTED_AT_ONCE >= total:
            return


def _totals(session: Session, project_id: str, rows: Sequence[ProjectPrompt]) -> list[PromptTotalsAcross]:
    listed = lists.holding(session, project_id, [row.prompt_id for row in rows])
    return [
        PromptTotalsAcross(
            prompt_id=row.prompt_id,
            text=None if row.content is None else row.content[:BEGINNING_LETTERS],
            num_runs=row.num_runs,
            num_visits=row.num_visits,
            accuracy=_accuracy(row.num_correct, row.num_responses),
            num_never_solved=row.num_never_solved,
            num_always_solved=row.num_always_solved,
            num_suspected=row.num_suspected,
            lists=listed.get(row.prompt_id, []),
        )
        for row in rows
    ]


def _accuracy(num_correct: int, num_responses: int) -> Accuracy:
    found = accuracy(num_correct, num_responses)
    value, low, high = (None, None, None) if found is None else found
    return Accuracy(num_correct=num_correct, num_responses=num_responses, value=value, low=low, high=high)


# ---------------------------------------------------------------- one prompt


def in_runs(session: Session, prompt_id: str, project_name: str | None, offset: int, limit: int) -> PromptInRuns:
    """Return a prompt's totals, and a page of the runs that visited it; nothing where no counted run did."""
    project = project_of(session, project_name)
    prompt = totals.one(session, project.id, prompt_id)
    if prompt is None:
        return PromptInRuns(items=[], total=0, project=project.name, whole_text=None, answer=None, totals=None)
    rows = totals.in_runs(session, prompt, offset, limit)
    newest = rows if offset == 0 else totals.in_runs(session, prompt, 0, POOLED_RUNS)
    texts = (repository.whole_text(session, row.run_id, prompt_id) for row in newest[:POOLED_RUNS])
    stored = next((each for each in texts if each is not None), None)
    return PromptInRuns(
        items=[_in_run(row) for row in rows],
        total=totals.num_holding(session, prompt),
        project=project.name,
        whole_text=None if stored is None else stored.content,
        answer=None if stored is None else stored.answer,
        totals=_totals(session, project.id, [prompt])[0],
    )


def _in_run(row: InRun) -> PromptInRun:
    return PromptInRun(
        run_id=row.run_id,
        run_name=row.run_name,
        status=RunStatus(row.status),
        method=row.method,
        model=_model(row),
        created_at=row.created_at,
        num_visits=row.num_visits,
        num_inherited_visits=row.num_visits - row.own_visits,
        accuracy=_accuracy(row.num_correct, row.num_evaluations * row.group_size),
        first_correct=row.first_correct,
        last_correct=row.last_correct,
        group_size=row.group_size,
        last_step=row.last_step,
        is_suspected=row.is_suspected,
    )


def _model(row: InRun) -> str:
    return PurePath(row.model_path or "unknown").name or "unknown"


def _newest_answering(session: Session, prompt_id: str, project_name: str | None, limit: int) -> list[InRun]:
    prompt = totals.one(session, project_of(session, project_name).id, prompt_id)
    return [] if prompt is None else totals.in_runs(session, prompt, 0, limit, answering=True)


def curves(session: Session, context: Context, prompt_id: str, project_name: str | None) -> PromptCurves:
    """Return every evaluation of a prompt in the newest runs that answered it, each in the run where it counts."""
    rows = _newest_answering(session, prompt_id, project_name, MOST_CURVES)
    return PromptCurves(items=[_curve(session, context, row, prompt_id) for row in rows])


def _curve(session: Session, context: Context, row: InRun, prompt_id: str) -> PromptCurve:
    visits = RunReading(session, context, row.run_id).visits
    number = visits.prompt_ids.index(prompt_id) if prompt_id in visits.prompt_ids else -1
    is_own = ~np.isin(visits.step, np.array(row.inherited_steps, np.int64))
    found = thinned(np.flatnonzero((visits.prompt == number) & visits.is_evaluation & is_own), MOST_POINTS)
    return PromptCurve(
        run_id=row.run_id,
        run_name=row.run_name,
        method=row.method,
        model=_model(row),
        group_size=visits.group_size,
        step=visits.step[found].tolist(),
        num_correct=visits.num_correct[found].tolist(),
        policy_version=[None if each == UNKNOWN_VERSION else each for each in visits.policy_version[found].tolist()],
        source=[SOURCES[each] for each in visits.source[found]],
    )


def answers(session: Session, prompt_id: str, project_name: str | None) -> PromptAnswers:
    """Return the answers in the newest stored responses of the newest runs, pooled, and the newest groups."""
    pooled: list[tuple[str, ResponseGroup]] = []
    newest: list[SampledIn] = []
    label, num_runs = None, 0
    for row in _newest_answering(session, prompt_id, project_name, POOLED_RUNS):
        stored = samples.page(session, samples.Wanted(row.run_id, prompt_id), None, GROUPS_OF_RUN)
        found = [record for place, record in stored if place.step not in row.inherited_steps]
        if not found:
            continue
        threshold = reward_threshold(RunConfig.model_validate(runs.get(session, row.run_id).config))
        groups = [response_group(record, threshold) for record in found]
        num_runs += 1
        label = label or groups[0].label
        pooled += [(_model(row), group) for group in groups]
        if len(newest) < NEWEST_RUNS:
            newest.append(_sampled(row, groups[0]))
    said = agreement(pooled)
    return PromptAnswers(
        num_runs=num_runs,
        num_responses=said.num_responses,
        num_correct=said.num_correct,
        num_without_answer=said.num_without_answer,
        num_label_refused=said.num_label_refused,
        label=label,
        answers=[PooledAnswer(**each._asdict()) for each in said.answers],
        num_answers=said.num_answers,
        suspected=said.suspected,
        share=said.share,
        newest=newest,
    )


def _sampled(row: InRun, group: ResponseGroup) -> SampledIn:
    return SampledIn(
        run_id=row.run_id,
        run_name=row.run_name,
        method=row.method,
        model=_model(row),
        step=group.step,
        num_correct=sum(each.is_correct for each in group.responses),
        responses=[
            SampledText(
                text=each.text[-RESPONSE_LETTERS:],
                reward=each.reward,
                is_correct=each.is_correct,
                answer=stated_answer(each.text),
            )
            for each in group.responses
        ],
    )


# ---------------------------------------------------------------- export


HISTORY_COLUMNS = (
    *("run_id", "run_name", "method", "model", "step", "source", "num_correct", "group_size"),
    *("policy_version", "in_batch", "reason"),
)


def history(session: Session, prompt_id: str, project_name: str | None) -> Iterator[dict[str, Any]]:
    """Return every visit of a prompt, run by run, the newest first; inherited ones in the oldest run only."""
    prompt = totals.one(session, project_of(session, project_name).id, prompt_id)
    if prompt is None:
        return
    for offset in range(0, totals.num_holding(session, prompt), _RUNS_AT_ONCE):
        for row in totals.in_runs(session, prompt, offset, _RUNS_AT_ONCE):
            inherited = frozenset(row.inherited_steps)
            own = (each for each in repository.all_visits(session, row.run_id, prompt_id) if each.step not in inherited)
            for visit in own:
                yield {
                    "run_id": row.run_id,
                    "run_name": row.run_name,
                    "method": row.method,
                    "model": _model(row),
                    "step": visit.step,
                    "source": visit.source,
                    "num_correct": visit.num_correct,
                    "group_size": row.group_size,
                    "policy_version": visit.policy_version,
                    "in_batch": visit.in_batch,
                    "reason": visit.reason,
                }
