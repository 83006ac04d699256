"""The run page's data: tiles, progress, charts and deltas, over the real server."""

from __future__ import annotations

import asyncio
import json
import math
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, TypeVar

import pytest
from plotly.utils import PlotlyJSONEncoder

from bapo.api.records import HistogramSeries, Series
from bapo.api.runs import AppliedChange, AuditEntry, RunCreate, RunDetail, RunStatus
from bapo.client import AsyncClient, Client
from bapo.figures.axes import x_axis
from bapo.figures.theme import LIGHT
from bapo.records import EventRecord, Span, StepRecord
from frontend.pages.run.chart_panel import View, chart_panel, no_step_yet, view_of
from frontend.pages.run.charts import BY_NAME, CHARTS, charts_of, drawn, is_empty, note_of
from frontend.pages.run.configuration import config_panel
from frontend.pages.run.data import RunData, load
from frontend.pages.run.header import action_style, progress, reason, status_row
from frontend.pages.run.history import audit_detail
from frontend.pages.run.live import delta, news
from frontend.pages.run.tile import sparkline_uri
from frontend.pages.run.tiles import NOTHING, TileData, evaluation_key, tiles
from frontend.pages.run.warm_start import warm_start_line
from frontend.pages.run.what_if import what_if_panel
from frontend.request.shared_answers import SharedAnswers
from tests.support.fake_worker import FakeWorker
from tests.support.recorded import import_folder
from tests.support.services import BackendServer
from tests.support.simulation import Simulation

T = TypeVar("T")
NOW = datetime(2026, 9, 1, 12, 0, tzinfo=UTC)
NUM_STEPS = 52


@pytest.fixture(scope="module")
def run_id(backend_server: BackendServer, admin: Client) -> Iterator[str]:
    """A run of 52 steps on the server."""
    worker = FakeWorker(backend_server)
    run = admin.create_run(RunCreate(name="drawn", recipe="countdown-demo"))
    claim = worker.begin(run)
    worker.upload(claim, Simulation(150).train(NUM_STEPS).records)
    yield run.id
    worker.close()


@pytest.fixture
def ask(backend_server: BackendServer) -> Callable[[Callable[[AsyncClient], Awaitable[T]]], T]:
    """Runs something with a client of the administrator."""

    def run(question: Callable[[AsyncClient], Awaitable[T]]) -> T:
        async def asked() -> T:
            async with AsyncClient(backend_server.url, token=backend_server.admin_token) as client:
                return await question(client)

        return asyncio.run(asked())

    return run


def _charts(tab: str) -> list[Any]:
    return charts_of(tab, "bapo")


TABS = ("overview", "batch", "difficulty", "off-policy", "system")


def _view(tab: str, **more: Any) -> View:
    return view_of({"charts": [chart.name for chart in _charts(tab)], **more})


async def _load(client: AsyncClient, run_id: str, view: View) -> dict[str, RunData]:
    return await load(client, await client.run(run_id), view.reading())


@pytest.mark.parametrize("tab", TABS)
def test_every_chart_of_a_recorded_run_shows_something(ask: Any, recorded_run: str, tab: str) -> None:
    data = ask(lambda client: _load(client, recorded_run, _view(tab)))
    for chart in _charts(tab):
        figure = drawn(chart, data[chart.name], LIGHT)
        assert not is_empty(figure) or chart.only_recorded, chart.name
        assert figure.layout.height == chart.height
        assert note_of(chart, data[chart.name]) is None


@pytest.fixture(scope="module")
def recorded_run(admin: Client, recorded_folders: Mapping[str, Path]) -> str:
    """A run that was really trained."""
    return import_folder(admin, recorded_folders["bapo-seed-1"])


