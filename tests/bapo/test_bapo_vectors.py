"""Hand-worked streams of group accuracies through BAPO: X1, X2, X3 and both buffers, step by step.

Groups are written as the number of correct responses of each prompt. Unless a test says otherwise G = 8, c1 = 1/8,
c2 = 1/8 → 4/8 and c3 = 2/8 → 5/8 (Table 3), so at r_tot = 0 a group is difficult for k ≤ 1 and reusable for 1 ≤ k ≤ 2.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from bapo.config import apply_changes, resolve
from bapo.methods.bapo import Bapo
from bapo.methods.base import ComposedBatch
from bapo.rollout import BatchSource, RolloutGroup


@dataclass
class Step:
    """One step's batch by source, as prompt → k, and the buffers after it."""

    batch: ComposedBatch
    asked: list[str]
    difficult: dict[str, int]
    stored: dict[str, int]

    def source(self, source: BatchSource) -> dict[str, int]:
        return {i.group.prompt_id: i.group.num_correct for i in self.batch.items if i.source is source}

    @property
    def x1(self) -> dict[str, int]:
        return self.source(BatchSource.FRESH)

    @property
    def x2(self) -> dict[str, int]:
        return self.source(BatchSource.REEVALUATED)

    @property
    def x3(self) -> dict[str, int]:
        return self.source(BatchSource.REUSED)

    def reasons(self) -> dict[str, str | None]:
        return {visit.prompt_id: visit.reason for visit in self.batch.visits}


class Stream:
    """Feeds BAPO a stream of accuracies; α's version is not what these vectors are about."""

    def __init__(self, changes: Mapping[str, Any] | None = None, *, batch_size: int = 8, group_size: int = 8) -> None:
        explicit = {"method": {"type": "bapo", "m": 1}}
        settings = {"training.batch_size": batch_size, "rollout.group_size": group_size, "training.steps": 99}
        self.config = resolve(apply_changes(explicit, settings | dict(changes or {}))).config
        self.group_size = group_size
        self.method = Bapo(self.config)
        self.step_number = 0

    def group(self, prompt_id: str, num_correct: int) -> RolloutGroup:
        return RolloutGroup(prompt_id, num_correct, self.group_size, self.step_number - 1, self.step_number)

    def step(self, fresh: Mapping[str, int], reevaluated: Mapping[str, int] | None = None) -> Step:
        """Run one step; `reevaluated` must name exactly the prompts that the method asks for, in its order."""
        self.step_number += 1
        self.method.observe_fresh(self.step_number, [self.group(*entry) for entry in fresh.items()])
        asked = list(self.method.prompts_to_reevaluate(self.step_number))
        answers = reevaluated or {}
        assert asked == list(answers)
        batch = self.method.compose(self.step_number, [self.group(*entry) for entry in answers.items()])
        self.method.finish_step(self.step_number)
        state = self.method.state_dict()
        assert (
            batch.counts.x1 + (batch.counts.x2 or 0) + (batch.counts.x3 or 0)
            == batch.counts.batch
            <= batch.counts.batch_size
        )
        return Step(
            batch,
            asked,
            {prompt_id: k for prompt_id, k, _ in state["difficult_buffer"]["prompts"]},
            {entry[0]: entry[1] for entry in state["high_quality_buffer"]["groups"]},
        )


def test_a_first_step_sorts_every_accuracy_from_0_to_g() -> None:
    stream = Stream({"method.m": 5}, batch_size=9)
    step = stream.step({f"k{k}": k for k in range(9)})
    # X1 keeps 1/8..7/8. k ≤ 1 is difficult. At r_tot = 0: 1/8 ≤ k/8 ≤ 2/8, so k = 1 and k = 2 are stored;
    # k = 1 is in X1, in the difficult buffer and in the high-quality buffer at once.
    assert step.x1 == {f"k{k}": k for k in range(1, 8)}
    assert step.x2 == step.x3 == {}
    assert step.difficult == {"k0": 0, "k1": 1}
    assert step.stored == {"k1": 1, "k2": 2}
    assert step.reasons()["k0"] == "all_wrong"
    assert step.reasons()["k8"] == "all_correct"
    assert step.batch.counts.fill_rate == 7 / 9


