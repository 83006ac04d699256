"""Files that a model folder's own files name: loading reads them as if they lay in the folder."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

INDEX = "*.index.json"
"""Files that say which file holds which weight, such as `model.safetensors.index.json`."""
TOKENIZER_CONFIG = "tokenizer_config.json"
MOST_INDEX_BYTES = 20_000_000
"""Maximum size of an index, which a server reads within a request: that of a model of 671 billion parameters has nine
million."""
MOST_CONFIG_BYTES = 5_000_000
"""Maximum size of a tokenizer's config."""
TOKENIZER_FIELDS = ("tokenizer_file", "vocab_file", "merges_file")


LFS_POINTER = b"version https://git-lfs.github.com/spec/"
"""First bytes of the pointer that a clone without Git LFS has in place of a large file."""


def lfs_pointer(folder: Path) -> str | None:
    """Return the remedy where a file of the folder is a pointer of Git LFS; None where none is."""
    for path in sorted(folder.iterdir()):
        try:
            with path.open("rb") as file:
                is_pointer = file.read(len(LFS_POINTER)) == LFS_POINTER
        except OSError:
            # A folder, or what loading it will name.
            continue
        if is_pointer:
            return f"{path.name} is a Git LFS pointer, not the file itself: run `git lfs pull` where it was cloned"
    return None


def has_chat_template(folder: Path) -> bool:
    """Return whether the model's tokenizer turns messages into a text; without, prompts are passed on as they are."""
    return (folder / "chat_template.jinja").is_file() or bool(_fields(folder / TOKENIZER_CONFIG).get("chat_template"))


def outside_file(folder: Path) -> str | None:
    """Return the remedy if a model's files refer to a file outside its folder, links followed; otherwise None."""
    read = {**dict.fromkeys(sorted(folder.glob(INDEX)), MOST_INDEX_BYTES), folder / TOKENIZER_CONFIG: MOST_CONFIG_BYTES}
    for path, most in read.items():
        if path.is_file() and (num_bytes := path.stat().st_size) > most:
            return f"{path.name} has {num_bytes:,} bytes, more than the {most:,} of any model's: save it again"
    real = os.path.realpath(folder)
    for source, name in _named_files(folder):
        if not _is_inside(name, real):
            return f"{source} names the file {name!r}, which is not in the model's folder: save all of the model there"
    return None


def _is_inside(name: str, folder: str) -> bool:
    try:
        return Path(os.path.realpath(Path(folder, name))).is_relative_to(folder)
    except ValueError:
        # It holds a NUL or half of a surrogate pair, which no file's name does.
        return False


def _named_files(folder: Path) -> Iterator[tuple[str, str]]:
    """Yield each file with the name of a file that it refers to."""
    for index in sorted(folder.glob(INDEX)):
        weights = _fields(index).get("weight_map")
        # One file holds many weights.
        names = dict.fromkeys(weights.values()) if isinstance(weights, dict) else ()
        yield from ((index.name, name) for name in names if isinstance(name, str))
    tokenizer = _fields(folder / TOKENIZER_CONFIG)
    for field in TOKENIZER_FIELDS:
        if isinstance(name := tokenizer.get(field), str):
            yield TOKENIZER_CONFIG, name


def _fields(path: Path) -> dict[str, Any]:
    """Return the fields of a JSON file; none if it is missing or unreadable, so that nothing is loaded by it."""
    try:
        fields = json.loads(path.read_bytes())
    except (OSError, ValueError, RecursionError):
        return {}
    return fields if isinstance(fields, dict) else {}