def test_charts_of_the_critic_are_there_for_methods_that_have_one(
    ask: Any, admin: Client, backend_server: BackendServer
) -> None:
    added = {chart.name for chart in charts_of("overview", "ba_ppo")} - {chart.name for chart in _charts("overview")}
    assert added == {"explained-variance", "values", "value-loss", "value-clipped", "critic-grad-norm"}
    assert charts_of("overview", "ppo") == charts_of("overview", "ba_ppo")
    assert charts_of("batch", "ba_ppo") == charts_of("batch", "bapo") != charts_of("batch", "ppo")
    draft = RunCreate(name="critic", recipe="countdown-demo", changes={"method.type": "ba_ppo"})
    run = admin.create_run(draft)
    worker = FakeWorker(backend_server)
    worker.upload(worker.begin(run), Simulation(12, method="ba_ppo").train(12).records)
    data = ask(lambda client: _load(client, run.id, view_of({"charts": sorted(added)})))
    figures = {name: drawn(BY_NAME[name], data[name], LIGHT) for name in added}
    assert not any(is_empty(figure) for figure in figures.values())
    expected, came = figures["values"].data[:2]
    assert (expected.name, came.name) == ("expected value", "return that came")
    assert all(value < rewarded for value, rewarded in zip(expected.y, came.y, strict=True))
    worker.close()


def test_the_timeline_is_of_the_newest_steps(ask: Any, admin: Client, backend_server: BackendServer) -> None:
    run = admin.create_run(RunCreate(name="timeline", recipe="countdown-demo"))
    worker = FakeWorker(backend_server)
    records = [
        record.model_copy(update={"spans": [Span(phase="update", begin=record.step, seconds=0.5)]})
        if isinstance(record, StepRecord)
        else record
        for record in Simulation(12).train(12).records
    ]
    worker.upload(worker.begin(run), records)
    data = ask(lambda client: _load(client, run.id, view_of({"charts": ["timeline"]})))
    (updates,) = drawn(BY_NAME["timeline"], data["timeline"], LIGHT).data
    # The last ten of twelve.
    assert list(updates.customdata) == list(range(3, 13))
    worker.close()


@pytest.mark.parametrize("tab", TABS)
def test_before_the_first_step_only_the_base_model_is_known(ask: Any, admin: Client, tab: str) -> None:
    run = admin.create_run(RunCreate(name="empty", recipe="countdown-demo"))
    data = ask(lambda client: _load(client, run.id, _view(tab)))
    assert all(is_empty(drawn(chart, data[chart.name], LIGHT)) for chart in _charts(tab))


@pytest.mark.parametrize("smooth", ["auto", "off", "5", "ema"])
@pytest.mark.parametrize("x_kind", ["step", "time", "rollouts"])
def test_a_delta_is_the_tail_of_what_a_drawing_shows(ask: Any, run_id: str, x_kind: str, smooth: str) -> None:
    for tab in TABS:
        view = _view(tab, x=x_kind, smooth=smooth)
        whole = ask(lambda client, view=view: _load(client, run_id, view))
        _, answer = ask(
            lambda client, view=view: delta(client, run_id, view, after=45, anew={"rebuild"}, palette=LIGHT)
        )
        assert (answer["after"], answer["until"], answer["reload"]) == (45, NUM_STEPS, False)
        assert set(answer["charts"]) == {chart.name for chart in _charts(tab) if chart.live == "append"}
        for name, extension in answer["charts"].items():
            figure = drawn(BY_NAME[name], whole[name], LIGHT, smooth)
            assert len(extension["traces"]) == len(figure.data), name
            for index in extension["traces"]:
                assert extension["x"][index] == list(figure.data[index].x)[45:], name
                # An exponential mean begins with the steps that still weigh something.
                assert _numbers(extension["y"][index]) == pytest.approx(
                    _numbers(figure.data[index].y)[45:], rel=1e-6, nan_ok=True
                ), name
        # One that shows nothing keeps the words that say why.
        assert set(answer["figures"]) == {
            chart.name
            for chart in _charts(tab)
            if chart.live == "rebuild" and not is_empty(drawn(chart, whole[chart.name], LIGHT, smooth))
        }


def _numbers(values: Sequence[float | None]) -> list[float]:
    return [math.nan if value is None else value for value in values]


def test_a_chart_may_have_an_axis_of_its_own(ask: Any, run_id: str) -> None:
    view = _view("overview", axes={"entropy": "rollouts", "kl": "nonsense"})
    data = ask(lambda client: _load(client, run_id, view))
    assert {name: each.axis.kind for name, each in data.items() if each.axis.kind != "step"} == {"entropy": "rollouts"}


def test_counts_are_summed_over_the_chosen_steps(ask: Any, admin: Client, run_id: str) -> None:
    whole, part, wrong = (
        ask(lambda client, steps=steps: _load(client, run_id, _view("batch", steps=steps)))["reevaluation"].totals
        for steps in (None, "11..20", "20..11")
    )
    assert part.steps == list(range(11, 21))
    assert whole.steps == wrong.steps == list(range(1, NUM_STEPS + 1))


