"""Makes the forms of a final answer uniform without changing its value: Markdown, Unicode, LaTeX spacing, units.

`18 dollars` is the value `18` with the unit `dollar`, `**½**` the value `1/2`, `√2` the value `\\sqrt{2}`.
"""

from __future__ import annotations

import re
from typing import NamedTuple

_CHARACTERS = {
    **dict.fromkeys(
        "\u00a0\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a\u202f\u205f\u3000\t\n\r", " "
    ),
    **dict.fromkeys("\u200b\u200c\u200d\u2060\ufeff", ""),
    **dict.fromkeys("\u2010\u2011\u2012\u2013\u2014\u2015\u2212\ufe63\uff0d", "-"),
    **{"×": r"\times ", "✕": r"\times ", "·": r"\cdot ", "⋅": r"\cdot ", "∙": r"\cdot ", "∗": "*", "÷": "/"},
    **{"∕": "/", "⁄": "/", "±": r"\pm ", "∓": r"\mp ", "≤": r"\le ", "⩽": r"\le ", "≥": r"\ge ", "⩾": r"\ge "},
    **{"≠": r"\ne ", "≈": r"\approx ", "∞": r"\infty ", "∪": r"\cup ", "∩": r"\cap ", "∈": r"\in ", "∅": r"\emptyset "},
    **{
        "π": r"\pi ",
        "θ": r"\theta ",
        "α": r"\alpha ",
        "β": r"\beta ",
        "γ": r"\gamma ",
        "φ": r"\varphi ",
        "ϕ": r"\phi ",
    },
    **{"λ": r"\lambda ", "μ": r"\mu ", "σ": r"\sigma ", "ω": r"\omega ", "Δ": r"\Delta ", "Ω": r"\Omega "},
    **{"ℝ": r"\mathbb{R} ", "ℤ": r"\mathbb{Z} ", "ℕ": r"\mathbb{N} ", "ℚ": r"\mathbb{Q} ", "ℂ": r"\mathbb{C} "},
    **{"°": r"^\circ ", "º": r"^\circ ", "˚": r"^\circ ", "％": "%", "，": ",", "．": ".", "（": "(", "）": ")"},
    **{"‘": "'", "’": "'", "“": '"', "”": '"', "＝": "=", "＋": "+", "／": "/", "∶": ":"},
    **{chr(0xFF10 + digit): str(digit) for digit in range(10)},
}
_TABLE = str.maketrans(_CHARACTERS)
_VULGAR = {
    **{"½": "1/2", "⅓": "1/3", "⅔": "2/3", "¼": "1/4", "¾": "3/4", "⅕": "1/5", "⅖": "2/5", "⅗": "3/5", "⅘": "4/5"},
    **{"⅙": "1/6", "⅚": "5/6", "⅛": "1/8", "⅜": "3/8", "⅝": "5/8", "⅞": "7/8", "⅐": "1/7", "⅑": "1/9", "⅒": "1/10"},
}
_VULGAR_FRACTION = re.compile(f"(?P<whole>[0-9]?) *(?P<fraction>[{''.join(_VULGAR)}])")
_RAISED = dict(zip("⁰¹²³⁴⁵⁶⁷⁸⁹⁻⁺ⁿ", "0123456789-+n", strict=True))
_LOWERED = dict(zip("₀₁₂₃₄₅₆₇₈₉", "0123456789", strict=True))
_ROOT = re.compile(r"(?P<root>[√∛∜]) *(?:\((?P<inner>[^()]*)\)|(?P<bare>\d+(?:\.\d+)?|[A-Za-z]))")
_ROOTS = {"√": r"\sqrt", "∛": r"\sqrt[3]", "∜": r"\sqrt[4]"}

_FUNCTIONS = ("pi", "sin", "cos", "tan", "cot", "arcsin", "arccos", "arctan", "ln", "log", "exp")
_POWERS_OF_TEN = {"thousand": 3, "million": 6, "billion": 9, "trillion": 12}

