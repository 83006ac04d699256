"""Results that arXiv:2602.20722 reports, shown in grey next to those of runs.

They are of other models and problems, and without intervals: a scale, not a reference to beat.
"""

from __future__ import annotations

from collections.abc import Mapping

from bapo.config.method import method_label
from bapo.figures.groups import Group

BASE = "base"
"""The paper's model before training."""

_METHODS = (BASE, "GRPO", "DAPO", "MoPPS", "GRPO (delayed)", "RePO", "ReMix", "BAPO")
_PLANNING = (BASE, "GRPO", "DAPO", "BAPO w/o X2", "BAPO w/o X3", "BAPO")

ACCURACIES: Mapping[str, tuple[str, Mapping[str, float]]] = {
    name: (model, {method: percent / 100 for method, percent in zip(methods, percents, strict=True)})
    for model, methods, sets in (
        (
            "DeepSeek R1 Distill Qwen 1.5B",
            _METHODS,
            {
                "aime24": (28.80, 30.73, 35.73, 33.33, 30.49, 30.42, 33.33, 38.54),
                "amc23": (62.90, 67.47, 70.08, 65.29, 65.09, 64.76, 65.06, 72.74),
                "math500": (82.80, 85.40, 86.05, 84.94, 86.72, 83.75, 84.60, 89.18),
                "minerva": (26.50, 28.95, 30.70, 28.88, 28.16, 28.33, 26.10, 29.55),
                "olympiad": (44.42, 45.33, 48.48, 45.93, 46.18, 45.44, 43.55, 50.06),
            },
        ),
        (
            "Qwen2.5 Math 1.5B",
            _PLANNING,
            {
                "CD-34": (1.12, 62.94, 70.56, 60.31, 64.43, 73.00),
                "CD-4": (0.37, 35.88, 45.87, 35.31, 38.75, 47.50),
            },
        ),
        (
            "Qwen2.5 VL 3B",
            _PLANNING,
            {
                "geometry3k-validation": (14.77, 36.44, 40.11, 30.57, 32.22, 40.11),
                "geometry3k-test": (19.18, 43.12, 45.18, 36.92, 39.79, 46.33),
            },
        ),
    )
    for name, percents in sets.items()
}
"""Table 1 by held-out set, named as `bapo data` names it: the smallest model, and avg@32 by method."""

UNLOCKED: Mapping[str, float] = {"BAPO": 0.31, "GRPO": 0.19}
"""Figure 7: share of the prompts at 0/8 before training that are solved after three epochs, by method."""


def method_of(group: Group) -> str | None:
    """Return the one method of a group's runs, as the paper's names are written here; None where it has several."""
    methods = {method_label(run.config["method"]) for run in group.runs}
    return methods.pop() if len(methods) == 1 else None
