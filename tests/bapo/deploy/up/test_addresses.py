"""The addresses of `bapo up`: the public one, and the one on this machine, which has the same path."""

from __future__ import annotations

import pytest
from typer.testing import CliRunner

from bapo.cli import app
from bapo.cli.failures import Exit
from bapo.deploy.up.services import Addresses


@pytest.mark.parametrize(
    ("listen", "public", "local"),
    [
        ("127.0.0.1", None, "http://127.0.0.1:8000"),
        ("127.0.0.1", "https://bapo.example.org", "http://127.0.0.1:8000"),
        ("127.0.0.1", "https://example.org/bapo", "http://127.0.0.1:8000/bapo"),
        ("::1", "https://example.org/tools/bapo", "http://[::1]:8000/tools/bapo"),
        ("0.0.0.0", "https://example.org/bapo", "http://127.0.0.1:8000/bapo"),  # noqa: S104 - compared with
    ],
)
def test_the_local_address_has_the_path_of_the_public_one(listen: str, public: str | None, local: str) -> None:
    addresses = Addresses(8000, 8001, "", "", listen, public)
    assert addresses.local_url == local
    assert addresses.public_url == (public or local)


def test_a_public_address_that_cannot_be_served_ends_the_start_at_once() -> None:
    result = CliRunner().invoke(app, ["up", "--public-url", "https://example.org/my bapo"])
    assert result.exit_code == Exit.BAD_INPUT
    assert "--public-url = 'https://example.org/my bapo': the path /my bapo cannot be served" in result.output
