"""The one colour language of the dashboard, in a light and a dark version, and the chart templates made from it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, Literal, cast

import plotly.graph_objects as go
import plotly.io

from bapo.api.runs import RunStatus

# Figures get our template when they are shown; plotly's own would be copied into each before.
plotly.io.templates.default = None

Scheme = Literal["light", "dark"]

FONT_FAMILY = 'Inter, "Segoe UI", system-ui, -apple-system, "Helvetica Neue", Arial, sans-serif'
MONO_FAMILY = 'ui-monospace, "SF Mono", "Cascadia Mono", "DejaVu Sans Mono", Menlo, Consolas, monospace'


@dataclass(frozen=True, slots=True)
class Palette:
    """Every colour that carries a meaning, in one scheme."""

    scheme: Scheme
    page: str
    """Behind the cards."""
    card: str
    border: str
    text: str
    muted: str
    """Secondary text, axis labels."""
    grid: str
    fresh: str
    """X1."""
    reevaluated: str
    """X2."""
    reused: str
    """X3."""
    reference: str
    """Colour of reference values: B, a null rate, a base value."""
    mark: str
    """Vertical marks: parameter changes and resumed attempts."""
    accent: str
    good: str
    warning: str
    bad: str
    ramp: tuple[str, str, str, str, str]
    """Colours of accuracy from 0/G (never solved) over the middle to G/G."""
    series: tuple[str, ...]
    """Lines without a meaning of their own."""
    methods: tuple[str, ...]
    """Training methods, each at the place that its config class names, and other groups of runs."""


LIGHT = Palette(
    scheme="light",
    page="#f5f6f8",
    card="#ffffff",
    border="#e1e4e9",
    text="#1c2128",
    muted="#646d7a",
    grid="#eceef1",
    fresh="#2f6fd0",
    reevaluated="#d9930d",
    reused="#14968a",
    reference="#8b94a1",
    mark="#8a5cc7",
    accent="#2560b8",
    good="#187a41",
    warning="#8a5a00",
    bad="#c8353a",
    ramp=("#a5152a", "#ea8466", "#e9e4e1", "#7fb1dc", "#1f559f"),
    series=("#2f6fd0", "#c2571a", "#5b2a91", "#14968a", "#8d1f57"),
    methods=(
        *("#5f2bbd", "#a9551a", "#14501e", "#2492e6", "#8f3a6c", "#ab9420", "#0d9298"),
        *("#ee54b6", "#933ffc", "#31629a", "#540e23", "#0e3870", "#310054", "#dc4664", "#000000"),
        *("#240024", "#180000", "#00009f"),
    ),
)

DARK = Palette(
    scheme="dark",
    page="#101418",
    card="#171c22",
    border="#2a313a",
    text="#e4e8ed",
    muted="#97a1ae",
    grid="#252c35",
    fresh="#6ba3f5",
    reevaluated="#efb448",
    reused="#45c2b2",
    reference="#7f8996",
    mark="#b695e8",
    accent="#6ba3f5",
    good="#55c382",
    warning="#efb448",
    bad="#f0716f",
    ramp=("#d8344a", "#e0896f", "#a7aab0", "#6f9fd2", "#3d7fdc"),
    series=("#6ba3f5", "#ef9a5c", "#9460d8", "#7fe0cf", "#e0589a"),
    methods=(
        *("#9277ff", "#cc6417", "#86c48c", "#6ab9ff", "#c94598", "#e3e14a", "#e6faf0"),
        *("#fc85d2", "#3f54f5", "#3185bd", "#fc9a4d", "#077e62", "#a8939a", "#fcfcae", "#e4d8a8"),
        *("#e6d2fa", "#b4461e", "#6d54c0"),
    ),
)

STATUS_COLOURS: dict[RunStatus, str] = {
    RunStatus.DRAFT: "gray",
    RunStatus.QUEUED: "indigo",
    RunStatus.STARTING: "cyan",
    RunStatus.RUNNING: "blue",
    RunStatus.PAUSING: "grape",
    RunStatus.PAUSED: "violet",
    RunStatus.STOPPING: "pink",
    RunStatus.CANCELLED: "gray",
    RunStatus.SUCCEEDED: "green",
    RunStatus.FAILED: "red",
    RunStatus.LOST: "orange",
}
"""Mantine colour name of each run state; the CSS variables of the same name serve the tables."""


def palette_of(scheme: str | None) -> Palette:
    """Return the palette of a stored choice; light where there is none yet."""
    return DARK if scheme == "dark" else LIGHT


@cache
def accuracy_ramp(palette: Palette, group_size: int) -> tuple[str, ...]:
    """Return one colour for each number of correct responses 0..G, interpolated in the OKLab space."""
    anchors = [_oklab(colour) for colour in palette.ramp]
    colours = []
    for k in range(group_size + 1):
        position = k / group_size * (len(anchors) - 1)
        index = min(int(position), len(anchors) - 2)
        weight = position - index
        mixed = [low + weight * (high - low) for low, high in zip(anchors[index], anchors[index + 1], strict=True)]
        colours.append(_hex(mixed))
    return tuple(colours)


def blended(first: str, second: str, weight: float) -> str:
    """Return a colour between two, mixed in the OKLab space; `weight` is the share of the second."""
    mixed = [low + weight * (high - low) for low, high in zip(_oklab(first), _oklab(second), strict=True)]
    return _hex(mixed)


def readable_on(background: str, palette: Palette) -> str:
    """Return the palette's text or card colour, whichever has the higher contrast to a background (WCAG 2)."""
    level = _luminance(background)

    def contrast(colour: str) -> float:
        low, high = sorted((level, _luminance(colour)))
        return (high + 0.05) / (low + 0.05)

    return max((palette.text, palette.card), key=contrast)


