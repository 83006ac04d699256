"""The controls of what-if: their values for a config, and the changes that they stand for."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any

import dash_mantine_components as dmc
from dash import html

from bapo.config import RunConfig
from bapo.config.documentation import documentation
from bapo.config.method import has_trait, replay_methods
from bapo.methods.bapo import BapoConfig
from bapo.methods.dapo import DapoConfig
from frontend.components.controls import segments, small_select
from frontend.components.elements import attributes
from frontend.components.icon import explained
from frontend.components.symbols import SYMBOLS

Values = Mapping[str, Any]
"""Control → its value. Most are called as their field; `reuse.0` and `reuse.1` are [c2, c3] at both ends of r_tot."""

KIND = "what-if"
METHOD, PARTS = "method.type", "parts"
REUSE = ("reuse.0", "reuse.1")
_CAPACITIES = ("method.difficult_buffer.capacity", "method.high_quality_buffer.capacity")
_PLAIN = (
    METHOD,
    "method.m",
    "method.max_reevaluated_prompts",
    "method.high_quality_buffer.max_age_steps",
    "method.filter.type",
    "method.filter.mean",
    "method.filter.std",
    "method.filter.share",
    *_CAPACITIES,
    "method.max_rounds",
    "rollout.group_size",
    "training.batch_size",
)
_ALL_PARTS = ("reevaluated", "reused")


def control_id(name: str) -> dict[str, str]:
    """Return the identifier of a control."""
    return {"type": KIND, "field": name}


def control_values(config: RunConfig, recorded_size: int | None = None) -> dict[str, Any]:
    """Return the values of the controls for a config; BAPO's and DAPO's defaults for fields that its method lacks.

    `recorded_size`: the G of the run, in which thresholds are counted; None: that of the config.
    """
    method = config.method
    size = recorded_size or config.rollout.group_size
    defaults = (BapoConfig(), DapoConfig())

    def of(path: str) -> Any:
        value: Any = config
        for name in path.split("."):
            value = getattr(value, name, None)
        if value is None and path.startswith("method.") and path not in _CAPACITIES:
            names = path.split(".")[1:]
            value = next(each for each in defaults if hasattr(each, names[0]))
            for name in names:
                value = getattr(value, name)
        return value

    values = {path: of(path) for path in _PLAIN}
    values |= {path: "" for path in _CAPACITIES if values[path] is None}
    known = method if isinstance(method, BapoConfig) else defaults[0]
    values["method.c1"] = math.floor(known.c1 * size)
    for end, name in enumerate(REUSE):
        values[name] = [float(known.c2[end] * size), float(known.c3[end] * size)]
    values[PARTS] = [part for part in _ALL_PARTS if part not in known.without]
    return values


def changes_of(start: Values, values: Values, config: RunConfig) -> dict[str, Any]:
    """Return the fields that differ between `start` and `values`, as far as the method has them."""
    size = config.rollout.group_size
    changes: dict[str, Any] = {path: values[path] for path in _PLAIN if values[path] != start[path]}
    changes |= {path: None for path in _CAPACITIES if changes.get(path) == ""}
    if values["method.c1"] != start["method.c1"]:
        changes["method.c1"] = _fraction(values["method.c1"], size)
    known = config.method if isinstance(config.method, BapoConfig) else BapoConfig()
    for place, (path, bounds) in enumerate((("method.c2", known.c2), ("method.c3", known.c3))):
        moved = [values[name][place] != start[name][place] for name in REUSE]
        if any(moved):
            # What was not moved keeps its exact value.
            changes[path] = [
                _fraction(values[name][place], size) if has_moved else str(bound)
                for name, has_moved, bound in zip(REUSE, moved, bounds, strict=True)
            ]
    if sorted(values[PARTS]) != sorted(start[PARTS]):
        changes["method.without"] = [part for part in _ALL_PARTS if part not in values[PARTS]]
    owners = {field.path: field.method_types for field in documentation()}
    return {path: value for path, value in changes.items() if not owners[path] or values[METHOD] in owners[path]}


def _fraction(count: float, group_size: int) -> str:
    return str(Fraction(count).limit_denominator(1_000) / group_size)


def control_kinds(own: str | None = None) -> dict[str, list[str]]:
    """Return the kinds of controls by method to which they apply, besides those for all; the browser shows these.

    `own`: the run's method, which may be one that is not offered for new runs.
    """
    return {
        method: ["buffers"] * has_trait(method, "reevaluates")
        + ["thresholds"] * has_trait(method, "has_thresholds")
        + ["rounds"] * has_trait(method, "has_rounds")
        for method in replay_methods(own)
    }


def controls(config: RunConfig, values: Values) -> list[Any]:
    """Return all controls, in groups."""
    size, fresh = config.rollout.group_size, config.rollout.batch_size
    most = max(2 * max(config.training.batch_size, fresh), values["training.batch_size"])
    return [
        _group(
            "Method",
            _control(
                METHOD,
                "Replay as",
                small_select(
                    control_id(METHOD),
                    "Replay as",
                    values[METHOD],
                    list(control_kinds(values[METHOD])),
                    checkIconPosition="right",
                ),
                shows=False,
            ),
            _control("training.batch_size", "", _slider("training.batch_size", values, low=1, high=most)),
            _control("rollout.group_size", "", _number("rollout.group_size", values, "", low=2), shows=False),
            _control(
                "method.max_rounds",
                "Most rounds in a step",
                _slider("method.max_rounds", values, low=1, high=max(8, values["method.max_rounds"])),
                only="rounds",
            ),
        ),
        _group(
            "Difficult prompts",
            _control("method.c1", "", _grid_slider("method.c1", values, size), only="thresholds"),
            _control("method.m", "", _slider("method.m", values, low=1, high=max(20, 2 * values["method.m"]))),
            _control(
                "method.max_reevaluated_prompts",
                "",
                _slider(
                    "method.max_reevaluated_prompts",
                    values,
                    low=0,
                    high=max(fresh, 2 * values["method.max_reevaluated_prompts"]),
                ),
            ),
            _control(_CAPACITIES[0], "Most prompts kept", _number(_CAPACITIES[0], values, "same as B"), shows=False),
            only="buffers",
        ),
        _group(
            "Reused groups",
            *(
                _control(name, f"c2 to c3 at r_tot = {end}", _reuse_slider(name, values, size), only="thresholds")
                for end, name in enumerate(REUSE)
            ),
            _control(
                "method.high_quality_buffer.max_age_steps",
                "Most steps of reuse",
                _slider(
                    "method.high_quality_buffer.max_age_steps",
                    values,
                    low=1,
                    high=max(12, values["method.high_quality_buffer.max_age_steps"]),
                ),
            ),
            _control(_CAPACITIES[1], "Most groups kept", _number(_CAPACITIES[1], values, "no limit"), shows=False),
            only="buffers",
        ),
        _group(
            "Fresh groups and ablations",
            _control("method.filter.type", "Online filter", _filter(values), shows=False),
            html.Div(
                [
                    _control(path, label, _number(path, values, "", step=0.05), shows=False)
                    for path, label in (
                        ("method.filter.mean", "Mean"),
                        ("method.filter.std", "Std"),
                        ("method.filter.share", "Share"),
                    )
                ],
                className="what-if-filter",
            ),
            dmc.CheckboxGroup(
                dmc.Group(
                    [
                        dmc.Checkbox(label="re-evaluate (X2)", value="reevaluated", size="xs"),
                        dmc.Checkbox(label="reuse (X3)", value="reused", size="xs"),
                    ],
                    gap="md",
                ),
                id=control_id(PARTS),
                value=values[PARTS],
                label="Parts",
                size="xs",
            ),
            only="thresholds",
        ),
    ]


def _group(title: str, *members: Any, only: str = "all") -> html.Fieldset:
    return html.Fieldset([html.Legend(title), *members], className=f"what-if-group for-{only}")


def _control(name: str, label: str, control: Any, *, only: str = "all", shows: bool = True) -> html.Div:
    """Return a control with its name and, if the control itself does not show it, its value."""
    symbol = SYMBOLS.get(name)
    words = label or (symbol.name[0].upper() + symbol.name[1:] if symbol else name)
    sign = (
        [explained(f"{symbol.explanation} {symbol.legal[0].upper() + symbol.legal[1:]}.", size=13)]
        if symbol and symbol.legal
        else []
    )
    return html.Div(
        [
            html.Div(
                [
                    *([html.Span(symbol.symbol, className="symbol")] if symbol and symbol.symbol else []),
                    html.Span(words),
                    *sign,
                    *([html.Output(id={"type": f"{KIND}-shown", "field": name}, className="what-if-value")] * shows),
                ],
                className="what-if-label",
            ),
            control,
        ],
        className=f"what-if-control for-{only}",
        **attributes(data_control=name),
    )


_SLIDER: Mapping[str, Any] = {"step": 1, "label": None, "updatemode": "drag", "size": "sm"}


def _slider(name: str, values: Values, *, low: int, high: int, **properties: Any) -> dmc.Slider:
    return dmc.Slider(
        id=control_id(name), value=values[name], min=low, max=high, **_thumb(name), **_SLIDER, **properties
    )


def _grid_slider(name: str, values: Values, group_size: int) -> dmc.Slider:
    return _slider(name, values, low=0, high=group_size - 1, marks=_marks(group_size), mb=16)


def _reuse_slider(name: str, values: Values, group_size: int) -> dmc.RangeSlider:
    return dmc.RangeSlider(
        id=control_id(name),
        value=list(values[name]),
        min=0,
        max=group_size - 1,
        minRange=0,
        marks=_marks(group_size),
        color="teal",
        mb=16,
        thumbFromLabel=f"c2 at r_tot = {name[-1]}",
        thumbToLabel=f"c3 at r_tot = {name[-1]}",
        **_SLIDER,
    )


def _marks(group_size: int) -> Sequence[dict[str, Any]]:
    """Return counts of correct responses as marks, at most nine."""
    every = -(-group_size // 8)
    return [{"value": k, "label": str(k)} for k in range(0, group_size, every)]


def _thumb(name: str) -> dict[str, str]:
    symbol = SYMBOLS.get(name)
    return {"thumbLabel": f"{symbol.symbol} {symbol.name}".strip() if symbol else name.rsplit(".", 1)[-1]}


def _number(name: str, values: Values, placeholder: str, step: float = 1, low: int = 0) -> dmc.NumberInput:
    return dmc.NumberInput(
        id=control_id(name),
        value=values[name],
        placeholder=placeholder,
        min=low,
        step=step,
        allowDecimal=step < 1,
        allowNegative=False,
        size="xs",
        **attributes(aria_label=name),
    )


def _filter(values: Values) -> dmc.SegmentedControl:
    name, filters = "method.filter.type", ["range", "gaussian", "uniform"]
    return segments(control_id(name), "Online filter", values[name], filters, fullWidth=True)
