"""The declaration of a study, a TOML file that its author writes before the first run."""

from __future__ import annotations

import hashlib
import json
import re
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from importlib import resources
from pathlib import Path
from typing import Annotated, Any, Literal, Self

from pydantic import AfterValidator, Field, ValidationError, ValidationInfo, model_validator
from pydantic_core import ErrorDetails

from bapo.analysis.number_format import counted
from bapo.config.error_messages import said
from bapo.config.errors import ConfigError, ConfigProblem
from bapo.config.resolve import flatten
from bapo.config.section import Section

MEAN = "mean"
"""In the place of a test set: the mean over all of them."""
MOST_RUNS = 1_000
MOST_CHARACTERS = 200_000
"""Most characters of a study file."""
MOST_LEVELS = 32
"""Tables within tables; a config has four."""
_SHOWN_COUNT = 10**9
"""Largest number of runs that is written out."""
_MOST_DOTS = 300
"""In a line."""
_MOST_KEY_CHARACTERS = 200

Metric = Literal["avg", "greedy", "pass"]
"""avg@k, accuracy of the greedy response, pass@k."""
Budget = Literal["steps", "rollouts", "compute"]
"""Point at which two arms are compared: after their last steps, or at the most rollouts, or CPU-seconds, that all have
spent.
"""

_NAME = re.compile(r"[^\W_][\w .,;:+()=/<>≤≥½-]*", re.UNICODE)


def _plain(name: str) -> str:
    if not _NAME.fullmatch(name) or name != name.strip():
        raise ValueError("must begin with a letter or digit and hold letters, digits, blanks and -_.,;:+()=/ only")
    return name


Name = Annotated[str, Field(min_length=1, max_length=60), AfterValidator(_plain)]
Seed = Annotated[int, Field(ge=0, le=2**32 - 1)]
Changes = Annotated[Mapping[str, Any], AfterValidator(flatten)]
"""Config fields, dotted or nested."""


PARTS_ALONE = {"parts": "alone"}
"""Context of a validation that looks at each part, and not at what they say of one another."""


class _ContradictionsError(ValueError):
    """Contradictions between parts of a declaration."""

    def __init__(self, problems: Sequence[ConfigProblem]) -> None:
        super().__init__("; ".join(map(str, problems)))
        self.problems = problems


class Arm(Section):
    """One side of a comparison: a method with its settings."""

    name: Name
    """Name of the arm in the report."""
    method: Annotated[str, Field(min_length=1, max_length=60)]
    """`method.type`."""
    set: Changes = Field(default={})
    """Fields that this arm sets."""


class Regime(Section):
    """A setting in which all arms are compared, such as harder problems."""

    name: Name
    title: Annotated[str, Field(max_length=200)] = ""
    """One line that says what is special about it."""
    set: Changes = Field(default={})
    """Fields that all runs of the regime set."""


class Primary(Section):
    """The one comparison that the study is made for."""

    arm: Name
    against: Name
    """The arm that is subtracted."""
    metric: Metric = "avg"
    test_set: Annotated[str, Field(min_length=1, max_length=200)] = MEAN
    """A test set, or `mean` of all."""
    at: Budget = "steps"
    regime: Name | None = None
    """Empty: the first regime."""


class Tuning(Section):
    """Settings that are chosen before the runs that count: on validation problems, with seeds of their own."""

    grid: Annotated[
        dict[str, Annotated[list[Any], Field(min_length=1, max_length=50)]], Field(min_length=1, max_length=20)
    ]
    """Dotted fields and their candidates; every combination is tried, in each regime."""
    seeds: Annotated[tuple[Seed, ...], Field(min_length=1, max_length=100)]
    """Seeds of the tuning runs; none of the study's own."""
    arms: Annotated[tuple[Name, ...], Field(max_length=100)] = ()
    """Arms that are tuned. Empty: all."""
    set: Changes = Field(default={})
    """Further fields that tuning runs set, such as fewer steps."""


