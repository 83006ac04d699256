"""The verifier: what counts as a solution, against hand-worked cases and an independent evaluation."""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bapo.tasks.countdown.expression import (
    MAX_EXPRESSION_CHARACTERS,
    MAX_NESTING,
    ExpressionError,
    evaluate,
    extract_answer,
    is_solution,
)


@pytest.mark.parametrize(
    ("text", "value", "numbers"),
    [
        ("7", Fraction(7), [7]),
        ("2+3*4", Fraction(14), [2, 3, 4]),  # 3*4 = 12 first
        ("(2+3)*4", Fraction(20), [2, 3, 4]),
        ("10-4-3", Fraction(3), [10, 4, 3]),  # from the left: 6 - 3
        ("24/4/3", Fraction(2), [24, 4, 3]),  # from the left: 6 / 3
        ("24/(4/3)", Fraction(18), [24, 4, 3]),  # 24 · 3/4
        ("1/3+1/6", Fraction(1, 2), [1, 3, 1, 6]),  # exact: 2/6 + 1/6
        (" ( 3 + 7 ) * 12 - 11 ", Fraction(109), [3, 7, 12, 11]),
        ("3×4÷6−1", Fraction(1), [3, 4, 6, 1]),
        ("0*5", Fraction(0), [0, 5]),
    ],
)
def test_value_and_numbers(text: str, value: Fraction, numbers: list[int]) -> None:
    assert evaluate(text) == (value, numbers)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "+",
        "-3",
        "3--2",
        "3+",
        "(3+4",
        "3+4)",
        "()",
        "3 4",
        "2(3+4)",
        "07+1",
        "1.5*2",
        "2**3",
        "7//2",
        "1e3",
        "x+1",
        "3+4;",
        "__import__('os')",
        "5/0",
        "5/(3-3)",
        "٣+4",
        "²",
    ],
)
def test_what_is_not_an_expression(text: str) -> None:
    with pytest.raises(ExpressionError):
        evaluate(text)


def test_length_bound() -> None:
    longest = "1" + "+1" * ((MAX_EXPRESSION_CHARACTERS - 1) // 2)
    assert evaluate(longest.ljust(MAX_EXPRESSION_CHARACTERS))[0] == 250  # 1 and 249 more
    with pytest.raises(ExpressionError, match="longer than"):
        evaluate(longest.ljust(MAX_EXPRESSION_CHARACTERS + 1))


def test_nesting_bound() -> None:
    assert evaluate("(" * MAX_NESTING + "7" + ")" * MAX_NESTING)[0] == 7
    with pytest.raises(ExpressionError, match="nested deeper"):
        evaluate("(" * (MAX_NESTING + 1) + "7" + ")" * (MAX_NESTING + 1))


@pytest.mark.parametrize(
    ("response", "answer"),
    [
        ("3+4", "3+4"),
        ("  3+4\n\n", "3+4"),
        ("First 3+4 = 7.\n3*4", "3*4"),
        ("<answer> 3+4 </answer>", "3+4"),
        ("<answer>1+1</answer> no, <answer>3+4</answer> done", "3+4"),
        ("<think><answer>1+1</think>\n<answer>3+4</answer>", "3+4"),
        ("</answer> 3+4", "</answer> 3+4"),
        ("<answer>3+4", "<answer>3+4"),
        ("", ""),
    ],
)
def test_extracted_answer(response: str, answer: str) -> None:
    assert extract_answer(response) == answer


@pytest.mark.parametrize(
    ("response", "correct"),
    [
        ("3*7+12-11", True),  # 21 + 1 = 22
        ("12-11+7*3", True),
        ("3*7+12-11=22", True),
        ("3*7+12-11 = 22 ", True),
        ("3*7+12-11=23", False),
        ("3*7+12-11=22=22", False),
        ("=22", False),
        ("22=3*7+12-11", False),
        ("3+7+12", False),  # 22, but 11 is missing
        ("3*7+12-11+0", False),  # 0 was not given
        ("3*7+12-11+11-11", False),  # 11 three times
        ("3*7+12+11", False),  # 44
        ("22", False),
        ("<answer>3*7+12-11</answer>", True),
        ("<answer>3+7</answer> 3*7+12-11", False),
    ],
)
def test_solution_of_3_7_12_11_for_22(response: str, correct: bool) -> None:
    assert is_solution(response, [3, 7, 12, 11], 22) is correct


def test_a_number_given_twice_must_be_used_twice() -> None:
    assert is_solution("5+5+2", [5, 5, 2], 12)
    assert not is_solution("5*2+2", [5, 5, 2], 12)


def test_a_value_that_is_almost_the_target_is_wrong() -> None:
    # 49 · (1/49) is 0.9999999999999999 in binary floating point, 1 exactly.
    assert is_solution("49*(1/49)", [49, 1, 49], 1)
    assert not is_solution("1000000000000000001/1000000000000000000", [10**18 + 1, 10**18], 1)


@given(st.text(max_size=600) | st.text(alphabet="0123456789+-*/()= \n", max_size=600))
def test_any_text_is_judged_without_an_error(response: str) -> None:
    assert is_solution(response, [1, 2, 3], 6) in (True, False)


_EXPRESSIONS = st.recursive(
    st.integers(0, 99).map(str),
    lambda inner: st.builds(lambda a, op, b: f"({a}{op}{b})", inner, st.sampled_from("+-*/"), inner),
    max_leaves=8,
)


@given(_EXPRESSIONS)
def test_agrees_with_python_on_fully_bracketed_expressions(text: str) -> None:
    in_fractions = "".join(f"Fraction({part})" if part.isdigit() else part for part in _split_digits(text))
    try:
        expected = eval(in_fractions, {"Fraction": Fraction})  # noqa: S307 - built by this test
    except ZeroDivisionError:
        with pytest.raises(ExpressionError, match="division by zero"):
            evaluate(text)
        return
    value, numbers = evaluate(text)
    assert value == expected
    assert numbers == [int(part) for part in _split_digits(text) if part.isdigit()]


def _split_digits(text: str) -> list[str]:
    parts: list[str] = []
    for character in text:
        if parts and character.isdigit() and parts[-1].isdigit():
            parts[-1] += character
        else:
            parts.append(character)
    return parts
