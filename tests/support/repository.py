"""Small Git repositories for tests."""

from __future__ import annotations

import subprocess
from collections.abc import Mapping
from pathlib import Path

IDENTITY = ("-c", "user.name=Test", "-c", "user.email=test@example.org", "-c", "commit.gpgsign=false")


def git(folder: Path, *arguments: str) -> str:
    """Run Git in a folder and return what it prints."""
    command = ["git", *IDENTITY, *arguments]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=True).stdout.strip()


def commit(folder: Path) -> None:
    """Commit all changes."""
    git(folder, "add", "--all")
    git(folder, "commit", "--quiet", "--message", "Change")


def new_repository(folder: Path, files: Mapping[str, str]) -> Path:
    """Make a repository with these files, committed, and return its folder."""
    folder.mkdir()
    git(folder, "init", "--quiet", "--initial-branch=main")
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    commit(folder)
    return folder
