"""Language of the product and its documents: `python -m scripts.language [PATH …]` prints `path:line: word: text`.

Two rules. Docstrings and field strings begin as a reader expects: a function's with an imperative verb, none with What,
Whether, Where, How, Who, Of, None, As, Its, Which or Such. No text contains a word of `BANNED`.
"""

from __future__ import annotations

import ast
import io
import itertools
import re
import sys
import tokenize
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[1]
PRODUCT = ("bapo", "backend", "frontend", "worker", "scripts", "benchmarks", "migrations")
DOCUMENTS = (
    *("README.md", "ARCHITECTURE.md", "CHANGELOG.md", "CONTRIBUTING.md", "PAPERS.md", "SECURITY.md"),
    *("DECISIONS", "docs"),
)
EXCEPTIONS: dict[tuple[str, str], str] = {
    ("scripts/language.py", "*"): "names the words",
}
"""Reason for each permitted word of a file, `*` for every word."""

BANNED = re.compile(
    r"(?<![\w-])(?:told|tells of|stands?(?! for\b)|anew|whoever|whom|nobody|somebody|beside|alike|mend(?:s|ed|ing)?"
    r"|dearest|gravest|of its own|lets? (?:\S+ ){1,5}finish|goes on|comes? along|fares?)(?![\w-])",
    re.IGNORECASE,
)
FRAGMENTS = frozenset(("What", "Whether", "Where", "How", "Who", "Of", "None", "As", "Its", "Which", "Such"))
VERBS = frozenset((ROOT / "scripts" / "imperatives.txt").read_text(encoding="utf-8").split())
_Function = ast.FunctionDef | ast.AsyncFunctionDef


class Violation(NamedTuple):
    """A word that a rule forbids, and the line that contains it."""

    path: str
    line: int
    word: str
    text: str

    def __str__(self) -> str:
        return f"{self.path}:{self.line}: {self.word}: {self.text}"


def _banned(text: str, line: int) -> Iterator[tuple[int, str, str]]:
    for match in BANNED.finditer(text):
        whole = text[text.rfind("\n", 0, match.start()) + 1 :].partition("\n")[0]
        yield line + text.count("\n", 0, match.start()), match[0].lower(), whole.strip()


def _opening(text: str, line: int, *, imperative: bool) -> Iterator[tuple[int, str, str]]:
    words = text.split(None, 2)
    first = words[0].rstrip(",.:;") if words else ""
    is_verb = first in VERBS and words[1:2] != ["of"]
    if first in FRAGMENTS or (imperative and not is_verb):
        yield line, f"begins with {first}", text.strip().partition("\n")[0]


def _blocks(tree: ast.AST) -> Iterator[list[ast.stmt]]:
    """Yield every list of statements, without descending into expressions."""
    for name in ("body", "orelse", "finalbody"):
        if block := getattr(tree, name, None):
            yield block
            for statement in block:
                yield from _blocks(statement)
    for part in [*getattr(tree, "handlers", ()), *getattr(tree, "cases", ())]:
        yield from _blocks(part)


def _openings(tree: ast.Module) -> Iterator[tuple[int, str, str]]:
    documented: list[tuple[ast.AST, list[ast.stmt]]] = [(tree, tree.body)]
    for block in _blocks(tree):
        for statement, following in itertools.pairwise(block):
            if isinstance(statement, ast.Assign | ast.AnnAssign):
                documented.append((statement, [following]))
        documented += [(node, node.body) for node in block if isinstance(node, ast.ClassDef | _Function)]
    for owner, below in documented:
        match below:
            case [ast.Expr(value=ast.Constant(value=str(text)) as constant), *_]:
                yield from _opening(text, constant.lineno, imperative=_acts(owner))


def _acts(node: ast.AST) -> bool:
    """Return whether the node is a function and no property, which is named like a field."""
    if not isinstance(node, _Function):
        return False
    names = {ast.unparse(decorator).rpartition(".")[2] for decorator in node.decorator_list}
    return not names & {"property", "cached_property"}


def _python(source: str) -> Iterator[tuple[int, str, str]]:
    tree = ast.parse(source)
    yield from _openings(tree)
    if BANNED.search(source) is None:
        return
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and " " in node.value:
            yield from _banned(node.value, node.lineno)
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type == tokenize.COMMENT:
            yield from _banned(token.string, token.start[0])


_SCRIPT = re.compile(r"//[^\n]*|/\*.*?\*/|\"(?:\\.|[^\"\\\n])*\"|'(?:\\.|[^'\\\n])*'|`(?:\\.|[^`\\])*`", re.DOTALL)


def _javascript(source: str) -> Iterator[tuple[int, str, str]]:
    for match in _SCRIPT.finditer(source):
        if " " in match[0]:
            yield from _banned(match[0], source.count("\n", 0, match.start()) + 1)


def _markdown(source: str) -> Iterator[tuple[int, str, str]]:
    yield from _banned(source, 1)


def violations(path: Path) -> list[Violation]:
    """Return the violations of one file, in the order of its lines."""
    name = path.relative_to(ROOT).as_posix()
    source = path.read_text(encoding="utf-8")
    found = {".py": _python, ".js": _javascript}.get(path.suffix, _markdown)(source)
    permitted = {word for file, word in EXCEPTIONS if file == name}
    return sorted(Violation(name, *rest) for rest in found if not permitted & {"*", rest[1]})


def files(names: Iterable[str]) -> list[Path]:
    """Return the Python, JavaScript and Markdown files in these files and folders of the repository."""
    found = [ROOT / name for name in names]
    folders = [path for path in found if path.is_dir()]
    found += [path for folder in folders for path in folder.rglob("*") if path.suffix in (".py", ".js", ".md")]
    return sorted({path for path in found if path.is_file()})


if __name__ == "__main__":
    print(*(line for path in files(sys.argv[1:] or (*PRODUCT, *DOCUMENTS)) for line in violations(path)), sep="\n")
