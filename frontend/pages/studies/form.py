"""A study as a form: what is asked, what is compared, with which seeds, and which comparison decides."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import dash_mantine_components as dmc
from dash import html

from bapo.api.configs import ConfigFieldInfo
from bapo.config.method import method_name
from bapo.study.declaration import MEAN
from frontend.components.card import card
from frontend.components.choices import choices
from frontend.components.config_form.fields import config_field, field_id, wrap_id
from frontend.components.config_form.methods import field_text
from frontend.components.config_form.values import knows
from frontend.components.elements import attributes
from frontend.components.icon import icon
from frontend.pages.studies.form_model import (
    Document,
    Item,
    Path,
    inputs_of,
    items_of,
    members,
    names_of,
    value_at,
)

FORM = "study"
METRICS = (("avg", "avg@k"), ("pass", "pass@k"), ("greedy", "greedy accuracy"))
BUDGETS = (("steps", "equal steps"), ("rollouts", "equal rollouts"), ("compute", "equal CPU-seconds"))
CAN_BE_EMPTY = ("recipe", "reference", "primary/regime")
FOLLOWING = ("reference", "primary/arm", "primary/against", "primary/test_set", "primary/regime")
"""Choices that depend on what is typed elsewhere."""
RESERVED = ("training.seed", "method.type", "task.held_out")
OF_RUNS_ALONE = ("task.", "evaluation.", "tracking.", "model.")
"""Fields that all arms of a regime share."""
TEXTS: Mapping[str, tuple[str, str]] = {
    "title": ("Title", "Fixed once the first run exists."),
    "question": ("Question", "What the study shall answer."),
    "expectation": ("Expectation", "What you expect, for the record. Optional."),
    "seeds": ("Seeds", "Every arm has all of them. 1..5 stands for 1, 2, 3, 4, 5."),
    "test_sets": ("Test sets", "Held-out sets that the results are read from."),
    "num_runs": ("Number of runs", "Arms × regimes × seeds, and tuning; the form counts."),
    "reference": ("Reference", "All arms are compared with it. Empty: the one that is subtracted."),
    "recipe": ("Recipe", "That all runs start from. Empty: the fields under “Own config”."),
    "primary/arm": ("Arm", ""),
    "primary/against": ("Minus", ""),
    "primary/metric": ("Metric", ""),
    "primary/test_set": ("On", ""),
    "primary/at": ("After", ""),
    "primary/regime": ("Regime", "Empty: the first."),
    "tuning/seeds": ("Seeds of the tuning runs", "None of the study's own."),
    "tuning/arms": ("Arms that are tuned", "Empty: all."),
}


class Drawing:
    """The parts of the form for one file."""

    def __init__(
        self, document: Document, infos: Mapping[str, ConfigFieldInfo], recipes: Sequence[str], test_sets: Sequence[str]
    ) -> None:
        self._document = document
        self._infos = infos
        self._recipes = recipes
        self._test_sets = test_sets
        self._items = items_of(document, infos)

    def parts(self) -> list[Any]:
        """Return all cards."""
        has_regimes = len(members(self._document, "regimes")) > 1 or value_at(self._document, ("primary", "regime"))
        deciding = ("arm", "against", "metric", "test_set", "at", *(("regime",) if has_regimes else ()))
        return [
            card(
                html.Div([self._text("title"), self._text("question", rows=2), self._text("expectation", rows=1)]),
                title="Question",
                look="study-wide",
            ),
            card(
                html.Div(
                    [
                        self._choice("recipe"),
                        self._text("seeds"),
                        self._tags("test_sets", self._test_sets),
                        self._number("num_runs"),
                    ],
                    className="field-grid",
                ),
                title="Runs",
            ),
            self._arms(),
            card(
                html.Div([self._choice(f"primary/{name}") for name in deciding], className="field-grid"),
                html.Div(self._choice("reference"), className="field-grid"),
                title="Primary comparison",
            ),
            card(self._fields(("set",)), title="All runs set"),
            *([] if value_at(self._document, ("recipe",)) else [card(self._fields(("config",)), title="Own config")]),
            self._regimes(),
            self._tuning(),
        ]

    def _arm_names(self) -> list[str]:
        return names_of(self._document, "arms")

    def value_of(self, key: str) -> Any:
        """Return the value of a single input; None where the file says nothing."""
        [value] = inputs_of(self._document, self._items[key])
        return value or None

    def data_of(self, key: str) -> list[dict[str, str]]:
        """Return the options of a choice, including the file's value even if it is invalid."""
        data, value = self._offered(key), self.value_of(key)
        return [*data, *choices([(value, value)])] if value and value not in {each["value"] for each in data} else data

    def _offered(self, key: str) -> list[dict[str, str]]:
        match key:
            case "recipe":
                return choices((each, each) for each in self._recipes)
            case "reference" | "primary/arm" | "primary/against":
                return choices((each, each) for each in self._arm_names())
            case "primary/metric" | "primary/at":
                return choices(METRICS if key == "primary/metric" else BUDGETS)
            case "primary/regime":
                return choices((each, each) for each in names_of(self._document, "regimes"))
            case "primary/test_set":
                given = value_at(self._document, ("test_sets",))
                sets = [str(each) for each in given if each != MEAN] if isinstance(given, list) else []
                return choices([*((each, each) for each in dict.fromkeys(sets)), (MEAN, "mean of all test sets")])
        return choices((each, method_name(each)) for each in self._infos["method.type"].choices)

    # ------------------------------------------------------------ members

    def _arms(self) -> html.Section:
        arms = members(self._document, "arms")
        rows = [
            _member(
                self._text(f"arms/{place}/name", label="Name"),
                self._choice(f"arms/{place}/method", label="Method"),
                buttons=[
                    _button("copy-member", "Duplicate", f"arms/{place}", f"Duplicate arm {place + 1}"),
                    _button("remove-member", "Remove", f"arms/{place}", f"Remove arm {place + 1}"),
                ],
                fields=self._fields(("arms", place, "set"), str(arm.get("method"))),
            )
            for place, arm in enumerate(arms)
        ]
        return card(*rows, _button("add-member", "Add an arm", "arms"), title="Arms")

    def _regimes(self) -> html.Section:
        regimes = members(self._document, "regimes")
        rows = [
            _member(
                self._text(f"regimes/{place}/name", label="Name"),
                self._text(f"regimes/{place}/title", label="Title"),
                buttons=[_button("remove-member", "Remove", f"regimes/{place}", f"Remove regime {place + 1}")],
                fields=self._fields(("regimes", place, "set")),
            )
            for place, _ in enumerate(regimes)
        ]
        about = "Settings in which all arms are compared, such as harder problems. Without any there is one."
        return card(
            dmc.Text(about, size="sm", c="dimmed", mb="sm"),
            *rows,
            _button("add-member", "Add a regime", "regimes"),
            title="Regimes",
        )

    def _tuning(self) -> html.Section:
        about = "Runs that choose settings first, on validation problems, with seeds of their own. Optional."
        if not isinstance(self._document.get("tuning"), dict):
            return card(
                dmc.Text(about, size="sm", c="dimmed", mb="sm"),
                _button("add-tuning", "Tune first", "tuning"),
                title="Tuning",
            )
        return card(
            dmc.Text(about, size="sm", c="dimmed", mb="sm"),
            html.Div(
                [self._text("tuning/seeds"), self._tags("tuning/arms", self._arm_names())], className="field-grid"
            ),
            html.H3("Candidates: every combination is tried", className="study-part"),
            self._fields(("tuning", "grid")),
            html.H3("Further settings of tuning runs", className="study-part"),
            self._fields(("tuning", "set")),
            _button("remove-tuning", "Do not tune", "tuning"),
            title="Tuning",
        )

    # ------------------------------------------------------------ config fields

    def _fields(self, path: Path, method: str = "") -> html.Div:
        """Return the config fields that a table sets, and a choice of further ones."""
        place = "/".join(map(str, path))
        own = [
            item for key, item in self._items.items() if key.startswith(f"{place}/") and len(item.path) == len(path) + 1
        ]
        taken = {str(item.path[-1]) for item in own}
        is_of_arm = path[0] in ("arms", "tuning")
        offered = [
            each
            for each, info in self._infos.items()
            if each not in taken
            and each not in RESERVED
            and not (is_of_arm and each.startswith(OF_RUNS_ALONE))
            and (not method or knows(info, method))
        ]
        add = dmc.Select(
            id={"type": "study-add", "place": place},
            data=offered,
            placeholder="Set a field …",
            searchable=True,
            size="xs",
            limit=60,
            value=None,
            nothingFoundMessage="No such field",
            className="study-add",
            **attributes(aria_label=f"Set a field of {_where(path)}"),
        )
        return html.Div(
            [*([html.Div([self._field(item, method) for item in own], className="field-grid")] if own else []), add]
        )

    def _field(self, item: Item, method: str) -> html.Div:
        remove = _button("remove-field", "Remove", item.key, f"Remove {item.path[-1]} of {_where(item.path[:-1])}")
        if item.kind == "values":
            text = f"{field_text(item.info, method) or ''} Several values, separated by commas.".strip()
            entry: Any = self._wrapped(
                item.key, html.Code(item.info.path), text, self._input(dmc.TextInput, item.key, item.info.path)
            )
        else:
            entry = config_field(FORM, item.info, value_at(self._document, item.path), method, key=item.key)
        return html.Div([entry, remove], className="study-field")

    # ------------------------------------------------------------ inputs

    def _wrapped(self, key: str, label: Any, text: str | None, entry: Any) -> dmc.InputWrapper:
        return dmc.InputWrapper(
            entry,
            id=wrap_id(FORM, key),
            label=label,
            description=text or None,
            inputWrapperOrder=["label", "input", "description", "error"],
            className="field-wrap field",
        )

    def _input(self, component: Any, key: str, label: str, **properties: Any) -> Any:
        [value] = inputs_of(self._document, self._items[key])
        return component(id=field_id(FORM, key), value=value, size="sm", **properties, **attributes(aria_label=label))

    def _named(self, key: str, label: str) -> tuple[str, str]:
        named, text = TEXTS.get(key, (label, ""))
        return named, text

    def _text(self, key: str, *, rows: int = 0, label: str = "") -> dmc.InputWrapper:
        named, text = self._named(key, label)
        spoken = self._spoken(key, named)
        if rows:
            entry = self._input(dmc.Textarea, key, spoken, autosize=True, minRows=rows, maxRows=8)
        else:
            entry = self._input(dmc.TextInput, key, spoken, autoComplete="off")
        return self._wrapped(key, named, text, entry)

    def _number(self, key: str) -> dmc.InputWrapper:
        named, text = self._named(key, "")
        entry = self._input(dmc.NumberInput, key, named, min=1, allowDecimal=False)
        return self._wrapped(key, named, text, entry)

    def _tags(self, key: str, offered: Sequence[str]) -> dmc.InputWrapper:
        named, text = self._named(key, "")
        return self._wrapped(key, named, text, self._input(dmc.TagsInput, key, named, data=list(offered)))

    def _choice(self, key: str, *, label: str = "") -> dmc.InputWrapper:
        named, text = self._named(key, label)
        spoken = f"Primary comparison: {named}" if key.startswith("primary/") else self._spoken(key, named)
        can_be_empty = key in CAN_BE_EMPTY
        entry = dmc.Select(
            id=field_id(FORM, key),
            value=self.value_of(key),
            data=self.data_of(key),
            size="sm",
            clearable=can_be_empty,
            allowDeselect=can_be_empty,
            checkIconPosition="right",
            **attributes(aria_label=spoken),
        )
        return self._wrapped(key, named, text, entry)

    def _spoken(self, key: str, named: str) -> str:
        return named if key in TEXTS else f"{named} of {_where(self._items[key].path[:-1])}"


def _where(path: Path) -> str:
    """Return the place in the words of a label: `arm 2`, `all runs`."""
    match path:
        case ("arms", int(place), *_):
            return f"arm {place + 1}"
        case ("regimes", int(place), *_):
            return f"regime {place + 1}"
        case ("tuning", "grid"):
            return "the candidates"
        case ("tuning", *_):
            return "tuning runs"
        case ("config",):
            return "the own config"
    return "all runs"


def _member(*inputs: Any, buttons: Sequence[Any], fields: html.Div) -> html.Div:
    """Return an arm or a regime: its inputs, what can be done to it, and the config fields that it sets."""
    head = html.Div([*inputs, html.Div(list(buttons), className="study-member-buttons")], className="study-member-head")
    return html.Div([head, fields], className="study-member")


def _button(action: str, label: str, place: str, spoken: str = "") -> dmc.Button:
    is_addition = action.startswith("add")
    return dmc.Button(
        label,
        id={"type": "study-op", "action": action, "place": place},
        size="compact-xs",
        variant="light" if is_addition else "subtle",
        color="blue" if is_addition else "gray",
        leftSection=icon("plus", 14) if is_addition else None,
        **(attributes(aria_label=spoken) if spoken else {}),
    )
