"""SQL of prompt lists: an entry holds from one version up to, and without, another."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import NamedTuple

from sqlalchemy import ColumnElement, Select, Text, any_, delete, func, insert, literal, or_, select, update
from sqlalchemy.dialects.postgresql import ARRAY
from sqlalchemy.orm import Session

from backend.kit.errors import existing
from backend.models import (
    Project,
    PromptList,
    PromptListEntry,
    PromptListVersion,
    Run,
    RunResource,
    User,
)
from bapo.api.prompt_lists import PromptEntry, PromptListRun
from bapo.api.prompts import ListedIn
from bapo.config.prompt_weights import UNIT

FIELD = "task.prompt_list"
MOST_SHOWN = 200
_ROWS_AT_ONCE = 1_000


class ListRow(NamedTuple):
    """A list with its newest version, none before its first, and the names behind identifiers."""

    list: PromptList
    owner: str
    project: str
    newest: PromptListVersion | None
    num_runs: int


def _rows() -> Select[PromptList, str, str, PromptListVersion, int]:
    runs = (
        select(func.count(func.distinct(RunResource.run_id)))
        .join(Run, Run.id == RunResource.run_id)
        .where(
            RunResource.field == FIELD,
            func.split_part(RunResource.reference, ":", 1) == "@" + PromptList.name,
            Run.project_id == PromptList.project_id,
        )
        .correlate(PromptList)
        .scalar_subquery()
    )
    newest = (PromptListVersion.list_id == PromptList.id) & (PromptListVersion.number == PromptList.version)
    return (
        select(PromptList, User.name, Project.name, PromptListVersion, runs)
        .join(User, User.id == PromptList.owner_id)
        .join(Project, Project.id == PromptList.project_id)
        .join(PromptListVersion, newest, isouter=True)
        .where(PromptList.removed_at.is_(None))
    )


def lists(session: Session, project_id: str | None) -> list[ListRow]:
    """Return all prompt lists, or those of a project, by name."""
    query = _rows().order_by(func.lower(PromptList.name), Project.name)
    if project_id is not None:
        query = query.where(PromptList.project_id == project_id)
    return [ListRow(*row) for row in session.execute(query)]


def row(session: Session, list_id: str) -> ListRow:
    """Return one prompt list. Raises Problem 404."""
    found = session.execute(_rows().where(PromptList.id == list_id)).one_or_none()
    return ListRow(*existing(found, "prompt list", list_id))


def lock(session: Session, list_id: str) -> PromptList:
    """Return a list, locked until the transaction ends. Raises Problem 404."""
    query = select(PromptList).where(PromptList.id == list_id, PromptList.removed_at.is_(None)).with_for_update()
    return existing(session.scalars(query).one_or_none(), "prompt list", list_id)


def named(session: Session, project_id: str | None, name: str) -> PromptList | None:
    """Return the project's list of that name, removed or not."""
    query = select(PromptList).where(PromptList.project_id == project_id, PromptList.name == name)
    return session.scalars(query).one_or_none()


def _holds(list_id: str, version: int) -> ColumnElement[bool]:
    return (
        (PromptListEntry.list_id == list_id)
        & (PromptListEntry.from_version <= version)
        & or_(PromptListEntry.to_version.is_(None), PromptListEntry.to_version > version)
    )


def weights(session: Session, list_id: str, version: int) -> dict[str, float]:
    """Return the weights of a version by identity."""
    query = select(PromptListEntry.prompt_id, PromptListEntry.thousandths).where(_holds(list_id, version))
    rows = session.execute(query.order_by(PromptListEntry.prompt_id))
    return {prompt_id: thousandths / UNIT for prompt_id, thousandths in rows}


class EntryRow(NamedTuple):
    """An entry and the name of who made it."""

    entry: PromptListEntry
    author: str


def _entries(
    list_id: str, version: int, *, search: str | None, is_quarantine: bool | None
) -> Select[PromptListEntry, str]:
    query = select(PromptListEntry, User.name).join(User, User.id == PromptListEntry.author_id)
    query = query.where(_holds(list_id, version))
    if search:
        said = func.lower(PromptListEntry.prompt_id + " " + PromptListEntry.note)
        query = query.where(func.strpos(said, search.lower()) > 0)
    if is_quarantine is not None:
        query = query.where((PromptListEntry.thousandths == 0) == is_quarantine)
    return query.order_by(PromptListEntry.prompt_id)


