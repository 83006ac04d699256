"""Findings of a run: what is wrong with its data, and what to do about it."""

from __future__ import annotations

from bapo.analysis.findings.finding import (
    LABELS,
    SEVERITIES,
    Check,
    Evidence,
    Finding,
    FindingKind,
    FindingsReport,
    ListedPrompt,
    ProbeFigures,
    PromptList,
    Remedy,
    Severity,
)

__all__ = [
    "LABELS",
    "SEVERITIES",
    "Check",
    "Evidence",
    "Finding",
    "FindingKind",
    "FindingsReport",
    "ListedPrompt",
    "ProbeFigures",
    "PromptList",
    "Remedy",
    "Severity",
]
