"""BAPO: batch adaptation policy optimization (arXiv:2602.20722, Algorithm 1), and its form without thresholds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from bapo import filters
from bapo.buffers import DifficultBuffer, HighQualityBuffer
from bapo.config.method import BapoConfig
from bapo.config.run import RunConfig
from bapo.draws import generator
from bapo.methods.bapo_lines import bapo_lines
from bapo.methods.base import ComposedBatch
from bapo.methods.composition import Composition, reason_left_out
from bapo.methods.lines import Line, WalkedStep
from bapo.records import BufferState, ThresholdValues
from bapo.rollout import BatchSource, RolloutGroup
from bapo.tasks.base import Problem
from bapo.thresholds import MeanAccuracy, Thresholds


class Bapo:
    """Composes each batch of filtered fresh (X1), improved difficult (X2) and reused (X3) groups."""

    def __init__(self, config: RunConfig) -> None:
        self._mean_accuracy = MeanAccuracy()
        self._method = bapo_config(config)
        capacity = self._method.difficult_buffer.capacity
        self._difficult = DifficultBuffer(config.training.batch_size if capacity is None else capacity)
        high_quality = self._method.high_quality_buffer
        self._high_quality = HighQualityBuffer(high_quality.capacity, high_quality.max_age_steps)
        self._fresh: Sequence[RolloutGroup] = ()
        self._reuse_candidates: Sequence[RolloutGroup] = ()
        self.reconfigure(config)

    def reconfigure(self, config: RunConfig) -> None:
        self._method = bapo_config(config)
        self._group_size = config.rollout.group_size
        self._batch_size = config.training.batch_size
        self._seed = config.training.seed
        self._update_thresholds()
        self._difficult.keep_where(self._thresholds.is_difficult)

    def syncs_rollout_policy(self, step: int) -> bool:
        return step % self._method.v == 0

    def choose_prompts(self, step: int, scheduled: Sequence[Problem], pool: Sequence[Problem]) -> Sequence[Problem]:
        return scheduled

    def wants_more_prompts(self, step: int, fresh: Sequence[RolloutGroup]) -> bool:
        return False

    def num_passes(self, step: int) -> int:
        return 1

    def observe_fresh(self, step: int, fresh: Sequence[RolloutGroup]) -> None:
        thresholds = self._thresholds
        self._fresh = fresh
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
        self._mean_accuracy.add_step(
            sum(group.num_correct for group in self._fresh), sum(group.group_size for group in self._fresh)
        )
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
            "mean_accuracy": self._mean_accuracy.state_dict(),
            "difficult_buffer": self._difficult.state_dict(),
            "high_quality_buffer": self._high_quality.state_dict(),
        }

    def load_state_dict(self, state: Mapping[str, Any], payloads: Sequence[object]) -> None:
        self._mean_accuracy.load_state_dict(state["mean_accuracy"])
        self._difficult.load_state_dict(state["difficult_buffer"])
        self._high_quality.load_state_dict(state["high_quality_buffer"], payloads)
        self._update_thresholds()


def bapo_config(config: RunConfig) -> BapoConfig:
    """Return the method section written as BAPO's own, for methods whose batches follow BAPO's rules."""
    section = config.method.as_bapo()
    assert isinstance(section, BapoConfig)
    return section
