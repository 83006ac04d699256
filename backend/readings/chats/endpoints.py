"""Routes for chats with the models of a run."""

from __future__ import annotations

from backend.kit.context import DbSession, SettingsOf, new_router
from backend.kit.database import clock
from backend.kit.permissions import Reader, Writer
from backend.readings.chats import repository, service
from backend.runs import repository as runs
from backend.runs.access import lock_own
from bapo.api.chats import ChatCreate, ChatInfo, ChatPage

router = new_router("chats")


@router.get("/runs/{run_id}/chats", summary="List a run's chats")
def list_chats(_: Reader, session: DbSession, settings: SettingsOf, run_id: str) -> ChatPage:
    """List the newest chats with a run's models, newest first, and say whether they can be asked now."""
    return service.page(session, runs.get(session, run_id), settings)


@router.post("/runs/{run_id}/chats", status_code=202, summary="Ask a run's models")
def create_chat(caller: Writer, session: DbSession, settings: SettingsOf, run_id: str, body: ChatCreate) -> ChatInfo:
    """Ask the base model, the model of the warm start and the newest checkpoint the same, on the CPU of the worker that
    holds them. One message of a person at a time; 409 until it is answered.
    """
    chat = service.ask(session, runs.lock(session, run_id), body, caller, settings)
    return service.info(chat, clock(session))


@router.get("/runs/{run_id}/chats/{chat_id}", summary="Get a chat")
def get_chat(_: Reader, session: DbSession, run_id: str, chat_id: str) -> ChatInfo:
    """Get a message with its answers, or their beginnings."""
    return service.info(repository.get(session, run_id, chat_id), clock(session))


@router.delete("/runs/{run_id}/chats/{chat_id}", status_code=204, summary="Delete a chat")
def delete_chat(caller: Writer, session: DbSession, run_id: str, chat_id: str) -> None:
    """Delete a message with its answers; the worker stops writing them."""
    chat = repository.get(session, run_id, chat_id)
    if chat.author != caller.name:
        lock_own(session, run_id, caller)
    session.delete(chat)
