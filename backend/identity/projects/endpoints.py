"""Routes for projects and their members."""

from __future__ import annotations

from backend.identity.auth import repository as accounts
from backend.identity.projects import service
from backend.kit.context import ContextOf, DbSession, new_router
from backend.kit.permissions import Administrator, Manager, Reader
from bapo.api.people import MemberInfo, MemberPage, MemberWrite, ProjectCreate, ProjectInfo, ProjectPage, ProjectUpdate

router = new_router("projects")


@router.get("/projects", summary="List projects")
def list_projects(caller: Reader, session: DbSession) -> ProjectPage:
    """List the caller's projects by name; all projects for administrators of the server."""
    return ProjectPage(items=service.infos(session, accounts.projects(session), caller))


@router.post("/projects", status_code=201, summary="Create a project")
def create_project(caller: Administrator, session: DbSession, body: ProjectCreate) -> ProjectInfo:
    """Create a project without members."""
    return service.infos(session, [service.create(session, body, caller)], caller)[0]


@router.get("/projects/{project_id}", summary="Get a project")
def get_project(caller: Reader, session: DbSession, project_id: str) -> ProjectInfo:
    """Get a project by ID, with the caller's role in it."""
    return service.infos(session, [service.get(session, project_id)], caller)[0]


@router.patch("/projects/{project_id}", summary="Update a project")
def update_project(caller: Manager, session: DbSession, project_id: str, body: ProjectUpdate) -> ProjectInfo:
    """Rename, describe or archive a project. Its runs stay in it."""
    return service.infos(session, [service.update(session, project_id, body, caller)], caller)[0]


@router.get("/projects/{project_id}/members", summary="List members")
def list_members(_: Reader, session: DbSession, project_id: str) -> MemberPage:
    """List a project's members by name. Administrators of the server need no membership."""
    service.get(session, project_id)
    return MemberPage(items=service.members(session, project_id))


@router.put("/projects/{project_id}/members", summary="Add or change a member")
def set_member(
    caller: Manager, session: DbSession, context: ContextOf, project_id: str, body: MemberWrite
) -> MemberInfo:
    """Add a user to a project, or change a member's role."""
    member = service.set_member(session, project_id, body, caller)
    context.callers.forget_user(member.user_id)
    return member


@router.delete("/projects/{project_id}/members/{user_id}", status_code=204, summary="Remove a member")
def remove_member(caller: Manager, session: DbSession, context: ContextOf, project_id: str, user_id: str) -> None:
    """Remove a member from a project. Their runs stay in it."""
    service.remove_member(session, project_id, user_id, caller)
    context.callers.forget_user(user_id)
