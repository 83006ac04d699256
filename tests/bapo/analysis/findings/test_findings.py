"""Each finding where it must be found, and where it must not."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from bapo.analysis.findings.answers import answer_format, label_suspected, plain
from bapo.analysis.findings.chance_movement import moved_by_chance
from bapo.analysis.findings.curves import held_out_falls, learning_stopped, reward_fell
from bapo.analysis.findings.finding import LABELS, Found, TooLittle
from bapo.analysis.findings.groups_without_gradient import groups_without_gradient
from bapo.analysis.findings.lengths import responses_cut, reward_follows_length
from bapo.analysis.findings.policy_health import diversity_falls, entropy_collapse, off_policy_drift, reference_drift
from bapo.analysis.findings.probe import OF_PROBES
from bapo.analysis.findings.search import find
from bapo.analysis.findings.settled_prompts import always_solved, never_solved
from bapo.analysis.findings.stream import Curve, Response, ResponseGroup, RunStream, stream_of
from bapo.analysis.findings.verifier_noise import verifier_disagrees
from bapo.config import RunConfig, apply_changes, resolve
from tests.bapo.analysis.findings.streams import CONFIG, boxed, found, group, noisy, stream
from tests.support.simulation import Simulation

# ---------------------------------------------------------------- groups without a gradient


def test_half_of_the_groups_without_a_gradient_is_a_finding_with_its_split() -> None:
    # Prompts 0..29 all wrong, 30..39 all right, 40..79 mixed: 40 of 80, at each of 20 steps.
    counts = [[0] * 30 + [8] * 10 + [4] * 40] * 20
    finding = found(groups_without_gradient(stream(counts))).finding
    figures = {each.label: each for each in finding.evidence}
    assert figures["Groups without a gradient"].value == 0.5
    # Clusters are 80 prompts, not 800 groups: 1.96·√(80/79 · 0.25/80) = 0.1103.
    assert figures["Groups without a gradient"].low == pytest.approx(0.5 - 0.1103, abs=1e-4)
    assert figures["All responses wrong"].value == 0.375
    assert figures["All responses right"].value == 0.125
    # The last half: 10 steps × 40 groups × 8 responses.
    assert figures["Rollouts spent on them"].value == 3_200
    assert figures["Of the all-wrong: hopeless, p < 1/32"].value > 0.95
    assert finding.num_rollouts == 10 * 80 * 8
    assert finding.title.startswith("50")
    # Hopeless and mastered prompts stay so in groups of 16, and nothing is left for BAPO to reuse: 40 groups per step.
    assert figures["Groups with a gradient per step, GRPO"].value == 40
    assert finding.remedies == []


def test_groups_with_a_demonstration_are_not_counted_as_without_a_gradient() -> None:
    counts = [[0] * 30 + [8] * 10 + [4] * 40] * 20
    luffy = resolve({"method": {"type": "luffy"}}).config
    assert groups_without_gradient(stream(counts, config=luffy)) is None
    # Of ReLIFT's, only those that its supervised steps take have one.
    relift = resolve({"method": {"type": "relift"}}).config
    assert found(groups_without_gradient(stream(counts, config=relift))).finding.severity == "note"


def test_a_larger_group_brings_gradients_where_prompts_were_unlucky() -> None:
    # p = 0.1: (0.9)^8 = 43 % all wrong, (0.9)^16 = 18.5 %.
    counts = np.random.default_rng(2).binomial(8, 0.1, (40, 100))
    finding = found(groups_without_gradient(stream(counts.tolist()))).finding
    figures = {each.label: each for each in finding.evidence}
    forecast = figures["Groups with a gradient at G = 16, forecast"]
    assert forecast.value == pytest.approx(0.815, abs=0.03)
    assert figures["Of the all-wrong: hopeless, p < 1/32"].value < 0.05
    assert finding.remedies[0].changes == {"rollout.group_size": 16}
    assert "81\u202f% of groups would have a gradient instead of 5" in finding.remedies[0].text


def test_other_methods_show_their_figures_and_are_advised_where_they_gain() -> None:
    # 32 prompts a step at p = 0.1: some 18 groups have a gradient, and BAPO fills up with earlier ones.
    counts = np.random.default_rng(2).binomial(8, 0.1, (40, 32))
    finding = found(groups_without_gradient(stream(counts.tolist()))).finding
    figures = {each.label: each.value for each in finding.evidence}
    mixed = ((counts > 0) & (counts < 8)).sum() / 40
    assert figures["Groups with a gradient per step, GRPO"] == pytest.approx(mixed)
    assert figures["Groups with a gradient per step, BAPO by what-if"] > mixed + 3
    # Nothing was difficult enough to be answered again: 32 prompts, 8 responses each.
    assert figures["Rollouts per step, GRPO"] == figures["Rollouts per step, BAPO by what-if"] == 256
    # DAPO fills its batch of 32 by further rounds.
    assert figures["Groups with a gradient per step, DAPO by what-if"] == 32
    assert figures["Rollouts per step, DAPO by what-if"] > 400
    advice = {each.changes["method.type"]: each.text for each in finding.remedies if "method.type" in each.changes}
    assert list(advice) == ["bapo", "dapo"]
    assert f"instead of {mixed:.1f}, for 1.00 times the rollouts" in advice["bapo"]


def test_nothing_is_advised_where_no_group_can_have_a_gradient() -> None:
    finding = found(groups_without_gradient(stream([[0] * 32] * 20))).finding
    figures = {each.label: each for each in finding.evidence}
    # "0 % instead of 0 %" is no advice; neither is a method that trains on nothing either.
    assert figures["Groups with a gradient at G = 16, forecast"].value == pytest.approx(0, abs=1e-6)
    assert figures["Groups with a gradient per step, BAPO by what-if"].value == 0
    assert finding.remedies == []
    # All of 32 prompts is not a point: Wilson's interval for 32 of 32 prompts.
    assert figures["Groups without a gradient"].low == pytest.approx(32 / (32 + 1.96**2), abs=1e-3)


def test_a_run_of_bapo_is_not_told_to_train_with_bapo() -> None:
    config = resolve({"method": {"type": "bapo"}}).config
    counts = np.random.default_rng(2).binomial(8, 0.1, (40, 32))
    finding = found(groups_without_gradient(stream(counts.tolist(), config=config))).finding
    assert {"method.type": "bapo"} not in [each.changes for each in finding.remedies]
    assert "Groups with a gradient per step, BAPO" in {each.label for each in finding.evidence}


def test_prompts_are_left_out_only_where_enough_are_left() -> None:
    def offers(num_dead: int, num_prompts: int) -> bool:
        counts = [[0] * num_dead + [4] * (num_prompts - num_dead)] * 6
        finding = next(each for each in find(stream(counts)).report.findings if each.kind == "never_solved")
        return any(each.leaves_out_prompts for each in finding.remedies)

    # All 61 prompts come in every step. Half of them, 30.5, must be left.
    assert not offers(61, 61)
    assert not offers(31, 61)
    assert offers(30, 61)


def test_a_limit_is_raised_only_where_long_responses_are_right() -> None:
    def texts(*, longest_right: bool) -> list[ResponseGroup]:
        responses = [Response(str(i), float(longest_right or i < 4), 10 + i) for i in range(8)]
        return [ResponseGroup("p", 1, 0, None, responses)] * 20

    def advice(*, longest_right: bool, config: RunConfig = CONFIG) -> list[str]:
        cut = {"response_length/clip_ratio": [0.3] * 200}
        outcome = responses_cut(stream(metrics=cut, samples=texts(longest_right=longest_right), config=config))
        return [each.text for each in found(outcome).finding.remedies]

    assert advice(longest_right=True) == ["Raise the limit to 200 tokens.", "Leave cut responses out of the loss."]
    # Not one of the longest tenth is right, so that longer ones hardly would be.
    assert advice(longest_right=False) == ["Leave cut responses out of the loss."]
    dropping = resolve({"method": {"type": "grpo"}, "loss": {"drops_overlong": True}}).config
    assert advice(longest_right=False, config=dropping) == []


def test_mixed_groups_are_no_finding_and_few_groups_say_nothing() -> None:
    assert groups_without_gradient(stream([[4] * 20] * 20)) is None
    assert groups_without_gradient(stream([[0] * 9] * 20)) == TooLittle("90 of 100 fresh groups")


# ---------------------------------------------------------------- settled prompts


def test_prompts_never_and_always_solved_are_listed() -> None:
    counts = [[0] * 20 + [8] * 10 + [4] * 70] * 6
    never = found(never_solved(stream(counts)))
    assert [prompt.prompt_id for prompt in never.prompts] == [f"p{index}" for index in range(20)]
    assert never.prompts[0].num_rollouts == 48
    # 20 of 100 prompts, as often visited as all others: 20 % of the rollouts.
    assert [each.value for each in never.finding.evidence] == pytest.approx([0.2, 20, 960, 0.2])
    always = found(always_solved(stream(counts)))
    assert {prompt.prompt_id for prompt in always.prompts} == {f"p{index}" for index in range(20, 30)}
    assert always.prompts[0].num_correct == 48


def test_one_right_response_long_ago_takes_a_prompt_off_the_list() -> None:
    counts = [[1] + [0] * 19 + [4] * 80, *[[0] * 20 + [4] * 80] * 5]
    never = found(never_solved(stream(counts)))
    assert "p0" not in {prompt.prompt_id for prompt in never.prompts}


def test_a_single_visit_says_nothing_about_a_prompt() -> None:
    assert never_solved(stream([[0] * 100])) == TooLittle("0 of 50 prompts with two visits or more")


def test_prompts_of_middling_difficulty_are_never_listed() -> None:
    counts = np.random.default_rng(3).binomial(8, 0.3, (3, 200))
    assert never_solved(stream(counts.tolist())) is None
    assert always_solved(stream(counts.tolist())) is None


# ---------------------------------------------------------------- verifier, labels, format


def test_a_verifier_that_flips_rewards_is_measured() -> None:
    draws = np.random.default_rng(4)
    flipped = [group(f"p{index}", [("right", int(draws.random() > 0.1)) for _ in range(8)]) for index in range(400)]
    finding = found(verifier_disagrees(stream(samples=flipped))).finding
    rate = finding.evidence[0]
    assert rate.low is not None
    assert rate.high is not None
    assert rate.low < 0.1 < rate.high
    assert rate.value == pytest.approx(0.1, abs=0.02)
    assert finding.severity == "problem"


def test_a_verifier_that_judges_texts_alike_is_no_finding() -> None:
    steady = [group(f"p{index}", [("right", 1), ("right", 1), ("wrong", 0), ("wrong", 0)]) for index in range(40)]
    assert verifier_disagrees(stream(samples=steady)) is None
    assert isinstance(verifier_disagrees(stream(samples=steady[:14])), TooLittle)


def test_a_wrong_answer_that_most_agree_on_in_two_visits_makes_the_label_suspect() -> None:
    agreed = [(boxed(9), 0)] * 5 + [(boxed(7), 1)] * 3
    spread = [(boxed(index), 0) for index in range(10, 15)] + [(boxed(7), 1)] * 3
    samples = [group(f"p{index}", agreed if index < 3 else spread, step=step) for index in range(40) for step in (1, 9)]
    outcome = found(label_suspected(stream(samples=samples)))
    # 5 of 8 is 62 % ≥ 60 %.
    assert [prompt.prompt_id for prompt in outcome.prompts] == ["p0", "p1", "p2"]
    assert outcome.prompts[0].detail == "62% answer 9; the label is 7"
    fewer = [(boxed(9), 0)] * 4 + [(boxed(7), 1)] * 4
    samples = [group(f"p{index}", fewer, step=step) for index in range(40) for step in (1, 9)]
    assert label_suspected(stream(samples=samples)) is None


def test_labels_are_not_suspected_after_one_visit_or_without_labels() -> None:
    agreed = [(boxed(9), 0)] * 8
    assert isinstance(label_suspected(stream(samples=[group(f"p{i}", agreed) for i in range(40)])), TooLittle)
    computed = [group(f"p{i}", agreed, label=None) for i in range(40)]
    assert label_suspected(stream(samples=computed)) == TooLittle("no sampled problem has one text as its right answer")


def test_right_answers_in_another_form_are_a_finding() -> None:
    samples = [group("p0", [("\\boxed{\\dfrac{1}{2}}", 0)] * 5 + [("\\boxed{3}", 0)] * 5, label="\\frac{1}{2}")]
    finding = found(answer_format(stream(samples=samples))).finding
    assert finding.evidence[0].value == 0.5
    assert finding.severity == "problem"
    right = [group("p0", [("\\boxed{\\frac{1}{2}}", 1)] * 10, label="\\frac{1}{2}")]
    assert answer_format(stream(samples=right)) is None


def test_responses_without_an_answer_are_counted_apart_from_those_that_were_cut() -> None:
    # 5 refused, 3 in words, and 2 that were cut before they said anything: 3 of 8 uncut ones have no answer.
    said = [("\\boxed{7 }.", 0)] * 5 + [("It is **7**.", 0)] * 3 + [("So we", 0)] * 2
    asked = group("p0", said)
    responses = [each._replace(is_cut=place >= 8) for place, each in enumerate(asked.responses)]
    evidence = found(answer_format(stream(samples=[asked._replace(responses=responses)]))).finding.evidence
    assert [each.value for each in evidence] == [1.0, 5.0, 0.375]


def test_answers_that_cannot_be_read_are_not_taken_for_problems_without_labels() -> None:
    words = [group(f"p{i}", [("It is 8.", 0)] * 8, step=step) for i in range(40) for step in (1, 2)]
    missing = TooLittle(r"no sampled response has an answer in <answer>…</answer> or \boxed{…}")
    assert answer_format(stream(samples=words)) == missing
    assert label_suspected(stream(samples=words)) == missing


def test_a_long_answer_is_listed_by_its_beginning() -> None:
    samples = [group("p0", [("\\boxed{" + "1 " * 200 + "}", 0)] * 5, label="1" * 200)]
    [listed] = found(answer_format(stream(samples=samples))).prompts
    assert listed.detail == f"{'1 ' * 40} … judged wrong; the label is {'1' * 80} …"


def test_decoration_does_not_tell_answers_apart() -> None:
    assert plain("$ \\left(1, 2\\right). $") == plain("(1,2).")
    assert plain("10") != plain("1 1")


# ---------------------------------------------------------------- lengths


def test_rewards_that_follow_length_within_groups_are_found() -> None:
    longer = [
        ResponseGroup("p", 1, 0, None, [Response(str(i), int(i >= 4), 10 + 5 * i) for i in range(8)]) for _ in range(60)
    ]
    finding = found(reward_follows_length(stream(samples=longer))).finding
    # Rewards 00001111 beside 0..7: 8 / √(2·42) = 0.873.
    assert finding.evidence[0].value == pytest.approx(0.873, abs=1e-3)
    draws = np.random.default_rng(5)
    unrelated = [
        ResponseGroup("p", 1, 0, None, [Response(str(i), i % 2, int(draws.integers(10, 90))) for i in range(8)])
        for _ in range(60)
    ]
    assert reward_follows_length(stream(samples=unrelated)) is None


def test_difficulty_that_makes_responses_long_and_wrong_is_no_finding() -> None:
    # Hard prompts: long, 1 of 8 right. Easy ones: short, 7 of 8. Within a group length says nothing.
    draws = np.random.default_rng(6)
    samples = []
    for index in range(100):
        hard = index % 2 == 0
        rewards = draws.permutation([1] * (1 if hard else 7) + [0] * (7 if hard else 1))
        tokens = (80 if hard else 20) + draws.integers(0, 10, 8)
        responses = [Response("t", int(r), int(n)) for r, n in zip(rewards, tokens, strict=True)]
        samples.append(ResponseGroup("p", 1, 0, None, responses))
    assert reward_follows_length(stream(samples=samples)) is None


def test_a_response_that_is_reported_to_be_cut_is_left_out_whatever_its_length() -> None:
    # Of 10 responses of 20 to 29 tokens the right ones are cut: those that are left have equal rewards.
    mixed = group("p", [("t", int(i < 5)) for i in range(10)], tokens=20)
    cut = mixed._replace(responses=[each._replace(is_cut=each.is_correct) for each in mixed.responses])
    assert not isinstance(reward_follows_length(stream(samples=[mixed] * 60)), TooLittle)
    assert isinstance(reward_follows_length(stream(samples=[cut] * 60)), TooLittle)


def test_cut_responses_are_found_with_what_the_cut_may_cost() -> None:
    samples = [group("p", [("t", 1)] * 10, tokens=20) for _ in range(20)]
    finding = found(responses_cut(stream(metrics={"response_length/clip_ratio": [0.3] * 200}, samples=samples))).finding
    assert finding.severity == "warning"
    assert finding.evidence[0].value == pytest.approx(0.3)
    assert finding.remedies[0].changes == {"rollout.max_response_tokens": 200}
    assert "At best another 30" in finding.explanation
    assert responses_cut(stream(metrics={"response_length/clip_ratio": [0.01] * 200})) is None


# ---------------------------------------------------------------- the policy and its curves


def test_entropy_must_be_low_and_have_fallen_far() -> None:
    fell = np.geomspace(0.8, 0.01, 200).tolist()
    finding = found(entropy_collapse(stream(metrics={"actor/entropy": fell}))).finding
    assert finding.kind == "entropy_collapse"
    assert entropy_collapse(stream(metrics={"actor/entropy": np.geomspace(0.8, 0.1, 200).tolist()})) is None
    # Low from the start: nothing fell.
    assert entropy_collapse(stream(metrics={"actor/entropy": [0.03] * 200})) is None


def test_clipping_and_ratios_far_from_one_are_drift() -> None:
    drifted = {"actor/pg_clipfrac": [0.4] * 200, "bapo/ratio/mean": [1.0] * 200}
    assert found(off_policy_drift(stream(metrics=drifted))).finding.remedies[0].changes == {
        "training.learning_rate": CONFIG.training.learning_rate / 2
    }
    far = {"actor/pg_clipfrac": [0.01] * 200, "bapo/ratio/mean": [0.7] * 200}
    assert isinstance(off_policy_drift(stream(metrics=far)), Found)
    near = {"actor/pg_clipfrac": [0.02] * 200, "bapo/ratio/mean": [1.01] * 200}
    assert off_policy_drift(stream(metrics=near)) is None


@pytest.mark.parametrize(
    ("lag", "age", "said"),
    [(1, 0, None), (2, 1, "groups are up to 1 step old"), (6, 5, "groups are up to 5 steps old")],
)
def test_the_oldest_group_is_as_old_as_the_updates_since_it_was_answered(lag: int, age: int, said: str | None) -> None:
    # The policy that a step begins with has completed one step less than its number: a group that it answers has age 0.
    drifted = stream(metrics={"actor/pg_clipfrac": [0.4] * 200})
    version = np.maximum(0, drifted.visits.step - 1)
    version[-1] = drifted.visits.step[-1] - lag
    visits = drifted.visits._replace(policy_version=version.astype(np.int32))
    finding = found(off_policy_drift(drifted._replace(visits=visits))).finding
    figures = {each.label: each.value for each in finding.evidence}
    assert figures["Oldest group trained on, in steps"] == age
    assert ("old. " in finding.explanation) is (said is not None)
    assert said is None or said in finding.explanation


def test_learning_that_stopped_is_told_from_learning_that_goes_on() -> None:
    steps = np.arange(200)
    rose_then_flat = noisy(0.2 + 0.004 * np.minimum(steps, 80))
    finding = found(learning_stopped(stream(metrics={"critic/rewards/mean": rose_then_flat}))).finding
    change = finding.evidence[0]
    assert change.low is not None
    assert change.high is not None
    assert change.low <= 80 <= change.high
    assert change.value == pytest.approx(80, abs=10)
    # 0.004 a step is 0.4 per 100.
    assert finding.evidence[1].value == pytest.approx(0.4, abs=0.05)
    assert learning_stopped(stream(metrics={"critic/rewards/mean": noisy(0.2 + 0.002 * steps)})) is None
    # Never rose: it did not stop.
    assert learning_stopped(stream(metrics={"critic/rewards/mean": noisy(np.full(200, 0.2))})) is None
    # Uncertain, not small: the noise hides the later slope.
    hidden = noisy(0.2 + 0.004 * np.minimum(steps, 80), scale=1.0)
    assert learning_stopped(stream(metrics={"critic/rewards/mean": hidden})) is None


def test_a_reward_that_fell_is_a_problem() -> None:
    fell = noisy([0.5] * 150 + [0.1] * 50)
    finding = found(reward_fell(stream(metrics={"critic/rewards/mean": fell}))).finding
    assert finding.severity == "problem"
    assert finding.evidence[0].value == pytest.approx(0.1, abs=0.01)
    assert reward_fell(stream(metrics={"critic/rewards/mean": noisy([0.5] * 150 + [0.4] * 50)})) is None


def test_a_policy_that_is_ruined_within_a_few_steps_has_fallen_from_where_it_began() -> None:
    # Four steps of 40 groups with 2 of 8 right, then none ever again: no tenth of the run has a level.
    counts = [[2] * 40] * 4 + [[0] * 40] * 96
    ruined = stream(counts, metrics={"critic/rewards/mean": [0.25] * 4 + [0.0] * 96, "actor/ppo_kl": [0.0, 8.0]})
    finding = found(reward_fell(ruined)).finding
    figures = {each.label: each.value for each in finding.evidence}
    assert figures["Reward, steps 1 to 2"] == 0.25
    assert figures["Largest KL of a step to the policy that answered"] == 8.0
    assert finding.remedies[0].changes["training.learning_rate"] < CONFIG.training.learning_rate
    # A lucky start: the first 64 groups say little about a level near that of the end.
    draws = np.random.default_rng(8)
    for _ in range(20):
        level = draws.binomial(8, 0.2, (100, 32))
        even = stream(level.tolist(), metrics={"critic/rewards/mean": (level.mean(axis=1) / 8).tolist()})
        assert reward_fell(even) is None


def test_movement_that_chance_explains_is_told_from_learning() -> None:
    draws = np.random.default_rng(9)
    rates = draws.uniform(0.1, 0.9, 600)
    unchanged = found(moved_by_chance(stream(draws.binomial(8, rates, (60, 600)).tolist())))
    figures = {each.label: each for each in unchanged.finding.evidence}
    movement = figures["Movement, as a multiple of what chance brings"]
    assert movement.low is not None
    assert movement.high is not None
    assert movement.low < 1 < movement.high < 1.25
    assert unchanged.finding.num_prompts == len(unchanged.prompts) > 300
    # Every prompt gains 0.3, or half gain what the other half lose: the mean alone would not tell.
    risen = np.clip(rates + 0.3, 0, 1)
    swapped = np.where(np.arange(600) % 2, np.clip(rates + 0.4, 0, 1), np.clip(rates - 0.4, 0, 1))
    for later in (risen, swapped):
        counts = [*draws.binomial(8, rates, (30, 600)).tolist(), *draws.binomial(8, later, (30, 600)).tolist()]
        assert moved_by_chance(stream(counts)) is None
    # Too few prompts to say that nothing moved.
    assert moved_by_chance(stream(draws.binomial(8, rates[:60], (60, 60)).tolist())) is None


def test_wrong_responses_that_become_alike_are_found_and_right_ones_are_not() -> None:
    def kept(responses_at: Callable[[int], list[tuple[str, int]]]) -> RunStream:
        return stream(samples=[group("p", responses_at(step), step=step) for step in range(1, 201)])

    alike = found(diversity_falls(kept(lambda step: [(str(i if step < 100 else 0), 0) for i in range(8)]))).finding
    assert [each.value for each in alike.evidence] == [0.0, 1.0]
    # The right answer is one text, and given ever more often; the wrong ones differ as before.
    learning = kept(lambda step: [("right", 1)] * (step // 40) + [(f"wrong {i}", 0) for i in range(8 - step // 40)])
    assert diversity_falls(learning) is None


def test_a_policy_far_from_its_reference_is_found() -> None:
    near, far = ({"actor/kl_loss": noisy([level] * 200)} for level in (0.2, 0.8))
    assert reference_drift(stream(metrics=near)) is None
    finding = found(reference_drift(stream(metrics=far))).finding
    assert finding.evidence[0].value == pytest.approx(0.8, abs=0.01)
    assert finding.remedies[0].changes == {"loss.kl_coefficient": 0.001}
    assert isinstance(reference_drift(stream()), TooLittle)


def test_a_policy_that_may_still_be_near_its_reference_is_not_found() -> None:
    # Five blocks of the last 100 steps, of mean 0.6 and deviation 0.4: 0.6 ± 2.78 · 0.4/√5 = [0.10, 1.10], and 0.5 lies
    # within.
    levels = [0.6] * 5 + [0.2, 1.0, 0.2, 1.0, 0.6]
    assert reference_drift(stream(metrics={"actor/kl_loss": np.repeat(levels, 20).tolist()})) is None


def test_held_out_accuracy_must_fall_while_the_reward_rises() -> None:
    reward = noisy(0.2 + 0.002 * np.arange(200))
    base = stream(metrics={"critic/rewards/mean": reward})
    steps = np.arange(100.0, 201, 20)

    def with_held_out(slope: float) -> RunStream:
        held_out = Curve(steps, 0.5 + slope * steps + np.array([0, 1, -1, 0, 1, -1]) * 0.004)
        return base._replace(metrics={**base.metrics, "val-core/test/acc/mean@8": held_out})

    finding = found(held_out_falls(with_held_out(-0.001))).finding
    # Per 100 steps: +0.2 beside -0.1.
    assert finding.evidence[0].value == pytest.approx(0.3, abs=0.03)
    assert held_out_falls(with_held_out(0.001)) is None
    assert held_out_falls(with_held_out(0.0)) is None
    assert held_out_falls(base) == TooLittle("no held-out evaluation")


# ---------------------------------------------------------------- all together


def test_every_kind_is_checked_once_and_an_empty_run_says_what_it_lacks() -> None:
    report = find(stream_of(CONFIG, [])).report
    assert (report.step, report.findings) == (0, [])
    assert [check.kind for check in report.checks] == [kind for kind in LABELS if kind not in OF_PROBES]
    assert {check.outcome for check in report.checks} == {"too_little"}
    assert all(check.reason for check in report.checks)


def test_findings_of_a_simulated_run_come_with_legal_changes() -> None:
    # Hard prompts, logit p ~ N(-1.6, 2): about half of all groups are all wrong.
    simulation = Simulation(150).train(150)
    config = resolve({"method": {"type": "bapo"}}).config
    report = find(stream_of(config, simulation.records)).report
    assert "no_gradient" in {each.kind for each in report.findings}
    for finding in report.findings:
        for remedy in finding.remedies:
            resolve(apply_changes(config.model_dump(mode="json"), remedy.changes))
