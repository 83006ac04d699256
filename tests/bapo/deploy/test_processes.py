"""Which variables of the environment are for other programs."""

from __future__ import annotations

import os

import pytest

from bapo.deploy.processes import is_foreign, without_foreign_variables


@pytest.mark.parametrize(
    "name",
    [
        "PGOPTIONS",
        "PGSERVICE",
        "PGPASSFILE",
        "PGDATA",
        "CELERY_BROKER_URL",
        "DASH_URL_BASE_PATHNAME",
        "WEB_CONCURRENCY",
    ],
)
def test_variables_of_other_programs_are_taken_out_and_put_back(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(name, "theirs")
    with without_foreign_variables() as taken:
        assert name not in os.environ
        assert taken[name] == "theirs"
    assert os.environ[name] == "theirs"


@pytest.mark.parametrize(
    "name", ["PATH", "PG", "MYPGOPTIONS", "BAPO_DATABASE_URL", "HTTPS_PROXY", "CUDA_VISIBLE_DEVICES"]
)
def test_all_others_stay(name: str) -> None:
    assert not is_foreign(name)
