"""The paper's training and test sets: where they are published, their size and licence (arXiv:2602.20722, Table 4)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple


class PublishedSet(NamedTuple):
    """One set of problems, as its authors publish it."""

    repository: str
    """On the Hugging Face hub."""
    num_problems: int
    """Rounded to thousands where above 10,000."""
    licence: str | None
    """Licence in Table 4; `None` if the table has none. The repository decides."""


_APACHE = "Apache 2.0"
_COUNTDOWN = "Jiayi-Pan/Countdown-Tasks-3to4"
_GEOMETRY = "hiyouga/geometry3k"

SETS: Mapping[str, PublishedSet] = {
    "deepscaler": PublishedSet("agentica-org/DeepScaleR-Preview-Dataset", 40_000, _APACHE),
    # Table 4 has 49,000; its repository, which it links to, has ten times as many.
    "countdown": PublishedSet(_COUNTDOWN, 490_000, _APACHE),
    "geometry3k-train": PublishedSet(_GEOMETRY, 2_101, _APACHE),
    "geometry3k-validation": PublishedSet(_GEOMETRY, 300, _APACHE),
    "geometry3k-test": PublishedSet(_GEOMETRY, 601, _APACHE),
    "aime24": PublishedSet("HuggingFaceH4/aime_2024", 30, "MIT"),
    "amc23": PublishedSet("AI-MO/aimo-validation-amc", 83, _APACHE),
    "math500": PublishedSet("HuggingFaceH4/MATH-500", 500, None),
    "minerva": PublishedSet("math-ai/minervamath", 272, _APACHE),
    "olympiad": PublishedSet("Hothan/OlympiadBench", 674, _APACHE),
}
"""By the name of the file that `bapo data prepare` writes, without its ending."""
