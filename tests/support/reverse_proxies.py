"""nginx and Caddy in front of a dashboard, with TLS and the configurations of docs/deployment.md."""

from __future__ import annotations

import re
import shutil
import socket
import ssl
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.support.compose import ROOT
from tests.support.ports import free_port
from tests.support.services import wait_until

PROGRAMS = ("nginx", "caddy")


@dataclass(frozen=True)
class ReverseProxy:
    """A proxy that listens on this machine as if it had the name of its configuration."""

    port: int
    trusted: ssl.SSLContext


def documented(program: str, *, place: str = "") -> str:
    """Read the configuration of docs/deployment.md, such as the one whose `place` is ", under a path"."""
    text = (ROOT / "docs" / "deployment.md").read_text(encoding="utf-8")
    pattern = rf"^{program}{place}:\n\n```\w*\n(.*?)^```"
    (found,) = re.findall(pattern, text, re.MULTILINE | re.DOTALL | re.IGNORECASE)
    return str(found)


@contextmanager
def running_proxy(
    program: str, configuration: str, folder: Path, *, upstream: int, port: int | None = None
) -> Iterator[ReverseProxy]:
    """Run the program with the configuration, in front of the port `upstream` of this machine."""
    found = shutil.which(program, path="/usr/sbin:/usr/local/sbin:/usr/bin:/usr/local/bin")
    if found is None:
        pytest.skip(f"{program} is not installed")
    port = port or free_port()
    (name,) = re.findall(r"(?:server_name |^)([\w.-]+\.[\w.-]+)(?:;| \{$)", configuration, re.MULTILINE)
    key, certificate = _certificate(folder, name)
    documented = configuration.replace("127.0.0.1:8000", f"127.0.0.1:{upstream}")
    config = folder / "config"
    if program == "nginx":
        documented = documented.replace("/etc/ssl", str(folder)).replace("listen 443", f"listen 127.0.0.1:{port}")
        places = "".join(
            f"{each}_temp_path {folder}/{each};" for each in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
        )
        config.write_text(
            f"daemon off; pid {folder}/pid; error_log stderr; events {{}}\n"
            f"http {{ access_log off; {places}\n{documented}\n}}"
        )
        command = [found, "-p", str(folder), "-c", str(config)]
    else:
        own = f"{name}:{port} {{\n    bind 127.0.0.1\n    tls {certificate} {key}\n"
        config.write_text("{\n    admin off\n    auto_https off\n}\n" + documented.replace(f"{name} {{\n", own))
        command = [found, "run", "--adapter", "caddyfile", "--config", str(config)]
    with (folder / "log").open("wb") as log:
        process = subprocess.Popen(command, stdout=log, stderr=log, env={"HOME": str(folder), "PATH": "/usr/bin:/bin"})
    try:
        wait_until(lambda: _listens(port) or process.poll() is not None)
        assert process.poll() is None, (folder / "log").read_text()
        yield ReverseProxy(port, ssl.create_default_context(cafile=str(certificate)))
    finally:
        process.terminate()
        process.wait(60)


def _certificate(folder: Path, name: str) -> tuple[Path, Path]:
    key, certificate = folder / "bapo.key", folder / "bapo.crt"
    make = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", f"/CN={name}"]
    names = ["-addext", f"subjectAltName=DNS:{name}", "-keyout", str(key), "-out", str(certificate)]
    subprocess.run([*make, *names], check=True, capture_output=True)
    return key, certificate


def _listens(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0
