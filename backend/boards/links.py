"""Read-only links: a secret of 256 bits that opens one board without a login, until it expires or is revoked."""

from __future__ import annotations

from typing import NamedTuple

from sqlalchemy.orm import Session

from backend.boards import repository, service
from backend.identity.audit.repository import add_audit
from backend.kit import project_scope
from backend.kit.bodies import rendered
from backend.kit.database import clock, seconds_from_now
from backend.kit.errors import Problem
from backend.kit.principal import Principal, hash_of, new_secret, visible_prefix
from backend.models import Board, BoardLink
from backend.settings.environment import Settings
from bapo.api.boards import BoardLinkCreate, BoardLinkInfo, NewBoardLink, SharedBoard, TextPanel
from bapo.api.runs import RunFilters

MOST_LINKS = 100
"""Maximum number of links of one board."""
PATH = "/shared"
"""Path of shared boards in the dashboard."""
_DAY_SECONDS = 86_400.0


def link_info(link: BoardLink) -> BoardLinkInfo:
    """Return a link without its secret."""
    return rendered(BoardLinkInfo, link)


def share(
    session: Session, settings: Settings, board_id: str, body: BoardLinkCreate, caller: Principal
) -> NewBoardLink:
    """Return a new link. Raises Problem 404, 403, 409 for too many, and 422 for longer than this deployment allows."""
    board = service.for_change(session, board_id, caller).board
    if body.expires_in_days > settings.board_link_days:
        most = settings.board_link_days
        remedy = (
            f"links last at most {most} days here (BAPO_BOARD_LINK_DAYS): give fewer"
            if most
            else "this deployment shares no boards outside the team (BAPO_BOARD_LINK_DAYS is 0)"
        )
        raise Problem(422, "invalid_request", remedy, field="expires_in_days", value=body.expires_in_days)
    if len(repository.links(session, board_id)) >= MOST_LINKS:
        raise Problem(409, "too_many_links", f"the board has had {MOST_LINKS} links: make another board")
    secret = new_secret()
    link = BoardLink(
        project_id=board.project_id,
        board_id=board.id,
        secret_hash=hash_of(secret),
        prefix=visible_prefix(secret),
        author=caller.name,
        created_at=clock(session),
        expires_at=seconds_from_now(body.expires_in_days * _DAY_SECONDS),
    )
    session.add(link)
    session.flush()
    session.refresh(link)
    detail = {"board_id": board.id, "name": board.name, "link_id": link.id, "expires_at": link.expires_at.isoformat()}
    add_audit(session, None, caller.name, "board_shared", detail)
    address = f"{settings.public_url.rstrip('/')}{PATH}?key={secret}"
    return rendered(NewBoardLink, link, secret=secret, address=address)


def revoke(session: Session, board_id: str, link_id: str, caller: Principal) -> BoardLinkInfo:
    """End a link at once; a second time changes nothing. Raises Problem 404 and 403."""
    board = service.for_change(session, board_id, caller).board
    link = repository.link(session, board_id, link_id)
    if link.revoked_at is None:
        link.revoked_at, link.revoked_by = clock(session), caller.name
        detail = {"board_id": board.id, "name": board.name, "link_id": link.id}
        add_audit(session, None, caller.name, "board_link_revoked", detail)
    return link_info(link)


class Opened(NamedTuple):
    """A board that a link opens."""

    board: Board
    link: BoardLink


def opened(session: Session, secret: str) -> Opened:
    """Return the board of a link; from here on the session finds nothing outside the board's project, and no trash.

    Raises Problem 404 for a secret that there is not, 410 for a link that was revoked or has expired.
    """
    link = repository.link_by_secret(session, hash_of(secret))
    if link is None:
        remedy = "this link opens nothing: it is not complete, or its board was deleted; ask who sent it for a new one"
        raise Problem(404, "no_such_link", remedy)
    if link.revoked_at is not None:
        remedy = "this link was revoked: ask who sent it whether there is a new one"
        raise Problem(410, "link_revoked", remedy)
    if link.expires_at <= clock(session):
        remedy = f"this link expired on {link.expires_at:%Y-%m-%d at %H:%M} UTC: ask who sent it for a new one"
        raise Problem(410, "link_expired", remedy)
    project_scope.limit(session, [link.project_id])
    project_scope.hide_trash(session)
    repository.note_opening(session, link.id)
    return Opened(repository.board(session, link.board_id).board, link)


def shared_board(found: Opened) -> SharedBoard:
    """Return the board as the link shows it."""
    bare = {"filters": RunFilters(), "view": None}
    panels = [
        each.model_copy(update={**bare, "text": ""} if isinstance(each, TextPanel) else bare)
        for each in service.panels_of(found.board)
    ]
    return rendered(SharedBoard, found.board, panels=panels, expires_at=found.link.expires_at)
