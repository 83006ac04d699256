"""What a signal's handler sets, whenever the signal comes."""

from __future__ import annotations

import signal

from bapo.deploy.processes import Stop


def test_signals_within_its_wait_set_it() -> None:
    stop = Stop()
    num_signals = 0

    def handle(*_: object) -> None:
        nonlocal num_signals
        num_signals += 1
        stop.set()

    before = signal.signal(signal.SIGALRM, handle)
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.001, 0.001)
        while num_signals < 200:
            stop.clear()
            stop.wait(0.0002)
        # It does not stay locked.
        assert stop.wait(10.0)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    stop.clear()
    assert not stop.wait(0.05)