def test_reevaluation_sorts_into_improved_solved_and_still_difficult() -> None:
    stream = Stream({"method.m": 2})
    first = stream.step({"a": 0, "b": 0, "c": 1, "d": 0})
    assert first.difficult == {"a": 0, "b": 0, "c": 1, "d": 0}
    # c1 < μ < 1: 2/8 and 7/8 improved; 1/8 is not above c1; 8/8 is solved and brings no advantage.
    second = stream.step({"e": 4}, {"a": 2, "b": 7, "c": 1, "d": 8})
    assert second.x2 == {"a": 2, "b": 7}
    assert second.difficult == {"c": 1}
    counts = second.batch.counts
    assert (counts.reevaluated, counts.improved, counts.x2, counts.solved, counts.still_difficult) == (4, 2, 2, 1, 1)
    assert second.reasons() == {
        "e": None, "a": None, "b": None, "c": "still_difficult", "d": "solved",
    }  # fmt: skip


def test_reevaluation_happens_only_in_steps_that_m_divides() -> None:
    stream = Stream({"method.m": 3})
    assert stream.step({"a": 0}).asked == []
    assert stream.step({"b": 0}).asked == []
    assert stream.step({"c": 0}, {"a": 0, "b": 0}).asked == ["a", "b"]
    assert stream.step({"d": 0}).asked == []


def test_the_least_recently_evaluated_are_asked_first_and_ties_by_prompt_id() -> None:
    stream = Stream({"method.m": 3, "method.max_reevaluated_prompts": 3})
    stream.step({"z": 0, "y": 0})
    stream.step({"b": 0, "a": 0})
    # z, y from step 1 (ordered y, z), then a from step 2; b exceeds the limit of 3.
    third = stream.step({"n": 4}, {"y": 0, "z": 0, "a": 0})
    # Those three were evaluated in step 3 now, so b is the oldest.
    assert list(third.difficult) == ["b", "y", "z", "a"]
    stream.step({"o": 4})
    stream.step({"p": 4})
    assert stream.step({"q": 4}, {"b": 0, "a": 0, "y": 0}).asked == ["b", "a", "y"]


def test_a_prompt_rolled_out_fresh_in_this_step_is_not_answered_again() -> None:
    stream = Stream({"method.m": 2})
    stream.step({"a": 0, "b": 0})
    second = stream.step({"a": 0, "c": 3}, {"b": 3})
    assert second.asked == ["b"]
    assert second.difficult == {"a": 0}


def test_a_fresh_group_above_c1_takes_its_prompt_out_of_the_difficult_buffer() -> None:
    stream = Stream({"method.m": 9})
    stream.step({"a": 0, "b": 0, "c": 1})
    second = stream.step({"a": 2, "b": 8, "c": 0})
    assert second.difficult == {"c": 0}
    difficult, _ = stream.method.buffers(2)
    assert difficult is not None
    assert (difficult.left_improved, difficult.refreshed, difficult.entered) == (2, 1, 0)


def test_a_full_difficult_buffer_evicts_the_least_recently_seen() -> None:
    stream = Stream({"method.m": 9, "method.difficult_buffer.capacity": 3})
    stream.step({"a": 0, "b": 0})
    stream.step({"a": 0, "c": 0})
    # Seen last: b in step 1, a and c in step 2. d makes four, so b goes.
    third = stream.step({"d": 0})
    assert list(third.difficult) == ["a", "c", "d"]
    difficult, _ = stream.method.buffers(3)
    assert difficult is not None
    assert difficult.evicted == 1


def test_the_difficult_buffer_holds_as_many_prompts_as_the_batch_by_default() -> None:
    stream = Stream({"method.m": 9}, batch_size=2)
    assert list(stream.step({"a": 0, "b": 0, "c": 0}).difficult) == ["b", "c"]