_LATEX = (
    (re.compile(r"\\[dtc]frac(?![a-z])"), r"\\frac"),
    (re.compile(r"\\(?:left|right|big|Big|bigg|Bigg)(?![a-zA-Z])"), ""),
    (re.compile(r"\\(?:displaystyle|textstyle|limits|boldsymbol|bm|mathbf)(?![a-zA-Z])"), ""),
    (re.compile(r"(?<=\d)(?:,\\!|\{,\}(?:\\!)?)(?=\d{3})"), ","),
    (re.compile(r"(?<!\\)\\!"), ""),
    (re.compile(r"\\text *\{ *(\\\$) *\}"), r"\1"),
    (re.compile(r"(?<!\\)\\[,;: ]|\\q?quad(?![a-z])|\\(?:thin|med|thick)space(?![a-z])|~"), " "),
    (re.compile(r"\\colon(?![a-z])"), ":"),
    (re.compile(r"\\lt(?![a-z])"), "<"),
    (re.compile(r"\\gt(?![a-z])"), ">"),
    (re.compile(r"\\leqslant(?![a-z])|\\leq(?![a-z])"), r"\\le "),
    (re.compile(r"\\geqslant(?![a-z])|\\geq(?![a-z])"), r"\\ge "),
    (re.compile(r"\\neq(?![a-z])"), r"\\ne "),
    (re.compile(r"\\(?:varnothing|empty)(?![a-z])"), r"\\emptyset "),
    (re.compile(r"\\degree(?:s)?(?![a-z])|\^\{ *\\circ *\}|\^ *\\circ(?![a-z])"), r"^\\circ "),
    (re.compile(r"\\(?:text|mbox|textrm|mathrm|textnormal|textup) *\{ *(and|or) *\}"), r", "),
    (re.compile(r"(?<=[\d)}\]]) +(?:and|or) +(?=[-+\d({\[\\A-Za-z])"), ", "),
    (re.compile(r",(?: *,)+"), ","),
    # As Python and models without LaTeX write them.
    (re.compile(r"(?<=[\w)}\]]) *\*\* *(?:\(([^()]*)\)|(-?\d+|[A-Za-z]))"), r"^{\1\2}"),
    (re.compile(rf"(?<![\\A-Za-z])(?:{'|'.join(_FUNCTIONS)})(?![A-Za-z])"), r"\\\g<0> "),
    *(
        (re.compile(rf"(?<=\d) ?(\\text *\{{)? *{word}(?![a-z]) *"), rf" \\times 10^{{{power}}} \1")
        for word, power in _POWERS_OF_TEN.items()
    ),
    (re.compile(r"\\frac *(\d) *(\d)(?!\d)"), r"\\frac{\1}{\2}"),
    (re.compile(r" +"), " "),
)
_MIXED = re.compile(r"(?<![\d.,/^_{])(?P<whole>\d+) (?P<up>\d+) ?/ ?(?P<down>\d+)(?![\d.])")
_WRAPPERS = (("$$", "$$"), ("$", "$"), (r"\(", r"\)"), (r"\[", r"\]"), ("***", "***"), ("**", "**"), ("__", "__"))
_MORE_WRAPPERS = (("*", "*"), ("`", "`"))
_TRAILING = re.compile(r"(?:[\s.,;:]|\\text *\{[\s.]*\}|\\(?=$))+$")
_LEADING = re.compile(r"^(?:=|\\approx(?![a-z])|\\sim(?![a-z])) *(?=[-+\d\\.])")
_STYLED = re.compile(r"\\(?:text|textbf|textit|mathbf|mathrm|underline|boxed) *\{([^{}]*)\}")
_BOTH = r"\pm"
_RATIO = re.compile(r"(\d+) to (\d+)")

