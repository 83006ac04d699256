"""Problems of files with a prompt and an answer in each row, with images where there are any."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from datetime import date, time
from decimal import Decimal
from pathlib import Path, PurePath
from typing import Any

from bapo.answer_text import ANSWER_TEXT
from bapo.config.plugins import OF_ANSWERS
from bapo.config.task import FileTaskConfig
from bapo.draws import generator
from bapo.files.column_paths import has_column, value_at
from bapo.files.safe_paths import OutsideError, checked_parts, open_inside
from bapo.message_text import MessageError, chat_text, chat_turns, is_chat
from bapo.rollout import prompt_identity
from bapo.tasks.answer_formats import answer_format
from bapo.tasks.base import Problem, Problems, Turn
from bapo.tasks.rows import file_error, read_rows
from bapo.tasks.verifiers import answer_problem

IMAGE_MARK = "<image>"
SOURCE_COLUMN = "data_source"
"""Column with the data set of each problem; without it, the file's name is used."""
MOST_IMAGE_BYTES = 50_000_000
_ROLES = ("system", "developer", "user", "assistant", "tool")
_ASKING = ("user", "tool")
"""Roles of messages that a model answers."""
_SIGNATURES = (b"\x89PNG\r\n\x1a\n", b"\xff\xd8\xff", b"GIF87a", b"GIF89a", b"BM")


class RowError(ValueError):
    """A row that cannot be used."""


def file_problems(section: FileTaskConfig) -> Problems:
    """Return training problems, and held-out ones by the name of their file; held-out problems are not trained on.

    Raises:
        ConfigError: a file cannot be used, or all its training problems are held out.
    """
    assert section.train_file is not None, "checked with the config"
    held_out = {
        PurePath(path).stem: _drawn(
            read_problems(path, section, field="task.test_files"), section.max_test_problems, section.seed, path
        )
        for path in section.test_files
    }
    rows = read_problems(section.train_file, section, field="task.train_file")
    # A prompt has another identity in another source.
    withheld = {(problem.prompt, problem.images) for problems in held_out.values() for problem in problems}
    train = [row for row in rows if (row.prompt, row.images) not in withheld]
    if not train:
        remedy = f"all {len(rows)} problems are held out, so none is left to train on: give other problems"
        raise file_error("task.train_file", section.train_file, remedy)
    return Problems(_drawn(train, section.max_train_problems, section.seed, "train"), held_out)


def _drawn(problems: Sequence[Problem], count: int | None, seed: int, purpose: str) -> Sequence[Problem]:
    if count is None or count >= len(problems):
        return problems
    return generator(seed, 0, f"file:{PurePath(purpose).name}").sample(list(problems), count)


def read_problems(path: str, section: FileTaskConfig, *, field: str) -> list[Problem]:
    """Return the problems of a file, in its order.

    Raises:
        ConfigError: no such file, not parquet or JSONL, empty, a column missing, a bad row, or a problem twice; `field`
            is the config field that named the file.
    """
    first_rows: dict[str, int] = {}
    problems = []
    columns = (section.prompt_column, section.answer_column)
    also = (section.image_column, SOURCE_COLUMN, section.solution_column)
    for number, row in read_rows(path, field=field, columns=columns, also=also):
        try:
            problem = _problem(row, section, path)
        except RowError as error:
            raise file_error(field, path, f"row {number}: {error}; correct or remove the row") from None
        earlier = first_rows.setdefault(problem.prompt_id, number)
        if earlier != number:
            remedy = f"rows {earlier} and {number} have the same prompt, by which a problem is known: remove one"
            raise file_error(field, path, remedy)
        problems.append(problem)
    if not problems:
        raise file_error(field, path, "the file has no rows; name a file with problems")
    return problems


def _problem(row: Mapping[str, Any], section: FileTaskConfig, path: str) -> Problem:
    *before, last = prompt_turns(value_at(row, section.prompt_column), section.prompt_column)
    source = row.get(SOURCE_COLUMN) or PurePath(path).stem
    if not isinstance(source, str):
        raise RowError(f"{SOURCE_COLUMN} must be a text, not {source!r:.80}")
    images = tuple(_images(value_at(row, section.image_column), section.image_column, path))
    num_marks = sum(turn.content.count(IMAGE_MARK) for turn in (*before, last))
    if num_marks != len(images) and (images or has_column(row, section.image_column)):
        raise RowError(
            f"the prompt has {num_marks} times {IMAGE_MARK}, and {section.image_column} holds {len(images)} images"
        )
    answer = answer_of(value_at(row, section.answer_column), section.answer_column)
    wrong = answer_problem(section.verifier, answer)
    if wrong is not None:
        raise RowError(wrong)
    instruction = section.instruction
    if instruction is None and section.answer_format is not None:
        instruction = answer_format(section).instruction
    asked = last._replace(content=f"{last.content}\n\n{instruction}") if instruction else last
    turns = (*before, asked)
    prompt = chat_text(turn._asdict() for turn in turns)
    return Problem(
        prompt_identity(source, prompt, images),
        source,
        prompt,
        answer,
        images,
        turns=turns if before else (),
        solution=_solution(value_at(row, section.solution_column), answer, section),
    )


