"""An event that a signal's handler sets."""

from __future__ import annotations

import threading


class Stop(threading.Event):
    """Can be set by a handler that interrupts its own `wait`; wait with a timeout.

    A handler runs in the main thread between any two instructions. Where these are `wait`'s, which holds the event's
    lock, setting a plain `threading.Event` waits for that lock forever.
    """

    def __init__(self) -> None:
        super().__init__()
        self._cond = threading.Condition()  # Its lock may be taken again by the thread that holds it.
