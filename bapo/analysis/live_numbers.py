"""Numbers in a text that follow runs: `{{last metric.actor/entropy of method = bapo}}`, read and written.

    {{FIGURE [COLUMN] [of CONDITION[; CONDITION]…] [as percent]}}

| FIGURE | of each run |
|---|---|
| `last` | the newest value of the column: a built-in one with numbers, `config.FIELD`, or `metric.KEY` |
| `max`, `min`, `mean` | over all that the run recorded of `metric.KEY` |
| `count` | no column: how many runs there are |

Of several replicates (identical runs of one seed are one) it is their mean ± half of Student's 95 % interval. Which
columns and conditions there are is the server's to know.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Hashable, Sequence
from typing import Literal, NamedTuple, get_args

from bapo.analysis.comparison import estimate, over_replicates
from bapo.analysis.number_format import THIN_SPACE, percent, share

Figure = Literal["last", "max", "min", "mean", "count"]
OVER_STEPS = frozenset({"max", "min", "mean"})
METRIC = "metric."

_PLACEHOLDER = re.compile(r"\{\{(?P<inside>.*?)\}\}", re.DOTALL)
_FORM = re.compile(
    r"(?P<figure>\S+)(?:\s+(?!(?:of|as)\s)(?P<column>\S+))?(?:\s+of\s+(?P<where>.+?))?(?:\s+as\s+(?P<form>\S+))?",
    re.DOTALL,
)
_MARKDOWN = re.compile(r"([\\`*_{}\[\]()#+\-.!|<>~&])")


class LiveNumber(NamedTuple):
    """A placeholder, read."""

    source: str
    """Source text, with its braces."""
    figure: Figure
    column: str | None
    """Column of the figure; None for `count`."""
    where: tuple[str, ...]
    as_percent: bool


class LiveNumberError(ValueError):
    """A placeholder that cannot be shown; its text names it."""

    def __init__(self, source: str, remedy: str) -> None:
        super().__init__(f"{source}: {remedy}")
        self.source = source
        self.remedy = remedy


def live_number(source: str) -> LiveNumber:
    """Read a placeholder with its braces. Raises LiveNumberError."""
    inside = source[2:-2].strip()
    found = _FORM.fullmatch(inside)
    if found is None:
        raise LiveNumberError(source, "write a figure and a column, such as {{last eval_best of method = bapo}}")
    figure, column = found["figure"], found["column"]
    if figure not in get_args(Figure):
        raise LiveNumberError(source, f"{figure!r} is no figure: use {', '.join(get_args(Figure))}")
    if figure == "count" and column is not None:
        raise LiveNumberError(source, f"count takes no column: remove {column!r}, or write {{{{last {column}}}}}")
    if figure != "count" and column is None:
        raise LiveNumberError(source, f"{figure} of what? Name a column, such as {{{{{figure} metric.actor/entropy}}}}")
    if figure in OVER_STEPS and not str(column).startswith(METRIC):
        remedy = f"{figure} is taken over the steps of a metric: write metric.KEY, or {{{{last {column}}}}}"
        raise LiveNumberError(source, remedy)
    if found["form"] not in (None, "percent"):
        raise LiveNumberError(source, f"{found['form']!r} is no form: write “as percent”, or leave it out")
    where = tuple(part.strip() for part in (found["where"] or "").split(";") if part.strip())
    if found["where"] is not None and not where:
        raise LiveNumberError(source, "no condition follows “of”: write one, such as method = bapo")
    return LiveNumber(source, figure, column, where, found["form"] is not None)  # type: ignore[arg-type]  # checked above


def placeholders(text: str) -> list[str]:
    """Return all placeholders of a text, in order, each once."""
    return list(dict.fromkeys(match[0] for match in _PLACEHOLDER.finditer(text)))


def filled(text: str, value_of: Callable[[str], str]) -> str:
    """Return the text with each placeholder replaced; what the values hold is not read again."""
    return _PLACEHOLDER.sub(lambda match: value_of(match[0]), text)


def written(number: LiveNumber, values: Sequence[tuple[Hashable, float]]) -> str:
    """Return the number as people read it: "44.8 % ± 3.1 (n = 3)".

    `values`: the value of each run with the key of its replicate. Of one replicate, and of several without any spread,
    there is no interval; of no run it is "no run".
    """
    if number.figure == "count":
        return f"{len(values):,}"
    found = estimate(over_replicates(values))
    if found is None:
        return "no run"
    half = None if found.high is None else found.high - found.value
    if number.as_percent:
        text, interval = percent(found.value), None if half is None else share(half)
    else:
        text, interval = _plain(found.value, 4), None if half is None else _plain(half, 2)
    plus = "" if interval in (None, _plain(0, 2), share(0)) else f" ±{THIN_SPACE}{interval}"
    return f"{text}{plus} (n = {found.n:,})"


def _plain(value: float, digits: int) -> str:
    return f"{value:,.0f}" if abs(value) >= 10 ** (digits - 1) else f"{value:.{digits}g}"


def escaped(text: str) -> str:
    """Return the text as Markdown that shows just it."""
    return _MARKDOWN.sub(r"\\\1", text)
