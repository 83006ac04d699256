"""Writes changes into the text of a study file, statement by statement, so that comments and layout stay."""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

_BARE = re.compile(r"[A-Za-z0-9_-]+")
_ORDER = (
    *("title", "question", "expectation", "recipe", "seeds", "test_sets", "num_runs", "reference"),
    *("config", "set", "primary", "arms", "regimes", "tuning"),
)
"""Order of the parts of a new file."""
_TABLES = ("config", "set", "primary", "tuning")


class _Statement(NamedTuple):
    """Lines that belong together: one key with its value, or comments and blank lines."""

    key: str | None
    """First part of the key; None for comments and blank lines."""
    text: str


class _Section(NamedTuple):
    """A header with all below it; the first section of a file has none."""

    path: tuple[str, ...]
    is_member: bool
    """True if it begins a member of a list of tables."""
    head: str
    """The comments above the header, and the header."""
    body: Sequence[_Statement]


def rewritten(text: str, wanted: Mapping[str, Any]) -> str:
    """Return the text of a study file that says `wanted`; statements that need no change stay as they are.

    A part whose layout cannot be followed is rewritten without its comments. Raises ValueError where `text` is no
    TOML.
    """
    given = tomllib.loads(text)
    if given == wanted:
        return text
    found = _followed(text, given, wanted)
    try:
        is_right = tomllib.loads(found) == wanted
    except tomllib.TOMLDecodeError:
        is_right = False
    return found if is_right else written(wanted)


def written(study: Mapping[str, Any]) -> str:
    """Return a study file from scratch."""
    order = [*(part for part in _ORDER if part in study), *(part for part in study if part not in _ORDER)]
    plain = [_line(part, study[part]) for part in order if not _is_section(part, study[part])]
    sections = "".join(_part(part, study[part]) for part in order if _is_section(part, study[part]))
    return "".join(plain) + sections if plain else sections.lstrip("\n")


def _is_section(part: str, value: Any) -> bool:
    if isinstance(value, list):
        return bool(value) and all(isinstance(each, dict) for each in value)
    return isinstance(value, dict) and part in _TABLES


def _part(part: str, value: Any) -> str:
    if isinstance(value, list):
        return "".join(f"\n[[{_key(part)}]]\n{_lines(each)}" for each in value)
    return f"\n[{_key(part)}]\n{_lines(value)}"


def _lines(table: Mapping[str, Any]) -> str:
    return "".join(_line(key, value) for key, value in table.items())


def _line(key: str, value: Any) -> str:
    return f"{_key(key)} = {_value(value)}\n"


def _key(key: str) -> str:
    return key if _BARE.fullmatch(key) else _quoted(key)


def _value(value: Any) -> str:
    match value:
        case str():
            return _text(value)
        case bool():
            return "true" if value else "false"
        case dict():
            return "{ " + ", ".join(f"{_key(key)} = {_value(each)}" for key, each in value.items()) + " }"
        case list() | tuple():
            return "[" + ", ".join(map(_value, value)) + "]"
    return repr(value) if isinstance(value, int | float) else str(value)


def _text(value: str) -> str:
    if "\n" not in value:
        return _quoted(value)
    return '"""\n' + _quoted(value)[1:-1].replace("\\n", "\n") + '"""'


def _quoted(value: str) -> str:
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")


# ---------------------------------------------------------------- following a text


def _followed(text: str, given: Mapping[str, Any], wanted: Mapping[str, Any]) -> str:
    first, *sections = _sections(text)
    in_sections = dict.fromkeys(section.path[0] for section in sections)
    begun = {each.key for each in first.body}
    plain = {
        key: value
        for key, value in wanted.items()
        if key not in in_sections and (key in begun or not _is_section(key, value))
    }
    parts = [_body(first.body, {key: given[key] for key in given if key not in in_sections}, plain)]
    for part in in_sections:
        if part in wanted:
            whole = [section for section in sections if section.path[0] == part]
            parts.append(_followed_part(part, whole, given[part], wanted[part]))
    parts += [_part(key, value) for key, value in wanted.items() if key not in plain and key not in in_sections]
    return "".join(part if part.endswith("\n") or not part else f"{part}\n" for part in parts).lstrip("\n")


def _followed_part(part: str, sections: Sequence[_Section], given: Any, wanted: Any) -> str:
    if given == wanted:
        return "".join(map(_as_it_is, sections))
    if isinstance(wanted, list) and sections[0].is_member:
        return _followed_members(part, sections, given, wanted)
    if len(sections) == 1 and isinstance(wanted, dict):
        return sections[0].head + _body(sections[0].body, given, wanted)
    return _comments(sections[0].head) + _part(part, wanted).lstrip("\n")


