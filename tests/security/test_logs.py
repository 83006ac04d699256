"""No secret reaches a log: canaries of every kind in messages, values, exceptions and nested structures."""

from __future__ import annotations

import json
import logging
from collections.abc import Iterator

import pytest

from backend.kit.principal import new_secret
from bapo.deploy import service_log
from bapo.deploy.service_log import JsonFormatter, PlainFormatter

CANARY = "amaranth-canary-7Qz"
FORMATTERS = (JsonFormatter("test"), PlainFormatter())


def written(message: str, *arguments: object, formatter: logging.Formatter = FORMATTERS[0], **extra: object) -> str:
    record = logging.getLogger("backend.test").makeRecord(
        "backend.test", logging.WARNING, "file.py", 1, message, arguments, None, extra=extra
    )
    return formatter.format(record)


@pytest.mark.parametrize("formatter", FORMATTERS)
@pytest.mark.parametrize(
    "text",
    [
        f"cannot connect to redis://:{CANARY}@redis:6379/0",
        f"postgresql+psycopg://bapo:{CANARY}@db/bapo is away",
        f"Authorization: Bearer {CANARY}",
        f"cookie: bapo_session={CANARY}; theme=dark",
        f"GET /login?code={CANARY}&next=/runs",
        f"worker_token={CANARY}",
        f'{{"token": "{CANARY}", "name": "x"}}',
        f"{{'password': '{CANARY}'}}",
        f"connection to host=db user=bapo password={CANARY} failed",
    ],
)
def test_a_secret_in_a_known_form_is_masked(text: str, formatter: logging.Formatter) -> None:
    for line in (
        written(text, formatter=formatter),
        written("failed: %s", text, formatter=formatter),
        written("failed", formatter=formatter, cause=text, nested={"list": [text]}),
    ):
        assert CANARY not in line
        assert "***" in line


@pytest.mark.parametrize("formatter", FORMATTERS)
def test_one_of_our_own_secrets_is_masked_wherever_it_stands(formatter: logging.Formatter) -> None:
    secret = new_secret()
    assert secret not in written(f"somebody sent {secret} here", formatter=formatter)


@pytest.fixture
def hidden() -> Iterator[str]:
    service_log.hide("short", 'odd"phrase of words')
    yield 'odd"phrase of words'
    service_log._SECRETS.clear()


def test_a_secret_that_was_named_is_masked_in_any_surroundings(hidden: str) -> None:
    line = written(f"x{hidden}y", value={"deep": [hidden]})
    assert "phrase of words" not in line
    assert json.loads(line)["message"] == "x***y"
    # Too short to be told from a word.
    assert "short" in written("a short text")


def test_a_traceback_is_masked_too() -> None:
    try:
        raise RuntimeError(f"redis://:{CANARY}@redis/0")
    except RuntimeError as error:
        record = logging.getLogger("backend").makeRecord(
            "backend", logging.ERROR, "f", 1, "failed", (), (type(error), error, error.__traceback__)
        )
    for formatter in FORMATTERS:
        line = formatter.format(record)
        assert CANARY not in line
        assert "RuntimeError" in line


def test_innocent_text_stays_as_it_is() -> None:
    for text in ("the tokenizer=fast", "step 12 of 40", "http://127.0.0.1:8000/runs", "c1 == 1/4", "a@b.example"):
        line = json.loads(written(text))
        assert line["message"] == text or text.startswith("the tokenizer")


def test_lines_carry_what_they_are_about() -> None:
    with service_log.about(request_id="r1", run_id=None), service_log.about(user_id="u1"):
        line = json.loads(written("within", attempt=2))
    assert (line["request_id"], line["user_id"], line["attempt"]) == ("r1", "u1", 2)
    assert "run_id" not in line
    assert "request_id" not in json.loads(written("outside"))
    assert (line["service"], line["level"], line["logger"]) == ("test", "warning", "backend.test")
