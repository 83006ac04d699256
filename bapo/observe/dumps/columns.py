"""The columns of a dump, and what each says about a response."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from itertools import islice
from typing import Any, NamedTuple

from bapo.files.column_paths import has_column, leaf_paths, value_at
from bapo.message_text import MessageError, chat_text, is_chat, response_text
from bapo.observe.dumps.rows import dump_error, row_error
from bapo.observe.flags import is_cut_of

FIELDS = {
    "prompt": "text, or messages of a chat",
    "response": "text of the response",
    "reward": "its reward; several columns, as in a,b, are added up",
    "step": "training step",
    "answer": "ground truth",
    "source": "data source of the prompt",
    "group": "what the responses of one group have in common; otherwise it is the prompt",
    "num_tokens": "length of the response in tokens",
    "is_cut": "whether the response was cut at the token limit, or how its generation ended",
    "policy_version": "training steps that the policy which answered had completed",
}
"""Fields that can be read of a response, each with its meaning."""


class Rollout(NamedTuple):
    """One response, with what its row says of it."""

    row: int
    step: int | None
    prompt: str
    response: str | None
    reward: float
    """NaN where the row has none."""
    answer: Any
    source: str | None
    group: str | None
    num_tokens: int | None
    is_cut: bool | None
    policy_version: int | None


Reader = Callable[[str, int, Mapping[str, Any]], Sequence[Rollout]]
"""Makes rollouts of a file's name, a row's number and its values: none of a row that holds none. Raises ConfigError."""
_NUMBER = re.compile(r"[-+]?(\d+\.?\d*|\.\d+)(e[-+]?\d+)?|nan", re.ASCII | re.IGNORECASE)


def parsed_columns(given: Sequence[str]) -> dict[str, str]:
    """Return columns by field, of texts such as `reward=score`. Raises ConfigError."""
    columns = {}
    for text in given:
        field, separator, column = text.partition("=")
        if field not in FIELDS or not separator or not column:
            fields = ", ".join(FIELDS)
            raise dump_error("--column", text, f"give FIELD=COLUMN, where FIELD is one of {fields}")
        columns[field] = column
    return columns


def column_reader(columns: Mapping[str, str], optional: frozenset[str]) -> Reader:
    """Return a reader of rows with a column for each field; those of `optional` may be missing. Raises ConfigError."""
    missing = [field for field in ("prompt", "reward") if field not in columns]
    if missing:
        field = missing[0]
        raise dump_error("--column", "", f"no column gives the {field}: add --column {field}=COLUMN")
    reward_columns = columns["reward"].split(",")
    names = {field: columns.get(field, "") for field in FIELDS}

    def read(file: str, row: int, values: Mapping[str, Any]) -> Sequence[Rollout]:
        for field, column in columns.items():
            if field != "reward" and field not in optional and not has_column(values, column):
                raise _no_column(field, column, file, row, values)
        for column in reward_columns:
            if not has_column(values, column):
                raise _no_column("reward", column, file, row, values)
        found = rollout(
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
        return (found,)

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
    """Return a rollout of values as a file has them. Raises ConfigError that names file, row and field."""
    if type(step) is not int:
        step = _whole("step", file, row, step)
    if not isinstance(prompt, str):
        prompt = _prompt_text(file, row, prompt)
    if not isinstance(response, str) and response is not None:
        response = _text("response", file, row, response, response_text)
    reward = rewards[0] if len(rewards) == 1 else _sum(file, row, rewards)
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
        None if is_cut is None else _is_cut(file, row, is_cut),
        _whole("policy_version", file, row, policy_version),
    )


def _prompt_text(file: str, row: int, prompt: Any) -> str:
    if not is_chat(prompt):
        raise row_error("prompt", file, row, prompt, "give a text, or messages with role and content")
    return _text("prompt", file, row, prompt, chat_text)


def _text(field: str, file: str, row: int, said: Any, text_of: Callable[[Any], str]) -> str:
    try:
        return text_of(said)
    except MessageError as error:
        raise row_error(field, file, row, said, str(error)) from None


def _sum(file: str, row: int, rewards: Sequence[Any]) -> float:
    # A reward function that has nothing to say of a response leaves a gap, which counts as 0 unless all do.
    known = [number for reward in rewards if not math.isnan(number := _number(file, row, reward))]
    return sum(known) if known else math.nan


def _number(file: str, row: int, value: Any) -> float:
    if value is None:
        return math.nan
    # Verifiers' results are often written as texts, such as "1.0"; other texts are no rewards.
    if not isinstance(value, str) or _NUMBER.fullmatch(value.strip()):
        try:
            return float(value)
        except (TypeError, ValueError, OverflowError):
            pass
    remedy = "give one number per response, or name other columns by --column reward=COLUMN"
    raise row_error("reward", file, row, value, remedy)


def _is_cut(file: str, row: int, value: Any) -> bool:
    try:
        return is_cut_of(value)
    except ValueError as error:
        raise row_error("is_cut", file, row, value, str(error)) from None


def _whole(field: str, file: str, row: int, value: Any) -> int | None:
    if value is None:
        return None
    try:
        number = math.nan if isinstance(value, bool) else float(value)
    except (TypeError, ValueError, OverflowError):
        number = math.nan
    if not number.is_integer() or not 0 <= number < 2**31:
        raise row_error(field, file, row, value, "give a whole number from 0 on")
    return int(number)


def _answer(answer: Any) -> Any:
    if isinstance(answer, dict):
        return answer
    return answer if isinstance(answer, str) else str(answer)
