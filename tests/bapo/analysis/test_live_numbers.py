"""Numbers in texts that follow runs."""

from __future__ import annotations

import pytest

from bapo.analysis.live_numbers import LiveNumber, LiveNumberError, escaped, filled, live_number, placeholders, written

ENTROPY = "metric.actor/entropy"


@pytest.mark.parametrize(
    ("inside", "expected"),
    [
        ("last eval_best", ("last", "eval_best", (), False)),
        (f" max {ENTROPY} as percent ", ("max", ENTROPY, (), True)),
        (f"mean {ENTROPY} of method = bapo", ("mean", ENTROPY, ("method = bapo",), False)),
        (
            "last metric.val-core/CD-34/acc/mean@8 of method=bapo; config.method.c1 >= 0.25 as percent",
            ("last", "metric.val-core/CD-34/acc/mean@8", ("method=bapo", "config.method.c1 >= 0.25"), True),
        ),
        ("count", ("count", None, (), False)),
        ("count of status = running", ("count", None, ("status = running",), False)),
        # A value may hold the words.
        ("count of name ~ proof of concept", ("count", None, ("name ~ proof of concept",), False)),
    ],
)
def test_a_placeholder_is_read(inside: str, expected: tuple[object, ...]) -> None:
    source = f"{{{{{inside}}}}}"
    assert live_number(source) == LiveNumber(source, *expected)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("source", "remedy"),
    [
        ("{{}}", "write a figure and a column"),
        ("{{median actor/entropy}}", "'median' is no figure: use last, max, min, mean, count"),
        ("{{last}}", "last of what?"),
        ("{{count eval_best}}", "count takes no column: remove 'eval_best'"),
        ("{{max eval_best}}", "write metric.KEY, or {{last eval_best}}"),
        ("{{last eval_best as euros}}", "'euros' is no form"),
        ("{{last eval_best of ; }}", "no condition follows"),
        ("{{last eval_best method = bapo}}", "write a figure and a column"),
    ],
)
def test_what_is_none_is_named_with_the_remedy(source: str, remedy: str) -> None:
    with pytest.raises(LiveNumberError) as caught:
        live_number(source)
    assert str(caught.value).startswith(source)
    assert remedy in caught.value.remedy


def test_each_placeholder_of_a_text_is_found_once_and_filled_everywhere() -> None:
    text = "a {{count}} b {{last step}} c {{count}}"
    assert placeholders(text) == ["{{count}}", "{{last step}}"]
    # What a value holds is not read again.
    assert (
        filled(text, lambda source: "{{last step}}" if "count" in source else "7")
        == "a {{last step}} b 7 c {{last step}}"
    )


def test_a_number_has_its_interval_and_how_many_runs() -> None:
    share = live_number("{{last eval_best as percent}}")
    # Mean 0.45; s = 0.05; t(0.975, 2) = 4.303; 4.303 × 0.05 / √3 = 0.1242.
    assert written(share, list(enumerate([0.40, 0.45, 0.50]))) == "45.0\u202f% ±\u202f12.4 (n = 3)"
    assert written(share, [(0, 0.40)]) == "40.0\u202f% (n = 1)"
    assert written(share, []) == "no run"
    plain = live_number("{{last step}}")
    # Mean 150; s = 70.71; t(0.975, 1) = 12.706; × 70.71 / √2 = 635.3.
    assert written(plain, [(0, 100), (1, 200)]) == "150 ±\u202f635 (n = 2)"
    assert written(live_number("{{count}}"), [(index, 0.0) for index in range(1200)]) == "1,200"


def test_a_number_without_spread_has_no_interval() -> None:
    # Two runs with 5: ± 0 would claim a certainty that two runs do not give.
    assert written(live_number("{{last step as percent}}"), [(0, 5), (1, 5)]) == "500.0\u202f% (n = 2)"
    # Runs of one seed are one replicate.
    assert written(live_number("{{last step}}"), [("seed 1", 4), ("seed 1", 6)]) == "5 (n = 1)"


def test_a_text_in_markdown_shows_just_what_it_is() -> None:
    assert escaped("[a](b) *c*") == r"\[a\]\(b\) \*c\*"