def test_a_delta_of_nothing_is_empty(ask: Any, run_id: str) -> None:
    _, answer = ask(lambda client: delta(client, run_id, _view("batch"), after=NUM_STEPS, anew=(), palette=LIGHT))
    assert (answer["until"], answer["charts"], answer["reload"]) == (NUM_STEPS, {}, False)


@pytest.mark.parametrize("tab", ["overview", "difficulty"])
def test_an_evaluation_or_a_tracking_draws_its_own_charts_and_no_others(ask: Any, run_id: str, tab: str) -> None:
    query = {"after": str(NUM_STEPS), "charts": ",".join(chart.name for chart in _charts(tab)), "recorded": "1"}
    answer = ask(lambda client: news(client, SharedAnswers(), run_id, query))
    assert set(answer["figures"]) == {chart.name for chart in _charts(tab) if chart.live == "recorded"} != set()
    assert (answer["charts"], answer["until"], answer["reload"]) == ({}, NUM_STEPS, False)


def test_the_first_step_draws_the_charts_anew(ask: Any, run_id: str) -> None:
    answer = ask(lambda client: news(client, SharedAnswers(), run_id, {"after": "0", "charts": "rewards,lengths"}))
    assert answer["reload"] is True


def test_news_have_the_view_that_is_asked_for(ask: Any, run_id: str) -> None:
    query = {"after": "50", "charts": "entropy,unknown", "x": "time", "axes": "entropy:rollouts", "smooth": "5"}
    answer = ask(lambda client: news(client, SharedAnswers(), run_id, query))
    (extension,) = answer["charts"].values()
    # Entropy and its mean at the rollouts of steps 51 and 52.
    assert extension["traces"] == [0, 1]
    assert all(256 * 50 < x < 1e6 for x in extension["x"][0])


def test_news_tell_the_progress_always_and_the_tiles_on_request(ask: Any, run_id: str) -> None:
    answer = ask(lambda client: news(client, SharedAnswers(), run_id, {}))
    assert (answer["progress"]["step"], answer["progress"]["num_steps"]) == (str(NUM_STEPS), "150")
    assert set(answer) == {"progress"}
    answer = ask(lambda client: news(client, SharedAnswers(), run_id, {"tiles": "1", "scheme": "dark"}))
    names = [tile["name"] for tile in answer["tiles"]]
    assert names == ["reward", "evaluation", "unsolved", "fill", "rollouts", "speed"]
    assert all(tile["value"] != "–" for tile in answer["tiles"])


def test_every_chart_has_a_name_of_its_own() -> None:
    assert len(BY_NAME) == len(CHARTS)


def test_the_tab_off_policy_shows_the_kl_to_a_reference_where_it_is_recorded(run_detail: RunDetail) -> None:
    with_reference, without = (
        chart_panel(run_detail, "off-policy", ["actor/ppo_kl", *more])[0].data["charts"]
        for more in (["actor/kl_loss"], [])
    )
    assert set(with_reference) - set(without) == {"kl-reference"}


def test_what_other_trainers_log_of_the_gap_is_on_the_overview(run_detail: RunDetail) -> None:
    recorded = ["training/rollout_probs_diff_mean"]
    observed, own = (chart_panel(run_detail, "overview", names)[0].data["charts"] for names in (recorded, []))
    assert set(observed) - set(own) == {"observed-logprob-gap"}


def test_grpo_has_no_chart_of_buffers() -> None:
    names = {chart.name for chart in charts_of("batch", "grpo") if not chart.only_recorded}
    assert names == {"batch-composition", "fill-rate", "rollouts"}


