"""Data sets, models and verifiers under a name."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

import pyarrow
import pyarrow.parquet
import pytest

from bapo.api.configs import ConfigDraft
from bapo.api.resources import ResourceCreate, ResourceInfo
from bapo.api.runs import RunCreate
from bapo.client import ApiError, Client
from tests.support.services import running_backend

ROWS = [{"nums": [3, index], "target": 3 + index} for index in range(1, 31)]


@pytest.fixture(scope="module")
def roots(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A permitted folder with one of each."""
    folder = tmp_path_factory.mktemp("permitted")
    (folder / "train.jsonl").write_text("".join(json.dumps(row) + "\n" for row in ROWS))
    pyarrow.parquet.write_table(pyarrow.Table.from_pylist(ROWS), folder / "train.parquet", row_group_size=7)
    (folder / "model").mkdir()
    (folder / "model" / "config.json").write_text(json.dumps({"model_type": "qwen2", "hidden_size": 96}))
    (folder / "mine.py").write_text("def reward(problem, response):\n    return 1\n\n\ndef bad(problem): ...\n")
    (folder / "broken.jsonl").write_text('{"nums": [1, 2], "target": 3}\nnot json\n')
    return folder


@pytest.fixture(scope="module")
def server_settings(roots: Path) -> Mapping[str, object]:
    return {"resource_roots": str(roots)}


def register(client: Client, kind: str, name: str, path: Path, **fields: str) -> ResourceInfo:
    return client.register_resource(
        ResourceCreate.model_validate({"kind": kind, "name": name, "path": str(path), **fields})
    )


def refused(client: Client, kind: str, name: str, path: object, **fields: str) -> ApiError:
    with pytest.raises(ApiError) as caught:
        client.register_resource(
            ResourceCreate.model_validate({"kind": kind, "name": name, "path": str(path), **fields})
        )
    return caught.value


@pytest.mark.parametrize("suffix", ["jsonl", "parquet"])
def test_a_data_set_is_counted_and_shown_row_by_row(admin: Client, roots: Path, suffix: str) -> None:
    info = register(admin, "dataset", f"planning-{suffix}", roots / f"train.{suffix}", description="thirty problems")
    assert info.details["num_rows"] == 30
    assert info.details["columns"] == ["nums", "target"]
    assert info.fields == ["task.train_file", "task.test_file", "task.test_files"]
    # Rows 12 and 13, counted from 0, lie on both sides of no row group's end; 13 and 14 do (groups of 7).
    shown = admin.resource_preview(info.id, offset=12, limit=3)
    assert (shown.columns, shown.num_rows) == (["nums", "target"], 30)
    assert shown.rows == [[[3, 13], 16], [[3, 14], 17], [[3, 15], 18]]
    assert admin.resource_preview(info.id, offset=29).rows == [[[3, 30], 33]]
    assert admin.resource_preview(info.id, offset=30).rows == []


def test_a_model_shows_its_config_and_a_verifier_its_source(admin: Client, roots: Path) -> None:
    model = register(admin, "model", "tiny", roots / "model")
    assert model.details["model_type"] == "qwen2"
    assert ["hidden_size", 96] in admin.resource_preview(model.id).rows
    verifier = register(admin, "verifier", "lenient", roots / "mine.py", function="reward")
    assert verifier.details["signature"] == "reward(problem, response)"
    text = admin.resource_preview(verifier.id).text
    assert text is not None
    assert text.startswith("def reward(problem, response):")


def test_a_run_refers_to_it_by_name_and_is_listed(admin: Client, roots: Path) -> None:
    data = register(admin, "dataset", "by-name", roots / "train.jsonl")
    other = register(admin, "dataset", "same-file", roots / "train.jsonl")
    verifier = register(admin, "verifier", "by-name", roots / "mine.py", function="reward")
    before = len(admin.resource_runs(data.id).items)
    changes = {"task.train_file": "@by-name", "task.verifier": "@by-name", "task.num_test": 2}
    run = admin.create_run(RunCreate(name="named", recipe="countdown-demo", changes=changes, start=False))
    assert run.config["task"]["train_file"] == str(roots / "train.jsonl")
    assert run.config["task"]["verifier"] == f"{roots / 'mine.py'}:reward"
    # By path it is the same use, under whichever name the file is registered.
    assert [(use.id, use.field) for use in admin.resource_runs(verifier.id).items] == [(run.id, "task.verifier")]
    assert len(admin.resource_runs(data.id).items) == before + 1
    counts = {info.id: info.num_runs for info in admin.resources().items}
    assert counts[data.id] == counts[other.id] == before + 1


