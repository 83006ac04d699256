"""Turns the steps that a trainer reports into lines of a journal; writes no file and starts no thread."""

from __future__ import annotations

import math
import operator
import time
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import orjson

from bapo.config.sections import MAX_GROUP_SIZE
from bapo.evaluation import figures
from bapo.message_text import MessageError, response_text
from bapo.observe.group import (
    DATA_SOURCE,
    CheckedGroup,
    Group,
    RejectedGroupError,
    checked,
    clipped,
    numbers,
    prompt_text,
)
from bapo.records import OBSERVED_SCHEMA, EvaluationRecord, EventRecord, StepRecord, dump_record
from bapo.rollout import BatchSource

MOST_METRICS = 1_000
MAX_STEP = 2**31 - 1
NO_GROUP = "there is no group with rewards: give one Group per prompt"


class RejectedStepError(ValueError):
    """A step or an evaluation that cannot be recorded; the message says why and what to do."""

    def __init__(self, kind: str, message: str) -> None:
        self.kind = kind
        super().__init__(message)


class Sizes(NamedTuple):
    """Sizes of a run, known from its first step on."""

    group_size: int
    """G: responses per prompt."""
    batch_size: int
    """Groups of the first step."""


class StepReport(NamedTuple):
    """A training step as one process reports it: what can be recorded of it."""

    step: int
    groups: Sequence[CheckedGroup]
    num_rejected: int
    """Number of reported groups that cannot be recorded."""
    metrics: Mapping[str, float | str]
    samples: Sequence[bytes]
    """Lines about responses and prompts."""
    at: float | None
    """Time of the report, in Unix time; `None` if it is not known."""


class EvaluationReport(NamedTuple):
    """Answers to a held-out set as one process reports them."""

    step: int
    dataset: str
    groups: Sequence[CheckedGroup]
    samples: Sequence[bytes]
    at: float | None


class Lines(NamedTuple):
    """Lines that a step adds to the two files of an attempt, newlines included."""

    records: bytes
    samples: bytes = b""


