"""Icons: one picture for all, of which each shows its part."""

from __future__ import annotations

import re
from typing import get_args
from urllib.parse import unquote

from frontend.components.icon import ICONS, IconName, icon_styles


def test_each_icon_shows_its_part_of_the_row() -> None:
    styles = icon_styles()
    names = re.findall(r"^\.icon-([\w-]+) \{.*; mask-position: ([\d.]+)% 0; \}$", styles, re.MULTILINE)
    assert (
        sorted(name for name, _ in names)
        == sorted(get_args(IconName))
        == sorted(path.stem for path in ICONS.glob("*.svg"))
    )
    # A row of n icons is n icons wide: of 0 % its left end shows, of 100 % its right end.
    last = len(names) - 1
    assert [round(float(position) / 100 * last, 3) for _, position in names] == list(range(last + 1))
    row = unquote(re.search(r'url\("data:image/svg\+xml,([^"]+)"\)', styles)[1])  # type: ignore[index]
    assert re.findall(r'<svg x="(\d+)" width="24" height="24"', row) == [str(24 * place) for place in range(last + 1)]
    assert f'viewBox="0 0 {24 * (last + 1)} 24"' in row
