"""Runs of other trainers on a server: live, across outages, and what cannot be done with them."""

from __future__ import annotations

import json
import math
import shutil
import time
from functools import partial
from itertools import count
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from bapo import observe
from bapo.api.configs import ConfigDraft
from bapo.api.imports import ImportInfo
from bapo.api.readings import WhatIfRequest
from bapo.api.runs import RunStatus
from bapo.client import ApiError, Client
from bapo.observe import Group, ObservedRun
from bapo.observe.upload import SentFile, describe_folder
from bapo.run.journal import RECORDS_FILE
from bapo.run.line_reader import read_lines
from tests.support.command_line import run_here
from tests.support.imports import send_folder
from tests.support.observed_loops import Loop
from tests.support.recorded import import_folder
from tests.support.services import BackendServer, add_person, new_database, running_backend, wait_until

GROUPS = [Group("1 + 1 = ?", [1, 0, 0, 0], ["2", "3", "4", "5"]), Group("2 + 2 = ?", [1, 1, 1, 1])]


@pytest.fixture
def live(backend_server: BackendServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BAPO_SERVER", backend_server.url)
    monkeypatch.setenv("BAPO_TOKEN", backend_server.admin_token)


def id_of(run: ObservedRun) -> str:
    assert run.live is not None
    wait_until(lambda: run.live is not None and run.live.run_id is not None)
    assert run.live.run_id is not None
    return run.live.run_id


@pytest.mark.usefixtures("live")
def test_a_run_appears_at_once_goes_on_and_ends(admin: Client, tmp_path: Path) -> None:
    with observe.run("mine", config={"lr": 1e-6}, folder=tmp_path, trainer="TRL") as run:
        run_id = id_of(run)
        assert admin.run(run_id).status is RunStatus.RUNNING
        run.step(1, groups=GROUPS, metrics={"actor/entropy": 0.5})
        wait_until(lambda: admin.run(run_id).step == 1)
        shown = admin.run(run_id)
        assert (shown.method, shown.num_steps, shown.allowed_actions) == ("observed", 0, [])
        # Nothing is shown of what its trainer did not tell, such as our defaults.
        assert set(shown.config) == {"method", "rollout", "training"}
        assert shown.config["rollout"] == {"group_size": 4, "batch_size": 2}
    ended = admin.run(run_id)
    assert (ended.status, ended.step, ended.allowed_actions) == (RunStatus.SUCCEEDED, 1, ["delete"])
    assert ended.compute_hours == 0
    # What it took says nothing of runs that have a model and an engine.
    assert admin.estimate(ConfigDraft(recipe="countdown-demo")).similar_runs == []
    assert [item.prompt_id for item in admin.prompts(run_id).items] != []


def test_a_killed_trainer_has_failed_and_the_rest_is_sent_later(postgres_server: str, tmp_path: Path) -> None:
    with (
        new_database(postgres_server) as url,
        # The other tests' server waits longer than any of their trainers can be held up.
        running_backend(url, tmp_path / "server", lease_seconds=3.0) as server,
        server.client() as admin,
    ):
        given = {"name": "killed", "server": server.url, "token": server.admin_token}
        loop = Loop(tmp_path / "run", 1, 100, pauses=(50,), given=given)
        trainer = loop.start()
        wait_until(lambda: any(run.step > 1 for run in admin.runs().items))
        (found,) = admin.runs().items
        trainer.kill()
        trainer.join()
        wait_until(lambda: admin.run(found.id).status is RunStatus.FAILED)
        assert admin.run(found.id).status_reason == "nothing was heard of its trainer for 3 s"

        info = admin.create_import(describe_folder(loop.folder, name=None, group=None))
        assert info.run_id == found.id
        send_folder(admin, info, loop.folder)
        recorded = (loop.folder / "attempt-1" / "records.jsonl").read_bytes().count(b'"type":"step"')
        assert admin.finish_import(info.run_id).step == recorded


@pytest.mark.usefixtures("live")
def test_nothing_is_lost_while_the_server_is_away(
    backend_server: BackendServer, admin: Client, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("BAPO_SERVER", "http://127.0.0.1:9")
    with observe.run("away", folder=tmp_path) as run:
        run.step(1, groups=GROUPS)
        assert run.live is not None
        monkeypatch.setattr("bapo.observe.live.CLOSING_SECONDS", 0.0)
        run.live.finish(0.0)
        run.live = None
    monkeypatch.setenv("BAPO_SERVER", backend_server.url)
    with observe.run("away", folder=tmp_path) as run:
        run_id = id_of(run)
        run.step(2, groups=GROUPS)
    assert (admin.run(run_id).step, admin.run(run_id).attempt) == (2, 2)
    assert [record["step"] for record in admin.records(run_id, type="step").items] == [1, 2]


@pytest.mark.usefixtures("live")
def test_the_end_waits_as_long_as_the_server_takes_parts(
    admin: Client, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    now, tries = [1000.0], count()
    monkeypatch.setattr("bapo.observe.live.time", SimpleNamespace(monotonic=lambda: now[0], sleep=time.sleep))
    monkeypatch.setattr("bapo.observe.live.CLOSING_PAUSE_SECONDS", 0.01)
    monkeypatch.setattr("bapo.observe.upload.read_lines", partial(read_lines, chunk_bytes=1500))
    send_next = SentFile.send_next

    def slow(file: SentFile, client: Client, info: ImportInfo) -> bool:
        if file.path.name == RECORDS_FILE:
            # Three such tries take longer than the half minute that a server which takes nothing is given.
            now[0] += 11.0
            if next(tries) % 2:
                raise OSError("the network is as slow as the server")
        return send_next(file, client, info)

    with observe.run("slowly", folder=tmp_path) as run:
        run_id = id_of(run)
        for step in range(1, 21):
            run.step(step, groups=GROUPS)
        monkeypatch.setattr(SentFile, "send_next", slow)
    shown = admin.run(run_id)
    assert (shown.step, shown.status) == (20, RunStatus.SUCCEEDED)


@pytest.mark.parametrize("who", ["viewer", "stranger"])
def test_a_token_without_the_right_is_told_once_and_holds_no_trainer(
    backend_server: BackendServer, admin: Client, tmp_path: Path, who: str, caplog: pytest.LogCaptureFixture
) -> None:
    token = add_person(backend_server, "vic", "viewer") if who == "viewer" else "bapo_nobody"
    with observe.run("no right", folder=tmp_path, server=backend_server.url, token=token) as run:
        wait_until(lambda: "sent to" in caplog.text)
        for step in (1, 2, 3):
            run.step(step, groups=GROUPS)
        assert run.live is not None
        # It was refused, not lost: no try again until the time is over.
        run.live.finish(600.0)
        run.live = None
    told = [record.getMessage() for record in caplog.records]
    assert f"(HTTP {403 if who == 'viewer' else 401} " in told[0]
    assert f"send the rest by `bapo import {tmp_path}`" in told[1]
    assert (len(told), run.num_lost, run.rejections) == (2, 0, {})
    # With a token that has it, everything is there.
    shown = admin.run(import_folder(admin, tmp_path))
    assert (shown.step, shown.status) == (3, RunStatus.SUCCEEDED)


@pytest.mark.usefixtures("live")
def test_two_observers_of_copies_of_a_run_are_two_attempts_of_it(admin: Client, tmp_path: Path) -> None:
    with observe.run("copied", folder=tmp_path / "one") as one:
        run_id = id_of(one)
        one.step(1, groups=GROUPS)
        wait_until(lambda: admin.run(run_id).step == 1)
        shutil.copytree(tmp_path / "one", tmp_path / "two")
        with observe.run("copied", folder=tmp_path / "two") as two:
            assert id_of(two) == run_id
            two.step(2, groups=GROUPS[:1])
            wait_until(lambda: admin.run(run_id).step == 2)
            one.step(2, groups=GROUPS)
            one.step(3, groups=GROUPS)
            wait_until(lambda: admin.run(run_id).step == 3)
    steps = admin.records(run_id, type="step").items
    # The later attempt's step 2 counts, as in the journal of a trainer that went back.
    assert [(record["step"], record["attempt"]) for record in steps] == [(1, 1), (2, 2), (3, 1)]
    assert (one.num_lost, two.num_lost) == (0, 0)


@pytest.mark.usefixtures("live")
def test_copies_that_both_go_on_do_not_mix_in_one_attempt(
    admin: Client, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with observe.run("copied while it rests", folder=tmp_path / "one") as one:
        run_id = id_of(one)
        one.step(1, groups=GROUPS)
    shutil.copytree(tmp_path / "one", tmp_path / "two")
    with observe.run("copied while it rests", folder=tmp_path / "one") as one:
        one.step(2, groups=GROUPS)
        wait_until(lambda: admin.run(run_id).step == 2)
        # Its attempt 2 is another one, of which the server would take the bytes after those of the first.
        with observe.run("copied while it rests", folder=tmp_path / "two") as two:
            two.step(2, groups=GROUPS[:1])
            wait_until(lambda: f"an attempt 2 of run {run_id} from another copy of this folder" in caplog.text)
        one.step(3, groups=GROUPS)
    steps = admin.records(run_id, type="step").items
    assert [(each["step"], each["attempt"], len(each["prompts"])) for each in steps] == [
        (1, 1, 2),
        (2, 2, 2),
        (3, 2, 2),
    ]
    assert len((tmp_path / "two" / "attempt-2" / "records.jsonl").read_bytes().splitlines()) == 3


@pytest.mark.usefixtures("live")
def test_ranks_are_one_run_on_the_server_named_as_it_was_told(admin: Client, tmp_path: Path) -> None:
    with (
        observe.run("of two ranks", folder=tmp_path, rank=0, world_size=2) as zero,
        observe.run("of two ranks", folder=tmp_path, rank=1, world_size=2) as one,
    ):
        for rank in (zero, one):
            rank.step(1, groups=GROUPS)
        zero.step(2, groups=GROUPS)
    (shown,) = [run for run in admin.runs().items if run.name == "of two ranks"]
    assert (shown.step, shown.status) == (2, RunStatus.SUCCEEDED)
    steps = admin.records(shown.id, type="step").items
    assert [len(each["prompts"]) for each in steps] == [4, 2]
    assert "bapo/rewards/missing_ranks" in admin.metric_keys(shown.id).items
    # As a folder that was never live, too: by the name of its run, and not by the folder's.
    assert describe_folder(tmp_path, name=None, group=None).name == "of two ranks"


@pytest.mark.usefixtures("live")
def test_lines_of_an_unknown_schema_are_told_of_and_hold_nothing_up(admin: Client, tmp_path: Path) -> None:
    with observe.run("newer", folder=tmp_path) as run:
        run_id = id_of(run)
        run.step(1, groups=GROUPS)
        with (tmp_path / "attempt-1" / "records.jsonl").open("a") as records:
            records.write('{"schema":5,"type":"step","attempt":1,"step":2}\n')
        run.step(3, groups=GROUPS)
    assert admin.run(run_id).step == 3
    warnings = [each["message"] for each in admin.records(run_id, type="event").items if each["event"] == "warning"]
    assert len(warnings) == 1
    assert "schema 5 is not known here, only 1 to 4: update bapo" in warnings[0]


@pytest.mark.usefixtures("live")
def test_prompts_of_a_megabyte_and_bad_groups_reach_the_server_as_what_they_are(admin: Client, tmp_path: Path) -> None:
    long = "é" * 1_000_000
    with observe.run("bad input", folder=tmp_path) as run:
        run_id = id_of(run)
        bad = [Group("p", [1, 0]), Group("p", [1, 0, math.nan, 0])]
        run.step(2, groups=[Group(long, [1, 0, 0, 0], [long, "a\x00b", "", "d"]), *GROUPS, *bad])
        # Twice, and out of order.
        run.step(2, groups=GROUPS)
        run.step(1, groups=GROUPS)
    found = admin.run(run_id)
    assert (found.step, found.status) == (2, RunStatus.SUCCEEDED)
    (stored,) = admin.records(run_id, type="step").items
    assert len(stored["prompts"]) == 3
    assert stored["rewards"]["num_rejected_groups"] == 2
    told = [each["data"].get("rejected") for each in admin.records(run_id, type="event").items]
    assert told[-1] == {"group_size": 1, "reward": 1, "step_order": 2}
    shown = next(sample for sample in admin.samples(run_id).items if sample["prompt"].startswith("é"))
    assert shown["prompt"].endswith("(900,000 characters more)")
    assert shown["responses"][1]["text"] == "a\ufffdb"


@pytest.mark.usefixtures("live")
def test_what_a_run_of_another_trainer_cannot_do_is_refused_with_the_reason(admin: Client, tmp_path: Path) -> None:
    with observe.run("mine", folder=tmp_path) as run:
        run_id = id_of(run)
        run.step(1, groups=GROUPS)
        for act in (admin.stop, admin.pause, admin.resume):
            with pytest.raises(ApiError, match="this run is observed, and trained by another trainer"):
                act(run_id)


@pytest.mark.usefixtures("live")
def test_what_if_forecasts_bapo_for_the_stream_of_another_trainer(admin: Client, tmp_path: Path) -> None:
    with observe.run("mine", folder=tmp_path) as run:
        run_id = id_of(run)
        for step in range(1, 21):
            run.step(step, groups=[Group(f"prompt {n}", [n % 5 > place for place in range(4)]) for n in range(10)])
    answer = admin.what_if(run_id, WhatIfRequest(set={"method.type": "bapo"}))
    assert answer.num_steps == 20
    # Nothing is shown as zero that its trainer cannot have recorded.
    assert (answer.totals.x1_share.recorded, answer.totals.x2_share.recorded) == (1.0, None)
    assert admin.run(run_id).origin == "observed"


def test_a_dump_of_another_trainer_is_a_run_like_any_other(
    backend_server: BackendServer, admin: Client, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # The command writes its folder `observed-runs` where it is called.
    monkeypatch.chdir(tmp_path)
    for step in range(1, 41):
        rows = [
            {"input": f"problem {prompt}", "output": f"{place}", "gts": "0", "score": score, "step": step}
            for prompt in range(step % 2, 120, 2)
            for place in range(4)
            # Every fifth prompt is never solved, every other fifth always.
            for score in [float(prompt % 5 > place)]
        ]
        (tmp_path / "dump").mkdir(exist_ok=True)
        (tmp_path / f"dump/{step}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    options = ["--from", "verl-dumps", str(tmp_path / "dump"), "--name", "theirs"]
    known = {"BAPO_SERVER": backend_server.url, "BAPO_TOKEN": backend_server.admin_token}

    def summary() -> dict[str, Any]:
        done = run_here("import", *options, env=known)
        assert done.returncode == 0, done.stderr
        found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
        return found

    told = summary()
    assert told == {"run_id": told["run_id"], "status": "succeeded", "steps": 40, "is_new": True}
    run = admin.run(told["run_id"])
    assert (run.name, run.method, run.origin, run.config["method"]["trainer"]) == (
        "theirs",
        "observed",
        "observed",
        "verl",
    )
    # The same dump is the same run.
    assert summary() == {**told, "is_new": False}

    kinds = {finding.kind for finding in admin.findings(run.id).findings}
    # Of five prompts one is never solved and one always: 40 % of the groups have no gradient.
    assert {"no_gradient", "never_solved"} <= kinds
    # What would change a config that is not ours is not offered.
    assert not [remedy for each in admin.findings(run.id).findings for remedy in each.remedies if remedy.changes]
    answer = admin.what_if(run.id, WhatIfRequest(set={"method.type": "bapo"}))
    assert (answer.num_steps, answer.totals.x2_share.recorded) == (40, None)
    assert answer.totals.reevaluated.forecast > 0
    assert len(admin.prompts(run.id).items) > 0
