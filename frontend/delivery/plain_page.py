"""Pages without scripts: the login, the documents, and what is shown while the server is away."""

from __future__ import annotations

import html

from starlette.responses import HTMLResponse

from bapo.figures.theme import DARK, FONT_FAMILY, LIGHT, Palette


def unavailable() -> HTMLResponse:
    """Return the page shown while the backend does not answer; it tries again by itself."""
    content = """
    <h1>BAPO</h1>
    <p class="problem" role="alert">The server does not answer at the moment.</p>
    <p>This page reloads every few seconds. Training continues without the server, and its records are shown
    as soon as the server is back.</p>"""
    page = document("Server unavailable · BAPO", content, refresh_seconds=3)
    return HTMLResponse(page, status_code=503, headers={"Retry-After": "3"})


def document(title: str, content: str, refresh_seconds: int | None = None, style: str = "") -> str:
    """Return a whole page; the content is markup, and `style` comes after the style of all such pages."""
    refresh = f'<meta http-equiv="refresh" content="{refresh_seconds}">' if refresh_seconds else ""
    return f"""<!doctype html>
<html lang="en">
<head>
  <meta charset="utf-8">
  <meta name="viewport" content="width=device-width, initial-scale=1">
  {refresh}
  <title>{html.escape(title)}</title>
  <link rel="icon" href="data:,">
  <style>{_variables(LIGHT)}@media (prefers-color-scheme: dark) {{{_variables(DARK)}}}{_STYLE}{style}</style>
</head>
<body><main>{content}</main></body>
</html>"""


def _variables(palette: Palette) -> str:
    return (
        f":root{{--page:{palette.page};--card:{palette.card};--border:{palette.border};--text:{palette.text};"
        f"--muted:{palette.muted};--accent:{palette.accent};--bad:{palette.bad}}}"
    )


_STYLE = f"""
:root {{ color-scheme: light dark; }}
* {{ box-sizing: border-box; }}
body {{ margin: 0; min-height: 100vh; display: grid; place-items: center; padding: 24px;
  background: var(--page); color: var(--text); font: 15px/1.5 {FONT_FAMILY}; }}
main {{ width: 100%; max-width: 420px; padding: 32px; background: var(--card);
  border: 1px solid var(--border); border-radius: 12px; }}
h1 {{ margin: 0; font-size: 24px; letter-spacing: 0.02em; }}
h2 {{ margin: 28px 0 8px; font-size: 13px; color: var(--muted); font-weight: 600; }}
.lead {{ margin: 4px 0 24px; color: var(--muted); }}
.problem {{ margin: 12px 0 16px; padding: 10px 12px; border-radius: 8px; color: var(--bad);
  border: 1px solid var(--bad); overflow-wrap: anywhere; }}
label {{ display: block; margin-bottom: 6px; font-weight: 600; font-size: 13px; }}
input {{ width: 100%; height: 40px; padding: 0 12px; font: inherit; color: inherit; background: var(--page);
  border: 1px solid var(--border); border-radius: 8px; }}
input:focus-visible, button:focus-visible {{ outline: 2px solid var(--accent); outline-offset: 1px; }}
button {{ width: 100%; height: 40px; margin-top: 12px; font: inherit; font-weight: 600; color: #fff;
  background: #2f6fd0; border: 0; border-radius: 8px; cursor: pointer; }}
.button {{ display: flex; align-items: center; justify-content: center; min-height: 40px; padding: 4px 12px;
  color: #fff; background: #2f6fd0; border-radius: 8px; font-weight: 600; text-align: center; text-decoration: none;
  overflow-wrap: anywhere; }}
.button:focus-visible {{ outline: 2px solid var(--accent); outline-offset: 1px; }}
.or {{ margin: 20px 0 12px; font-size: 13px; color: var(--muted); text-align: center; }}
ul {{ margin: 0; padding-left: 18px; font-size: 13px; color: var(--muted); }}
li {{ margin: 4px 0; }}
input + label {{ margin-top: 14px; }}
details {{ margin-top: 24px; }}
summary {{ cursor: pointer; font-size: 13px; color: var(--muted); font-weight: 600; }}
details form {{ margin-top: 12px; }}
.hint {{ margin: 6px 0 0; font-size: 13px; color: var(--muted); }}
code {{ font-size: 12px; color: var(--text); overflow-wrap: anywhere; }}
"""
