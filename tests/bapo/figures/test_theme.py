"""The colours can be told apart, also by people who see two kinds of cones instead of three."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence

import pytest

from bapo.config.method import METHODS, known_looks
from bapo.figures.theme import DARK, LIGHT, Palette, accuracy_ramp

Matrix = tuple[tuple[float, float, float], ...]

# Machado, Oliveira and Fernandes 2009, severity 1, on linear RGB.
DEUTERANOPIA: Matrix = (
    (0.367322, 0.860646, -0.227968),
    (0.280085, 0.672501, 0.047413),
    (-0.011820, 0.042940, 0.968881),
)
PROTANOPIA: Matrix = (
    (0.152286, 1.052583, -0.204868),
    (0.114503, 0.786281, 0.099216),
    (-0.003882, -0.048116, 1.051998),
)
NORMAL: Matrix = ((1, 0, 0), (0, 1, 0), (0, 0, 1))
VISIONS = {"normal": NORMAL, "deuteranopia": DEUTERANOPIA, "protanopia": PROTANOPIA}

# A just noticeable difference of large patches is about 0.02.
LEAST_DISTANCE = 0.08


def _linear(colour: str) -> list[float]:
    channels = [int(colour[place : place + 2], 16) / 255 for place in (1, 3, 5)]
    return [value / 12.92 if value <= 0.04045 else ((value + 0.055) / 1.055) ** 2.4 for value in channels]


def _seen(colour: str, vision: Matrix) -> tuple[float, ...]:
    """OKLab coordinates of a colour as somebody with this vision sees it."""
    rgb = [min(1.0, max(0.0, sum(a * b for a, b in zip(row, _linear(colour), strict=True)))) for row in vision]
    to_cones = (
        (0.4122214708, 0.5363325363, 0.0514459929),
        (0.2119034982, 0.6806995451, 0.1073969566),
        (0.0883024619, 0.2817188376, 0.6299787005),
    )
    cones = [math.cbrt(sum(a * b for a, b in zip(row, rgb, strict=True))) for row in to_cones]
    to_lab = (
        (0.2104542553, 0.7936177850, -0.0040720468),
        (1.9779984951, -2.4285922050, 0.4505937099),
        (0.0259040371, 0.7827717662, -0.8086757660),
    )
    return tuple(sum(a * b for a, b in zip(row, cones, strict=True)) for row in to_lab)


def _least_distance(colours: Sequence[str], vision: Matrix) -> float:
    return min(
        math.dist(_seen(first, vision), _seen(second, vision)) for first, second in itertools.combinations(colours, 2)
    )


def _contrast(first: str, second: str) -> float:
    """WCAG 2 contrast ratio."""
    luminances = [
        0.2126 * red + 0.7152 * green + 0.0722 * blue for red, green, blue in map(_linear, sorted((first, second)))
    ]
    return (max(luminances) + 0.05) / (min(luminances) + 0.05)


def test_black_and_white_are_one_apart_and_contrast_21_to_1() -> None:
    assert _least_distance(["#000000", "#ffffff"], NORMAL) == pytest.approx(1, abs=1e-4)
    assert _contrast("#000000", "#ffffff") == pytest.approx(21)


@pytest.mark.parametrize("vision", VISIONS)
@pytest.mark.parametrize("palette", [LIGHT, DARK], ids=lambda palette: palette.scheme)
def test_sources_methods_and_series_differ_for_every_vision(palette: Palette, vision: str) -> None:
    for colours in ((palette.fresh, palette.reevaluated, palette.reused), palette.methods, palette.series):
        assert _least_distance(colours, VISIONS[vision]) >= LEAST_DISTANCE, colours


@pytest.mark.parametrize("vision", VISIONS)
@pytest.mark.parametrize("palette", [LIGHT, DARK], ids=lambda palette: palette.scheme)
def test_the_two_ends_of_the_accuracy_ramp_are_never_confused(palette: Palette, vision: str) -> None:
    ramp = accuracy_ramp(palette, 8)
    for low, high in itertools.product(ramp[:3], ramp[6:]):
        assert _least_distance([low, high], VISIONS[vision]) >= LEAST_DISTANCE
    assert _least_distance([ramp[0], ramp[1]], VISIONS[vision]) > 0.02, "0/G stands out"


@pytest.mark.parametrize("palette", [LIGHT, DARK], ids=lambda palette: palette.scheme)
def test_methods_stand_out_from_the_card(palette: Palette) -> None:
    assert min(_contrast(colour, palette.card) for colour in palette.methods) >= 3


def test_no_two_methods_look_alike() -> None:
    looks = [(look.colour, look.dash) for look in known_looks().values()]
    assert len(set(looks)) == len(looks)
    colours = [method.look.colour for method in METHODS.classes.values() if method.look is not None]
    assert len(colours) == len(METHODS.classes)
    assert sorted(colours) == list(range(len(LIGHT.methods))) == list(range(len(DARK.methods)))
