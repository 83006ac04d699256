"""What the repository's documents name is there: files, folders, tests, functions, addresses within them."""

from __future__ import annotations

import pydoc
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
DOCUMENTS = sorted(
    [
        path
        for name in ("README", "ARCHITECTURE", "PAPERS", "CONTRIBUTING", "CHANGELOG", "SECURITY")
        for path in ROOT.glob(f"{name}.md")
    ]
    + list((ROOT / "DECISIONS").glob("*.md"))
    + list((ROOT / "docs").glob("*.md"))
)
TOP_FOLDERS = (
    "bapo",
    "backend",
    "benchmarks",
    "docs",
    "frontend",
    "migrations",
    "scripts",
    "tests",
    "worker",
    "DECISIONS",
)

in_document = pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: str(path.relative_to(ROOT)))


def quoted(document: Path) -> list[str]:
    """Everything between single backticks."""
    return re.findall(r"`([^`\n]+)`", document.read_text(encoding="utf-8"))


@in_document
def test_named_files_and_folders_exist(document: Path) -> None:
    named = [text for text in quoted(document) if text.partition("/")[0] in TOP_FOLDERS and "/" in text]
    patterns = ("*", "<", "{", " ", "NAME")
    missing = [
        text
        for text in named
        if not any(part in text for part in patterns) and not (ROOT / text.partition("::")[0]).exists()
    ]
    assert missing == []


@in_document
def test_named_tests_exist(document: Path) -> None:
    missing = []
    for text in quoted(document):
        if not re.fullmatch(r"[\w/]*test_\w+\.py(::\w+)?", text):
            continue
        file, _, function = text.partition("::")
        path = ROOT / file if file.startswith("tests/") else ROOT / "tests" / "bapo" / file
        if not path.exists() or (function and f"def {function}(" not in path.read_text(encoding="utf-8")):
            missing.append(text)
    assert missing == []


@in_document
def test_named_python_objects_exist(document: Path) -> None:
    named = [text for text in quoted(document) if re.fullmatch(r"(bapo|backend|frontend|worker)(\.\w+)+", text)]
    missing = [text for text in named if not text.endswith((".py", ".md")) and pydoc.locate(text) is None]
    assert missing == []


def test_nobody_is_told_to_install_what_is_on_no_index() -> None:
    # Anybody could register the name; the checkout's own package is `.` with its extras.
    texts = [*DOCUMENTS, *(path for folder in ("bapo", "scripts", "worker") for path in (ROOT / folder).rglob("*.py"))]
    install = re.compile(r"pip install [^`\n]*bapo")
    assert [str(path) for path in texts if install.search(path.read_text(encoding="utf-8"))] == []


def test_no_text_holds_the_markers_of_a_merge() -> None:
    # In code, the linters see them.
    texts = [*DOCUMENTS, *(ROOT / "frontend").rglob("*.css"), *ROOT.glob("*.toml"), *ROOT.glob("*.yml")]
    marker = re.compile(r"^(<{7}|>{7}) ", re.MULTILINE)
    assert [str(path) for path in texts if marker.search(path.read_text(encoding="utf-8"))] == []


def test_the_readme_leads_to_what_it_names() -> None:
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    way = text.partition("## Find your way")[2].partition("\n## ")[0]
    places = re.findall(r"`([\w/.]+\.py)`, `(\w+)`", way)
    assert len(places) >= 6
    for file, name in places:
        content = (ROOT / file).read_text(encoding="utf-8")
        assert re.search(rf"^\s*(def {name}\(|{name}\b[^\n]*=)", content, re.MULTILINE), f"{file} defines no {name}"
