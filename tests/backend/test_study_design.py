"""The design of a study through the server: everything that is wrong at once, its power, and what its results show."""

from __future__ import annotations

import pytest

from bapo.api.studies import StudyCreate, StudyDetail, StudyWrite
from bapo.client import Client
from tests.support.fake_worker import FakeWorker
from tests.support.journals import evaluation, step
from tests.support.refusals import refuses
from tests.support.studies import TEXT

RESULTS = (0.10, 0.30, 0.50, 0.62, 0.12, 0.28, 0.54, 0.60)
"""Of the grid below, seed by seed: c1 = 1/8 with v = 2 and 3, then c1 = 1/4."""


@pytest.fixture(scope="module")
def grid(admin: Client, worker: FakeWorker) -> StudyDetail:
    """A whole grid over two fields and two seeds, with one more run that has not ended."""
    points = [
        {"method.c1": c1, "method.v": v, "training.seed": seed}
        for seed in (1, 2)
        for c1 in (0.125, 0.25)
        for v in (2, 3)
    ]
    body = StudyCreate(name="c1 and v", recipe="countdown-demo", points=[*points, {"training.seed": 9}])
    study = admin.create_study(body)
    for run, accuracy in zip(study.runs[:8], RESULTS, strict=True):
        claim = worker.begin(admin.run(run.run_id or ""))
        worker.upload(claim, [evaluation(0, 0.25), step(1), step(2), evaluation(2, accuracy)])
        worker.report(claim, "succeeded")
    return study


def test_everything_that_is_wrong_is_told_at_once_beside_the_power(admin: Client) -> None:
    text = TEXT.format(title="").replace("grpo", "gripo").replace("num_runs = 4", "num_runs = 5")
    preview = admin.preview_study(StudyWrite(text=text))
    assert sorted(each.field for each in preview.problems) == ["arms.B.method", "num_runs", "title"]
    assert preview.power is not None
    # Two seeds: 5.490 · 1.41 points = 7.7 points.
    assert (preview.power.text, preview.power.source) == ("2 seeds show 7.7 points", "shipped")
    assert admin.preview_study(StudyWrite(text=TEXT.format(title="x").replace("[1, 2]", '["a"]'))).power is None


def test_earlier_runs_of_the_recipe_say_how_far_seeds_disagree(admin: Client, worker: FakeWorker) -> None:
    # Differences of A and B by seed: 0.01, 0.03, 0.05, 0.07, 0.09; their standard deviation is 0.0316.
    changes = {"training.steps": 11}
    for method, values in (("bapo", (0.31, 0.33, 0.35, 0.37, 0.39)), ("grpo", (0.3,) * 5)):
        body = StudyCreate(
            name=f"earlier {method}",
            recipe="countdown-demo",
            changes={**changes, "method.type": method},
            grid={"training.seed": [1, 2, 3, 4, 5]},
        )
        for run, accuracy in zip(admin.create_study(body).runs, values, strict=True):
            claim = worker.begin(admin.run(run.run_id or ""))
            worker.upload(claim, [step(1), evaluation(11, accuracy)])
            worker.report(claim, "succeeded")
    text = TEXT.format(title="As long") + '[set]\n"training.steps" = 11\n'
    power = admin.preview_study(StudyWrite(text=text)).power
    assert power is not None
    assert (power.source, power.deviation) == ("project", pytest.approx(0.0316, abs=1e-4))
    assert "10 earlier runs" in power.source_text
    # Runs of another length say nothing.
    other = admin.preview_study(StudyWrite(text=TEXT.format(title="Longer") + '[set]\n"training.steps" = 12\n')).power
    assert other is not None
    assert other.source == "shipped"


def test_a_whole_grid_is_decomposed(admin: Client, grid: StudyDetail) -> None:
    found = admin.study_importance(grid.id)
    assert (found.eval_name, found.fields) == ("CD-34 avg@8", ["method.c1", "method.v"])
    assert [run.result for run in found.runs] == [*RESULTS, None]
    what = found.importance
    assert (what.decomposition, what.num_runs, what.num_seeds) == ("grid", 8, 2)
    shares = {tuple(share.fields): share for share in what.shares}
    # Means by c1: 0.20 and 0.565, by v: 0.315 and 0.45; SS 8 · 0.1825² = 0.26645 and 8 · 0.0675² = 0.03645; of both
    # 8 · 0.0225² = 0.00405. Within the combinations 0.02²/2 + 0.02²/2 + 0.04²/2 + 0.02²/2 = 0.0014, of which
    # 8 · 0.0025² = 0.00005 is the seeds': noise 0.00135 on 3 degrees of freedom, 0.00045 each. Total 0.3083.
    assert shares["method.c1",].value == pytest.approx((0.26645 - 0.00045) / 0.3083, abs=1e-6)
    assert shares["method.v",].value == pytest.approx((0.03645 - 0.00045) / 0.3083, abs=1e-6)
    assert shares["method.c1",].is_shown
    rewards = admin.study_importance(grid.id, metric="num_rollouts")
    assert rewards.eval_name is None
    for metric in ("name", "nothing"):
        with refuses(422, field="metric"):
            admin.study_importance(grid.id, metric=metric)


def test_chosen_runs_are_looked_at_alike(admin: Client, grid: StudyDetail) -> None:
    ids = [run.run_id or "" for run in grid.runs[:8]]
    found = admin.compare_importance(ids)
    assert set(found.fields) == {"method.c1", "method.v"}
    ours, theirs = (
        {frozenset(share.fields): share.value for share in each.importance.shares}
        for each in (found, admin.study_importance(grid.id))
    )
    assert ours == pytest.approx(theirs)
    few = admin.compare_importance(ids[:4]).importance
    assert (few.decomposition, few.reason) == (None, "it takes at least 8 runs with a result, and there are 4")