def test_workers_run_only_files_that_an_administrator_has_registered(admin: Client, roots: Path) -> None:
    def submit(verifier: str) -> str:
        changes = {"task.verifier": verifier}
        run = admin.create_run(RunCreate(name="own", recipe="countdown-demo", changes=changes, start=False))
        return str(run.config["task"]["verifier"])

    reference = f"{roots / 'mine.py'}:bad"
    for unknown in (reference, f"{roots / 'mine.py'}:reward2", "/etc/evil.py:reward"):
        with pytest.raises(ApiError) as caught:
            submit(unknown)
        body = caught.value.body
        assert (caught.value.status, body.field, body.value) == (422, "task.verifier", unknown)
        assert "workers run only files that an administrator registered" in body.remedy
    info = register(admin, "verifier", "theirs", roots / "mine.py", function="reward")
    assert submit(f"{roots / 'mine.py'}:reward") == submit("@theirs")
    admin.remove_resource(info.id)
    # Names of installed verifiers need no registering; others are refused with those that there are.
    assert submit("exact") == "exact"
    with pytest.raises(ApiError) as caught:
        submit("os:system")
    assert caught.value.body.field == "task.verifier"


def test_a_task_of_files_refers_to_several_data_sets(admin: Client, roots: Path) -> None:
    for name, rows in (("sums", 40), ("aime", 3), ("amc", 5)):
        lines = [json.dumps({"prompt": f"{name} {n}", "answer": n}) for n in range(rows)]
        (roots / f"{name}.jsonl").write_text("\n".join(lines) + "\n")
        register(admin, "dataset", name, roots / f"{name}.jsonl")
    changes = {
        "task.type": "file",
        "task.train_file": "@sums",
        "task.test_files": ["@aime", "@amc"],
        "training.steps": None,
        "training.epochs": 2,
        "evaluation.interval": 1000,
    }
    run = admin.create_run(RunCreate(name="sums", recipe="countdown-demo", changes=changes, start=False))
    assert run.config["task"]["test_files"] == [str(roots / "aime.jsonl"), str(roots / "amc.jsonl")]
    (aime,) = [info for info in admin.resources().items if info.name == "aime"]
    assert [use.field for use in admin.resource_runs(aime.id).items] == ["task.test_files.0"]
    # Registered data sets are counted: two passes over 40 prompts at 32 a step are 4 steps of 256 rollouts; 8 held-out
    # problems are answered 8 times and once greedily, before and after.
    estimate = admin.estimate(ConfigDraft(recipe="countdown-demo", changes=changes))
    assert (estimate.steps, estimate.fresh, estimate.evaluation) == (4, 1024, 2 * 8 * 9)
    unknown = admin.estimate(
        ConfigDraft(recipe="countdown-demo", changes=changes | {"task.train_file": str(roots / "other.jsonl")})
    )
    assert (unknown.steps, unknown.fresh) == (None, None)
    with pytest.raises(ApiError) as caught:
        admin.validate(
            ConfigDraft(recipe="countdown-demo", changes=changes | {"task.test_files": ["@aime", "@nobody"]})
        )
    body = caught.value.body
    assert (body.field, body.value) == ("task.test_files", "@nobody")
    for name in ("sums", "aime", "amc"):
        (roots / f"{name}.jsonl").unlink()


def test_a_name_that_nobody_registered_is_refused_with_those_that_are(admin: Client) -> None:
    with pytest.raises(ApiError) as caught:
        admin.create_run(
            RunCreate(name="r", recipe="countdown-demo", changes={"task.train_file": "@nowhere"}, start=False)
        )
    body = caught.value.body
    assert (caught.value.status, body.field, body.value) == (422, "task.train_file", "@nowhere")
    assert "no data set is registered under this name" in body.remedy


