"""The columns of a dump, and what each says about a response."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from itertools import islice
from typing import Any, NamedTuple

from bapo.files.column_paths import has_column, leaf_paths, value_at
from bapo.observe.dumps.problems import dump_error, row_error

FIELDS = {
    "prompt": "text, or messages of a chat",
    "response": "text of the response",
    "reward": "its reward; several columns, as in a,b, are added up",
    "step": "training step",
    "answer": "ground truth",
    "source": "data source of the prompt",
    "group": "what the responses of one group have in common; otherwise it is the prompt",
    "num_tokens": "length of the response in tokens",
    "is_cut": "whether the response was cut at the token limit",
    "policy_version": "training steps that the policy which answered had completed",
}
"""What can be read of a response."""


class Rollout(NamedTuple):
    """One response, with what its row says of it."""

    row: int
    step: int | None
    prompt: Any
    response: str | None
    reward: float
    """NaN where the row has none."""
    answer: Any
    source: str | None
    group: str | None
    num_tokens: int | None
    is_cut: bool | None
    policy_version: int | None


Reader = Callable[[str, int, Mapping[str, Any]], Rollout]
"""Makes a rollout of a file's name, a row's number and its values. Raises ConfigError."""


def parsed_columns(given: Sequence[str]) -> dict[str, str]:
    """Columns by field, of texts such as `reward=score`. Raises ConfigError."""
    columns = {}
    for text in given:
        field, separator, column = text.partition("=")
        if field not in FIELDS or not separator or not column:
            fields = ", ".join(FIELDS)
            raise dump_error("--column", text, f"give FIELD=COLUMN, where FIELD is one of {fields}")
        columns[field] = column
    return columns


def column_reader(columns: Mapping[str, str], optional: frozenset[str]) -> Reader:
    """Reads rows that have a column for each field; those of `optional` may be missing. Raises ConfigError."""
    missing = [field for field in ("prompt", "reward") if field not in columns]
    if missing:
        field = missing[0]
        raise dump_error("--column", "", f"no column gives the {field}: add --column {field}=COLUMN")
    reward_columns = columns["reward"].split(",")
    names = {field: columns.get(field, "") for field in FIELDS}

    def read(file: str, row: int, values: Mapping[str, Any]) -> Rollout:
        for field, column in columns.items():
            if field != "reward" and field not in optional and not has_column(values, column):
                raise _no_column(field, column, file, row, values)
        for column in reward_columns:
            if not has_column(values, column):
                raise _no_column("reward", column, file, row, values)
        return rollout(
            file,
            row,
            step=value_at(values, names["step"]),
            prompt=value_at(values, names["prompt"]),
            response=value_at(values, names["response"]),
            rewards=[value_at(values, column) for column in reward_columns],
            answer=value_at(values, names["answer"]),
            source=value_at(values, names["source"]),
            group=value_at(values, names["group"]),
            num_tokens=value_at(values, names["num_tokens"]),
            is_cut=value_at(values, names["is_cut"]),
            policy_version=value_at(values, names["policy_version"]),
        )

    return read


def _no_column(field: str, column: str, file: str, row: int, values: Mapping[str, Any]) -> Exception:
    found = ", ".join(islice(leaf_paths(values), 20)) or "none"
    remedy = f"the row has no column {column!r} (found: {found}): name another by --column {field}=COLUMN"
    return row_error(field, file, row, None, remedy)


def rollout(
    file: str,
    row: int,
    *,
    step: Any,
    prompt: Any,
    response: Any,
    rewards: Sequence[Any],
    answer: Any = None,
    source: Any = None,
    group: Any = None,
    num_tokens: Any = None,
    is_cut: Any = None,
    policy_version: Any = None,
) -> Rollout:
    """A rollout of values as a file has them. Raises ConfigError that names file, row and field."""
    if type(step) is not int:
        step = _whole("step", file, row, step)
    if not isinstance(prompt, str) and not _is_chat(prompt):
        raise row_error("prompt", file, row, prompt, "give a text, or messages with role and content")
    if not isinstance(response, str) and response is not None:
        response = text_of(response)
    reward = rewards[0] if len(rewards) == 1 else _sum(rewards)
    if type(reward) is not float:
        reward = _number(file, row, reward)
    return Rollout(
        row,
        step,
        prompt,
        response,
        reward,
        None if answer is None else _answer(answer),
        None if source is None else str(source),
        None if group is None else str(group),
        _whole("num_tokens", file, row, num_tokens),
        None if is_cut is None else bool(is_cut),
        _whole("policy_version", file, row, policy_version),
    )


def _is_chat(prompt: Any) -> bool:
    return (
        isinstance(prompt, list)
        and bool(prompt)
        and all(isinstance(message, dict) and "role" in message and "content" in message for message in prompt)
    )


def text_of(said: Any) -> str:
    """The text of a response: a text, messages of a chat, or parts of a message's content."""
    if isinstance(said, str):
        return said
    if isinstance(said, list):
        return "\n\n".join(filter(None, map(text_of, said)))
    if isinstance(said, dict):
        return text_of(said.get("content", said.get("text", "")))
    return "" if said is None else str(said)


def _sum(rewards: Sequence[Any]) -> Any:
    # A reward function that has nothing to say of a response leaves a gap, which counts as 0 unless all do.
    told = [reward for reward in rewards if reward is not None and reward == reward]  # noqa: PLR0124
    return sum(told) if told and all(isinstance(reward, int | float) for reward in told) else (told or [None])[0]


def _number(file: str, row: int, value: Any) -> float:
    if value is None:
        return math.nan
    try:
        return float(value)
    except (TypeError, ValueError):
        raise row_error("reward", file, row, value, "give one number per response") from None


def _whole(field: str, file: str, row: int, value: Any) -> int | None:
    if value is None:
        return None
    try:
        number = float(value)
    except (TypeError, ValueError):
        number = math.nan
    if not number.is_integer() or not 0 <= number < 2**31:
        raise row_error(field, file, row, value, "give a whole number from 0 on")
    return int(number)


def _answer(answer: Any) -> Any:
    if isinstance(answer, dict):
        return answer
    return answer if isinstance(answer, str) else str(answer)
