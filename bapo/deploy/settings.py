"""Settings of the services: from environment variables `BAPO_…` only, with clear errors for wrong values."""

from __future__ import annotations

import difflib
import logging
import os
import re
from collections.abc import Mapping
from datetime import datetime
from importlib import resources
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal, NamedTuple, TypeVar, get_args, get_origin
from urllib.parse import quote, urlsplit

from pydantic import AfterValidator, ValidationError
from pydantic.fields import FieldInfo
from pydantic_core import PydanticUndefined
from pydantic_settings import BaseSettings, SettingsConfigDict

from bapo.client.servers import is_loopback
from bapo.config.error_messages import said
from bapo.deploy.service_log import LogFormat, LogLevel, mask

PREFIX = "BAPO_"
LOOPBACK_HOSTS = frozenset({"localhost", "127.0.0.1", "::1"})
"""Names of this machine, which need no encryption."""
KNOWN_FILE = "variables.txt"
"""Written by `scripts/write_settings.py`: no service knows the settings of the others."""
LOG = logging.getLogger(__name__)

S = TypeVar("S", bound="ServiceSettings")


BROKER_SCHEMES = ("redis", "rediss", "redis+socket")


def _redis(url: str) -> str:
    if url and url.partition("://")[0] not in BROKER_SCHEMES:
        raise ValueError("the broker is Redis: give redis://:password@host:6379/0, rediss://… or redis+socket://…")
    if url.startswith("rediss://") and "ssl_cert_reqs=" not in url:
        # Celery would encrypt and check no certificate.
        return f"{url}{'&' if '?' in url else '?'}ssl_cert_reqs=required"
    return url


def _web(url: str) -> str:
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise ValueError("give an address such as https://bapo.example.org")
    return url


_PATH = re.compile(r"(/[A-Za-z0-9_-][A-Za-z0-9_.-]*)+")


def is_this_machine(url: str) -> bool:
    """Return whether an address is one of the loopback."""
    return is_loopback(urlsplit(url).hostname or "")


def public_address(url: str) -> str:
    """Return the address under which people open the dashboard, without a slash at its end.

    Raises ValueError for what is none, or has a path that would have to be written with codes.
    """
    parts = urlsplit(_web(url))
    if parts.query or parts.fragment or "@" in parts.netloc:
        raise ValueError("give the address alone, without ?, # and user, such as https://example.org/bapo")
    path = parts.path.rstrip("/")
    if path and not _PATH.fullmatch(path):
        raise ValueError(
            f"the path {parts.path} cannot be served: give one of letters, digits, hyphens, underscores and dots, such "
            "as https://example.org/bapo"
        )
    return f"{parts.scheme}://{parts.netloc}{path}"


def prefix_of(public_url: str) -> str:
    """Return the path under which the dashboard is served, such as /bapo; empty where it has the host to itself."""
    return urlsplit(public_url).path.rstrip("/")


def _provider(url: str) -> str:
    if not url:
        return url
    parts = urlsplit(url)
    if parts.scheme != "https" and not (parts.scheme == "http" and parts.hostname in LOOPBACK_HOSTS):
        raise ValueError("an issuer is an https address: give it as the provider's discovery document names it")
    if not parts.hostname or parts.query or parts.fragment or "@" in parts.netloc:
        raise ValueError("an issuer is an address without ? and #, such as https://sso.example.org/realms/staff")
    return url


def secret_in(file: Path, what: str = "the secret") -> str:
    """Return the secret that a file holds; `what` it is, for the message.

    Raises ValueError where the file cannot be read or is empty.
    """
    try:
        secret = file.read_text(encoding="utf-8").strip()
    except OSError as error:
        raise ValueError(f"{what} cannot be read from {file}: {error.strerror or error}") from None
    except UnicodeDecodeError:
        raise ValueError(f"{what} cannot be read from {file}: it is no text in UTF-8") from None
    if not secret:
        raise ValueError(f"{what} cannot be read from {file}: the file is empty")
    return secret


def with_password(url: str, file: Path | None) -> str:
    """Return the address with the password that the file holds; as it is without a file or an address.

    Raises ValueError where the file cannot be read or is empty, or where the address has a password already.
    """
    if file is None or not url:
        return url
    scheme, _, rest = url.partition("://")
    host, slash, path = rest.partition("/")
    user, _, host = host.rpartition("@")
    if ":" in user:
        raise ValueError(f"it holds a password, and so does {file}: give it in one of the two")
    password = secret_in(file, "its password")
    return f"{scheme}://{user}:{quote(password, safe='')}@{host}{slash}{path}"


BrokerAddress = Annotated[str, AfterValidator(_redis)]
"""Address of Redis; empty if another setting contains it."""
WebAddress = Annotated[str, AfterValidator(_web)]
"""An address over HTTP or HTTPS."""
PublicAddress = Annotated[str, AfterValidator(public_address)]
"""The address under which people open the dashboard."""
ProviderAddress = Annotated[str, AfterValidator(_provider)]
"""The issuer of single sign-on; empty where there is none."""


class SettingsError(ValueError):
    """Settings in the environment are wrong; one line each."""


