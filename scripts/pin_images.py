"""Pins the public images of docker/ and docker-compose.yml by digest, or renews that: python scripts/pin_images.py

Needs an engine that reaches the registry. Each image is pulled by its tag, and the digest that came is written behind.
"""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
_IMAGE = re.compile(r"^(ARG \w+_IMAGE=|    image: )([a-z][\w./-]*:[\w.-]+)(@sha256:[0-9a-f]{64})?$", re.MULTILINE)


def pinned(text: str, digest_of: Callable[[str], str]) -> str:
    """Return the text of a file with the digest behind each public image; ours have a variable in their tag."""
    return _IMAGE.sub(lambda found: f"{found[1]}{found[2]}@{digest_of(found[2])}", text)


def _digest(image: str) -> str:
    subprocess.run(["docker", "pull", "--quiet", image], check=True, stdout=subprocess.DEVNULL)
    inspect = ["docker", "image", "inspect", "--format", "{{index .RepoDigests 0}}", image]
    answer = subprocess.run(inspect, check=True, capture_output=True, text=True).stdout.strip()
    return answer.partition("@")[2]


def main() -> None:
    """Rewrite the files in which a digest has changed."""
    for path in (*sorted((ROOT / "docker").glob("*.Dockerfile")), ROOT / "docker-compose.yml"):
        text = path.read_text(encoding="utf-8")
        try:
            new = pinned(text, _digest)
        except (OSError, subprocess.CalledProcessError) as error:
            sys.exit(f"bapo: nothing more was pinned: {error}; docker must run here and reach the registry")
        if new != text:
            path.write_text(new, encoding="utf-8")
            print(f"bapo: pinned {path.relative_to(ROOT)}")


if __name__ == "__main__":
    main()
