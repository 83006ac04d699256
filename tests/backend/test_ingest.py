"""Lines by byte offset: sent again they change nothing, and a later attempt's win."""

from __future__ import annotations

from typing import Any

import orjson
import pytest

from bapo.api.runs import RunDetail
from bapo.api.workers import RecordBatch
from bapo.client import Client
from bapo.records import StepRecord, parse_record
from tests.support.fake_worker import FakeWorker
from tests.support.journals import batch, evaluation, event, lines_of, sample, step, tracking, with_prompt_objects
from tests.support.refusals import refuses

LOSS = "actor/pg_loss"


def losses(admin: Client, run_id: str) -> dict[int, float | None]:
    series = admin.metrics(run_id, [LOSS])
    return dict(zip(series.steps, series.columns[LOSS], strict=True))


def test_records_come_back_as_they_were_written(worker: FakeWorker, admin: Client, run: RunDetail) -> None:
    claim = worker.begin(run)
    records = [
        event("started", num_steps=150),
        evaluation(0, 0.2),
        tracking(0),
        tracking(0, replicate=1),
        step(1),
        step(2),
    ]
    worker.upload(claim, records)
    stored = [parse_record(orjson.dumps(item)) for item in admin.records(run.id).items]
    assert sorted(stored, key=repr) == sorted(records, key=repr)
    # The journal's own words, not ours: floats and all.
    line = orjson.loads(lines_of([step(1)])[0])
    assert admin.records(run.id, "step").items[0] == with_prompt_objects(line)


@pytest.mark.parametrize("schema", [1, 2])
def test_lines_up_to_version_0_2_are_stored_as_those_of_today(
    worker: FakeWorker, admin: Client, run: RunDetail, schema: int
) -> None:
    claim = worker.begin(run)
    old, new = (orjson.loads(line) for line in lines_of([step(1), step(2)]))
    old = {**with_prompt_objects(old), "schema": schema}
    worker.upload_lines(claim, [orjson.dumps(line).decode() for line in (old, new)])
    assert admin.records(run.id, "step").items == [old, with_prompt_objects(new)]
    assert not admin.records(run.id, "event").items


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        ({"reason": [None]}, "the lists differ in length: prompt_id 2, source 2, num_correct 2"),
        ({"in_batch": None}, "is not a record: in_batch: must be a list"),
        ({"num_correct": ["one", 2]}, "is not a record: num_correct.0: must be a whole number"),
    ],
)
def test_a_step_whose_lists_of_prompts_do_not_fit_is_refused(
    worker: FakeWorker, admin: Client, run: RunDetail, change: dict[str, Any], complaint: str
) -> None:
    claim = worker.begin(run)
    bad, good = (orjson.loads(line) for line in lines_of([step(1), step(2)]))
    bad["prompts"] |= change
    worker.upload_lines(claim, [orjson.dumps(line).decode() for line in (bad, good)])
    assert [item["step"] for item in admin.records(run.id, "step").items] == [2]
    (warning,) = admin.records(run.id, "event").items
    assert complaint in warning["message"]


def test_the_run_follows_its_records(worker: FakeWorker, admin: Client, run: RunDetail) -> None:
    claim = worker.begin(run)
    worker.upload(claim, [event("started", num_steps=150), evaluation(0, 0.2), evaluation(0, 0.1, dataset="CD-4")])
    worker.upload(claim, [step(1), step(2, reward_mean=0.75), evaluation(2, 0.3), evaluation(2, 0.15, dataset="CD-4")])
    now = admin.run(run.id)
    # (0.5 + 0.75) / 2.
    assert (now.step, now.num_steps, now.num_rollouts, now.reward_mean) == (2, 150, 512, 0.625)
    assert (now.eval_name, now.eval_base, now.eval_latest) == ("CD-34 avg@8", 0.2, 0.3)
    # 148 steps of 0.25 s.
    assert now.eta_seconds == pytest.approx(37.0)


def test_a_batch_sent_again_changes_nothing(worker: FakeWorker, admin: Client, run: RunDetail) -> None:
    claim = worker.begin(run)
    lines = lines_of([step(1), event("warning", 1), step(2)])
    body = batch(lines, token=claim.fencing_token)
    first = worker.client.post_records(run.id, body)
    assert first.next_offset == body.end_offset
    assert worker.client.post_records(run.id, body) == first
    assert len(admin.records(run.id).items) == 3