@pytest.mark.parametrize("method", ["repo", "remix", "arpo", "dots"])
def test_replay_methods_show_their_stored_groups_and_no_difficult_prompts(method: str, run_detail: RunDetail) -> None:
    charts = {chart.name: chart for chart in charts_of("batch", method)}
    assert {name for name, chart in charts.items() if not chart.only_recorded} == {
        "batch-composition", "fill-rate", "buffer-sizes", "buffer-ages", "turnover-high-quality", "rollouts",
    }  # fmt: skip
    columns: dict[str, list[float | None]] = {
        "bapo/buffer/high_quality/size": [3, 5],
        "bapo/buffer/high_quality/age_mean": [1, 1.5],
        "bapo/buffer/high_quality/age_max": [1, 2],
    }
    series = Series(steps=[1, 2], columns=columns)
    data = RunData(run_detail.model_copy(update={"method": method}), x_axis(series, "step", None), series)
    shown = [
        [list(trace.y) for trace in charts[name].draw(data, LIGHT).data] for name in ("buffer-sizes", "buffer-ages")
    ]
    assert shown == [[[3, 5]], [[1, 1.5], [1, 2]]]


def test_steps_left_out_by_sampling_are_told(run_detail: RunDetail) -> None:
    series = Series(steps=[1, 5000], columns={})
    data = RunData(run_detail.model_copy(update={"step": 5000}), x_axis(series, "step", None), series)
    assert note_of(BY_NAME["rewards"], data) == (2, 5000)
    assert note_of(BY_NAME["evaluations"], data) is None


@pytest.fixture
def run_detail(admin: Client) -> RunDetail:
    """A queued run."""
    return admin.create_run(RunCreate(name="detail", recipe="countdown-demo"))


def _series(steps: range, **columns: list[float]) -> Series:
    names = {"reward": "critic/rewards/mean", "fill": "bapo/batch/fill_rate"}
    return Series(steps=list(steps), columns={names[name]: values for name, values in columns.items()})


def _histograms(*fresh: list[int]) -> HistogramSeries:
    nothing = [[0] * 3 for _ in fresh]
    return HistogramSeries(steps=list(range(len(fresh))), fresh=list(fresh), reevaluated=nothing, batch=nothing)


def test_tiles_compare_the_last_ten_steps_with_the_first(run_detail: RunDetail) -> None:
    data = TileData(
        first=_series(range(1, 11), reward=[0.2] * 10),
        newest=_series(range(41, 51), reward=[0.5] * 10, fill=[0.75] * 10),
        course=NOTHING.course,
        # 4 of 8 fresh groups unsolved at first, 1 of 4 now.
        first_histograms=_histograms([2, 2, 0], [2, 1, 1]),
        newest_histograms=_histograms([1, 2, 1]),
        course_histograms=NOTHING.course_histograms,
        evaluations=NOTHING.evaluations,
    )
    run = run_detail.model_copy(update={"step": 50, "eta_seconds": 61.0})
    shown = {tile.name: tile for tile in tiles(run, data, LIGHT)}
    assert (shown["reward"].value, shown["reward"].change, shown["reward"].trend) == (
        "50.0\u202f%",
        "+30.0\u202fpts",
        "good",
    )
    # Fewer unsolved prompts are good news.
    assert (shown["unsolved"].value, shown["unsolved"].change, shown["unsolved"].trend) == (
        "25.0\u202f%",
        "−25.0\u202fpts",
        "good",
    )
    # Wilson's interval of 1 in 4, from 1 % as of a Poisson count of 1.
    # Of the reward: accuracies 0, ½, ½ and 1 vary by 1/8, so that 4 groups count as
    # p(1 - p) / (1/8 / 4) = 8 of their 8 responses.
    assert shown["unsolved"].note == "at 0/G, 95 %: 1–70\u202f%"
    assert shown["reward"].note == "10 steps, 95 %: 22–78\u202f%"
    assert shown["fill"].value == "75\u202f%"
    # What is left stands beside the bar: a second figure would be of another moment.
    assert not any("left" in each.note for each in shown.values())


def test_rewards_that_are_no_shares_are_plain_numbers(run_detail: RunDetail) -> None:
    data = NOTHING._replace(
        first=_series(range(1, 11), reward=[0.5] * 10), newest=_series(range(41, 51), reward=[1.506] * 10)
    )
    reward = tiles(run_detail.model_copy(update={"step": 50}), data, LIGHT)[0]
    assert (reward.value, reward.change) == ("1.506", "+1.006")


def test_the_first_ten_steps_are_compared_with_nothing(run_detail: RunDetail) -> None:
    early = NOTHING._replace(
        first=_series(range(1, 5), reward=[0.2] * 4), newest=_series(range(1, 5), reward=[0.2] * 4)
    )
    reward = tiles(run_detail.model_copy(update={"step": 4}), early, LIGHT)[0]
    assert (reward.value, reward.change) == ("20.0\u202f%", None)


