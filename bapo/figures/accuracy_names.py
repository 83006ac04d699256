"""Labels of a group's accuracies on axes."""

from __future__ import annotations


def accuracy_names(group_size: int) -> list[str]:
    """0/G, 1/G, … G/G, and the prompts that were not seen."""
    return [*(f"{k}/{group_size}" for k in range(group_size + 1)), "not seen"]
