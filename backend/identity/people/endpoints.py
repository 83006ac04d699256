"""Routes for users."""

from __future__ import annotations

from backend.identity.people import repository, service
from backend.kit.context import ContextOf, DbSession, SettingsOf, new_router
from backend.kit.permissions import Administrator
from bapo.api.people import NewPerson, PasswordLink, PersonCreate, PersonInfo, PersonPage, PersonUpdate

router = new_router("people")


@router.get("/people", summary="List users")
def list_people(_: Administrator, session: DbSession) -> PersonPage:
    """List all users by name, with their projects."""
    return PersonPage(items=service.infos(session, repository.people(session)))


@router.post("/people", status_code=201, summary="Create a user")
def create_person(caller: Administrator, session: DbSession, settings: SettingsOf, body: PersonCreate) -> NewPerson:
    """Create a user. Returns a one-time link with which they set a password: send it over a channel that you trust."""
    return service.create(session, body, caller, settings)


@router.patch("/people/{user_id}", summary="Update a user")
def update_person(
    caller: Administrator, session: DbSession, context: ContextOf, user_id: str, body: PersonUpdate
) -> PersonInfo:
    """Change a user's role or e-mail address, disable or enable them. Disabling ends their sessions, links and tokens.

    The last administrator cannot be disabled or demoted.
    """
    user = service.update(session, user_id, body, caller)
    context.callers.forget_user(user.id)
    return service.infos(session, [user])[0]


@router.post("/people/{user_id}/password-link", status_code=201, summary="Create a password link")
def make_password_link(caller: Administrator, session: DbSession, settings: SettingsOf, user_id: str) -> PasswordLink:
    """Create a link to set a new password. The old password and all sessions work until it is used."""
    return service.link(session, user_id, caller, settings)