def test_stored_groups_fill_the_rest_of_the_batch() -> None:
    stream = Stream({"method.m": 9})
    stream.step({"a": 2, "b": 1, "c": 5})
    # r_tot after step 1 = (2 + 1 + 5) / 24 = 1/3: c2 = 1/8 + 3/8·1/3 = 2/8, c3 = 2/8 + 3/8·1/3 = 3/8.
    # Of the stored groups (a: 2/8, b: 1/8) only a lies in today's [2/8, 3/8]; c (5/8) was never stored.
    second = stream.step({"d": 0})
    assert second.x1 == {}
    assert second.x3 == {"a": 2}
    assert second.batch.counts.x3_candidates == 1
    # Reused groups stay until they age out; d (0/8) is not stored.
    assert second.stored == {"a": 2, "b": 1}


def test_a_stored_group_is_reused_for_three_steps() -> None:
    # c2 and c3 fixed: the range admits k = 1..4 at any r_tot.
    fixed = {"method.m": 99, "method.c2": ["1/8", "1/8"], "method.c3": ["4/8", "4/8"]}
    stream = Stream(fixed)
    stream.step({"a": 3})
    assert stream.step({"n2": 0}).x3 == {"a": 3}
    assert stream.step({"n3": 0}).x3 == {"a": 3}
    fourth = stream.step({"n4": 0})
    assert fourth.x3 == {"a": 3}
    assert fourth.stored == {}
    fifth = stream.step({"n5": 0})
    assert fifth.x3 == {}
    assert fifth.batch.items == []


def test_the_newest_group_of_a_prompt_replaces_the_stored_one() -> None:
    fixed = {"method.m": 99, "method.c2": ["1/8", "1/8"], "method.c3": ["4/8", "4/8"]}
    stream = Stream(fixed)
    stream.step({"a": 3})
    second = stream.step({"a": 2})
    # Today's group is X1; the candidate of step 1 is of the same prompt, so X1 wins over X3.
    assert second.x1 == {"a": 2}
    assert second.x3 == {}
    assert second.stored == {"a": 2}
    assert stream.step({"n": 0}).x3 == {"a": 2}


def test_candidates_are_fixed_before_todays_groups_enter() -> None:
    # a (3/8) is stored; today a is answered all wrong. It is not in X1, and its candidate is still the old group.
    fixed = {"method.m": 99, "method.c2": ["1/8", "1/8"], "method.c3": ["4/8", "4/8"]}
    stream = Stream(fixed)
    stream.step({"a": 3})
    second = stream.step({"a": 0, "b": 4})
    assert second.x1 == {"b": 4}
    assert second.x3 == {"a": 3}
    # b entered today, so it was no candidate today.
    assert second.batch.counts.x3_candidates == 1


def test_x2_wins_over_x3_for_the_same_prompt() -> None:
    # c1 = 2/8 and c2..c3 = 1/8..4/8: a prompt at 2/8 is both difficult and reusable.
    fixed = {"method.m": 2, "method.c1": "2/8", "method.c2": ["1/8", "1/8"], "method.c3": ["4/8", "4/8"]}
    stream = Stream(fixed)
    first = stream.step({"a": 2})
    assert first.difficult == first.stored == {"a": 2}
    second = stream.step({"n": 0}, {"a": 5})
    assert second.x2 == {"a": 5}
    assert second.x3 == {}


def test_x2_beyond_the_room_is_stored_where_reusable_else_dropped() -> None:
    # B = 2; X1 takes one place and the first improved prompt the other.
    fixed = {
        "method.m": 2, "method.c2": ["1/8", "1/8"], "method.c3": ["4/8", "4/8"], "method.difficult_buffer.capacity": 9,
    }  # fmt: skip
    stream = Stream(fixed, batch_size=2)
    stream.step({"a": 0, "b": 0, "c": 0})
    second = stream.step({"n": 6}, {"a": 5, "b": 4, "c": 5})
    assert second.x1 == {"n": 6}
    assert second.x2 == {"a": 5}
    assert second.reasons()["b"] == "surplus_stored"
    assert second.reasons()["c"] == "surplus_dropped"
    assert second.stored == {"b": 4}
    assert second.difficult == {}
    counts = second.batch.counts
    assert (counts.improved, counts.x2, counts.surplus_stored, counts.surplus_dropped) == (3, 1, 1, 1)
    # What was stored is a candidate from the next step on.
    assert stream.step({"o": 0}).x3 == {"b": 4}