def _solution(given: Any, answer: Mapping[str, object], section: FileTaskConfig) -> str | None:
    """Return a worked solution with its answer in the task's format; None where the row has none."""
    if not isinstance(given, str) or not given.strip():
        return None
    if section.verifier not in OF_ANSWERS or ANSWER_TEXT not in answer:
        return given.strip()
    return answer_format(section).completed(given, str(answer[ANSWER_TEXT]))


def prompt_turns(given: Any, column: str) -> Sequence[Turn]:
    """Return the messages of a prompt: those of a chat, or one of the user for a text. Raises RowError."""
    if not is_chat(given):
        if not isinstance(given, str) or not given.strip():
            raise RowError(f"{column} must be a text, or messages with role and content, not {given!r:.80}")
        return (Turn("user", given),)
    try:
        turns = [Turn(*turn) for turn in chat_turns(given, IMAGE_MARK)]
    except MessageError as error:
        raise RowError(f"{column} cannot be read: {error}") from None
    turns = [turn for turn in turns if turn.content.strip()]
    unknown = next((turn.role for turn in turns if turn.role not in _ROLES), None)
    if unknown is not None:
        raise RowError(f"{column} has a message of {unknown!r:.80}: give one of {', '.join(_ROLES)} as its role")
    if not turns or turns[-1].role not in _ASKING:
        raise RowError(f"{column} leaves nothing to answer: end with a message of the user")
    return turns


def answer_of(given: Any, column: str) -> Mapping[str, object]:
    """Return a row's answer as verifiers get it: a structure as JSON values, a text or number under one key.

    Raises RowError for anything else, NaN and infinities among it.
    """
    match _json_value(given, column):
        case dict() as structure if structure:
            return structure
        case bool():
            pass
        case float() as number if number.is_integer():
            return {ANSWER_TEXT: str(int(number))}
        case str() | int() | float() as plain:
            return {ANSWER_TEXT: str(plain)}
    raise RowError(f"{column} must be a text, a number or a structure, not {given!r:.80}")


def _json_value(given: Any, column: str) -> Any:
    """Return the value in JSON's types: Parquet also has decimals, which keep their digits as texts, and dates."""
    match given:
        case Decimal() | float() if not math.isfinite(given):
            raise RowError(f"{column} holds {given}, which is no number to compare with")
        case Decimal():
            return f"{given:f}"
        case date() | time():
            return given.isoformat()
        case dict():
            return {str(name): _json_value(member, column) for name, member in given.items()}
        case list() | tuple():
            return [_json_value(member, column) for member in given]
        case None | bool() | int() | float() | str():
            return given
    raise RowError(f"{column} must be a text, a number or a structure, not {given!r:.80}")


def _images(given: Any, column: str, path: str) -> Iterator[bytes]:
    if given is None:
        return
    if not isinstance(given, list):
        raise RowError(f"{column} must be a list of images, not {given!r:.80}")
    for image in given:
        data = image.get("bytes") if isinstance(image, dict) else None
        name = image.get("path") if isinstance(image, dict) else image
        if data is None and isinstance(name, str) and name:
            data = _read(Path(path).parent, name)
        if not isinstance(data, bytes):
            raise RowError(f"{column} must hold bytes, or paths of files next to this one, not {image!r:.80}")
        if not is_image(data):
            raise RowError(f"{column} holds {len(data)} bytes that are no PNG, JPEG, WebP, GIF or BMP")
        yield data


def _read(folder: Path, name: str) -> bytes:
    """Read a file inside the folder only: the author of the data must not choose what the trainer reads."""
    try:
        with open_inside(folder, checked_parts(name)) as file:
            return file.read(MOST_IMAGE_BYTES)
    except OutsideError:
        raise RowError(f"the path {name!r:.80} leads out of the file's folder") from None
    except FileNotFoundError:
        raise RowError(f"there is no image {name!r:.80} next to the file") from None


def is_image(data: bytes) -> bool:
    """Return whether the bytes start like a format that image processors read."""
    return data.startswith(_SIGNATURES) or (data[:4] == b"RIFF" and data[8:12] == b"WEBP")
