"""Findings of runs that another trainer made: nothing is taken from our defaults, and nothing can be cloned."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from bapo import observe
from bapo.analysis.findings.finding import LABELS, Finding, FindingKind, TooLittle
from bapo.analysis.findings.groups_without_gradient import groups_without_gradient
from bapo.analysis.findings.lengths import responses_cut, reward_follows_length
from bapo.analysis.findings.policy_health import off_policy_drift
from bapo.analysis.findings.probe import OF_PROBES
from bapo.analysis.findings.search import find
from bapo.analysis.findings.stream import Curve, Response, ResponseGroup, RunStream, read_stream
from bapo.analysis.visits import UNKNOWN_VERSION
from bapo.config import parse_config
from bapo.observe import Group
from tests.bapo.analysis.findings.streams import boxed, found, group, noisy, stream, trained_on, word_problems

# A run of another trainer has our sections too; their values, odd ones here, tell nothing of it.
UNTOLD = {"rollout": {"max_response_tokens": 4_321}, "training": {"learning_rate": 0.00789}}
OBSERVED = parse_config({"method": {"type": "observed"}, **UNTOLD})
STEPS = np.arange(200)


def observed(base: RunStream) -> RunStream:
    return base._replace(config=OBSERVED)


def held_out_falls() -> RunStream:
    # From 2 of 8 right to 7 of 8, while the held-out accuracy falls from 0.5 by 0.1 in 100 steps.
    base = stream([[2 + step // 34] * 4 for step in range(200)])
    steps = np.arange(100.0, 201, 20)
    held_out = Curve(steps, 0.5 - 0.001 * steps + np.array([0, 1, -1, 0, 1, -1]) * 0.004)
    return base._replace(metrics={"val-core/test/acc/mean@8": held_out})


def flips() -> RunStream:
    draws = np.random.default_rng(4)
    return stream(samples=[group(f"p{i}", [("right", int(draws.random() > 0.1)) for _ in range(8)]) for i in range(99)])


def suspected() -> RunStream:
    agreed, spread = [(boxed(9), 0)] * 8, [(boxed(index), 0) for index in range(10, 18)]
    samples = [group(f"p{i}", agreed if i < 3 else spread, step=step) for i in range(40) for step in (1, 9)]
    return stream(samples=samples)


def longer() -> RunStream:
    responses = [Response(str(i), float(i >= 4), 10 + 5 * i) for i in range(8)]
    return stream(samples=[ResponseGroup("p", 1, 0, None, responses)] * 60)


DAMAGED: dict[FindingKind, Callable[[], RunStream]] = {
    "no_gradient": lambda: stream([[0] * 30 + [8] * 10 + [4] * 40] * 20),
    "never_solved": lambda: stream([[0] * 20 + [4] * 80] * 6),
    "always_solved": lambda: stream([[8] * 20 + [4] * 80] * 6),
    "moved_by_chance": lambda: stream(np.random.default_rng(1).binomial(8, 0.4, (60, 1_000)).tolist()),
    "verifier_disagrees": flips,
    "label_suspected": suspected,
    "answer_format": lambda: stream(samples=[group("p0", [("\\boxed{\\dfrac{1}{2}}", 0)] * 9, label="\\frac{1}{2}")]),
    "reward_follows_length": longer,
    "responses_cut": lambda: stream(
        metrics={"response_length/clip_ratio": [0.3] * 200, "response_length/max": [777] * 200}
    ),
    "entropy_collapse": lambda: stream(metrics={"actor/entropy": np.geomspace(0.8, 0.01, 200).tolist()}),
    "diversity_falls": lambda: stream(
        samples=[group("p", [(f"{i if step < 50 else 0}", 0) for i in range(8)], step=step) for step in range(1, 201)]
    ),
    "reference_drift": lambda: stream(metrics={"actor/kl_loss": [0.9] * 200}),
    "off_policy_drift": lambda: stream(metrics={"actor/pg_clipfrac": [0.4] * 200}),
    "reward_fell": lambda: stream([[6] * 4] * 150 + [[1] * 4] * 50),
    "learning_stopped": lambda: stream(
        [[round(8 * min(1, max(0, value)))] * 4 for value in noisy(0.2 + 0.006 * np.minimum(STEPS, 80), 0.06)]
    ),
    "held_out_falls": held_out_falls,
    "duplicate_prompts": lambda: trained_on(
        {f"p{i}": f"What is {i}?" for i in range(60)} | {f"c{i}": f"what  is {i}" for i in (1, 2, 3)}
    ),
    "near_duplicates": lambda: trained_on(
        word_problems(60) | {f"c{i}": f"Solve: {text}" for i, text in enumerate(word_problems(5).values())}
    ),
    "contamination": lambda: trained_on(
        word_problems(60), {f"h{i}": text for i, text in enumerate(word_problems(20).values())}
    ),
}


def test_a_damaged_stream_is_there_for_every_kind() -> None:
    assert set(DAMAGED) == set(LABELS) - OF_PROBES


@pytest.mark.parametrize("kind", sorted(set(LABELS) - OF_PROBES))
def test_each_kind_is_found_without_a_button_and_without_what_was_not_told(kind: FindingKind) -> None:
    finding = next(each for each in find(observed(DAMAGED[kind]())).report.findings if each.kind == kind)
    # What no estimate shows to help is not advised: here neither larger groups nor another method bring gradients.
    assert finding.remedies or kind == "no_gradient"
    assert not any(remedy.changes for remedy in finding.remedies)
    said = texts(finding)
    assert "Clone" not in said
    for untold in ("4,321", "8,642", "0.00789", "0.003", "Limit in tokens"):
        assert untold not in said


def texts(finding: Finding) -> str:
    figures = [f"{figure.label} {figure.value:,.0f}" for figure in finding.evidence]
    return " ".join([finding.title, finding.explanation, *figures, *(remedy.text for remedy in finding.remedies)])


def test_the_limit_is_the_longest_response_where_some_were_cut_and_else_unknown() -> None:
    cut = observed(DAMAGED["responses_cut"]())
    assert cut.token_limit == 777
    assert found(responses_cut(cut)).finding.title.endswith("are cut at 777 tokens.")
    untold = cut._replace(metrics={"response_length/clip_ratio": cut.curve("response_length/clip_ratio")})
    finding = found(responses_cut(untold)).finding
    assert finding.title == "30\u202f% of fresh responses are cut."
    assert finding.remedies[0].text == "Raise the limit on tokens."
    # None was cut: the longest response is no limit.
    assert cut._replace(metrics={"response_length/max": cut.curve("response_length/max")}).token_limit is None


def test_lengths_that_were_not_told_are_no_lengths() -> None:
    texts_alone = [ResponseGroup("p", 1, 0, None, [Response("a", 1.0, None), Response("b", 0.0, None)])] * 60
    outcome = reward_follows_length(observed(stream(samples=texts_alone)))
    assert outcome == TooLittle("no response with its length in tokens")


def test_rewards_of_many_values_count_by_the_threshold_and_by_what_is_constant() -> None:
    response = Response("t", 0.4, 10, threshold=0.5)
    assert not response.is_correct
    assert response._replace(reward=0.6).is_correct
    # By the threshold no response is correct; 3 of 10 groups have equal rewards and so no gradient.
    graded = observed(stream([[0] * 10] * 60, metrics={"bapo/rewards/constant_groups": [0.3] * 60}))
    finding = found(groups_without_gradient(graded)).finding
    assert finding.evidence[0].value == pytest.approx(0.3)
    # The last 30 steps: 0.3 · 300 groups · 8.
    assert finding.evidence[1].value == 720
    assert "all wrong" not in texts(finding)
    few = observed(stream([[0] * 10] * 60, metrics={"bapo/rewards/constant_groups": [0.1] * 60}))
    assert groups_without_gradient(few) is None


def test_rewards_of_two_values_keep_their_split() -> None:
    plain = observed(stream([[0] * 6 + [4] * 4] * 60, metrics={"bapo/rewards/constant_groups": [0.6] * 60}))
    assert "60\u202f% are all wrong" in found(groups_without_gradient(plain)).finding.title


def test_accuracy_is_counted_from_groups_and_not_the_mean_of_any_reward() -> None:
    base = observed(stream([[2] * 4, [6] * 4], metrics={"critic/rewards/mean": [-7.0, 3.0]}))
    assert base.accuracy().values.tolist() == [0.25, 0.75]


def test_groups_of_unknown_policies_have_no_age() -> None:
    base = observed(DAMAGED["off_policy_drift"]())
    unknown = base.visits._replace(policy_version=np.full(len(base.visits.step), UNKNOWN_VERSION, np.int32))
    finding = found(off_policy_drift(base._replace(visits=unknown))).finding
    assert [figure.label for figure in finding.evidence] == ["Tokens clipped"]
    assert "old" not in finding.explanation


def test_a_prompt_that_is_twice_in_a_step_is_read_twice(tmp_path: Path) -> None:
    with observe.run("twice", folder=tmp_path) as run:
        for step in (1, 2):
            run.step(step, groups=[Group("1 + 1 = ?", [1, 0], ["2", "3"])] * 2)
    assert [each.step for each in read_stream(tmp_path).samples] == [1, 1, 2, 2]


def test_a_watched_loop_is_read_with_its_threshold(tmp_path: Path) -> None:
    # Of 60 prompts half have graded rewards below the threshold, half equal ones.
    with observe.run("graded", folder=tmp_path, reward_threshold=0.5) as run:
        for step in range(1, 41):
            groups = [
                Group(f"{i} + 1 = ?", [0.1, 0.2, 0.3, 0.4 if i % 2 else 0.9], ["a", "b", "c", "d"]) for i in range(30)
            ] + [Group(f"{i} + 2 = ?", [0.3] * 4) for i in range(30)]
            run.step(step, groups=groups)
    read = read_stream(tmp_path)
    assert {response.is_correct for each in read.samples for response in each.responses} == {False, True}
    assert read.samples[0].responses[0].num_tokens is None
    report = find(read).report
    finding = next(each for each in report.findings if each.kind == "no_gradient")
    # 45 of 60 groups have no response above 0.5, but only 30 have equal rewards.
    assert finding.evidence[0].value == 0.5