def test_x1_beyond_the_batch_size_finds_no_room() -> None:
    stream = Stream({"method.m": 9}, batch_size=2)
    step = stream.step({"a": 4, "b": 5, "c": 6})
    assert step.x1 == {"a": 4, "b": 5}
    assert step.reasons()["c"] == "no_room"


def test_a_full_batch_reuses_nothing() -> None:
    stream = Stream({"method.m": 9}, batch_size=2)
    stream.step({"a": 2})
    second = stream.step({"b": 4, "c": 4})
    assert second.x3 == {}
    assert second.batch.counts.fill_rate == 1


def test_reuse_draws_without_replacement_up_to_the_room_and_alike_for_one_seed() -> None:
    fixed = {"method.m": 99, "method.c2": ["1/8", "1/8"], "method.c3": ["4/8", "4/8"]}
    draws = []
    for seed in (7, 7, 8):
        stream = Stream(fixed | {"training.seed": seed}, batch_size=4)
        stream.step({f"p{i}": 3 for i in range(20)})
        second = stream.step({"n": 4})
        assert len(second.x3) == 3
        assert second.batch.counts.x3_candidates == 20
        draws.append(list(second.x3))
    assert draws[0] == draws[1] != draws[2]


def test_c1_boundary_is_inclusive() -> None:
    # c1 = 0.25 at G = 8: k = 2 is difficult, k = 3 is not; as improved, 3/8 counts and 2/8 does not.
    stream = Stream({"method.c1": 0.25, "method.m": 2})
    assert stream.step({"a": 2, "b": 3}).difficult == {"a": 2}
    assert stream.step({"n": 0}, {"a": 2}).x2 == {}
    stream = Stream({"method.c1": 0.25, "method.m": 2})
    stream.step({"a": 2})
    assert stream.step({"n": 0}, {"a": 3}).x2 == {"a": 3}


def test_c1_of_zero_calls_only_all_wrong_prompts_difficult() -> None:
    stream = Stream({"method.c1": 0})
    assert stream.step({"a": 0, "b": 1}, {}).difficult == {"a": 0}


def test_c2_and_c3_are_inclusive_and_exact_where_floats_would_round() -> None:
    # G = 10, c2 = c3 = 0.3 = 3/10; in floats 3/10 may compare unequal to 0.1 + 0.2.
    fixed = {"method.m": 99, "method.c2": [0.3, 0.3], "method.c3": ["3/10", "3/10"]}
    stream = Stream(fixed, group_size=10)
    assert stream.step({f"k{k}": k for k in range(11)}).stored == {"k3": 3}


def test_a_c2_of_zero_stores_all_wrong_groups_too() -> None:
    # Table 2 runs c2 = 0, c3 = 0.25.
    fixed = {"method.m": 99, "method.c2": [0, 0], "method.c3": [0.25, 0.25]}
    assert Stream(fixed).step({f"k{k}": k for k in range(9)}).stored == {"k0": 0, "k1": 1, "k2": 2}


def test_thresholds_follow_r_tot_over_ten_steps() -> None:
    stream = Stream({"method.m": 99})
    assert stream.method.thresholds().r_tot == 0
    stream.step({"a": 8})
    # r_tot = 1: c2 = 4/8, c3 = 5/8.
    values = stream.method.thresholds()
    assert (values.r_tot, values.c2, values.c3) == (1.0, 0.5, 0.625)
    assert (values.reusable_min_count, values.reusable_max_count) == (4, 5)
    for _ in range(9):
        stream.step({"b": 0})
    # Ten steps: 8 of 80 correct.
    assert stream.method.thresholds().r_tot == 0.1
    stream.step({"b": 0})
    # The step with 8/8 has left the window.
    assert stream.method.thresholds().r_tot == 0