def entries(
    session: Session,
    list_id: str,
    version: int,
    *,
    search: str | None,
    is_quarantine: bool | None,
    offset: int,
    limit: int,
) -> tuple[list[EntryRow], int]:
    """Return a page of a version's entries, and how many there are on all pages."""
    query = _entries(list_id, version, search=search, is_quarantine=is_quarantine)
    total = session.scalars(select(func.count()).select_from(query.order_by(None).subquery())).one()
    return [EntryRow(*found) for found in session.execute(query.offset(offset).limit(limit))], total


def all_entries(session: Session, list_id: str, version: int) -> Iterator[EntryRow]:
    """Yield all entries of a version."""
    query = _entries(list_id, version, search=None, is_quarantine=None)
    for found in session.execute(query.execution_options(yield_per=_ROWS_AT_ONCE)):
        yield EntryRow(*found)


def current(session: Session, list_id: str) -> Mapping[str, tuple[int, str]]:
    """Return thousandths and note by identity, for the current entries of the list."""
    query = select(PromptListEntry.prompt_id, PromptListEntry.thousandths, PromptListEntry.note).where(
        PromptListEntry.list_id == list_id, PromptListEntry.to_version.is_(None)
    )
    return {prompt_id: (thousandths, note) for prompt_id, thousandths, note in session.execute(query)}


def end(session: Session, list_id: str, prompt_ids: Collection[str], version: int) -> None:
    """End these prompts' entries with this version."""
    session.execute(
        update(PromptListEntry)
        .where(
            PromptListEntry.list_id == list_id,
            PromptListEntry.to_version.is_(None),
            _is_one(prompt_ids),
        )
        .values(to_version=version),
        execution_options={"synchronize_session": False},
    )


def begin(session: Session, list_id: str, entries: Sequence[PromptEntry], version: int, author_id: str) -> None:
    """Add these entries from this version on."""
    if entries:
        session.execute(
            insert(PromptListEntry),
            [
                {
                    "list_id": list_id,
                    "prompt_id": each.prompt_id,
                    "thousandths": round(each.weight * UNIT),
                    "note": each.note,
                    "author_id": author_id,
                    "from_version": version,
                }
                for each in entries
            ],
        )


def versions(session: Session, list_id: str) -> list[tuple[PromptListVersion, str]]:
    """Return the changes with the names of their authors, newest first."""
    query = select(PromptListVersion, User.name).join(User, User.id == PromptListVersion.author_id)
    query = query.where(PromptListVersion.list_id == list_id).order_by(PromptListVersion.number.desc())
    return [(version, author) for version, author in session.execute(query.limit(MOST_SHOWN))]


def runs_with(session: Session, each: PromptList) -> list[PromptListRun]:
    """Return the runs that were submitted with a list, newest first."""
    query = (
        select(Run.id, Run.name, Run.status, RunResource.reference, Run.created_at)
        .join(RunResource, RunResource.run_id == Run.id)
        .where(
            RunResource.field == FIELD,
            func.split_part(RunResource.reference, ":", 1) == f"@{each.name}",
            Run.project_id == each.project_id,
        )
        .order_by(Run.created_at.desc(), Run.id)
        .limit(MOST_SHOWN)
    )
    return [
        PromptListRun(
            id=run_id,
            name=name,
            status=status.value,
            version=int(reference.partition(":")[2]),
            created_at=created_at,
        )
        for run_id, name, status, reference, created_at in session.execute(query)
    ]


def forget(session: Session, list_id: str) -> None:
    """Delete a list that never held anything."""
    session.execute(delete(PromptList).where(PromptList.id == list_id))


def holding(session: Session, project_id: str, prompt_ids: Sequence[str]) -> dict[str, list[ListedIn]]:
    """Return the lists of a project that hold each of these prompts now, by name."""
    query = (
        select(
            PromptListEntry.prompt_id, PromptList.id, PromptList.name, PromptListEntry.thousandths, PromptListEntry.note
        )
        .join(PromptList, PromptList.id == PromptListEntry.list_id)
        .where(
            PromptList.project_id == project_id,
            PromptList.removed_at.is_(None),
            PromptListEntry.to_version.is_(None),
            _is_one(prompt_ids),
        )
        .order_by(PromptList.name)
    )
    found: dict[str, list[ListedIn]] = {}
    for prompt_id, list_id, name, thousandths, note in session.execute(query):
        listed = ListedIn(list_id=list_id, name=name, weight=thousandths / UNIT, note=note)
        found.setdefault(prompt_id, []).append(listed)
    return found


def _is_one(prompt_ids: Collection[str]) -> ColumnElement[bool]:
    return PromptListEntry.prompt_id == any_(literal(list(prompt_ids), ARRAY(Text)))