def translucent(colour: str, alpha: float) -> str:
    """Return `#rrggbb` with an opacity, for confidence bands and fills."""
    red, green, blue = _channels(colour)
    return f"rgba({red},{green},{blue},{alpha:g})"


def faint(colour: str, alpha: float = 0.35) -> str:
    """Return a colour in the background, whatever its opacity was."""
    if colour.startswith("#"):
        return translucent(colour, alpha)
    red, green, blue, opacity = colour.removeprefix("rgba(").removesuffix(")").split(",")
    return f"rgba({red},{green},{blue},{min(float(opacity), alpha):g})"


@cache
def template(palette: Palette) -> dict[str, Any]:
    """Return axes, fonts, hover and legend of every chart in one scheme."""
    axis: dict[str, Any] = {
        "gridcolor": palette.grid,
        "linecolor": palette.border,
        "tickcolor": palette.border,
        "zerolinecolor": palette.border,
        "zeroline": False,
        "ticks": "",
        "tickfont": {"color": palette.muted, "size": 11},
        "title": {"font": {"color": palette.muted, "size": 11}, "standoff": 8},
        "automargin": True,
    }
    spike = {"spikecolor": palette.muted, "spikethickness": 1, "spikedash": "dot"}
    built = go.layout.Template(
        layout={
            "font": {"family": FONT_FAMILY, "size": 12, "color": palette.text},
            "paper_bgcolor": "rgba(0,0,0,0)",
            "plot_bgcolor": "rgba(0,0,0,0)",
            "colorway": list(palette.series),
            # So low that the title of the x-axis, one line below its labels, would overflow by a pixel: Plotly then
            # moves it inside, and does not measure every label to see whether it is in their way.
            "margin": {"l": 56, "r": 24, "t": 8, "b": 44},
            "xaxis": axis | {"showgrid": False, "showline": True, "ticks": "outside", "ticklen": 4} | spike,
            "yaxis": axis | {"rangemode": "tozero"},
            "hovermode": "x unified",
            "hoverlabel": {
                "bgcolor": palette.card,
                "bordercolor": palette.border,
                "font": {"color": palette.text, "size": 12, "family": FONT_FAMILY},
                "namelength": -1,
            },
            "legend": {
                "orientation": "h",
                "x": 0,
                "xanchor": "left",
                "y": 1.02,
                "yanchor": "bottom",
                "font": {"color": palette.text, "size": 11},
                "itemwidth": 30,
                "traceorder": "normal",
                "tracegroupgap": 0,
                "bgcolor": "rgba(0,0,0,0)",
            },
            "dragmode": "zoom",
        }
    )
    return cast(dict[str, Any], built.to_plotly_json())


def themed(figure: go.Figure, palette: Palette) -> dict[str, Any]:
    """Return the figure as JSON with the palette's template, which is worth sharing: copying it costs more than a
    figure."""
    drawing: dict[str, Any] = figure.to_plotly_json()
    drawing["layout"]["template"] = template(palette)
    return drawing


_CSS_COLOURS = (
    *("page", "card", "border", "text", "muted", "grid", "fresh", "reevaluated", "reused"),
    *("reference", "mark", "accent", "good", "warning", "bad"),
)


def css_variables() -> str:
    """Return the palettes as CSS custom properties, so that tables, tiles and badges use the same colours as the
    charts."""
    blocks = []
    for palette in (LIGHT, DARK):
        variables = {name: getattr(palette, name) for name in _CSS_COLOURS}
        variables |= {"none-solved": palette.ramp[0], "all-solved": palette.ramp[-1]}
        body = "".join(f"--bapo-{name}:{colour};" for name, colour in variables.items())
        blocks.append(f':root[data-mantine-color-scheme="{palette.scheme}"]{{{body}}}')
    fonts = f":root{{--bapo-font:{FONT_FAMILY};--bapo-mono:{MONO_FAMILY};}}"
    return fonts + "".join(blocks)