def test_a_range_written_from_high_to_low_reverses_the_direction() -> None:
    reversed_ranges = {"method.m": 99, "method.c2": ["4/8", "1/8"], "method.c3": ["5/8", "2/8"]}
    stream = Stream(reversed_ranges)
    assert stream.step({f"k{k}": k for k in range(9)}).stored == {"k4": 4, "k5": 5}
    # r_tot = 36/72 = 1/2: c2 = 2.5/8, c3 = 3.5/8, so only k = 3 is reusable now.
    values = stream.method.thresholds()
    assert (values.reusable_min_count, values.reusable_max_count) == (3, 3)


def test_thresholds_that_admit_nothing_for_now_starve_x3_without_an_error() -> None:
    # G = 4 with Table 3: at r_tot = 1/2, c2 = 2.5/8 and c3 = 3.5/8 hold no k/4.
    stream = Stream({"method.m": 99}, group_size=4)
    stream.step({"a": 1, "b": 3})
    values = stream.method.thresholds()
    assert (values.r_tot, values.reusable_min_count, values.reusable_max_count) == (0.5, 2, 1)
    second = stream.step({"n": 0})
    assert second.batch.counts.x3_candidates == 0


def test_without_reevaluated_asks_for_nothing() -> None:
    stream = Stream({"method.without": ["reevaluated"]})
    assert stream.step({"a": 0}, {}).difficult == {"a": 0}
    assert stream.step({"n": 4}, {}).asked == []


def test_without_reused_counts_the_candidates_it_leaves() -> None:
    stream = Stream({"method.without": ["reused"], "method.m": 9})
    stream.step({"a": 2})
    second = stream.step({"n": 0})
    assert second.x3 == {}
    assert second.batch.counts.x3_candidates == 1


def test_max_reevaluated_prompts_of_zero_asks_for_nothing() -> None:
    stream = Stream({"method.max_reevaluated_prompts": 0})
    stream.step({"a": 0}, {})
    assert stream.step({"n": 0}, {}).asked == []


def test_the_high_quality_capacity_lets_the_oldest_go() -> None:
    fixed = {
        "method.m": 99, "method.c2": ["1/8", "1/8"], "method.c3": ["4/8", "4/8"],
        "method.high_quality_buffer.capacity": 2,
    }  # fmt: skip
    stream = Stream(fixed)
    assert stream.step({"a": 3, "b": 3, "c": 3}).stored == {"b": 3, "c": 3}


def test_max_age_steps_of_one_reuses_in_the_next_step_only() -> None:
    fixed = {
        "method.m": 99, "method.c2": ["1/8", "1/8"], "method.c3": ["4/8", "4/8"],
        "method.high_quality_buffer.max_age_steps": 1,
    }  # fmt: skip
    stream = Stream(fixed)
    stream.step({"a": 3})
    assert stream.step({"n": 0}).x3 == {"a": 3}
    assert stream.step({"o": 0}).x3 == {}


def test_a_changed_c1_drops_prompts_that_are_not_difficult_any_more() -> None:
    stream = Stream({"method.m": 9})
    stream.step({"a": 0, "b": 1})
    stream.method.reconfigure(
        stream.config.model_copy(update={"method": stream.config.method.model_copy(update={"c1": Fraction(0)})})
    )
    assert [entry[0] for entry in stream.method.state_dict()["difficult_buffer"]["prompts"]] == ["a"]


def test_a_restored_method_goes_on_exactly() -> None:
    fixed = {"method.m": 2, "method.c2": ["1/8", "1/8"], "method.c3": ["4/8", "4/8"]}
    undisturbed, stopped = Stream(fixed, batch_size=4), Stream(fixed, batch_size=4)
    first = {f"p{i}": i % 9 for i in range(18)}
    for stream in (undisturbed, stopped):
        stream.step(first)
    resumed = Stream(fixed, batch_size=4)
    resumed.step_number = 1
    payloads = [group.payload for group in stopped.method.stored_groups()]
    resumed.method.load_state_dict(stopped.method.state_dict(), payloads)
    asked = dict.fromkeys(("p0", "p1", "p10", "p9"), 3)
    outcomes = [stream.step({"n": 4}, asked) for stream in (undisturbed, resumed)]
    assert outcomes[0] == outcomes[1]
