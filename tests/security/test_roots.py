"""Every path in a config lies in a permitted folder: at the server for whoever submits it, and again at the worker."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any, get_args

import pytest
from pydantic import BaseModel

from bapo.api.configs import ConfigDraft
from bapo.api.imports import ImportCreate
from bapo.api.resources import ResourceCreate
from bapo.api.runs import RunCreate
from bapo.api.studies import StudyCreate
from bapo.api.workers import Claim
from bapo.client import ApiError, Client
from bapo.config import ConfigError, RunConfig, apply_changes, resolve
from bapo.config.paths import PermittedFolders, path_fields
from bapo.config.run import REGISTRIES
from tests.support.late_imports import late_imports
from tests.support.refusals import refuses
from tests.support.services import BackendServer, running_backend
from worker.run_folders import check_paths

with late_imports():
    from bapo.engines.local.policy import model_folder

NO_PATHS = {
    "task.type",
    "method.type",
    "engine.verl.ray_address",  # host and port
    "task.datasets",  # names within reasoning-gym
    "task.dataset_weights",
    "task.dataset_settings",
    "task.exclude_prompts",  # identities
    "task.prompt_weights",  # identities with weights
    "task.prompt_list",  # the name of a list
    "task.prompt_template",
    "task.instruction",
    "task.prompt_column",
    "task.answer_column",
    "task.solution_column",
    "task.image_column",
}
"""Texts of a config that name no file. A new one is listed here, or is a DataFile or ModelFolder."""
FILE_TASK = {"task.type": "file", "task.train_file": "{inside}", "rollout.max_prompt_tokens": 512}
TASK_OF: Mapping[str, Mapping[str, Any]] = {"task.test_files": FILE_TASK}
"""Changes that make the field one of the config's."""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Permitted files in `permitted`; another project's checkpoint among the runs, beneath the same root."""
    folder = tmp_path_factory.mktemp("data")
    permitted, checkpoint = folder / "permitted", folder / "permitted/served/runs/r1/checkpoints/step-000005/model"
    for place in (permitted, permitted / "model", checkpoint, folder / "private"):
        place.mkdir(parents=True)
        (place / "config.json").write_text('{"model_type": "qwen2"}')
        (place / "rows.jsonl").write_text('{"nums": [1, 2], "target": 3}\n')
        (place / "mine.py").write_text("def reward(problem, response):\n    return 1\n")
    (permitted / "link").symlink_to(folder / "private")
    (permitted / "link.jsonl").symlink_to(folder / "private/rows.jsonl")
    strays = permitted / "strays"
    strays.mkdir()
    (strays / "config.json").symlink_to(folder / "private/config.json")
    return folder


@pytest.fixture(scope="module")
def backend_server(postgres_url: str, folder: Path) -> Iterator[BackendServer]:
    permitted = folder / "permitted"
    with running_backend(postgres_url, permitted / "served", resource_roots=str(permitted)) as server:
        assert server.settings.runs_dir == permitted / "served/runs"
        yield server


def _outside(folder: Path) -> list[str]:
    permitted = folder / "permitted"
    runs = permitted / "served/runs"
    return [
        str(folder / "private"),
        str(folder / "private/rows.jsonl"),
        str(folder / "private/nothing-here"),
        f"{permitted}/../private/rows.jsonl",
        str(permitted / "link"),
        str(permitted / "link/rows.jsonl"),
        str(permitted / "link.jsonl"),
        str(permitted / "strays"),
        # Runs and downloads belong to projects, even where they lie beneath a root.
        str(runs / "r1/checkpoints/step-000005/model"),
        str(runs / "r1/checkpoints/step-000005/model/rows.jsonl"),
        str(permitted / "served/artifacts/1.zip"),
        "/etc/passwd",
        "/",
        "rows.jsonl",
        "../private/rows.jsonl",
        "~/rows.jsonl",
        "~root",
        "",
    ]


def _changes(field: str, value: str, inside: Path) -> dict[str, Any]:
    needed = {name: str(inside) if each == "{inside}" else each for name, each in TASK_OF.get(field, {}).items()}
    named = f"{value}:reward" if field == "task.verifier" else value
    return {**needed, field: [named] if field == "task.test_files" else named}


def _refusal(call: Callable[[], object]) -> ApiError:
    with pytest.raises(ApiError) as caught:
        call()
    return caught.value


def _texts(section: type[BaseModel], prefix: str) -> Iterator[str]:
    """The fields that take any text."""
    for name, info in section.model_fields.items():
        members = [info.annotation]
        for member in members:
            members += get_args(getattr(member, "__origin__", None)) + get_args(member)
            if isinstance(member, type) and issubclass(member, BaseModel):
                yield from _texts(member, f"{prefix}{name}.")
        if str in members:
            yield f"{prefix}{name}"


def test_each_text_of_a_config_is_marked_as_a_path_or_listed_as_none() -> None:
    texts = set(_texts(RunConfig, ""))
    for name, registry in REGISTRIES.items():
        for config_class in registry.classes.values():
            texts |= set(_texts(config_class, f"{name}."))
    assert texts - NO_PATHS == set(path_fields())
    assert path_fields()["model.path"] == "model"


def test_a_mark_is_seen_in_a_section_within_a_section() -> None:
    class Nested(BaseModel):
        """As a package could have."""

        deep: RunConfig = RunConfig()

    assert "deep.model.path" in set(_texts(Nested, ""))


@pytest.mark.parametrize("field", sorted(path_fields()))
def test_no_field_of_a_config_names_what_lies_outside(member: Client, folder: Path, field: str) -> None:
    inside = folder / "permitted/rows.jsonl"
    remedies = set()
    for value in _outside(folder):
        changes = _changes(field, value, inside)
        draft = ConfigDraft(recipe="countdown-demo", changes=changes)
        run = RunCreate(name="x", recipe="countdown-demo", changes=changes)
        plan = {"name": "s", "recipe": "countdown-demo", "points": [changes]}
        refusals = [
            _refusal(partial(member.validate, draft)),
            _refusal(partial(member.create_run, run)),
            _refusal(partial(member.create_study, StudyCreate.model_validate(plan))),
        ]
        assert [(each.status, each.body.field) for each in refusals] == [(422, field)] * 3, value
        remedies.add(refusals[0].body.remedy)
    # One answer to all, whatever is there.
    assert len(remedies) == 1, remedies


def test_what_lies_inside_is_taken(admin: Client, member: Client, folder: Path) -> None:
    permitted = folder / "permitted"
    verifier = {"kind": "verifier", "name": "mine", "path": str(permitted / "mine.py"), "function": "reward"}
    admin.register_resource(ResourceCreate.model_validate(verifier))
    for field in path_fields():
        value = {"model.path": permitted / "model", "task.verifier": permitted / "mine.py"}.get(
            field, permitted / "rows.jsonl"
        )
        changes = _changes(field, str(value), permitted / "other.jsonl")
        assert member.validate(ConfigDraft(recipe="countdown-demo", changes=changes)).config
    # A shipped model, and the name of a verifier, are no paths.
    changes = {"model.path": "countdown-base", "task.verifier": "exact"}
    assert member.validate(ConfigDraft(recipe="countdown-demo", changes=changes)).config


@pytest.mark.parametrize("name", ["../../private/weights.safetensors", "{private}/weights.safetensors", "link.bin"])
@pytest.mark.parametrize(
    ("source", "fields"),
    [
        ("model.safetensors.index.json", {"weight_map": {"a": "model-1-of-2.safetensors", "b": "{name}"}}),
        ("pytorch_model.bin.index.json", {"weight_map": {"a": "{name}"}}),
        ("tokenizer_config.json", {"vocab_file": "{name}"}),
    ],
    ids=["safetensors", "bin", "tokenizer"],
)
def test_no_model_names_files_outside_its_folder(
    admin: Client, folder: Path, tmp_path: Path, source: str, fields: Mapping[str, Any], name: str
) -> None:
    # Loading would follow them: to another project's weights, or to any text as a vocabulary that a download brings.
    model = Path(tempfile.mkdtemp(dir=folder / "permitted"))
    named = name.format(private=folder / "private")
    (model / "config.json").write_text('{"model_type": "qwen2"}')
    file = model / source
    file.write_text(json.dumps(fields).replace("{name}", named))
    (model / "link.bin").symlink_to("../rows.jsonl")

    body = ResourceCreate.model_validate({"kind": "model", "name": "sharded", "path": str(model)})
    draft = ConfigDraft(recipe="countdown-demo", changes={"model.path": str(model)})
    config = resolve(apply_changes({}, draft.changes)).config
    claim = Claim(
        run_id="r", attempt=1, fencing_token=1, config={}, run_dir="", resource_roots=[str(folder / "permitted")]
    )
    expected = f"{source} names the file {named!r}, which is not in the model's folder"
    for field, call in (
        ("path", partial(admin.register_resource, body)),
        ("model.path", partial(admin.validate, draft)),
    ):
        refusal = _refusal(call)
        assert (refusal.status, refusal.body.field) == (422, field)
        assert refusal.body.remedy.startswith(expected)
    for check in (partial(check_paths, config, tmp_path / "runs/r", claim), partial(model_folder, str(model))):
        with pytest.raises(ConfigError, match="is not in the model's folder"):
            check()

    file.write_text(file.read_text().replace(named, "model-2-of-2.safetensors"))
    assert admin.validate(draft).config
    assert model_folder(str(model)) == model


def test_a_registered_file_that_became_a_link_is_refused(member: Client, folder: Path) -> None:
    file = folder / "permitted/soon-a-link.jsonl"
    file.write_text('{"nums": [1, 2], "target": 3}\n')
    member.register_resource(ResourceCreate(kind="dataset", name="soon", path=str(file)))
    draft = ConfigDraft(recipe="countdown-demo", changes={"task.train_file": "@soon"})
    assert member.validate(draft).config
    file.unlink()
    file.symlink_to(folder / "private/rows.jsonl")
    with pytest.raises(ApiError) as refusal:
        member.validate(draft)
    assert (refusal.value.body.field, refusal.value.body.value) == ("task.train_file", "@soon")
    file.unlink()


def test_a_clone_of_an_import_brings_no_path_with_it(member: Client, folder: Path) -> None:
    config = resolve({"task": {"train_file": str(folder / "private/rows.jsonl")}}).config
    body = {"name": "theirs", "config": json.loads(config.model_dump_json()), "source": "x" * 32, "attempts": 1}
    imported = member.create_import(ImportCreate.model_validate(body))
    with refuses(422, field="task.train_file"):
        member.create_run(RunCreate(name="clone", parent_id=imported.run_id))


def test_a_worker_checks_again_with_its_own_links(folder: Path) -> None:
    run_folder = folder / "permitted/served/runs/r2"
    permitted = folder / "permitted"

    def claim(*roots: Path) -> Claim:
        return Claim(
            run_id="r2",
            attempt=1,
            fencing_token=1,
            config={},
            run_dir=str(run_folder),
            resource_roots=[str(root) for root in roots],
        )

    def check(changes: Mapping[str, Any], *roots: Path) -> None:
        check_paths(resolve(apply_changes({}, changes)).config, run_folder, claim(*roots))

    check({})
    for field in path_fields():
        outside = (each for each in _outside(folder) if each and not each.startswith(f"{permitted}/served/artifacts"))
        for value in outside:
            with pytest.raises(ConfigError) as refusal:
                check(_changes(field, value, permitted / "rows.jsonl"), permitted)
            # Of `task.test_files` the place in the list, too.
            (problem,) = refusal.value.problems
            assert problem.field.startswith(field)
            assert field == "task.verifier" or "permitted folders" in problem.remedy
    check({"task.train_file": str(permitted / "rows.jsonl")}, permitted)
    with pytest.raises(ConfigError, match="permits no folder"):
        check({"task.train_file": str(permitted / "rows.jsonl")})


def test_a_file_need_not_exist_yet_to_be_permitted(tmp_path: Path) -> None:
    folders = PermittedFolders([tmp_path])
    assert folders.place(str(tmp_path / "not-there-yet.jsonl")) == tmp_path / "not-there-yet.jsonl"
    assert folders.place(f"{tmp_path}/a\0b") is None
