"""Answers of a replay that no policy gave: re-evaluations, groups of another size, prompts that were not visited."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from bapo.analysis.what_if.pass_rates import PassRates, Posterior, bits_of_places, group_counts, mixed_chances, uniforms
from bapo.analysis.what_if.stream import Counts, FreshGroups, RecordedStream


class Answers(NamedTuple):
    """Outcomes of re-evaluations, recorded or estimated."""

    num_correct: Counts
    is_estimated: NDArray[np.bool_]
    """No such re-evaluation was recorded: drawn."""


class ReevaluationModel:
    """Looks up or estimates the outcome of a re-evaluation, for steps in rising order."""

    def __init__(self, stream: RecordedStream, seed: int, num_replicates: int, first_replicate: int = 0) -> None:
        self._stream = stream
        self._seed = seed
        self._num_replicates = num_replicates
        self._first_replicate = first_replicate
        self._nearest_row = stream.evaluations.first_row.copy()
        """Each prompt's first answer at or after the step, or its last one before where there is none."""
        self._num_passed = 0
        self._stretch = -1
        self._posterior: Posterior | None = None

    def answers(self, prompts: Counts, step: int, replicates: Counts) -> Answers:
        """Return the outcomes of re-evaluating these prompts, each for one of the replicates.

        Exactly what was recorded where the run re-evaluated the prompt in this very step, with as many responses. Else
        p is drawn from its distribution after the prompt's nearest answer (the next one, or the last one before where
        there is none), and the count from Binomial(G', p). A draw depends on (seed, step, prompt, replicate) alone.
        """
        self._move_to(step)
        stream, known = self._stream, self._stream.evaluations
        rows = self._nearest_row[prompts]
        nearest = known.num_correct[rows]
        is_estimated = (known.step[rows] != step) | ~known.is_repeated[rows]
        if stream.group_size != known.group_size:
            is_estimated[:] = True
        if not is_estimated.any():
            return Answers(nearest, is_estimated)
        bits, keys = stream.pass_rates.prompt_bits[prompts], replicates + self._first_replicate
        rates = self._posterior_at(step).rates(
            replicates, nearest, uniforms(self._seed, step, "what-if pass rate", bits, keys)
        )
        drawn = group_counts(rates, stream.group_size, uniforms(self._seed, step, "what-if", bits, keys))
        return Answers(np.where(is_estimated, drawn, nearest), is_estimated)

    def _posterior_at(self, step: int) -> Posterior:
        rates = self._stream.pass_rates
        stretch = int(rates.stretches(step))
        if self._posterior is None or stretch != self._stretch:
            end = self._first_replicate + self._num_replicates
            priors = rates.priors(self._seed, end)[stretch, self._first_replicate :]
            self._stretch, self._posterior = stretch, Posterior(priors, rates.likelihood)
        return self._posterior

    def _move_to(self, step: int) -> None:
        known = self._stream.evaluations
        end = int(np.searchsorted(known.step, step))
        passed = np.flatnonzero(known.has_later[self._num_passed : end]) + self._num_passed
        # Of a prompt's several rows the last one counts.
        self._nearest_row[known.prompt[passed]] = known.later_row[passed]
        self._num_passed = end


def answered_again(fresh: FreshGroups, rates: PassRates, group_size: int, *, seed: int, replicate: int) -> FreshGroups:
    """Return the same prompts in the same steps, answered with G' responses each.

    p is drawn from its distribution after the k of G that were recorded at the visit, and k' from Binomial(G', p).
    """
    posterior = Posterior(rates.priors(seed, replicate + 1)[:, replicate], rates.likelihood)
    bits = rates.prompt_bits[fresh.prompt] ^ bits_of_places(fresh.num_steps)[fresh.step - 1]
    places = posterior.rates(
        rates.stretches(fresh.step),
        fresh.num_correct,
        uniforms(seed, 0, "what-if pass rate of a visit", bits, replicate),
    )
    drawn = group_counts(places, group_size, uniforms(seed, 0, "what-if visit", bits, replicate))
    return fresh.answered(drawn, group_size)


def mixed_of_unvisited(
    rates: PassRates, step: int, num_prompts: int, group_size: int, *, seed: int, first: int, end: int
) -> NDArray[np.bool_]:
    """Return which groups of prompts that the run did not visit have a gradient: [replicates first..end - 1, prompts].

    Their p is drawn from its distribution over prompts in general at this step: a group has a gradient with the chance
    E[1 - p^G' - (1 - p)^G'].
    """
    priors = rates.priors(seed, end)[int(rates.stretches(step)), first:]
    chances = priors @ mixed_chances(group_size)
    bits = bits_of_places(num_prompts)
    replicates = np.arange(first, end)[:, None]
    return np.asarray(uniforms(seed, step, "what-if prompts in general", bits, replicates) < chances[:, None])