_WORD_UNIT = re.compile(r"(?P<value>.*?[\d)}\]!]|.*\\(?:pi|infty)) ?(?P<unit>\\?%|\^\\circ(?: ?[CFK](?![a-z]))?)$")
_TEXT_UNIT = re.compile(
    r"(?P<value>.*\S) ?\\(?:text|mathrm|mbox|textrm|operatorname|textbf|rm|mathit) *\{(?P<unit>[^{}]*)\}"
    r"(?P<power>\^(?:\{[-+]?\d\}|\d))?$"
)
_BARE_UNIT = re.compile(
    r"(?P<value>.*[\d)}\]%!]|.*\\pi) (?P<unit>[A-Za-z][A-Za-z.]*(?:[ /][A-Za-z][A-Za-z.]*)*)"
    r"(?P<power>\^(?:\{[-+]?\d\}|\d))?$"
)
_CURRENCY = re.compile(
    r"^(?P<sign>[-+]?) ?(?:\\?\$|\\(?:pounds|euro|yen)(?![a-z])|[€£¥₹₽₩]|US\\?\$|USD|EUR|GBP|Rs\.?) ?(?=[\d.(\\-])"
)
_CURRENCY_AFTER = re.compile(r" ?(?:\\\$|[€£¥₹₽₩元])$")
_NO_UNITS = {
    "and",
    "or",
    "mod",
    "to",
    "if",
    "is",
    "for",
    "of",
    "in",
    "sin",
    "cos",
    "tan",
    "log",
    "ln",
    "exp",
    "pi",
    "i",
    "e",
    "x",
}
_ALIASES = {
    **dict.fromkeys(("degrees", "degree", "deg", "^\\circ"), "degree"),
    **dict.fromkeys(("^\\circ c", "degrees celsius", "degree celsius", "celsius"), "celsius"),
    **dict.fromkeys(("^\\circ f", "degrees fahrenheit", "degree fahrenheit", "fahrenheit"), "fahrenheit"),
    **dict.fromkeys(("dollars", "dollar", "usd", "us dollars", "$", "bucks"), "dollar"),
    **dict.fromkeys(("percent", "percentage", "pct", "%", "\\%", "per cent"), "percent"),
    **dict.fromkeys(("centimeters", "centimetres", "centimeter", "centimetre"), "cm"),
    **dict.fromkeys(("millimeters", "millimetres", "millimeter", "millimetre"), "mm"),
    **dict.fromkeys(("kilometers", "kilometres", "kilometer", "kilometre"), "km"),
    **dict.fromkeys(("meters", "metres", "meter", "metre"), "m"),
    **dict.fromkeys(("inches", "inch", "in."), "inch"),
    **dict.fromkeys(("feet", "foot", "ft"), "foot"),
    **dict.fromkeys(("seconds", "second", "secs", "sec", "s"), "second"),
    **dict.fromkeys(("minutes", "minute", "mins", "min"), "minute"),
    **dict.fromkeys(("hours", "hour", "hrs", "hr", "h"), "hour"),
    **dict.fromkeys(("kilograms", "kilogram", "kgs"), "kg"),
    **dict.fromkeys(("grams", "gram"), "g"),
    **dict.fromkeys(("liters", "litres", "liter", "litre", "l"), "liter"),
    **dict.fromkeys(("mph",), "mile per hour"),
    **{"a.m": "am", "p.m": "pm"},
}
_SHORT_UNITS = {
    "m",
    "g",
    "s",
    "h",
    "l",
    "cm",
    "mm",
    "km",
    "kg",
    "mg",
    "ml",
    "ft",
    "hr",
    "in",
    "lb",
    "oz",
    "yd",
    "mi",
    "m/s",
    "kW",
    "km/h",
}
_SHORT_UNITS |= {
    "J",
    "N",
    "W",
    "V",
    "K",
    "A",
    "L",
    "C",
    "F",
    "Hz",
    "kJ",
    "Pa",
    "eV",
    "nm",
    "kPa",
    "mL",
    "cL",
    "dm",
    "cc",
}
_SHORT_UNITS |= {"AM", "PM", "am", "pm", "a.m.", "p.m."}


_KNOWN_UNITS = {*_ALIASES.values(), *(unit.casefold() for unit in _SHORT_UNITS)}


class Answer(NamedTuple):
    """A final answer in uniform LaTeX."""

    value: str
    unit: str | None = None
    """Unit in one spelling, such as `dollar`, `degree`, `percent`, `cm^2`; `None` without one."""


def uniform(text: str) -> Answer:
    """Return the value and the unit of a final answer."""
    value = _unwrapped(text)
    value = _unicode_as_latex(value)
    for pattern, replacement in _LATEX:
        value = pattern.sub(replacement, value)
    value = _LEADING.sub("", _unwrapped(value))
    if ratio := _RATIO.fullmatch(value):
        value = f"{ratio[1]}:{ratio[2]}"
    if value.count(_BOTH) == 1 and "," not in value:
        value = f"{value.replace(_BOTH, '+')}, {value.replace(_BOTH, '-')}"
    value, unit = _without_unit(value)
    value = _MIXED.sub(_mixed, value)
    return Answer(_unwrapped(value), unit)