def test_what_is_wrong_with_a_request_is_named_by_its_field(admin: Client) -> None:
    # `path` is also the word for the parts of an address.
    with pytest.raises(ApiError) as caught:
        admin.register_resource(ResourceCreate.model_construct(kind="dataset", name="not a name", path=""))
    assert {problem.field: problem.remedy for problem in caught.value.body.problems} == {
        "path": "is empty: fill it in",
        "name": "must begin with a letter or digit and hold only letters, digits, dots, - and _",
    }


def test_only_what_lies_beneath_a_permitted_folder_is_opened(admin: Client, roots: Path, tmp_path: Path) -> None:
    outside = tmp_path / "secret.jsonl"
    outside.write_text('{"a": 1}\n')
    link = roots / "link.jsonl"
    link.symlink_to(outside)
    for path in (outside, link, roots / ".." / outside.name, "train.jsonl", "/etc/passwd", f"{roots}\u002f..", "~"):
        error = refused(admin, "dataset", "outside", path)
        assert (error.status, error.body.field) == (422, "path")
        assert "permitted folders" in error.body.remedy
    link.unlink()


def test_what_is_not_what_it_should_be_is_refused(admin: Client, roots: Path) -> None:
    assert "row 2: this is not JSON" in refused(admin, "dataset", "x", roots / "broken.jsonl").body.remedy
    assert "config.json" in refused(admin, "model", "x", roots).body.remedy
    assert refused(admin, "verifier", "x", roots / "mine.py", function="nothing").body.field == "function"
    assert "takes two arguments" in refused(admin, "verifier", "x", roots / "mine.py", function="bad").body.remedy
    assert refused(admin, "dataset", "x", roots / "train.jsonl", function="f").body.field == "function"


@pytest.mark.parametrize("suffix", ["jsonl", "parquet"])
def test_a_prompt_that_stands_twice_is_refused(admin: Client, roots: Path, suffix: str) -> None:
    def write(rows: list[dict[str, object]]) -> Path:
        path = roots / f"twice.{suffix}"
        if suffix == "parquet":
            pyarrow.parquet.write_table(pyarrow.Table.from_pylist(rows), path)
        else:
            path.write_text("".join(json.dumps(row) + "\n" for row in rows))
        return path

    rows: list[dict[str, object]] = [{"prompt": f"1 + {index} = ?", "answer": 1 + index} for index in (1, 2, 1)]
    error = refused(admin, "dataset", "twice", write(rows))
    assert error.body.remedy.startswith("rows 1 and 3 have the same prompt")
    # In another source, or with images, it is another problem.
    sources = [{**row, "data_source": source} for row, source in zip(rows, "aab", strict=True)]
    register(admin, "dataset", f"sources-{suffix}", write(sources))
    images = write([{**row, "images": ["a.png"]} for row in rows])
    register(admin, "dataset", f"images-{suffix}", images)
    images.unlink()


def test_a_name_is_given_once_and_can_be_taken_away(admin: Client, roots: Path) -> None:
    info = register(admin, "dataset", "once", roots / "train.jsonl")
    error = refused(admin, "dataset", "once", roots / "train.parquet")
    assert (error.status, error.body.field) == (409, "name")
    admin.remove_resource(info.id)
    assert (roots / "train.jsonl").exists()
    assert register(admin, "dataset", "once", roots / "train.parquet").name == "once"


def test_what_can_be_registered_is_listed(admin: Client, roots: Path) -> None:
    info = register(admin, "dataset", "listed", roots / "train.parquet")
    files = {Path(file.path).name: file.registered_as for file in admin.resource_files("dataset").items}
    assert set(files) == {"train.jsonl", "train.parquet", "broken.jsonl"}
    assert files["train.parquet"] is not None
    assert [file.path for file in admin.resource_files("model").items] == [str(roots / "model")]
    admin.remove_resource(info.id)


def test_a_deployment_without_permitted_folders_registers_nothing(postgres_url: str, tmp_path: Path) -> None:
    with running_backend(postgres_url, tmp_path) as server, server.client() as client:
        assert client.resources().roots == []
        assert "BAPO_RESOURCE_ROOTS" in refused(client, "model", "m", "/").body.remedy
