"""Creates and changes projects and their members."""

from __future__ import annotations

from collections.abc import Sequence

from sqlalchemy import select
from sqlalchemy.exc import IntegrityError
from sqlalchemy.orm import Session

from backend.identity.audit.repository import add_audit
from backend.identity.auth import repository as accounts
from backend.identity.projects import repository
from backend.kit.bodies import rendered
from backend.kit.database import clock
from backend.kit.errors import Problem, existing, not_found
from backend.kit.principal import Principal
from backend.models import Project, User
from bapo.api.people import MemberInfo, MemberWrite, ProjectCreate, ProjectInfo, ProjectUpdate


def infos(session: Session, projects: Sequence[Project], caller: Principal) -> list[ProjectInfo]:
    """Return the projects as the API shows them to this caller."""
    ids = [project.id for project in projects]
    runs, members_of = repository.num_runs(session, ids), repository.num_members(session, ids)
    found = []
    for project in projects:
        role = caller.role_in(project.id)
        assert role is not None, "the session sees only the caller's projects"
        found.append(
            rendered(
                ProjectInfo,
                project,
                num_runs=runs.get(project.id, 0),
                num_members=members_of.get(project.id, 0),
                role=role,
                may_manage=role == "admin" and caller.is_whole,
            )
        )
    return found


def get(session: Session, project_id: str) -> Project:
    """Return one project. Raises Problem 404."""
    return existing(repository.get(session, project_id), "project", project_id)


def named(session: Session, name: str, *, field: str) -> Project:
    """Return the project of that name. Raises Problem 422."""
    project = repository.named(session, name)
    if project is None:
        raise Problem(422, "unknown_project", "unknown project: create it first", field=field, value=name)
    return project


def create(session: Session, body: ProjectCreate, caller: Principal) -> Project:
    """Return a new project. Raises Problem 409 for a name that is taken."""
    project = Project(description=body.description)
    _rename(session, project, body.name)
    add_audit(session, None, caller.name, "project_created", {"project_id": project.id, "name": body.name})
    return project


def update(session: Session, project_id: str, body: ProjectUpdate, caller: Principal) -> Project:
    """Rename, describe, archive. Raises Problem 404, and 409 for a name that is taken."""
    project = get(session, project_id)
    changed: dict[str, object] = {}
    if body.name is not None and body.name != project.name:
        changed["name"] = [project.name, body.name]
        _rename(session, project, body.name)
    if body.description is not None and body.description != project.description:
        changed["description"] = "…"
        project.description = body.description
    if body.archived is not None and body.archived != (project.archived_at is not None):
        changed["archived"] = body.archived
        project.archived_at = clock(session) if body.archived else None
    if changed:
        add_audit(session, None, caller.name, "project_changed", {"project_id": project_id, **changed})
    session.flush()
    return project


def _rename(session: Session, project: Project, name: str) -> None:
    taken = Problem(409, "name_taken", "a project with this name exists: choose another name", field="name", value=name)
    if repository.is_taken(session, name, but=project.id):
        raise taken
    try:
        with session.begin_nested():
            project.name = name
            session.add(project)
    except IntegrityError as error:
        raise taken from error


def members(session: Session, project_id: str) -> list[MemberInfo]:
    """Return all members by name."""
    return [_member(user, role) for user, role in repository.members(session, project_id)]


def _member(user: User, role: str) -> MemberInfo:
    info = {"user_id": user.id, "name": user.name, "role": role, "is_disabled": user.disabled_at is not None}
    return MemberInfo.model_validate(info)


def set_member(session: Session, project_id: str, body: MemberWrite, caller: Principal) -> MemberInfo:
    """Add a member or change their role. Raises Problem 404, and 422 if there is no such user."""
    project = get(session, project_id)
    user = session.scalars(select(User).where(User.name == body.name)).one_or_none()
    if user is None:
        remedy = "no user has this name: check it, or ask an administrator to create the user"
        raise Problem(422, "unknown_person", remedy, field="name", value=body.name)
    accounts.set_membership(session, project_id, user.id, body.role)
    detail = {"project_id": project_id, "project": project.name, "name": user.name, "role": body.role}
    add_audit(session, None, caller.name, "member_set", detail)
    return _member(user, body.role)


def remove_member(session: Session, project_id: str, user_id: str, caller: Principal) -> None:
    """End a membership; the runs stay. Raises Problem 404."""
    project = get(session, project_id)
    role = repository.remove_member(session, project_id, user_id)
    user = session.get(User, user_id)
    if role is None or user is None:
        raise not_found("member", user_id)
    detail = {"project_id": project_id, "project": project.name, "name": user.name, "role": role}
    add_audit(session, None, caller.name, "member_removed", detail)
