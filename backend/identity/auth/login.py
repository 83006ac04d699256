"""Logs people in and sets passwords: database work in threads, password hashing outside transactions."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, TypeVar

import anyio.to_thread
from sqlalchemy.orm import Session

from backend.identity.audit.repository import add_audit
from backend.identity.auth import passwords, repository, service, throttle
from backend.identity.auth.passwords import Passwords
from backend.identity.auth.service import Visit
from backend.kit import project_scope
from backend.kit.database import clock
from backend.kit.errors import Problem
from backend.kit.principal import Principal, hash_of
from backend.models import User
from bapo.api.accounts import Login, PasswordChange, PasswordSet, UserInfo

if TYPE_CHECKING:
    from backend.kit.context import Context

T = TypeVar("T")

Entry = tuple[UserInfo, str]
"""User who is logged in, and the new session's secret."""


@dataclass(frozen=True)
class Asker:
    """The client that logs in."""

    address: str
    visit: Visit


async def in_transaction(context: Context, work: Callable[[Session], T]) -> T:
    """Do database work in a thread, and commit it."""

    def run() -> T:
        with context.database.session() as session, session.begin():
            return work(session)

    return await anyio.to_thread.run_sync(run)


async def login(context: Context, body: Login, asker: Asker) -> Entry | None:
    """Return the new login; None where the credentials are not good. Raises Problem 429 after too many failures."""
    if body.name is not None and body.password is not None:
        return await _by_password(context, body.name.strip(), body.password, asker)
    if not body.code and not body.token:
        return None

    def work(session: Session) -> Entry | None:
        user = service.owner_of(session, code=body.code, token=body.token)
        if user is None:
            return None
        how = "code" if body.code is not None else "token"
        return enter(session, user, asker, how)

    return await in_transaction(context, work)


async def _by_password(context: Context, name: str, password: str, asker: Asker) -> Entry | None:
    if not context.settings.local_passwords:
        remedy = "this server takes no passwords: use single sign-on, or a token or one-time code"
        raise Problem(403, "no_passwords", remedy)
    attempt_id = await in_transaction(context, partial(throttle.begin, name=name, address=asker.address))
    user_id, stored = await in_transaction(context, partial(_stored, name=name))
    # The same amount of work for every name, known or not.
    if not await context.part(Passwords).is_right(stored, password) or user_id is None or stored is None:
        return None
    renewed = await context.part(Passwords).hashed(password) if passwords.needs_renewal(stored) else None

    def work(session: Session) -> Entry | None:
        user = repository.user(session, user_id)
        # Changed or disabled meanwhile.
        if user is None or user.password_hash != stored:
            return None
        if renewed is not None:
            user.password_hash = renewed
        throttle.succeeded(session, attempt_id, name, asker.address)
        return enter(session, user, asker, "password")

    return await in_transaction(context, work)


def _stored(session: Session, name: str) -> tuple[str | None, str | None]:
    user = repository.user_named(session, name)
    return (None, None) if user is None else (user.id, user.password_hash)


def enter(session: Session, user: User, asker: Asker, how: str) -> Entry:
    """Begin a login of this user, with an entry in the audit trail that says how."""
    caller, secret = service.begin_session(session, user, asker.visit)
    add_audit(session, None, user.name, "logged_in", {"with": how, "address": asker.address})
    session.flush()
    project_scope.limit(session, caller.memberships)
    return service.user_info(session, caller), secret


async def set_password(context: Context, body: PasswordSet, asker: Asker) -> Entry:
    """Use up a link's code. Raises Problem 401 for one that is not good, 422 for a weak password, which leaves it."""
    name = await in_transaction(context, partial(_owner_of_link, code=body.code))
    passwords.check_strength(body.password, name, "password")
    new = await context.part(Passwords).hashed(body.password)

    def work(session: Session) -> tuple[str, Entry]:
        user_id = repository.take_login_code(session, hash_of(body.code), "password")
        user = None if user_id is None else repository.user(session, user_id)
        if user is None:
            raise _bad_link()
        user.password_hash, user.password_changed_at = new, clock(session)
        repository.end_sessions(session, user.id)
        repository.end_login_codes(session, user.id)
        add_audit(session, None, user.name, "password_set", {"with": "link"})
        return user.id, enter(session, user, asker, "link")

    user_id, entry = await in_transaction(context, work)
    context.callers.forget_user(user_id)
    return entry


def _owner_of_link(session: Session, code: str) -> str:
    user = repository.owner_of_link(session, hash_of(code))
    if user is None:
        raise _bad_link()
    return user.name


def _bad_link() -> Problem:
    return Problem(401, "link_refused", "this link was used or has expired: ask an administrator for a new one")


async def change_password(context: Context, body: PasswordChange, caller: Principal, asker: Asker) -> None:
    """Change the password. Raises Problem 403 for a wrong old one, 422 for a weak one, 429 after too many failures."""
    passwords.check_strength(body.new, caller.name, "new")
    _, stored = await in_transaction(context, partial(_stored, name=caller.name))
    if stored is not None:
        # A stolen session must not find out the password either.
        attempt_id = await in_transaction(context, partial(throttle.begin, name=caller.name, address=asker.address))
        if not await context.part(Passwords).is_right(stored, body.old or ""):
            raise Problem(403, "wrong_password", "wrong old password: type it again", field="old")
        await in_transaction(
            context,
            partial(throttle.succeeded, attempt_id=attempt_id, name=caller.name, address=asker.address),
        )
    new = await context.part(Passwords).hashed(body.new)

    def work(session: Session) -> None:
        user = repository.user(session, caller.id)
        if user is None or user.password_hash != stored:
            raise Problem(409, "password_changed", "the password was changed meanwhile: log in with the new one")
        user.password_hash, user.password_changed_at = new, clock(session)
        ended = repository.end_sessions(session, user.id, but=caller.secret_hash)
        repository.end_login_codes(session, user.id)
        revoked = []
        if body.end_tokens:
            revoked = [
                token.name
                for token in repository.revoke_tokens(session, "user", user_id=user.id, but=caller.secret_hash)
            ]
        detail = {"with": "old password", "sessions_ended": ended, "tokens_revoked": revoked}
        add_audit(session, None, user.name, "password_set", detail)

    await in_transaction(context, work)
    context.callers.forget_user(caller.id)
