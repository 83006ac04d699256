"""MkDocs hook: adds the repository's own documents and the references that are generated from the code to the site."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from posixpath import dirname, join, normpath, relpath
from typing import TYPE_CHECKING

from mkdocs.structure.files import File, Files

if TYPE_CHECKING:
    from mkdocs.config.defaults import MkDocsConfig
    from mkdocs.structure.pages import Page

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from bapo.config.json_schema import recipe_schema  # noqa: E402
from scripts.docs_site import (  # noqa: E402 - mkdocs loads this file alone
    api_reference,
    benchmark_history,
    cli_reference,
    config_reference,
)

DECISIONS = sorted(path.name for path in (ROOT / "DECISIONS").glob("0*.md"))
PAGES = {
    "README.md": "index.md",
    "ARCHITECTURE.md": "architecture.md",
    "PAPERS.md": "papers.md",
    "CONTRIBUTING.md": "contributing.md",
    "SECURITY.md": "security.md",
    "CHANGELOG.md": "changelog.md",
    "DECISIONS/README.md": "decisions/index.md",
    "examples/README.md": "examples.md",
    "bapo/engines/models/countdown-base/README.md": "countdown-base.md",
    **{f"DECISIONS/{name}": f"decisions/{name}" for name in DECISIONS},
}
"""Document of the repository → page of the site. What lies in `docs/` keeps its place."""
FILES = {
    "LICENSE": "license.txt",
    "frontend/assets/logo.svg": "images/logo.svg",
    **{
        (place := path.relative_to(ROOT).as_posix()): place
        for path in (ROOT / "examples").rglob("*.*")
        if path.suffix in (".py", ".toml", ".jsonl", ".ipynb")
    },
}
"""The same for what is no page."""
_PLACES = PAGES | FILES
_SOURCES = {page: document for document, page in PAGES.items()}
_CODE = re.compile(r"(^```.*?^```$|`[^`\n]+`)", re.DOTALL | re.MULTILINE)
_LINK = re.compile(r"(?P<mark>!?)\[(?P<text>[^\]]*)\]\((?P<path>[^)#\s]*)(?P<anchor>#[^)\s]*)?\)")


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """List every decision in the navigation."""
    for entry in config.nav or ():
        if "Decisions" in entry:
            entry["Decisions"] = [entry["Decisions"], *(f"decisions/{name}" for name in DECISIONS)]
    return config


def generated() -> dict[str, str]:
    """Return the pages and files that are made from the code, by their places in the site."""
    return {
        "benchmarks/history.md": benchmark_history.page(),
        "reference/cli.md": cli_reference.page(),
        "reference/config.md": config_reference.fields_page(),
        "reference/recipes.md": config_reference.recipes_page(),
        "reference/recipe.schema.json": json.dumps(recipe_schema(), indent=1),
        "reference/metrics.md": config_reference.metrics_page(),
        **api_reference.files(),
    }


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the pages that are not in `docs/`."""
    for document, place in _PLACES.items():
        if (ROOT / document).exists():
            files.append(File.generated(config, place, abs_src_path=str(ROOT / document)))
    for place, content in generated().items():
        files.append(File.generated(config, place, content=content))
    return files


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Turn links between files of the repository into links between pages."""
    place = page.file.src_uri
    document = _SOURCES.get(place, f"docs/{place}")
    known = {file.src_uri for file in files}

    def moved(link: re.Match[str]) -> str:
        path = link["path"]
        if not path or ":" in path:
            return link[0]
        target = normpath(join(dirname(document), path))
        there = _PLACES.get(target) or (target.removeprefix("docs/") if target.startswith("docs/") else None)
        if there in known:
            return f"{link['mark']}[{link['text']}]({relpath(there, dirname(place) or '.')}{link['anchor'] or ''})"
        if not (ROOT / target).exists():
            return link[0]  # mkdocs says that it leads nowhere
        # Source code is no page: it is linked where the site knows the repository's address.
        return f"[{link['text']}]({config.repo_url}/blob/main/{target})" if config.repo_url else link["text"]

    # Code contains no links.
    return "".join(part if index % 2 else _LINK.sub(moved, part) for index, part in enumerate(_CODE.split(markdown)))
