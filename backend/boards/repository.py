"""SQL of boards and their links."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from sqlalchemy import Select, func, select, update
from sqlalchemy.orm import Session

from backend.kit.database import seconds_from_now
from backend.kit.errors import existing
from backend.models import Board, BoardLink, Project


class BoardRow(NamedTuple):
    """A board, its project's name, and how many links open it now."""

    board: Board
    project: str
    num_links: int


def _query() -> Select[Board, str, int]:
    opening = (
        select(func.count())
        .select_from(BoardLink)
        .where(BoardLink.board_id == Board.id, BoardLink.revoked_at.is_(None), BoardLink.expires_at > func.now())
        .scalar_subquery()
    )
    return select(Board, Project.name, opening).join(Project, Board.project_id == Project.id)


def boards(session: Session) -> list[BoardRow]:
    """Return all boards that the session sees, by name."""
    query = _query().order_by(func.lower(Board.name), Board.created_at)
    return [BoardRow(*row) for row in session.execute(query)]


def board(session: Session, board_id: str) -> BoardRow:
    """Return one board. Raises Problem 404."""
    return BoardRow(*existing(session.execute(_query().where(Board.id == board_id)).one_or_none(), "board", board_id))


def lock(session: Session, board_id: str) -> None:
    """Hold the board against every other change until the transaction ends. Raises Problem 404."""
    query = select(Board).where(Board.id == board_id).with_for_update(key_share=True)
    existing(session.scalars(query.execution_options(populate_existing=True)).one_or_none(), "board", board_id)


def links(session: Session, board_id: str) -> Sequence[BoardLink]:
    """Return the board's links, newest first."""
    query = select(BoardLink).where(BoardLink.board_id == board_id).order_by(BoardLink.created_at.desc(), BoardLink.id)
    return session.scalars(query).all()


def link(session: Session, board_id: str, link_id: str) -> BoardLink:
    """Return a link of the board. Raises Problem 404."""
    query = select(BoardLink).where(BoardLink.board_id == board_id, BoardLink.id == link_id)
    return existing(session.scalars(query).one_or_none(), "link", link_id)


def link_by_secret(session: Session, secret_hash: str) -> BoardLink | None:
    """Return the link with this secret, whether it opens the board still or not."""
    return session.scalars(select(BoardLink).where(BoardLink.secret_hash == secret_hash)).one_or_none()


def note_opening(session: Session, link_id: str) -> None:
    """Note that the link was used, at most once a minute."""
    stale = (BoardLink.last_opened_at.is_(None)) | (BoardLink.last_opened_at < seconds_from_now(-60))
    session.execute(update(BoardLink).where(BoardLink.id == link_id, stale).values(last_opened_at=func.now()))
