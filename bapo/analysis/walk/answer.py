"""A walked step: the lines of the method's rule, the groups that each touched, and what is not known."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from bapo.analysis.result import Result
from bapo.records import ThresholdValues
from bapo.rollout import BatchSource, Treatment


class WalkGroup(Result):
    """A group as a line treated it."""

    prompt_id: str
    source: BatchSource
    num_correct: int
    policy_version: int | None
    """Version of the policy that generated it; null where a trainer did not tell."""
    earlier_correct: int | None = None
    """Correct responses at the prompt's evaluation before; given for groups answered again."""
    earlier_step: int | None = None
    """Step of that evaluation; of a stored group, the step that generated it."""
    was: str | None = None
    """Under other thresholds: what the line did with the group in the recorded step, where that differs."""


class WalkOutcome(Result):
    """Groups with the same outcome in a line."""

    name: str
    label: str
    why: str
    """Reason that the groups have in common."""
    treatment: Treatment
    """`trained`: put into the training batch; `stored`: kept for later; `seen`: looked at; `left_out`."""
    count: int
    """All of them, listed or not."""
    recorded: int
    """The same in the recorded step; differs under other thresholds only."""
    groups: Sequence[WalkGroup]
    """Some of the groups, in their order; those whose outcome differs from the recorded one come first."""


class WalkLine(Result):
    """A line of the rule, with what it did in this step."""

    key: str
    number: str
    """In Algorithm 1 (arXiv:2602.20722), such as `13–15`; of other methods' rules, counted from 1."""
    title: str
    """Title of the line, by its effect."""
    why: str
    """Why it is there."""
    said: str
    """Description of this step's outcome."""
    outcomes: Sequence[WalkOutcome]


class StepWalk(Result):
    """A recorded step of a run, line by line."""

    step: int
    first_step: int
    last_step: int
    previous_step: int | None
    next_step: int | None
    method: str
    """Name of the method whose rule this is."""
    follows_algorithm_1: bool
    """True if the lines bear the numbers of Algorithm 1 of arXiv:2602.20722."""
    group_size: int
    """G."""
    batch_size: int
    """B."""
    x1: int
    x2: int | None
    """Number of groups in X2; null if another trainer's run cannot have recorded it, as for the next field."""
    x3: int | None
    batch: int
    """Groups trained on."""
    recorded_batch: int
    """The same in the recorded step; differs under other thresholds only."""
    thresholds: ThresholdValues | None
    """In force in this walk; null where the method has none."""
    recorded_thresholds: ThresholdValues | None
    can_change: bool
    """True if the step can be walked under other c1, c2 and c3."""
    lines: Sequence[WalkLine]
    not_recorded: Sequence[str] = []
    """Facts that the record does not contain, as sentences."""
    cautions: Sequence[str] = []
    """Cautions about a walk under other thresholds."""
    texts: Mapping[str, str] = {}
    """Beginnings of the listed prompts' texts, as far as they are stored."""
