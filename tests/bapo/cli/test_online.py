"""The commands that talk to a server: what they print for people and for programs, and how they end."""

from __future__ import annotations

import csv
import io
import json
import os
import stat
import subprocess
import sys
import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from pyarrow import parquet
from typer.testing import CliRunner, Result

from bapo.api.accounts import PasswordSet
from bapo.api.runs import RunCreate, RunDetail, RunUpdate
from bapo.cli import app, export
from bapo.client import Client
from tests.support.command_line import run_here
from tests.support.fake_worker import FakeWorker
from tests.support.forks import make_parent, train
from tests.support.journals import evaluation, step
from tests.support.services import BackendServer, wait_until

Cli = Callable[..., Result]


@pytest.fixture
def cli(backend_server: BackendServer) -> Cli:
    """Runs a command as somebody with the administrator's token in the environment."""
    environment = {"BAPO_SERVER": backend_server.url, "BAPO_TOKEN": backend_server.admin_token, "COLUMNS": "200"}

    def call(*arguments: str, code: int = 0, text: str | None = None, **changes: str) -> Result:
        result = CliRunner().invoke(app, list(arguments), env=environment | changes, input=text)
        assert result.exit_code == code, result.output
        return result

    return call


@pytest.fixture
def trained(admin: Client, worker: FakeWorker) -> RunDetail:
    """A run with three steps and two evaluations that has succeeded."""
    run = admin.create_run(RunCreate(name="a trained run", recipe="countdown-demo"))
    claim = worker.begin(run)
    records = [evaluation(0, 0.25), *(step(number, reward_mean=number / 4) for number in (1, 2, 3)), evaluation(3, 0.5)]
    worker.upload(claim, records)
    worker.upload_lines(claim, ["loading the model", "step 1", "warning: slow disk", "done"], "log")
    worker.report(claim, "succeeded")
    return admin.run(run.id)


def lines(result: Result) -> list[str]:
    return result.stdout.splitlines()


def test_submitting_prints_the_id_alone(cli: Cli, admin: Client) -> None:
    result = cli("submit", "countdown-demo", "--set", "method.c1=1/4", "--tag", "a", "--tag", "b", "--priority", "70")
    run = admin.run(result.stdout.strip())
    assert (run.name, run.status, run.tags, run.priority) == ("countdown-demo c1=1/4", "queued", ["a", "b"], 70)
    assert run.explicit["method"]["c1"] == "1/4"
    draft = json.loads(cli("submit", "countdown-demo", "--name", "later", "--draft", "--json").stdout)
    assert (draft["name"], draft["status"]) == ("later", "draft")
    assert lines(cli("start", draft["id"])) == [f"{draft['id']} later: queued"]


def test_the_same_key_submits_once(cli: Cli) -> None:
    first = cli("submit", "countdown-demo", "--key", "job 7").stdout
    assert cli("submit", "countdown-demo", "--key", "job 7").stdout == first
    assert cli("submit", "countdown-demo", BAPO_IDEMPOTENCY_KEY="job 7").stdout == first
    assert cli("submit", "countdown-demo", "--key", "job 8").stdout != first


def test_a_grid_is_one_run_for_each_combination(cli: Cli, admin: Client) -> None:
    arguments = ("--sweep", "method.c1=1/8,1/4", "--sweep", "training.seed=1,2", "--name", "grid", "--key", "grid")
    identifiers = lines(cli("submit", "countdown-demo", *arguments))
    assert [admin.run(each).name for each in identifiers] == [
        "grid · c1=1/8 seed=1",
        "grid · c1=1/8 seed=2",
        "grid · c1=1/4 seed=1",
        "grid · c1=1/4 seed=2",
    ]
    assert lines(cli("submit", "countdown-demo", *arguments)) == identifiers


def test_a_grid_with_a_wrong_point_submits_nothing(cli: Cli, admin: Client) -> None:
    before = admin.runs().total
    refused = cli("submit", "countdown-demo", "--sweep", "method.c1=1/8,7", code=2)
    assert refused.stderr.splitlines()[0] == "method.c1 = 7: run 2, method.c1 = 7: must be at least 0 and less than 1"
    assert admin.runs().total == before


