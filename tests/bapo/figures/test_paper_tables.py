"""Tables 1 and 2: who ended best beyond doubt, and what it cost."""

from __future__ import annotations

import pytest

from bapo.analysis.result import MeanEstimate
from bapo.figures.data_table import data_table_data, data_text
from bapo.figures.groups import grouped
from bapo.figures.recorded import RecordedRun
from bapo.figures.results_table import clear_best, clear_second, results_table_data, results_table_figure, results_text
from bapo.figures.tables import Cell, Column, percent_cell
from bapo.figures.theme import LIGHT
from bapo.figures.time_table import time_table_data, time_table_figure, time_text, total_seconds
from tests.support.figure_runs import evaluation, run


def _evaluated(name: str, method: str, seed: int, last: list[int]) -> RecordedRun:
    records = [evaluation(0, [0, 1]), evaluation(5, [4, 4]), evaluation(10, last)]
    return run(name, method, seed=seed, evaluations=records, columns={"bapo/cost/num_rollouts": [8.0, 16.0]})


def test_the_last_evaluation_counts_not_the_best() -> None:
    (base, row) = results_table_data(grouped([_evaluated("a", "bapo", 1, [2, 2])])).rows
    assert base.is_base
    assert base.label == "tiny, before training"
    # Before: 1 of 8 right, one of two problems solved; after: 4 of 8, both.
    assert [score.value and score.value.value for score in base.scores] == [0.125, 0.5]
    assert [score.value and score.value.value for score in row.scores] == [0.5, 1.0]
    assert row.num_rollouts is not None
    assert (row.num_rollouts.value, row.policy, row.n) == (16, "off", 1)


def test_one_seed_has_the_interval_over_problems() -> None:
    row = results_table_data(grouped([_evaluated("a", "grpo", 1, [2, 2])])).rows[1]
    value = row.scores[0].value
    assert value is not None
    assert (value.low, value.high, row.policy) == (pytest.approx(0.4), pytest.approx(0.6), "on")


def test_seeds_have_students_interval() -> None:
    runs = [_evaluated("a", "bapo", 1, [2, 2]), _evaluated("b", "bapo", 2, [2, 4])]
    value = results_table_data(grouped(runs)).rows[1].scores[0].value
    assert value is not None
    # 0.5 and 0.75: mean 0.625, s/√2 = 0.125, t = 12.7062.
    assert (value.value, value.n) == (0.625, 2)
    assert value.high == pytest.approx(0.625 + 12.7062 * 0.125)


def test_nobody_is_best_when_intervals_touch_and_seeds_disagree() -> None:
    # Differences by seed: +0.2 and -0.1.
    assert clear_best([[(1, 0.5), (2, 0.5)], [(1, 0.7), (2, 0.4)]]) is None


def test_intervals_that_do_not_touch_make_one_best() -> None:
    # ± 12.7062 · 0.005 = 0.06 around 0.305 and 0.805.
    assert clear_best([[(1, 0.30), (2, 0.31)], [(3, 0.80), (4, 0.81)]]) == 1


def test_a_paired_difference_makes_one_best_where_intervals_overlap() -> None:
    # Seeds differ much, but every difference is 0.10 ± 0.01: t(2) · 0.01/√3 = 0.025.
    first = [(1, 0.2), (2, 0.5), (3, 0.8)]
    second = [(1, 0.29), (2, 0.60), (3, 0.91)]
    assert clear_best([first, second]) == 1
    assert clear_best([first, [(seed + 10, value) for seed, value in second]]) is None, "other seeds are no pairs"


def test_one_seed_is_never_best_and_one_group_has_no_rival() -> None:
    assert clear_best([[(1, 0.1)], [(1, 0.9)]]) is None
    assert clear_best([[(1, 0.1), (2, 0.1)]]) is None
    assert clear_best([[(1, 0.1), (2, 0.1)], []]) is None


def test_the_best_must_beat_every_other() -> None:
    low, middle = ([(1, value), (2, value + 0.001)] for value in (0.1, 0.5))
    high = [(1, 0.51), (2, 0.512)]
    assert clear_best([low, high]) == 1
    # Paired, high and middle differ by 0.010 and 0.011: 0.0105 ± 12.7 · 0.0005 = 0.0105 ± 0.0064.
    assert clear_best([low, middle, high]) == 2
    # Differences without any spread give no interval, and so no certainty.
    assert clear_best([low, middle, [(1, 0.51), (2, 0.511)]]) is None
    assert clear_best([low, [(8, 0.4), (9, 0.6)], high]) is None


