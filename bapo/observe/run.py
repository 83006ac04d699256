"""`observe.run`: begins to observe, and says what cannot be. After it nothing raises into a trainer's loop."""

from __future__ import annotations

import logging
import os
from collections.abc import Mapping
from contextlib import ExitStack, nullcontext
from pathlib import Path
from typing import Any, NamedTuple

from bapo.config import ConfigError, ConfigProblem, RunConfig
from bapo.config.patterns import visible
from bapo.methods.observed import ObservedConfig
from bapo.observe import folder as folders
from bapo.observe.observation import Lines, Observation, whole
from bapo.observe.observed_run import ObservedRun
from bapo.observe.rank_files import MOST_RANKS, open_rank_file, starting
from bapo.observe.rank_merge import Merger, merge_rest
from bapo.observe.rank_reports import RankObservation
from bapo.run.journal import Journal, LineWriter
from bapo.run.run_folder import exclusive, next_attempt

LOG = logging.getLogger("bapo.observe")


class _Files(NamedTuple):
    """All of a rank goes into one file."""

    records: LineWriter
    samples: LineWriter


class RankRun(ObservedRun):
    """The run as one rank sees it."""

    def __init__(self, folder: Path, observation: RankObservation, config: RunConfig, held: ExitStack) -> None:
        """Begin the rank's file; `starting` is held. Raises ConfigError where the rank is running already."""
        writer = open_rank_file(folder, observation.rank, observation.world_size, held)
        super().__init__(folder, observation, config, _Files(writer, writer), held)
        self.merger: Merger | None = None
        """Merger of rank 0; `None` in other ranks."""
        # The config is completed by what is merged.
        self._has_sizes = True

    def finish(self, error: BaseException | None = None) -> None:
        """End this rank; rank 0 waits a while for the others, and ends the run."""
        if self._is_forked:
            return
        super().finish(error)
        merger, self.merger = self.merger, None
        if merger is not None:
            merger.finish(error)

    def _write(self, lines: Lines, *, is_event: bool = False) -> None:
        super()._write(lines, is_event=is_event)
        if self.merger is not None:
            self.merger.wake()


def run(
    name: str,
    *,
    config: Mapping[str, Any] | None = None,
    folder: str | Path | None = None,
    trainer: str = "",
    trainer_version: str = "",
    reward_threshold: float = 0.0,
    num_steps: int | None = None,
    samples_per_step: int = 4,
    rank: int | None = None,
    world_size: int | None = None,
    server: str | None = None,
    token: str | None = None,
    project: str | None = None,
    group: str | None = None,
) -> ObservedRun:
    """Begin to observe a run, or continue the one in `folder`.

    `config`: the trainer's own settings, nested or flat. `reward_threshold`: a response counts as correct where its
    reward is above it. `samples_per_step`: groups whose responses are kept as text. `rank`: of this process, by default
    the variable RANK; only rank 0 records, unless `world_size` says that so many ranks each report their own groups, in
    one `folder`. With `server`, or the variable BAPO_SERVER, the run is shown there live.

    Raises ConfigError for arguments that cannot be, and for a folder that another process or another run uses.
    """
    _check_name(name)
    if num_steps is not None:
        num_steps = _whole("num_steps", num_steps, 1, "give the number of steps, from 1, or leave it out")
    samples_per_step = _whole("samples_per_step", samples_per_step, 0, "give 0 or more groups")
    number = _checked_rank(rank)
    num_ranks = _checked_world_size(world_size, number, folder)
    described = folders.config_of(
        config or {}, trainer=trainer, trainer_version=trainer_version, reward_threshold=reward_threshold, sizes=None
    )
    assert isinstance(described.method, ObservedConfig), "made so"
    reward_threshold = described.method.reward_threshold
    if number != 0 and num_ranks == 1:
        return ObservedRun(None, None, described)
    place = folders.new_folder(name) if folder is None else Path(folder)
    of_rank = RankObservation(number, num_ranks, reward_threshold=reward_threshold, samples_per_step=samples_per_step)
    held = ExitStack()
    try:
        if number != 0:
            with starting(place):
                return RankRun(place, of_rank, described, held)
        observation = Observation(
            reward_threshold=reward_threshold, num_steps=num_steps, samples_per_step=samples_per_step
        )
        own = None
        with starting(place) if num_ranks > 1 else nullcontext():
            journal = _claimed(place, described, observation, held)
            if num_ranks > 1:
                own = RankRun(place, of_rank, described, held.enter_context(ExitStack()))
        living = merge_rest(place, before=observation.attempt)
        observation.sizes = folders.claimed_sizes(place, described)
        if (latest := folders.latest_step(place)) is not None:
            observation.resume_after(latest)
    except ConfigError:
        held.close()
        raise
    except OSError as error:
        held.close()
        LOG.error("the run %r is not observed: %s", name, error)
        return ObservedRun(None, None, described)
    observed = ObservedRun(place, observation, described, journal, held)
    data: dict[str, Any] = {
        folders.OBSERVATION: folders.new_identity(),
        "name": name,
        "trainer": trainer,
        "trainer_version": trainer_version,
    }
    if num_steps is not None:
        data["num_steps"] = num_steps
    resumed = observation.attempt > 1
    message = f"observed {trainer or 'a trainer'}, {'again' if resumed else 'from its start'}"
    observed.record_event("resumed" if resumed else "started", message, data)
    # With it comes the client, which no other process of verl needs: each of them loads this module.
    from bapo.observe.live import live_upload  # noqa: PLC0415

    observed.live = live_upload(place, name, server=server, token=token, project=project, group=group)
    if own is None:
        return observed
    own.merger = Merger(observed, place, observation, num_ranks, living)
    own.merger.start()
    return own


