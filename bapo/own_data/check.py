"""Checks a whole file, and writes the rows that are good as a file of ours."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Mapping, Sequence
from hashlib import sha256
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow
import pyarrow.parquet

from bapo.analysis.findings.same_problems import MOST_TEXTS, normalised, same_problems
from bapo.analysis.number_format import counted, percent
from bapo.config.task import CountdownTaskConfig, canonical_form
from bapo.message_text import is_chat, response_text
from bapo.own_data.formats import FormatError, read
from bapo.own_data.mapping import mapped
from bapo.own_data.report import (
    BadRow,
    ColumnMapping,
    DataReport,
    DataTask,
    Overlap,
    Remark,
    RepeatedRow,
    VerifierTrial,
)
from bapo.own_data.result_marks import mark_of
from bapo.own_data.trials import TEXT_VERIFIERS, sample, try_verifier
from bapo.tasks.countdown.task import countdown_problems
from bapo.tasks.problem_files import RowError

MOST_LISTED = 50
"""Rows of a kind that a report lists."""
SHOWN_LETTERS = 160
MOST_BAD_FIRST = 100_000
"""Rows at the beginning that cannot be used after which no more are read."""
MOST_BAD = 0.5
"""Share of rows that cannot be read from which on the file is not what it was taken for."""
FEWEST_ROWS = 50
"""Problems below which the buffers of off-policy methods hold hardly more than one batch."""
WRITTEN_ROWS = 1_000
"""Rows of a row group."""


class OtherData(NamedTuple):
    """Another data set of the project, to be compared with."""

    name: str
    path: str
    is_test_set: bool


class CheckedData(NamedTuple):
    """Report on a file, and the converted file; no file if no row is left."""

    report: DataReport
    path: Path | None


Kept = tuple[int, dict[str, Any]]


def check(path: Path, ending: str, mapping: ColumnMapping, others: Sequence[OtherData], out: Path) -> CheckedData:
    """Read every row, compare it with every other and with other sets, try the verifier, write what is kept.

    `out`: path of the file to write, without its ending: `.jsonl`, or `.parquet` where there are images. The same rows
    make the same bytes. Raises FormatError where the file as a whole cannot be read.
    """
    rows, marks = _Rows(), set[str]()
    for row in read(path, ending):
        if rows.num_bad >= MOST_BAD_FIRST and not rows.kept:
            # Nothing will come of it, however many follow: a small Parquet file can hold millions of empty rows.
            break
        rows.num_rows += 1
        if row.values is None:
            rows.refuse(row.number, row.reason)
            continue
        if (mark := mark_of(row.values, mapping.columns.get("answer", ""))) is not None:
            marks.add(mark)
        try:
            rows.keep(row.number, mapped(row.values, mapping))
        except RowError as error:
            rows.refuse(row.number, str(error))
    if not rows.num_rows:
        raise FormatError("the file has no rows: give a file with problems")
    trial = try_verifier(mapping.verifier, sample(rows.kept))
    near = _near(rows.kept)
    overlaps = _overlaps(rows.kept, mapping.task, others)
    report = DataReport(
        num_rows=rows.num_rows,
        num_kept=len(rows.kept),
        num_bad=rows.num_bad,
        bad_rows=rows.bad,
        num_repeated=rows.num_repeated,
        num_contradicting=rows.num_contradicting,
        repeated=rows.repeated,
        num_near=len(near),
        near=near[:MOST_LISTED],
        num_compared=min(len(rows.kept), MOST_TEXTS),
        overlaps=overlaps,
        trial=trial,
        longest_prompt=max((len(_text(row)) for _, row in rows.kept), default=0),
        remarks=(),
    )
    report = report.model_copy(update={"remarks": _remarks(report, mapping, marks)})
    return CheckedData(report, None if report.is_refused else _written(rows.kept, out))


class _Rows:
    """Rows as they are read: kept, repeated or bad."""

    def __init__(self) -> None:
        self.num_rows = self.num_bad = self.num_repeated = self.num_contradicting = 0
        self.kept: list[Kept] = []
        self.bad: list[BadRow] = []
        self.repeated: list[RepeatedRow] = []
        self._places: dict[bytes, int] = {}

    def refuse(self, number: int, reason: str) -> None:
        self.num_bad += 1
        if len(self.bad) < MOST_LISTED:
            self.bad.append(BadRow(row=number, reason=reason[:500]))

    def keep(self, number: int, row: dict[str, Any]) -> None:
        place = self._places.setdefault(_identity(row), len(self.kept))
        if place == len(self.kept):
            self.kept.append((number, row))
            return
        earlier, first = self.kept[place]
        self.num_repeated += 1
        self.num_contradicting += row.get("answer") != first.get("answer")
        if len(self.repeated) < MOST_LISTED:
            self.repeated.append(RepeatedRow(row=number, earlier=earlier, text=_beginning(_text(row))))


def _identity(row: Mapping[str, Any]) -> bytes:
    """Return what a run knows a problem by: prompt, source and images, or numbers and target."""
    if "nums" in row:
        return _digest(f"{row['nums']}={row['target']}")
    images = "".join(sha256(image["bytes"]).hexdigest() for image in row.get("images", ()))
    return _digest(f"{row.get('data_source', '')}\0{images}\0{_text(row)}")


def _digest(text: str) -> bytes:
    return sha256(text.encode("utf-8", "surrogatepass")).digest()[:16]


def _text(row: Mapping[str, Any]) -> str:
    if "nums" in row:
        return f"{' '.join(map(str, row['nums']))}={row['target']}"
    return response_text(row["prompt"])


def _form(row: Mapping[str, Any]) -> str | None:
    return canonical_form(row if "nums" in row else _structure(row["answer"]))


def _structure(answer: Any) -> Mapping[str, Any]:
    return answer if isinstance(answer, Mapping) else {}


def _beginning(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= SHOWN_LETTERS else f"{line[:SHOWN_LETTERS]}…"


def _near(kept: Sequence[Kept]) -> list[RepeatedRow]:
    """Return rows with nearly the same problem as an earlier one, by words and canonical forms; none with images."""
    rows = {str(number): row for number, row in kept[:MOST_TEXTS] if not row.get("images")}
    texts = {name: _text(row) for name, row in rows.items()}
    forms = {name: form for name, row in rows.items() if (form := _form(row)) is not None}
    found = [
        RepeatedRow(row=int(name), earlier=int(first), text=_beginning(texts[name]))
        for first, *others in same_problems(texts, forms)
        for name in others
    ]
    return sorted(found, key=lambda each: each.row)


# ---------------------------------------------------------------- other sets


def _overlaps(kept: Sequence[Kept], task: DataTask, others: Sequence[OtherData]) -> list[Overlap]:
    """Return problems with the text, or the canonical form, of one in another set, for each set that has some."""
    places: dict[bytes, list[int]] = {}
    for number, row in kept:
        if not row.get("images"):
            for key in _keys(row):
                places.setdefault(key, []).append(number)
    found = []
    for name, is_test_set, rows in _sets(task, others):
        shared = sorted({number for row in rows for key in _keys(row) for number in places.get(key, ())})
        if shared:
            found.append(
                Overlap(name=name, is_test_set=is_test_set, num_problems=len(shared), rows=shared[:MOST_LISTED])
            )
    return found


def _keys(row: Mapping[str, Any]) -> Iterator[bytes]:
    yield _digest(normalised(_text(row)))
    form = _form(row)
    if form is not None:
        yield _digest(f"form {form}")


def _sets(task: DataTask, others: Sequence[OtherData]) -> Iterator[tuple[str, bool, Iterator[Mapping[str, Any]]]]:
    """Yield each set with its rows: those that ship, and those of the project that have our columns."""
    if task == "countdown":
        shipped = countdown_problems(CountdownTaskConfig(num_train=1)).held_out
        for name, problems in shipped.items():
            yield name, True, (problem.answer for problem in problems)
    for other in others:
        yield f"@{other.name}", other.is_test_set, _rows_of(Path(other.path), task)


def _rows_of(path: Path, task: DataTask) -> Iterator[Mapping[str, Any]]:
    needed = ("nums", "target") if task == "countdown" else ("prompt",)
    try:
        for row in read(path, path.suffix.lower()):
            if row.values is not None and all(name in row.values for name in needed):
                if task == "file" and not (isinstance(row.values["prompt"], str) or is_chat(row.values["prompt"])):
                    continue
                yield {"answer": None, **{name: row.values[name] for name in needed}}
    except (FormatError, OSError):
        # Registered long ago, and gone or replaced since: nothing to compare with.
        return


# ---------------------------------------------------------------- what it means


def _remarks(report: DataReport, mapping: ColumnMapping, marks: Collection[str]) -> list[Remark]:
    """Return all remarks on the file, most severe first."""
    found = [*_refusals(report, mapping)]
    if found:
        return [Remark(severity="problem", text=text) for text in found]
    return [
        *(Remark(severity="warning", text=text) for text in _result_warnings(mapping, marks)),
        *(Remark(severity="warning", text=text) for text in _warnings(report, mapping)),
        *(Remark(severity="note", text=text) for text in _notes(report)),
    ]


def _refusals(report: DataReport, mapping: ColumnMapping) -> Iterator[str]:
    first = f" Row {report.bad_rows[0].row}: {report.bad_rows[0].reason}." if report.bad_rows else ""
    if not report.num_kept:
        yield f"None of {counted(report.num_rows, 'row')} can be used: look at the columns.{first}"
    elif report.num_bad > MOST_BAD * report.num_rows:
        yield (
            f"{report.num_bad:,} of {report.num_rows:,} rows cannot be used: look at the columns, or correct the file."
            f"{first}"
        )
    trial = report.trial
    if trial.num_tried and trial.num_references_refused == trial.num_tried:
        reason = f" Row {trial.examples[0].row}: {trial.examples[0].reason}." if trial.examples else ""
        if trial.num_whole_texts == trial.num_tried:
            yield (
                f"No response can be right: the answers are whole texts, not results, in all {trial.num_tried} rows "
                f"that were tried, so that nothing could ever be learned. {_other_answer(trial, mapping)}{reason}"
            )
            return
        yield (
            f"The verifier {trial.verifier} judges every reference answer wrong that was tried "
            f"({trial.num_tried}), so that nothing could ever be learned: choose another verifier, or another column "
            f"as the answer.{reason}"
        )


def _other_answer(trial: VerifierTrial, mapping: ColumnMapping) -> str:
    """Return what to take as the answer in place of whole texts."""
    if trial.mark is None:
        return "Choose a column that holds the results alone, or write one."
    column = f"{mapping.columns.get('answer', '')}{trial.mark}"
    where = "follow ####" if trial.mark == "####" else f"are in {trial.mark}"
    return f"The results {where}: take {column} as the answer (--column 'answer={column}')."


def _result_warnings(mapping: ColumnMapping, marks: Collection[str]) -> Iterator[str]:
    for mark in sorted(marks):
        column = mapping.columns["answer"].removesuffix(mark)
        result = "what follows #### in each" if mark == "####" else f"what is in the last {mark} of each"
        yield (
            f"The answers in {column} are whole texts, with which no response can be right: {result} is taken as the "
            "answer."
        )


def _warnings(report: DataReport, mapping: ColumnMapping) -> Iterator[str]:
    if report.num_bad:
        verb = "is" if report.num_bad == 1 else "are"
        yield f"{counted(report.num_bad, 'row')} cannot be used and {verb} left out."
    if report.num_repeated:
        share = percent(report.num_repeated / report.num_rows, 0)
        what = (
            "repeats the prompt of an earlier one and is"
            if report.num_repeated == 1
            else "repeat the prompts of earlier ones and are"
        )
        yield f"{counted(report.num_repeated, 'row')} ({share}) {what} left out."
    if report.num_contradicting:
        yield (
            f"{counted(report.num_contradicting, 'repeated row')} had another answer than the first row with that "
            "prompt: one of the two is wrong."
        )
    for overlap in report.overlaps:
        if overlap.is_test_set:
            yield (
                f"{counted(overlap.num_problems, 'problem')} of the test set {overlap.name} are also in this file: "
                "what is trained on does not measure how a policy does on new problems."
            )
    if report.num_near:
        verb = "poses" if report.num_near == 1 else "pose"
        yield f"{counted(report.num_near, 'row')} {verb} nearly the same problem as an earlier one."
    yield from _verifier_warnings(report.trial, mapping)
    if report.num_kept < FEWEST_ROWS:
        yield f"{counted(report.num_kept, 'problem')} are few: a batch of most recipes is larger."


def _verifier_warnings(trial: VerifierTrial, mapping: ColumnMapping) -> Iterator[str]:
    if trial.num_whole_texts:
        yield (
            f"{trial.num_whole_texts} of {trial.num_tried} answers that were tried are whole texts, not results: no "
            f"response to such a problem can be right. {_other_answer(trial, mapping)}"
        )
    if num_others := trial.num_references_refused - trial.num_whole_texts:
        yield (
            f"The verifier {trial.verifier} judges {num_others} of {trial.num_tried} reference "
            "answers wrong: no response to such a problem can be rewarded."
        )
    if trial.verifier in TEXT_VERIFIERS and trial.not_tried_because is not None:
        yield (
            f"The verifier {trial.verifier} cannot read the answers: {trial.not_tried_because}. Name it when "
            "you start a run (task.verifier)."
        )
    if trial.num_wrong_accepted:
        yield (
            f"The verifier {trial.verifier} judges {trial.num_wrong_accepted} of {trial.num_tried} wrong answers "
            "right: they would be rewarded."
        )


def _notes(report: DataReport) -> Iterator[str]:
    if report.trial.not_tried_because is not None and report.trial.verifier not in TEXT_VERIFIERS:
        yield f"The verifier {report.trial.verifier} was not tried: {report.trial.not_tried_because}."
    elif report.trial.num_tried and not report.trial.num_references_refused and not report.trial.num_wrong_accepted:
        yield (
            f"The verifier {report.trial.verifier} judges {report.trial.num_tried} reference answers right and wrong "
            "ones wrong."
        )
    for overlap in report.overlaps:
        if not overlap.is_test_set:
            yield f"{counted(overlap.num_problems, 'problem')} are also in {overlap.name}."
    if report.num_compared < report.num_kept:
        yield f"The first {report.num_compared:,} rows were compared for problems in other words."


# ---------------------------------------------------------------- the file of ours


def _written(kept: Sequence[Kept], out: Path) -> Path:
    rows = [row for _, row in kept]
    if any("images" in row for row in rows):
        path = out.with_name(f"{out.name}.parquet")
        columns = {"prompt": _of_one_type(rows), "answer": [_as_text(row["answer"]) for row in rows]}
        columns["images"] = [row.get("images", []) for row in rows]
        for name in ("data_source", "solution"):
            if any(name in row for row in rows):
                columns[name] = [row.get(name) for row in rows]
        pyarrow.parquet.write_table(pyarrow.table(columns), path, row_group_size=WRITTEN_ROWS)
        return path
    path = out.with_name(f"{out.name}.jsonl")
    with path.open("w", encoding="utf-8") as file:
        file.writelines(json.dumps(row, ensure_ascii=False, sort_keys=True) + "\n" for row in rows)
    return path


def _of_one_type(rows: Sequence[Mapping[str, Any]]) -> list[Any]:
    """Return the prompts, all as messages where one is several."""
    prompts = [row["prompt"] for row in rows]
    if all(isinstance(prompt, str) for prompt in prompts):
        return prompts
    return [[{"role": "user", "content": each}] if isinstance(each, str) else each for each in prompts]


def _as_text(answer: Any) -> Any:
    # A column of a table has one type.
    return answer if isinstance(answer, str) else json.dumps(answer, ensure_ascii=False)
