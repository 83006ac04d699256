"""The documents as pages of the dashboard: all links lead somewhere, and nothing else of the folder is served."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from posixpath import dirname, join, normpath

import pytest

from frontend.app import PAGES
from frontend.delivery.documents import DASHBOARD, documents, rendered


@pytest.fixture(scope="module")
def texts() -> Mapping[str, str]:
    """Each document as HTML."""
    named = {name: path for name, path in documents().items() if name.endswith(".md")}
    return {name: rendered(name, path.read_text("utf-8"))[1] for name, path in named.items()}


@pytest.fixture(scope="module")
def anchors(texts: Mapping[str, str]) -> Mapping[str, set[str]]:
    """What of each can be linked to."""
    return {name: set(re.findall(r' id="([^"]+)"', text)) for name, text in texts.items()}


def test_every_page_is_explained(anchors: Mapping[str, set[str]]) -> None:
    assert {page.section for page in PAGES} <= anchors[DASHBOARD]


def test_every_link_and_image_leads_somewhere(texts: Mapping[str, str], anchors: Mapping[str, set[str]]) -> None:
    dead = []
    for name, text in texts.items():
        for link in re.findall(r' (?:href|src)="([^"]+)"', text):
            path, _, anchor = link.partition("#")
            target = normpath(join(dirname(name), path)) if path else name
            known = target in documents() and (not anchor or anchor in anchors[target])
            if "://" not in link and not known:
                dead.append(f"{name}: {link}")
    assert dead == []


def test_a_heading_has_the_anchor_that_github_gives_it() -> None:
    title, text = rendered("docs/x.md", "# Data & `models`\n\n## Again\n\n## Again\n")
    assert title == "Data & `models`"
    assert re.findall(r'id="([^"]+)"', text) == ["data--models", "again", "again-1"]


def test_a_link_to_what_is_not_served_is_text() -> None:
    _, text = rendered("docs/x.md", "[a](../bapo/loop.py) [b](data.md#verifiers) [c](https://example.org)")
    assert "<span>a</span>" in text
    assert '<a href="data.md#verifiers">b</a>' in text
    assert '<a href="https://example.org" target="_blank" rel="noopener">c</a>' in text


@pytest.mark.parametrize(
    "name", ["bapo-data/admin-token", "docs/../bapo-data/admin-token", "/etc/passwd", "pyproject.toml"]
)
def test_nothing_else_is_served(name: str) -> None:
    assert name not in documents()
    assert all(Path(each).suffix in (".md", ".svg", ".png", ".jpg") for each in documents())
