"""What the address says of a comparison, which colours its groups have, and what its tables say."""

from __future__ import annotations

import asyncio
from typing import Any

import httpx
import pytest

from bapo.analysis.comparison import shown_name
from bapo.analysis.result import AppliedChange
from bapo.api.accounts import Login
from bapo.api.compare import (
    ChangeOnAxis,
    ComparedCurve,
    ComparedCurves,
    ConfigDifference,
    CostSpread,
    CurveGroup,
    EqualBudget,
    MeanEstimate,
)
from bapo.api.difficulty import MigrationRate
from bapo.api.runs import RunCreate
from bapo.figures.looks import styles_of
from bapo.figures.metric_titles import metric_of
from bapo.figures.overlay import OverlaidMark
from bapo.figures.theme import LIGHT
from frontend.pages.compare.cells import NONE, hours, money, points, range_of, rate, share
from frontend.pages.compare.controls import MOST_UNFOLDED, group_options, run_picker
from frontend.pages.compare.panels import curves_note, marks_of_groups, styles, usual_metrics
from frontend.pages.compare.requests import PageRequests
from frontend.pages.compare.tables import _values
from frontend.pages.compare.view import View, api_address, view_of
from frontend.request.session import SESSION, Api
from tests.support.services import BackendServer

AVERAGE = "val-core/CD-34/acc/mean@8"


def test_an_address_restores_the_view() -> None:
    query = {
        "runs": "a,b,a",
        "group": "method.c1",
        "x": "time",
        "equal": "0",
        "smooth": "1",
        "metric": f"{AVERAGE},actor/entropy",
        "hide": "c1 0.25|no c1",
        "reach": "37.5",
        "reference": "c1 0.125",
    }
    view = view_of(query)
    assert view == View(
        runs=("a", "b"),
        group="method.c1",
        x="time",
        equal=False,
        smooth=True,
        metrics=(AVERAGE, "actor/entropy"),
        hidden=frozenset({"c1 0.25", "no c1"}),
        reach=37.5,
        reference="c1 0.125",
    )


@pytest.mark.parametrize("query", [{}, {"x": "moon", "equal": "yes", "reach": "much", "runs": ",,"}, {"reach": "101"}])
def test_what_cannot_be_read_is_left_out(query: dict[str, str]) -> None:
    assert view_of(query) == View()


def test_downloads_ask_the_same_question() -> None:
    view = View(runs=("a", "b"), group="method.c1", x="rollouts", equal=True)
    assert api_address(view, "compare/curves", keys="x,y") == (
        "/api/v1/compare/curves?run=a&run=b&group=method.c1&x=rollouts&equal=true&keys=x%2Cy"
    )


# ---------------------------------------------------------------- looks


def test_methods_and_ablations_look_as_everywhere() -> None:
    names = {"bapo": "BAPO", "grpo": "GRPO", "bapo w/o X2": "BAPO w/o X2"}
    assert styles(list(names), LIGHT) == {label: styles_of([name], LIGHT)[name] for label, name in names.items()}


def test_a_group_keeps_its_look_when_another_goes() -> None:
    labels = [f"c1 {index / 16:g}" for index in range(4)]
    whole = styles(labels, LIGHT)
    assert len({(look.colour, look.dash) for look in whole.values()}) == 4
    assert styles(labels[::-1], LIGHT) == whole
    alone = [label for label in labels if styles([label], LIGHT)[label] == whole[label]]
    assert len(alone) >= 3


def test_fifty_groups_all_look_different() -> None:
    assert len({(look.colour, look.dash) for look in styles([str(n) for n in range(50)], LIGHT).values()}) == 50


@pytest.mark.parametrize(
    ("label", "name"),
    [
        ("bapo", "BAPO"),
        ("bapo w/o X2 · c1 0.25", "BAPO w/o X2 · c1 0.25"),
        ("grpo_delayed · v 5", "GRPO (delayed) · v 5"),
        ("night · x", "night · x"),
    ],
)
def test_methods_are_called_as_the_papers_do(label: str, name: str) -> None:
    assert shown_name(label) == name


# ---------------------------------------------------------------- charts


def test_usual_metrics_are_those_that_the_runs_have() -> None:
    known = ["actor/entropy", "critic/rewards/mean", "val-core/CD-4/acc/mean@8", AVERAGE, f"{AVERAGE}/low"]
    assert usual_metrics(known) == ["critic/rewards/mean", AVERAGE, "actor/entropy"]
    assert (metric_of(AVERAGE).unit, metric_of(AVERAGE).is_share) == ("CD-34 avg@8", True)
    assert metric_of("a/b").title == "a/b"


def _curves(**changes: Any) -> ComparedCurves:
    curve = ComparedCurve(
        label="a", run_ids=["1", "2"], x=[1, 2], mean=[1, 2], low=[0, 1], high=[2, 3], n=[2, 2], num_positions=2
    ).model_copy(update=changes.pop("curve", {}))
    return ComparedCurves(x="step", groups=[], curves={"k": [curve]}, budget=None, is_interpolated=False, **changes)