def test_a_runs_revision_grows_with_what_it_records_and_stays_otherwise(
    worker: FakeWorker, admin: Client, run: RunDetail
) -> None:
    claim = worker.begin(run)
    seen = [admin.run(run.id).revision]
    lines = lines_of([step(1), event("warning", 1)])
    for body in (batch(lines[:1], token=claim.fencing_token), batch(lines, token=claim.fencing_token)):
        for _ in range(2):
            worker.client.post_records(run.id, body)
            seen.append(admin.run(run.id).revision)
    length = [len(line) + 1 for line in lines]
    assert seen == [0, length[0], length[0], sum(length), sum(length)]


def test_an_overlap_is_cut(worker: FakeWorker, admin: Client, run: RunDetail) -> None:
    claim = worker.begin(run)
    lines = lines_of([step(1), event("warning", 1), step(2), event("warning", 2)])
    worker.client.post_records(run.id, batch(lines[:2], token=claim.fencing_token))
    answer = worker.client.post_records(run.id, batch(lines, token=claim.fencing_token))
    assert answer.next_offset == sum(len(line) + 1 for line in lines)
    assert len(admin.records(run.id).items) == 4


def test_a_gap_stores_nothing(worker: FakeWorker, admin: Client, run: RunDetail) -> None:
    claim = worker.begin(run)
    assert (
        worker.client.post_records(run.id, batch(lines_of([step(2)]), token=claim.fencing_token, start=100)).next_offset
        == 0
    )
    assert admin.records(run.id).items == []


def test_an_empty_batch_asks_how_far_the_server_is(worker: FakeWorker, run: RunDetail) -> None:
    claim = worker.begin(run)
    stored = worker.upload(claim, [step(1)])
    assert worker.client.post_records(run.id, batch([], token=claim.fencing_token)).next_offset == stored


@pytest.mark.parametrize(("start", "end", "lines"), [(0, 1, ["a", "b"]), (0, 5, []), (10, 5, ["a"]), (-1, 3, ["a"])])
def test_offsets_that_cannot_be_are_refused(
    worker: FakeWorker, run: RunDetail, start: int, end: int, lines: list[str]
) -> None:
    claim = worker.begin(run)
    body = RecordBatch.model_construct(
        fencing_token=claim.fencing_token, attempt=1, kind="records", start_offset=start, end_offset=end, lines=lines
    )
    with refuses(422):
        worker.client.post_records(run.id, body)


def test_a_file_of_an_attempt_to_come_is_refused(worker: FakeWorker, run: RunDetail) -> None:
    claim = worker.begin(run)
    with refuses(422, field="attempt"):
        worker.client.post_records(run.id, batch(["x"], token=claim.fencing_token, attempt=2))


def test_a_later_attempt_replaces_and_an_earlier_never_does(worker: FakeWorker, admin: Client, run: RunDetail) -> None:
    first = worker.begin(run)
    worker.upload(first, [step(number, loss=1.0) for number in range(1, 5)] + [evaluation(4, 0.1)])
    worker.report(first, "lost")
    second = worker.begin(run)
    # Resumed from the checkpoint of step 2.
    worker.upload(second, [event("resumed", 2, attempt=2, from_step=2), step(3, attempt=2, loss=2.0)])
    assert losses(admin, run.id) == {1: 1.0, 2: 1.0, 3: 2.0, 4: 1.0}
    worker.upload(second, [step(4, attempt=2, loss=2.0), evaluation(4, 0.2, attempt=2)])
    assert losses(admin, run.id) == {1: 1.0, 2: 1.0, 3: 2.0, 4: 2.0}
    # What was left of the first attempt's file comes late, with the new token: step 5 is new, step 4 is not.
    late = lines_of([step(4, loss=3.0), step(5, loss=3.0), evaluation(4, 0.3)])
    start = worker.offsets[run.id, 1, "records"]
    worker.client.post_records(run.id, batch(late, token=second.fencing_token, start=start, attempt=1))
    assert losses(admin, run.id) == {1: 1.0, 2: 1.0, 3: 2.0, 4: 2.0, 5: 3.0}
    (stored,) = admin.records(run.id, "evaluation").items
    assert (stored["attempt"], stored["avg_at_k"]["value"]) == (2, 0.2)
    # Events are no repetition: all stay.
    assert [item["event"] for item in admin.records(run.id, "event").items] == ["resumed"]


