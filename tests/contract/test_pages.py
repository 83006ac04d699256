"""What `mkdocs build --strict` refuses, found without a build: dead links and anchors, pages that are in no menu.

`test_docs_site.py` builds the site and follows what its pages really hold.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from fnmatch import fnmatch
from functools import cache
from pathlib import Path
from posixpath import dirname, join, normpath
from typing import Any

import pytest
import yaml
from pymdownx.slugs import slugify

from scripts.docs_site import hook
from scripts.docs_site.hook import DECISIONS, PAGES

ROOT = Path(__file__).resolve().parents[2]
DOCUMENTS = [*PAGES, *(f"docs/{path.relative_to(ROOT / 'docs')}" for path in sorted((ROOT / "docs").rglob("*.md")))]
FENCED = re.compile(r"^( *)(```+|~~~+).*?^\1\2`*$", re.MULTILINE | re.DOTALL)
CODE = re.compile(r"(`+)(?!`).+?(?<!`)\1(?!`)")
LINK = re.compile(r"\]\(\s*<?([^)\s>]*)|^\[[^\]]+\]:\s*(\S+)|\b(?:href|src|srcset)=\"([^\"]*)\"", re.MULTILINE)
HEADING = re.compile(r"^ {0,3}(#{1,6}) +(.+?) *#*$", re.MULTILINE)
OWN_NAME = re.compile(r"\{[^}]*#([\w-]+)[^}]*\} *$|\b(?:id|name)=\"([^\"]+)\"", re.MULTILINE)
SLUG = slugify(case="lower")


@dataclass(frozen=True)
class Page:
    """A page of the site: what it refers to, and what of it can be referred to."""

    links: tuple[str, ...]
    anchors: frozenset[str]


def read(text: str) -> Page:
    """Find links and anchors; what is in code is neither."""
    prose = FENCED.sub("", text)
    links = tuple(next(filter(None, match.groups()), "") for match in LINK.finditer(CODE.sub("", prose)))
    return Page(links, frozenset({"", *headings(prose), *filter(None, sum(OWN_NAME.findall(prose), ()))}))


def headings(prose: str) -> Iterator[str]:
    """Name each heading as MkDocs does: a second one of the same words gets a number."""
    seen: Counter[str] = Counter()
    for match in HEADING.finditer(prose):
        # The words of a link and of code count, their marks do not.
        words = re.sub(r"!?\[([^\]]*)\]\([^)]*\)", r"\1", match[2])
        name = SLUG(re.sub(r"[`*]", "", words), "-")
        yield f"{name}_{seen[name]}" if seen[name] else name
        seen[name] += 1


@cache
def document(path: str) -> Page:
    """Read a document of the repository."""
    return read((ROOT / path).read_text(encoding="utf-8"))


@pytest.fixture(scope="module")
def generated() -> Mapping[str, str]:
    return hook.generated()


def dead(page: Page, place: str, pages: Mapping[str, str]) -> Iterator[str]:
    """Find the links that lead nowhere from a page at `place`; `pages` has the documents by such places."""
    for link in page.links:
        if re.match(r"[a-z]+:", link):
            continue
        path, _, anchor = link.partition("#")
        target = normpath(join(dirname(place), path)) if path else place
        if link.startswith("/"):
            yield f"{link}: write it relative to the document"
        elif target in pages:
            if anchor not in (page if target == place else document(pages[target])).anchors:
                yield f"{link}: {pages[target]} has no such heading"
        elif target == place:
            if anchor not in page.anchors:
                yield f"{link}: no such heading"
        elif not (ROOT / target).exists():
            yield f"{link}: there is no {target}"


@pytest.mark.parametrize("path", DOCUMENTS)
def test_a_documents_links_lead_somewhere(path: str) -> None:
    assert list(dead(document(path), path, {each: each for each in DOCUMENTS})) == []


def test_the_references_links_lead_somewhere(generated: Mapping[str, str]) -> None:
    pages = {place: read(text) for place, text in generated.items() if place.endswith(".md")}
    pages |= {PAGES.get(path, path.removeprefix("docs/")): document(path) for path in DOCUMENTS}
    for place in [place for place in generated if place.endswith(".md")]:
        for link in pages[place].links:
            path, _, anchor = link.partition("#")
            target = normpath(join(dirname(place), path)) if path else place
            assert re.match(r"https?:", link) or target in generated or target in pages, link
            assert target not in pages or anchor in pages[target].anchors, link


class Loader(yaml.SafeLoader):
    """Reads what mkdocs.yml says, whatever Python objects it names."""


Loader.add_multi_constructor("tag:yaml.org,2002:python/", lambda *_: None)


def places(entry: Any) -> Iterator[str]:
    """List the pages of an entry of the menu."""
    match entry:
        case str():
            yield entry
        case dict():
            for each in entry.values():
                yield from places(each)
        case list():
            for each in entry:
                yield from places(each)


def test_every_page_is_in_the_menu_once_and_every_entry_is_a_page(generated: Mapping[str, str]) -> None:
    config = yaml.load((ROOT / "mkdocs.yml").read_text(encoding="utf-8"), Loader)  # noqa: S506 - a safe loader
    listed = Counter([*places(config["nav"]), *(f"decisions/{name}" for name in DECISIONS)])
    assert [place for place, count in listed.items() if count > 1] == []
    left_out = [pattern.lstrip("/") for pattern in config["not_in_nav"].split()]
    made = {PAGES.get(each, each.removeprefix("docs/")) for each in DOCUMENTS}
    made |= {place for place in generated if place.endswith(".md")}
    assert listed.keys() == {
        place for place in made if place in listed or not any(fnmatch(place, pattern) for pattern in left_out)
    }


def test_the_logo_and_the_style_of_the_site_are_there() -> None:
    config = yaml.load((ROOT / "mkdocs.yml").read_text(encoding="utf-8"), Loader)  # noqa: S506 - a safe loader
    assert [name for name in config["extra_css"] if not (ROOT / "docs" / name).is_file()] == []
    assert config["theme"]["logo"] == config["theme"]["favicon"] == "images/logo.svg"
    assert (ROOT / "frontend" / "assets" / "logo.svg").is_file()


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("[a](b.md)", ["b.md: there is no docs/b.md"]),
        ("![a](images/b.png)", ["images/b.png: there is no docs/images/b.png"]),
        ("[a](/docs/data.md)", ["/docs/data.md: write it relative to the document"]),
        ("[a](data.md#nowhere)", ["data.md#nowhere: docs/data.md has no such heading"]),
        ("[a](#b)\n\n## C", ["#b: no such heading"]),
        ("[a]\n\n[a]: b.md", ["b.md: there is no docs/b.md"]),
        ('<img src="b.png">', ["b.png: there is no docs/b.png"]),
        ("`[a](b.md)` and\n\n```md\n[a](b.md)\n```", []),
        ("[a](https://example.org/#b) [b](data.md) [c](#two-words_1)\n\n## Two `words`\n\n## Two [words](data.md)", []),
    ],
)
def test_a_dead_link_is_found(text: str, found: list[str]) -> None:
    assert list(dead(read(text), "docs/new.md", {"docs/data.md": "docs/data.md"})) == found
