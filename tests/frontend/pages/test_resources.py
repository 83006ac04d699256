"""Data and models: what leads from a data set to a run that trains on it."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any
from urllib.parse import parse_qs, urlsplit

from bapo.api.resources import ResourceInfo, ResourceVersion
from bapo.api.uploads import CatalogueEntry, UploadPage
from frontend.components.changes_query import parse_changes
from frontend.pages.resources.details import INSTRUCTION, new_run_with
from frontend.pages.resources.upload_panel import upload_drawer

NOW = datetime(2026, 1, 1, tzinfo=UTC)


def resource(details: dict[str, Any], **changes: Any) -> ResourceInfo:
    facts: dict[str, Any] = {"id": "r", "kind": "dataset", "name": "pears", "path": "/p", "function": None}
    facts |= {"description": "", "author": "mel", "created_at": NOW, "fields": [], "num_runs": 0, "is_present": True}
    return ResourceInfo.model_validate({**facts, "may_remove": True, "details": details, **changes})


def wished(info: ResourceInfo) -> dict[str, Any]:
    query = parse_qs(urlsplit(new_run_with(info)).query)
    return dict(parse_changes(query["set"][0]))


def test_the_form_opens_with_what_the_check_knows() -> None:
    details = {"task": "file", "verifier": "exact", "longest_prompt": 300, "columns": ["answer", "prompt"]}
    version = ResourceVersion(
        number=1,
        sha256="0",
        path="/p",
        num_bytes=1,
        file_name="f",
        licence="",
        author="mel",
        created_at=NOW,
        details={},
    )
    changes = wished(resource(details, versions=[version], project="mine"))
    # 300 + 37 characters of the instruction + 64 of a template are 401: the next power of two.
    assert len(INSTRUCTION) == 37
    assert changes == {
        "task.type": "file",
        "task.verifier": "exact",
        "task.instruction": INSTRUCTION,
        "task.train_file": "@pears",
        "rollout.max_prompt_tokens": 512,
    }


def test_of_a_file_that_was_registered_by_its_path_the_columns_tell_the_task() -> None:
    assert wished(resource({"columns": ["nums", "target"]})) == {"task.type": "countdown", "task.train_file": "@pears"}
    assert wished(resource({}, kind="model")) == {"model.path": "@pears"}


def test_a_url_is_asked_for_only_where_the_deployment_fetches() -> None:
    def shown(*hosts: str) -> str:
        page = UploadPage(items=[], max_bytes=10, quota_bytes=100, used_bytes={}, fetch_hosts=hosts)
        return str(upload_drawer(page, ["default"]))

    assert "upload-url" not in shown()
    assert "From huggingface.co;" in shown("huggingface.co")
    assert "From any public host;" in shown("*")


def test_models_of_the_catalogue_are_offered_only_where_the_deployment_fetches_them() -> None:
    entry = CatalogueEntry(
        name="tiny",
        title="Tiny",
        about="Model of a test",
        licence="Apache-2.0",
        num_parameters=134_515_008,
        context_tokens=8_192,
        num_bytes=92_871_040,
    )

    def shown(*models: CatalogueEntry) -> str:
        page = UploadPage(
            items=[], max_bytes=10, quota_bytes=100, used_bytes={}, fetch_hosts=[], catalogue=list(models)
        )
        return str(upload_drawer(page, ["default"]))

    assert "catalogue-fetch" not in shown()
    offered = shown(entry)
    assert "134.5M parameters, 8,192 tokens of context" in offered
    assert "Licence Apache-2.0" in offered
    assert "Fetch Tiny" in offered
