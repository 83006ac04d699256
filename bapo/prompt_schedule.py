"""Decides which prompts are rolled out when: one shuffled pass over the training problems per epoch.

With weights, which are our addition to the paper's uniform pass, an epoch is as long as without them, and a prompt
comes up in proportion to its weight: of N problems with weights w, problem i is expected

    q_i = N · w_i / Σ_j w_j

times in an epoch, and comes ⌊q_i⌋ or ⌈q_i⌉ times. A batch has no prompt twice, so that q_i is at most the number of
full batches; what is above that goes to the others in proportion. The copies of a prompt are spread over the epoch.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict, deque
from collections.abc import Mapping, Sequence
from types import MappingProxyType

from bapo.config.prompt_weights import UNIT, USUAL
from bapo.draws import generator
from bapo.tasks.base import Problem


class PromptSchedule:
    """The fresh prompts of every step, a function of the seed alone; an epoch's last, smaller batch is used."""

    def __init__(
        self,
        problems: Sequence[Problem],
        *,
        batch_size: int,
        seed: int,
        weights: Mapping[str, float] = MappingProxyType({}),
    ) -> None:
        """Take `weights`: identity → weight, above 0, of the problems that do not weigh 1."""
        self._problems = problems
        self._batch_size = batch_size
        self._seed = seed
        listed = any(problem.prompt_id in weights for problem in problems) if weights else False
        self._weights = (
            [round(UNIT * weights.get(problem.prompt_id, USUAL)) for problem in problems] if listed else None
        )
        self._epoch: int | None = None
        self._order: list[int] = []

    @property
    def problems(self) -> Sequence[Problem]:
        """All training problems."""
        return self._problems

    @property
    def steps_per_epoch(self) -> int:
        """Batches in one pass."""
        return math.ceil(len(self._problems) / self._batch_size)

    def epoch_of(self, step: int) -> int:
        """Return the epoch, from 0, of a step from 1."""
        return (step - 1) // self.steps_per_epoch

    def batch(self, step: int) -> Sequence[Problem]:
        """Return the prompts that are rolled out in this step."""
        epoch = self.epoch_of(step)
        if epoch != self._epoch:
            self._epoch, self._order = epoch, self._order_of(epoch)
        start = ((step - 1) % self.steps_per_epoch) * self._batch_size
        return [self._problems[index] for index in self._order[start : start + self._batch_size]]

    def _order_of(self, epoch: int) -> list[int]:
        order = list(range(len(self._problems)))
        generator(self._seed, epoch, "epoch").shuffle(order)
        if self._weights is None:
            return order
        weights = [self._weights[index] for index in order]
        most = max(1, len(order) // self._batch_size)
        draw = generator(self._seed, epoch, "weights").random()
        places = spread(num_visits(weights, most, draw), self._batch_size)
        return [order[place] for place in places]


def num_visits(weights: Sequence[int], most: int, draw: float) -> list[int]:
    """Return how often each problem comes up in an epoch of as many visits as there are problems: systematic sampling.

    The problems lie on a line one after the other, each as long as its expected visits q_i, which are proportional to
    its weight and at most `most`. Whole numbers on the line, moved by `draw` from 0 to below 1, fall on a problem
    ⌊q_i⌋ or ⌈q_i⌉ times, on average q_i times. With equal weights it is once each.
    """
    counts = [0] * len(weights)
    shared, num_left = list(range(len(weights))), len(weights)
    while True:
        total = sum(weights[place] for place in shared)
        over = [place for place in shared if num_left * weights[place] > most * total]
        if not over:
            break
        for place in over:
            counts[place] = most
        num_left -= most * len(over)
        shared = [place for place in shared if not counts[place]]
    # In whole numbers, 1 on the line is `total`: no rounding moves a problem's end.
    end = offset = int(draw * total)
    for place in shared:
        begin, end = end, end + num_left * weights[place]
        counts[place] = end // total - begin // total
    assert end - offset == num_left * total
    return counts


def spread(counts: Sequence[int], batch_size: int) -> list[int]:
    """Return the order of an epoch in which each place comes up as often as it counts, and in no batch twice.

    Copy k of n of place r is due at (k + (r + ½) / N) / n of the epoch, which keeps the order where each comes once.
    The last batch, where it is smaller, takes what is due last; every other takes first what would not fit into the
    batches after it, then what is due next. No count may be above the number of full batches.
    """
    size = len(counts)
    due = sorted(((k + (place + 0.5) / size) / n, place) for place, n in enumerate(counts) for k in range(n))
    entries = [place for _, place in due]
    num_full, num_last = divmod(size, batch_size)
    last: list[int] = []
    if num_last:
        taken: set[int] = set()
        rest = []
        for place in reversed(entries):
            if len(last) < num_last and place not in taken:
                taken.add(place)
                last.append(place)
            else:
                rest.append(place)
        entries = rest[::-1]
    return [*_dealt(entries, num_full, batch_size), *reversed(last)]


def _dealt(entries: Sequence[int], num_batches: int, batch_size: int) -> list[int]:
    """Return the entries, reordered as little as it takes for no batch to have one twice."""
    left = Counter(entries)
    with_left: dict[int, set[int]] = defaultdict(set)
    for place, count in left.items():
        with_left[count].add(place)
    waiting, ahead, order = deque(entries), Counter[int](), list[int]()
    for batches_left in range(num_batches, 0, -1):
        needed = set(with_left[batches_left])
        batch: dict[int, None] = {}
        put_off = []
        while len(batch) + len(needed) < batch_size:
            place = waiting.popleft()
            if ahead[place]:
                ahead[place] -= 1
            elif place in batch:
                put_off.append(place)
            else:
                batch[place] = None
                needed.discard(place)
        for place in sorted(needed):
            # Its next copy comes now instead of when it is due.
            batch[place] = None
            ahead[place] += 1
        waiting.extendleft(reversed(put_off))
        for place in batch:
            with_left[left[place]].discard(place)
            left[place] -= 1
            with_left[left[place]].add(place)
        order += batch
    return order
