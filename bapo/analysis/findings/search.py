"""Looks for every kind of finding."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import NamedTuple

import numpy as np

from bapo.analysis.findings.answers import answer_format, label_suspected
from bapo.analysis.findings.chance_movement import moved_by_chance
from bapo.analysis.findings.curves import held_out_falls, learning_stopped, reward_fell
from bapo.analysis.findings.duplicates import contamination, duplicate_prompts, near_duplicates
from bapo.analysis.findings.finding import (
    LABELS,
    SEVERITIES,
    Check,
    Finding,
    FindingKind,
    FindingsReport,
    Found,
    ListedPrompt,
    Outcome,
    ProbeFigures,
    PromptList,
    Remedy,
    TooLittle,
)
from bapo.analysis.findings.groups_without_gradient import groups_without_gradient
from bapo.analysis.findings.lengths import responses_cut, reward_follows_length
from bapo.analysis.findings.policy_health import diversity_falls, entropy_collapse, off_policy_drift, reference_drift
from bapo.analysis.findings.probe import OF_PROBES, figures_of, probe_outcomes
from bapo.analysis.findings.settled_prompts import always_solved, never_solved
from bapo.analysis.findings.stream import RunStream
from bapo.analysis.findings.verifier_noise import verifier_disagrees
from bapo.methods.observed import ObservedConfig
from bapo.methods.probe import ProbeConfig

DETECTORS: Mapping[FindingKind, Callable[[RunStream], Outcome]] = {
    "no_gradient": groups_without_gradient,
    "never_solved": never_solved,
    "always_solved": always_solved,
    "moved_by_chance": moved_by_chance,
    "verifier_disagrees": verifier_disagrees,
    "label_suspected": label_suspected,
    "answer_format": answer_format,
    "reward_follows_length": reward_follows_length,
    "responses_cut": responses_cut,
    "entropy_collapse": entropy_collapse,
    "diversity_falls": diversity_falls,
    "off_policy_drift": off_policy_drift,
    "reference_drift": reference_drift,
    "reward_fell": reward_fell,
    "learning_stopped": learning_stopped,
    "held_out_falls": held_out_falls,
    "duplicate_prompts": duplicate_prompts,
    "near_duplicates": near_duplicates,
    "contamination": contamination,
}


LEFT_OUT: frozenset[FindingKind] = frozenset(
    {"never_solved", "always_solved", "label_suspected", "duplicate_prompts", "near_duplicates", "contamination"}
)
"""Kinds whose prompts may as well be left out of training."""
_FILTERS = {
    "trl": "trainer_dataset = dataset.filter(observe.without({file!r}))",
    "verl": 'load_dataset("parquet", data_files="train.parquet", split="train").filter('
    'observe.without({file!r})).to_parquet("train-kept.parquet")',
}
_IMPORTS = {"verl": "from datasets import load_dataset\n"}


_OF_DATA: frozenset[FindingKind] = frozenset(
    {
        "verifier_disagrees",
        "label_suspected",
        "answer_format",
        "reward_follows_length",
        "responses_cut",
        "duplicate_prompts",
        "near_duplicates",
    }
)
"""Kinds that a model's answers show before it is trained."""


def _outcomes(stream: RunStream) -> dict[FindingKind, Outcome]:
    """Return a probe's own findings and those of its data, or all that a run can show, in the order of `LABELS`."""
    is_probe = isinstance(stream.config.method, ProbeConfig)
    own = probe_outcomes(stream) if is_probe else {}
    looked_for = _OF_DATA if is_probe else LABELS.keys() - OF_PROBES
    found = own | {kind: DETECTORS[kind](stream) for kind in looked_for}
    return {kind: found[kind] for kind in LABELS if kind in found}


class Search(NamedTuple):
    """The findings of a run, and the prompts that they name."""

    report: FindingsReport
    prompts: Mapping[FindingKind, PromptList]
    probe: ProbeFigures | None = None
    """Figures of the probe; null until it has answered enough prompts."""


def find(stream: RunStream) -> Search:
    """Return all findings of what a run has recorded so far."""
    outcomes = _outcomes(stream)
    found = {kind: outcome for kind, outcome in outcomes.items() if isinstance(outcome, Found)}
    found = {kind: _leaving_out(stream, each) if kind in LEFT_OUT else each for kind, each in found.items()}
    if stream.is_observed:
        found = {kind: each._replace(finding=_without_changes(each.finding)) for kind, each in found.items()}
    findings = sorted((each.finding for each in found.values()), key=lambda each: SEVERITIES.index(each.severity))
    lists: dict[FindingKind, tuple[ListedPrompt, ...]] = {kind: tuple(each.prompts) for kind, each in found.items()}
    report = FindingsReport(
        step=stream.last_step,
        findings=findings,
        checks=[_check(kind, outcome) for kind, outcome in outcomes.items()],
    )
    prompts = {kind: PromptList(kind=kind, items=items) for kind, items in lists.items() if items}
    return Search(report, prompts, figures_of(stream, report))


def _leaving_out(stream: RunStream, found: Found) -> Found:
    """Return the finding with a remedy that leaves its prompts out: a clone, or a filter of another trainer's dataset.

    There is no such remedy where too little would be left: neither the prompts of a step nor half of all.
    """
    fresh, num_prompts = stream.fresh_rows(), len(stream.visits.prompt_ids)
    prompts_per_step = int(fresh.sum()) / max(1, len(np.unique(stream.visits.step[fresh])))
    if num_prompts - found.finding.num_prompts < min(prompts_per_step, num_prompts / 2):
        return found
    method = stream.config.method
    if isinstance(method, ObservedConfig):
        option = found.finding.kind.replace("_", "-")
        trainer = method.trainer.lower()
        line = _FILTERS.get(trainer, _FILTERS["trl"]).format(file=f"{option}.csv")
        code = f"# bapo findings RUN --prompts {option} > {option}.csv\n{_IMPORTS.get(trainer, '')}"
        remedy = Remedy(
            text="Leave the listed prompts out of the dataset.", snippet=f"{code}from bapo import observe\n\n{line}"
        )
    else:
        remedy = Remedy(text="Leave the listed prompts out of training.", leaves_out_prompts=True)
    return found._replace(finding=found.finding.model_copy(update={"remedies": [*found.finding.remedies, remedy]}))


def _without_changes(finding: Finding) -> Finding:
    """Return the finding for a run that cannot be cloned here: its remedies say in words what to do."""
    remedies = [remedy.model_copy(update={"changes": {}}) for remedy in finding.remedies]
    return finding.model_copy(update={"remedies": remedies})


def _check(kind: FindingKind, outcome: Outcome) -> Check:
    match outcome:
        case TooLittle(reason):
            return Check(kind=kind, label=LABELS[kind], outcome="too_little", reason=reason)
        case Found():
            return Check(kind=kind, label=LABELS[kind], outcome="found")
        case None:
            return Check(kind=kind, label=LABELS[kind], outcome="nothing")
