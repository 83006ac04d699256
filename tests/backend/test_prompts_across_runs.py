"""A prompt over all runs of a project: totals that are kept beside the runs, curves, pooled answers, exports."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Sequence

import pytest
from sqlalchemy import delete

from backend.kit.database import Database
from backend.models import ProjectPrompt, PromptTotals, Run
from bapo.answer_text import ANSWER_TEXT
from bapo.api.prompt_lists import PromptEntry, PromptListChange, PromptListCreate
from bapo.api.prompts import ProjectPromptFilter
from bapo.api.runs import RunCreate
from bapo.client import Client
from bapo.records import PromptRecord, PromptVisit, SampledResponse, SampleRecord
from bapo.rollout import BatchSource
from tests.support.counted_prompts import found, wait_until_counted
from tests.support.fake_worker import FakeWorker
from tests.support.journals import sample, step
from tests.support.refusals import refuses
from tests.support.services import BackendServer, add_person

ANSWER = {ANSWER_TEXT: "41"}
FRESH, REEVALUATED, REUSED = BatchSource.FRESH, BatchSource.REEVALUATED, BatchSource.REUSED


def visit(prompt_id: str, num_correct: int, source: BatchSource = FRESH, version: int = 0) -> PromptVisit:
    return PromptVisit(prompt_id, source, num_correct, version, in_batch=True)


FIRST = {
    1: [visit("x:hard", 0), visit("x:easy", 8), visit("x:mixed", 2)],
    2: [visit("x:hard", 0, REEVALUATED, 1), visit("x:easy", 8, FRESH, 1), visit("x:mixed", 2, REUSED)],
}
SECOND = {5: [visit("x:hard", 8, FRESH, 4), visit("x:mixed", 5, FRESH, 4)]}


def answered(number: int, prompt_id: str, texts: Sequence[tuple[str, int]]) -> SampleRecord:
    """A sampled group of a problem whose label is 41."""
    return sample(number, prompt_id).model_copy(
        update={
            "prompt": "What is 6 times 7?",
            "answer": ANSWER,
            "group_size": len(texts),
            "num_correct": sum(reward for _, reward in texts),
            "responses": [
                SampledResponse(text=f"so <answer>{text}</answer>", reward=reward, num_tokens=6, logprob_sum=-1.5)
                for text, reward in texts
            ],
        }
    )


@pytest.fixture(scope="module")
def runs(worker: FakeWorker, admin: Client) -> tuple[str, str]:
    """Two runs that have visited some of the same prompts, and are counted."""
    made = []
    for name, steps in (("first", FIRST), ("second", SECOND)):
        run = admin.create_run(RunCreate(name=name, recipe="countdown-demo"))
        claim = worker.begin(run)
        worker.upload(
            claim,
            [
                PromptRecord(prompt_id="x:hard", prompt="What is 6 times 7?", answer=ANSWER),
                answered(min(steps), "x:hard", [("42", 0)] * 7 + [("41", 1)]),
            ],
            kind="samples",
        )
        worker.upload(claim, [step(each).model_copy(update={"prompts": steps[each]}) for each in steps])
        made.append(run.id)
    wait_until_counted(
        lambda: all(prompt.num_runs == 2 for prompt in (found(admin, "x:hard"), found(admin, "x:mixed")))
    )
    return made[0], made[1]


def listed(client: Client, **wanted: object) -> list[str]:
    page = client.project_prompts(ProjectPromptFilter.model_validate(wanted))
    return [each.prompt_id for each in page.items if each.prompt_id.startswith("x:")]


def test_totals_are_sums_over_runs_of_what_policies_answered(admin: Client, runs: tuple[str, str]) -> None:
    hard = found(admin, "x:hard")
    # Two evaluations of 8 without a hit in one run, one with 8 hits in the other.
    assert (hard.num_runs, hard.num_visits) == (2, 3)
    assert (hard.accuracy.num_correct, hard.accuracy.num_responses) == (8, 24)
    assert hard.accuracy.value == pytest.approx(1 / 3)
    assert hard.accuracy.low is not None
    assert hard.accuracy.high is not None
    assert 0.1 < hard.accuracy.low < 1 / 3 < hard.accuracy.high < 0.6
    assert (hard.num_never_solved, hard.num_always_solved, hard.text) == (1, 1, "What is 6 times 7?")
    # A reuse repeats an answer: 2 + 5 of 16, in three visits.
    mixed = found(admin, "x:mixed")
    assert (mixed.num_visits, mixed.accuracy.num_correct, mixed.accuracy.num_responses) == (3, 7, 16)


def test_prompts_are_found_and_ordered_over_all_runs(admin: Client, runs: tuple[str, str]) -> None:
    # 8/24, 7/16, 16/16.
    assert listed(admin) == ["x:hard", "x:mixed", "x:easy"]
    assert listed(admin, descending=True) == ["x:easy", "x:mixed", "x:hard"]
    assert listed(admin, show="always_solved") == ["x:easy"]
    assert listed(admin, show="mixed") == ["x:hard", "x:mixed"]
    assert listed(admin, show="disputed") == ["x:hard"]
    assert listed(admin, show="never_solved") == listed(admin, show="suspected") == []
    assert listed(admin, min_runs=2, sort="num_visits", descending=True) == ["x:hard", "x:mixed"]
    assert listed(admin, search="TIMES 7") == ["x:hard"]
    page = admin.project_prompts(ProjectPromptFilter(search="x:"), offset=1, limit=1)
    assert ([each.prompt_id for each in page.items], page.total, page.project) == (["x:mixed"], 3, "default")


def test_a_prompt_shows_each_run_newest_first(admin: Client, runs: tuple[str, str]) -> None:
    page = admin.prompt_in_runs("x:hard")
    assert [each.run_id for each in page.items] == [runs[1], runs[0]]
    first = page.items[1]
    assert (first.run_name, first.method, first.num_visits, first.last_step) == ("first", "bapo", 2, 2)
    assert (first.first_correct, first.last_correct, first.group_size, first.accuracy.num_responses) == (0, 0, 8, 16)
    assert first.model
    assert (page.whole_text, page.answer, page.total) == ("What is 6 times 7?", ANSWER, 2)
    assert [each.run_id for each in admin.prompt_in_runs("x:hard", offset=1, limit=1).items] == [runs[0]]
    assert admin.prompt_in_runs("x:nowhere").totals is None


def test_curves_have_the_evaluations_of_each_run(admin: Client, runs: tuple[str, str]) -> None:
    second, first = admin.prompt_curves("x:mixed").items
    assert (second.step, second.num_correct, second.policy_version) == ([5], [5], [4])
    # The reuse of step 2 is no new answer.
    assert (first.run_name, first.step, first.num_correct, first.source) == ("first", [1], [2], [FRESH])


def test_answers_are_pooled_and_held_against_the_label(admin: Client, runs: tuple[str, str]) -> None:
    pooled = admin.prompt_answers("x:hard")
    assert (pooled.num_runs, pooled.num_responses, pooled.num_correct, pooled.label) == (2, 16, 2, "41")
    assert [(each.text, each.num_responses, each.is_label) for each in pooled.answers] == [
        ("42", 14, False),
        ("41", 2, True),
    ]
    # 14 of 16 agree on an answer that is judged wrong.
    assert (pooled.suspected, pooled.share) == ("42", 14 / 16)
    assert [each.run_id for each in pooled.newest] == [runs[1], runs[0]]
    assert [each.answer for each in pooled.newest[0].responses] == ["42"] * 7 + ["41"]
    assert admin.prompt_answers("x:easy").answers == []


def test_prompts_and_visits_are_exported(admin: Client, runs: tuple[str, str]) -> None:
    wanted = ProjectPromptFilter(search="x:")
    rows = list(csv.DictReader(io.StringIO(admin.project_prompts_csv(wanted))))
    assert [(row["prompt_id"], row["num_correct"], row["num_responses"]) for row in rows] == [
        ("x:hard", "8", "24"),
        ("x:mixed", "7", "16"),
        ("x:easy", "16", "16"),
    ]
    assert len(admin.project_prompts_jsonl(wanted).splitlines()) == 3
    visits = list(csv.DictReader(io.StringIO(admin.prompt_history_csv("x:mixed"))))
    assert [(row["run_name"], row["step"], row["source"], row["num_correct"]) for row in visits] == [
        ("second", "5", "fresh", "5"),
        ("first", "1", "fresh", "2"),
        ("first", "2", "reused", "2"),
    ]
    lines = [json.loads(line) for line in admin.prompt_history_jsonl("x:hard").splitlines()]
    assert [line["policy_version"] for line in lines] == [4, 0, 1]


def test_a_prompt_says_which_lists_hold_it(admin: Client, runs: tuple[str, str]) -> None:
    made = admin.create_prompt_list(PromptListCreate(name="held"))
    admin.change_prompt_list(made.id, PromptListChange(set=[PromptEntry(prompt_id="x:hard", weight=2, note="why")]))
    (held,) = found(admin, "x:hard").lists
    assert (held.name, held.weight, held.note) == ("held", 2.0, "why")
    admin.remove_prompt_list(made.id)
    assert found(admin, "x:hard").lists == []


def test_prompts_of_other_projects_do_not_exist(
    admin: Client, backend_server: BackendServer, runs: tuple[str, str]
) -> None:
    with backend_server.client(add_person(backend_server, "apart", projects={"apart": "member"})) as outsider:
        assert outsider.project_prompts().total == 0
        assert outsider.prompt_in_runs("x:hard").totals is None
        assert outsider.prompt_history_jsonl("x:hard") == ""
        assert outsider.prompt_answers("x:hard").num_responses == 0
        with refuses(422, "unknown_project", field="project"):
            outsider.project_prompts(ProjectPromptFilter(project="default"))


def test_later_steps_trash_and_deletion_change_the_sums(
    worker: FakeWorker, admin: Client, backend_server: BackendServer
) -> None:
    run = admin.create_run(RunCreate(name="third", recipe="countdown-demo"))
    claim = worker.begin(run)

    def record(number: int, num_correct: int) -> None:
        worker.upload(claim, [step(number).model_copy(update={"prompts": [visit("y:one", num_correct)]})])

    record(1, 0)
    wait_until_counted(lambda: found(admin, "y:one").num_never_solved == 1)
    record(2, 3)
    wait_until_counted(lambda: found(admin, "y:one").accuracy.num_correct == 3)
    one = found(admin, "y:one")
    assert (one.num_runs, one.num_visits, one.accuracy.num_responses, one.num_never_solved) == (1, 2, 16, 0)
    worker.report(claim, "succeeded")
    admin.delete_run(run.id)
    wait_until_counted(lambda: found(admin, "y:one").num_runs == 0)
    admin.restore_run(run.id)
    wait_until_counted(lambda: found(admin, "y:one").num_runs == 1)
    database = Database(backend_server.settings.database_url)
    with database.session() as session, session.begin():
        session.execute(delete(Run).where(Run.id == run.id))
    wait_until_counted(lambda: found(admin, "y:one").num_runs == 0)
    with database.session() as session:
        assert session.get(PromptTotals, run.id) is None
        row = session.query(ProjectPrompt).filter_by(prompt_id="y:one").one()
        assert (row.num_visits, row.num_responses, row.num_correct) == (0, 0, 0)
    database.close()
