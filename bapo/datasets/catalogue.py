"""The data sets that the paper trains and tests on: their repositories, and the conversion of their rows.

Files and columns are those of the authors' repositories on the Hugging Face hub.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow

from bapo.datasets import rows
from bapo.datasets.sets import SETS

IMAGE = pyarrow.struct([("bytes", pyarrow.binary()), ("path", pyarrow.string())])
TEXTS = pyarrow.schema([("prompt", pyarrow.string()), ("answer", pyarrow.string()), ("data_source", pyarrow.string())])
PICTURES = TEXTS.append(pyarrow.field("images", pyarrow.list_(IMAGE)))
NUMBERS = pyarrow.schema([("nums", pyarrow.list_(pyarrow.int64())), ("target", pyarrow.int64())])


@dataclass(frozen=True, slots=True)
class Columns:
    """One of the schemas in which a data set is published."""

    names: tuple[str, ...]
    convert: Callable[[Mapping[str, Any]], dict[str, Any]]
    """Converts a published row to one of ours, without its source. Raises `rows.RowError`."""


@dataclass(frozen=True, slots=True)
class Part:
    """One file that is written."""

    name: str
    """Name of the held-out set: that of the file, without its ending."""
    patterns: tuple[str, ...]
    """Published files, as glob patterns within the folder; the first pattern that matches a file is used."""


@dataclass(frozen=True, slots=True)
class PublishedData:
    """A data set as its authors publish it."""

    name: str
    parts: tuple[Part, ...]
    schemas: tuple[Columns, ...]
    """Tried in this order; the first whose columns are all present is used."""
    written: pyarrow.Schema
    answers_by: str | None
    """Verifier that must be able to parse each answer; None if rows have no answer."""
    about: str

    @property
    def repository(self) -> str:
        """On the Hugging Face hub."""
        return SETS[self.parts[0].name].repository

    @property
    def licence(self) -> str | None:
        """Licence in the paper's Table 4; `None` if the table has none."""
        return SETS[self.parts[0].name].licence

    @property
    def patterns(self) -> list[str]:
        """Published files of all parts, as glob patterns."""
        return [pattern for part in self.parts for pattern in part.patterns]

    @property
    def num_problems(self) -> Mapping[str, int]:
        """Published problems by the file that is written; rounded to thousands where above 10,000."""
        return {part.name: SETS[part.name].num_problems for part in self.parts}


def _mathematics(name: str, patterns: Sequence[str], schemas: Sequence[tuple[str, str]], about: str) -> PublishedData:
    columns = tuple(Columns((prompt, answer), rows.question(prompt, answer)) for prompt, answer in schemas)
    return PublishedData(name, (Part(name, tuple(patterns)),), columns, TEXTS, "math", about)


_ANY = ("*.parquet", "*.jsonl", "*.json", "data/*.parquet")

PUBLISHED: Mapping[str, PublishedData] = {
    each.name: each
    for each in (
        _mathematics(
            "deepscaler",
            ("deepscaler.json", *_ANY),
            [("problem", "answer")],
            "Competition mathematics, to train",
        ),
        PublishedData(
            "countdown",
            (Part("countdown", ("data/train-*.parquet", *_ANY)),),
            (Columns(("nums", "target"), rows.countdown),),
            NUMBERS,
            None,
            "Countdown with three or four numbers",
        ),
        PublishedData(
            "geometry3k",
            tuple(
                Part(f"geometry3k-{split}", (f"data/{split}-*.parquet", f"{split}-*.parquet", f"{split}.parquet"))
                for split in ("train", "validation", "test")
            ),
            (Columns(("images", "problem", "answer"), rows.picture),),
            PICTURES,
            "math",
            "Geometry with a diagram: to train, to validate and to test",
        ),
        _mathematics(
            "aime24",
            ("data/train-*.parquet", *_ANY),
            [("problem", "answer"), ("Problem", "Answer")],
            "AIME 2024",
        ),
        _mathematics(
            "amc23",
            ("data/train-*.parquet", *_ANY),
            [("problem", "answer"), ("question", "answer")],
            "AMC 12 of 2022 and 2023",
        ),
        _mathematics(
            "math500",
            ("test.jsonl", *_ANY),
            [("problem", "answer")],
            "MATH-500, competition mathematics",
        ),
        _mathematics(
            "minerva",
            ("test.jsonl", *_ANY),
            [("question", "answer"), ("problem", "answer")],
            "Minerva's undergraduate problems",
        ),
        PublishedData(
            "olympiad",
            (
                Part(
                    "olympiad",
                    (
                        "OlympiadBench/OE_TO_maths_en_COMP/*.parquet",
                        "OE_TO_maths_en_COMP/*.parquet",
                        "OE_TO_maths_en_COMP.*",
                        *_ANY,
                    ),
                ),
            ),
            (
                Columns(("question", "final_answer"), rows.olympiad),
                Columns(("question", "answer"), rows.question("question", "answer")),
            ),
            TEXTS,
            "math",
            "OlympiadBench, open-ended mathematics in English without images",
        ),
    )
}
