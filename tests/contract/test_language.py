"""Product and documents use an engineer's words, and docstrings begin as a reader expects."""

from __future__ import annotations

from pathlib import Path

import pytest

from scripts import language
from scripts.language import DOCUMENTS, EXCEPTIONS, PRODUCT


def found_in(
    text: str, folder: Path, monkeypatch: pytest.MonkeyPatch, name: str = "module.py"
) -> list[tuple[int, str]]:
    monkeypatch.setattr(language, "ROOT", folder)
    (folder / name).write_text(text)
    return [(violation.line, violation.word) for violation in language.violations(folder / name)]


def test_product_and_documents_contain_no_violation() -> None:
    found = [violation for path in language.files((*PRODUCT, *DOCUMENTS)) for violation in language.violations(path)]
    assert [str(violation) for violation in found] == []


def test_places_and_exceptions_exist() -> None:
    named = [*PRODUCT, *DOCUMENTS, *(path for path, _ in EXCEPTIONS)]
    assert [name for name in named if not (Path(language.ROOT) / name).exists()] == []


def test_a_function_begins_with_a_verb_and_a_class_with_no_pronoun(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = '''"""What this is."""

class Group:
    """Rollouts of one prompt."""

    size: int
    """None without a limit."""

    @property
    def mean(self) -> float:
        """Mean reward."""

    def count(self) -> int:
        """Count of rollouts."""

    async def close(self) -> None:
        """Close the stream."""

def total() -> int:
    """The sum."""
'''
    expected = [(1, "begins with What"), (7, "begins with None"), (14, "begins with Count"), (20, "begins with The")]
    assert found_in(source, tmp_path, monkeypatch) == expected


def test_texts_and_comments_are_read_but_not_names_and_keys(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    source = 'told = {"told": 1}  # nobody reads it\ntext = """Two\nlines of its own."""\n'
    assert found_in(source, tmp_path, monkeypatch) == [(1, "nobody"), (3, "of its own")]
    script = 'const told = 1; // begins anew\nshow("It was\\" told", `a\nb goes on`);\nclassName = "told";\n'
    expected = [(1, "anew"), (2, "told"), (3, "goes on")]
    assert found_in(script, tmp_path, monkeypatch, "page.js") == expected


def test_a_word_counts_whole_and_in_its_banned_sense(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text = "BAPO stands for a method. A stand-in, a standard.\nThe figure stands here.\nLet the writer finish.\n"
    assert found_in(text, tmp_path, monkeypatch, "page.md") == [(2, "stands"), (3, "let the writer finish")]