class Declaration(Section):
    """A study: what is asked, which runs answer it, and which of their figures decides."""

    title: Annotated[str, Field(min_length=1, max_length=150)]
    question: Annotated[str, Field(min_length=1, max_length=5_000)]
    """Question that the study shall answer."""
    expectation: Annotated[str, Field(max_length=5_000)] = ""
    """Result that its author expects, written down before the first run."""
    recipe: Annotated[str, Field(max_length=200)] | None = None
    """Shipped recipe that all runs start from."""
    config: Changes = Field(default={})
    """Or the fields themselves, as in a recipe."""
    set: Changes = Field(default={})
    """Fields that all runs set on top."""
    seeds: Annotated[tuple[Seed, ...], Field(min_length=1, max_length=1_000)]
    """`training.seed` of the runs; every arm has all of them, so that arms are compared seed by seed."""
    test_sets: Annotated[tuple[str, ...], Field(min_length=1, max_length=20)]
    """Held-out sets that the results are read from; nothing is chosen by them."""
    arms: Annotated[tuple[Arm, ...], Field(min_length=1, max_length=100)]
    regimes: Annotated[tuple[Regime, ...], Field(max_length=20)] = (Regime(name="main"),)
    reference: Name | None = None
    """Arm that all others are compared with. Empty: the one that the primary comparison subtracts."""
    primary: Primary
    tuning: Tuning | None = None
    num_runs: Annotated[int, Field(ge=1, le=MOST_RUNS)]
    """Runs that the study makes, tuning included: a check on the author's own arithmetic."""

    @model_validator(mode="after")
    def _hangs_together(self, info: ValidationInfo) -> Self:
        if info.context != PARTS_ALONE and (problems := contradictions(self)):
            raise _ContradictionsError(problems)
        return self

    @property
    def reference_arm(self) -> str:
        """The arm that all others are compared with."""
        return self.reference or self.primary.against

    @property
    def primary_regime(self) -> str:
        """The regime of the primary comparison."""
        return self.primary.regime or self.regimes[0].name

    @property
    def digest(self) -> str:
        """SHA-256 of the content: comments and layout of the file do not count."""
        return hashlib.sha256(json.dumps(self.model_dump(mode="json"), sort_keys=True).encode()).hexdigest()

    @property
    def num_tuning_points(self) -> int:
        """Combinations of the tuning grid."""
        count = 1
        for values in self.tuning.grid.values() if self.tuning else ():
            count *= len(values)
        return count

    @property
    def tuned_arms(self) -> Sequence[Arm]:
        """Arms that are tuned."""
        if self.tuning is None:
            return ()
        return [arm for arm in self.arms if not self.tuning.arms or arm.name in self.tuning.arms]

    @property
    def num_tuning_runs(self) -> int:
        """Runs that choose settings."""
        if self.tuning is None:
            return 0
        return self.num_tuning_points * len(self.tuning.seeds) * len(self.tuned_arms) * len(self.regimes)

    @property
    def num_planned_runs(self) -> int:
        """All runs, those that tune included."""
        return self.num_final_runs + self.num_tuning_runs

    @property
    def num_final_runs(self) -> int:
        """Runs that the results are read from."""
        return len(self.arms) * len(self.regimes) * len(self.seeds)


def contradictions(study: Declaration) -> list[ConfigProblem]:
    """Return everything that one part of a declaration says against another."""
    found: list[ConfigProblem] = []

    def problem(field: str, remedy: str) -> None:
        found.append(ConfigProblem(field, None, remedy))

    arms, regimes = [arm.name for arm in study.arms], [regime.name for regime in study.regimes]
    for field, values in (
        ("seeds", study.seeds),
        ("test_sets", study.test_sets),
        ("arms", arms),
        ("regimes", regimes),
        ("tuning.seeds", study.tuning.seeds if study.tuning else ()),
    ):
        twice = next((value for value in values if list(values).count(value) > 1), None)
        if twice is not None:
            problem(field, f"{twice} appears twice: remove one")
    slugs = [slug(name) for name in arms]
    alike = next((name for name in arms if slugs.count(slug(name)) > 1), None)
    if alike is not None and len(set(arms)) == len(arms):
        problem("arms", f"{alike!r} differs from another name only in punctuation and case: choose more distinct names")
    if not regimes:
        problem("regimes", "give at least one, or leave the field out")
    if (study.recipe is None) == (not study.config):
        problem("recipe", "give a recipe, or a config: one of them")
    for field, name in (
        ("reference", study.reference),
        ("primary.arm", study.primary.arm),
        ("primary.against", study.primary.against),
        *(("tuning.arms", name) for name in (study.tuning.arms if study.tuning else ())),
    ):
        if name is not None and name not in arms:
            problem(field, f"there is no arm {name!r}: take one of {', '.join(arms)}")
    if study.primary.arm == study.primary.against:
        problem("primary.against", "is the same arm: compare two")
    if study.primary.regime is not None and study.primary.regime not in regimes:
        problem("primary.regime", f"there is no regime {study.primary.regime!r}: take one of {', '.join(regimes)}")
    if study.primary.test_set not in (MEAN, *study.test_sets):
        known = ", ".join((*study.test_sets, MEAN))
        problem("primary.test_set", f"is not one of the test sets: take one of {known}")
    found += _reserved(study)
    if study.tuning is not None and (shared := set(study.seeds) & set(study.tuning.seeds)):
        seed = min(shared)
        problem("tuning.seeds", f"{seed} is a seed of the study too: tune with others, such as {max(study.seeds) + 1}")
    if study.num_runs != study.num_planned_runs:
        problem("num_runs", _miscounted(study))
    return found


