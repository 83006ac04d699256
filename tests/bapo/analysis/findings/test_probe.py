"""What a probe says: worked numbers on constructed counts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction

import numpy as np
import pytest

from bapo.analysis.findings.finding import FindingsReport, TooLittle
from bapo.analysis.findings.probe import OF_PROBES, group_size_of, probe_outcomes, suggest, with_planned_cost
from bapo.analysis.findings.search import find
from bapo.analysis.findings.success_rates import Forecast
from bapo.config import resolve
from bapo.methods.probe import probe_changes
from tests.bapo.analysis.findings.streams import found, group, stream

CONFIG = resolve({"method": {"type": "probe", "planned_steps": 100}, "training": {"steps": 4}}).config
TIMES: Mapping[str, Sequence[float]] = {
    "timing_s/gen": [2.0, 2.0, 2.0, 2.0],
    "timing_s/update": [0.0, 0.0, 0.0, 3.0],
    "bapo/batch/batch": [0, 0, 0, 32],
    "bapo/cost/num_tokens": [500, 1000, 1500, 2000],
    "bapo/system/memory_peak_bytes": [2**30, 2**30, 2**30, 3 * 2**30],
}


def alike(count: int, num_prompts: int = 100) -> Forecast:
    """Every prompt has been right `count` times of 8."""
    return Forecast(np.full(num_prompts, count), np.full(num_prompts, 8))


def test_the_difficulty_stands_beside_that_of_equally_hard_prompts() -> None:
    # Half of 100 prompts 0/8, the other half 4/8: 25 % right, half of the groups have a gradient.
    finding = found(probe_outcomes(stream([[0, 4] * 50], config=CONFIG))["probed_difficulty"]).finding
    figures = {each.label: each.value for each in finding.evidence}
    assert figures["Responses that are right"] == pytest.approx(0.25)
    assert figures["Groups with a gradient"] == pytest.approx(0.5)
    assert figures["0/8 right"] == pytest.approx(0.5)
    # (3/4)^8 = 10.0 %.
    assert finding.null is not None
    assert "10.0\u202f% of groups would be all wrong" in finding.null


def test_prompts_that_teach_nothing_are_said_to_be_too_hard_or_too_easy() -> None:
    hard = found(probe_outcomes(stream([[0] * 100], config=CONFIG))["probed_difficulty"]).finding
    assert (hard.severity, hard.remedies[0].text.endswith("easier problems.")) == ("warning", True)
    easy = found(probe_outcomes(stream([[8] * 100], config=CONFIG))["probed_difficulty"]).finding
    assert easy.remedies[0].text.endswith("harder problems.")


def test_nothing_is_trained_where_no_group_would_teach_anything() -> None:
    outcomes = probe_outcomes(stream([[0] * 100], config=CONFIG))
    for kind in ("probed_group_size", "probed_thresholds"):
        assert found(outcomes[kind]).finding.remedies == []
    mixed = probe_outcomes(stream([[0, 4] * 50], config=CONFIG))
    assert found(mixed["probed_group_size"]).finding.remedies[0].changes["method.type"] == "bapo"


def test_the_group_size_is_the_smallest_whose_double_teaches_little_more() -> None:
    # At p = 1/2 7 of 8 groups of 4 have a gradient, and 127 of 128 of 8: 12 points more; 16 adds 1.
    assert group_size_of(alike(4)) == 8
    # At p = 1/8: 41 % of groups of 4, 66 % of 8, 88 % of 16, 99 % of 32, 100 % of 64.
    assert group_size_of(alike(1)) == 32


def test_usual_thresholds_stay_where_they_fit() -> None:
    # All at p = 1/2: nothing is difficult, and X1 fills the batch.
    found_ = suggest(alike(4), 0.5, 8, CONFIG)
    assert (found_.c1, found_.m, found_.c3) == (Fraction(1, 8), 5, (Fraction(2, 8), Fraction(5, 8)))


def test_many_difficult_prompts_lower_c1_and_m() -> None:
    # At p = 1/16 60 % of groups are all wrong and 32 % have one right answer: c1 = 1/8 would take 92 %.
    counts = np.array([0, 1] * 100)
    found_ = suggest(Forecast(counts, np.full(200, 8)), 1 / 16, 8, CONFIG)
    assert found_.c1 == 0
    # About 0.6 · 32 = 19 come with each step; a re-evaluation answers at most B = 32.
    assert found_.m == 1


def test_c3_rises_until_enough_groups_can_be_reused() -> None:
    # Half never, half 6 or 7 of 8: with the usual range hardly any group could be reused.
    counts = np.array([0, 0, 6, 7] * 50)
    found_ = suggest(Forecast(counts, np.full(200, 8)), 13 / 32, 8, CONFIG)
    assert found_.c3 > (Fraction(2, 8), Fraction(5, 8))


def test_time_and_memory_are_measured_and_the_planned_run_is_estimated() -> None:
    counts = [[4] * 100] * 4
    finding = found(probe_outcomes(stream(counts, config=CONFIG, metrics=TIMES))["probed_cost"]).finding
    figures = {each.label: each.value for each in finding.evidence}
    assert figures["Tokens per second"] == pytest.approx(250)
    # 3,200 responses in 8 s.
    assert figures["Generating 1,000 responses"] == pytest.approx(2.5)
    assert figures["Peak memory, GiB"] == pytest.approx(3)
    assert finding.title.startswith("100 steps of BAPO with G = 8")


def test_the_planned_run_has_a_cost_where_there_is_a_price_and_else_says_why_not() -> None:
    finding = found(probe_outcomes(stream([[4] * 100] * 4, config=CONFIG, metrics=TIMES))["probed_cost"]).finding
    report = FindingsReport(step=4, findings=[finding], checks=[])
    (priced,) = with_planned_cost(
        report, lambda seconds: seconds / 3600 * 2.5, "Its cost at this price", "EUR"
    ).findings
    planned, cost, *_ = priced.evidence
    assert (cost.label, cost.value) == ("Its cost at this price, EUR", planned.value / 3600 * 2.5)
    assert priced.title.endswith(f", and {cost.value:,.2f} EUR.")
    (unpriced,) = with_planned_cost(report, lambda _: "no price", "Its cost", "EUR").findings
    assert unpriced.explanation.endswith("What it would cost is not known: no price.")
    assert (unpriced.title, unpriced.evidence) == (finding.title, finding.evidence)


def test_a_remedy_makes_the_planned_run() -> None:
    (remedy,) = found(probe_outcomes(stream([[4] * 100], config=CONFIG))["probed_group_size"]).finding.remedies
    assert remedy.changes == {"method.type": "bapo", "training.steps": 100, "rollout.group_size": 8}


def test_few_prompts_say_nothing() -> None:
    outcomes = probe_outcomes(stream([[4] * 10], config=CONFIG))
    too_little = dict.fromkeys(OF_PROBES, TooLittle("10 of 64 prompts"))
    assert outcomes == {**too_little, "probed_readiness": TooLittle("10 of 16 prompts")}


def test_a_probe_is_asked_about_its_data_and_not_about_learning() -> None:
    kinds = {check.kind for check in find(stream([[4] * 100], config=CONFIG)).report.checks}
    assert {"probed_cost", "verifier_disagrees", "duplicate_prompts"} <= kinds
    assert not {"learning_stopped", "no_gradient"} & kinds
    assert not {kind for kind in (check.kind for check in find(stream()).report.checks) if kind.startswith("probed")}


def test_a_planned_run_becomes_a_probe_of_as_many_steps_as_the_problems_take() -> None:
    config = resolve({"rollout": {"batch_size": 48}, "training": {"epochs": 3}}).config
    # 256 problems by 48: 6 steps.
    assert probe_changes(config.model_dump(mode="json")) == {
        "method.type": "probe",
        "method.num_problems": 256,
        "method.planned_steps": None,
        "method.planned_epochs": 3,
        "training.steps": 6,
        "training.epochs": None,
    }


# ---------------------------------------------------------------- readiness for RL

WORDS = resolve(
    {
        "method": {"type": "probe"},
        "training": {"steps": 4},
        "task": {"type": "reasoning_gym", "verifier": "math", "answer_format": "line"},
    }
).config


def test_a_model_without_right_answers_needs_a_warm_start_whose_time_is_known() -> None:
    # 64 groups of 8, 16 a step; of 16 kept groups one response in eight is in the form.
    kept = [group(f"p{index}", [("Answer: 1", 0), *[("It is 1.", 0)] * 7]) for index in range(16)]
    probed = stream([[0] * 16] * 4, config=WORDS, metrics=TIMES, samples=kept)
    finding = found(probe_outcomes(probed)["probed_readiness"]).finding
    # Updates: 30 · 12 responses at 3 s / (32 · 8). Before and after: 2 · 32 · 4 responses at 8 s / (64 · 8).
    seconds = 360 * 3 / 256 + 256 * 8 / 512
    assert {each.label: each.value for each in finding.evidence}["Warm start, about"] == pytest.approx(seconds)
    assert finding.severity == "problem"
    assert finding.title == (
        "0 of 512 responses are right, and 12.5\u202f% of responses give an answer in the form that the verifier "
        "reads: the model needs a warm start before RL, about 1 minute on this machine."
    )
    assert finding.remedies[0].text == (
        "Set `warm_start.steps` to 30: the run then learns from right responses first, 30 steps of 12 responses."
    )
    assert "such as 'Answer: 42'" in finding.remedies[1].text


def test_a_form_that_hardly_any_response_follows_is_named() -> None:
    kept = [group(f"p{index}", [("Answer: 1", 1), *[("It is 1.", 0)] * 3]) for index in range(16)]
    finding = found(probe_outcomes(stream([[2] * 16], config=WORDS, samples=kept))["probed_readiness"]).finding
    # All groups have a gradient.
    assert finding.severity == "warning"
    assert finding.title.startswith("32 of 128 responses are right, and 25.0\u202f% of responses give an answer")
    assert [remedy.text.partition(" ")[0] for remedy in finding.remedies] == ["Ask"]


def test_a_model_with_right_answers_in_the_form_is_ready() -> None:
    kept = [group(f"p{index}", [("Answer: 1", 1), ("It is 1.", 0)]) for index in range(16)]
    assert probe_outcomes(stream([[2] * 16], config=WORDS, samples=kept))["probed_readiness"] is None
    # A verifier that reads the whole response has no form to follow, and what is solved already needs no warm start.
    assert probe_outcomes(stream([[4] * 16], config=CONFIG))["probed_readiness"] is None
    assert probe_outcomes(stream([[8] * 16], config=CONFIG))["probed_readiness"] is None
