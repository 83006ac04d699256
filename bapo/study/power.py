"""The power of a study's design: what its seeds can show, given how far seeds have disagreed so far."""

from __future__ import annotations

from bapo.analysis.number_format import counted, share
from bapo.analysis.power import PairedSpread, detectable_difference
from bapo.study.results import StudyPower

SHIPPED_DEVIATION, SHIPPED_LEAST, SHIPPED_MOST = 0.0141, 0.0040, 0.0519
"""Median, least and most over the 50 comparisons of the shipped studies at equal steps, avg@k, 5 seeds each:
docs/studies, from each interval's half width w as w · √5 / t(0.975, 4)."""
SEEDS_SHOWN = (3, 5, 10, 20, 40)


def power_of_design(num_seeds: int, spread: PairedSpread | None = None, given: float | None = None) -> StudyPower:
    """Return what the seeds show, by the given deviation, else by earlier runs, else by the shipped studies."""
    if given is not None:
        middle, low, high, source, text = given, given, given, "given", "as given"
    elif spread is not None:
        middle, low, high = spread.deviation, spread.low, spread.high
        source = "project"
        text = (
            f"from {counted(spread.num_results, 'earlier run')} of this recipe in the project, "
            f"{counted(spread.num_settings, 'setting')} with common seeds"
        )
    else:
        middle, low, high, source = SHIPPED_DEVIATION, SHIPPED_LEAST, SHIPPED_MOST, "shipped"
        text = (
            "from the shipped studies, Countdown with the 0.6M-parameter model: the median of 50 comparisons, with the "
            "least and the most; other models and tasks may differ, and the project has too few earlier runs to say"
        )
    detectable = detectable_difference(num_seeds, middle)
    return StudyPower.model_validate(
        {
            "num_seeds": num_seeds,
            "deviation": middle,
            "deviation_low": low,
            "deviation_high": high,
            "source": source,
            "source_text": text,
            "detectable": detectable,
            "detectable_low": detectable_difference(num_seeds, low),
            "detectable_high": detectable_difference(num_seeds, high),
            "more_seeds": {
                number: found
                for number in SEEDS_SHOWN
                if number > num_seeds and (found := detectable_difference(number, middle)) is not None
            },
            "text": _text(num_seeds, detectable),
        }
    )


def _text(num_seeds: int, detectable: float | None) -> str:
    if detectable is None:
        return "One seed shows no difference: it has no interval"
    return f"{counted(num_seeds, 'seed')} show {share(detectable)} points"
