"""B_bad: the prompts whose latest known accuracy is at most c1 (arXiv:2602.20722, §3.2 and Alg. 1, line 8)."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from bapo.buffers.store import Flow
from bapo.records import BufferState


@dataclass(frozen=True, slots=True)
class DifficultPrompt:
    """A prompt's latest known accuracy."""

    num_correct: int
    evaluated_step: int
    """Step of that evaluation, fresh or repeated."""


class DifficultBuffer:
    """One entry per prompt, ordered by evaluation: the least recently seen is evicted and re-evaluated first."""

    def __init__(self, capacity: int) -> None:
        self.capacity = capacity
        # Not a plain dict: taking its first entry passes over the places of all those taken before.
        self._prompts: OrderedDict[str, DifficultPrompt] = OrderedDict()
        self._flow = Flow()

    def __len__(self) -> int:
        return len(self._prompts)

    def __contains__(self, prompt_id: str) -> bool:
        return prompt_id in self._prompts

    def __getitem__(self, prompt_id: str) -> DifficultPrompt:
        return self._prompts[prompt_id]

    @property
    def prompt_ids(self) -> Sequence[str]:
        """The prompts stored, least recently evaluated first."""
        return list(self._prompts)

    def begin_step(self) -> None:
        """Start counting the flow of a new step."""
        self._flow = Flow()

    def put(self, prompt_id: str, num_correct: int, step: int) -> None:
        """Add or refresh a prompt as the most recently evaluated one; the least recently evaluated makes room."""
        if self._prompts.pop(prompt_id, None) is None:
            self._flow.entered += 1
        else:
            self._flow.refreshed += 1
        self._prompts[prompt_id] = DifficultPrompt(num_correct, step)
        if len(self._prompts) > self.capacity:
            self._prompts.popitem(last=False)
            self._flow.evicted += 1

    def remove_improved(self, prompt_id: str) -> None:
        """Remove a prompt whose accuracy rose above c1, if it is stored."""
        if self._prompts.pop(prompt_id, None) is not None:
            self._flow.left_improved += 1

    def keep_where(self, is_difficult: Callable[[int], bool]) -> None:
        """Drop the prompts that are not difficult under a changed c1."""
        self._prompts = OrderedDict(
            (prompt_id, prompt) for prompt_id, prompt in self._prompts.items() if is_difficult(prompt.num_correct)
        )

    def least_recently_evaluated(self, limit: int, *, leave_out: Collection[str]) -> Sequence[str]:
        """Return up to `limit` prompts to re-evaluate, oldest evaluation first, ties by prompt id."""
        chosen: list[str] = []
        tied: list[str] = []
        tied_step: int | None = None
        for prompt_id, prompt in self._prompts.items():
            if prompt.evaluated_step != tied_step:
                chosen.extend(sorted(tied))
                tied, tied_step = [], prompt.evaluated_step
                if len(chosen) >= limit:
                    break
            if prompt_id not in leave_out:
                tied.append(prompt_id)
        return [*chosen, *sorted(tied)][:limit]

    def state(self, step: int) -> BufferState:
        """Return size, ages and flow after the step."""
        ages = [step - prompt.evaluated_step for prompt in self._prompts.values()]
        return self._flow.state(ages, self.capacity)

    def state_dict(self) -> dict[str, Any]:
        """Return the entries in order, ready for JSON."""
        return {
            "prompts": [
                [prompt_id, prompt.num_correct, prompt.evaluated_step] for prompt_id, prompt in self._prompts.items()
            ]
        }

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Restore the state from `state_dict`."""
        self._prompts = OrderedDict(
            (prompt_id, DifficultPrompt(num_correct, step)) for prompt_id, num_correct, step in state["prompts"]
        )
        # A fork may have less room than its parent.
        while len(self._prompts) > self.capacity:
            self._prompts.popitem(last=False)