def test_an_evaluation_shows_its_interval_and_the_base(run_detail: RunDetail) -> None:
    key = "val-core/CD-34/acc/mean@8"
    columns = {key: [0.2, 0.3], f"{key}/low": [0.17, 0.26], f"{key}/high": [0.23, 0.34]}
    run = run_detail.model_copy(update={"step": 50, "eval_name": "CD-34 avg@8", "eval_base": 0.2, "eval_latest": 0.3})
    assert evaluation_key(run) == key
    shown = tiles(run, NOTHING._replace(evaluations=Series(steps=[0, 50], columns=columns)), LIGHT)[1]
    assert (shown.value, shown.change) == ("30.0\u202f%", "+10.0\u202fpts")
    assert shown.note == "26–34\u202f%, base 20.0\u202f%"


def test_rollouts_of_later_steps_are_not_compared_with_the_steps_so_far(run_detail: RunDetail) -> None:
    # 50 steps of 32 · 8 responses, four more steps' that wait, and one step's that were thrown away.
    run = run_detail.model_copy(update={"step": 50, "num_rollouts": 55 * 256})
    newest = Series(steps=[50], columns={"bapo/cost/num_rollouts_ahead": [4 * 256.0]})
    shown = {tile.name: tile for tile in tiles(run, NOTHING._replace(newest=newest), LIGHT)}
    assert shown["rollouts"].note == "+2.0\u202f% vs fresh batches"


@pytest.mark.parametrize(
    ("changes", "note"),
    [
        ({}, "not evaluated yet"),
        ({"evaluation.enabled": False}, "this run is not evaluated"),
        ({"method.type": "probe"}, "this run is not evaluated"),
    ],
)
def test_a_run_without_evaluations_says_whether_any_will_come(
    admin: Client, changes: dict[str, Any], note: str
) -> None:
    run = admin.create_run(RunCreate(name="unevaluated", recipe="countdown-demo", changes=changes))
    assert tiles(run, NOTHING, LIGHT)[1].note == note


def test_sparklines_leave_gaps_out_and_need_two_values() -> None:
    assert "polyline" not in sparkline_uri([0.5, None], "#112233")
    # Two values fill the box from corner to corner: (0, bottom) to (right, top), two pixels inside.
    assert "0.0%2C26.0%20120.0%2C2.0" in sparkline_uri([0.0, None, 1.0], "#112233")


@pytest.mark.parametrize(
    ("changes", "percent", "time"),
    [
        ({"status": RunStatus.QUEUED, "started_at": None}, 0.0, ""),
        ({"status": RunStatus.RUNNING, "step": 75, "eta_seconds": 61.0}, 50.0, "about 1 m 01 s left"),
        ({"status": RunStatus.RUNNING, "step": 0, "eta_seconds": None}, 0.0, "1 h 00 m since the start"),
        ({"status": RunStatus.SUCCEEDED, "step": 150, "eta_seconds": 0.0, "finished_at": NOW}, 100.0, "took 1 h 00 m"),
    ],
)
def test_progress_tells_what_is_left_or_was_taken(
    run_detail: RunDetail, changes: dict[str, Any], percent: float, time: str
) -> None:
    run = run_detail.model_copy(update={"started_at": NOW - timedelta(hours=1), **changes})
    shown = progress(run, NOW)
    assert (shown.percent, shown.time, shown.status) == (percent, time, run.status.value)


@pytest.mark.parametrize("status", [RunStatus.PAUSING, RunStatus.PAUSED, RunStatus.STOPPING])
def test_a_pause_is_told_beside_the_bar_and_moves_no_part_of_the_page(run_detail: RunDetail, status: RunStatus) -> None:
    run = run_detail.model_copy(update={"status": status, "started_at": NOW})
    assert progress(run).time.startswith(status.value)
    assert reason(run) == []


@pytest.mark.parametrize(
    ("status", "step", "text"),
    [
        (RunStatus.RUNNING, 0, "The first step is not finished yet."),
        (RunStatus.FAILED, 0, "The run failed before its first step was finished."),
        (RunStatus.CANCELLED, 0, "The run was cancelled before its first step was finished."),
        (RunStatus.FAILED, 3, "No step has recorded this."),
    ],
)
def test_an_empty_chart_says_whether_a_step_may_still_come(
    run_detail: RunDetail, status: RunStatus, step: int, text: str
) -> None:
    run = run_detail.model_copy(update={"status": status, "step": step})
    assert no_step_yet(run) == text
    assert f'"{text}"' in _written(chart_panel(run, "overview"))


