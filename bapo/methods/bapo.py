"""BAPO: batch adaptation policy optimization (arXiv:2602.20722, Algorithm 1)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction
from typing import Annotated, Any, ClassVar, Literal, Self

from pydantic import Field, model_validator

from bapo import filters
from bapo.buffers import DifficultBuffer, HighQualityBuffer
from bapo.config.errors import ConfigProblem, broken_rule
from bapo.config.method import (
    Capacity,
    DelayedSection,
    Look,
    MethodSection,
    RunSections,
    StepInterval,
    Threshold,
    ThresholdRange,
)
from bapo.config.run import RunConfig
from bapo.config.section import Section
from bapo.draws import generator
from bapo.filters import FilterConfig
from bapo.methods.bapo_lines import bapo_lines
from bapo.methods.base import ComposedBatch
from bapo.methods.composition import Composition, reason_left_out
from bapo.methods.lines import Line, WalkedStep
from bapo.methods.plain import PlainMethod
from bapo.records import BufferState, ThresholdValues
from bapo.rollout import BatchSource, RolloutGroup
from bapo.thresholds import Thresholds, admitting_r_tot_intervals, empty_r_tot_intervals


class DifficultBufferConfig(Section):
    """B_bad: prompts whose latest known accuracy is at most c1."""

    capacity: Capacity | None = None
    """Maximum number of prompts stored. Empty: the training batch size B, as in the paper."""


class HighQualityBufferConfig(Section):
    """B_high: complete groups whose accuracy was within [c2, c3]."""

    capacity: Capacity | None = None
    """Maximum number of groups stored. Empty: limited by their age alone."""
    max_age_steps: StepInterval = 3
    """Steps after which a group is no longer reused."""


def _wider(group_size: int) -> str:
    return f"widen the range to at least 1/{group_size}, or use a larger rollout.group_size"


class BapoConfig(DelayedSection):
    """BAPO: fresh, re-evaluated and reused groups make the training batch (arXiv:2602.20722)."""

    label: ClassVar = "BAPO"
    look: ClassVar = Look(0, "solid", "circle")
    parts: ClassVar = {"reevaluated": "X2", "reused": "X3"}
    ablation_looks: ClassVar = {
        "X2": Look(4, "dash", "diamond"),
        "X3": Look(3, "dash", "diamond-tall"),
        "X2, X3": Look(6, "dash", "diamond-wide"),
    }
    # Eq. 3.
    kl_to: ClassVar = "behaviour"
    filters_fresh: ClassVar = True
    has_thresholds: ClassVar = True
    reevaluates: ClassVar = True
    reuses_groups: ClassVar = True
    is_replayable: ClassVar = True
    steerable: ClassVar = ("c1", "c2", "c3", "v", "m", "max_reevaluated_prompts")
    state_family: ClassVar[str | None] = "bapo"

    type: Literal["bapo"] = "bapo"
    v: StepInterval = 5
    """Rollout sync interval v: steps between two copies of the trained weights to the rollout policy α."""
    m: StepInterval = 5
    """Re-evaluation interval m: the current policy answers difficult prompts again every m steps."""
    c1: Threshold = Fraction(1, 8)
    """Difficulty threshold c1: a prompt with accuracy of at most c1 enters the difficult buffer."""
    c2: ThresholdRange = (Fraction(1, 8), Fraction(4, 8))
    """Lower reuse threshold c2: its value at r_tot = 0 and at r_tot = 1 (Eq. 8)."""
    c3: ThresholdRange = (Fraction(2, 8), Fraction(5, 8))
    """Upper reuse threshold c3: its value at r_tot = 0 and at r_tot = 1 (Eq. 8)."""
    max_reevaluated_prompts: Annotated[int, Field(ge=0, le=1_000_000)] = 128
    """Maximum number of difficult prompts answered again in one re-evaluation."""
    without: frozenset[Literal["reevaluated", "reused"]] = frozenset()
    """Parts left out for an ablation: `reevaluated` (no X2), `reused` (no X3)."""
    filter: FilterConfig = FilterConfig()
    """The filter of the fresh groups that become X1."""
    difficult_buffer: DifficultBufferConfig = DifficultBufferConfig()
    """B_bad."""
    high_quality_buffer: HighQualityBufferConfig = HighQualityBufferConfig()
    """B_high."""

    @model_validator(mode="after")
    def _thresholds_in_order(self) -> Self:
        # Both thresholds are linear in r_tot, so c2 ≤ c3 everywhere if it holds at both ends.
        for r_tot, lower, upper in zip((0, 1), self.c2, self.c3, strict=True):
            if lower > upper:
                raise broken_rule(
                    "method.c2",
                    f"c2 = {float(lower):g} is above c3 = {float(upper):g} at r_tot = {r_tot}: "
                    f"lower c2 to at most {float(upper):g} there, or raise c3",
                )
        return self

    def check(self, config: RunSections) -> None:
        group_size = config.rollout.group_size
        if "reused" not in self.without and not admitting_r_tot_intervals(self.c2, self.c3, group_size):
            raise broken_rule(
                "method.c2", f"no accuracy k/{group_size} lies in [c2, c3] at any r_tot: {_wider(group_size)}"
            )

    def warnings(self, config: RunSections) -> Iterable[ConfigProblem]:
        """Name the r_tot where the thresholds admit no group into X3."""
        group_size = config.rollout.group_size
        gaps = () if "reused" in self.without else empty_r_tot_intervals(self.c2, self.c3, group_size)
        if gaps:
            named = ", ".join(f"({float(low):.3g}, {float(high):.3g})" for low, high in gaps)
            yield ConfigProblem(
                "method.c2",
                [[float(bound) for bound in bounds] for bounds in (self.c2, self.c3)],
                f"no accuracy k/{group_size} lies in [c2, c3] while r_tot is in {named}, so nothing is reused then: "
                f"{_wider(group_size)}",
            )

    def as_bapo(self) -> BapoConfig:
        """Return the config itself."""
        return self


class Bapo(PlainMethod):
    """Composes each batch of filtered fresh (X1), improved difficult (X2) and reused (X3) groups."""

    config_class: ClassVar[type[MethodSection]] = BapoConfig
    _method: BapoConfig

    def __init__(self, config: RunConfig) -> None:
        method = bapo_config(config)
        capacity = method.difficult_buffer.capacity
        self._difficult = DifficultBuffer(config.training.batch_size if capacity is None else capacity)
        self._high_quality = HighQualityBuffer(
            method.high_quality_buffer.capacity, method.high_quality_buffer.max_age_steps
        )
        self._reuse_candidates: Sequence[RolloutGroup] = ()
        super().__init__(config)

    def reconfigure(self, config: RunConfig) -> None:
        super().reconfigure(config)
        self._method = bapo_config(config)
        self._group_size = config.rollout.group_size
        self._update_thresholds()
        self._difficult.keep_where(self._thresholds.is_difficult)

    def observe_fresh(self, step: int, fresh: Sequence[RolloutGroup]) -> None:
        super().observe_fresh(step, fresh)
        thresholds = self._thresholds
        self._difficult.begin_step()
        self._high_quality.begin_step()
        # Fixed before today's groups enter: a prompt of today must not displace its own candidate.
        self._reuse_candidates = [
            group for group in self._high_quality.groups() if thresholds.is_reusable(group.num_correct)
        ]
        for group in fresh:
            if thresholds.is_difficult(group.num_correct):
                self._difficult.put(group.prompt_id, group.num_correct, step)
            else:
                self._difficult.remove_improved(group.prompt_id)
            if thresholds.is_reusable(group.num_correct):
                self._high_quality.put(group)

    def prompts_to_reevaluate(self, step: int) -> Sequence[str]:
        if step % self._method.m or "reevaluated" in self._method.without:
            return ()
        return self._difficult.least_recently_evaluated(
            self._method.max_reevaluated_prompts, leave_out={group.prompt_id for group in self._fresh}
        )

    def compose(self, step: int, reevaluated: Sequence[RolloutGroup]) -> ComposedBatch:
        composition = Composition(self._batch_size)
        self._add_fresh(step, composition)
        self._add_improved(step, composition, reevaluated)
        self._add_reused(step, composition)
        return composition.result(self._fresh, reevaluated)

    def _add_fresh(self, step: int, composition: Composition) -> None:
        """Add X1: the fresh groups that the online filter keeps (Alg. 1, line 11)."""
        kept = filters.keep(self._method.filter, self._fresh, generator(self._seed, step, "filter"))
        kept_ids = {group.prompt_id for group in kept}
        draws_blindly = self._method.filter.type == "uniform"
        for group in self._fresh:
            if group.prompt_id not in kept_ids:
                reason = "filtered" if draws_blindly else reason_left_out(group)
                composition.leave_out(group, BatchSource.FRESH, reason)
            else:
                composition.train_on_fresh(group)

    def _add_improved(self, step: int, composition: Composition, reevaluated: Sequence[RolloutGroup]) -> None:
        """Add X2: re-evaluated groups with c1 < μ < 1 (Eq. 6). If the batch is full, they are stored where possible."""
        num = dict.fromkeys(("improved", "solved", "still_difficult", "surplus_stored", "surplus_dropped"), 0)
        for group in reevaluated:
            outcome = self._outcome(group, step)
            num[outcome] += 1
            if outcome != "improved":
                composition.leave_out(group, BatchSource.REEVALUATED, outcome)
            elif composition.room:
                composition.train_on(group, BatchSource.REEVALUATED)
            elif self._thresholds.is_reusable(group.num_correct):
                self._high_quality.put(group)
                composition.leave_out(group, BatchSource.REEVALUATED, "surplus_stored")
                num["surplus_stored"] += 1
            else:
                composition.leave_out(group, BatchSource.REEVALUATED, "surplus_dropped")
                num["surplus_dropped"] += 1
        composition.count(**num)

    def _outcome(self, group: RolloutGroup, step: int) -> str:
        """Note the new accuracy of a difficult prompt. Returns improved, solved or still_difficult."""
        if self._thresholds.is_difficult(group.num_correct):
            self._difficult.put(group.prompt_id, group.num_correct, step)
            return "still_difficult"
        self._difficult.remove_improved(group.prompt_id)
        return "solved" if group.num_correct == group.group_size else "improved"

    def _add_reused(self, step: int, composition: Composition) -> None:
        """Add X3: fill the rest with stored groups, drawn uniformly without replacement (Eq. 7)."""
        taken = composition.prompt_ids
        candidates = [group for group in self._reuse_candidates if group.prompt_id not in taken]
        composition.count(x3_candidates=len(candidates))
        if "reused" in self._method.without:
            return
        num_reused = min(len(candidates), composition.room)
        for group in generator(self._seed, step, "reuse").sample(candidates, num_reused):
            composition.train_on(group, BatchSource.REUSED)

    def lines(self, step: WalkedStep) -> Sequence[Line]:
        return bapo_lines(step, self._method)

    def thresholds(self) -> ThresholdValues:
        current = self._thresholds
        return ThresholdValues(
            c1=float(current.c1),
            c2=float(current.c2),
            c3=float(current.c3),
            r_tot=float(current.r_tot),
            difficult_max_count=current.difficult_max,
            reusable_min_count=current.reusable_min,
            reusable_max_count=current.reusable_max,
        )

    def buffers(self, step: int) -> tuple[BufferState | None, BufferState | None]:
        return self._difficult.state(step), self._high_quality.state(step)

    def finish_step(self, step: int) -> None:
        super().finish_step(step)
        self._update_thresholds()
        self._high_quality.expire(next_step=step + 1)

    def _update_thresholds(self) -> None:
        """Set c2 and c3 at the mean accuracy so far (Eq. 8)."""
        self._thresholds = Thresholds.at(
            self._mean_accuracy.value,
            c1=self._method.c1,
            c2=self._method.c2,
            c3=self._method.c3,
            group_size=self._group_size,
        )

    def stored_groups(self) -> Sequence[RolloutGroup]:
        return self._high_quality.groups()

    def state_dict(self) -> dict[str, Any]:
        return {
            **super().state_dict(),
            "difficult_buffer": self._difficult.state_dict(),
            "high_quality_buffer": self._high_quality.state_dict(),
        }

    def load_state_dict(self, state: Mapping[str, Any], payloads: Sequence[object]) -> None:
        super().load_state_dict(state, payloads)
        self._difficult.load_state_dict(state["difficult_buffer"])
        self._high_quality.load_state_dict(state["high_quality_buffer"], payloads)
        self._update_thresholds()


def bapo_config(config: RunConfig) -> BapoConfig:
    """Return the method section written as BAPO's own, for methods whose batches follow BAPO's rules."""
    section = config.method.as_bapo()
    assert isinstance(section, BapoConfig)
    return section
