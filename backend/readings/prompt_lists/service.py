"""Makes, changes and removes prompt lists."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from sqlalchemy.exc import IntegrityError
from sqlalchemy.orm import Session

from backend.identity.audit.repository import add_audit
from backend.identity.projects import choice
from backend.kit.bodies import rendered
from backend.kit.database import clock
from backend.kit.errors import Problem
from backend.kit.principal import Principal
from backend.models import PromptList, PromptListVersion
from backend.readings.prompt_lists import repository
from backend.readings.prompt_lists.repository import EntryRow, ListRow
from bapo.api.prompt_lists import (
    PromptListChange,
    PromptListCreate,
    PromptListEntryInfo,
    PromptListEntryPage,
    PromptListInfo,
    PromptListVersionInfo,
)
from bapo.config.prompt_weights import MOST_ENTRIES, UNIT


def info(row: ListRow, caller: Principal) -> PromptListInfo:
    """Render a list for the API."""
    newest = row.newest
    return rendered(
        PromptListInfo,
        row.list,
        row,
        num_quarantined=0 if newest is None else newest.num_quarantined,
        num_weighted=0 if newest is None else newest.num_weighted,
        changed_at=row.list.created_at if newest is None else newest.created_at,
        may_remove=caller.may_change(row.list),
    )


def create(session: Session, body: PromptListCreate, caller: Principal) -> str:
    """Make an empty list; a removed one of that name comes back with its versions. Raises Problem 409 and 422."""
    project = choice.for_new(session, caller, body.project)
    known = repository.named(session, project.id, body.name)
    if known is not None and known.removed_at is not None:
        known.removed_at, known.description, known.owner_id = None, body.description, caller.id
        session.flush()
        _audit(session, known, caller, "prompt_list_created")
        return known.id
    made = PromptList(
        project_id=project.id, name=body.name, description=body.description, owner_id=caller.id, version=0
    )
    try:
        with session.begin_nested():
            session.add(made)
    except IntegrityError as error:
        remedy = f"{project.name} has a prompt list of this name: add to it, or choose another name"
        raise Problem(409, "name_taken", remedy, field="name", value=body.name) from error
    _audit(session, made, caller, "prompt_list_created")
    return made.id


def _audit(session: Session, each: PromptList, caller: Principal, action: str, **detail: int) -> None:
    add_audit(session, None, caller.name, action, {"list": each.name, **detail})


def change(session: Session, list_id: str, body: PromptListChange, caller: Principal) -> None:
    """Make the next version; none where nothing changes. Raises Problem 404, 403, and 422 for what cannot be listed."""
    each = _writable(session, list_id, caller)
    wanted = {entry.prompt_id: entry for entry in body.set}
    if len(wanted) < len(body.set):
        (twice, _), *_ = Counter(entry.prompt_id for entry in body.set).most_common(1)
        raise Problem(422, "invalid_request", "the prompt is listed twice: set it once", field="set", value=twice)
    both = next((prompt_id for prompt_id in body.remove if prompt_id in wanted), None)
    if both is not None:
        remedy = "the prompt is set and removed at once: do one of them"
        raise Problem(422, "invalid_request", remedy, field="remove", value=both)
    now = repository.current(session, list_id)
    new = [entry for entry in wanted.values() if now.get(entry.prompt_id) != (round(entry.weight * UNIT), entry.note)]
    gone = {prompt_id for prompt_id in (now if body.replace else body.remove) if prompt_id in now} - wanted.keys()
    if not new and not gone:
        return
    after = {prompt_id: thousandths for prompt_id, (thousandths, _) in now.items() if prompt_id not in gone}
    after |= {entry.prompt_id: round(entry.weight * UNIT) for entry in new}
    if len(after) > MOST_ENTRIES:
        remedy = f"the list would have {len(after):,} prompts, and may have {MOST_ENTRIES:,}: make a second list"
        raise Problem(422, "too_many_prompts", remedy, field="set", value=len(new))
    each.version += 1
    repository.end(session, list_id, [*gone, *(entry.prompt_id for entry in new)], each.version)
    repository.begin(session, list_id, new, each.version, caller.id)
    num_quarantined = sum(thousandths == 0 for thousandths in after.values())
    session.add(
        PromptListVersion(
            list_id=list_id,
            number=each.version,
            author_id=caller.id,
            num_set=len(new),
            num_removed=len(gone),
            num_quarantined=num_quarantined,
            num_weighted=len(after) - num_quarantined,
        )
    )
    _audit(session, each, caller, "prompt_list_changed", version=each.version, set=len(new), removed=len(gone))
    session.flush()


def _writable(session: Session, list_id: str, caller: Principal) -> PromptList:
    each = repository.lock(session, list_id)
    if not caller.may_write_in(each.project_id):
        remedy = "you have read access only to this list's project: ask its administrators"
        raise Problem(403, "forbidden", remedy, field="list_id", value=list_id)
    return each


def remove(session: Session, list_id: str, caller: Principal) -> None:
    """Take the name away; versions stay for the runs that name them. Raises Problem 404 and 403."""
    each = repository.lock(session, list_id)
    if not caller.may_change(each):
        remedy = "only its owner and the project's administrators may remove it: ask one of them"
        raise Problem(403, "forbidden", remedy, field="list_id", value=list_id)
    _audit(session, each, caller, "prompt_list_removed", version=each.version)
    if each.version:
        # A list that is made under the same name later begins empty.
        change(session, list_id, PromptListChange(replace=True), caller)
        each.removed_at = clock(session)
    else:
        repository.forget(session, list_id)


def version_of(row: ListRow, number: int | None) -> int:
    """Return the version asked for, or the newest. Raises Problem 404."""
    if number is None:
        return row.list.version
    if not 0 < number <= row.list.version:
        remedy = f"the list's newest version is {row.list.version}: ask for that or an earlier one"
        raise Problem(404, "not_found", remedy, field="version", value=number)
    return number


def entries(
    session: Session,
    row: ListRow,
    version: int,
    *,
    search: str | None,
    is_quarantine: bool | None,
    offset: int,
    limit: int,
) -> PromptListEntryPage:
    """Return a page of a version's entries."""
    rows, total = repository.entries(
        session, row.list.id, version, search=search, is_quarantine=is_quarantine, offset=offset, limit=limit
    )
    return PromptListEntryPage(items=[_entry(each) for each in rows], total=total, version=version)


def _entry(row: EntryRow) -> PromptListEntryInfo:
    return rendered(PromptListEntryInfo, row.entry, row, weight=row.entry.thousandths / UNIT)


def exported(session: Session, row: ListRow, version: int) -> Iterator[PromptListEntryInfo]:
    """Yield all entries of a version."""
    return map(_entry, repository.all_entries(session, row.list.id, version))


def versions(session: Session, row: ListRow) -> Sequence[PromptListVersionInfo]:
    """Return the changes of a list, newest first."""
    found = repository.versions(session, row.list.id)
    return [rendered(PromptListVersionInfo, version, author=author) for version, author in found]
