"""Writes docs/settings.md and bapo/deploy/variables.txt from the settings of the services.

Run it as `python scripts/write_settings.py`.
"""

from __future__ import annotations

from pathlib import Path

from backend.settings.environment import Settings
from bapo.deploy.settings import KNOWN_FILE, OTHER_VARIABLES, ServiceSettings, Setting, describe
from frontend.server.settings import FrontendSettings
from worker.settings import WorkerSettings

ROOT = Path(__file__).resolve().parent.parent
SERVICES: tuple[tuple[str, type[ServiceSettings]], ...] = (
    ("Backend", Settings),
    ("Frontend", FrontendSettings),
    ("Worker", WorkerSettings),
)
INTRODUCTION = """# Settings

Written by `python scripts/write_settings.py`; a test keeps it true.

Every setting is an environment variable. `bapo up` sets what its services need and passes on what else is set;
`docker-compose.yml` takes its values from `.env`. A wrong value is refused at the start, with the variable, the value
and what to do; a `BAPO_` variable that nothing reads is warned about in the log. An empty variable counts as not set.
"""


def variables() -> str:
    """Return the content of `bapo/deploy/variables.txt`."""
    names = {each.variable for _, settings in SERVICES for each in describe(settings)} | set(OTHER_VARIABLES)
    return "\n".join(sorted(names)) + "\n"


def document() -> str:
    """Return the content of `docs/settings.md`."""
    common = {each.variable for each in describe(ServiceSettings)}
    parts = [INTRODUCTION, "## All services\n\n" + _table(describe(ServiceSettings))]
    for title, settings in SERVICES:
        own = [each for each in describe(settings) if each.variable not in common]
        parts.append(f"## {title}\n\n" + _table(own))
    rows = [
        f"| `{name}` | {each.reader} | {each.default} | {_cell(each.meaning)} |"
        for name, each in OTHER_VARIABLES.items()
    ]
    head = ["| variable | read by | default | meaning |", "|---|---|---|---|"]
    parts.append("## Others\n\n" + "\n".join([*head, *rows]) + "\n")
    return "\n".join(parts)


def _table(settings: list[Setting]) -> str:
    rows = [
        f"| `{each.variable}` | {_cell(each.type)} | {each.default or '**required**'} | {_cell(each.meaning)} |"
        for each in settings
    ]
    return "\n".join(["| variable | type | default | meaning |", "|---|---|---|---|", *rows]) + "\n"


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


def main() -> None:
    """Write both files."""
    (ROOT / "docs" / "settings.md").write_text(document(), encoding="utf-8")
    (ROOT / "bapo" / "deploy" / KNOWN_FILE).write_text(variables(), encoding="utf-8")


if __name__ == "__main__":
    main()
