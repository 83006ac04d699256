"""The packages of the lock as this machine's pip finds them, served to the builds as an index on this machine."""

from __future__ import annotations

import functools
import hashlib
import re
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from tests.containers.stand_ins import CACHE
from tests.support.compose import ROOT

EXTRAS = "server,dashboard,worker"
OF_OLD_PYTHON = "async-timeout"
"""What redis asks for below Python 3.11.3, which stand-ins have."""


def downloaded() -> Path:
    """A folder with a folder per package, kept until the lock changes."""
    lock, gym = ROOT / "requirements.lock", ROOT / "requirements-reasoning-gym.lock"
    content = b"".join(path.read_bytes() for path in (lock, gym, ROOT / "pyproject.toml"))
    key = hashlib.sha256(content).hexdigest()[:16]
    index = CACHE / f"packages-{key}"
    if index.exists():
        return index
    flat, part = CACHE / "downloads", CACHE / "packages.part"
    for folder in (flat, part):
        folder.mkdir(parents=True, exist_ok=True)
    pip = [sys.executable, "-m", "pip", "download", "--quiet", "--dest", str(flat)]
    (torch,) = re.findall(r"^torch==(\S+)$", lock.read_text(), re.MULTILINE)
    subprocess.run([*pip, "--no-deps", f"torch=={torch}+cpu"], check=True, timeout=600)
    wanted = [
        f".[{EXTRAS}]",
        "setuptools",
        "--find-links",
        str(flat),
        "--constraint",
        str(lock),
        "--no-build-isolation",
    ]
    subprocess.run([*pip, *wanted], cwd=ROOT, check=True, timeout=900)
    subprocess.run([*pip, "--no-deps", OF_OLD_PYTHON], check=True, timeout=300)
    subprocess.run([*pip, "--no-deps", "--no-build-isolation", "-r", str(gym)], check=True, timeout=300)
    for file in flat.iterdir():
        name = file.name.split("-")[0] if file.suffix == ".whl" else re.sub(r"-\d.*$", "", file.name)
        folder = part / re.sub(r"[-_.]+", "-", name).lower()
        folder.mkdir(exist_ok=True)
        if not (folder / file.name).exists():
            (folder / file.name).hardlink_to(file)
    part.rename(index)
    return index


class _Quiet(SimpleHTTPRequestHandler):
    def log_message(self, format: str, *args: object) -> None:
        pass


@contextmanager
def served(folder: Path) -> Iterator[str]:
    """The address of an index of the folder."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(_Quiet, directory=str(folder)))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/"
    finally:
        server.shutdown()
        server.server_close()
