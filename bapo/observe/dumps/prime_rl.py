"""prime-rl's rollouts in each of its shapes: plain rows, traces of verifiers v1, and episodes of several traces.

Episodes lie in `step_N/{train,eval}/{all,effective}/traces.jsonl`: `effective` holds those that were trained on, and
`all` also those that failed or were filtered out.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from bapo.observe.dumps.columns import Rollout, rollout
from bapo.observe.dumps.rows import DumpFile, row_error

PLACES = {
    "prompt": "the messages before the first answer",
    "response": "the messages from the first answer on",
    "reward": "Σ score · weight of the named rewards, or the reward of the row",
    "step": "the number of the folder",
    "answer": "the answer of the task",
    "source": "the environment's name",
    "group": "the group's id, or task and example",
    "num_tokens": "the tokens that mask marks as sampled",
    "is_cut": "is_truncated, or how the last call ended",
    "policy_version": "the policy that began to answer",
}
"""Source of each field."""
_TRACES = "traces.jsonl"
_EFFECTIVE, _ALL = "effective", "all"


def is_evaluation(parts: Sequence[str]) -> bool:
    """Return whether a file holds answers to held-out problems, by the names that lead to it."""
    if parts[-1] != _TRACES:
        return parts[-1].startswith("eval")
    return next((name == "eval" for name in reversed(parts[:-1]) if name in ("train", "eval")), False)


def effective_files(files: Sequence[DumpFile]) -> tuple[list[DumpFile], list[DumpFile]]:
    """Return the files to read, and those that hold the same episodes and others, which are counted."""
    effective = {file.parts[:-2] for file in files if file.parts[-2:] == (_EFFECTIVE, _TRACES)}
    counted = [file for file in files if file.parts[-2:] == (_ALL, _TRACES) and file.parts[:-2] in effective]
    return [file for file in files if file not in counted], counted


def prime_rl_rollouts(file: str, row: int, values: Mapping[str, Any]) -> Sequence[Rollout]:
    """Return the rollouts of a row; none of an episode that failed. Raises ConfigError."""
    if "traces" in values:
        return list(_rollouts_of_episode(file, row, values))
    if "nodes" in values:
        info = _structure(values.get("info"))
        routing = _structure(info.get("prime_rl"))
        return (
            _rollout_of_trace(
                file,
                row,
                values,
                source=routing.get("env_name"),
                group=routing.get("group_id"),
                policy_version=routing.get("policy_version"),
            ),
        )
    return (_plain_rollout(file, row, values),)


def _plain_rollout(file: str, row: int, values: Mapping[str, Any]) -> Rollout:
    for field in ("prompt", "reward"):
        if field not in values:
            remedy = (
                f"the row has neither {field!r} nor 'nodes' nor 'traces': give the rollouts of prime-rl, or use "
                "--from jsonl"
            )
            raise row_error(field, file, row, None, remedy)
    example, task, answer = values.get("example_id"), values.get("task"), values.get("answer")
    return rollout(
        file,
        row,
        step=None,
        prompt=values["prompt"],
        response=values.get("completion"),
        rewards=[values["reward"]],
        answer=None if answer == "" else answer,
        source=values.get("env_name") or (task if isinstance(task, str) else None),
        group=None if example is None else f"{task}/{example}",
        is_cut=values.get("is_truncated"),
    )


def _rollouts_of_episode(file: str, row: int, values: Mapping[str, Any]) -> Iterator[Rollout]:
    traces = values["traces"]
    if values.get("ok") is False or traces is None:
        return
    if not isinstance(traces, list):
        raise row_error("traces", file, row, traces, "give the list of the episode's traces")
    env, group = _structure(values.get("env")), _structure(values.get("group")).get("id")
    work = _structure(_structure(values.get("run")).get("work"))
    policy = work.get("policy")
    for trace in traces:
        if not isinstance(trace, dict):
            raise row_error("traces", file, row, trace, "give the list of the episode's traces")
        agent = _structure(trace.get("agent"))
        # Such as the part of a judge or of a simulated user, which is not trained.
        if agent.get("trainable") is False:
            continue
        name = agent.get("name")
        yield _rollout_of_trace(
            file,
            row,
            trace,
            source=env.get("name") or env.get("id"),
            # Agents of one episode answer different prompts.
            group=None if group is None else group if len(traces) == 1 else f"{group}/{name}",
            policy_version=_structure(policy).get("start") if isinstance(policy, dict) else policy,
            task=values.get("task"),
        )


def _rollout_of_trace(
    file: str,
    row: int,
    trace: Mapping[str, Any],
    *,
    source: Any,
    group: Any,
    policy_version: Any,
    task: Any = None,
) -> Rollout:
    nodes = trace.get("nodes")
    if not isinstance(nodes, list):
        raise row_error("nodes", file, row, nodes, "give the list of the trace's messages")
    said = [node for node in nodes if isinstance(node, dict) and isinstance(node.get("message"), dict)]
    messages = [node["message"] for node in said]
    asked = next((at for at, message in enumerate(messages) if message.get("role") == "assistant"), len(messages))
    answer = _structure(_structure(trace.get("task") or task).get("data")).get("answer")
    return rollout(
        file,
        row,
        step=None,
        # A message of tool calls alone may have no content.
        prompt=[{"content": None, **message} for message in messages[:asked]],
        response=[{"content": None, **message} for message in messages[asked:]],
        rewards=[_reward_of(file, row, trace)],
        answer=None if answer == "" else answer,
        source=source,
        group=group,
        num_tokens=_num_tokens(said),
        is_cut=_end_of(trace),
        policy_version=policy_version,
    )


def _num_tokens(nodes: Sequence[Mapping[str, Any]]) -> int | None:
    """Count the tokens that the policy sampled, which `mask` marks; None where it is not there."""
    masks = [mask for node in nodes if isinstance(mask := node.get("mask"), list)]
    return sum(flag is True or flag == 1 for mask in masks for flag in mask) if masks else None


def _end_of(trace: Mapping[str, Any]) -> Any:
    """Return whether the trace was cut, or how its last generation ended; None where that is not said."""
    if trace.get("is_truncated") is not None:
        return trace["is_truncated"]
    calls = trace.get("calls")
    last = calls[-1] if isinstance(calls, list) and calls else None
    return last.get("finish_reason") if isinstance(last, dict) else None


def _reward_of(file: str, row: int, trace: Mapping[str, Any]) -> Any:
    """Return Σ score · weight over the named rewards; None where scoring did not run."""
    if "reward" in trace:
        return trace["reward"]
    rewards = trace.get("rewards")
    if not isinstance(rewards, dict) or not rewards:
        return None
    parts = [each if isinstance(each, dict) else {"score": each} for each in rewards.values()]
    if any(part.get("score", math.nan) is None for part in parts):
        return None
    try:
        return sum(float(part["score"]) * float(part.get("weight", 1.0)) for part in parts)
    except (KeyError, TypeError, ValueError):
        raise row_error("rewards", file, row, rewards, "give a score, or score and weight, by name") from None


def _structure(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}