def test_the_second_is_above_all_but_the_best_beyond_doubt() -> None:
    low, middle, high = ([(1, value), (2, value + 0.001)] for value in (0.1, 0.5, 0.51))
    assert clear_second([high, low, middle], 0) == 2
    # Of two, the other one is the last as well.
    assert clear_second([high, low], 0) is None
    # Seeds of the middle one differ by 0.2: below the best, but not beyond doubt above the lowest.
    assert clear_second([[(8, 0.0), (9, 0.2)], low, high], 2) is None


def test_the_second_is_underlined() -> None:
    # Of a hundred problems; the second seed differs in one response or two.
    counts = {
        "bapo": ([4] * 100, [4] * 99 + [2]),
        "grpo": ([1] * 100, [1] * 99 + [2]),
        "dapo": ([3] * 100, [3] * 99 + [2]),
    }
    runs = [
        _evaluated(f"{method}{seed}", method, seed, of_seed)
        for method, both in counts.items()
        for seed, of_seed in enumerate(both, start=1)
    ]
    data = results_table_data(grouped(runs))
    column = [(row[2].text, row[2].is_best, row[2].is_second) for row in results_text(data).rows[1:]]
    assert column == [("99.8", True, False), ("25.1", False, False), ("74.9", False, True)]
    # DAPO's second place is underlined in a figure too; all three solve every problem.
    shown = results_table_figure(data, LIGHT).data[0].cells["values"]
    assert [text.partition("<br>")[0] for text in shown[2][1:]] == ["<b>99.8</b>", "25.1", "<u>74.9</u>"]
    assert "<u>" not in "".join(shown[3])


def test_the_best_is_bold_in_the_text_and_intervals_stay_within_shares() -> None:
    # Of a hundred problems, BAPO has 400 and 398 of 400 responses right: 99.75 ± 12.7 · 0.25 points, cut at 100.
    runs = [
        _evaluated(f"{method}{seed}", method, seed, counts)
        for method, both in (("bapo", ([4] * 100, [4] * 99 + [2])), ("grpo", ([1] * 100, [1] * 99 + [0])))
        for seed, counts in enumerate(both, start=1)
    ]
    table = results_text(results_table_data(grouped(runs)))
    titles = ["method", "n", "avg@4", "pass@4", "paper's avg@32", "rollouts", "policy"]
    assert [column.title for column in table.columns] == titles
    assert table.rows[1][2] == Cell("99.8", "96.6 to 100.0", is_best=True)
    assert not table.rows[2][2].is_best
    assert percent_cell(results_table_data(grouped(runs)).rows[1].scores[0].value).note == "96.6 to 100.0"


def test_runs_of_one_seed_have_no_interval_and_count_once() -> None:
    runs = [_evaluated(name, "bapo", 1, [4, 2]) for name in ("a", "b")]
    base, row = results_table_data(grouped(runs)).rows
    assert (row.n, row.scores[0].value) == (1, MeanEstimate(value=0.75, low=None, high=None, n=1))
    assert results_text(results_table_data(grouped(runs))).rows[1][2] == Cell("75.0")
    # So does the base model, whose draws are those of the seed whatever trains afterwards.
    assert base.n == 1
    other = _evaluated("c", "grpo", 1, [4, 2])
    assert results_table_data(grouped([*runs, other])).rows[0].n == 1


def test_seeds_that_all_agree_have_no_interval() -> None:
    runs = [_evaluated(f"{seed}", "bapo", seed, [4, 4]) for seed in (1, 2)]
    row = results_table_data(grouped(runs)).rows[1]
    # 100.0 to 100.0 would claim a certainty that two runs do not give.
    assert (row.n, row.scores[0].value) == (2, MeanEstimate(value=1.0, low=None, high=None, n=2))


def test_the_mean_over_sets_needs_all_of_them() -> None:
    both = [evaluation(0, [4]), evaluation(0, [2], dataset="CD-34")]
    runs = [run("a", evaluations=both), run("b", "grpo", evaluations=both[:1])]
    rows = results_table_data(grouped(runs)).rows
    averages = {row.label: row.average.value and row.average.value.value for row in rows if not row.is_base}
    assert averages == {"BAPO": 0.75, "GRPO": None}


