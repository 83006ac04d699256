"""Text that would be code elsewhere, in every place that takes text: SQL, filters, shells, other programs' settings."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import text

from backend.kit.database import Database
from bapo.api.runs import ParameterChange, RunCreate
from bapo.client import ApiError, Client
from bapo.config import ConfigError, apply_changes, resolve
from tests.support.recorded import import_folder
from tests.support.refusals import refuses

SQL = (
    "' OR '1'='1",
    "'; DROP TABLE runs; --",
    "1) UNION SELECT secret_hash FROM api_tokens --",
    "%' OR status LIKE '%",
    "\\'; SELECT pg_sleep(60); --",
    "$$; DELETE FROM runs; $$",
    "x\u02bc OR 1=1",
)
EVERYTHING = ("%", "b_po", "%%", "*", ".*", "\\", "name:*")
"""What would match all runs if it reached LIKE or a pattern."""


@pytest.fixture(scope="module")
def run_id(admin: Client, recorded_folders: Mapping[str, Path]) -> str:
    return import_folder(admin, recorded_folders["bapo-seed-1"])


WRITTEN_BY_THE_SERVER = {"run_storage", "run_findings", "prompt_totals", "project_prompts"}
"""It measures the imported run, looks for findings in it and counts its prompts, when it comes to it."""


@pytest.fixture
def counted(database: Database) -> Iterator[None]:
    """No row of any table comes or goes."""

    def rows() -> dict[str, int]:
        with database.engine.connect() as connection:
            names = connection.execute(text("SELECT tablename FROM pg_tables WHERE schemaname = 'public'")).scalars()
            query = "SELECT count(*) FROM {}"
            return {
                name: connection.execute(text(query.format(name))).scalar_one()
                for name in names
                if name not in WRITTEN_BY_THE_SERVER
            }

    before = rows()
    yield
    assert rows() == before


def query_of(operation: Mapping[str, Any]) -> list[str]:
    """Names of the parameters of an address that take any text."""

    def takes_text(schema: Mapping[str, Any]) -> bool:
        parts = schema.get("anyOf", [schema.get("items", schema)])
        return any(part.get("type") == "string" and "enum" not in part for part in parts)

    return [
        parameter["name"]
        for parameter in operation.get("parameters", [])
        if parameter["in"] == "query" and takes_text(parameter["schema"])
    ]


@pytest.mark.usefixtures("counted")
def test_no_parameter_of_any_address_reaches_sql(admin: Client, run_id: str) -> None:
    description = admin.http.get("/openapi.json").json()
    num_tried = 0
    for path, methods in description["paths"].items():
        operation = methods.get("get")
        if operation is None or path.endswith("/events") or operation["x-permission"] == "work":
            continue
        for name in query_of(operation):
            for attack in SQL:
                address = path.replace("{run_id}", run_id)
                for part in operation.get("parameters", []):
                    address = address.replace(f"{{{part['name']}}}", "x")
                answer = admin.http.get(address, params={name: attack})
                assert answer.status_code < 500, (path, name, attack, answer.text)
                num_tried += 1
    assert num_tried > 100


@pytest.mark.usefixtures("counted")
def test_identifiers_are_no_sql(admin: Client) -> None:
    for attack in SQL:
        with refuses(404):
            admin.run(attack)


@pytest.mark.parametrize("search", [*SQL, *EVERYTHING])
def test_a_search_means_its_characters(admin: Client, run_id: str, search: str) -> None:
    name = f"named {search} exactly"
    created = admin.create_run(RunCreate(name=name, recipe="countdown-demo", start=False))
    found = {run.id for run in admin.runs(search=search).items}
    assert created.id in found
    assert run_id not in found
    assert {run.name for run in admin.runs(owner=[search]).items} == set()
    admin.delete_run(created.id)


def test_sorting_takes_columns_only(admin: Client) -> None:
    for attack in ("name; DROP TABLE runs", "(SELECT 1)", "-secret_hash", "runs.config", "1"):
        with refuses(422, field="sort"):
            admin.runs(sort=attack)


SHELL = (
    "$(touch {canary})",
    "`touch {canary}`",
    "; touch {canary} #",
    "| touch {canary}",
    "\ntouch {canary}\n",
    "--help",
    "-m pdb",
    "++trainer.logger=x",
    "hydra.run.dir={canary}",
)


@pytest.mark.parametrize("attack", SHELL)
def test_names_and_notes_are_never_commands(admin: Client, tmp_path: Path, attack: str) -> None:
    canary = tmp_path / "canary"
    hostile = attack.format(canary=canary)
    run = admin.create_run(
        RunCreate(name=hostile.strip(), notes=hostile, tags=[hostile.strip()], recipe="countdown-demo", start=False)
    )
    assert (run.name, run.notes, run.tags) == (hostile.strip(), hostile, [hostile.strip()])
    # Folder, queue and arguments of a trainer come from the identifier, which the server draws.
    assert run.id.isalnum()
    assert not canary.exists()


@pytest.mark.parametrize("field", ["model.path", "task.train_file", "task.test_file", "engine.verl.ray_address"])
@pytest.mark.parametrize("attack", ["${oc.env:HOME}", "a/${data.train_batch_size}", "x\ntrainer.logger=y", "a\x00b"])
def test_a_config_is_no_template_of_anothers_settings(field: str, attack: str) -> None:
    with pytest.raises(ConfigError) as refusal:
        resolve(apply_changes({"engine": {"type": "verl"}}, {field: attack}))
    (problem,) = [problem for problem in refusal.value.problems if problem.field == field]
    assert problem.value == attack
    assert "must not contain ${" in problem.remedy


@pytest.mark.parametrize(
    "field",
    [
        "engine.verl.trainer.logger",
        "actor_rollout_ref.model.path",
        "++method.c1",
        "method.c1; x",
        "__class__",
        "a" * 999,
    ],
)
def test_only_fields_of_the_config_are_set(admin: Client, field: str) -> None:
    with pytest.raises(ApiError) as refusal:
        admin.create_run(RunCreate(name="x", recipe="countdown-demo", changes={field: "1"}, start=False))
    assert refusal.value.status == 422
    assert refusal.value.body.field is not None
    assert field.startswith(refusal.value.body.field)


def test_a_running_run_takes_no_other_field(admin: Client) -> None:
    run = admin.create_run(RunCreate(name="steered", recipe="countdown-demo"))
    for field in ("model.path", "task.verifier", "engine.threads", "method.type"):
        with refuses(422, field=field):
            admin.change_parameters(run.id, ParameterChange(set={field: "/etc/passwd"}))
    admin.stop(run.id)
