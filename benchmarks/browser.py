"""Chromium, used as by a person who watches a run."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager

from playwright.sync_api import BrowserContext, Page, sync_playwright

from bapo.api.accounts import Login
from bapo.client import SESSION_COOKIE, Client

PATIENCE_MILLISECONDS = 60_000

Window = Callable[[], BrowserContext]

WATCH = """(chart) => {
    window.seen = {};
    const look = () => {
        const graph = document.querySelector(`[data-chart="${chart}"] .js-plotly-plot`);
        const last = graph && graph.data && graph.data.length ? Math.max(0, ...graph.data[0].x.slice(-1)) : 0;
        if (last && !(last in window.seen)) window.seen[last] = Date.now() / 1000;
        requestAnimationFrame(look);
    };
    look();
}"""
"""Notes when the newest point of the chart's first trace changes."""


@contextmanager
def chromium(
    url: str, token: str, *, size: tuple[int, int] = (1440, 900), arguments: Sequence[str] = ()
) -> Iterator[Window]:
    """Yield a function that opens windows of headless Chromium, logged in as the token's owner."""
    program = next(filter(None, map(shutil.which, ("chromium", "google-chrome", "chromium-headless-shell"))), None)
    with Client(url) as client:
        _, session = client.login(Login(token=token))
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=program, args=["--no-sandbox", "--disable-gpu", *arguments]
        )

        def window() -> BrowserContext:
            context = browser.new_context(viewport={"width": size[0], "height": size[1]})
            context.add_cookies([{"name": SESSION_COOKIE, "value": session, "url": url}])
            context.set_default_timeout(PATIENCE_MILLISECONDS)
            return context

        yield window
        browser.close()


def delays(page: Page, last: int, finished: Mapping[int, float]) -> dict[int, float]:
    """Return seconds from when steps were `finished` to their points in the watched chart, once it has the last of
    them.

    Points that are drawn together appear together.
    """
    page.wait_for_function("(step) => step in window.seen", arg=last)
    seen = {int(step): at for step, at in page.evaluate("window.seen").items()}
    return {step: min(at for newest, at in seen.items() if newest >= step) - end for step, end in finished.items()}
