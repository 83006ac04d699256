"""Watches any trainer's run: three lines in its loop write the journal that the product reads.

Needs the base installation alone, neither PyTorch nor a server. May import the client, the run's journal and everything
below; the command line imports it, and no other room.
"""

from bapo.observe.group import Group, without
from bapo.observe.observation import Observation
from bapo.observe.observed_run import ObservedRun
from bapo.observe.run import run

__all__ = ["Group", "Observation", "ObservedRun", "run", "without"]
