"""Upload of an observed run while it trains: a thread sends the lines of the journal to a server.

The journal is the only memory. Lines not sent when the process dies are sent by the next one that continues the
folder, or by `bapo import`.
"""

from __future__ import annotations

import logging
import os
import threading
import time
from pathlib import Path

from bapo.api.imports import ImportInfo
from bapo.client import BapoError, Client
from bapo.client.call import Retries
from bapo.client.servers import SERVER_VARIABLE, ServerLogin, find_server
from bapo.config import ConfigError
from bapo.observe.upload import SentFile, describe_folder, files_of, refuse_other_copy
from bapo.run.line_reader import LineTooLongError

LOG = logging.getLogger("bapo.observe")

URL_VARIABLE = "BAPO_URL"
"""Another name of the variable BAPO_SERVER."""
INTERVAL_SECONDS = 0.5
"""Pause between two reads of the files; faster steps are sent together."""
CLOSING_SECONDS = 30.0
"""Longest time that the end of a run waits for a server that is away, or accepts nothing."""
CLOSING_PAUSE_SECONDS = 1.0
"""The longest wait between two tries then: a server that is back is not missed."""
TIMEOUT_SECONDS = 10.0
_BEGIN_AGAIN = ("not_found", "stale_fencing_token")
"""Refusals of another server behind the address, or of one that was restored."""


def live_upload(
    folder: Path, name: str, *, server: str | None, token: str | None, project: str | None, group: str | None
) -> Live | None:
    """Begin to send the run; None, with a warning, where no server is named or no token is known."""
    wanted = server or os.environ.get(SERVER_VARIABLE) or os.environ.get(URL_VARIABLE) or None
    if wanted is None:
        return None
    try:
        login = find_server(wanted, token)
    except ValueError as error:
        LOG.error("the run is recorded in %s and not shown live: %s", folder, error)
        return None
    live = Live(folder, login, name=name, project=project, group=group)
    live.start()
    return live


def _is_refused(error: Exception) -> bool:
    """Return whether a retry would get the same answer from the server."""
    if isinstance(error, BapoError):
        return not error.is_passing and error.code not in _BEGIN_AGAIN
    return isinstance(error, ConfigError)


class Live:
    """The sending side of an observed run."""

    def __init__(self, folder: Path, login: ServerLogin, *, name: str, project: str | None, group: str | None) -> None:
        self.run_id: str | None = None
        """Identifier of the run on the server; `None` until the server knows it."""
        self._folder = folder
        self._login = login
        self._name = name
        self._project = project
        self._group = group
        self._files: list[SentFile] = []
        self._info: ImportInfo | None = None
        self._has_sizes = False
        self._heard_at = 0.0
        self._news = threading.Event()
        self._ends_at: float | None = None
        self._patience_seconds = CLOSING_SECONDS
        self._is_done = False
        self._noted: set[str] = set()
        # A trainer that is done must not be held by a server that is away.
        self._thread = threading.Thread(target=self._send_all, name="bapo-observe", daemon=True)

    def start(self) -> None:
        """Begin to send."""
        self._thread.start()

    def wake(self) -> None:
        """Wake the thread: there are new lines."""
        self._news.set()

    def finish(self, seconds: float = CLOSING_SECONDS) -> None:
        """Send the rest and end the run there.

        Gives up where the server has taken nothing for so many seconds, and says what to do.
        """
        self._patience_seconds = seconds
        self._ends_at = time.monotonic() + seconds
        self._news.set()
        # Each part that the server takes moves the end.
        while self._thread.is_alive() and (left := self._ends_at + TIMEOUT_SECONDS - time.monotonic()) > 0:
            self._thread.join(left)
        if not self._is_done:
            LOG.error(
                "%s does not have all of the run: send the rest by `bapo import %s`", self._login.url, self._folder
            )

    def _send_all(self) -> None:
        try:
            client = Client(self._login.url, token=self._login.token, timeout_seconds=TIMEOUT_SECONDS)
        except BapoError as error:
            # An address or a token that is not one: the run is kept here.
            self._note(error)
            return
        retries = Retries(1, most_seconds=15.0)
        failed = 0
        with client:
            while not self._is_over():
                try:
                    is_ending = self._ends_at is not None
                    self._round(client)
                    failed = 0
                    if is_ending:
                        assert self._info is not None, "begun by the round"
                        client.finish_import(self._info.run_id)
                        self._is_done = True
                        return
                except (BapoError, OSError, ValueError) as error:
                    self._note(error)
                    if _is_refused(error) and self._ends_at is not None:
                        # Such as a token without the right: to ask again would only hold the trainer.
                        return
                    self._news.clear()
                    pause = retries.pause_seconds(failed)
                    self._news.wait(pause if self._ends_at is None else min(pause, CLOSING_PAUSE_SECONDS))
                    failed += 1
                    continue
                # Not at once for each step: what comes within the interval travels together.
                if self._news.wait(self._beat_seconds()):
                    self._news.clear()
                    if self._ends_at is None:
                        time.sleep(INTERVAL_SECONDS)

    def _is_over(self) -> bool:
        return self._ends_at is not None and time.monotonic() > self._ends_at

    def _beat_seconds(self) -> float:
        return 5.0 if self._info is None else min(5.0, self._info.lease_seconds / 4)

    def _round(self, client: Client) -> None:
        """Send what is new; a sign of life where nothing is. Raises what the client raises."""
        self._begin(client)
        assert self._info is not None, "begun above"
        was_sent = False
        # A reader of a step needs the sizes of the run.
        for file in self._files if self._has_sizes or self._ends_at is not None else ():
            try:
                while file.send_next(client, self._info):
                    was_sent = True
                    if self._ends_at is not None:
                        self._ends_at = time.monotonic() + self._patience_seconds
            except LineTooLongError as error:
                self._tell_once(str(error))
        if was_sent:
            self._heard_at = time.monotonic()
        elif time.monotonic() - self._heard_at > self._beat_seconds() / 2:
            self._files[0].ask(client, self._info)
            self._heard_at = time.monotonic()

    def _begin(self, client: Client) -> None:
        """Make the run known, and again once its sizes are."""
        if self._info is not None and self._has_sizes:
            return
        body = describe_folder(self._folder, name=self._name, group=self._group, project=self._project, live=True)
        has_sizes = "rollout" in body.config
        if self._info is None or has_sizes:
            info = client.create_import(body)
            refuse_other_copy(client, info, self._folder)
            self._info, self.run_id, self._has_sizes = info, info.run_id, has_sizes
        if not self._files:
            # Of the newest attempt first: its lines are what people look at.
            self._files = sorted(files_of(self._folder), key=lambda file: -file.attempt)

    def _note(self, error: Exception) -> None:
        code = getattr(error, "code", type(error).__name__)
        if code in _BEGIN_AGAIN:
            # Ask for every offset as well.
            self._info, self._has_sizes, self._files = None, False, []
        self._tell_once(f"{error}", code)

    def _tell_once(self, message: str, code: str | None = None) -> None:
        if (code or message) not in self._noted:
            self._noted.add(code or message)
            LOG.warning("the run is recorded, and sent to %s later: %s", self._login.url, message)
