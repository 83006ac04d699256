"""Takes the pictures of README.md from a running product: `python -m scripts.take_pictures`, while `./run` runs.

The two runs of the demo must have ended. Needs Chromium and the development tools.
"""

from __future__ import annotations

import shutil
import sys
from pathlib import Path
from typing import Literal, NamedTuple

from playwright.sync_api import Browser, Page, expect, sync_playwright

from bapo.api.accounts import Login
from bapo.client import SESSION_COOKIE, Client
from bapo.client.servers import find_server

FOLDER = Path(__file__).resolve().parents[1] / "docs" / "images"
NAMES = ("Countdown with BAPO", "Countdown with GRPO")
WAIT_MILLISECONDS = 120_000
PLACEHOLDERS = "#page .loading, .mantine-Skeleton-root, .compare-skeleton, .paper-skeleton"


class Picture(NamedTuple):
    """A page and how it is looked at; `{0}` and `{1}` are the demo's runs."""

    file: str
    address: str
    width: int = 1440
    height: int = 900
    scheme: Literal["light", "dark"] = "light"


PICTURES = (
    Picture("run-batch.png", "/runs/{0}?tab=batch", 1280, 1080),
    Picture("difficulty-dark-1440.jpg", "/runs/{0}?tab=difficulty", height=1800, scheme="dark"),
    Picture("what-if-light-1440.jpg", "/runs/{0}?tab=what-if&set=method.c1:1/4;method.m:2", height=1500),
    Picture("compare-light-1440.jpg", "/compare?runs={0},{1}", height=2000),
    Picture("paper-light-1440.jpg", "/paper?runs={0},{1}&group=method", height=1800),
    Picture("prompts-light-1440.jpg", "/runs/{0}?tab=prompts"),
    Picture("prompts-dark-390.jpg", "/runs/{0}?tab=prompts", 390, 844, "dark"),
    Picture("runs-dark-390.jpg", "/runs", 390, 844, "dark"),
)


def main() -> None:
    """Take all, or those whose names are given as arguments."""
    server = find_server()
    with Client(server.url, token=server.token) as client:
        found = client.runs(search="Countdown with", status="succeeded", limit=200).items
        newest = {run.name: run.id for run in reversed(found)}
        if missing := [name for name in NAMES if name not in newest]:
            sys.exit(f"no run called {missing[0]!r} has ended at {server.url}: start ./run, and wait for its demo")
        _, session = client.login(Login(token=server.token))
    run_ids = [newest[name] for name in NAMES]
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=shutil.which("chromium") or shutil.which("chromium-headless-shell"),
            args=["--no-sandbox", "--disable-gpu"],
        )
        for picture in PICTURES:
            if picture.file in sys.argv[1:] or len(sys.argv) == 1:
                _take(browser, picture, server.url, session, run_ids)
                print(FOLDER / picture.file)
        browser.close()


def _take(browser: Browser, picture: Picture, url: str, session: str, run_ids: list[str]) -> None:
    context = browser.new_context(
        base_url=url,
        viewport={"width": picture.width, "height": picture.height},
        color_scheme=picture.scheme,
        reduced_motion="reduce",
    )
    context.add_cookies([{"name": SESSION_COOKIE, "value": session, "url": url}])
    page = context.new_page()
    page.set_default_timeout(WAIT_MILLISECONDS)
    page.goto(picture.address.format(*run_ids))
    _wait_until_drawn(page)
    file = FOLDER / picture.file
    if file.suffix == ".png":
        page.screenshot(path=file)
    else:
        page.screenshot(path=file, type="jpeg", quality=80)
    context.close()


def _wait_until_drawn(page: Page) -> None:
    """Wait until nothing is a placeholder and nothing has changed for two seconds."""
    expect(page.locator("#page > *").first).to_be_visible(timeout=WAIT_MILLISECONDS)
    page.evaluate(
        """(placeholders) => new Promise((resolve) => {
            let changed = Date.now();
            new MutationObserver(() => { changed = Date.now(); })
                .observe(document.getElementById("page"), {subtree: true, childList: true, attributes: true});
            const look = setInterval(() => {
                if (Date.now() - changed < 2000 || document.querySelector(placeholders)) return;
                clearInterval(look);
                resolve();
            }, 100);
        })""",
        PLACEHOLDERS,
    )


if __name__ == "__main__":
    main()