def _miscounted(study: Declaration) -> str:
    sizes = ((len(study.arms), "arm"), (len(study.regimes), "regime"), (len(study.seeds), "seed"))
    parts = " × ".join(counted(number, noun) for number, noun in sizes)
    parts += f", and {_count_in_words(study.num_tuning_runs)} that tune" if study.num_tuning_runs else ""
    planned = study.num_planned_runs
    if planned > MOST_RUNS:
        way_out = f"at most {MOST_RUNS:,} can be made, give it fewer arms, seeds or values to tune"
    else:
        way_out = f"write {planned}, or change its arms or seeds"
    return f"the study makes {_count_in_words(planned)} runs ({parts}): {way_out}"


def _count_in_words(count: int) -> str:
    return str(count) if count <= _SHOWN_COUNT else f"more than {_SHOWN_COUNT:,}"


def _reserved(study: Declaration) -> list[ConfigProblem]:
    """Return fields that would undo what makes runs comparable."""
    parts: list[tuple[str, Changes, Sequence[str]]] = [
        ("config", study.config, _EVERYWHERE),
        ("set", study.set, _EVERYWHERE),
        *((f"arms.{arm.name}.set", arm.set, _OF_ARMS) for arm in study.arms),
        *((f"regimes.{regime.name}.set", regime.set, _EVERYWHERE) for regime in study.regimes),
    ]
    if study.tuning is not None:
        parts += [("tuning.set", study.tuning.set, _OF_TUNING), ("tuning.grid", study.tuning.grid, _OF_TUNING)]
    return [
        ConfigProblem(f"{part}.{field}", value, _REASONS[reserved])
        for part, fields, forbidden in parts
        for field, value in fields.items()
        for reserved in forbidden
        if field == reserved or field.startswith(f"{reserved}.")
    ]


_REASONS = {
    "training.seed": "the seeds of a study belong in `seeds`: remove it",
    "method.type": "the trained method belongs in `method` of an arm: remove it",
    "task.held_out": "a study evaluates on the test sets, and tunes on validation problems, by itself: remove it",
    "task": "all arms of a regime have the same problems: set it for the study or a regime",
    "evaluation": "all arms of a regime are evaluated in the same way: set it for the study or a regime",
    "tracking": "all arms of a regime are tracked in the same way: set it for the study or a regime",
    "model": "all arms of a regime start from the same model: set it for the study or a regime",
}
_EVERYWHERE = ("training.seed", "method.type", "task.held_out")
_OF_ARMS = ("training.seed", "method.type", "task", "evaluation", "tracking", "model")
_OF_TUNING = ("training.seed", "method.type", "task", "model")


def slug(name: str) -> str:
    """Return a name as part of a folder's: "BAPO without X2" → "bapo-without-x2"."""
    return re.sub(r"[^a-z0-9.]+", "-", name.casefold().replace("½", "1-2")).strip("-") or "unnamed"


def table_of(text: str) -> dict[str, Any]:
    """Return what a study file says, before it is checked. Raises ConfigError where it is no TOML."""
    if len(text) > MOST_CHARACTERS:
        remedy = f"is longer than {MOST_CHARACTERS:,} characters: shorten it"
        raise ConfigError([ConfigProblem("study", f"{len(text):,} characters", remedy)])
    # Reading a dotted key takes the square of its parts.
    for number, line in enumerate(text.split("\n"), start=1):
        if (dots := line.count(".")) > _MOST_DOTS:
            raise _not_a_study(f"line {number} has {dots:,} dots, and at most {_MOST_DOTS} can be read: break it")
    try:
        table = tomllib.loads(text)
    except RecursionError:
        raise _not_a_study("its values are nested too deeply: flatten them") from None
    except ValueError as error:
        # A number of more than 4,300 digits is another error than the one of TOML.
        raise _not_a_study(f"not readable as TOML: {error}") from None
    _check_values(table)
    return table