class ServiceSettings(BaseSettings):
    """Settings of all services."""

    model_config = SettingsConfigDict(
        env_prefix=PREFIX, env_ignore_empty=True, frozen=True, use_attribute_docstrings=True
    )

    secret_fields: ClassVar[frozenset[str]] = frozenset()
    """Fields whose value is never printed."""

    log_format: LogFormat = "auto"
    """`json`: one object per line; `plain`: readable text; `auto`: plain on a terminal, otherwise JSON."""
    log_level: LogLevel = "info"
    """Lowest level that is logged: `debug`, `info`, `warning` or `error`."""


class Setting(NamedTuple):
    """A variable as the documentation shows it."""

    variable: str
    type: str
    default: str | None
    """Value without the variable; `None` if the variable is required."""
    meaning: str


class Variable(NamedTuple):
    """A variable that is not a setting of a service."""

    reader: str
    default: str
    meaning: str


OTHER_VARIABLES: Mapping[str, Variable] = {
    "BAPO_SERVER": Variable("`bapo`", "none", "Address of the server, for commands without `--server`."),
    "BAPO_TOKEN": Variable("`bapo`", "none", "API token, for commands without `--token-file`."),
    "BAPO_IDEMPOTENCY_KEY": Variable(
        "`bapo submit`", "none", "Submitting again with the same key returns the first run."
    ),
    "BAPO_VERL_PYTHON": Variable(
        "worker, `bapo train`", "`.venv-verl/bin/python`", "Python of the environment with verl."
    ),
    "BAPO_MODELS_DIR": Variable(
        "trainer, `bapo model`",
        "`~/.cache/bapo/models`",
        "Folder of the models that `model.path` takes by their names: pretrained ones, and those of warm starts.",
    ),
    "BAPO_TRAINER_PID": Variable("trainer", "none", "Set by a trainer for the processes of its engine; internal."),
}


def variable_of(field: str) -> str:
    """Return the variable of a field: `lease_seconds` → `BAPO_LEASE_SECONDS`."""
    return PREFIX + field.upper()


def load(settings: type[S], **given: Any) -> S:
    """Return the service's settings; `given` ones, from the command line, take precedence over the environment.

    Raises SettingsError naming each variable, its value and the remedy.
    """
    try:
        return settings(**{name: value for name, value in given.items() if value is not None})
    except ValidationError as error:
        lines = [_line(settings, finding, given) for finding in error.errors()]
        raise SettingsError("\n".join(lines)) from None


def _line(settings: type[ServiceSettings], finding: Any, given: Mapping[str, Any]) -> str:
    if not finding["loc"]:
        return f"settings: {said(finding)}"
    field = str(finding["loc"][0])
    name = variable_of(field)
    info = settings.model_fields[field]
    meaning = " ".join((info.description or "").split())
    if finding["type"] == "missing":
        return f"{name} is not set: set it. {meaning}"
    value = "…" if field in settings.secret_fields else mask(repr(given.get(field, finding["input"])))
    way_out = "" if info.is_required() else f", or unset it to take {_default(info)}"
    return f"{name} = {value}: {said(finding)}{way_out}. {meaning}"


def _default(info: FieldInfo) -> str:
    if info.default in (None, "", PydanticUndefined):
        return "none"
    return f"`{info.default:g}`" if isinstance(info.default, float) else f"`{info.default}`"


def describe(settings: type[ServiceSettings]) -> list[Setting]:
    """Return the variables that the service reads."""
    found = []
    for field, info in settings.model_fields.items():
        default = None if info.is_required() else _default(info)
        meaning = " ".join((info.description or "").split())
        found.append(Setting(variable_of(field), _kind(info.annotation), default, meaning))
    return found


_KINDS: Mapping[Any, str] = {
    str: "text",
    int: "whole number",
    float: "number",
    bool: "`true`/`false`",
    Path: "path",
    datetime: "time or duration",
}


def _kind(annotation: Any) -> str:
    """Return the kind of value that a field takes."""
    if get_origin(annotation) is Literal:
        return ", ".join(f"`{each}`" for each in get_args(annotation))
    alternatives = [each for each in get_args(annotation) if each is not type(None)] or [annotation]
    kind = alternatives[0]
    return _KINDS[get_args(kind)[0] if get_origin(kind) is Annotated else kind]


def known_variables() -> frozenset[str]:
    """Return every `BAPO_…` variable that any part of the product reads."""
    return frozenset((resources.files("bapo.deploy") / KNOWN_FILE).read_text(encoding="utf-8").split())


def unknown_variables(environment: Mapping[str, str] = os.environ) -> list[str]:
    """Return a line for each `BAPO_…` variable that nothing reads, with the nearest known name."""
    known = known_variables()
    lines = []
    for name in sorted(environment):
        if name.startswith(PREFIX) and name not in known:
            near = difflib.get_close_matches(name, known, n=1)
            meant = f"did you mean {near[0]}?" if near else "see docs/settings.md for the known ones"
            lines.append(f"{name} is set, but nothing reads it: {meant}")
    return lines


def warn_of_unknown_variables() -> None:
    """Log a warning for each unknown variable."""
    for line in unknown_variables():
        LOG.warning(line)