@pytest.mark.parametrize("suffix", [".toml", ".json"])
def test_a_file_describes_a_run(cli: Cli, admin: Client, tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"mine{suffix}"
    toml = 'recipe = "countdown-demo"\nname = "from a file"\ntags = ["kept"]\n'
    toml += '[method]\nc1 = "1/4"\n[training]\nsteps = 7\n'
    content = {
        "recipe": "countdown-demo",
        "name": "from a file",
        "tags": ["kept"],
        "method": {"c1": "1/4"},
        "training.steps": 7,
    }
    path.write_text(toml if suffix == ".toml" else json.dumps(content))
    run = admin.run(cli("submit", str(path), "--set", "training.steps=9").stdout.strip())
    assert (run.name, run.tags, run.num_steps, run.explicit["method"]["c1"]) == ("from a file", ["kept"], 9, "1/4")
    path.write_text("[nonsense")
    assert f"file = {str(path)!r}: not readable as" in cli("submit", str(path), code=2).stderr


def test_a_dry_run_says_what_changes_and_submits_nothing(cli: Cli, admin: Client) -> None:
    before = admin.runs().total
    shown = cli("submit", "countdown-demo", "--set", "method.c1=0.25", "--dry-run")
    assert [line.split() for line in lines(shown)][1:] == [
        ["field", "recipe", "this", "run"],
        ["method.c1", "0.125", "0.25"],
    ]
    assert admin.runs().total == before


def test_runs_are_listed_filtered_and_sorted(cli: Cli, trained: RunDetail) -> None:
    header, row = lines(cli("runs", trained.id))
    assert header.split()[:4] == ["id", "name", "status", "step"]
    assert row.startswith(f"{trained.id}  a trained run  succeeded  3/150   0.500  50.0 %   +25.0")
    assert lines(cli("runs", "--ids", "--status", "succeeded", "--min-best", "0.4", trained.id)) == [trained.id]
    page = json.loads(cli("runs", trained.id, "--json").stdout)
    assert (page["total"], page["items"][0]["id"]) == (1, trained.id)
    narrow = cli("runs", trained.id, "--columns", "id,best")
    assert lines(narrow)[1].split() == [trained.id, "50.0", "%"]
    assert "there is no such column" in cli("runs", "--sort", "nonsense", code=2).stderr
    sized = cli(
        "runs", trained.id, "--where", "config.rollout.group_size>=1", "--columns", "id,config.rollout.group_size"
    )
    assert lines(sized)[1].split() == [trained.id, str(trained.config["rollout"]["group_size"])]
    grouped = lines(cli("runs", trained.id, "--group-by", "method"))
    assert grouped[1].split()[:4] == ["BAPO", "1", "1", "succeeded"]
    assert "'moon': choose from id, name" in cli("runs", "--columns", "moon", code=2, COLUMNS="400").stderr
    assert cli("runs", "no run has these words").stdout == ""


def test_more_runs_than_a_page_are_fetched_page_by_page(
    cli: Cli, admin: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = [admin.create_run(RunCreate(name="many", tags=["many"], start=False)).id for _ in range(5)]
    monkeypatch.setattr("bapo.cli.runs.PAGE", 2)
    assert lines(cli("runs", "--tag", "many", "--ids", "-n", "5")) == made[::-1]
    assert lines(cli("runs", "--tag", "many", "--ids", "-n", "3")) == made[:1:-1]


def test_a_run_is_found_by_id_beginning_and_name(cli: Cli, admin: Client) -> None:
    one = admin.create_run(RunCreate(name="the one with blanks", start=False))
    for wanted in (one.id, one.id[:7], "the one with blanks"):
        assert json.loads(cli("show", wanted, "--json").stdout)["id"] == one.id
    other = admin.create_run(RunCreate(name="the one with blanks", start=False))
    ambiguous = cli("show", "the one with blanks", code=2).stderr
    assert "several runs are called" in ambiguous
    assert one.id in ambiguous
    assert other.id in ambiguous
    assert "no run has the id or the name 'nowhere'" in cli("show", "nowhere", code=2).stderr


def test_a_run_is_shown(cli: Cli, trained: RunDetail, admin: Client) -> None:
    admin.update_run(trained.id, RunUpdate(notes="**bold** claim"))
    shown = cli("show", trained.id).stdout
    for part in (
        "a trained run",
        "succeeded",
        "3 of 150 steps (2%)",
        "25.0 % → 50.0 %, best 50.0 % at step 3",
        "**bold**",
    ):
        assert part in shown
    assert 'method.type = "bapo"' in lines(cli("show", trained.id, "--config"))
    assert "created" in cli("show", trained.id, "--history").stdout
    assert json.loads(cli("show", trained.id, "--history", "--json").stdout)["audit"]


def test_somebodys_text_commands_no_terminal(cli: Cli, admin: Client) -> None:
    run = admin.create_run(RunCreate(name="[bold]alert[/bold]", notes="red\x1b[31m \x1b]0;title\x07", start=False))
    for arguments in (("runs", run.id), ("show", run.id), ("note", run.id), ("start", run.id)):
        shown = cli(*arguments).stdout
        assert "\x1b" not in shown
        assert "\x07" not in shown
    # Nor is it markup.
    assert "[bold]alert[/bold]" in cli("runs", run.id).stdout


def test_one_thing_is_done_to_several_runs_and_a_refusal_shows(cli: Cli, admin: Client, trained: RunDetail) -> None:
    waiting = admin.create_run(RunCreate(name="waits", recipe="countdown-demo", priority=0))
    result = cli("stop", trained.id, waiting.id, code=1)
    assert result.stdout == f"{waiting.id} waits: cancelled\n"
    assert trained.id in result.stderr
    assert cli("archive", waiting.id).stdout == f"{waiting.id} waits: archived\n"
    assert admin.run(waiting.id).archived_at is not None
    cli("unarchive", waiting.id)
    starred = json.loads(cli("star", waiting.id, "--json").stdout)
    assert (starred["num_done"], starred["results"][0]["run_id"]) == (1, waiting.id)
    assert admin.run(waiting.id).is_starred
    cli("tag", "odd", waiting.id)
    assert admin.run(waiting.id).tags == ["odd"]
    cli("tag", "odd", waiting.id, "--remove")
    cli("rename", waiting.id, "renamed")
    cli("note", waiting.id, "first")
    cli("note", waiting.id, "-", "--append", text="second")
    assert (admin.run(waiting.id).name, admin.run(waiting.id).notes) == ("renamed", "first\n\nsecond")
    assert cli("note", waiting.id).stdout == "first\n\nsecond\n"


def test_deleting_asks_or_is_told(cli: Cli, admin: Client) -> None:
    run = admin.create_run(RunCreate(name="superfluous", start=False))
    assert "give --yes to confirm: this would permanently delete" in cli("delete", run.id, "--now", code=2).stderr
    assert cli("delete", run.id).stdout == f"{run.id} superfluous: in the trash for 14 days\n"
    assert run.id in cli("trash", "list").stdout
    assert cli("trash", "restore", run.id[:8]).stdout == f"{run.id} superfluous: restored\n"
    assert "no run in the trash has an id that begins with" in cli("trash", "restore", run.id, code=2).stderr
    assert cli("delete", run.id, "--now", "--yes").stdout == f"{run.id} superfluous: deleted\n"
    assert cli("trash", "empty", "--yes").stderr == "the trash is empty\n"
    cli("show", run.id, code=2)


def test_a_running_run_is_steered(cli: Cli, admin: Client, worker: FakeWorker) -> None:
    run = admin.create_run(RunCreate(name="steered", recipe="countdown-demo"))
    worker.begin(run)
    said = cli("steer", run.id, "--set", "method.c1=0.25", "--at-step", "20").stdout
    assert said == f"{run.id} steered: method.c1 = 0.25, from step 20 on\n"
    assert [control.set for control in admin.history(run.id).controls] == [{"method.c1": 0.25}]
    assert "method.nonsense" in cli("steer", run.id, "--set", "method.nonsense=1", code=2).stderr
    assert cli("pause", run.id).stdout == f"{run.id} steered: pausing\n"


def test_the_log_is_printed_searched_and_cut(cli: Cli, trained: RunDetail) -> None:
    assert lines(cli("logs", trained.id)) == ["loading the model", "step 1", "warning: slow disk", "done"]
    assert lines(cli("logs", trained.id, "--tail", "2")) == ["warning: slow disk", "done"]
    assert lines(cli("logs", trained.id, "--grep", "WARNING|done", "-i")) == ["warning: slow disk", "done"]
    assert lines(cli("logs", trained.id, "-n", "0", "--follow")) == []
    assert "not a regular expression" in cli("logs", trained.id, "--grep", "(", code=2).stderr
    as_json = lines(cli("logs", trained.id, "--tail", "2", "--json"))
    assert [json.loads(line) for line in as_json] == [{"line": "warning: slow disk"}, {"line": "done"}]


def test_the_log_of_one_attempt_is_printed(cli: Cli, admin: Client, worker: FakeWorker) -> None:
    run = admin.create_run(RunCreate(name="tried twice", recipe="countdown-demo"))
    claim = worker.begin(run)
    worker.upload_lines(claim, ["the first try", "killed"], "log")
    worker.report(claim, "lost", "killed")
    wait_until(lambda: admin.run(run.id).status == "queued")
    worker.upload_lines(worker.begin(run), ["the second try"], "log")
    assert lines(cli("logs", run.id)) == ["the first try", "killed", "the second try"]
    assert lines(cli("logs", run.id, "--attempt", "1")) == ["the first try", "killed"]
    assert lines(cli("logs", run.id, "--attempt", "2", "--grep", "try")) == ["the second try"]
    refused = cli("logs", run.id, "--attempt", "3", code=2).stderr
    assert "attempt = 3: the run has had 2 attempts" in refused


def test_watching_tells_what_happens_and_ends_with_the_run(
    cli: Cli, admin: Client, worker: FakeWorker, trained: RunDetail
) -> None:
    run = admin.create_run(RunCreate(name="watched", recipe="countdown-demo"))
    results: list[Result] = []
    watching = threading.Thread(target=lambda: results.append(cli("watch", run.id, trained.id, code=5)))
    claim = worker.begin(run)
    watching.start()
    worker.upload(claim, [evaluation(0, 0.25), *(step(number) for number in range(1, 40))])
    wait_until(lambda: admin.run(run.id).step == 39)
    worker.report(claim, "failed", "out of memory")
    watching.join(60)
    said = lines(results[0])
    # Its last steps and its end come together: the end is the last line.
    assert [line for line in said if line.startswith(trained.id)][-1] == f"{trained.id} a trained run: succeeded"
    assert f"{run.id} watched: failed: out of memory" in said
    assert any(
        line.startswith(f"{run.id} watched: step 39/150; reward 0.500; X1 16, X2 0, X3 4 of 32; CD-34 avg@8 25.0 %")
        for line in said
    )


@pytest.mark.parametrize(("status", "code"), [("succeeded", 0), ("failed", 5)])
def test_the_exit_code_of_a_wait_tells_the_outcome(
    cli: Cli, admin: Client, worker: FakeWorker, status: str, code: int
) -> None:
    run = admin.create_run(RunCreate(name="waited for", recipe="countdown-demo"))
    worker.report(worker.begin(run), status)
    assert cli("watch", run.id, code=code, text="").stdout.endswith(f"{status}\n")
    assert json.loads(cli("watch", run.id, "--json", code=code).stdout)[0]["status"] == status


def test_a_watch_can_have_enough(cli: Cli, admin: Client) -> None:
    run = admin.create_run(RunCreate(name="never starts", recipe="countdown-demo", start=False))
    assert "timed out" in cli("watch", run.id, "--timeout", "0.5", code=8).stderr
    admin.start(run.id)
    admin.stop(run.id)
    cli("watch", run.id, code=6)


def test_metrics_are_exported(cli: Cli, trained: RunDetail, tmp_path: Path) -> None:
    text = cli("export", "metrics", trained.id, "--keys", "critic/rewards/mean,bapo/batch/x*").stdout
    rows = list(csv.DictReader(io.StringIO(text)))
    assert [row["step"] for row in rows] == ["1", "2", "3"]
    assert [row["critic/rewards/mean"] for row in rows] == ["0.25", "0.5", "0.75"]
    assert {row["run"] for row in rows} == {"a trained run"}
    cli("export", "metrics", trained.id, "-o", str(tmp_path / "all.parquet"))
    table = parquet.read_table(tmp_path / "all.parquet")
    assert table.column("step").to_pylist() == [0, 1, 2, 3]
    assert table.column("critic/rewards/mean").to_pylist() == [None, 0.25, 0.5, 0.75]
    cli("export", "metrics", trained.id, "-o", str(tmp_path / "all.json"))
    assert len(json.loads((tmp_path / "all.json").read_text())) == 4
    assert "no metric of these runs" in cli("export", "metrics", trained.id, "--keys", "moon", code=1).stderr
    assert "name a file with --out" in cli("export", "metrics", trained.id, "--format", "parquet", code=2).stderr


def test_all_metrics_are_exported_where_they_take_several_requests(
    cli: Cli, trained: RunDetail, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cli("export", "metrics", trained.id, "-o", str(tmp_path / "whole.csv"))
    whole = (tmp_path / "whole.csv").read_text()
    assert all(any(column) for column in zip(*csv.reader(whole.splitlines()[1:]), strict=True))
    # In a run of more than 200 metrics, the last request asks for fewer.
    monkeypatch.setattr(export, "KEYS_AT_ONCE", 7)
    cli("export", "metrics", trained.id, "-o", str(tmp_path / "parts.csv"))
    assert (tmp_path / "parts.csv").read_text() == whole


def test_records_and_the_run_list_are_exported(cli: Cli, admin: Client, trained: RunDetail, tmp_path: Path) -> None:
    records = [json.loads(line) for line in lines(cli("export", "records", trained.id, "--type", "evaluation"))]
    assert [record["step"] for record in records] == [0, 3]
    admin.create_run(RunCreate(name="=1+1", tags=["formula"], start=False))
    rows = list(csv.DictReader(io.StringIO(cli("export", "runs", "--tag", "formula").stdout)))
    assert [row["name"] for row in rows] == ["'=1+1"]
    cli("export", "runs", trained.id, "-o", str(tmp_path / "runs.parquet"))
    assert parquet.read_table(tmp_path / "runs.parquet").column("id").to_pylist() == [trained.id]


def test_workers_and_queue_are_shown(cli: Cli, admin: Client, worker: FakeWorker) -> None:
    assert "w1" in cli("workers").stdout
    assert json.loads(cli("workers", "--json").stdout)["items"][0]["name"] == "w1"
    assert json.loads(cli("queue", "--json").stdout)["workers"]


def test_runs_are_compared_and_replayed(cli: Cli, trained: RunDetail) -> None:
    assert "Results" in cli("compare", trained.id, trained.id[:8]).stdout
    assert json.loads(cli("compare", trained.id, "--json").stdout)["groups"]


def test_a_login_is_saved_for_its_owner_alone(backend_server: BackendServer, tmp_path: Path) -> None:
    runner = CliRunner()
    here = {"XDG_CONFIG_HOME": str(tmp_path)}

    def call(*arguments: str, text: str | None = None, code: int = 0) -> Result:
        result = runner.invoke(app, list(arguments), env=here, input=text)
        assert result.exit_code == code, result.output
        return result

    token = backend_server.admin_token
    assert (
        "saved as 'team'" in call("login", backend_server.url, "--name", "team", "--token-file", "-", text=token).stdout
    )
    saved = tmp_path / "bapo" / "servers.json"
    assert stat.S_IMODE(saved.stat().st_mode) == 0o600
    assert call("whoami").stdout == f"admin (admin) at {backend_server.url}\n"
    assert json.loads(call("whoami", "--json").stdout)["user"]["role"] == "admin"
    assert call("whoami", "--server", "team").stdout.startswith("admin")
    assert call("runs", "--limit", "1").exit_code == 0
    refused = call("login", backend_server.url, "--name", "team", "--token-file", "-", text="wrong", code=4)
    assert "valid token" in refused.stderr
    assert token not in refused.output
    # What was saved before is still there.
    assert [each["name"] for each in json.loads(call("whoami", "--all", "--json").stdout)["items"]] == ["team"]
    assert "no server is saved as 'other'" in call("whoami", "--server", "other", code=4).stderr
    # A saved token goes to its own server only.
    elsewhere = call("runs", "--server", "http://127.0.0.1:9", code=4).stderr
    assert "no token for http://127.0.0.1:9" in elsewhere
    assert call("logout").stdout == f"forgot 'team' ({backend_server.url})\n"
    assert token not in saved.read_text()
    saved.write_text("{")
    assert "is damaged" in call("whoami", code=2).stderr


def test_ends_differ_by_what_went_wrong(cli: Cli, tmp_path: Path) -> None:
    away = cli("runs", code=3, BAPO_SERVER="http://127.0.0.1:9").stderr
    assert away.startswith("the server cannot be reached (")
    assert len(away.strip().splitlines()) == 1
    stranger = cli("runs", code=4, BAPO_TOKEN="wrong").stderr.splitlines()
    assert stranger[0].startswith("log in, or send")
    assert stranger[1].startswith("(HTTP 401 not_authenticated, request ")
    assert "No such option" in cli("runs", "--nonsense", code=2).stderr
    assert "--token-file" in cli("runs", code=4, BAPO_TOKEN="", XDG_CONFIG_HOME=str(tmp_path)).stderr


def asked(words: Sequence[str]) -> dict[str, str]:
    """What bash puts into the environment to ask for the last word."""
    return {
        "_BAPO_COMPLETE": "complete_bash",
        "COMP_WORDS": " ".join(words),
        "COMP_CWORD": str(len(words) - 1),
    }


def complete(words: Sequence[str], **environment: str) -> list[str]:
    """What bash would offer for the last word."""
    return run_here(env=environment | asked(words)).stdout.split()


def test_words_are_completed_from_the_server_and_without_it(backend_server: BackendServer, trained: RunDetail) -> None:
    there: dict[str, Any] = {"BAPO_SERVER": backend_server.url, "BAPO_TOKEN": backend_server.admin_token}
    # A busy server may take longer than the second that a shell waits for it; whoever presses Tab again has the word.
    wait_until(lambda: trained.id in complete(["bapo", "show", trained.id[:5]], **there))
    assert complete(["bapo", "submit", "countdown-g"], **there) == ["countdown-grpo"]
    away = {"BAPO_SERVER": "http://127.0.0.1:9", "BAPO_TOKEN": "x"}
    assert complete(["bapo", "show", "k"], **away) == []
    assert complete(["bapo", "submit", "countdown-g"], **away) == ["countdown-grpo"]
    assert complete(["bapo", "submit", "countdown-demo", "--set", "method.c1"], **away) == ["method.c1="]
    assert {"star", "start", "steer", "stop"} <= set(complete(["bapo", "st"]))


def test_a_shell_completes_with_the_installed_program() -> None:
    script = """
    eval "$(bapo completion bash)"
    COMP_WORDS=(bapo st) COMP_CWORD=1
    _bapo_completion bapo
    printf '%s\\n' "${COMPREPLY[@]}"
    """
    path = os.pathsep.join((str(Path(sys.executable).parent), os.environ["PATH"]))
    done = subprocess.run(
        ["bash", "-c", script], env=os.environ | {"PATH": path}, capture_output=True, text=True, check=True
    )
    assert {"star", "start", "steer", "stop"} <= set(done.stdout.split()), done.stderr


def test_a_grid_is_read_and_steered_as_one_study(cli: Cli, admin: Client) -> None:
    made = cli("submit", "countdown-demo", "--sweep", "method.c1=1/8,1/4", "--name", "as one", "--draft")
    identifiers = lines(made)
    study = made.stderr.split()[1].rstrip(":")
    assert lines(cli("study", "show", study, "--ids")) == identifiers
    [row] = [line for line in cli("study", "list").stdout.splitlines() if "as one" in line]
    assert "method.c1" in row
    assert "c1=1/4" in cli("study", "show", study).stdout
    assert study in cli("show", identifiers[0]).stdout
    assert cli("study", "start", study).stdout == f"{study}: start done to 2 runs, 0 left as they are\n"
    cli("study", "stop", "--when", "now", study)
    assert {admin.run(each).status for each in identifiers} <= {"cancelled", "stopping"}
    assert "no report" in cli("study", "report", study, code=1).stderr


def test_settings_are_tried_from_a_checkpoint(cli: Cli, admin: Client, worker: FakeWorker) -> None:
    parent = make_parent(admin, worker, "forked from a shell")
    arms = ("fork", parent.id, "--step", "2", "--arm", "method.c1=1/4 method.v=3")
    assert "belong" not in cli(*arms, "--for", "2", "--dry-run").output
    assert "an experiment needs --for STEPS" in cli(*arms, code=2).stderr
    assert "give --arm too" in cli("fork", parent.id, "--step", "2", "--for", "2", code=2).stderr
    assert "has no checkpoint of step 3" in cli(*arms, "--for", "2", "--also", f"{parent.id}:3", code=2).stderr
    assert "write RUN:STEP" in cli(*arms, "--for", "2", "--also", parent.id, code=2).stderr
    refused = cli(*arms, "--arm", "rollout.group_size=4", "--for", "2", "--dry-run", code=2)
    assert "1 of 3 runs are invalid" in refused.stderr
    made = cli(*arms, "--for", "2", "--name", "from a shell")
    identifiers = lines(made)
    study = made.stderr.split()[1].rstrip(":")
    assert [run.run_id for run in admin.study(study).runs] == identifiers
    for run, answers in zip(admin.study(study).runs, ((2, 2, 2, 2), (4, 4, 4, 3)), strict=True):
        train(admin, worker, run, answers)
    shown = cli("study", "show", study)
    assert "c1 = 1/4, v = 3" in shown.stdout
    assert "+21.9 points [+11.9, +31.8]" in shown.stdout
    assert "cannot tell a setting from chance" in shown.stderr
    assert "repeats its parent in all 2 common steps" in shown.stderr
    assert json.loads(cli("study", "arms", study, "--json").stdout)["read_at"] == 2
    [continued] = lines(cli("study", "continue", study, "1"))
    assert (admin.run(continued).fork_step, admin.run(continued).num_steps) == (4, 8)
    assert "give a number from 0 to 1" in cli("study", "continue", study, "2", code=1).stderr


def test_a_study_is_submitted_read_and_stopped_as_one(cli: Cli, admin: Client, tmp_path: Path) -> None:
    file = tmp_path / "pair.toml"
    file.write_text(
        'title = "A pair"\nquestion = "Which?"\nrecipe = "countdown-demo"\nseeds = [1]\ntest_sets = ["CD-34"]\n'
        'num_runs = 2\n[[arms]]\nname = "A"\nmethod = "bapo"\n[[arms]]\nname = "B"\nmethod = "grpo"\n'
        '[primary]\narm = "A"\nagainst = "B"\n'
    )
    assert "A pair: 2 runs" in cli("study", "submit", str(file), "--dry-run").stdout
    assert "One seed shows no difference" in cli("study", "submit", str(file), "--dry-run").stdout
    assert (
        "at least 8 runs"
        in cli("study", "importance", lines(cli("study", "submit", str(file), "--key", "pair-1"))[0]).stderr
    )
    [study] = lines(cli("study", "submit", str(file), "--key", "pair-1"))
    assert lines(cli("study", "submit", str(file), "--key", "pair-1")) == [study]
    identifiers = lines(cli("study", "show", study, "--ids"))
    assert [admin.run(each).method for each in identifiers] == ["bapo", "grpo"]
    assert "A pair" in cli("study", "list").stdout
    assert json.loads(cli("study", "show", study, "--json").stdout)["num_seeds"] == 1
    assert cli("study", "change", study, "stop").stdout == f"{study}: stop done to 2 runs, 0 left as they are\n"
    assert "0 of 2 declared runs are done" in cli("study", "report", study).stdout
    out = tmp_path / "report.json"
    cli("study", "report", study, "--out", str(out))
    assert json.loads(out.read_text())["title"] == "A pair"
    assert "end it in .md, .html, .json" in cli("study", "report", study, "--out", "report.txt", code=2).stderr
    cli("study", "change", study, "dance", code=2)
    file.write_text(file.read_text().replace("grpo", "gripo"))
    assert "arms.B.method = 'gripo'" in cli("study", "submit", str(file), code=2).stderr


def test_the_queue_is_held_released_and_ordered(cli: Cli, admin: Client, tmp_path: Path) -> None:
    # Far more memory than any worker has: they wait.
    waiting = [
        admin.create_run(
            RunCreate(name=f"big {number}", recipe="countdown-demo", changes={"resources.memory_gib": 900_000})
        )
        for number in (1, 2)
    ]
    first, second = waiting
    assert first.id in cli("queue").stdout
    assert cli("queue", "hold", first.id).stdout == f"{first.id} big 1: held\n"
    assert "held by admin" in cli("queue").stdout
    cli("queue", "release", first.id)
    cli("queue", "priority", "80", second.id)
    assert admin.run(second.id).priority == 80
    assert ": now number " in cli("queue", "move", first.id, "--before", second.id).stdout
    assert "give one of --before" in cli("queue", "move", first.id, code=2).stderr
    assert cli("queue", "limit", "admin", "3").stdout == "admin: at most 3 at a time\n"
    assert "admin" in cli("queue", "limits").stdout
    cli("queue", "limit", "admin")
    cli("stop", first.id, second.id)


def test_a_worker_is_drained_and_takes_runs_again(cli: Cli, worker: FakeWorker) -> None:
    worker.heartbeat()
    assert cli("drain", "w1").stdout.startswith("w1: draining")
    assert "draining" in cli("workers").stdout
    assert cli("drain", "w1", "--undo").stdout == "w1: takes runs again\n"
    assert "no worker is called 'w9'" in cli("drain", "w9", code=2).stderr


def test_a_failed_run_is_tried_again(cli: Cli, admin: Client, worker: FakeWorker) -> None:
    run = admin.create_run(RunCreate(name="unlucky", recipe="countdown-demo"))
    worker.report(worker.begin(run), "failed", "out of memory")
    assert cli("retry", run.id).stdout == f"{run.id} unlucky: queued\n"
    cli("stop", run.id)


def test_people_projects_and_tokens_are_looked_after(
    cli: Cli, backend_server: BackendServer, tmp_path: Path, admin: Client
) -> None:
    assert cli("projects", "create", "planning", "--description", "plans").stdout == "planning: created\n"
    added = cli("users", "add", "ada", "--project", "planning")
    code = added.stdout.strip().rpartition("code=")[2]
    with Client(backend_server.url) as ada:
        ada.set_password(PasswordSet(code=code, password="a rather long one"))
    assert "ada" in cli("projects", "members", "planning").stdout
    assert cli("projects", "add", "planning", "ada", "--role", "admin").stdout == "planning: ada is admin\n"

    here = {"XDG_CONFIG_HOME": str(tmp_path)}
    login = ["login", backend_server.url, "--user", "ada", "--password-file", "-"]
    result = CliRunner().invoke(app, login, env=here, input="a rather long one\n")
    assert result.exit_code == 0, result.output
    assert "a rather long one" not in (tmp_path / "bapo" / "servers.json").read_text()
    assert CliRunner().invoke(app, ["whoami"], env=here).stdout == f"ada (member) at {backend_server.url}\n"
    wrong = CliRunner().invoke(app, login, env=here, input="not that one\n")
    assert wrong.exit_code == 4, wrong.output
    run = CliRunner().invoke(app, ["submit", "countdown-demo", "--draft", "--project", "planning"], env=here)
    assert admin.run(run.stdout.strip()).project == "planning"

    secret = cli("tokens", "create", "CI", "--scope", "read", "--days", "7")
    with Client(backend_server.url, token=secret.stdout.strip()) as reader:
        assert reader.me().name == "admin"
    token_id = secret.stderr.split()[0]
    assert "CI" in cli("tokens", "list").stdout
    assert secret.stdout.strip() not in cli("tokens", "list", "--json").stdout
    assert cli("tokens", "revoke", token_id).stdout == f"{token_id}: revoked\n"
    assert "token has no scopes" in cli("tokens", "create", "x", "--worker", "--scope", "read", code=2).stderr
    cli("users", "role", "ada", "viewer")
    assert cli("users", "email", "ada", "ada@example.org").stdout == "ada: ada@example.org\n"
    assert cli("users", "disable", "ada").stdout == "ada: viewer, disabled\n"
    assert "ada" in cli("users", "list").stdout
    assert cli("audit").stdout.count("\n") > 3


def test_alerts_and_webhooks_are_set_up(cli: Cli, trained: RunDetail) -> None:
    tried = cli("alerts", "rules", "try", "fill_rate", "--with", "below=0.9", "--with", "steps=2", "--run", trained.id)
    assert "1 alerts in the 1 newest runs" in tried.stderr
    made = cli("alerts", "rules", "add", "batches", "fill_rate", "--with", "below=0.9").stdout
    assert made.split()[1] == "batches:"
    assert "batches" in cli("alerts", "rules", "list").stdout
    gone = cli("alerts", "rules", "delete", made.split()[0], "--json")
    assert json.loads(gone.stdout) == {"id": made.split()[0], "done": "deleted"}
    assert "below" in cli("alerts", "rules", "add", "x", "fill_rate", "--with", "below=7", code=2).stderr
    cli("alerts", "list", "--state", "all")
    secret = cli("webhooks", "add", "hook", "https://hooks.example.org/x", "--event", "run.failed")
    assert secret.stdout.strip()
    hook = secret.stderr.split()[0]
    assert "hook" in cli("webhooks", "list").stdout
    assert cli("webhooks", "deliveries", hook).stdout
    assert cli("webhooks", "delete", hook).stdout == f"{hook}: deleted\n"
    assert (
        "nonsense" in cli("webhooks", "add", "y", "https://hooks.example.org/x", "--event", "nonsense", code=2).stderr
    )


def test_checkpoints_and_downloads_say_what_there_is(cli: Cli, trained: RunDetail) -> None:
    assert "keeps no checkpoint" in cli("checkpoints", trained.id).stderr
    assert "keeps no checkpoint" in cli("fork", trained.id, code=1).stderr
    assert "no files requested yet" in cli("artifacts", "list", trained.id).stderr
    assert "'moon' is none of" in cli("artifacts", "get", trained.id, "moon", code=2).stderr


def test_prices_are_set_and_listed(cli: Cli, admin: Client, worker: FakeWorker) -> None:
    done = cli("prices", "set", "0.25", "--slot")
    assert done.output == "slot: 0.25 USD an hour from the beginning\n"
    cli("prices", "set", "3", "--slot", "--gpu", "x", code=2)
    refusal = cli("prices", "set", "3", "--worker", "nobody", code=2).stderr
    assert f"no worker has that name: give one of {worker.body.name}" in refusal
    assert cli("prices", "currency", "eur", "--rate", "2").output == "all prices are in EUR\n"
    listed = cli("prices", "list").output
    assert "per hour, in EUR; 1 change\n" in listed
    assert admin.prices().items[1].hour_price == 0.5


def test_worked_solutions_are_no_answers_and_structures_are(
    cli: Cli, admin: Client, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("backend.files.uploads.checker.read_isolated", lambda check, job, **_: check(job))
    file = tmp_path / "pens.jsonl"
    rows = [{"question": f"{n} + 1 pens?", "answer": f"It is {n}+1={n + 1} pens.\n#### {n + 1}"} for n in range(60)]
    file.write_text("".join(json.dumps(row) + "\n" for row in rows))
    upload = ("data", "upload", str(file), "--name", "pens", "--yes")
    refused = cli(*upload, "--column", "answer=answer", code=2).stderr
    assert "problem: No response can be right: the answers are whole texts" in refused
    assert "--column 'answer=answer####'" in refused
    taken = cli(*upload)
    assert "answer=answer####" in taken.stderr
    assert "warning: The answers in answer are whole texts" in taken.stderr
    (info,) = [each for each in admin.resources().items if each.name == "pens"]
    assert [row[0] for row in admin.resource_preview(info.id).rows[:2]] == ["1", "2"]
    own = ("data", "upload", "examples/own_task/problems.jsonl", "--name", "own", "--column", "answer=answer", "--yes")
    assert "answer=answer, prompt=prompt; verifier math" in cli(*own).stderr


def test_own_data_is_uploaded_checked_and_registered(
    cli: Cli, admin: Client, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # That a check has a process to itself is for tests/bapo/own_data/test_check.py.
    monkeypatch.setattr("backend.files.uploads.checker.read_isolated", lambda check, job, **_: check(job))
    rows = [{"question": f"{n} + {n} = ?", "answer": 2 * n, "level": n % 3} for n in range(60)]
    file = tmp_path / "sums.jsonl"
    file.write_text("".join(json.dumps(row) + "\n" for row in [*rows, rows[0]]))
    upload = ("data", "upload", str(file), "--name", "sums", "--licence", "MIT")
    # The warning is told, and nothing is registered before it is accepted; the second try sends nothing again.
    refused = cli(*upload, code=1)
    assert "warning: 1 row" in refused.stderr
    assert "run the command again with --yes" in refused.stderr
    assert lines(cli(*upload, "--yes")) == ["@sums is version 1"]
    told = cli(*upload, "--yes", "--verifier", "exact", "--json")
    assert json.loads(told.stdout)["is_new"] is False
    (info,) = [each for each in admin.resources().items if each.name == "sums"]
    assert (info.details["num_rows"], info.versions[0].licence) == (60, "MIT")
    wrong = cli(*upload, "--column", "question", code=2)
    assert "give OURS=THEIRS" in wrong.stderr
    file.write_text('{"what": 1}\n')
    unknown = cli(*upload, code=2)
    assert "--column prompt=COLUMN" in unknown.stderr
    assert "(found: what)" in unknown.stderr
    file.write_bytes(b"PAR1")
    assert "let its name end in .parquet" in cli(*upload, code=2).stderr
    # An address is the server's to fetch, and this one fetches nothing.
    fetched = cli("data", "upload", "https://example.org/sums.jsonl", "--name", "sums", code=1)
    assert "ask an administrator to permit hosts in BAPO_UPLOAD_HOSTS" in fetched.stderr
