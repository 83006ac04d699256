"""Projects and their members."""

from __future__ import annotations

from backend.auth import repository as accounts
from backend.kit.context import ContextOf, DbSession, new_router
from backend.kit.permissions import Administrator, Manager, Reader
from backend.projects import service
from bapo.api.people import MemberInfo, MemberPage, MemberWrite, ProjectCreate, ProjectInfo, ProjectPage, ProjectUpdate

router = new_router("projects")


@router.get("/projects", summary="One's projects")
def list_projects(caller: Reader, session: DbSession) -> ProjectPage:
    """By name; administrators of the server see all."""
    return ProjectPage(items=service.infos(session, accounts.projects(session), caller))


@router.post("/projects", status_code=201, summary="Make a project")
def create_project(caller: Administrator, session: DbSession, body: ProjectCreate) -> ProjectInfo:
    """Without members."""
    return service.infos(session, [service.create(session, body, caller)], caller)[0]


@router.get("/projects/{project_id}", summary="One project")
def get_project(caller: Reader, session: DbSession, project_id: str) -> ProjectInfo:
    """With what the caller may do there."""
    return service.infos(session, [service.get(session, project_id)], caller)[0]


@router.patch("/projects/{project_id}", summary="Rename, describe or archive a project")
def update_project(caller: Manager, session: DbSession, project_id: str, body: ProjectUpdate) -> ProjectInfo:
    """Its runs stay where they are."""
    return service.infos(session, [service.update(session, project_id, body, caller)], caller)[0]


@router.get("/projects/{project_id}/members", summary="Who is what in a project")
def list_members(_: Reader, session: DbSession, project_id: str) -> MemberPage:
    """By name. Administrators of the server may do everything without being members."""
    service.get(session, project_id)
    return MemberPage(items=service.members(session, project_id))


@router.put("/projects/{project_id}/members", summary="Make somebody a member")
def set_member(
    caller: Manager, session: DbSession, context: ContextOf, project_id: str, body: MemberWrite
) -> MemberInfo:
    """Or change what they are."""
    member = service.set_member(session, project_id, body, caller)
    context.callers.forget_user(member.user_id)
    return member


@router.delete("/projects/{project_id}/members/{user_id}", status_code=204, summary="End a membership")
def remove_member(caller: Manager, session: DbSession, context: ContextOf, project_id: str, user_id: str) -> None:
    """The runs of whoever leaves stay in the project."""
    service.remove_member(session, project_id, user_id, caller)
    context.callers.forget_user(user_id)
