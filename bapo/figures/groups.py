"""Runs put into groups whose members are replicates: by default all that only the seed sets apart."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import Any, NamedTuple

from bapo.analysis.comparison import (
    SEED_FIELDS,
    ComparedRun,
    RunGroup,
    differences,
    estimate,
    flattened,
    groups_of,
    is_material,
    over_replicates,
    replicate_keys,
    setting_name,
    value_text,
)
from bapo.analysis.result import MeanEstimate
from bapo.analysis.steered import steered_config
from bapo.config.method import method_label
from bapo.figures.recorded import RecordedRun

BY_CONFIG, BY_METHOD, BY_RUN = "config", "method", "run"


class Group(NamedTuple):
    """Replicates under one label."""

    label: str
    runs: Sequence[RecordedRun]
    differs_in: Sequence[str]
    """Config fields, other than the seed, on which the members differ: then they are no mere replicates."""
    shared_seeds: Sequence[int]
    """Seeds that several members have: they are not independent."""


def replicates_of(runs: Sequence[RecordedRun]) -> list[Hashable]:
    """Return the key of each run's replicate: identical runs of one seed are one."""
    return replicate_keys([steered_config(flattened(run.config), run.applied_changes) for run in runs])


def estimate_over(runs: Sequence[RecordedRun], figure: Callable[[RecordedRun], float | None]) -> MeanEstimate | None:
    """Return the mean over the replicates that have the figure, with its interval."""
    figures = [(key, figure(run)) for key, run in zip(replicates_of(runs), runs, strict=True)]
    return estimate(over_replicates([(key, value) for key, value in figures if value is not None]))


def grouped(runs: Sequence[RecordedRun], by: str = BY_CONFIG) -> list[Group]:
    """Return groups in the order in which the runs name them.

    `by` is `config` (everything but the seed), `method`, `run` (each alone), `group`, `tags`, or a config field such as
    `method.c1`.

    Raises:
        ValueError: none of the runs has the field.
    """
    # A run whose c1 was changed is no replicate of one with the former c1, nor of one with the new one.
    configs = [steered_config(comparable(run.config), run.applied_changes) for run in runs]
    if by == BY_CONFIG:
        members: dict[str, list[int]] = {}
        for index, label in enumerate(_config_labels(configs)):
            members.setdefault(label, []).append(index)
        found = [RunGroup(label, tuple(indices)) for label, indices in members.items()]
    else:
        compared = [
            ComparedRun(run.name, config, run.tags, run.group) for run, config in zip(runs, configs, strict=True)
        ]
        found = groups_of(compared, "method.type" if by == BY_METHOD else by)
    return [
        Group(
            each.label,
            [runs[index] for index in each.members],
            [
                difference.field
                for difference in differences([configs[index] for index in each.members])
                if difference.field not in SEED_FIELDS
            ],
            shared_seeds([runs[index] for index in each.members]),
        )
        for each in found
    ]


def _config_labels(configs: Sequence[Mapping[str, Any]]) -> list[str]:
    """Return the method, and what sets a run apart from the config that most runs of its method have."""
    usual = {
        method: most_common([config for config in configs if config["method.type"] == method])
        for method in dict.fromkeys(config["method.type"] for config in configs)
    }
    labels = []
    for config in configs:
        baseline = usual[config["method.type"]]
        settings = [
            f"{setting_name(field, config)} {value_text(value)}"
            for field, value in config.items()
            if field not in SEED_FIELDS and (field not in baseline or baseline[field] != value)
        ]
        labels.append(" · ".join([config["method.type"], *settings]))
    return labels


def most_common(configs: Sequence[Mapping[str, Any]]) -> Mapping[str, Any]:
    """Return the config that most of these flat ones are but for the seed, the first of several; at least one is
    needed."""
    keys = [repr({field: value for field, value in config.items() if field not in SEED_FIELDS}) for config in configs]
    return configs[keys.index(Counter(keys).most_common(1)[0][0])]


def differing(config: Mapping[str, Any], other: Mapping[str, Any]) -> set[str]:
    """Return fields of two flat configs that are not the same."""
    return {field for field in config.keys() | other.keys() if config.get(field) != other.get(field)}


def comparable(config: Mapping[str, Any]) -> dict[str, Any]:
    """Return the config as flat fields, `method.type` as its name with what was left out of it."""
    flat = {field: value for field, value in flattened(config).items() if field in SEED_FIELDS or is_material(field)}
    flat.pop("method.without", None)
    # "filter gaussian" says more than "type gaussian".
    for name in list(flat):
        section, _, last = name.rpartition(".")
        if last == "type" and section.count("."):
            flat[section] = flat.pop(name)
    flat["method.type"] = method_label(config["method"])
    return flat


def shared_seeds(runs: Sequence[RecordedRun]) -> list[int]:
    """Return the seeds that more than one of the runs has."""
    seeds = [run.seed for run in runs if run.seed is not None]
    return sorted({seed for seed in seeds if seeds.count(seed) > 1})


def fields_between(groups: Sequence[Group]) -> list[str]:
    """Return fields outside of the method's own in which the groups' usual configs differ, and that no label names."""
    usual = [most_common([comparable(run.config) for run in group.runs]) for group in groups]
    named = [part for group in groups for part in group.label.split(" · ")[1:]]
    return [
        each.field
        for each in differences(usual)
        if each.field not in SEED_FIELDS
        and not each.field.startswith("method")
        and not any(part.startswith(f"{setting_name(each.field, usual[0])} ") for part in named)
    ]