def _not_a_study(remedy: str) -> ConfigError:
    return ConfigError([ConfigProblem("study", None, remedy)])


def _check_values(table: Mapping[str, Any]) -> None:
    """Raise ConfigError where values are nested too deeply, or a key or a number is too long."""
    left: list[tuple[tuple[str, ...], Any, int]] = [((), table, 0)]
    while left:
        path, value, level = left.pop()
        if level > MOST_LEVELS:
            raise _not_a_study(f"{path[0]} is nested more than {MOST_LEVELS} levels deep: flatten it")
        if isinstance(value, dict):
            # Each field within a table is called by the table's whole name.
            if long := next((key for key in value if len(key) > _MOST_KEY_CHARACTERS), None):
                raise _not_a_study(
                    f"a key has {len(long):,} characters, and at most {_MOST_KEY_CHARACTERS} can be read"
                )
            left += [((*path, key), each, level + 1) for key, each in value.items()]
        elif isinstance(value, list):
            left += [(path, each, level + 1) for each in value]
        elif isinstance(value, int) and not -(2**63) <= value < 2**63:
            remedy = "a whole number has at most 64 bits here: write a smaller one"
            raise ConfigError([ConfigProblem(".".join(path), f"{value.bit_length()} bits", remedy)])


def parse(text: str) -> Declaration:
    """Return a declaration from the text of its file. Raises ConfigError naming each field, value and remedy."""
    given = table_of(text)
    try:
        return Declaration.model_validate(given)
    except ValidationError as error:
        raise ConfigError(problems_in(error, given)) from None


def problems_in(error: ValidationError, given: Mapping[str, Any]) -> list[ConfigProblem]:
    """Return the findings of pydantic in a study's terms."""
    return [problem for each in error.errors(include_url=False) for problem in _problems(each, given)]


def with_values(problems: Iterable[ConfigProblem], given: Mapping[str, Any]) -> list[ConfigProblem]:
    """Return the problems, each with what the file says where it has no value yet."""
    return [
        each if each.value is not None else ConfigProblem(each.field, _at(given, each.field), each.remedy)
        for each in problems
    ]


_WORDS = {
    "missing": "is missing: a study declares it before its first run",
    "extra_forbidden": "a study has no such field: remove it, or correct its name",
    "too_short": "give at least one",
    "string_too_short": "is empty: write one",
}


def _problems(finding: ErrorDetails, given: Mapping[str, Any]) -> list[ConfigProblem]:
    error = finding.get("ctx", {}).get("error")
    if isinstance(error, _ContradictionsError):
        return with_values(error.problems, given)
    field, value = ".".join(map(str, finding["loc"])), finding["input"]
    if finding["type"] == "value_error":
        return [ConfigProblem(field, value, str(error))]
    remedy = _WORDS.get(finding["type"]) or said(finding)
    return [ConfigProblem(field, None if finding["type"] == "missing" else value, remedy)]


def _at(given: Any, field: str) -> Any:
    for part in field.split("."):
        given = given.get(part) if isinstance(given, dict) else None
    return None if isinstance(given, dict | list) else given


def read(path: Path) -> str:
    """Return the text of a study file. Raises ConfigError where it cannot be read."""
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError([ConfigProblem("study", str(path), f"cannot be read: {error}")]) from None


def shipped() -> dict[str, str]:
    """Return the studies that come with the library: name → text."""
    folder = resources.files("bapo.study") / "shipped"
    files = sorted((file for file in folder.iterdir() if file.name.endswith(".toml")), key=lambda file: file.name)
    return {file.name.removesuffix(".toml"): file.read_text(encoding="utf-8") for file in files}


def load(name_or_path: str) -> str:
    """Return the text of a shipped study by name, or of a file. Raises ConfigError with the names there are."""
    known = shipped()
    if name_or_path in known:
        return known[name_or_path]
    path = Path(name_or_path)
    if path.is_file():
        return read(path)
    remedy = f"no such study: take one of {', '.join(known)}, or the path of a .toml file"
    raise ConfigError([ConfigProblem("study", name_or_path, remedy)])