def test_a_line_that_is_no_record_holds_nothing_up(worker: FakeWorker, admin: Client, run: RunDetail) -> None:
    claim = worker.begin(run)
    good = lines_of([step(1), step(2)])
    worker.upload_lines(claim, [good[0], "{torn", '{"type": "news"}', "", good[1]])
    assert admin.run(run.id).step == 2
    warnings = admin.records(run.id, "event").items
    assert [item["event"] for item in warnings] == ["warning"] * 3
    assert f"at byte {len(good[0]) + 1} of attempt-1/records.jsonl" in warnings[0]["message"]


def test_the_reward_of_a_run_is_that_of_its_last_ten_steps(worker: FakeWorker, admin: Client, run: RunDetail) -> None:
    claim = worker.begin(run)
    worker.upload(claim, [step(number, reward_mean=1.0 if number == 3 else 0.5) for number in range(1, 13)])
    # 3 is one of 3..12, but not of 4..13.
    assert admin.run(run.id).reward_mean == pytest.approx(0.55)
    worker.upload(claim, [step(13)])
    assert admin.run(run.id).reward_mean == 0.5


def test_fields_of_a_newer_writer_are_kept(worker: FakeWorker, admin: Client, run: RunDetail) -> None:
    claim = worker.begin(run)
    line = orjson.loads(lines_of([step(1)])[0]) | {"new_field": {"a": 1}}
    worker.upload_lines(claim, [orjson.dumps(line).decode()])
    assert admin.records(run.id, "step").items[0]["new_field"] == {"a": 1}


def test_a_diverged_step_is_stored(worker: FakeWorker, admin: Client, run: RunDetail) -> None:
    claim = worker.begin(run)
    worker.upload(claim, [step(1), step(2, loss=float("nan"), reward_mean=float("inf"))])
    assert losses(admin, run.id) == {1: 0.1}
    # The other step's.
    assert admin.run(run.id).reward_mean == 0.5
    record = parse_record(orjson.dumps(admin.records(run.id, "step").items[1]))
    assert isinstance(record, StepRecord)
    assert record.reward_mean == float("inf")


def test_responses_may_hold_anything(worker: FakeWorker, admin: Client, run: RunDetail) -> None:
    claim = worker.begin(run)
    texts = ["<script>", "a\x00b", "\\u0000", "\u2028 ü 😀", "\ufffd"]
    worker.upload(claim, [sample(1, f"p{i}", text=text) for i, text in enumerate(texts)], "samples")
    stored = [item["responses"][0]["text"] for item in admin.samples(run.id).items][::-1]
    assert stored[0] == "<script>"
    assert stored[1] == "a\ufffdb"
    assert stored[3] == "\u2028 ü 😀"


def test_the_answer_of_a_response_is_found_by_its_place(worker: FakeWorker, admin: Client, run: RunDetail) -> None:
    claim = worker.begin(run)
    worker.upload(claim, [sample(1, "a", text="😀 so <answer> 42 </answer>."), sample(2, "b", text="none")], "samples")
    [without], [response] = (item["responses"] for item in admin.samples(run.id).items)
    assert without["answer_span"] is None
    # 14 characters before it, of which the first is one.
    assert response["answer_span"] == [14, 16]
    assert admin.samples(run.id, search="<answer>").items[0]["responses"][0]["answer_span"] == [14, 16]


def test_samples_of_a_repeated_step_are_replaced(worker: FakeWorker, admin: Client, run: RunDetail) -> None:
    first = worker.begin(run)
    worker.upload(first, [sample(1, "a"), sample(2, "b"), sample(2, "c")], "samples")
    worker.report(first, "lost")
    second = worker.begin(run)
    worker.upload(second, [sample(2, "d", attempt=2)], "samples")
    assert [(item["step"], item["prompt_id"]) for item in admin.samples(run.id).items] == [(2, "d"), (1, "a")]


def test_samples_are_found_by_step_and_prompt(worker: FakeWorker, admin: Client, run: RunDetail) -> None:
    claim = worker.begin(run)
    worker.upload(claim, [sample(number, name) for number in (1, 2, 3) for name in ("a", "b")], "samples")
    assert [item["step"] for item in admin.samples(run.id, prompt_id="a").items] == [3, 2, 1]
    assert [item["prompt_id"] for item in admin.samples(run.id, step=2).items] == ["b", "a"]
    first = admin.samples(run.id, limit=4)
    second = admin.samples(run.id, limit=4, cursor=first.next_cursor)
    assert [item["step"] for item in [*first.items, *second.items]] == [3, 3, 2, 2, 1, 1]
    assert second.next_cursor is None