def test_actions_that_the_state_forbids_are_hidden(run_detail: RunDetail) -> None:
    assert action_style(run_detail, "stop") == {}
    assert action_style(run_detail, "resume") == {"display": "none"}


def _written(component: Any) -> str:
    return json.dumps(component, cls=PlotlyJSONEncoder, ensure_ascii=False)


def test_a_steered_run_shows_what_is_in_force_and_since_when(run_detail: RunDetail) -> None:
    changes = [
        AppliedChange(step=10, set={"method.c1": "1/4", "method.v": 7}, author="admin"),
        AppliedChange(step=20, set={"method.c1": "3/8"}, author="admin"),
    ]
    steered = run_detail.model_copy(update={"applied_changes": changes, "diff": {"training.steps": (100, 150)}})
    written = _written(config_panel(steered, {}))
    course = "0.125 → 1/4 from step 10"
    for text in ("since step 20", f"before: {course}", f"{course} → 3/8 from step 20", "5 → 7 from step 10"):
        assert f'"{text}"' in written
    # What is copied can be used as it is.
    assert r"\"c1\": \"3/8\"" in written
    assert "c1 0.125 → 1/4 from step 10 → 3/8 from step 20" in _written(status_row(steered))


def test_what_if_begins_at_what_is_in_force(
    run_detail: RunDetail, ask: Callable[[Callable[[AsyncClient], Awaitable[Any]]], Any]
) -> None:
    changes = [AppliedChange(step=10, set={"method.c1": "3/8", "method.m": 7}, author="admin")]
    steered = run_detail.model_copy(update={"applied_changes": changes, "step": 20})
    panel = json.loads(_written(ask(lambda client: what_if_panel(client, steered, {}))))
    stores = {each["props"].get("id"): each["props"].get("data") for each in panel["props"]["children"][:2]}
    # 3/8 of the 8 rollouts of a group; submitted were c1 = 1/8 and m = 5.
    assert (stores["what-if-start"]["method.c1"], stores["what-if-start"]["method.m"]) == (3, 7)


@pytest.mark.parametrize(
    ("detail", "text"),
    [
        ({"from": "queued", "to": "running", "attempt": 1}, "queued → running, attempt 1"),
        ({"changes": {}, "parent_id": None, "recipe": "r"}, "recipe r"),
        ({"set": {"method.c1": 0.25, "method.c2": [0.1, 0.2]}}, "set c1 = 0.25, c2 = 0.1, 0.2"),
        ({}, ""),
    ],
)
def test_audit_details_read_like_a_sentence(detail: dict[str, Any], text: str) -> None:
    assert audit_detail(AuditEntry(at=NOW, author="ada", action="x", detail=detail)) == text


def test_overview_says_what_a_warm_start_brought(
    admin: Client, backend_server: BackendServer, ask: Callable[[Callable[[AsyncClient], Awaitable[str]]], str]
) -> None:
    worker = FakeWorker(backend_server, "warms")
    run = admin.create_run(RunCreate(name="warm", recipe="countdown-demo", changes={"warm_start.steps": 30}))
    claim = worker.begin(run)

    def line() -> str:
        async def asked(client: AsyncClient) -> str:
            return json.dumps(await warm_start_line(client, run), cls=PlotlyJSONEncoder)

        return ask(asked)

    def said(phase: str, message: str) -> EventRecord:
        return EventRecord(attempt=1, step=0, event="warm_start", message=message, data={"phase": phase})

    assert line() == "[]"
    worker.upload(claim, [said("begun", "countdown-base learns from right responses: 30 steps of 12")])
    assert "Under way: countdown-base learns from right responses: 30 steps of 12." in line()
    worker.upload(claim, [said("made", "30 steps on 90 worked solutions in 5 s: held-out loss 2.000 to 0.500")])
    assert "30 steps on 90 worked solutions in 5 s: held-out loss 2.000 to 0.500." in line()
    assert "Under way" not in line()
    worker.close()
