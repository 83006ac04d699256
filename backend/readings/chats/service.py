"""Takes messages to the models of a run, and the answers of its worker."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from sqlalchemy.orm import Session

from backend.kit.bodies import rendered
from backend.kit.database import clock
from backend.kit.errors import Problem, not_found
from backend.kit.principal import Principal
from backend.models import Chat, Run
from backend.readings.chats import repository
from backend.runs.checkpoints import service as checkpoints
from backend.settings.environment import Settings
from backend.workers.administration import worker_of
from bapo.api.chats import ChatCreate, ChatInfo, ChatPage, ChatReport
from bapo.config.method import is_trainable
from bapo.run.chat_sides import ChatSide

MAX_LISTED = 20
MAX_KEPT = 100
"""Chats of a run; older ones are deleted."""


def page(session: Session, run: Run, settings: Settings) -> ChatPage:
    """Return the newest chats of a run, and whether its models can be asked."""
    now = clock(session)
    refusal, num_training = _availability(session, run, settings)
    return ChatPage(
        items=[info(each, now) for each in repository.of_run(session, run.id, MAX_LISTED)],
        sides=sides_of(session, run),
        refusal=refusal,
        num_training=num_training,
    )


def info(chat: Chat, now: datetime) -> ChatInfo:
    """Return the chat for people."""
    if chat.state in repository.OPEN_STATES and (now - chat.requested_at).total_seconds() > repository.OPEN_SECONDS:
        minutes = repository.OPEN_SECONDS / 60
        reason = f"no answer within {minutes:.0f} minutes: the worker on {chat.host} is gone, or of an earlier release"
        return rendered(ChatInfo, chat, state="failed", reason=reason)
    return rendered(ChatInfo, chat)


def sides_of(session: Session, run: Run) -> list[ChatSide]:
    """Return the models of the run that can be asked, in the order of training."""
    sides: list[ChatSide] = ["base"]
    # Configs of earlier releases have no such section.
    if run.config.get("warm_start", {}).get("steps"):
        sides.append("warm_start")
    return [*sides, "trained"] if checkpoints.kept(session, run) else sides


def _availability(session: Session, run: Run, settings: Settings) -> tuple[str | None, int]:
    """Return why the models of a run cannot be asked, if so, and how many runs train on its machine."""
    if not is_trainable(run.method):
        return "this run is observed: its models are with its own trainer", 0
    if run.host is None:
        return "none of this server's workers has trained this run, so that none holds its models", 0
    num_training = repository.num_trained_beside(
        session, run, is_shared=settings.runs_dir_shared, fresh_seconds=settings.fresh_seconds
    )
    if num_training is None:
        return f"no worker is connected on {run.host}, which holds the run's checkpoints: start it there", 0
    return None, num_training


def ask(session: Session, run: Run, body: ChatCreate, caller: Principal, settings: Settings) -> Chat:
    """Leave a message to the worker that holds the run's models.

    Raises Problem 403 for who only looks into the project, 409 where no worker can answer or the caller's last message
    is not answered yet, and 422 for a model that the run does not have.
    """
    if not caller.may_write_in(run.project_id):
        remedy = "you have read access only to this run's project: ask one of its members"
        raise Problem(403, "forbidden", remedy, field="id", value=run.id)
    refusal, _ = _availability(session, run, settings)
    if refusal is not None or run.host is None:
        raise Problem(409, "no_models", refusal or "no worker holds the run's models", field="id", value=run.id)
    _check_sides(body.sides, sides_of(session, run))
    waiting = repository.open_of(session, caller.id, caller.name)
    if waiting is not None:
        remedy = f"your message to run {waiting.run_id} is not answered yet: wait for it, or delete it"
        raise Problem(409, "chat_open", remedy, field="id", value=waiting.id)
    chat = Chat(
        run_id=run.id,
        author=caller.name,
        host=run.host,
        reason=f"waiting for the worker on {run.host}, which holds the run's models",
        **body.model_dump(),
    )
    session.add(chat)
    session.flush()
    session.refresh(chat)
    repository.keep_newest(session, run.id, MAX_KEPT)
    return chat


def _check_sides(wanted: Sequence[ChatSide], offered: Sequence[ChatSide]) -> None:
    for side in wanted:
        if side not in offered:
            remedy = f"the run has no such model: take {', '.join(offered)}"
            if side == "trained":
                remedy += "; the trained model answers once the first checkpoint is written"
            raise Problem(422, "invalid_request", remedy, field="sides", value=side)


# ---------------------------------------------------------------- from the worker that has it answered


def report(session: Session, chat_id: str, body: ChatReport, caller: Principal) -> None:
    """Keep what the worker has of the answers. Raises Problem 404 for a chat that is not its own: it drops it then."""
    worker = worker_of(session, body.worker_id, caller)
    chat = repository.lock(session, chat_id)
    if chat is None or chat.worker_id != worker.id:
        raise not_found("chat", chat_id)
    if chat.state not in repository.OPEN_STATES:
        return
    chat.answers = [answer.model_dump() for answer in body.answers]
    if body.is_done or body.problem is not None:
        chat.state = "answered" if body.problem is None else "failed"
        chat.reason, chat.answered_at = body.problem, clock(session)
