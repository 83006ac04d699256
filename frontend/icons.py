"""All icons as one picture, of which each shows its part.

A browser makes a separate document of each SVG that a style names: of a page's twenty, that is nearly half of what
its first styles take.
"""

from __future__ import annotations

from pathlib import Path
from urllib.parse import quote

ICONS = Path(__file__).parent / "assets" / "icons"
_SIDE = 24
"""Side of the icons' view boxes."""


def icon_styles() -> str:
    """Return the rules of `.icon`, whose mask is a row of all icons, and of `.icon-NAME`, its place in the row."""
    files = sorted(ICONS.glob("*.svg"))
    placed = (
        path.read_text("utf-8")
        .strip()
        .replace("<svg ", f'<svg x="{_SIDE * place}" width="{_SIDE}" height="{_SIDE}" ', 1)
        for place, path in enumerate(files)
    )
    row = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_SIDE * len(files)} {_SIDE}">{"".join(placed)}</svg>'
    mask = f'url("data:image/svg+xml,{quote(row)}") 0 0 / {100 * len(files)}% 100% no-repeat'
    rules = [f".icon {{ -webkit-mask: {mask}; mask: {mask}; }}"]
    for place, path in enumerate(files):
        # 0 % is the row's left end at the icon's left edge, and 100 % its right end at the right edge.
        position = f"{100 * place / (len(files) - 1):.5f}% 0"
        rules.append(f".icon-{path.stem} {{ -webkit-mask-position: {position}; mask-position: {position}; }}")
    return "\n".join(rules)