class Observation:
    """One attempt of an observed run: gives the lines of each step, and counts what it had to leave out.

    Lines are of schema 2 of `bapo.records`: what the trainer does not report is absent.
    """

    def __init__(
        self,
        *,
        attempt: int = 1,
        reward_threshold: float = 0.0,
        num_steps: int | None = None,
        sizes: Sizes | None = None,
        samples_per_step: int = 4,
        is_past: bool = False,
    ) -> None:
        """Take `is_past`: True for steps of the past, whose time is known only if it was recorded."""
        self.attempt = attempt
        self.reward_threshold = reward_threshold
        self.num_steps = num_steps
        self.sizes = sizes
        self.step = 0
        """Latest recorded step of this attempt."""
        self.rejections: Counter[str] = Counter()
        """Number of items left out, by kind."""
        self._new_complaints: list[tuple[str, str]] = []
        self._samples_per_step = samples_per_step
        self._is_past = is_past
        self._num_rollouts = 0
        self._num_tokens: int | None = 0
        self._num_evaluation_rollouts = 0
        self._described_prompts: set[str] = set()
        self._began = time.time()
        self._stepped: float | None = None

    def resume_after(self, latest: StepRecord) -> None:
        """Resume counting after an earlier process, whose last step this is."""
        self._num_rollouts = latest.cost.num_rollouts
        self._num_tokens = latest.cost.num_tokens
        self._num_evaluation_rollouts = latest.cost.num_evaluation_rollouts or 0

    def reject(self, kind: str, message: str, *, count: int = 1) -> None:
        """Count what is left out; the next `complaints` names the first of each kind."""
        if not self.rejections[kind]:
            self._new_complaints.append((kind, message))
        self.rejections[kind] += count

    def complaints(self) -> list[str]:
        """Return what was left out for the first time since the last call, to be reported once."""
        new, self._new_complaints = self._new_complaints, []
        return [f"left out of the record ({kind}): {message}; further ones are only counted" for kind, message in new]

    def lines_of_step(
        self,
        step: int,
        groups: Sequence[Group],
        metrics: Mapping[str, Any] | None = None,
        sources: str | Sequence[str] | None = None,
        *,
        at: float | None = None,
    ) -> Lines:
        """Return the lines of a training step. Raises RejectedStepError for a step that cannot be recorded.

        Groups that cannot be recorded are left out and counted. `at`: when a step of the past was made, in Unix time.
        """
        return self.lines_of_reports([self.step_report(step, groups, metrics, sources, at=at)])

    def step_report(
        self,
        step: int,
        groups: Sequence[Group],
        metrics: Mapping[str, Any] | None = None,
        sources: str | Sequence[str] | None = None,
        *,
        at: float | None = None,
    ) -> StepReport:
        """Return what of a step can be recorded; the rest is counted. Raises RejectedStepError as `lines_of_step`."""
        step = self._checked_step(step)
        groups = _listed(groups)
        named = _sources(sources, len(groups))
        if self.sizes is None and groups:
            sizes = _sizes_of(groups)
            if sizes.group_size == 1:
                remedy = "give the responses to one prompt as one Group of 2 or more"
                raise RejectedStepError("group_size", f"the groups of step {step} have one response each: {remedy}")
            self.sizes = sizes
        found: list[CheckedGroup] = []
        given: list[Group] = []
        for group, source in zip(groups, named, strict=True):
            assert self.sizes is not None, "known with the first group"
            try:
                found.append(checked(group, self.sizes.group_size, self.reward_threshold, source))
                given.append(group)
            except RejectedGroupError as error:
                self.reject(error.kind, f"a group of step {step}: {error}")
        return StepReport(
            step,
            found,
            len(groups) - len(found),
            self._metrics(step, metrics or {}),
            [*self._samples(step, found, given), *self._prompts(found, given)],
            at if self._is_past else time.time(),
        )

    def lines_of_reports(self, parts: Sequence[StepReport], missing_ranks: Sequence[int] = ()) -> Lines:
        """Return the lines of a step of which each process reported its part, in the order of their ranks.

        A metric that several give is their mean. Raises RejectedStepError where no part has a group.
        """
        step = parts[0].step
        reported = [group for part in parts for group in part.groups]
        num_rejected = sum(part.num_rejected for part in parts)
        if not reported:
            raise RejectedStepError("step", f"step {step} has no group that can be recorded")
        if self.sizes is None:
            self.sizes = _sizes([len(group.rewards) for group in reported], len(reported) + num_rejected)
        size = self.sizes.group_size
        found = [group for group in reported if len(group.rewards) == size]
        if others := len(reported) - len(found):
            message = f"some groups of step {step} have another size than the run's, {size}: give all groups that"
            self.reject("group_size", message, count=others)
        if not found:
            raise RejectedStepError("step", f"step {step} has no group of {size} responses")
        self._num_rollouts += len(found) * size
        lengths = _lengths(found)
        self._num_tokens = None if lengths is None or self._num_tokens is None else self._num_tokens + sum(lengths)
        at = max((part.at for part in parts if part.at is not None), default=None)
        timing = {} if at is None else {"unix_time": at}
        if at is not None and not self._is_past:
            timing["elapsed"] = max(0.0, at - self._began)
            if self._stepped is not None:
                timing["step"] = max(0.0, at - self._stepped)
        record = self._record(step, found, num_rejected + others, lengths, _merged_metrics(parts), timing)
        if missing_ranks:
            record["rewards"]["missing_ranks"] = list(missing_ranks)
        self.step, self._stepped = step, at
        return Lines(orjson.dumps(record) + b"\n", b"".join(line for part in parts for line in part.samples))

    def _timing(self, at: float | None = None) -> dict[str, float]:
        if not self._is_past:
            return {"unix_time": time.time() if at is None else at}
        return {} if at is None else {"unix_time": at}

    def _checked_step(self, step: Any) -> int:
        number = whole(step)
        if number is None or not 1 <= number <= MAX_STEP:
            raise RejectedStepError("step", f"step = {step!r}: give whole numbers from 1 on, such as `number + 1`")
        if number <= self.step:
            raise RejectedStepError(
                "step_order", f"step {number} came after step {self.step}: report each once, in order"
            )
        return number

    def _metrics(self, step: int, metrics: Mapping[str, Any]) -> dict[str, float | str]:
        kept: dict[str, float | str] = {}
        for name, value in metrics.items():
            try:
                number = float(value)
            except (TypeError, ValueError, OverflowError):
                self.reject("metric", f"metric {str(name)[:80]} of step {step} is {str(value)[:40]!r}: give a number")
                continue
            if not isinstance(name, str) or not 0 < len(name) <= 200 or not name.isprintable():
                self.reject("metric", f"a metric of step {step} is named {str(name)[:40]!r}: give up to 200 characters")
            elif len(kept) == MOST_METRICS:
                self.reject("metric", f"step {step} has more than {MOST_METRICS} metrics: choose fewer")
            else:
                kept[name] = number if math.isfinite(number) else _word(number)
        return kept

    def _record(
        self,
        step: int,
        found: Sequence[CheckedGroup],
        num_rejected: int,
        lengths: Sequence[int] | None,
        metrics: Mapping[str, float | str],
        timing: Mapping[str, float],
    ) -> dict[str, Any]:
        assert self.sizes is not None, "known from the first step on"
        size, batch_size = self.sizes
        counts = [group.num_correct for group in found]
        trained = [group for group in found if group.in_batch]
        versions = {group.policy_version for group in found}
        version = next(iter(versions)) if len(versions) == 1 else None
        cut = [flag for group in found if group.is_cut is not None for flag in group.is_cut]
        is_plain = all(group.is_plain for group in found)
        total = sum([group.total for group in found])
        trained_total = total if len(trained) == len(found) else sum([group.total for group in trained])
        return {
            "schema": OBSERVED_SCHEMA,
            "type": "step",
            "attempt": self.attempt,
            "step": step,
            "num_steps": self.num_steps,
            "group_size": size,
            "skipped": not trained,
            "rollout_version": version,
            "trainer_version": None if None in versions else step - 1,
            "counts": {
                "fresh": len(found),
                "x1": len(trained),
                "batch": len(trained),
                "batch_size": batch_size,
                "fill_rate": len(trained) / batch_size,
            },
            "fresh_histogram": _histogram(counts, size),
            "reevaluated_histogram": [0] * (size + 1),
            "batch_histogram": _histogram([group.num_correct for group in trained], size),
            "prompts": {
                "prompt_id": [group.prompt_id for group in found],
                "source": ["fresh"] * len(found),
                "num_correct": counts,
                "policy_version": [group.policy_version for group in found],
                "in_batch": [group.in_batch for group in found],
                "reason": [None] * len(found),
            },
            "metrics": metrics,
            "rewards": {
                "threshold": self.reward_threshold,
                "num_constant_groups": sum(group.is_constant for group in found),
                "num_rejected_groups": num_rejected,
                "values": None if is_plain else [group.rewards for group in found],
            },
            "reward_mean": total / (len(found) * size),
            "batch_reward_mean": trained_total / (len(trained) * size) if trained else None,
            "response_length_mean": None if lengths is None else sum(lengths) / len(lengths),
            "response_length_max": None if lengths is None else max(lengths),
            "response_clip_ratio": sum(cut) / len(cut) if len(cut) == len(found) * size else None,
            "cost": {
                "num_rollouts": self._num_rollouts,
                "num_tokens": self._num_tokens,
                "num_evaluation_rollouts": self._num_evaluation_rollouts,
            },
            "timing": timing,
            "system": {},
        }

    def _samples(self, step: int, found: Sequence[CheckedGroup], given: Sequence[Group]) -> list[bytes]:
        """Return groups with their responses, evenly spaced."""
        lines = []
        answered = [place for place, group in enumerate(given) if group.responses is not None]
        num_samples = min(self._num_samples(step), len(answered))
        for number in range(num_samples):
            place = answered[number * len(answered) // num_samples]
            self._described_prompts.add(found[place].prompt_id)
            lines.append(self._line(self._sample(step, found[place], given[place])))
        return lines

    def _num_samples(self, step: int) -> int:
        return self._samples_per_step

    def _prompts(self, found: Sequence[CheckedGroup], given: Sequence[Group]) -> list[bytes]:
        """Return the prompts that occur for the first time."""
        lines = []
        for group, its in zip(found, given, strict=True) if self._samples_per_step else ():
            if group.prompt_id not in self._described_prompts:
                self._described_prompts.add(group.prompt_id)
                prompt = {"schema": OBSERVED_SCHEMA, "type": "prompt", "prompt_id": group.prompt_id}
                lines.append(self._line(prompt | _said(its)))
        return lines

    def _line(self, content: Mapping[str, Any]) -> bytes:
        """Return the content as a line; none of what JSON cannot hold, such as half a surrogate pair."""
        try:
            return orjson.dumps(content, default=str) + b"\n"
        except TypeError as error:
            self.reject("text", f"a text of the prompt {content['prompt_id']}: {error}: give valid Unicode")
            return b""

    def _sample(self, step: int, group: CheckedGroup, given: Group) -> dict[str, Any]:
        assert given.responses is not None, "asked for by the caller"
        tokens: Sequence[int | None] = group.num_tokens or [None] * len(group.rewards)
        cuts: Sequence[bool | None] = group.is_cut or [None] * len(group.rewards)
        return {
            "schema": OBSERVED_SCHEMA,
            "type": "sample",
            "attempt": self.attempt,
            "step": step,
            "prompt_id": group.prompt_id,
            **_said(given),
            "source": BatchSource.FRESH,
            "num_correct": group.num_correct,
            "group_size": len(group.rewards),
            "policy_version": group.policy_version,
            "in_batch": group.in_batch,
            "responses": [
                {
                    "text": clipped(self._response_text(group, text)),
                    "reward": reward,
                    "is_correct": reward > self.reward_threshold,
                    "num_tokens": length,
                    **({} if is_cut is None else {"is_cut": is_cut}),
                }
                for text, reward, length, is_cut in zip(given.responses, group.rewards, tokens, cuts, strict=True)
            ],
        }

    def _response_text(self, group: CheckedGroup, said: Any) -> str:
        try:
            return response_text(said)
        except MessageError as error:
            self.reject("text", f"a response to the prompt {group.prompt_id}: {error}")
            return ""

    def lines_of_evaluation(
        self, step: int, dataset: str, groups: Sequence[Group], *, at: float | None = None
    ) -> Lines:
        """Return the lines of a held-out set, one group per problem, all of one size k. Raises RejectedStepError."""
        return self.lines_of_evaluation_reports([self.evaluation_report(step, dataset, groups, at=at)])

    def evaluation_report(
        self, step: int, dataset: str, groups: Sequence[Group], *, at: float | None = None
    ) -> EvaluationReport:
        """Return the recordable answers to a held-out set. Raises RejectedStepError as `lines_of_evaluation`."""
        number = whole(step)
        if number is None or not 0 <= number <= MAX_STEP:
            raise RejectedStepError("evaluation", f"step = {step!r}: give the training steps completed, from 0")
        if not isinstance(dataset, str) or not 0 < len(dataset) <= 200 or not dataset.isprintable():
            raise RejectedStepError("evaluation", f"dataset = {str(dataset)[:50]!r}: give the name of the held-out set")
        groups = _listed(groups)
        try:
            size = _sizes_of(groups).group_size if groups else 0
            found = [checked(group, size, self.reward_threshold, dataset) for group in groups]
        except (RejectedGroupError, RejectedStepError) as error:
            raise RejectedStepError("evaluation", f"{dataset} at step {number}: {error}") from None
        samples = self._prompts(found, groups)
        return EvaluationReport(number, dataset, found, samples, at if self._is_past else time.time())

    def lines_of_evaluation_reports(self, parts: Sequence[EvaluationReport]) -> Lines:
        """Return the lines of a held-out set of which each process reported its part. Raises RejectedStepError."""
        step, dataset = parts[0].step, parts[0].dataset
        found = [group for part in parts for group in part.groups]
        sizes = {len(group.rewards) for group in found}
        if len(sizes) != 1:
            given = "groups of several sizes: give as many responses to each problem" if sizes else NO_GROUP
            raise RejectedStepError("evaluation", f"{dataset} at step {step}: {given}")
        (size,) = sizes
        self._num_evaluation_rollouts += len(found) * size
        counts = [group.num_correct for group in found]
        shown = figures(counts, size)
        record = EvaluationRecord(
            schema=OBSERVED_SCHEMA,
            attempt=self.attempt,
            step=step,
            dataset=dataset,
            num_samples=size,
            num_correct=counts,
            prompt_ids=[group.prompt_id for group in found],
            avg_at_k=shown.avg_at_k,
            pass_at=shown.pass_at,
            timing=self._timing(max((part.at for part in parts if part.at is not None), default=None)),
        )
        return Lines(dump_record(record), b"".join(line for part in parts for line in part.samples))

    def line_of_event(self, event: str, message: str, data: Mapping[str, Any] | None = None) -> bytes:
        """Return the line of something that happened between steps."""
        record = EventRecord.model_validate(
            {
                "schema": OBSERVED_SCHEMA,
                "attempt": self.attempt,
                "step": self.step,
                "event": event,
                "message": message[:10_000],
                "data": data or {},
                "timing": self._timing(),
            }
        )
        return dump_record(record)


def _listed(groups: Iterable[Group]) -> list[Group]:
    """Return the groups as a list. Raises RejectedStepError for anything else than several."""
    try:
        return list(groups)
    except TypeError:
        raise RejectedStepError(
            "groups", f"groups = {str(groups)[:80]}: give a list with one Group per prompt"
        ) from None


def _sizes_of(groups: Sequence[Group]) -> Sizes:
    """Return the sizes of the groups that have rewards. Raises RejectedStepError with what is wrong with the first."""
    lengths = []
    wrong: RejectedGroupError | None = None
    for group in groups:
        try:
            lengths.append(len(numbers(group.rewards)))
        except RejectedGroupError as error:
            wrong = wrong or error
        except AttributeError as error:
            wrong = wrong or RejectedGroupError("group", f"{error}: give a Group whose fields are of their types")
    if wrong is not None and not any(lengths):
        raise RejectedStepError(wrong.kind, str(wrong))
    return _sizes(lengths, len(groups))


def _sizes(lengths: Iterable[int], num_groups: int) -> Sizes:
    """Return the size that most groups have; of several, the largest. Raises RejectedStepError."""
    counts = Counter(lengths)
    del counts[0]
    if not counts:
        raise RejectedStepError("step", NO_GROUP)
    group_size = max(counts, key=lambda size: (counts[size], size))
    if group_size > MAX_GROUP_SIZE:
        remedy = f"the groups have {group_size:,} responses each: give at most {MAX_GROUP_SIZE:,} to a prompt"
        raise RejectedStepError("group_size", remedy)
    return Sizes(group_size, num_groups)


def _merged_metrics(parts: Sequence[StepReport]) -> Mapping[str, float | str]:
    """Return the mean of what the parts give; one that is not finite makes it so."""
    if len(parts) == 1:
        return parts[0].metrics
    given: dict[str, list[float]] = {}
    for part in parts:
        for name, value in part.metrics.items():
            given.setdefault(name, []).append(float(value))
    means = {name: sum(values) / len(values) for name, values in given.items()}
    return {name: mean if math.isfinite(mean) else _word(mean) for name, mean in means.items()}


def _sources(sources: str | Sequence[str] | None, num_groups: int) -> Sequence[str | None]:
    if sources is None or isinstance(sources, str):
        return [sources] * num_groups
    if len(sources) != num_groups:
        raise RejectedStepError("step", f"sources has {len(sources)} names for {num_groups} groups: give one of each")
    return list(sources)


def _said(group: Group) -> dict[str, Any]:
    answer = group.answer
    content = {} if answer is None else dict(answer) if isinstance(answer, Mapping) else {"text": str(answer)}
    return {"prompt": clipped(prompt_text(group.prompt)), "answer": content}


def _lengths(found: Sequence[CheckedGroup]) -> list[int] | None:
    if any(group.num_tokens is None for group in found):
        return None
    return [length for group in found for length in group.num_tokens or ()]


def _histogram(counts: Sequence[int], group_size: int) -> list[int]:
    histogram = [0] * (group_size + 1)
    for count in counts:
        histogram[count] += 1
    return histogram


def whole(value: Any) -> int | None:
    """Return a whole number, also one of NumPy, as an int; None for anything else."""
    try:
        return operator.index(value)
    except TypeError:
        return None


def _word(number: float) -> str:
    return "NaN" if math.isnan(number) else "Infinity" if number > 0 else "-Infinity"


__all__ = ["DATA_SOURCE", "Lines", "Observation", "RejectedStepError", "Sizes"]
