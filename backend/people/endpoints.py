"""Users."""

from __future__ import annotations

from backend.kit.context import ContextOf, DbSession, SettingsOf, new_router
from backend.kit.permissions import Administrator
from backend.people import repository, service
from bapo.api.people import NewPerson, PasswordLink, PersonCreate, PersonInfo, PersonPage, PersonUpdate

router = new_router("people")


@router.get("/people", summary="All users")
def list_people(_: Administrator, session: DbSession) -> PersonPage:
    """By name, with their projects."""
    return PersonPage(items=service.infos(session, repository.people(session)))


@router.post("/people", status_code=201, summary="Make a user")
def create_person(caller: Administrator, session: DbSession, settings: SettingsOf, body: PersonCreate) -> NewPerson:
    """The answer holds a one-time link with which the new user sets a password: hand it over as you trust."""
    return service.create(session, body, caller, settings)


@router.patch("/people/{user_id}", summary="Change a user's role; disable or enable them")
def update_person(
    caller: Administrator, session: DbSession, context: ContextOf, user_id: str, body: PersonUpdate
) -> PersonInfo:
    """A disabled user's sessions, links and tokens end. The last administrator stays one."""
    user = service.update(session, user_id, body, caller)
    context.callers.forget_user(user.id)
    return service.infos(session, [user])[0]


@router.post("/people/{user_id}/password-link", status_code=201, summary="A link to set a new password")
def make_password_link(caller: Administrator, session: DbSession, settings: SettingsOf, user_id: str) -> PasswordLink:
    """The old password and all sessions are good until the link is used."""
    return service.link(session, user_id, caller, settings)
