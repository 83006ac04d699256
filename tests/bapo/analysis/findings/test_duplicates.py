"""Prompts that pose one problem, in training and in held-out sets."""

from __future__ import annotations

import random

import pytest

from bapo.analysis.findings.duplicates import contamination, duplicate_prompts, near_duplicates
from bapo.analysis.findings.finding import TooLittle
from bapo.analysis.findings.same_problems import normalised, same_problems
from bapo.config.task import canonical_form
from tests.bapo.analysis.findings.streams import found, trained_on, word_problems


def test_prompts_that_say_the_same_are_listed_with_their_original() -> None:
    texts = {f"p{index}": f"What is {index}?" for index in range(60)} | {
        f"c{index}": f"what  is {index}" for index in (1, 2, 3)
    }
    outcome = found(duplicate_prompts(trained_on(texts)))
    assert [(each.prompt_id, each.detail) for each in outcome.prompts] == [
        ("c1", "copy of p1"),
        ("c2", "copy of p2"),
        ("c3", "copy of p3"),
    ]
    assert duplicate_prompts(trained_on({key: text for key, text in texts.items() if key != "c3"})) is None
    # Copies letter by letter are one finding, not two.
    assert near_duplicates(trained_on(texts)) is None
    assert normalised(" A\n b. ") == "a b"


def test_prompts_about_images_are_not_compared_by_their_text() -> None:
    texts = {f"p{index}": "Find x. <image>" for index in range(80)}
    assert duplicate_prompts(trained_on(texts)) == TooLittle("0 of 50 prompts whose text was kept")


def test_a_held_out_prompt_is_no_duplicate_of_a_training_prompt() -> None:
    texts = word_problems(60)
    held_out = {f"h{index}": texts[f"p{index}"] for index in range(20)}
    assert duplicate_prompts(trained_on(texts, held_out)) is None
    assert near_duplicates(trained_on(texts, held_out)) is None


@pytest.mark.parametrize(
    "edited",
    [
        lambda text: text.replace("How many", "Tell us how many").replace("What is", "Work out"),
        lambda text: text.replace(" and ", " & ", 1),
        lambda text: f"Please solve: {text}",
    ],
)
def test_problems_with_small_edits_are_nearly_the_same(edited: object) -> None:
    texts = word_problems(200)
    assert callable(edited)
    copies = {f"c{index}": edited(texts[f"p{index}"]) for index in range(20)}
    outcome = found(near_duplicates(trained_on(texts | copies)))
    assert {each.prompt_id for each in outcome.prompts} == set(copies)
    assert outcome.finding.severity == "warning"
    assert outcome.prompts[0].detail.startswith(f"as p{outcome.prompts[0].prompt_id[1:]}: ")


def test_problems_of_one_shape_with_other_numbers_are_not_the_same() -> None:
    for seed in range(10):
        assert near_duplicates(trained_on(word_problems(1_000, seed))) is None


def test_a_long_instruction_that_all_prompts_share_does_not_make_them_alike() -> None:
    instruction = (
        "Think step by step, then give the final answer within <answer> </answer> tags, as in the example. " * 5
    )
    texts = {
        f"p{index}": f"{instruction} Is {'abcdefghij'[index % 10] * (2 + index // 10)} a word?" for index in range(100)
    }
    assert near_duplicates(trained_on(texts)) is None


def test_countdown_with_its_numbers_in_another_order_is_the_same_problem() -> None:
    draw = random.Random(1)
    drawn = {(*sorted(draw.sample(range(1, 60), 4)), draw.randrange(100)) for _ in range(200)}
    problems = {f"p{index}": problem for index, problem in enumerate(sorted(drawn))}
    reordered = {f"c{index}": (*problems[f"p{index}"][3::-1], problems[f"p{index}"][4]) for index in range(10)}
    every = problems | reordered
    texts = {name: f"{' '.join(map(str, nums))}={target}" for name, (*nums, target) in every.items()}
    answers = {name: {"nums": nums, "target": target} for name, (*nums, target) in every.items()}
    outcome = found(near_duplicates(trained_on(texts, answers=answers)))
    assert {each.prompt_id for each in outcome.prompts} == set(reordered)
    # Without the answers nothing tells that the order does not matter.
    assert near_duplicates(trained_on(texts)) is None


def test_an_answer_of_another_task_has_no_canonical_form() -> None:
    assert canonical_form({"nums": [3, 1], "target": 4}) == "countdown: 1 3=4"
    assert canonical_form({"text": "7"}) is None
    assert canonical_form({"nums": "3 1", "target": 4}) is None
    assert canonical_form({"nums": [True], "target": 1}) is None


def test_training_problems_of_a_held_out_set_are_found_with_the_accuracy_that_they_lend() -> None:
    texts = word_problems(300)
    held_out = {f"h{index}": text for index, text in enumerate(word_problems(40, seed=2).values())}
    # Ten of the first half, all of them right: word for word, and with small edits.
    leaked = {f"p{300 + index}": held_out[f"h{index}"] for index in range(5)}
    leaked |= {f"p{300 + index}": f"Please solve: {held_out[f'h{index}']}" for index in range(5, 10)}
    outcome = found(contamination(trained_on(texts | leaked, held_out)))
    assert {each.prompt_id for each in outcome.prompts} == set(leaked)
    assert outcome.prompts[0].detail.startswith("held out as h0: ")
    figures = {each.label: each.value for each in outcome.finding.evidence}
    assert figures["Share of held-out problems"] == 0.25
    assert figures["Accuracy on these of exam"] == 1.0
    # 10 of the other 30 are right.
    assert figures["Accuracy on the others of exam"] == pytest.approx(1 / 3)
    assert outcome.finding.severity == "problem"


def test_a_prompt_with_one_identity_in_both_is_contamination() -> None:
    texts = word_problems(100)
    held_out = {name: texts[name] for name in ("p0", "p1")} | {
        f"h{index}": text for index, text in enumerate(word_problems(30, seed=3).values())
    }
    outcome = found(contamination(trained_on(texts, held_out)))
    assert [each.prompt_id for each in outcome.prompts] == ["p0", "p1"]


def test_other_problems_of_the_same_kind_are_no_contamination() -> None:
    for seed in range(10):
        held_out = {f"h{index}": text for index, text in enumerate(word_problems(100, seed=50 + seed).values())}
        assert contamination(trained_on(word_problems(500, seed), held_out)) is None


def test_contamination_needs_the_texts_of_a_held_out_set() -> None:
    few = {f"h{index}": f"What is {index}?" for index in range(19)}
    assert contamination(trained_on(word_problems(60), few)) == TooLittle(
        "19 of 20 held-out prompts whose text was kept"
    )


def test_many_copies_of_one_problem_are_one_set() -> None:
    texts = word_problems(100) | {
        f"c{index}": f"Question {chr(97 + index)}. {word_problems(1)['p0']}" for index in range(8)
    }
    (names,) = same_problems(texts, {})
    assert names == ["p0", *(f"c{index}" for index in range(8))]