def _check_name(name: str) -> None:
    """Raise ConfigError for a name that a run cannot have."""
    try:
        if not isinstance(name, str) or not 0 < len(name) <= 200:
            raise ValueError("give a name of 1 to 200 characters")
        visible(name)
    except ValueError as error:
        raise ConfigError([ConfigProblem("name", name, str(error))]) from None


def _whole(field: str, given: Any, least: int, remedy: str) -> int:
    """Return a whole number from `least` on, also one of NumPy. Raises ConfigError."""
    number = None if isinstance(given, bool) else whole(given)
    if number is None or not least <= number < 2**31:
        raise ConfigError([ConfigProblem(field, given, remedy)])
    return number


def _checked_rank(rank: int | None) -> int:
    """Return the rank of this process. Raises ConfigError."""
    if rank is None:
        given = os.environ.get("RANK", "").strip()
        if given and not (given.isascii() and given.isdigit() and len(given) <= 9):
            remedy = "no rank: set the variable to a number from 0 on, or give the argument rank"
            raise ConfigError([ConfigProblem("RANK", given, remedy)])
        return int(given or 0)
    return _whole("rank", rank, 0, "give the rank of this process, a whole number from 0 on")


def _checked_world_size(world_size: int | None, rank: int, folder: str | Path | None) -> int:
    """Return the number of ranks that record. Raises ConfigError."""
    if world_size is None:
        return 1
    remedy = f"give the number of ranks that record, 1 to {MOST_RANKS:,}, or leave it out"
    world_size = _whole("world_size", world_size, 1, remedy)
    if world_size > MOST_RANKS:
        raise ConfigError([ConfigProblem("world_size", world_size, remedy)])
    if not 0 <= rank < world_size:
        remedy = f"give a rank from 0 to {world_size - 1}, each to one process"
        raise ConfigError([ConfigProblem("rank", rank, remedy)])
    if folder is None and world_size > 1:
        raise ConfigError([ConfigProblem("folder", None, "give all ranks the same folder")])
    return world_size


def _claimed(place: Path, config: RunConfig, observation: Observation, held: ExitStack) -> Journal:
    """Return the journal of the next attempt, in a folder held by this process. Raises ConfigError and OSError."""
    # Let go when the process ends, however it does.
    held.enter_context(exclusive(place))
    folders.claimed_sizes(place, config)
    observation.attempt = next_attempt(place)
    journal = Journal(place / f"attempt-{observation.attempt}")
    held.callback(journal.close)
    return journal