def test_the_log_is_read_from_its_end_on(worker: FakeWorker, admin: Client, run: RunDetail) -> None:
    claim = worker.begin(run)
    assert admin.log(run.id).text == ""
    worker.upload_lines(claim, ["one", "two \x00"], "log")
    end = admin.log(run.id)
    assert end.text == "one\ntwo \ufffd\n"
    assert admin.log(run.id, end.next_offset).text == ""
    worker.upload_lines(claim, ["three"], "log")
    assert admin.log(run.id, end.next_offset).text == "three\n"
    assert admin.log(run.id, 0).text == "one\ntwo \ufffd\nthree\n"


def test_a_log_whose_bytes_were_replaced_goes_on(worker: FakeWorker, admin: Client, run: RunDetail) -> None:
    claim = worker.begin(run)
    # One byte that was no UTF-8 came as the replacement character, which has three.
    body = batch(["a\ufffd", "b"], token=claim.fencing_token, kind="log").model_copy(update={"end_offset": 5})
    assert worker.client.post_records(run.id, body).next_offset == 5
    # An overlap of such a batch cannot be cut; the worker asks again from where the server is.
    again = body.model_copy(update={"end_offset": 7, "lines": ["a\ufffd", "b", "c"]})
    assert worker.client.post_records(run.id, again).next_offset == 5
    assert admin.log(run.id).text == "a\ufffd\nb\n"


@pytest.mark.parametrize("call", ["prompts", "samples", "records"])
def test_a_foreign_cursor_is_refused(admin: Client, run: RunDetail, call: str) -> None:
    for cursor in ("!", "WyJydW5zIiwxXQ==", "ü"):
        with refuses(422, field="cursor"):
            getattr(admin, call)(run.id, cursor=cursor)


def test_records_are_read_page_by_page(worker: FakeWorker, admin: Client, run: RunDetail) -> None:
    claim = worker.begin(run)
    records: list[Any] = [event("started", num_steps=150), evaluation(0, 0.2)]
    for number in range(1, 6):
        records += [step(number), event("checkpoint", number)]
    worker.upload(claim, records)
    found: list[tuple[int, str]] = []
    cursor = None
    while True:
        page = admin.records(run.id, cursor=cursor, limit=3)
        found += [(item["step"], item["type"]) for item in page.items]
        cursor = page.next_cursor
        if cursor is None:
            break
    assert found == [(record.step, record.type) for record in records]
    assert [item["step"] for item in admin.records(run.id, "step", from_step=2, to_step=3).items] == [2, 3]


@pytest.mark.parametrize("source", ["elsewhere", ["fresh"]])
def test_prompts_written_by_another_hand_are_read_as_the_record_reads_them(
    worker: FakeWorker, admin: Client, run: RunDetail, source: object
) -> None:
    claim = worker.begin(run)
    first, second = (with_prompt_objects(orjson.loads(line)) for line in lines_of([step(1), step(2)]))
    # A number as text and no reason: good. A source that is none: not.
    first["prompts"][0] |= {"num_correct": "3", "newer": True}
    del first["prompts"][0]["reason"]
    second["prompts"][0]["source"] = source
    worker.upload_lines(claim, [orjson.dumps(line).decode() for line in (first, second)])
    (stored,) = admin.records(run.id, "step").items
    assert parse_record(orjson.dumps(stored)) == step(1)
    (warning,) = admin.records(run.id, "event").items
    assert "is not a record: 0.source: must be" in warning["message"]


@pytest.mark.parametrize(("field", "value"), [("num_correct", -1), ("num_correct", 2**31), ("policy_version", 2**63)])
def test_prompts_with_numbers_that_no_column_holds_are_refused(
    worker: FakeWorker, admin: Client, run: RunDetail, field: str, value: int
) -> None:
    claim = worker.begin(run)
    line = orjson.loads(lines_of([step(1)])[0])
    line["prompts"][field][1] = value
    worker.upload_lines(claim, [orjson.dumps(line).decode(), *lines_of([step(2)])])
    assert [item["step"] for item in admin.records(run.id, "step").items] == [2]
    (warning,) = admin.records(run.id, "event").items
    assert f"{value} is not a number that can be stored here" in warning["message"]
