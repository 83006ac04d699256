"""The documentation builds as a site without a warning; no link or anchor is dead, and nothing comes from elsewhere."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urldefrag, urlsplit

import pytest

from bapo.cli import BapoGroup
from bapo.config.documentation import documentation
from bapo.config.recipes import shipped_recipes
from bapo.records import StepRecord, declared_metrics

ROOT = Path(__file__).resolve().parents[2]
pytestmark = pytest.mark.site


class Document(HTMLParser):
    """What a page refers to, and what of it can be referred to."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.anchors = {""}
        self.links: list[str] = []
        self.loaded: list[str] = []
        """Scripts, styles, images: what a browser fetches without a click."""
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {name: value or "" for name, value in attrs}
        self.anchors |= {given[name] for name in ("id", "name") if name in given}
        if tag == "a" and "href" in given:
            self.links.append(given["href"])
        elif tag == "link" and given.get("rel") not in ("prev", "next", "canonical"):
            self.loaded.append(given["href"])
        elif "src" in given:
            self.loaded.append(given["src"])


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("site")
    done = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "--site-dir", str(folder)],
        cwd=ROOT,
        env={**os.environ, "NO_MKDOCS_2_WARNING": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stderr == ""
    return folder


@pytest.fixture(scope="module")
def pages(site: Path) -> Mapping[Path, Document]:
    # A page for addresses that are not there has links from the server's root.
    return {file: Document(file.read_text("utf-8")) for file in site.rglob("*.html") if file.name != "404.html"}


def test_every_link_and_anchor_leads_somewhere(site: Path, pages: Mapping[Path, Document]) -> None:
    dead = []
    for file, page in pages.items():
        for link in page.links + page.loaded:
            if urlsplit(link).scheme:
                continue
            path, anchor = urldefrag(link)
            target = (file.parent / unquote(path)).resolve() if path else file
            if target.is_dir():
                target /= "index.html"
            if not target.is_file() or (target in pages and unquote(anchor) not in pages[target].anchors):
                dead.append(f"{file.relative_to(site)}: {link}")
    assert dead == []


def test_nothing_is_loaded_from_elsewhere(site: Path, pages: Mapping[Path, Document]) -> None:
    loaded = {link for page in pages.values() for link in page.loaded if urlsplit(link).scheme not in ("", "data")}
    assert loaded == set()
    styles = "".join(file.read_text("utf-8") for file in site.rglob("*.css"))
    assert "url(http" not in styles
    assert "@import" not in styles


@pytest.mark.parametrize(
    "document",
    [
        "README",
        "ARCHITECTURE",
        "PAPERS",
        "CHANGELOG",
        "CONTRIBUTING",
        "SECURITY",
        "DECISIONS/README",
        "examples/README",
    ],
)
def test_the_repositorys_own_documents_are_pages(site: Path, pages: Mapping[Path, Document], document: str) -> None:
    title = next(line for line in (ROOT / f"{document}.md").read_text("utf-8").splitlines() if line.startswith("# "))
    titles = [line for file in pages for line in file.read_text("utf-8").splitlines() if line.startswith("<h1")]
    assert any(f">{title[2:]}<" in line for line in titles)


def test_the_references_hold_every_command_field_recipe_metric_and_route(site: Path) -> None:
    folder = site / "reference"
    commands = (folder / "cli.html").read_text("utf-8")
    names = [each.name for panel in BapoGroup.panels for each in panel.commands]
    assert [name for name in names if f"<code>bapo {name}</code>" not in commands] == []
    fields = (folder / "config.html").read_text("utf-8")
    paths = [each.path for each in documentation() if each.path not in ("method.type", "task.type")]
    assert [path for path in paths if f"<code>{path}</code>" not in fields] == []
    recipes = (folder / "recipes.html").read_text("utf-8")
    assert [each.name for each in shipped_recipes() if f">{each.name}<" not in recipes] == []
    metrics = (folder / "metrics.html").read_text("utf-8")
    names = [each.name for each in declared_metrics(StepRecord)]
    assert len(names) > 60
    assert [name for name in names if f"<code>{name}</code>" not in metrics] == []
    assert json.loads((folder / "recipe.schema.json").read_text("utf-8"))["$schema"]
    routes = (folder / "rest-api.html").read_text("utf-8")
    described = json.loads((folder / "openapi.json").read_text("utf-8"))["paths"]
    assert len(described) > 50
    assert [path for path in described if f"<code>{path}</code>" not in routes] == []
