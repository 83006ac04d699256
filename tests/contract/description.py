"""The description of the API, made once in a process."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

from backend.app import create_app
from backend.openapi.description import describe
from backend.settings.environment import Settings


@cache
def described() -> dict[str, Any]:
    """Describe the API."""
    nowhere = Path("nowhere")
    settings = Settings(
        database_url="postgresql+psycopg://nowhere/nothing",
        broker_url="redis://nowhere",
        runs_dir=nowhere,
        admin_token_file=nowhere,
        worker_token_file=nowhere,
    )
    return describe(create_app(settings))