_INKS = {
    "gray": "#5b6470",
    "indigo": "#3b5bdb",
    "cyan": "#0b7285",
    "blue": "#1864ab",
    "grape": "#9c36b5",
    "violet": "#6741d9",
    "pink": "#c2255c",
    "green": "#1f7a38",
    "red": "#c02323",
    "orange": "#b34409",
    "yellow": "#8a5a00",
    "teal": "#06734f",
}
"""Mantine's colours, dark enough to be read on their own tint, and to be written on in white (WCAG 2, 4.5 : 1)."""


def mantine_variables() -> str:
    """Return the colours of buttons, badges and links as CSS custom properties, in place of Mantine's own."""
    filled = {f"{colour}-filled": ink for colour, ink in _INKS.items()}
    filled |= {f"{colour}-filled-hover": blended(ink, "#000000", 0.15) for colour, ink in _INKS.items()}
    written = {f"{colour}-{use}": ink for colour, ink in _INKS.items() for use in ("text", "outline", "light-color")}
    blocks = []
    # On a dark page Mantine's own colours can be read.
    for scheme, colours in (("light", filled | written), ("dark", filled)):
        body = "".join(f"--mantine-color-{name}:{colour};" for name, colour in colours.items())
        blocks.append(f'html:root[data-mantine-color-scheme="{scheme}"]{{{body}}}')
    return "".join(blocks)


def mantine_theme() -> dict[str, Any]:
    """Return fonts, radii and defaults of the Mantine components."""
    return {
        "fontFamily": FONT_FAMILY,
        "fontFamilyMonospace": MONO_FAMILY,
        "primaryColor": "blue",
        "colors": {"dark": list(_DARK_SHADES)},
        "defaultRadius": "md",
        "cursorType": "pointer",
        # Drawers, menus and dialogs do not slide or fade in for a user whose system asks for less motion.
        "respectReducedMotion": True,
        "headings": {"fontFamily": FONT_FAMILY, "fontWeight": "600"},
        "components": {
            "Tooltip": {"defaultProps": {"multiline": True, "maw": 320, "withArrow": True, "openDelay": 200}},
            "CloseButton": {"defaultProps": {"aria-label": "Close"}},
            # The placeholder is no item, which a menu's children have to be.
            "Menu": {"defaultProps": {"withInitialFocusPlaceholder": False}},
            # Options are drawn when a user opens the list; Mantine would draw and place all of it with the page.
            "Combobox": {"defaultProps": {"keepMounted": False}},
            "Badge": {"defaultProps": {"variant": "light", "radius": "sm", "tt": "none"}},
        },
    }


_DARK_SHADES = (
    DARK.text,
    "#b9c2cd",
    DARK.muted,
    "#6c7784",
    "#39424d",
    "#2d3540",
    "#1e242c",
    DARK.card,
    "#12161b",
    DARK.page,
)
"""Mantine's greys of the dark scheme, from text to page."""


def _channels(colour: str) -> tuple[int, int, int]:
    return int(colour[1:3], 16), int(colour[3:5], 16), int(colour[5:7], 16)


def _linear(colour: str) -> list[float]:
    return [
        (value / 255) / 12.92 if value <= 10 else ((value / 255 + 0.055) / 1.055) ** 2.4 for value in _channels(colour)
    ]


def _luminance(colour: str) -> float:
    red, green, blue = _linear(colour)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def _oklab(colour: str) -> tuple[float, float, float]:
    """Return the OKLab coordinates of an sRGB colour (Ottosson 2020): equal steps there look equal."""
    red, green, blue = _linear(colour)
    long = math.cbrt(0.4122214708 * red + 0.5363325363 * green + 0.0514459929 * blue)
    medium = math.cbrt(0.2119034982 * red + 0.6806995451 * green + 0.1073969566 * blue)
    short = math.cbrt(0.0883024619 * red + 0.2817188376 * green + 0.6299787005 * blue)
    return (
        0.2104542553 * long + 0.7936177850 * medium - 0.0040720468 * short,
        1.9779984951 * long - 2.4285922050 * medium + 0.4505937099 * short,
        0.0259040371 * long + 0.7827717662 * medium - 0.8086757660 * short,
    )


def _hex(lab: Sequence[float]) -> str:
    lightness, a, b = lab
    long = (lightness + 0.3963377774 * a + 0.2158037573 * b) ** 3
    medium = (lightness - 0.1055613458 * a - 0.0638541728 * b) ** 3
    short = (lightness - 0.0894841775 * a - 1.2914855480 * b) ** 3
    linear = (
        4.0767416621 * long - 3.3077115913 * medium + 0.2309699292 * short,
        -1.2684380046 * long + 2.6097574011 * medium - 0.3413193965 * short,
        -0.0041960863 * long - 0.7034186147 * medium + 1.7076147010 * short,
    )
    encoded = [
        value * 12.92 if value <= 0.0031308 else 1.055 * value ** (1 / 2.4) - 0.055
        for value in (min(max(channel, 0.0), 1.0) for channel in linear)
    ]
    return "#" + "".join(f"{round(value * 255):02x}" for value in encoded)
