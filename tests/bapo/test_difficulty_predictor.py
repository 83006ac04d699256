from __future__ import annotations

import random
import subprocess
import sys

import numpy as np
import pytest

from bapo.difficulty_predictor import SHARPNESS, predicted_accuracies, text_features


def test_features_count_words_whatever_their_case_and_do_not_change_between_processes() -> None:
    assert text_features("Add THREE").tolist() == text_features("add three").tolist()
    assert text_features("add three").tolist() != text_features("add four").tolist()
    program = "from bapo.difficulty_predictor import text_features; print(text_features('3 7 12=26').tolist())"
    result = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert result.stdout.strip() == str(text_features("3 7 12=26").tolist())


def test_a_candidate_is_as_hard_as_the_references_that_resemble_it() -> None:
    # Two kinds of prompts, told apart by one feature; the mean over all is 1/2.
    references = np.array([[1.0, 0.0]] * 4 + [[0.0, 1.0]] * 4)
    predicted = predicted_accuracies(np.array([[1.0, 0.0], [0.0, 1.0]]), references, [0.0] * 4 + [1.0] * 4)
    # Each reference predicts its kind all but exactly from the three others, so that the calibration's slope is
    # about 1: 1/(1 + e^(2s)) and 1 less that, from cosines 1 and -1.
    wrong = 1 / (1 + np.exp(2 * SHARPNESS))
    assert predicted == pytest.approx([wrong, 1 - wrong], abs=1e-5)


def test_where_texts_say_nothing_every_candidate_gets_the_mean() -> None:
    draw = random.Random(3)
    references = np.array([[draw.gauss(), draw.gauss()] for _ in range(40)])
    # Like texts with opposite results: what resembles says the wrong thing, and is not followed.
    doubled = np.concatenate([references, references])
    predicted = predicted_accuracies(references[:5], doubled, [0.0] * 40 + [1.0] * 40)
    assert predicted == pytest.approx([0.5] * 5)


@pytest.mark.parametrize("accuracies", [[0.25], [0.0, 0.5]])
def test_one_or_two_references_give_their_mean(accuracies: list[float]) -> None:
    predicted = predicted_accuracies(np.eye(3), np.eye(3)[: len(accuracies)], accuracies)
    assert predicted == pytest.approx([0.25] * 3)


def test_predictions_stay_between_0_and_1() -> None:
    draw = random.Random(5)
    references = np.array([[draw.gauss() for _ in range(6)] for _ in range(30)])
    accuracies = [float(row[0] > 0) for row in references]
    predicted = predicted_accuracies(references * 3, references, accuracies)
    assert (predicted >= 0).all()
    assert (predicted <= 1).all()


def test_problems_with_more_numbers_are_told_from_those_with_fewer() -> None:
    draw = random.Random(7)
    numbers = [tuple(draw.randint(1, 99) for _ in range(3 + index % 2)) for index in range(240)]
    prompts = [f"{' '.join(map(str, each))}={draw.randint(1, 99)}" for each in numbers]
    features = np.array([text_features(prompt) for prompt in prompts])
    easy = [float(len(each) == 3) for each in numbers]
    predicted = predicted_accuracies(features[200:], features[:200], easy[:200])
    assert np.corrcoef(predicted, easy[200:])[0, 1] > 0.8
