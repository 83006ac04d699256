"""Has the models of a run answer a person, in a separate process behind the trainers of the machine."""

from __future__ import annotations

import logging
import os
import shutil
from collections.abc import Sequence
from pathlib import Path

from bapo.api.chats import ChatAnswer, ChatReport
from bapo.api.maintenance_jobs import ChatJob
from bapo.client import ApiError, Client
from bapo.isolation.function import CallCancelledError, CallFailedError, IsolatedFunction
from bapo.isolation.limits import Limits
from bapo.run.chat import ANSWERS, Question, SideAnswer, answer_chat

ANSWER_SECONDS = 600.0
"""Time limit of all answers to one message together."""
_WRITTEN_FILE = "answers.json"

log = logging.getLogger(__name__)


class ChatAnswering:
    """The answers to one message, which the server gets while they are generated."""

    def __init__(self, client: Client, worker_id: str, job: ChatJob, folder: Path) -> None:
        """Keep what is being written in `folder`, which is deleted in the end."""
        self._client, self._worker_id, self._job, self._folder = client, worker_id, job, folder
        self._reported: bytes | None = None

    def run(self, run_folder: Path) -> None:
        """Answer, and report. Raises the client's errors, except where the chat was deleted meanwhile."""
        self._folder.mkdir(parents=True, exist_ok=True)
        try:
            self._answer(run_folder)
        except CallCancelledError:
            log.info("chat %s is no longer wanted", self._job.chat_id)
        finally:
            shutil.rmtree(self._folder, ignore_errors=True)

    def _answer(self, run_folder: Path) -> None:
        job = self._job
        question = Question(job.prompt, job.sides, job.max_tokens, job.temperature, job.seed)
        num_threads = 1 if job.is_training else len(os.sched_getaffinity(0))
        written = self._folder / _WRITTEN_FILE
        call = IsolatedFunction(
            answer_chat, Limits(), seconds=ANSWER_SECONDS, is_cancelled=lambda: not self._report_written(written)
        )
        try:
            with call as answer:
                outcome = answer(run_folder, question, written, num_threads)
        except CallFailedError as error:
            self._report([], is_done=True, problem=f"the models could not answer: {error}")
            return
        log.info("chat %s: %s", job.chat_id, outcome.problem or "answered")
        self._report(outcome.answers, is_done=True, problem=outcome.problem)

    def _report_written(self, written: Path) -> bool:
        """Report what was written since the last report; return whether the chat is still wanted."""
        content = written.read_bytes() if written.exists() else b"[]"
        if content == self._reported:
            return True
        self._reported = content
        return self._report(ANSWERS.validate_json(content))

    def _report(self, answers: Sequence[SideAnswer], *, is_done: bool = False, problem: str | None = None) -> bool:
        report = ChatReport(
            worker_id=self._worker_id,
            answers=[ChatAnswer.model_validate(each, from_attributes=True) for each in answers],
            is_done=is_done,
            problem=None if problem is None else problem[:2_000],
        )
        try:
            self._client.report_chat(self._job.chat_id, report)
        except ApiError as error:
            if error.status != 404:
                raise
            return False
        return True