def _followed_members(part: str, sections: Sequence[_Section], given: Sequence[Any], wanted: Sequence[Any]) -> str:
    """Keep the text of unchanged members: equal ones, then those of the same name, then those at the same place."""
    texts: list[list[_Section]] = []
    for section in sections:
        if section.is_member and len(section.path) == 1:
            texts.append([])
        texts[-1].append(section)
    left = dict(enumerate(given))
    origin: dict[int, int] = {}
    rules: tuple[Callable[[int, int], bool], ...] = (
        lambda new, old: bool(wanted[new] == given[old]),
        lambda new, old: bool(_name(wanted[new]) is not None and _name(wanted[new]) == _name(given[old])),
        lambda new, old: new == old and len(wanted) >= len(given),
    )
    for is_same in rules:
        for new in range(len(wanted)):
            match = next((old for old in left if new not in origin and is_same(new, old)), None)
            if match is not None:
                origin[new] = match
                del left[match]
    found = ""
    for new, member in enumerate(wanted):
        old = origin.get(new)
        if old is None:
            found += _part(part, [member])
        elif given[old] == member:
            found += "".join(map(_as_it_is, texts[old]))
        elif len(texts[old]) == 1:
            found += texts[old][0].head + _body(texts[old][0].body, given[old], member)
        else:
            found += _comments(texts[old][0].head) + _part(part, [member]).lstrip("\n")
        found += "" if found.endswith("\n") else "\n"
    return found


def _name(member: Any) -> Any:
    return member.get("name") if isinstance(member, dict) else None


def _as_it_is(section: _Section) -> str:
    return section.head + "".join(each.text for each in section.body)


def _comments(head: str) -> str:
    """Return the comments above a header."""
    return "".join(line for line in head.splitlines(keepends=True) if not line.lstrip().startswith("["))


def _body(statements: Sequence[_Statement], given: Mapping[str, Any], wanted: Mapping[str, Any]) -> str:
    """Return the statements of one table with changed ones replaced, dropped ones left out, and new ones behind the
    last."""
    lines: list[str] = []
    done: set[str] = set()
    end = 0
    for statement in statements:
        key = statement.key
        if key is None:
            lines.append(statement.text)
            continue
        if key in wanted and wanted[key] == given.get(key):
            lines.append(statement.text)
        elif key in wanted and key not in done:
            lines.append(_line(key, wanted[key]).rstrip("\n") + _comment_of(statement) + "\n")
        else:
            continue
        done.add(key)
        end = len(lines)
        lines[-1] += "" if lines[-1].endswith("\n") else "\n"
    new = [_line(key, value) for key, value in wanted.items() if key not in done]
    return "".join([*lines[:end], *new, *lines[end:]])


def _comment_of(statement: _Statement) -> str:
    """Return the comment behind a value, with the blanks before it."""
    line = statement.text.rstrip("\n")
    whole = tomllib.loads(line)
    for match in re.finditer(r"\s*#", line):
        try:
            if tomllib.loads(line[: match.start()]) == whole:
                return line[match.start() :]
        except tomllib.TOMLDecodeError:
            continue
    return ""


# ---------------------------------------------------------------- statements


def _sections(text: str) -> list[_Section]:
    path: tuple[str, ...] = ()
    is_member, head, body = False, "", list[_Statement]()
    found = []
    for statement in _statements(text):
        header = statement.text.lstrip()
        if statement.key is None or not header.startswith("["):
            body.append(statement)
            continue
        # Comments right above a header are about what it begins.
        above = []
        while body and body[-1].key is None and body[-1].text.strip():
            above.append(body.pop().text)
        while body and body[-1].key is None and not body[-1].text.strip():
            above.append(body.pop().text)
        found.append(_Section(path, is_member, head, body))
        path, is_member = _header_path(header), header.startswith("[[")
        head, body = "".join(reversed(above)) + statement.text, []
    return [*found, _Section(path, is_member, head, body)]


def _header_path(line: str) -> tuple[str, ...]:
    inner: Any = tomllib.loads(line)
    parts = []
    while inner:
        if isinstance(inner, list):
            inner = inner[0]
            continue
        [(name, inner)] = inner.items()
        parts.append(name)
    return tuple(parts)


def _statements(text: str) -> Iterator[_Statement]:
    """Yield comments and blank lines one by one; a key with as many lines as its value takes."""
    held = ""
    for line in text.splitlines(keepends=True):
        held += line
        if not held.strip() or held.lstrip().startswith("#"):
            yield _Statement(None, held)
            held = ""
            continue
        try:
            parsed = tomllib.loads(held)
        except tomllib.TOMLDecodeError:
            continue
        yield _Statement(next(iter(parsed)), held)
        held = ""