def test_a_chart_says_how_it_was_made() -> None:
    assert (
        curves_note(_curves(curve={"n": [3, 3]}), "k", View())
        == "Mean and 95 % interval over 3 replicates (Student's t)."
    )
    assert curves_note(_curves(), "k", View()) == (
        "Mean and range of two replicates, whose 95 % interval would be 12.7 times as wide."
    )
    sampled = _curves(curve={"n": [], "num_positions": 12_345})
    assert curves_note(sampled, "k", View()) == "2 of 12.3k points, extremes kept."
    assert curves_note(sampled, "k", View(smooth=True)) == "Each run averaged over 80 stretches."
    assert curves_note(sampled, "other", View()) == "No run has recorded this metric."
    change = AppliedChange(step=50, set={"method.c1": "1/4"}, author="admin")
    changes = [ChangeOnAxis(run_id=run_id, x=12_800, change=change) for run_id in "12"]
    group = CurveGroup(label="a", run_ids=["1", "2"], names=["one", "two"], changes=changes)
    equal = _curves(curve={"n": []}).model_copy(
        update={
            "groups": [group],
            "budget": EqualBudget(x="rollouts", until=12_800, run_id="2"),
            "is_interpolated": True,
        }
    )
    assert curves_note(equal, "k", View()) == (
        "◆ marks where a parameter was changed; cut off at 12.8k rollouts, as far as two goes; interpolated linearly "
        "to common positions."
    )
    # Seeds that were changed alike have one mark.
    assert marks_of_groups([group]) == [OverlaidMark("a", 12_800, "one, two, step 50: c1 = 1/4")]


def test_fields_that_differ_come_first() -> None:
    options = group_options(View(group="gone.field"), ["method.c1"], ["method.c1", "loss.clip_low"])
    assert [part["group"] for part in options] == [
        "Usual groupings",
        "Config fields that differ",
        "Other config fields",
    ]
    assert [item["value"] for item in options[1]["items"]] == ["method.c1"]
    assert [item["value"] for item in options[2]["items"]] == ["loss.clip_low", "gone.field"]


# ---------------------------------------------------------------- cells


def test_figures_stand_over_their_intervals() -> None:
    estimate = MeanEstimate(value=0.4123, low=-0.1, high=0.52, n=3)
    assert share(estimate, over="runs")[:3] == ("41.2\u202f%", 0.4123, "0.0 to 52.0, n=3")
    assert share(MeanEstimate(value=0.4, low=None, high=None, n=1), over="runs").note == "n=1"
    assert points(estimate).text == "+41.2\u202fpts"
    assert points(estimate).note == "−10.0 to +52.0"
    assert share(None) == points(None) == range_of(None, str) == rate(None, None) == NONE


def test_a_rate_stands_beside_chance() -> None:
    now = MigrationRate(value=0.5, low=0.4, high=0.6, num_moved=5, num_prompts=10)
    cell = rate(now, now.model_copy(update={"value": 0.32}))
    assert (cell.text, cell.note) == ("50.0\u202f%", "chance 32.0\u202f%")
    assert rate(now, None).note == ""


def test_costs_have_a_range_where_runs_differ() -> None:
    assert range_of(CostSpread(median=2, low=1, high=3), str)[:3] == ("2.0", 2, "1.0 to 3.0")
    assert range_of(CostSpread(median=2, low=2, high=2), str).note == ""


@pytest.mark.parametrize(("value", "text"), [(0, "0.0"), (0.0123, "0.012"), (1.234, "1.23"), (12.34, "12.3")])
def test_small_costs_are_seen_too(value: float, text: str) -> None:
    assert hours(value) == f"{text}\u202fh"
    assert money(12.345, "EUR") == "12.35\u202fEUR" or money(12.345, "EUR") == "12.34\u202fEUR"
    assert (hours(None), money(None, "EUR")) == ("–", "–")


def test_values_of_a_group_are_collapsed() -> None:
    difference = ConfigDifference(field="training.seed", values=[1, 2, 1, None], known=[True, True, True, False])
    assert _values(difference, [0, 1, 2]).text == "1, 2"
    assert _values(difference, [3]).text == "–"
    long = ConfigDifference(field="a", values=["x" * 70, 1], known=[True, True])
    cell = _values(long, [0])
    assert (len(cell.text), cell.raw) == (60, "x" * 70)


def test_many_chosen_runs_are_folded_up_beneath_their_number() -> None:
    few, many = (View(runs=tuple(f"r{number}" for number in range(count))) for count in (MOST_UNFOLDED, 13))
    assert run_picker(few, [])._type == "MultiSelect"
    folded = run_picker(many, []).to_plotly_json()
    assert folded["type"] == "Details"
    assert not folded["props"].get("open")
    assert folded["props"]["children"][0].children[0].children == "13 runs"


def test_what_a_page_asked_ahead_is_not_asked_again_but_for_another_page(backend_server: BackendServer) -> None:
    with backend_server.client() as admin:
        runs = tuple(admin.create_run(RunCreate(name=name, recipe="countdown-demo")).id for name in ("one", "two"))
        _, session = admin.login(Login(token=backend_server.admin_token))

    async def asked() -> list[list[str]]:
        api = Api(backend_server.url, 1)
        paths: list[list[str]] = []

        async def note(request: httpx.Request) -> None:
            paths[-1].append(request.url.path.removeprefix("/api/v1/"))

        api.http.event_hooks["request"].append(note)
        SESSION.set(session)
        view = View(runs=runs)
        found = []
        for visit in ("first", "first", "another"):
            paths.append([])
            found.append(await PageRequests(api, visit).comparison(view))
        assert found[0] is found[1]
        await api.close()
        return paths

    assert asyncio.run(asked()) == [["compare"], [], ["compare"]]