def _unwrapped(text: str) -> str:
    """Remove what surrounds the whole answer: dollars, parentheses of LaTeX, Markdown, punctuation at the end."""
    while True:
        before = text
        text = _TRAILING.sub("", text.strip()) if not text.endswith(r"\ ") else text[:-2]
        if styled := _STYLED.fullmatch(text):
            text = styled[1]
        for opening, closing in (*_WRAPPERS, *_MORE_WRAPPERS):
            inner = text[len(opening) : len(text) - len(closing)]
            if text.startswith(opening) and text.endswith(closing) and inner.strip() and opening[0] not in inner[:1]:
                if opening in inner and opening in ("$", "$$", "*", "**", "`"):
                    continue
                text = inner
                break
        if text == before:
            return text


def _unicode_as_latex(text: str) -> str:
    text = _VULGAR_FRACTION.sub(lambda found: _vulgar(found["whole"], found["fraction"]), text)
    text = _ROOT.sub(lambda found: f"{_ROOTS[found['root']]}{{{found['inner'] or found['bare']}}}", text)
    text = re.sub(f"[{''.join(_RAISED)}]+", lambda run: f"^{{{''.join(_RAISED[each] for each in run[0])}}}", text)
    text = re.sub(f"[{''.join(_LOWERED)}]+", lambda run: f"_{{{''.join(_LOWERED[each] for each in run[0])}}}", text)
    return text.translate(_TABLE)


def _vulgar(whole: str, fraction: str) -> str:
    return f"{whole} {_VULGAR[fraction]}" if whole else _VULGAR[fraction]


def _mixed(found: re.Match[str]) -> str:
    """Write a mixed number as a sum, unless the whole answer is one, which is read as a number."""
    if found.end() - found.start() == len(found.string.lstrip("-+ ")):
        return found[0]
    return rf"({found['whole']}+\frac{{{found['up']}}}{{{found['down']}}})"


def _without_unit(value: str) -> tuple[str, str | None]:
    if found := _CURRENCY.match(value):
        rest = value[found.end() :]
        unit = "dollar" if "$" in found[0] or "USD" in found[0] else found[0].strip(" -+").casefold()
        inner, _ = _without_unit(rest)
        return found["sign"] + inner, unit
    if found := _CURRENCY_AFTER.search(value):
        return value[: found.start()], "dollar" if "$" in found[0] else found[0].strip()
    for pattern in (_TEXT_UNIT, _WORD_UNIT, _BARE_UNIT):
        written = pattern.match(value)
        found_unit = None if written is None else _unit(written, is_bare=pattern is _BARE_UNIT)
        if written is not None and found_unit is not None:
            return written["value"].rstrip(), found_unit
    return value, None


def _unit(found: re.Match[str], *, is_bare: bool) -> str | None:
    """Return the unit in one spelling; None where these letters are no unit."""
    written = " ".join(found["unit"].split())
    written = written if "circ" in written else written.replace("\\", "")
    power = (found.groupdict().get("power") or "").replace("{", "").replace("}", "")
    if not written or not re.search(r"[%^A-Za-z]", written) or not re.search(r"[\d})!]|\\pi", found["value"]):
        return None
    words = re.split(r"[ /]", written)
    if any(word.casefold() in _NO_UNITS and not (word == "in" and len(words) > 1) for word in words[:1]):
        return None
    if is_bare and any(len(word) < 3 and word not in _SHORT_UNITS for word in words):
        return None
    low = written.casefold().rstrip(".")
    square = {"square": "^2", "sq": "^2", "cubic": "^3"}.get(low.split(" ")[0], "")
    if square and " " in low:
        low, power = low.split(" ", 1)[1], square
    return _one_spelling(low) + power


def _one_spelling(unit: str) -> str:
    if unit in _ALIASES:
        return _ALIASES[unit]
    words = [_ALIASES.get(word, word) for word in unit.replace("/", " per ").split(" ")]
    singular = [
        word[:-1] if len(word) > 3 and word.endswith("s") and not word.endswith("ss") else word for word in words
    ]
    return " ".join(singular)


def units_differ(first: str | None, second: str | None) -> bool:
    """Return whether both are units of measurement and not the same one; a word such as `apples` is none, and a degree
    may be one of temperature."""
    if first is None or second is None or first == second:
        return False
    if "degree" in (first, second) and {first, second} & {"celsius", "fahrenheit"}:
        return False
    return all(re.split(r"[ ^]", unit)[0] in _KNOWN_UNITS for unit in (first, second))