def test_the_papers_accuracies_stand_in_a_column_of_their_own() -> None:
    sets = [evaluation(0, [0], dataset="CD-34"), evaluation(9, [4], dataset="CD-34"), evaluation(9, [2])]
    runs = [run("a", evaluations=sets), run("b", "grpo", evaluations=sets), run("c", "gspo", evaluations=sets)]
    table = results_text(results_table_data(grouped(runs)))
    quoted = table.columns.index(Column("paper's avg@32", "CD-34"))
    # Table 1(b): Qwen2.5 Math 1.5B, with BAPO and with GRPO; it has no GSPO.
    assert [row[quoted].text for row in table.rows] == ["1.1", "73.0", "62.9", "–"]
    assert all(row[quoted].is_quoted for row in table.rows)


def test_published_size_and_licence_stand_next_to_the_problems_that_runs_use() -> None:
    task = {"type": "file", "train_file": "data/deepscaler/deepscaler.parquet", "test_files": ["data/aime24.parquet"]}
    filed = run("a", evaluations=[evaluation(0, [0, 1], dataset="aime24"), evaluation(0, [1], dataset="mine")])
    filed = filed._replace(config={**filed.config, "task": task})
    generated = run("b", evaluations=[evaluation(0, [0, 1, 2])])
    generated = generated._replace(config={**generated.config, "task": {"type": "countdown", "num_train": 64}})
    rows = [[cell.text for cell in row] for row in data_text(data_table_data([filed, generated, generated])).rows]
    deepscaler = ["40,000", "Apache 2.0", "agentica-org/DeepScaleR-Preview-Dataset"]
    unpublished = ["–", "–", "–"]
    assert rows == [
        ["deepscaler", "train", "–", "1", *deepscaler],
        ["countdown, generated", "train", "64", "2", *unpublished],
        ["aime24", "test", "2", "1", "30", "MIT", "HuggingFaceH4/aime_2024"],
        ["mine", "test", "1", "1", *unpublished],
        ["CD-4", "test", "3", "2", *unpublished],
    ]


def test_user_text_is_no_markup() -> None:
    runs = [run("<b>", evaluations=[evaluation(0, [4])])]
    figure = results_table_figure(results_table_data(grouped(runs, "run")), LIGHT)
    assert "&lt;b&gt;" in figure.data[0].cells["values"][0]


COSTS = {
    "bapo/batch/batch": [2.0, 4.0],
    "bapo/batch/batch_size": [4.0, 4.0],
    "bapo/cost/num_rollouts": [8.0, 20.0],
    "bapo/cost/num_tokens": [80.0, 200.0],
    "timing_s/step": [1.0, 3.0],
    "timing_s/elapsed": [2.0, 6.0],
}


def test_costs_of_a_run() -> None:
    data = time_table_data(grouped([run("a", columns=COSTS)]))
    (row,) = data.rows
    means = [each and each.value for each in row[3:-1]]
    # 2 steps; 6 of 8 groups; 20 rollouts; 200 tokens; 2 s a step; 4 s of steps; 6 s in all; 6/3600 hours.
    assert means == [2, 0.75, 20, 200, 2, 4, 6, pytest.approx(6 / 3600)]
    assert (row.batch_sizes, data.unit) == ("(2, 2)", "slot-hours")
    assert time_table_figure(data, LIGHT).data[0].type == "table"


def test_each_attempt_begins_its_clock_again() -> None:
    # Attempt 1 ended at 5 s, attempt 2 repeated a step and ended at 4 s.
    assert total_seconds(run("a", columns={"timing_s/elapsed": [2.0, 5.0, 1.0, 4.0]})) == 9
    assert total_seconds(run("a", columns={"timing_s/elapsed": [None]})) is None


def test_the_servers_count_of_machine_hours_goes_first() -> None:
    counted = run("a", columns=COSTS)._replace(compute_hours=1.5, num_gpus=8)
    data = time_table_data(grouped([counted]))
    assert data.unit == "GPU-hours"
    assert data.rows[0].compute_hours is not None
    assert data.rows[0].compute_hours.value == 1.5
    assert data.currency == ""
    priced = time_text(time_table_data(grouped([counted._replace(cost=30.0, currency="EUR")])))
    assert (priced.columns[-1].title, priced.rows[0][-1].text) == ("cost, EUR", "30.00")


def test_a_sampled_run_has_no_time_per_step() -> None:
    row = time_table_data(grouped([run("a", columns=COSTS)._replace(num_left_out=100)])).rows[0]
    assert row.step_seconds is None
    assert row.training_seconds is None
    assert row.total_seconds is not None


def test_seconds_and_hours_as_people_read_them() -> None:
    (cells,) = time_text(time_table_data(grouped([run("a", columns=COSTS)]))).rows
    assert [cell.text for cell in cells[7:]] == ["2.00 s", "4 s", "6 s", "0.002"]
